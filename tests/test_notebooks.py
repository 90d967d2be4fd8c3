"""The notebooks' house rules; that their outputs are true is checked by ``pytest --nbval``."""

import ast
import base64
import io
import json
import re
from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from PIL import Image

from helpers.report import figures
from known_unknowns.chapters import CHAPTERS

ROOT = Path(__file__).resolve().parent.parent
EVERY = sorted((ROOT / "notebooks").rglob("*.ipynb"))
SOLUTIONS = [path for path in EVERY if path.stem == "solutions"]
NOTEBOOKS = [path for path in EVERY if path not in SOLUTIONS]
SOLVED = " {doc}`Solution <solutions>`."
"""What every exercise ends with."""
each = pytest.mark.parametrize(
    "path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}/{path.stem}"
)


def cells(path: Path, kind: str) -> list[dict]:
    """Return the cells of one kind, their sources joined."""
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [
        cell | {"source": "".join(cell["source"]), "tags": cell["metadata"].get("tags", [])}
        for cell in found
        if cell["cell_type"] == kind
    ]


def test_there_are_notebooks():
    papers = {path.parent.name for path in NOTEBOOKS}
    others = {
        "audit": {"audit"},
        "beyond": {"without_labels"},
        "synthesis": {"training", "evaluation", "figures", *CHAPTERS["synthesis"].about_all},
    }
    assert papers == {*CHAPTERS, *others}
    assert papers - {"beyond"} == {path.parent.name for path in SOLUTIONS}
    for paper in papers:
        stems = {path.stem for path in NOTEBOOKS if path.parent.name == paper}
        assert stems == others.get(paper, {"dataset", "training", "evaluation", "figures"})


@each
def test_shape(path):
    prose, code = cells(path, "markdown"), cells(path, "code")
    title = prose[0]["source"].splitlines()
    assert title[0].startswith("# ") and title[2].startswith("**")
    assert "```{admonition} What this notebook reproduces" in prose[0]["source"]
    assert "## Summary" in prose[-2]["source"] and "## Exercises" in prose[-1]["source"]
    assert not any("globals()" in cell["source"] for cell in code)


@each
def test_the_result_comes_first_then_the_knobs_then_one_bar_for_the_setup(path):
    """What is None is as the tier's file says, so that each value stands in one place."""
    result, given, loaded = cells(path, "code")[:3]
    if path.parent.name == "audit":  # whose result is the reader's
        given, loaded, _ = cells(path, "code")[:3]
    else:
        assert result["tags"] == ["remove-input"] and result["outputs"]
    assert given["tags"] == ["parameters"]
    assert loaded["tags"] == ["hide-input"]
    prompts = {"code_prompt_show": "Setup", "code_prompt_hide": "Hide setup"}
    assert loaded["metadata"]["mystnb"] == prompts
    names = [ast.unparse(node.targets[0]) for node in ast.parse(given["source"]).body]
    assert names[-1] == "overrides" and 2 <= len(names) <= 15
    assert names[0] == "tier" or path.parent.name == "audit"
    assert len(given["source"].splitlines()) <= 15
    assert "parameters = " in loaded["source"] and "**overrides" in loaded["source"]


def first_output_of_mini(path: Path, headline: str) -> bool:
    """Return whether a notebook shows something else before the main table of the largest tier."""
    shown = [
        "".join(out.get("data", {}).get("text/html", ""))
        for cell in cells(path, "code")
        for out in cell["outputs"]
    ]
    return not shown or f"#T_{headline} " not in shown[0]


@pytest.mark.parametrize("paper", [paper for paper in CHAPTERS if CHAPTERS[paper].main_claim])
def test_no_page_begins_with_mini_where_a_larger_tier_has_the_same_table(paper, tmp_path):
    """Nor with a table that results of a larger tier, committed since, have left behind.

    What the chapter's overview opens with is of the largest tier, by `test_glance`, and comes
    first, by `test_openings`.
    """
    folder, headline = ROOT / "notebooks" / paper, CHAPTERS[paper].headline()
    tiers = {file.parent.name for file in (ROOT / "results").glob(f"*/{paper}.parquet")}
    assert tiers and "mini" not in tiers
    pages = sorted(set(folder.glob("*.ipynb")) - set(SOLUTIONS))  # which show nothing of mini
    assert [page.stem for page in pages if first_output_of_mini(page, headline.name)] == []
    notebook = json.loads(pages[0].read_text(encoding="utf-8"))
    notebook["cells"] = [cell for cell in notebook["cells"] if "headline()" not in str(cell)]
    other = tmp_path / "other.ipynb"
    other.write_text(json.dumps(notebook), encoding="utf-8")
    assert first_output_of_mini(other, headline.name)


@cache  # all notebooks of a chapter begin with the same cell
def committed_table(source: str) -> str:
    """Return the HTML of the table that a first cell shows; it reads committed results alone."""
    *imports, shown = ast.parse(source).body
    names: dict = {}
    exec(compile(ast.Module(imports, []), "<cell>", "exec"), names)
    return eval(compile(ast.Expression(shown.value), "<cell>", "eval"), names)._repr_html_()


@each
def test_the_first_table_is_that_of_the_committed_results(path):
    """Found in seconds here, and after the whole pipeline by nbval."""
    first = cells(path, "code")[0]
    if not first["source"].endswith("headline()"):
        assert path.parent.name in ("audit", "beyond")
        return
    stored = "".join(first["outputs"][0]["data"]["text/html"])
    remedy = "this stores it anew: `make notebooks`"
    assert stored.strip() == committed_table(first["source"]).strip(), f"{path.stem}: {remedy}"


@pytest.mark.parametrize("paper", [paper for paper in CHAPTERS if CHAPTERS[paper].main_claim])
def test_a_chapter_shows_its_methods_own_lines(paper):
    """Below an equation, where networks are trained and where they are evaluated."""
    for kind in ("training", "evaluation"):
        code = cells(ROOT / "notebooks" / paper / f"{kind}.ipynb", "code")
        shown = [cell for cell in code if "show_source(" in cell["source"]]
        assert any(
            out["output_type"] == "execute_result" for cell in shown for out in cell["outputs"]
        )


def exercises(path: Path) -> dict[str, str]:
    """Return a notebook's exercises by their numbers."""
    text = cells(path, "markdown")[-1]["source"].partition("## Exercises")[2]
    return dict(re.findall(r"^(\d+)\. (.+)$", text, re.M))


def unsolved(path: Path) -> list[str]:
    """Return the exercises of a notebook that name no solution and have no folded answer."""
    text = cells(path, "markdown")[-1]["source"]
    folded = set(re.findall(r"^(\d+)\. .+\n\n```{dropdown} Answer", text, re.M))
    asked = exercises(path).items()
    return [number for number, said in asked if not said.endswith(SOLVED) and number not in folded]


@each
def test_every_exercise_has_a_solution(path, tmp_path):
    assert exercises(path) and not unsolved(path)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["cells"][-1]["source"] += ["\n99. What is left open?"]
    (tmp_path / "open.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    assert unsolved(tmp_path / "open.ipynb") == ["99"]


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.parent.name)
def test_solutions_are_those_of_the_exercises(path):
    """Each asks in the exercise's words, and is folded: its lines, and what they say."""
    promised = {
        f"{own.stem}, {number}": said.removesuffix(SOLVED)
        for own in NOTEBOOKS
        if own.parent == path.parent
        for number, said in exercises(own).items()
    }
    prose = [cell["source"] for cell in cells(path, "markdown")]
    asked = dict(re.match(r"## (.+)\n\n> (.+)", one).groups() for one in prose[1::2])
    assert asked == promised and len(asked) >= 2
    assert all(re.match(r"```{dropdown} .+\n\w", one) for one in prose[2::2])
    _, loaded, *solved = cells(path, "code")
    assert loaded["tags"] == ["hide-input"] and len(solved) == len(asked)
    for cell in solved:
        assert cell["tags"] == ["hide-cell"]
        assert len(cell["source"].splitlines()) <= 20


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.parent.name)
def test_solutions_show_what_comes_out(path):
    code = cells(path, "code")
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert all(cell["outputs"] for cell in code[2:])
    assert "stderr" not in {out.get("name") for cell in code for out in cell["outputs"]}


@each
def test_a_cell_has_at_most_40_lines(path):
    assert max(len(cell["source"].splitlines()) for cell in cells(path, "code")) <= 40


@each
def test_functions_are_short_and_there_are_no_classes(path):
    for cell in cells(path, "code"):
        for node in ast.walk(ast.parse(cell["source"])):
            assert not isinstance(node, ast.ClassDef)
            if isinstance(node, ast.FunctionDef):
                assert node.end_lineno - node.lineno < 12, node.name


@each
def test_outputs_are_stored_and_clean(path):
    code = cells(path, "code")
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    streams = [out.get("name") for cell in code for out in cell["outputs"]]
    assert "stderr" not in streams
    assert path.stat().st_size < 2_000_000


@each
def test_some_outputs_are_compared_strictly(path):
    strict = [
        cell
        for cell in cells(path, "code")
        if cell["outputs"] and "nbval-ignore-output" not in cell["tags"]
    ]
    assert strict


@each
def test_numbers_in_the_summary_are_glued(path):
    glued = {
        out["metadata"]["scrapbook"]["name"]
        for cell in cells(path, "code")
        for out in cell["outputs"]
        if "scrapbook" in out.get("metadata", {})
    }
    used = [
        part.split("`")[1]
        for cell in cells(path, "markdown")
        for part in cell["source"].split("{glue:text}")[1:]
    ]
    assert used and set(used) <= glued


@pytest.mark.parametrize("path", EVERY, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_pictures_that_a_phone_would_show_too_small_keep_their_width(path):
    """Text of 11 points is 8 pixels high in a column of 358 if its picture is 6.83 inches wide."""
    for cell in cells(path, "code"):
        drawn = [one["data"] for one in cell["outputs"] if "image/png" in one.get("data", {})]
        files = [io.BytesIO(base64.b64decode(one["image/png"])) for one in drawn]
        pictures = [Image.open(file) for file in files]
        if not all("dpi" in picture.info for picture in pictures):
            continue  # stored before their dots per inch were
        widths = [picture.width / picture.info["dpi"][0] for picture in pictures]
        assert (max(widths, default=0) > 6.83) == ("wide" in cell["tags"]), cell["source"][:200]


def changed_resolutions(source: str) -> list[str]:
    """Return the lines that give figures another resolution than the shared style does."""
    return re.findall(r".*(?:figure\.dpi|set_dpi|\bdpi=).*", source)


@each
def test_no_notebook_changes_the_resolution_of_figures(path):
    changed = [line for cell in cells(path, "code") for line in changed_resolutions(cell["source"])]
    assert changed == []
    assert changed_resolutions('plt.rcParams["figure.dpi"] = 54  # many figures')


def test_the_shared_style_is_sharp_enough_and_fits_the_column():
    """On a screen of 1,300 pixels, of which a page's column has 704."""
    with plt.rc_context():
        figures.use_style()
        dpi, (width, _) = plt.rcParams["figure.dpi"], plt.rcParams["figure.figsize"]
        assert dpi >= 96 and dpi * width <= 704
        sizes = [plt.rcParams[f"{name}.labelsize"] for name in ("xtick", "ytick", "axes")]
        assert min(*sizes, plt.rcParams["legend.fontsize"]) / 72 * dpi >= 9


def title(path: Path) -> str:
    """Return a notebook's title."""
    return cells(path, "markdown")[0]["source"].splitlines()[0].removeprefix("# ")


def test_titles_of_pages_are_unique_and_name_the_chapter():
    """So a tab, a search result and the list of contents say which page it is."""
    titles = [title(path) for path in EVERY]
    for page in (ROOT / "book").glob("*.md"):
        titles.append(re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.M)[1])
    assert len(titles) == len(set(titles))
    for path in EVERY:
        paper = CHAPTERS.get(path.parent.name)
        own = {"audit": "Audit your own model", "beyond": "Evaluation without labels"}
        heading = paper.heading if paper else own[path.parent.name]
        solved = path.stem == "solutions"
        assert title(path).startswith(f"{heading}: " if not solved else f"Solutions: {heading}")
    for name, paper in CHAPTERS.items():
        page = (ROOT / "book" / f"{name}.md").read_text(encoding="utf-8")
        assert page.startswith(f"# {paper.heading}\n")
