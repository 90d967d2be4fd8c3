// Opens pages in a frame, and lists tables that are cut off and letters that are too small.
const least = {figure: 9, table: 12};  // pixels

async function measure(window) {
  const document = window.document;
  document.querySelectorAll("details").forEach(folded => folded.open = true);
  document.querySelectorAll(".toggle-hidden").forEach(folded =>
    folded.classList.remove("toggle-hidden"));
  document.querySelectorAll("img").forEach(image => image.loading = "eager");
  await window.MathJax?.startup?.promise;
  await Promise.all([...document.images].map(image => image.decode().catch(() => null)));
  await new Promise(done => setTimeout(done, 500));  // tables that scripts draw
  const article = document.querySelector("article"), end = document.documentElement.clientWidth;
  const shown = (root, tags) => [...root.querySelectorAll(tags)].filter(element =>
    element.offsetWidth || element.getClientRects().length);
  const size = element => parseFloat(window.getComputedStyle(element).fontSize);
  const tables = shown(article, "table").map((table, number) => {
    let box = table, cut = table.getBoundingClientRect().right - end;
    while ((box = box.parentElement) && box !== article.parentElement)
      if (window.getComputedStyle(box).overflowX !== "visible")
        cut = Math.max(cut, box.scrollWidth - box.clientWidth);
    const cells = shown(table, "td, th").filter(cell => cell.innerText.trim());
    const text = table.innerText.trim().replace(/\s+/g, " ").slice(0, 50);
    return {name: `table ${number + 1} (${text})`, cut, letters: Math.min(99, ...cells.map(size))};
  });
  const texts = shown(article, "svg text").map(text => ({name: `"${text.textContent.trim()}"`,
    letters: size(text) * Math.hypot(text.getScreenCTM().c, text.getScreenCTM().d)}));
  const images = shown(article, ".cell_output img").map(image => ({
    name: image.getAttribute("src"),
    letters: given.smallest * image.getBoundingClientRect().width / image.naturalWidth}));
  const wide = document.documentElement.scrollWidth - end;
  const small = (parts, limit) => parts.filter(part => part.letters < limit).map(part =>
    `${part.name}: letters of ${part.letters.toFixed(1)} px`);
  return [
    ...(wide > 0 ? [`the page is ${wide} px too wide`] : []),
    ...tables.filter(table => table.cut > 1).map(table =>
      `${table.name}: ${table.cut.toFixed(0)} px cut off`),
    ...small(tables, least.table), ...small([...texts, ...images], least.figure)];
}

addEventListener("load", async () => {
  const frame = document.body.appendChild(document.createElement("iframe")), results = [];
  frame.style = `width: ${given.width}px; height: 900px; border: 0`;
  for (const page of given.pages) {
    await new Promise(done => { frame.onload = done; frame.src = page; });
    results.push(await measure(frame.contentWindow));
  }
  frame.remove();
  const result = document.body.appendChild(document.createElement("pre"));
  result.id = "legible";
  result.textContent = JSON.stringify(results);
});
