"""Parcels: the images of trainings in a few files, for a machine without data sets.

A parcel is a folder.  ``images_000.zip`` and further packs contain each image once, in the order in
which the trainings need it, so that the first packs suffice for the first trainings.
``parcel.json`` has the images of each role of a training, by their SHA-256.
Networks and checkpoints are carried by a few tar files, see `write_shards`.
"""

import functools
import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from helpers.data.images import Images
from helpers.data.packs import read_pack, write_pack
from helpers.files import atomic_path

#: Roles of the images that a training and its export need.
ROLES = ("train", "test", "external")
#: Images in a pack: at 32 pixels they have 14 MB.
IMAGES = 8000
#: Most files with networks and checkpoints, and most bytes of a file, below 16 MiB.
SHARDS = 4
BYTES = 16_000_000
#: Bytes of a file in a tar file in addition to its content.
_FRAME = 4096
#: Files of a cache that a training writes, the most important first.
KEPT = (
    "exports/*/networks/*/*.safetensors",
    "queue/*.txt",
    "diverged/*.json",
    "networks/*.safetensors",
    "networks/*.partial",
    "queue/*.log",
)


class Writer:
    """Collects the images of trainings, each image once, and writes a parcel."""

    def __init__(self) -> None:
        self.places: dict[bytes, int] = {}
        self.pixels: list[np.ndarray] = []
        self.sets: dict[str, dict] = {}
        self.entries: list[tuple] = []

    def add(self, values: Sequence[str], roles) -> None:
        """Add an entry of the queue with the roles of its images: an object, or objects by key."""
        splits = roles if isinstance(roles, Mapping) else {None: roles}
        digests = []
        for key, split in splits.items():
            roles_there = [role for role in ROLES if hasattr(split, role)]
            digests.append((key, {role: self._add(getattr(split, role)) for role in roles_there}))
        self.entries.append((values, digests))

    def _add(self, images: Images) -> str:
        if images.sha256 not in self.sets:
            indices = []
            for pixels in images.images:
                digest = hashlib.sha256(pixels).digest()
                if digest not in self.places:
                    self.places[digest] = len(self.pixels)
                    self.pixels.append(pixels.copy())
                indices.append(self.places[digest])
            self.sets[images.sha256] = {
                "indices": indices,
                "labels": images.labels.tolist(),
                "class_names": images.class_names,
                "name": images.name,
                "split": images.split,
            }
        return images.sha256

    def write(self, folder: Path, commit: str) -> None:
        """Write the parcel; `commit` is the revision of the code that trains."""
        for number, start in enumerate(range(0, len(self.pixels), IMAGES)):
            block = np.stack(self.pixels[start : start + IMAGES])
            path = _pack(folder, number)
            write_pack(
                path,
                name=path.stem,
                class_names=["image"],
                splits={"train": (block, [0] * len(block))},
                origin={"title": "Images of several data sets, for a training elsewhere"},
            )
        content = {"commit": commit, "entries": self.entries, "sets": self.sets}
        with atomic_path(folder / "parcel.json") as temporary:
            temporary.write_text(json.dumps(content), encoding="utf-8")


@dataclass(frozen=True)
class Parcel:
    """A parcel to train from."""

    folder: Path
    commit: str
    entries: list  # pairs of the values of an entry, and the digests of its images
    sets: Mapping[str, Mapping]

    @classmethod
    def current(cls) -> "Parcel | None":
        """Return the parcel in the folder PARCEL, an environment variable; None without one."""
        folder = os.environ.get("PARCEL")
        if not folder:
            return None
        text = (Path(folder) / "parcel.json").read_text(encoding="utf-8")
        return cls(Path(folder), **json.loads(text))

    def roles(self, *entry: str) -> SimpleNamespace | dict:
        """Return the roles of the images of an entry, as `Writer.add` got them."""
        (digests,) = [digests for values, digests in self.entries if values == [*entry]]
        splits = {}
        for key, roles in digests:
            images = {role: self._images(sha256) for role, sha256 in roles.items()}
            splits[key] = SimpleNamespace(**images)
        return splits.get(None, splits)

    def _images(self, sha256: str) -> Images:
        record = self.sets[sha256]
        numbers, rows = np.divmod(record["indices"], IMAGES)
        blocks = {number: _pixels(_pack(self.folder, number)) for number in np.unique(numbers)}
        pixels = [blocks[number][row] for number, row in zip(numbers, rows, strict=True)]
        return Images(
            np.stack(pixels),
            np.array(record["labels"], np.int64),
            tuple(record["class_names"]),
            record["name"],
            record["split"],
        )


def _pack(folder: Path, number: int) -> Path:
    return folder / f"images_{number:03}.zip"


@functools.cache
def _pixels(path: Path) -> np.ndarray:
    if not path.exists():
        raise FileNotFoundError(f"{path}: this pack of the parcel is missing; copy it to here, too")
    return read_pack(path, "train").images


def write_shards(
    root: Path, folder: Path, stem: str, *, since: float = 0.0, patterns: Iterable[str] = KEPT
) -> None:
    """Write files below `root` into ``STEM_0.tar`` and so on, not those before a time.

    Files without space are named.  A file that vanishes meanwhile is left out.  Tar files of an
    earlier call are replaced or removed.
    """
    groups: list[list[tuple[tarfile.TarInfo, bytes]]] = [[]]
    size = 0
    files: list[Path] = []
    for pattern in patterns:
        files += sorted(root.glob(pattern))
    for file in files:
        try:
            content = file.read_bytes()
            changed = file.stat().st_mtime
        except FileNotFoundError:
            continue
        if file.name.startswith(".") or changed < since:  # not whole, or known already
            continue
        needed = len(content) + _FRAME
        if size + needed > BYTES >= needed:
            groups.append([])
            size = 0
        if needed > BYTES or len(groups) > SHARDS:
            print(f"{file}: left out of {SHARDS} files of {BYTES} bytes", flush=True)
            continue
        size += needed
        member = tarfile.TarInfo(str(file.relative_to(root)))
        member.size = len(content)
        member.mtime = changed
        groups[-1].append((member, content))
    for number in range(SHARDS):
        path = folder / f"{stem}_{number}.tar"
        if number >= len(groups):
            path.unlink(missing_ok=True)
            continue
        with atomic_path(path) as temporary:
            with tarfile.open(temporary, "w") as archive:
                for member, content in groups[number]:
                    archive.addfile(member, io.BytesIO(content))


def unpack(shard: Path, root: Path) -> int:
    """Put the files of a shard below a folder, and return their number; newer files stay."""
    count = 0
    with tarfile.open(shard, "r:") as archive:
        for member in filter(tarfile.TarInfo.isfile, archive):
            target = root / tarfile.data_filter(member, str(root)).name
            content = archive.extractfile(member)
            newer = target.exists() and target.stat().st_mtime >= member.mtime
            if newer or content is None:
                continue
            with atomic_path(target) as temporary:
                temporary.write_bytes(content.read())
                os.utime(temporary, (member.mtime, member.mtime))
            count += 1
    return count
