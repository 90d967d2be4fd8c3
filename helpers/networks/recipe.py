"""A training run as data: everything that decides the trained weights.

Importing this module takes little time, so that parameters are checked before work starts.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from pkgutil import iter_modules

from helpers.checks import has_type, in_words, known_name, positive_number

FAMILIES = ("densenet", "efficientnet", "resnet", "vit")
OPTIMISERS = ("adamw", "sgd")
SCHEDULES = ("cosine", "multistep")
SPECTRAL_FORMS = ("weights", "strict", "bounded")
AUGMENTATIONS = ("crop", "crop_zeros", "flip")
PRECISIONS = ("auto", "bfloat16", "float32")
#: Blocks per stage of the ResNets for photographs (He et al. 2016, table 1), by their layers.
FOUR_STAGES = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
}
_FOLDER = Path(__file__).parents[1] / "training" / "objectives"  # whose files name them
OBJECTIVES = tuple(sorted(module.name for module in iter_modules([str(_FOLDER)])))
_TUPLES = ("augmentation", "milestones")
_POSITIVE = (
    "depth",
    "width",
    "stem_stride",
    "epochs",
    "batch_size",
    "learning_rate",
    "image_size",
    "threads",
)
_FROM_ZERO_TO = {
    "momentum": 1,
    "weight_decay": math.inf,
    "warmup_epochs": math.inf,
    "dropout": 1,
    "block_dropout": 1,
    "spectral_norm": math.inf,
}


@dataclass(frozen=True)
class Recipe:
    """Architecture, optimiser and schedule of one network.

    Attributes
    ----------
    backbone : str
        Family of the network: ``resnet``, ``densenet``, ``efficientnet`` or ``vit``.
    depth : int or float
        Layers of a ResNet (8, 14, 20, ... with three stages; 18, 34, 50, 101, 152 with four) or
        of a DenseNet-BC (22, 40, 100, ... with three blocks; 121 with four).  The multiplier of
        B0's number of blocks for EfficientNet, and the number of blocks for ViT.
    width : int or float
        Channels of the first stage (ResNet), growth rate (DenseNet), or the multiplier of
        B0's channels (EfficientNet), or the channels of a patch (ViT).
    stem_stride : int
        Stride of the first convolution: 1 keeps the 32×32 resolution, 2 has a quarter of its cost.
        4 is stride 2 and max-pooling (ResNets): with four stages and width 64, ImageNet's stem.
        For ViT the side of a patch, which is the stride of their first convolution.
    dropout : float
        Share of the features that is dropped before the head.
    block_dropout : float
        The same after each convolution and normalisation of a residual block (ResNet only).
    spectral_norm : float
        The operator norm of layers below the head, or its upper bound; 0 means no normalisation.
        Not for ViT, which has other kinds of layers too.
    spectral_form : str
        Layers that are normalised, and whether smaller norms stay: ``weights``, ``strict`` or
        ``bounded``, see `helpers.networks.spectral.normalise`.
    objective : str
        Loss function; one of `helpers.training.objectives.names`.
    objective_arguments : dict of str to float
        Arguments of the objective that differ from its defaults.
    epochs, batch_size : int
        Passes over the training images; images per step.
    optimiser : str
        ``sgd`` or ``adamw``.
    learning_rate, weight_decay : float
        Settings of the optimiser; the rate is the highest of the schedule.
    momentum : float
        Momentum of SGD.
    nesterov : bool
        Nesterov's momentum instead of the plain one (SGD).
    schedule : str
        ``cosine`` (to zero) or ``multistep`` (÷ 10 at each of the milestones).
    milestones : tuple of float
        Milestones of ``multistep``, as shares of all epochs.
    warmup_epochs : float
        Linear warm-up at the start, in epochs.
    augmentation : tuple of str
        Any of ``crop`` (at a random place of the image with a border of 4 pixels, its reflection)
        or ``crop_zeros`` (the border is black), and ``flip`` (left to right).  For a stream,
        ``flip`` means a flip and a random resized crop, and images get no border.
    image_size : int
        Side in pixels to which a stream's images are resized.  Images in memory keep their size;
        ViT needs that size here.
    threads : int
        CPU threads. Part of the recipe, since the order of a sum decides its last bit.
    precision : str
        Precision of the forward pass in training: ``float32`` (on a GPU convolutions may round to
        TF32, as in PyTorch), or ``bfloat16`` in every operation that is precise enough with it.
        ``auto`` is bfloat16 on a GPU and float32 on a CPU.  A CPU without bfloat16 raises an error.
    """

    backbone: str = "resnet"
    depth: float = 8
    width: float = 16
    stem_stride: int = 1
    dropout: float = 0.0
    block_dropout: float = 0.0
    spectral_norm: float = 0.0
    spectral_form: str = "weights"
    objective: str = "erm"
    objective_arguments: dict[str, float] = field(default_factory=dict)
    epochs: int = 10
    batch_size: int = 64
    optimiser: str = "sgd"
    learning_rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    nesterov: bool = True
    schedule: str = "cosine"
    milestones: tuple[float, ...] = (0.5, 0.75)
    warmup_epochs: float = 1.0
    augmentation: tuple[str, ...] = ("crop", "flip")
    image_size: int = 224
    threads: int = 1
    precision: str = "auto"

    def __post_init__(self):
        for name in _TUPLES:
            value = getattr(self, name)
            if isinstance(value, list):
                object.__setattr__(self, name, tuple(value))
        self._check_types()
        self._check_names()
        self._check_ranges()
        _check_size(self.backbone, self.depth, self.width)
        self._check_architecture()

    def _check_types(self) -> None:
        for name, kind in _KINDS.items():
            value = getattr(self, name)
            if not has_type(value, kind):
                raise ValueError(f"{name}: {in_words(kind)} expected, got {value!r}")

    def _check_names(self) -> None:
        known_name("backbone", self.backbone, FAMILIES)
        known_name("optimiser", self.optimiser, OPTIMISERS)
        known_name("schedule", self.schedule, SCHEDULES)
        known_name("spectral_form", self.spectral_form, SPECTRAL_FORMS)
        known_name("objective", self.objective, OBJECTIVES)
        known_name("precision", self.precision, PRECISIONS)
        for name in self.augmentation:
            known_name("augmentation", name, AUGMENTATIONS)
        if {"crop", "crop_zeros"} <= {*self.augmentation}:
            raise ValueError("augmentation: either 'crop' or 'crop_zeros' expected, got both")

    def _check_ranges(self) -> None:
        for name in _POSITIVE:
            positive_number(name, getattr(self, name))
        if not all(0 < milestone <= 1 for milestone in self.milestones):
            raise ValueError(f"milestones: shares up to 1 expected, got {[*self.milestones]}")
        for name, end in _FROM_ZERO_TO.items():
            value = getattr(self, name)
            if not 0 <= value < end:
                raise ValueError(f"{name}: at least 0 and below {end} expected, got {value}")

    def _check_architecture(self) -> None:
        if self.backbone == "vit" and self.image_size % self.stem_stride:
            raise ValueError(
                f"stem_stride: patches of {self.stem_stride} pixels do not fill an image of "
                f"image_size {self.image_size}"
            )
        if self.block_dropout and self.backbone != "resnet":
            raise ValueError(f"block_dropout: a ResNet only, got backbone '{self.backbone}'")
        if self.spectral_norm and self.backbone == "vit":
            raise ValueError("spectral_norm: convolutional networks only, got backbone 'vit'")
        if self.backbone != "vit" and self.stem_stride == 4:
            four = self.depth in FOUR_STAGES
            if self.backbone != "resnet" or (four and self.width != 64):
                raise ValueError("stem_stride: 4 is of ResNets, with four stages of width 64")

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
        """Return the recipe as plain values, for hashes and tables.

        A precision that is the default is left out, so that networks which are older than the
        choice keep their names.
        """
        values = asdict(self) | {name: list(getattr(self, name)) for name in _TUPLES}
        if self.precision == Recipe.precision:
            del values["precision"]
        return values


#: The type of each field, found once: a plan makes thousands of recipes.
_KINDS = typing.get_type_hints(Recipe)


def _check_size(backbone: str, depth: float, width: float) -> None:
    """Refuse a depth or width that the family does not have."""
    if backbone == "efficientnet":
        return
    if (depth, width) != (int(depth), int(width)):
        raise ValueError(f"depth, width: whole numbers expected, got {depth}, {width}")
    if backbone == "vit":
        _check_vit(width)
    elif backbone == "resnet":
        _check_resnet(depth, width)
    elif depth != 121 and (depth < 10 or (depth - 4) % 6):
        raise ValueError(f"depth: a DenseNet-BC has 121 or 6n + 4 layers, got {depth}")


def _check_vit(width: float) -> None:
    heads = max(1, width // 32)
    if width % heads:
        raise ValueError(f"width: a multiple of {heads:g}, its heads, expected, got {width}")


def _check_resnet(depth: float, width: float) -> None:
    if depth not in FOUR_STAGES and (depth < 8 or (depth - 2) % 6):
        named = ", ".join(map(str, FOUR_STAGES))
        raise ValueError(f"depth: a ResNet has {named} or 6n + 2 layers, got {depth}")
    if width % 2:
        raise ValueError(f"width: an even number of channels expected, got {width}")
