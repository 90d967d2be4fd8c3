"""A training run as data: everything that decides which weights come out.

Importing this module costs nothing, so that parameters are checked before work starts.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace

from helpers.checks import has_type, known_name

FAMILIES = ("densenet", "efficientnet", "resnet")
SCHEDULES = ("cosine", "multistep")
AUGMENTATIONS = ("crop", "flip")


@dataclass(frozen=True)
class Recipe:
    """Architecture, optimiser and schedule of one network.

    Attributes
    ----------
    backbone : str
        Family of the network: ``resnet``, ``densenet`` or ``efficientnet``.
    depth : int or float
        Layers of a ResNet (8, 14, 20, ... with three stages; 18, 34 with four) or of a
        DenseNet-BC (22, 40, 100, ... with three blocks; 121 with four); for EfficientNet
        the multiplier of B0's number of blocks.
    width : int or float
        Channels of the first stage (ResNet), growth rate (DenseNet), or the multiplier of
        B0's channels (EfficientNet).
    stem_stride : int
        Stride of the first convolution: 1 keeps the 32×32 resolution, 2 costs a quarter.
    epochs, batch_size : int
        Passes over the training images; images per step.
    learning_rate, momentum, weight_decay : float
        Of SGD with Nesterov momentum; the rate is the schedule's highest.
    schedule : str
        ``cosine`` (to zero) or ``multistep`` (÷ 10 after a half and after three quarters).
    warmup_epochs : float
        Linear warm-up at the start, in epochs.
    augmentation : tuple of str
        Any of ``crop`` (reflection padding of 4 pixels) and ``flip`` (left to right).
    threads : int
        CPU threads. A part of the recipe, since the order of a sum decides its last bit.
    """

    backbone: str = "resnet"
    depth: float = 8
    width: float = 16
    stem_stride: int = 1
    epochs: int = 10
    batch_size: int = 64
    learning_rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    schedule: str = "cosine"
    warmup_epochs: float = 1.0
    augmentation: tuple[str, ...] = ("crop", "flip")
    threads: int = 1

    def __post_init__(self):
        object.__setattr__(self, "augmentation", tuple(self.augmentation))
        kinds = typing.get_type_hints(type(self))
        for field in fields(self):
            value = getattr(self, field.name)
            if not has_type(value, kinds[field.name]):
                raise ValueError(f"{field.name}: {kinds[field.name]} expected, got {value!r}")
        known_name("backbone", self.backbone, FAMILIES)
        known_name("schedule", self.schedule, SCHEDULES)
        for name in self.augmentation:
            known_name("augmentation", name, AUGMENTATIONS)
        positive = ("depth", "width", "stem_stride", "epochs", "batch_size", "learning_rate")
        for name in (*positive, "threads"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name}: a positive number expected, got {getattr(self, name)}")
        for name, end in (("momentum", 1), ("weight_decay", math.inf), ("warmup_epochs", math.inf)):
            value = getattr(self, name)
            if not 0 <= value < end:
                raise ValueError(f"{name}: at least 0 and below {end} expected, got {value}")
        _check_size(self.backbone, self.depth, self.width)

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, object], **overrides) -> Recipe:
        """Make a recipe from a mapping, refusing names that a recipe does not have.

        Examples
        --------
        >>> Recipe.from_parameters({"depth": 20}, epochs=3).epochs
        3
        >>> Recipe.from_parameters({"epoch": 3})
        Traceback (most recent call last):
            ...
        ValueError: unknown training parameter 'epoch'; did you mean 'epochs'? There are: ...
        """
        names = [field.name for field in fields(cls)]
        merged = {**parameters, **overrides}
        for name in merged:
            known_name("training parameter", name, names)
        return replace(cls(), **merged)

    def as_dict(self) -> dict:
        """Return the recipe as plain values, for hashes and tables."""
        return asdict(self) | {"augmentation": list(self.augmentation)}


def _check_size(backbone: str, depth: float, width: float) -> None:
    """Refuse a depth or width that the family does not have."""
    if backbone == "efficientnet":
        return
    if (depth, width) != (int(depth), int(width)):
        raise ValueError(f"depth, width: whole numbers expected, got {depth}, {width}")
    if backbone == "resnet":
        if depth not in (18, 34) and (depth < 8 or (depth - 2) % 6):
            raise ValueError(f"depth: a ResNet has 18, 34 or 6n + 2 layers, got {depth}")
        if width % 2:
            raise ValueError(f"width: an even number of channels expected, got {width}")
    elif depth != 121 and (depth < 10 or (depth - 4) % 6):
        raise ValueError(f"depth: a DenseNet-BC has 121 or 6n + 4 layers, got {depth}")
