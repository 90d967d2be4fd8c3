"""The rules of pages: titles, lengths, order of cells, links; no page is executed here."""

import ast
import re
from pathlib import Path
from urllib.parse import unquote

import pandas as pd
import pytest

from lint.reading import NOTEBOOKS, PROSE, ROOT, cells, name_of, source
from synthesis import chapters
from synthesis.chapters import ABOUT_ALL, CHAPTERS

FOLDS = {"hide-output", "hide-cell", "remove-cell", "remove-output"}
BARS = {"hide-output", "hide-cell", "hide-input"}
REMOVED = {"remove-cell", "remove-input"}
TEACHING = {"dataset", "training", "evaluation", "figures"}
# pages without parameters: they only show committed results
COMMITTED = {"synthesis/findings", "synthesis/leaderboard"}
#: The first cell of every notebook: a download, and Colab, have no other file of the project.
FETCH = cells(NOTEBOOKS[0], "code")[0]["source"]
each = pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)


def test_every_chapter_has_its_notebooks():
    others = {"audit": {"audit"}, "beyond": {"without_labels"}}
    pages = {"evaluation", "findings", "leaderboard"}
    others["synthesis"] = pages | {*ABOUT_ALL}
    for paper in {*CHAPTERS, *others}:
        stems = {path.stem for path in NOTEBOOKS if path.parent.name == paper}
        assert stems == others.get(paper, {"dataset", "training", "evaluation", "figures"})


@each
def test_the_project_is_fetched_first_then_come_result_parameters_and_setup(path):
    fetch, *code = cells(path, "code")
    assert fetch["tags"] == ["remove-cell"] and fetch["source"] == FETCH
    if f"{path.parent.name}/{path.stem}" in COMMITTED:
        loaded = code[0]
        assert loaded["tags"] == ["hide-input"] and "\ncheck_given()\n" in loaded["source"]
        assert not [cell for cell in code if "parameters" in cell["tags"]]
        return
    if code[0]["tags"] != ["parameters"]:  # a page may begin with its headline
        headline = code.pop(0)
        assert headline["tags"] == ["remove-input"]
    given, loaded = code[:2]
    assert given["tags"] == ["parameters"] and loaded["tags"] == ["hide-input"]
    names = [ast.unparse(node.targets[0]) for node in ast.parse(given["source"]).body]
    assert names[-1] == "overrides" and len(given["source"].splitlines()) <= 15
    assert "parameters = " in loaded["source"] and "\noverrides = {}" in given["source"]
    before, _, _ = loaded["source"].partition("overrides")
    assert "\ncheck_given()\n" in before


@each
def test_the_first_cell_shows_the_values_of_tier_mini(path):
    """`helpers.papers.notebook.load` treats another value as the reader's value."""
    if f"{path.parent.name}/{path.stem}" in COMMITTED:
        return
    paper = path.parent.name.replace("beyond", "gscore")
    usual = chapters.load(paper, "mini")
    shown = usual.training | usual.model_dump()
    source = next(cell for cell in cells(path, "code") if cell["tags"] == ["parameters"])["source"]
    values = {}
    exec(source, values)
    assert not [name for name in values.keys() & shown if values[name] not in (None, shown[name])]
    for line in source.splitlines():
        name, _, comment = line.partition("  # ")
        assert 1 <= len(comment.split()) <= 8, f"{name}: a comment of about five words expected"


@each
def test_cells_are_short_and_stored_outputs_clean_and_some_compared(path):
    code = cells(path, "code")
    assert max(len(cell["source"].splitlines()) for cell in code) <= 40
    assert not re.search(r"figure\.dpi|\bdpi=", source(path))
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert "stderr" not in {out.get("name") for cell in code for out in cell["outputs"]}
    assert path.stat().st_size < 2_000_000
    compared = str([cell["outputs"] for cell in code if "nbval-ignore-output" not in cell["tags"]])
    assert "output_type" in compared and not re.search(" at 0x[0-9a-f]{6}", compared)


def sizes(markdown: str) -> tuple[int, list[tuple[int, int]]]:
    """Return the number of words, and the rows and columns of each table, without folds."""
    text = re.sub(r"^(`{3,}).*?^\1$|\$\$.*?\$\$", "", markdown, flags=re.S | re.M)
    tables = [table.splitlines() for table in re.findall(r"(?:^\|.*\n?)+", text, re.M)]
    words = " ".join(line for line in text.splitlines() if not line.startswith("|")).split()
    return len(words), [(len(table) - 2, table[1].count("|") - 1) for table in tables]


@pytest.mark.parametrize("paper", CHAPTERS)
def test_an_overview_is_short_and_states_the_minutes(paper):
    """They are rounded from the measured CPU seconds, which another machine may change a little."""
    text = (ROOT / "book" / f"{paper}.md").read_text(encoding="utf-8")
    words, tables = sizes(text)
    assert words <= 900 and len(tables) <= 5
    # nine scores, and two rules without a score
    assert all(rows <= 11 and columns <= 7 for rows, columns in tables)
    seconds = pd.read_parquet(ROOT / "benchmarks/results/pipeline.parquet")["seconds"][paper]
    stated = re.search(r"need about (\d+) minutes? of one CPU core at tier `mini`", text)[1]
    assert abs(60 * int(stated) - seconds) <= 45


@each
def test_a_page_is_short(path):
    """What a page shows before its reader opens a fold; the limits are the design's."""
    words, tables = sizes("\n".join(cell["source"] for cell in cells(path, "markdown")))
    code = [cell for cell in cells(path, "code") if not FOLDS & {*cell["tags"]}]
    shown = [out.get("data", {}) for cell in code for out in cell["outputs"]]
    pages = ["".join(data.get("text/html", "")) for data in shown]
    html = "\n".join(page for page in pages if "_itables_" not in page)  # these have filters
    html = re.sub("<details.*?</details>", "", html, flags=re.S)
    for table in re.findall("<table.*?</table>", html, re.S):
        rows = re.findall("<tr.*?</tr>", table.split("</thead>")[-1], re.S)
        tables.append((len(rows), max((len(re.findall("<t[hd]", row)) for row in rows), default=0)))
    # six since pages show their tables: five counted those beside folded ones
    assert words <= 1000 and len(tables) <= 6
    # nine scores and two rules without a score, or the sentences of a paper
    assert all(rows <= 12 and columns <= 7 for rows, columns in tables)


@each
def test_each_figure_has_a_name_a_caption_and_a_text_for_those_who_do_not_see_it(path):
    """Also before its output is stored: a cell that ends with a figure calls `plt.show()`."""
    names = []
    for cell in cells(path, "code"):
        shown = not {"remove-cell", "remove-output", "hide-cell"} & {*cell["tags"]}
        pictures = [out for out in cell["outputs"] if "image/png" in out.get("data", {})]
        if not shown or not (pictures or "plt.show()" in cell["source"]):
            continue
        book = cell["metadata"].get("mystnb", {})
        figure = book.get("figure", {})
        names.append(figure.get("name"))
        assert cell["source"].count("plt.show()") <= 1, "each cell has one caption"
        assert 5 <= len(figure.get("caption", "").split()) <= 60, f"caption of {cell['id']}"
        assert 3 <= len(book.get("image", {}).get("alt", "").split()) <= 40, f"alt of {cell['id']}"
    # numbers and links of figures use them; a name is unique in the whole book
    start = f"{path.parent.name}-{path.stem}-".replace("_", "-")
    assert all((name or "").startswith(start) for name in names) and len({*names}) == len(names)


@each
def test_a_page_has_at_most_five_bars(path):
    text = source(path, "markdown")
    bars = [cell["id"] for cell in cells(path, "code") if BARS & {*cell["tags"]}]
    bars += re.findall(r"\{(?:dropdown|toggle)\} (?!Answer \d)(.*)", text)
    assert len(bars) <= 5, bars


@each
def test_a_page_that_teaches_shows_its_code(path):
    """At least forty lines that a reader may want to change, imports and parameters excepted."""
    lines = []
    for cell in cells(path, "code"):
        if (BARS | REMOVED | {"parameters"}) & {*cell["tags"]}:
            continue
        code = [line.strip() for line in cell["source"].splitlines()]
        lines += [line for line in code if line and not re.match("#|import |from .* import ", line)]
    assert len(lines) >= 40 or path.stem not in TEACHING


@each
def test_no_page_speaks_of_its_folds(path):
    assert not re.findall(r"[^.\n]*\b[Ff]olded\b[^.\n]*", source(path, "markdown"))


@each
def test_numbers_in_the_summary_are_glued(path):
    outputs = [out.get("metadata", {}) for cell in cells(path, "code") for out in cell["outputs"]]
    glued = {out["scrapbook"]["name"] for out in outputs if "scrapbook" in out}
    prose = " ".join(cell["source"] for cell in cells(path, "markdown"))
    used = {text.split("`")[1] for text in prose.split("{glue:text}")[1:]}
    assert used and used <= glued


def test_pages_count_the_networks_of_a_search():
    """The methods rnd and oc train students on networks of ERM."""
    columns = ["method", "backbone", "run", "variant"]
    rows = pd.read_parquet(ROOT / "results/small/uimnet.parquet", columns=columns)
    rows = rows[rows["variant"].str.startswith("trial")]
    rows = rows.assign(method=rows["method"].str.partition("/")[0]).drop_duplicates()
    students = int(rows["method"].isin(["rnd", "oc"]).sum())
    networks = len(rows) - students
    text = source(ROOT / "book/how_to_run.md")
    assert f"results of {networks} trained networks, and of {students} students" in text


def test_titles_of_pages_are_unique():
    titles = [cells(path, "markdown")[0]["source"].splitlines()[0] for path in NOTEBOOKS]
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "book").glob("*.md")]
    titles += [re.search(r"^# .+$", page, re.M)[0] for page in pages]
    assert len(titles) == len(set(titles))


def test_every_make_command_and_file_that_the_prose_names_exists():
    targets = {*re.findall(r"^([a-z]+)\s*:(?!=)", (ROOT / "Makefile").read_text(), re.M)}
    commands = [ROOT / ".ci/run", *(ROOT / ".github").rglob("*.yml")]
    for path in {*PROSE, *NOTEBOOKS, *commands} - {ROOT / "CHANGELOG.md"}:  # it names old targets
        text = path.read_text("utf-8")
        used = {*re.findall(r"(?:^|`|\$ |run: |exec )make ([a-z]+)", text, re.M)}
        assert used <= targets, path
        folders = "benchmarks|helpers|lint|params|synthesis|tests|workflow"
        named = re.findall(rf"\b((?:{folders})/[\w/]+\.(?:py|yaml))", text)
        assert not [name for name in named if not (ROOT / name).exists()], path


def slug(heading: str) -> str:
    """Return the anchor that GitHub and the book give to a heading.

    >>> slug("How to add `x`, or y?")
    'how-to-add-x-or-y'
    """
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def broken_links(path: Path) -> list[str]:
    """Return the links of a page that lead to no file, or to no heading of a file.

    The reference pages are made when the book is built.
    """
    text = re.sub(r"^(`{3,}).*?^\1", "", source(path, "markdown"), flags=re.S | re.M)
    broken = []
    for address in re.findall(r"(?<!`)\]\(([^)\s]+)\)", text):
        file, _, anchor = address.partition("#")
        target = (path.parent / unquote(file)).resolve() if file else path
        if re.match(r"[a-z]+:", address) or target.parent.name == "reference":
            continue
        if not target.exists():
            broken.append(address)
        elif anchor and target.suffix in (".md", ".ipynb"):
            page = source(target, "markdown")
            anchors = {slug(heading) for heading in re.findall(r"^#+ (.+)$", page, re.M)}
            anchors |= {*re.findall(r"^\(([\w-]+)\)=$", page, re.M)}
            if anchor not in anchors:
                broken.append(address)
    return broken


@pytest.mark.parametrize("path", [*PROSE, *NOTEBOOKS], ids=name_of)
def test_links_lead_to_files_and_headings(path):
    assert not broken_links(path)


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("[x](other.md) ![p](a%20b.png)", []),
        ("[x](#two-words) [y](other.md#a-title)", []),
        ("[x](gone.md)", ["gone.md"]),
        ("[x](#gone) [y](other.md#b-title)", ["#gone", "other.md#b-title"]),
        ("```text\n[x](gone.md)\n```\n[x](https://example.org/gone)", []),
        ("[x](reference/api.md)", []),
    ],
)
def test_broken_links_are_named(tmp_path, text, broken):
    (tmp_path / "other.md").write_text("# A title\n")
    (tmp_path / "a b.png").touch()
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n## Two words\n\n{text}\n")
    assert broken_links(page) == broken
