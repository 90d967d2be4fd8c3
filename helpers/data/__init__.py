"""Images in, whatever they come from: one call gives uint8 images, labels and class names.

>>> load("cifar10_mini", "test")
Images(cifar10_mini/test: 1000 images of 32x32, 10 classes)
"""

from __future__ import annotations

import os
from pathlib import Path

from helpers.checks import known_name
from helpers.data import sources
from helpers.data.cards import Card, cards, find, remedy
from helpers.data.images import Images, resize
from helpers.data.packs import read_pack, write_pack
from helpers.files import data_root

__all__ = [
    "Card",
    "Images",
    "cards",
    "load",
    "locate",
    "names",
    "read_pack",
    "resize",
    "write_pack",
]

EMBEDDED = Path(__file__).resolve().parent / "embedded"


def names(root: str | os.PathLike | None = None) -> list[str]:
    """Return the names that `load` knows: the embedded sets, the packs in `root`, the cards.

    Parameters
    ----------
    root : path-like, optional
        The folder of packs; by default `helpers.files.data_root`.
    """
    folder = data_root() if root is None else Path(root)
    # a leading dot marks a file that is still being written
    packs = {path.stem for path in folder.glob("*.zip") if not path.name.startswith(".")}
    return sorted(packs | {card.name for card in cards()})


def load(
    name: str,
    split: str,
    *,
    root: str | os.PathLike | None = None,
    size: int | None = None,
    download: bool = False,
) -> Images:
    """Load one split of a data set.

    The first that has it gives it: the embedded sets (``cifar10_mini``, ``digits``), then the
    packs ``root/NAME.zip``, then torchvision's data sets under ``root/torchvision``.

    Parameters
    ----------
    name : str
        One of `names`, or ``folder:PATH`` for a folder of images, one subfolder a class.
        The images are held in memory: a folder must be small.
    split : str
        ``train``, ``test``, or what else the data set has.
    root : path-like, optional
        The folder of packs and downloads; by default `helpers.files.data_root`.
    size : int, optional
        Bring images of another size to `size` x `size` pixels (see `resize`).
    download : bool
        Let torchvision download what is not there.

    Raises
    ------
    FileNotFoundError
        The data set is known but not there: says which file, where it was looked for, and the
        command that makes it.
    ValueError
        Unknown name or split, or a damaged pack (see `read_pack`).

    Examples
    --------
    >>> load("digits", "train", size=16)
    Images(digits/train: 1442 images of 16x16, 10 classes)
    >>> load("digist", "train", root="/nowhere")
    Traceback (most recent call last):
        ...
    ValueError: unknown data set 'digist'; did you mean 'digits'? There are: chars74k_natural, ...
    """
    if name.startswith("folder:"):
        return sources.folder(name.removeprefix("folder:"), split, size=size)
    root = data_root() if root is None else Path(root)
    pack = locate(name, root=root, download=download)
    if pack is not None:
        return read_pack(pack, split, size=size)
    if name == "digits":
        found = sources.digits(split)
        return found if size is None else found.resized(size)
    folder = root / "torchvision"
    return sources.torchvision_set(find(name), split, folder, size=size, download=download)


def locate(
    name: str, *, root: str | os.PathLike | None = None, download: bool = False
) -> Path | None:
    """Return the pack that `load` would read, or None where another source has the data set.

    Parameters
    ----------
    name : str
        One of `names`, or ``folder:PATH``.
    root, download
        As in `load`.

    Raises
    ------
    FileNotFoundError, ValueError
        As in `load`, before any image is read.

    Examples
    --------
    >>> locate("cifar10_mini").name
    'cifar10_mini.zip'
    >>> locate("digits") is None
    True
    """
    if name == "digits" or name.startswith("folder:"):
        return None
    root = data_root() if root is None else Path(root)
    known_name("data set", name, names(root))
    pack = (EMBEDDED if name == "cifar10_mini" else root) / f"{name}.zip"
    if pack.exists():
        return pack
    card, also = find(name), ""
    if card is not None and card.torchvision:
        folder = root / "torchvision"
        if download or folder.is_dir():
            return None  # whether its files are whole, torchvision finds out
        also = f", nor torchvision's files in {folder}"
    raise FileNotFoundError(
        f"data set '{name}': no pack {pack}{also}. This makes it: `{remedy(name)}`; "
        "packs elsewhere are found through the environment variable DATA_ROOT"
    )
