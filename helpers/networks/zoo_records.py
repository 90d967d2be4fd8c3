"""Published networks by other authors: their records and their weights.

Each network has a record in ``zoo_records.yaml``.  Its file is searched below `network_root`, under
the author's file name or as safetensors; this package contains two small networks.
`helpers.networks.zoo.load` makes a network from the file.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from helpers.checks import known_name
from helpers.data.class_lists import names_of, wnids_of
from helpers.files import content_of, network_root, sha256_file

if TYPE_CHECKING:
    import torch

    from helpers.data import Images, ImageStream
    from helpers.outputs import Outputs

#: Folder of the networks that are part of this package.
#:
#: :meta hide-value:
EMBEDDED = Path(__file__).parent / "weights"
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Published:
    """The record of a published network; the head of ``zoo_records.yaml`` explains the fields."""

    name: str
    author: str
    architecture: str
    arguments: Mapping
    data_set: str
    files: tuple[str, ...]
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    source: str
    licence: str
    sha256: str = ""
    digest: str = ""
    rounded: str = ""
    accuracy: float = 0.0
    size: int = 32
    note: str = ""

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of its classes, in the order of its outputs; ImageNet's are wnids."""
        if self.data_set == "imagenet":
            return tuple(wnids_of(self.data_set))
        return names_of(self.data_set)

    def locate(self) -> Path:
        """Return the file of its weights."""
        paths = [root / file for root in (network_root(), EMBEDDED) for file in self.files]
        for path in paths:
            if path.is_file():
                return path
        raise FileNotFoundError(
            f"weights of '{self.name}': no {' or '.join(self.files)} below {network_root()} "
            f"(NETWORK_ROOT). Get the file from {self.source} and put it there"
        )

    def read(self, path: Path, *, custom: bool = False) -> dict[str, torch.Tensor]:
        """Return the verified tensors under the author's names; no code in a file is executed."""
        tensors = {
            name: tensor
            for name, tensor in read_tensors(path).items()
            if not name.endswith("num_batches_tracked")
        }
        if problem := self._differs(path, tensors):
            if not custom:
                raise ValueError(f"weights: {path} is not the file of '{self.name}': {problem}")
            log.warning("weights: %s is not the file of '%s': %s", path, self.name, problem)
        return tensors

    def check_accuracy(self, images: Images | ImageStream, outputs: Outputs) -> None:
        """Warn where its accuracy on its own test images is not the printed one.

        By more than four standard errors and a tenth of a point, it is not by chance: the images
        are normalised otherwise than in its training, or the weights are others.
        """
        is_id = images.split == "test" and images.name.split("/")[0] in self.id_sets
        if not (is_id and self.accuracy and (outputs.labels >= 0).all()):  # or labels are withheld
            return
        measured = 100 * outputs.correct.mean()
        printed = self.accuracy
        chance = 4 * (printed * (100 - printed) / len(outputs)) ** 0.5
        if abs(measured - printed) > chance + 0.1:
            log.warning(
                "'%s' classifies %.2f %% of %s correctly, and its author prints %.2f %%: are the "
                "weights others, or the images not prepared as for its training?",
                self.name, measured, images.name, printed,
            )  # fmt: skip

    @property
    def id_sets(self) -> tuple[str, ...]:
        """The data set that it has learnt, and the packs of parts of that, of the same classes."""
        return self.data_set, f"{self.data_set}_mini", f"{self.data_set}_val_224"

    def _differs(self, path: Path, tensors: Mapping[str, torch.Tensor]) -> str:
        """Return how a file differs from the author's file; "" if it does not, or is unknown."""
        from helpers import checkpoints  # here, or the records would wait for torch

        if not self.digest:
            log.warning("weights: whether %s is the author's file cannot be checked", path)
            return ""
        if checkpoints.digest(tensors) in (self.digest, self.rounded):
            return ""
        return f"its SHA-256 is {sha256_file(path)}, that of the author's file {self.sha256}"


#: Start of all names in a checkpoint of a training framework that holds the network as `model`.
_WRAPPED = "model."


def read_tensors(path: Path) -> dict[str, torch.Tensor]:
    """Read a file of weights, of PyTorch or safetensors; no code in the file is executed.

    A checkpoint yields its state dictionary, without the prefix of training on several GPUs,
    or of a framework for training.  Weights that are not finite are refused.
    """
    from timm.models import load_state_dict

    try:
        tensors = load_state_dict(str(path), weights_only=True)
    except Exception as error:  # a damaged file raises almost anything
        reason = str(error) or type(error).__name__  # an empty file ends without a word
        raise ValueError(
            f"weights: {path} cannot be read ({reason}); a file of "
            "torch.save(network.state_dict(), path) or of safetensors is expected"
        ) from error
    if tensors and all(str(name).startswith(_WRAPPED) for name in tensors):
        tensors = {name.removeprefix(_WRAPPED): tensor for name, tensor in tensors.items()}
    for name, tensor in tensors.items():
        if getattr(tensor, "is_floating_point", bool)() and not tensor.isfinite().all():
            raise ValueError(f"weights: {path} has NaN or infinite values in '{name}'")
    return tensors


@cache
def records() -> dict[str, Published]:
    """Return the records of all published networks by name.

    Examples
    --------
    >>> records()["resnet20.akamaster_cifar10"].accuracy
    91.73
    """
    networks = {}
    for author, common in content_of(__file__).items():
        for name, facts in common.pop("networks").items():
            networks[name] = _record(name, author, common | facts)
    return networks


def _record(name: str, author: str, facts: Mapping) -> Published:
    lists = {key: tuple(value) for key, value in facts.items() if isinstance(value, list)}
    data_set = name.rpartition("_")[2]
    return Published(name=name, author=author, data_set=data_set, **{**facts, **lists})


def find(name: str) -> Published:
    """Return the record of a network.

    Examples
    --------
    >>> find("resnet20.akamaster_cifar10").class_names[:2]
    ('airplane', 'automobile')
    """
    known_name("published network", name, records())
    return records()[name]
