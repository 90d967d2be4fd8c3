"""Image folders as lists of files, from which a subset is chosen before a file is opened."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np

from helpers.data.images import Labelled, merge_class_names, renumber
from helpers.data.sources import listing


@dataclass(frozen=True, eq=False, repr=False)
class Listing(Labelled):
    """The files of one split of an image folder, one subfolder a class; none has been opened.

    Made by `scan` or `join`; `helpers.data.ImageStream.open` then opens the remaining files.

    Attributes
    ----------
    root : Path
        The split's folder.
    files : tuple of str
        Paths within `root`, N of them.
    labels : ndarray of int64, shape [N]
        Indices into `class_names`; -1 if the image's class is not among them.
    class_names : tuple of str
    name, split : str
    origin : dict

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "pets"
    >>> for name in ("cat", "dog"):
    ...     (folder / name).mkdir(parents=True)
    ...     (folder / name / "1.png").touch()
    >>> Listing.scan(folder).select(["dog"]).files
    ('dog/1.png',)
    """

    root: Path
    files: tuple[str, ...]
    labels: np.ndarray
    class_names: tuple[str, ...]
    name: str
    split: str
    origin: dict

    @classmethod
    def scan(cls, path: str | os.PathLike, *, split: str = "test") -> Listing:
        """List a folder, with or without the subfolders train, val and test."""
        root, files, description = listing(path, split)
        return cls(root, tuple(files), **description)

    @staticmethod
    def join(listings: Sequence[Listing], name: str) -> Listing:
        """Concatenate several listings in their order, as `concatenate` does with images.

        Classes with equal names become one class; `root` is the folder that contains all roots.
        """
        if not listings:
            raise ValueError("listings: none given; at least one is needed")
        root = Path(os.path.commonpath([listed.root for listed in listings]))
        names = merge_class_names(listings)
        files: list[str] = []
        labels = []
        for listed in listings:
            labels.append(renumber(listed.labels, listed.class_names, names))
            folder = listed.root.relative_to(root).as_posix()
            files += [file if folder == "." else f"{folder}/{file}" for file in listed.files]
        return Listing(
            root=root,
            files=tuple(files),
            labels=np.concatenate(labels),
            class_names=names,
            name=name,
            split="+".join(dict.fromkeys(listed.split for listed in listings)),
            origin={"title": f"image folder {root.name}", "source": "folders of images"},
        )

    def __len__(self) -> int:
        return len(self.files)

    def subset(self, indices) -> Self:
        """Return the images at `indices` (integers in any order, or a boolean mask [N])."""
        positions = np.arange(len(self))[indices]
        files = tuple(self.files[index] for index in positions)
        return replace(self, files=files, labels=self.labels[positions])
