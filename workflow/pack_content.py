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
    first = next(iter(splits.values()))
    arrays: dict[str, tuple] = {}
    for split, images in splits.items():
        coarse = () if images.coarse_labels is None else (images.coarse_labels,)
        arrays[split] = (images.images, images.labels, *coarse)
    return PackContent(arrays, first.class_names, origin, first.coarse_class_names)
