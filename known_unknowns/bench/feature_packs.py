"""Feature packs: the features of training, test and unknown images in one small file.

Features are stored in half precision, with the head, from which the logits are computed.  The pack
also stores the measured rounding error.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

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
_VERSION = "2"  # of the files
_MOST = float(np.finfo(np.float16).max)


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
    facts: Mapping[str, object] = field(default_factory=dict)

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
        """Return the pack with features in half precision, as `read` returns it."""
        parts = {
            place: _outputs(self.head, outputs.features.astype(np.float16), outputs.labels)
            for place, outputs in self.parts.items()
        }
        return _assemble(self.name, self.id_set, self.head, parts, self.facts)

    def write(self, path: str | os.PathLike) -> None:
        """Write a safetensors file with its checksum inside, whole or not at all."""
        arrays = {"head/weight": self.head.weight, "head/bias": self.head.bias}
        for place, outputs in self.parts.items():
            if np.abs(outputs.features).max() > _MOST:
                raise ValueError(f"{place}: features of at most {_MOST:g} expected")
            arrays[f"{place}/features"] = outputs.features.astype(np.float16)
            arrays[f"{place}/labels"] = outputs.labels.astype(np.int16)
        arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        about = {"name": self.name, "id_set": self.id_set, "facts": dict(self.facts)}
        metadata = {"feature_pack": _VERSION, "about": json.dumps(about, ensure_ascii=False)}
        with atomic_path(path) as temporary:
            save_file(arrays, temporary, metadata | {"sha256": _checksum(arrays, metadata)})

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
            about = json.loads(metadata["about"])
            head = Head(arrays["head/weight"], arrays["head/bias"])
            places = [name.removesuffix("/labels") for name in arrays if name.endswith("/labels")]
            parts = {
                place: _outputs(head, arrays[f"{place}/features"], arrays[f"{place}/labels"])
                for place in places
            }
            return _assemble(about["name"], about["id_set"], head, parts, about["facts"])
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


def _outputs(head: Head, features: np.ndarray, labels: np.ndarray) -> Outputs:
    features = features.astype(np.float32)
    return Outputs(features @ head.weight.T + head.bias, features, labels)


def _assemble(name, id_set, head, parts: Mapping[str, Outputs], facts) -> FeaturePack:
    sides = {side: {} for side in SIDES}
    for place, outputs in parts.items():
        side, _, data_set = place.partition("/")
        if data_set:
            sides[side][data_set] = outputs
    if not any(sides.values()):
        raise ValueError("no unknown images in it")
    return FeaturePack(name, id_set, head, parts["train"], parts["test"], **sides, facts=facts)


def _checksum(arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> str:
    text = json.dumps(metadata, sort_keys=True)
    return hashlib.sha256(f"{checkpoints.digest(arrays)} {text}".encode()).hexdigest()
