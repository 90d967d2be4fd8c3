"""Images of any source: one call gives uint8 images, labels and class names.

>>> load("cifar10_mini", "test")
Images(cifar10_mini/test: 1000 images of 32x32, 10 classes)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from helpers.checks import known_name
from helpers.data import sources
from helpers.data.cards import Card, card_of, cards, find, remedy
from helpers.data.draws import hold_out, subsample
from helpers.data.images import Images, concatenate
from helpers.data.listing import Listing
from helpers.data.packs import is_pack, pack_splits, read_pack, write_pack
from helpers.data.photograph_packs import PackedStream, write_photographs
from helpers.data.pixels import resize, smoothness
from helpers.data.stream import ImageStream
from helpers.files import data_root

EMBEDDED = Path(__file__).resolve().parent / "embedded"
PACKS = "[!.]*.zip"  # a leading dot marks an unfinished file


def names() -> list[str]:
    """Return the names that `load` knows: the built-in sets, the packs, the cards."""
    # other programs write archives, too
    packs = {path.stem for path in data_root().glob(PACKS) if is_pack(path)}
    return sorted(packs | {card.name for card in cards()})


def load(
    name: str,
    split: str,
    *,
    size: int | None = None,
    download: bool = False,
) -> Images:
    """Load one split of a data set.

    The name is searched in this order: the built-in sets (``digits``, ``photographs`` and the
    generated families), the embedded packs (``cifar10_mini``, ``cifar100_mini`` and other slices of
    whole sets), the packs ``NAME.zip`` in `helpers.files.data_root`, and torchvision's data sets in
    its folder ``torchvision``.

    Parameters
    ----------
    name : str
        One of `names`, or ``folder:PATH`` for a folder of images with one subfolder per class.
        The images are held in memory; for a large folder use `ImageStream`.
    split : str
        ``train``, ``test``, or another split of the data set.
    size : int, optional
        Resize images of another size to `size` x `size` pixels (see `resize`).
    download : bool
        Allow torchvision to download missing files.

    Examples
    --------
    >>> load("digits", "train", size=16)
    Images(digits/train: 1442 images of 16x16, 10 classes)
    >>> load("digist", "train")
    Traceback (most recent call last):
        ...
    ValueError: unknown data set 'digist'; did you mean 'digits'? The nearest of ...
    """
    if not isinstance(name, str):
        raise ValueError(f"name: the name of a data set expected, got {name!r}")
    sources.check_size(size)
    if name.startswith("folder:"):
        path = name.removeprefix("folder:")
        return sources.folder(path, split, size=size)
    if name in sources.BUILT_IN:
        return sources.BUILT_IN[name](split, size=size)
    pack = locate(name, download=download)
    if pack is not None:
        return read_pack(pack, split, size=size)
    card = card_of(name)
    if card.streamed:
        raise ValueError(f"data set '{name}': too large for memory, open it with `open_stream`")
    folder = data_root() / "torchvision"
    return sources.torchvision_set(card, split, folder, size=size, download=download)


def open_stream(name: str, split: str) -> ImageStream:
    """Open a data set stored as a folder of images among the packs; load no images into memory.

    If the folder has a pack of the split (`helpers.data.photograph_packs`), the pack is opened.
    """
    pack = data_root() / name / f"{split}.bytes"
    return PackedStream.read(pack) if pack.exists() else ImageStream.open(list_stream(name, split))


def list_stream(
    name: str,
    split: str,
    *,
    corruptions: Sequence[str] | None = None,
    severities: Sequence[int] | None = None,
) -> Listing:
    """List a data set that is stored as a folder of images among the packs; no file is opened.

    To use only some of the images, choose them here, before `ImageStream.open` reads the files.
    """
    known_name("streamed data set", name, [card.name for card in cards() if card.streamed])
    locate(name)
    folder = data_root() / name
    if name == "imagenet_c":  # a folder of images for each corruption and severity
        from helpers.data.corruptions import NAMES, SEVERITIES

        kinds = NAMES if corruptions is None else corruptions
        levels = SEVERITIES if severities is None else severities
        parts = [f"{kind}/{level}" for kind in kinds for level in levels]
        return Listing.join([Listing.scan(folder / part, split=split) for part in parts], name)
    return Listing.scan(folder, split=split)


def splits(name: str) -> list[str]:
    """Return the names of a data set's splits; except for the split, errors are as in `load`.

    Examples
    --------
    >>> sorted(splits("cifar10_mini"))
    ['test', 'train']
    """
    if name.startswith("folder:"):
        return list(sources.folder_splits(name.removeprefix("folder:")))
    pack = locate(name, download=True)
    return list(card_of(name).splits) if pack is None else pack_splits(pack)


def split_for_tests(name: str) -> str:
    """Return a data set's split for tests: ``test``, else ``val`` or ``sample``, else the first.

    >>> split_for_tests("cifar10_mini")
    'test'
    """
    card = find(name)
    available = card.splits if card is not None and card.streamed else splits(name)
    return next(split for split in ("test", "val", "sample", *available) if split in available)


def locate(name: str, *, download: bool = False) -> Path | None:
    """Return the pack that `load` would read, or None where another source has the data set.

    Examples
    --------
    >>> locate("cifar10_mini").name
    'cifar10_mini.zip'
    >>> locate("digits") is None
    True
    """
    if name in sources.BUILT_IN or name.startswith("folder:"):
        return None
    root = data_root()
    pack = root / f"{name}.zip"
    card = find(name)
    # not all names, for which each file would be opened
    files = {path.name for path in root.glob(PACKS)}
    if card is None and not (f"{name}.zip" in files and is_pack(pack)):
        known_name("data set", name, names())
    for path in (EMBEDDED / pack.name, pack):
        if path.exists():
            return path
    also = ""
    if card is not None and card.streamed:
        folder = root / name
        if folder.is_dir():
            return None
        raise FileNotFoundError(
            f"data set '{name}': no folder {folder}. This makes it of its archive: "
            f"`{remedy(name)}`; a folder elsewhere is found through the environment "
            "variable DATA_ROOT"
        )
    if card is not None and card.torchvision:
        folder = root / "torchvision"
        if download or folder.is_dir():
            return None  # whether its files are whole, torchvision finds out
        also = f", nor torchvision's files in {folder}"
    raise FileNotFoundError(
        f"data set '{name}': no pack {pack}{also}. This makes it: `{remedy(name)}`; "
        "packs elsewhere are found through the environment variable DATA_ROOT"
    )
