// Looks for rows of the results table: those of one tier and paper, loaded when they are chosen.
{
  const most = 200;
  const place = document.querySelector(".all-rows");
  const [choice, words, found, body] =
    ["select", "input", ".found", "tbody"].map((one) => place.querySelector(one));
  const tables = {};

  // A page that is opened from a disk may load scripts, and nothing else.
  const load = (name) => tables[name] ??= new Promise((done) => {
    const script = document.createElement("script");
    script.src = `../../_static/rows/${name}.js`;
    script.onload = async () => {
      const bytes = Uint8Array.from(atob(window.packedRows[name]), (one) => one.charCodeAt(0));
      const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      done((await new Response(plain).text()).split("\n"));
    };
    document.head.append(script);
  });

  const lineOf = (row) => {
    const line = document.createElement("tr");
    line.append(...row.split("\t").map((cell) => {
      const field = document.createElement("td");
      field.textContent = cell;
      return field;
    }));
    return line;
  };

  const show = async () => {
    const name = choice.value;
    const rows = await load(name);
    if (name !== choice.value) return;  // another one was chosen meanwhile
    const wanted = words.value.toLowerCase().split(/\s+/);
    const hits = rows.filter((row) => wanted.every((one) => row.toLowerCase().includes(one)));
    found.textContent = `${Math.min(most, hits.length)} of ${hits.length} rows`;
    body.replaceChildren(...hits.slice(0, most).map(lineOf));
  };

  window.packedRows = {};
  choice.addEventListener("change", show);
  words.addEventListener("input", show);
  show();
}
