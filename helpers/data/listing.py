"""Image folders as lists of files, of which some are chosen before any is opened."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from helpers.data.images import Labelled, renumber
from helpers.data.sources import listing


@dataclass(frozen=True, eq=False, repr=False)
class Listing(Labelled):
    """The files of one split of an image folder, one subfolder a class; none has been opened.

    Made by `scan` or `join`; `helpers.data.ImageStream.open` looks at those that are left.

    Attributes
    ----------
    root : Path
        The split's folder.
    files : tuple of str
        Paths within `root`, N of them.
    labels : ndarray of int64, shape [N]
        Indices into `class_names`; -1 where the image's class is none of them.
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
        """List a folder, with or without the subfolders train, val and test.

        Raises
        ------
        FileNotFoundError, ValueError
            As `helpers.data.sources.listing`.
        """
        root, files, description = listing(path, split)
        return cls(root, tuple(files), **description)

    @classmethod
    def join(cls, parts: Sequence[Listing], name: str) -> Listing:
        """Put several together as one, as `helpers.data.ImageStream.join` does streams."""
        root = Path(os.path.commonpath([part.root for part in parts]))
        names = tuple(dict.fromkeys(label for part in parts for label in part.class_names))
        places = [part.root.relative_to(root).as_posix() for part in parts]
        return cls(
            root,
            tuple(
                file if place == "." else f"{place}/{file}"
                for place, part in zip(places, parts, strict=True)
                for file in part.files
            ),
            np.concatenate([renumber(part.labels, part.class_names, names) for part in parts]),
            names,
            name,
            "+".join(dict.fromkeys(part.split for part in parts)),
            {"title": f"image folder {root.name}", "source": "folders of images"},
        )

    def __len__(self) -> int:
        return len(self.files)

    def subset(self, indices) -> Listing:
        """Return the files at `indices` (integers in any order, or a boolean mask [N])."""
        chosen = np.arange(len(self))[indices]
        files = tuple(self.files[index] for index in chosen)
        return replace(self, files=files, labels=self.labels[chosen])
