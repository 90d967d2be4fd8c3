"""Assemble the book's sources and render them with Jupyter Book.

    python workflow/book.py --tier mini --runs runs/mini --out runs/mini/book
    python workflow/book.py --tier mini --runs notebooks --out runs/mini/book   # a preview

With ``--runs notebooks`` the pages show the outputs that are stored in the repository's notebooks,
and say so on the first one: a book before anything is executed.

The sources are the prose of ``book/``, the executed notebooks of ``--runs``, the reference pages
that :mod:`pages` writes from the package's own records, and what :mod:`front`, :mod:`openings` and
:mod:`explore` make of the results at hand.  They are laid out like the repository, so that the
launch, download and repository links of a page name its own file.

Every build starts from an empty tree, and takes the place of the book that was there before only
once it has succeeded.  Of that one it takes what was made of pages whose sources are the same, so
that they need not be parsed again; each page is written anew.  So a page that lost its source
cannot survive, and no warning can hide, as in an incremental build: one of parsing would have
ended the build before, one of writing ends this one.  A folder without the mark that this script
leaves is somebody else's, and is left as it is.
"""

from __future__ import annotations

import argparse
import filecmp
import functools
import importlib.util
import shutil
import sys
from importlib import import_module
from importlib.metadata import distributions
from pathlib import Path

import explore
import front
import glance
import jupyter_book.config
import links
import nbformat
import openings
import pages
import pybtex.plugin
import yaml
from jupyter_book.config import get_default_sphinx_config
from jupyter_book.sphinx import build_sphinx
from plan import CHAPTER, plan
from refresh import reduce_pictures

from known_unknowns.chapters import CHAPTERS

ROOT = Path(__file__).resolve().parent.parent
TOC = "book/_toc.yml"
STORED = ROOT / "notebooks"
PREVIEW = """
```{{admonition}} A preview
:class: tip
Nothing has been executed for these pages: they show the outputs that came with the code, of the
tier `{tier}`, and the committed results of larger ones.  `make book` executes everything, and puts
the executed book in this one's place.
```
"""
WRITTEN_FOR = "mini"  # the tier of which the notebooks' sentences speak
OTHER_TIER = """
```{{admonition}} Tier `{tier}`
:class: note
{said}
```
"""
EXECUTED = (
    "Numbers and figures of this page are this tier's.  Its sentences were written for those of "
    f"the tier `{WRITTEN_FOR}`, and may not fit these."
)
STORED_ALONE = (
    "This notebook is not a part of this tier: what stands here came with the code, of the tier "
    f"`{WRITTEN_FOR}`."
)
DOCTREES = ".doctrees"  # what Sphinx calls a folder of parsed pages
MARK = ".made-by-book.py"  # in every folder that may be removed
REDIRECT = """<!doctype html>
<meta charset="utf-8">
<title>{title}</title>
<meta http-equiv="refresh" content="0; url={page}">
<a href="{page}">{title}</a>
"""


def toc_files(entry: dict) -> list[str]:
    """Return the files that a table of contents, or an entry of it, lists, in reading order."""
    own = [entry[key] for key in ("root", "file") if key in entry]
    nested = [toc_files(e) for k in ("parts", "chapters", "sections") for e in entry.get(k, [])]
    return own + [file for files in nested for file in files]


def contents() -> dict:
    """Return the table of contents, with the chapters that are made from the papers' records.

    A part of the file whose ``chapters`` are the word ``papers`` has those of the papers, and
    ``across`` those about all of them: each its overview and the notebooks that there are.
    """
    toc = yaml.safe_load((ROOT / TOC).read_text(encoding="utf-8"))
    for part in toc.get("parts", []):
        if part["chapters"] in ("papers", "across"):
            own = [
                p for p in CHAPTERS.values() if bool(p.main_claim) == (part["chapters"] == "papers")
            ]
            part["chapters"] = [chapter(paper.name) for paper in own]
    return toc


def chapter(paper: str) -> dict:
    """Return the entry of a paper's chapter in the table of contents."""
    there = {file.stem for file in (ROOT / "notebooks" / paper).glob("*.ipynb")}
    others = sorted(there - set(CHAPTER))
    names = [*(name for name in CHAPTER if name in there), *others]
    sections = [{"file": f"notebooks/{paper}/{name}"} for name in names]
    return {"file": f"book/{paper}", "sections": sections}


def tags_of(cell) -> list[str]:
    """Return the tags of a notebook's cell."""
    return cell.metadata.get("tags", [])


def assemble(tree: Path, runs: Path, tier: str) -> None:
    """Write the sources of the book of one tier into the empty folder `tree`.

    Notebooks that the tier does not have are shown with the outputs that came with the code.

    Raises
    ------
    FileNotFoundError
        An executed notebook of the tier is not in `runs`.
    """
    shutil.copytree(ROOT / "book", tree / "book")
    toc = contents()
    if runs.resolve() == STORED:
        intro = tree / f"{toc['root']}.md"
        # below what is known, which is to be seen in one screen
        first, mark, text = intro.read_text(encoding="utf-8").partition("\n## ")
        intro.write_text(f"{first}\n{PREVIEW.format(tier=tier)}{mark}{text}", encoding="utf-8")
    (tree / TOC).write_text(yaml.safe_dump(toc, sort_keys=False), encoding="utf-8")
    of_tier = {"/".join(name.split("/")[:2]) for name in plan(tier)}
    for file in toc_files(toc):
        if file.startswith("notebooks/"):
            own = file.removeprefix("notebooks/") in of_tier
            place = Path(file).relative_to("notebooks").with_suffix(".ipynb")
            executed = (runs if own else STORED) / place
            if not executed.exists():
                raise FileNotFoundError(
                    f"{executed}: this executed notebook is missing; make it: make run TIER={tier}"
                )
            target = tree / f"{file}.ipynb"
            target.parent.mkdir(parents=True, exist_ok=True)
            notebook = nbformat.read(executed, as_version=4)
            if tier != WRITTEN_FOR:
                title, _, text = notebook.cells[0].source.partition("\n")
                note = OTHER_TIER.format(tier=tier, said=EXECUTED if own else STORED_ALONE)
                notebook.cells[0].source = f"{title}\n{note}{text}"
            for cell in notebook.cells:  # readers see the knobs, which the cell above it explains
                reduce_pictures(cell.get("outputs", []))
                if "injected-parameters" in tags_of(cell):
                    cell.metadata["tags"] = [*tags_of(cell), "remove-cell"]
            nbformat.write(notebook, target)
    reference = tree / "book" / "reference"
    reference.mkdir()
    for name, text in pages.reference(runs, tier, downloads=reference).items():
        (reference / f"{name}.md").write_text(text, encoding="utf-8")
    # no pages, but parts of the introduction, and what each overview page opens with
    found, tables = glance.judge(runs, tier)
    numbers = front.stored()
    parts = {"front": front.show(numbers), "trade_off": front.quote(numbers)}
    parts["accepted"] = front.tabulate(numbers)
    opened = openings.write(found, tables, reference)
    parts |= {f"{paper}_found": text for paper, text in opened.items()}
    parts |= {f"{paper}_explore": text for paper, text in explore.write().items()}
    for name, text in parts.items():
        (reference / f"{name}.txt").write_text(text, encoding="utf-8")


def keep_parsed(tree: Path, before: Path) -> None:
    """Take over what Sphinx made of the sources of the book before, and when they were written.

    Nothing of a book that other versions of the packages have made.
    """
    parsed, marks = before / "_build", [tree / MARK, before / MARK]
    if not (parsed / DOCTREES).is_dir() or len({one.read_text() for one in marks}) > 1:
        return
    shutil.copytree(parsed, tree / "_build", ignore=lambda *_: {"html"})
    for file in (one for one in tree.rglob("*") if one.is_file()):
        old = before / file.relative_to(tree)
        if old.is_file() and filecmp.cmp(file, old, shallow=False):
            shutil.copystat(old, file)
        else:  # Sphinx asks for its time alone, which may be that of an older one of its name
            file.touch()


def without_thebe() -> dict:
    """Return Jupyter Book's own settings of Sphinx, but for the extension Thebe.

    It would run code on a server elsewhere, by a button that these pages do not have; and Sphinx
    writes its constants into each page twice, which browsers report as an error.
    """
    settings = get_default_sphinx_config()
    settings["extensions"].remove("sphinx_thebe")
    return settings


def render(tree: Path) -> Path:
    """Render the sources in `tree` and return the folder of the pages.

    Any warning is an error, and so is a link inside the book that leads nowhere, or a page that
    would load something from elsewhere.
    """
    html = tree / "_build" / "html"
    # whole before autodoc comes, which adds to the annotations of the classes that they inherit
    for file in sorted([*ROOT.glob("helpers/papers/*/parameters.py"),
                        *ROOT.glob("known_unknowns/*/parameters.py")]):  # fmt: skip
        import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))
    # else looked up in the metadata of all that is installed, for each of hundreds of references
    pybtex.plugin.entry_points = functools.cache(pybtex.plugin.entry_points)
    jupyter_book.config.get_default_sphinx_config = without_thebe  # no setting takes one away
    status = build_sphinx(
        tree,
        html,
        noconfig=True,  # no conf.py: all is in _config.yml
        path_config=ROOT / "_config.yml",
        confoverrides={
            "external_toc_path": str(tree / TOC),
            "latex_individualpages": False,  # Jupyter Book asks for this key whatever the builder
        },
        warningiserror=True,
        keep_going=True,
        quiet=True,
    )
    if status:  # a status code, or the exception that ended the build
        sys.exit("the book was not built: see the warnings above")
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    toc = yaml.safe_load((tree / TOC).read_text())
    page = REDIRECT.format(title=config["title"], page=f"{toc['root']}.html")
    (html / "index.html").write_text(page, encoding="utf-8")
    # The package would copy all of MathJax (24 MB); the book needs this one file of it.
    mathjax = Path(importlib.util.find_spec("sphinx-mathjax-offline").origin).parent
    name = config["sphinx"]["config"]["mathjax_path"]
    (html / "_static" / name).parent.mkdir()
    shutil.copyfile(mathjax / "static" / name, html / "_static" / name)
    if wrong := links.problems(html):
        sys.exit("\n".join(["the book was not built: in its pages", *wrong]))
    return html


def check_replaceable(folder: Path) -> None:
    """End with a message unless the folder is of this script, empty, or not there."""
    if (folder.is_dir() and not any(folder.iterdir())) or (folder / MARK).is_file():
        return
    if folder.exists():
        sys.exit(
            f"{folder} is there and was not made by this script (it holds no {MARK}), so it is "
            "left as it is; name another folder, or remove this one yourself"
        )


def main(command_line: list[str] | None = None) -> None:
    """Build the book that the command line describes, and print the path of its first page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tier", required=True)
    parser.add_argument("--runs", required=True, type=Path, help="where the executed notebooks are")
    parser.add_argument("--out", required=True, type=Path, help="folder of the sources and pages")
    arguments = parser.parse_args(command_line)

    out = arguments.out.resolve()
    tree = out.with_name(f".{out.name}.new")  # beside, so that a rename can put it in place
    for folder in (out, tree):
        check_replaceable(folder)
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    found = sorted(f"{one.name} {one.version}" for one in distributions())
    (tree / MARK).write_text("\n".join(found))
    try:
        assemble(tree, arguments.runs, arguments.tier)
    except (FileNotFoundError, ValueError) as error:
        sys.exit(str(error))
    keep_parsed(tree, out)
    html = render(tree).relative_to(tree)
    check_replaceable(out)  # rendering takes long enough for somebody to put something there
    shutil.rmtree(out, ignore_errors=True)
    tree.rename(out)
    print(out / html / "index.html")


if __name__ == "__main__":
    main()
