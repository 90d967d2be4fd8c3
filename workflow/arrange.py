"""Arrange a data set of photographs as it is read here, from its unpacked archive.

    python workflow/arrange.py food101 ~/downloads/food-101

The archive is one that the data set's makers distribute; `layouts.py` says how it looks.  Of it
comes DATA_ROOT/NAME (or NAME in --root), which `helpers.data.open_stream` reads: a folder a class,
with the class's name, of links to the images.  Nothing is copied, and the archive has to stay where
it is.  The folder appears whole or not at all.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from layouts import LAYOUTS
from tqdm import tqdm

from helpers.checks import known_name
from helpers.data.cards import find
from helpers.data.directories import is_image
from helpers.files import data_root


def arrange(name: str, path: Path, root: Path) -> str:
    """Make the folder of a data set, and return what was made, in a line.

    Raises
    ------
    FileExistsError
        It is there.
    FileNotFoundError, ValueError
        `path`, or a list in it, is not there, or it is not what the data set's makers distribute.
    """
    known_name("streamed data set", name, LAYOUTS)
    path, target = path.expanduser().resolve(), root.expanduser().resolve() / name
    if target.exists() or target.is_symlink():
        raise FileExistsError(f"{target} is there; move it away, or remove it if it is links alone")
    if not path.is_dir():
        raise FileNotFoundError(f"folder {path}: not there; give that of the unpacked archive")
    counts, classes = Counter(), set()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{name}.") as temporary:
        made = Path(temporary) / name
        for split, label, source in tqdm(LAYOUTS[name](path), desc=f"link {name}", disable=None):
            place, images = made / split / label, 1
            if source.is_dir():
                images = sum(map(is_image, source.rglob("*")))
                if not images:
                    raise ValueError(f"folder {source}: no images in it; unpack the archive again")
            else:
                place /= source.name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(source)
            counts[split] += images
            classes.add(label)
        if not counts:
            raise ValueError(f"folder {path}: no images in it")
        made.rename(target)
    return _told(name, target, counts, classes)


def _told(name: str, target: Path, counts: Counter, classes: set[str]) -> str:
    """Say what was made, and how many images there should be where that is another number."""
    expected = find(name).splits
    if not set(counts) <= set(expected):  # one split, in one folder or in many
        counts = {"test": counts.total()}
    parts = [
        f"{split} {counts[split]} images"
        + ("" if counts[split] == all_of_it else f" of {all_of_it}")
        for split, all_of_it in expected.items()
    ]
    return f"{target}: {', '.join(parts)}; {len(classes - {''}) or 'no'} classes"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help=", ".join(LAYOUTS))
    parser.add_argument("path", type=Path, help="the folder of its unpacked archive")
    parser.add_argument("--root", type=Path, help="where its folder goes (default: DATA_ROOT)")
    options = parser.parse_args(arguments)
    print(arrange(options.name, options.path, options.root or data_root()))


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError) as error:
        sys.exit(f"arrange: {error}")
