"""Assemble the book's sources and render them with Jupyter Book.

    python workflow/book.py mini
    python workflow/book.py mini --preview   # of the notebooks' stored outputs

The sources are the prose of ``book/``, the executed notebooks of ``runs/TIER`` (for a preview, the
stored notebooks), the pages of :mod:`pages`, and parts of pages from
:mod:`synthesis.findings.front_page`, :mod:`synthesis.openings`, :mod:`synthesis.agreement` and
:mod:`explore`.  The tree mirrors the repository, so that links of a page name its file.

Every build starts from an empty tree, and replaces the book only if the build succeeds.  So a page
without a source disappears, and all warnings are visible.  The book is in ``runs/TIER/book``.
"""

import argparse
import base64
import functools
import importlib
import re
import shutil
import sys
from collections.abc import Collection
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

import kernels  # isort: skip (the others import faster after it)

import explore
import nbformat
import pages
import pybtex.plugin
import sphinx_multitoc_numbering
import sphinx_thebe
import yaml
from jupyter_book.sphinx import build_sphinx
from plan import notebooks_of, plan
from sphinx_external_toc.parsing import parse_toc_data
from step import ROOT, make_folder
from store_outputs import change_pages

from helpers.papers import PAPERS
from helpers.papers.parameters import tiers
from helpers.tables.interactive import with_scripts
from synthesis import agreement, openings
from synthesis.chapters import CHAPTERS, OTHERS, package_of
from synthesis.findings import front_page

TOC = "book/_toc.yml"
STORED = ROOT / "notebooks"
WRITTEN_FOR = "mini"  # the tier that the notebooks' sentences describe
#: Code, whose spaces stay, and the space between a number and a per cent sign.
_CODE = re.compile(r"(<(?:script|style|pre|code)\b.*?</(?:script|style|pre|code)>)", re.DOTALL)
_UNITS = re.compile(r"(?<=[\d>])\s(?=%)|\s(?=±)|(?<=±)\s")
_SCRIPT = re.compile(r"(<script\b[^>]*>).*?</script>", re.S)
_TAG = re.compile(r"<(\w+)\b((?:[^>\"]|\"[^\"]*\")*)>")
_ADDRESS = re.compile(r'\b(?:href|src|poster|data)="([^"]+)"')
_SHOWN = re.compile(r'<meta (?:name="(?:description|twitter)|property="og:)[^>]*>')
_OBJECT = re.compile(r"\b[A-Z]\w+\(\w+=")  # as Python prints it
_ANCHOR = re.compile(r'\b(?:id|name)="([^"]*)"')


def contents() -> dict:
    """Return the table of contents, with the chapters of the papers instead of ``papers``."""
    toc = yaml.safe_load((ROOT / TOC).read_text(encoding="utf-8"))
    for part in toc.get("parts", []):
        if part["chapters"] == "papers":
            part["chapters"] = [chapter(paper) for paper in PAPERS]
    return toc


def chapter(paper: str) -> dict:
    """Return the contents of a paper's chapter: overview, notebooks, and notes for reviewers."""
    files = [f"notebooks/{paper}/{name}" for name in notebooks_of(paper)]
    files.append(f"book/fidelity_{paper}")
    return {"file": f"book/{paper}", "sections": [{"file": file} for file in files]}


def assemble(tree: Path, runs: Path, tier: str) -> None:
    """Write the sources of the book of one tier into the empty folder `tree`.

    Notebooks that the tier does not have keep the outputs of the repository.
    """
    shutil.copytree(ROOT / "book", tree / "book")
    toc = contents()
    if runs.resolve() == STORED:
        intro = tree / f"{toc['root']}.md"
        # below the results, which fit on one screen
        first, mark, text = intro.read_text(encoding="utf-8").partition("\n## ")
        note = pages.render("preview.md", tier=tier)
        intro.write_text(f"{first}\n{note}\n{mark}{text}", encoding="utf-8")
    (tree / TOC).write_text(yaml.safe_dump(toc, sort_keys=False), encoding="utf-8")
    of_tier = {"/".join(name.split("/")[:2]) for name in plan(tier)}
    for file in parse_toc_data(toc):
        if file.startswith("notebooks/"):
            add_notebook(tree, file.removeprefix("notebooks/"), runs, tier, of_tier)
    folder = tree / "book" / "reference"
    folder.mkdir()
    findings = openings.write(openings.judge(runs, tier), folder)
    parts = front_page.parts() | agreement.whole_build(runs) | {"speed": pages.speed()}
    parts["reproducibility"] = pages.reproducibility(runs, tier, downloads=folder)
    endings = {".md": pages.reference(), ".txt": parts}
    endings |= {"_found.txt": findings, "_explore.txt": explore.write()}
    for ending, texts in endings.items():
        for name, text in texts.items():
            (folder / f"{name}{ending}").write_text(text, encoding="utf-8")


def add_notebook(tree: Path, name: str, runs: Path, tier: str, of_tier: Collection[str]) -> None:
    """Write an executed notebook into the tree, with a note if the tier is unusual."""
    executed = (runs if name in of_tier else STORED) / f"{name}.ipynb"
    if not executed.exists():
        raise FileNotFoundError(f"{executed} is missing; make it: make run TIER={tier}")
    notebook = nbformat.read(executed, as_version=4)
    if tier != WRITTEN_FOR:
        title, _, text = notebook.cells[0].source.partition("\n")
        values = {"tier": tier, "executed": name in of_tier, "written_for": WRITTEN_FOR}
        note = pages.render("other_tier.md", **values)
        notebook.cells[0].source = f"{title}\n{note}\n{text}"
    for cell in notebook.cells:  # readers see the parameters, not the injected cell
        outputs = cell.get("outputs", [])
        change_pages(outputs, with_scripts)
        for output in outputs:
            glued = output.get("metadata", {}).get("scrapbook", {}).get("name", "")
            if glued.endswith("_example"):  # the overview shows it, with its own caption
                picture = base64.b64decode(output["data"]["image/png"])
                (tree / "book" / f"{glued}.png").write_bytes(picture)
        if kernels.INJECTED in cell.metadata.get("tags", []):
            cell.metadata["tags"].append("remove-cell")
    target = tree / "notebooks" / f"{name}.ipynb"
    target.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, target)


def render(tree: Path) -> Path:
    """Render the sources in `tree` and return the folder of the pages.

    A warning is an error, and so are the `problems` of the pages.
    """
    html = tree / "_build" / "html"
    # complete before autodoc adds annotations to the classes that they inherit
    for paper in {**CHAPTERS, **OTHERS}:
        importlib.import_module(f"{package_of(paper)}.parameters")
    # else hundreds of references search the metadata of all installed packages
    pybtex.plugin.entry_points = functools.cache(pybtex.plugin.entry_points)
    # Thebe runs code on a server, by a button that these pages do not have; no part is numbered,
    # and the extension that numbers parts allows one process only; no setting removes them
    for unused in (sphinx_thebe, sphinx_multitoc_numbering):
        unused.setup = lambda app: {"parallel_read_safe": True}
    strict = {"warningiserror": True, "keep_going": True, "quiet": True}
    source = {"noconfig": True, "path_config": ROOT / "_config.yml"}  # there is no conf.py
    # Jupyter Book reads the second key for every builder
    overrides = {"external_toc_path": str(tree / TOC), "latex_individualpages": False}
    status = build_sphinx(tree, html, confoverrides=overrides, jobs=2, **source, **strict)
    if status:  # a status code, or the exception that ended the build
        sys.exit("the book was not built: see the warnings above")
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    # The package would copy all of MathJax (24 MB); the book needs this one file of it.
    mathjax = Path(importlib.import_module("sphinx-mathjax-offline").__path__[0])
    name = config["sphinx"]["config"]["mathjax_path"]
    (html / "_static" / name).parent.mkdir()
    shutil.copyfile(mathjax / "static" / name, html / "_static" / name)
    # the address of the site leads to the first page, whose description a link to the site shows
    first = html / f"{contents()['root']}.html"
    index = html / "index.html"
    index.write_text(
        "\n".join([*_SHOWN.findall(first.read_text("utf-8")), index.read_text("utf-8")]), "utf-8"
    )
    for page in html.rglob("*.html"):
        page.write_text(with_units(page.read_text("utf-8")), "utf-8")
    if lines := problems(html):
        sys.exit("\n".join(["the book was not built: in its pages", *lines]))
    return html


def with_units(page: str) -> str:
    """Return a page in which no line ends between a number and its per cent sign, or at ±."""
    texts = _CODE.split(page)
    texts[::2] = [_UNITS.sub("&nbsp;", text) for text in texts[::2]]
    return "".join(texts)


def problems(folder: Path) -> list[str]:
    """Return a line for each broken link, foreign script, path and Python object in the pages.

    The theme's templates are left out.
    """
    files = [file for file in sorted(folder.rglob("*.html")) if "_static" not in file.parts]
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    anchors = {file: {"", "top", *_ANCHOR.findall(text)} for file, text in texts.items()}
    lines: dict[str, None] = {}  # without repetitions
    for file, text in texts.items():
        name = file.relative_to(folder).as_posix()
        if "/reference/" not in name and _OBJECT.search(_CODE.sub("", text)):
            lines[f"shows a Python object: {name}"] = None
        if "PosixPath(" in text:
            lines[f"shows a path of this machine: {name}"] = None
        for tag, attributes in _TAG.findall(_SCRIPT.sub(r"\1", text)):
            loads = tag not in ("a", "area", "link", "form") or "stylesheet" in attributes
            for address in map(unescape, _ADDRESS.findall(attributes)):
                parts = urlsplit(address)
                target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
                anchor = unquote(parts.fragment)
                if parts.scheme or parts.netloc:
                    if loads and parts.scheme != "data":
                        lines[f"is fetched from elsewhere: {name}: {tag} {address}"] = None
                elif not target.is_file() or anchor not in anchors.get(target, {anchor}):
                    lines[f"leads nowhere: {name}: {address}"] = None
    return [*lines]


def main(command_line: list[str] | None = None) -> None:
    """Build the book that the command line describes, and print the path of its first page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tier", choices=tiers())
    parser.add_argument("--preview", action="store_true", help="of the stored outputs")
    arguments = parser.parse_args(command_line)
    runs = ROOT / "runs" / arguments.tier
    # a neighbour of the target, so a rename replaces it; `make book` and a preview can run together
    out = runs / "book"
    tree = runs / (".book.preview" if arguments.preview else ".book.new")
    make_folder(runs)
    shutil.rmtree(tree, ignore_errors=True)
    make_folder(tree)
    try:
        assemble(tree, STORED if arguments.preview else runs, arguments.tier)
    except (FileNotFoundError, ValueError) as error:
        sys.exit(str(error))
    html = render(tree).relative_to(tree)
    shutil.rmtree(out, ignore_errors=True)
    tree.rename(out)
    print(out / html / "index.html")


if __name__ == "__main__":
    main()
