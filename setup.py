"""Build a wheel with one name, `known_unknowns`.

A user may have files named `helpers.py` or `pictures.py`.  So the wheel contains `helpers` and
`pictures` as `known_unknowns._helpers` and `known_unknowns._pictures`, with changed imports.  An
editable installation keeps the folders of the checkout.
"""

import ast
import re
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.egg_info import egg_info

TOOL = "known_unknowns"
MOVED = ("helpers", "pictures")
# what only the book uses: code, 20 MB of images, WordNet, and a network of 1 MB
BOOK = (
    "papers",
    "tables",
    "data/embedded",
    "networks/weights/cifar10_resnet32.safetensors",
)


def renamed(source: str) -> str:
    """Return a module's source with the names of moved packages as they are in the wheel.

    >>> print(renamed("from helpers.data import load\\nimport pictures\\nname = f'helpers.{x}'"))
    from known_unknowns._helpers.data import load
    from known_unknowns import _pictures as pictures
    name = f'known_unknowns._helpers.{x}'
    """
    moved = "|".join(MOVED)
    new = rf"{TOOL}._\1"
    source = re.sub(rf"(?m)^(\s*)from ({moved})\b", rf"\1from {TOOL}._\2", source)
    source = re.sub(rf"(?m)^(\s*)import ({moved})$", rf"\1from {TOOL} import _\2 as \2", source)
    source = re.sub(
        rf"(?m)^(\s*)import ((?:{moved})\.[\w.]+) as ", rf"\1import {TOOL}._\2 as ", source
    )
    source = re.sub(
        rf"(?m)^(\s*)import ({moved})(\.[\w.]+)$",
        rf"\1import {TOOL}._\2\3\n\1from {TOOL} import _\2 as \2",
        source,
    )
    return re.sub(rf"(?<=[\"'])({moved})(?=\.[\w{{])", new, source)


def unmoved(source: str) -> list[str]:
    """Return the imports of packages that the wheel does not have, which `renamed` has left."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    gone = tuple(f"{TOOL}._helpers.{name}" for name in BOOK)
    absent = (*MOVED, "synthesis")
    return [name for name in names if name.partition(".")[0] in absent or name.startswith(gone)]


class Build(build_py):
    """Build the packages, then move them below the tool's name."""

    def run(self):
        library = Path(self.build_lib)
        shutil.rmtree(library / TOOL, ignore_errors=True)  # modules that are gone
        super().run()
        if self.editable_mode:
            return
        for name in MOVED:
            target = library / TOOL / f"_{name}"
            shutil.rmtree(target, ignore_errors=True)
            shutil.move(library / name, target)
        shutil.rmtree(library / "synthesis", ignore_errors=True)  # about the papers, not the tool
        for name in BOOK:
            path = library / TOOL / "_helpers" / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for file in (library / TOOL).rglob("*.py"):
            source = renamed(file.read_text("utf-8"))
            if names := unmoved(source):
                raise ValueError(f"{file}: imports {names}; write one plain import on a line")
            file.write_text(source, encoding="utf-8")


class Names(egg_info):
    """Write the one name of the wheel; by default, `helpers` of a user would count as ours."""

    def run(self):
        super().run()
        Path(self.egg_info, "top_level.txt").write_text(f"{TOOL}\n", encoding="utf-8")


if __name__ == "__main__":
    setup(cmdclass={"build_py": Build, "egg_info": Names})
