"""Feature packs: the features of training, test and unknown images in one small file.

Features are stored in 8 bits, with the head, from which the logits are computed: the cube roots of
each feature are rounded to 256 levels, so small values are finer than large values.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from helpers import checkpoints
from helpers.files import atomic_path
from helpers.outputs import Head, Outputs

#: The folder of the packs in this package.
#:
#: :meta hide-value:
EMBEDDED = Path(__file__).parent / "packs"
SIDES = ("near", "far")
_VERSION = "3"  # of the files
_HIGHEST = 255  # level, of 8 bits


@dataclass(frozen=True)
class FeaturePack:
    """A network's outputs on the images that a score is fitted to and tested on.

    `id_set` is the data set with the network's classes.  Scores are fitted to `train`, some of
    its training images.  `near` and `far` have unknown images by data set, labels −1.  `facts`
    describe the origin.
    """

    name: str
    id_set: str
    head: Head
    train: Outputs
    test: Outputs
    near: dict[str, Outputs]
    far: dict[str, Outputs]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parts(self) -> dict[str, Outputs]:
        """All outputs by their place in the file: ``train``, ``test``, ``near/NAME`` and so on.

        Sets of unknown images are in the order of their names.
        """
        unknown = {
            f"{side}/{name}": outputs
            for side in SIDES
            for name, outputs in sorted(getattr(self, side).items())
        }
        return {"train": self.train, "test": self.test} | unknown

    def rounded(self) -> FeaturePack:
        """Return the pack with features in 8 bits, as `read` returns it."""
        return _unpack(self._about(), self._arrays())

    def write(self, path: str | os.PathLike) -> None:
        """Write a safetensors file with its checksum inside, whole or not at all."""
        arrays = self._arrays()
        about = json.dumps(self._about(), ensure_ascii=False)
        metadata = {"feature_pack": _VERSION, "about": about}
        with atomic_path(path) as temporary:
            save_file(arrays, temporary, metadata | {"sha256": _checksum(arrays, metadata)})

    def _about(self) -> dict:
        return {"name": self.name, "id_set": self.id_set, "facts": dict(self.facts)}

    def _arrays(self) -> dict[str, np.ndarray]:
        roots = {part: np.cbrt(outputs.features) for part, outputs in self.parts.items()}
        every = np.concatenate(list(roots.values()))
        low = np.minimum(every.min(axis=0), 0)
        step = (every.max(axis=0) - low) / _HIGHEST
        arrays = {"head/weight": self.head.weight, "head/bias": self.head.bias}
        arrays |= {"root/low": low, "root/step": step}
        for part, outputs in self.parts.items():
            levels = (roots[part] - low) / np.where(step > 0, step, 1)
            arrays[f"{part}/features"] = np.rint(levels).astype(np.uint8)
            arrays[f"{part}/labels"] = outputs.labels.astype(np.int16)
        return {name: np.ascontiguousarray(array) for name, array in arrays.items()}

    @classmethod
    def read(cls, path: str | os.PathLike) -> FeaturePack:
        """Read a file of `write`.  Code in the file is never executed."""
        try:
            with safe_open(path, framework="np") as file:
                metadata = file.metadata() or {}
                arrays = {name: file.get_tensor(name) for name in file.keys()}
            if metadata.get("feature_pack") != _VERSION:
                version = metadata.get("feature_pack", "none")
                raise ValueError(f"version {_VERSION} of feature packs expected, got {version}")
            if metadata.pop("sha256", None) != _checksum(arrays, metadata):
                raise ValueError("its contents do not match its checksum")
            return _unpack(json.loads(metadata["about"]), arrays)
        except FileNotFoundError:
            raise
        except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}: not a whole feature pack ({error})") from error


def packs(folder: str | os.PathLike | None = None) -> Iterator[FeaturePack]:
    """Yield the feature packs of a folder in the order of their names; by default the package's."""
    folder = Path(folder or EMBEDDED)
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise FileNotFoundError(
            f"{folder}: a folder of feature packs (*.safetensors) expected; "
            "workflow/feature_packs.py makes them"
        )
    return map(FeaturePack.read, files)


def _unpack(about: Mapping, arrays: Mapping[str, np.ndarray]) -> FeaturePack:
    head = Head(arrays["head/weight"], arrays["head/bias"])
    parts: dict[str, Any] = {}
    sides: dict[str, Any] = {side: {} for side in SIDES}
    for name in arrays:
        subset, _, kind = name.rpartition("/")
        if kind != "labels":
            continue
        roots = arrays["root/low"] + arrays["root/step"] * arrays[f"{subset}/features"]
        features = roots * roots * roots
        outputs = Outputs(features @ head.weight.T + head.bias, features, arrays[name])
        side, _, data_set = subset.partition("/")
        (sides[side] if data_set else parts)[data_set or subset] = outputs
    if not any(sides.values()):
        raise ValueError("no unknown images in it")
    return FeaturePack(about["name"], about["id_set"], head, **parts, **sides, facts=about["facts"])


def _checksum(arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> str:
    text = json.dumps(metadata, sort_keys=True)
    return hashlib.sha256(f"{checkpoints.digest(arrays)} {text}".encode()).hexdigest()
