"""What a pack contains, before it is written to a file."""

from dataclasses import dataclass

from helpers.data import Images


@dataclass(frozen=True)
class PackContent:
    """What `write_pack` writes: of each split pixels or JPEG files, labels, and coarse labels."""

    splits: dict[str, tuple]
    class_names: tuple[str, ...]
    origin: dict
    coarse_class_names: tuple[str, ...] | None = None


def of_splits(splits: dict[str, Images], origin: dict) -> PackContent:
    """Return the content of a pack of these splits, which have the same classes."""
    arrays = {split: (images.images, images.labels) for split, images in splits.items()}
    return PackContent(arrays, next(iter(splits.values())).class_names, origin)
