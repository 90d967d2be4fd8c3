"""Roles in *Rethinking Out-of-Distribution Detection From a Human-Centric Perspective*.

Zhu et al. (2022): whatever a model gets wrong is to be rejected, whether its class is unknown
(label shift), its looks have changed (input shift), or it is simply misclassified.  Scores and
their thresholds see training images alone; eight test sets judge them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

import numpy as np
from tqdm import tqdm

from helpers import cache
from helpers.checks import known_name
from helpers.data import Images, ImageStream, load, open_stream, splits
from helpers.data.cards import find
from helpers.data.corruptions import NAMES, SEVERITIES, corrupt

# what stands for the code in the key of corrupted images
CORRUPTS = cache.code("helpers.data.corruptions.corrupt")

PAPER_METHODS = {
    "msp": "MSP",
    "mahalanobis": "Mahalanobis",
    "kl_matching": "KL-Matching",
    "energy": "Energy",
    "react": "ReAct",
    "gradnorm": "GradNorm",
    "knn": "KNN",
    "vim": "ViM",
    "dice": "DICE",
}
"""The paper's nine scores in the order of its tables, and how they are called."""

METHODS = PAPER_METHODS | {
    "max_logit": "MaxLogit",
    "ash": "ASH",
    "scale": "SCALE",
    "gen": "GEN",
    "rmds": "RMDS",
    "she": "SHE",
    "fdbd": "fDBD",
    "nnguide": "NNGuide",
}
"""Those, and the ones that a user of today expects beside them."""

STRATEGIES = {
    "normal": "normal",
    "adversarial": "adversarial, ℓ2",
    "augmix": "AugMix",
    "autoaugment": "AutoAugment",
    "adversarial_noise": "adversarial noise",
    "gaussian_noise": "Gaussian noise",
    "speckle_noise": "speckle noise",
    "stylised": "stylised",
    "stylised_half": "stylised + plain",
    "distilled": "distilled",
}
"""Ways to train a network of some architecture, as a model's name has them."""


@dataclass(frozen=True)
class Model:
    """What the name of a model says: ``ARCHITECTURE[+STRATEGY[_STRENGTH]]``.

    Attributes
    ----------
    architecture : str
    strategy : str
        One of `STRATEGIES`; "normal" where the name has none.
    strength : float
        Of adversarial training, the radius of its ℓ2 ball; else 0.

    Examples
    --------
    >>> Model.parse("resnet8+adversarial_0.5")
    Model(architecture='resnet8', strategy='adversarial', strength=0.5)
    >>> Model.parse("tf_efficientnet_lite0").family, Model.parse("vit_base").family
    ('tf_efficientnet_lite', 'vit')
    """

    architecture: str
    strategy: str = "normal"
    strength: float = 0.0

    @classmethod
    def parse(cls, name: str) -> Model:
        """Take a name apart.

        Raises
        ------
        ValueError
            There is no such strategy; says which is nearest.
        """
        architecture, plus, rest = name.partition("+")
        if not plus:
            return cls(architecture)
        strategy, strength = rest, 0.0
        if found := re.fullmatch(r"(.*)_(\d+(?:\.\d+)?)", rest):
            strategy, strength = found[1], float(found[2])
        return cls(architecture, known_name("strategy", strategy, STRATEGIES), strength)

    @property
    def family(self) -> str:
        """The architecture without its size: models of one family differ in capacity."""
        name = re.sub(r"_(tiny|small|base|large)$", "", self.architecture)
        return re.match(r"\D*", name)[0].rstrip("_-") or name


@dataclass(frozen=True)
class Protocol:
    """What the benchmark and its evaluation are free to choose.

    Attributes
    ----------
    train_per_class : int
        Training images of each class, at most, for thresholds and statistics, and for networks
        that are trained here; 0 takes all of them.
    corruptions : tuple of str
        Of `helpers.data.corruptions.NAMES`.
    severities : tuple of int
        1 to 5.
    corrupted_images : int
        Images of a set that each corruption at each severity is shown on, at most.
    input_shifted_images, label_shifted_images : int
        Images of each such set, at most; the first ones in a random order.
    excluded : dict of str to list of str
        Classes of a label-shifted set that the model knows under another name.
    score_arguments : dict of str to dict of str to float
        Hyper-parameters of scores, where they are not the defaults.
    replicates : int
        Bootstrap replicates over the test images.
    seed : int
        Of the networks, of what is drawn, and of the bootstrap.
    """

    train_per_class: int = 0
    corruptions: tuple[str, ...] = tuple(NAMES)
    severities: tuple[int, ...] = SEVERITIES
    corrupted_images: int = 100
    input_shifted_images: int = 50_000
    label_shifted_images: int = 10_000
    excluded: dict[str, list[str]] = field(default_factory=dict)
    score_arguments: dict[str, dict[str, float]] = field(default_factory=dict)
    replicates: int = 200
    seed: int = 0

    def __post_init__(self):
        least = {"train_per_class": 0, "seed": 0}
        images = ("corrupted_images", "input_shifted_images", "label_shifted_images")
        for name in (*least, *images, "replicates"):
            if getattr(self, name) < least.get(name, 1):
                raise ValueError(
                    f"{name}: at least {least.get(name, 1)} expected, got {getattr(self, name)}"
                )
        for name in self.corruptions:
            known_name("corruption", name, NAMES)
        for severity in self.severities:
            if severity not in SEVERITIES:
                raise ValueError(f"severities: 1 to 5 expected, got {severity}")
        for name in self.score_arguments:
            known_name("score", name, METHODS)


@dataclass(frozen=True)
class Roles:
    """Which images play which role; all of them with their own labels and class names.

    Attributes
    ----------
    train : Images or ImageStream
        Thresholds and statistics are taken from them.
    test : Images or ImageStream
        Images like the training images.
    input_shifted : dict of str to Images or ImageStream
        Known classes that look otherwise; a model's answer may be right or wrong.
    label_shifted : dict of str to Images or ImageStream
        Unknown classes; whatever a model answers is wrong.
    drawn_from : dict of str to (str, ndarray of int64)
        For a set whose images are those of another test set, or changed from them: its name, and
        which of its images each of them is.
    """

    train: Images | ImageStream
    test: Images | ImageStream
    input_shifted: dict[str, Images | ImageStream]
    label_shifted: dict[str, Images | ImageStream]
    drawn_from: dict[str, tuple[str, np.ndarray]] = field(default_factory=dict)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes that a model is judged on."""
        return self.train.class_names

    @property
    def sets(self) -> dict[str, Images | ImageStream]:
        """All test sets by name, in the order of tables."""
        return {"test": self.test} | self.input_shifted | self.label_shifted


def roles(
    data_set: str,
    input_shifted: list[str],
    corrupted: list[str],
    label_shifted: list[str],
    protocol: Protocol,
    *,
    download: bool = False,
) -> Roles:
    """Load the data sets and give each its role.

    Parameters
    ----------
    data_set : str
        With a training split and a split ``test`` or ``val``.
    input_shifted : list of str
        Data sets with classes of the same names.
    corrupted : list of str
        Of `data_set` and `input_shifted`, those that are also shown with the corruptions of
        ImageNet-C; in memory only.
    label_shifted : list of str
        Data sets of other classes.  One may be among `input_shifted` too: its images of known
        classes are then shifted in their input, the rest in their label.
    protocol : Protocol
    download : bool
        Let torchvision download what is not there.

    Raises
    ------
    ValueError
        A set that is to be corrupted is none of the others, or no training images.
    """
    train = _opened(data_set, "train", download)
    test = _opened(data_set, _test_split(data_set), download)
    if protocol.train_per_class:
        train = train.subset(_balanced(train.labels, protocol.train_per_class, protocol.seed))
    for name in corrupted:
        known_name("set to corrupt", name, [data_set, *input_shifted])
    plain = {}
    for name in input_shifted:
        images = _opened(name, _test_split(name), download)
        plain[name] = images.subset(
            _first(len(images), protocol.input_shifted_images, protocol.seed)
        )
    shifted, unknown, drawn_from = {}, {}, {}
    for name in (data_set, *input_shifted):
        base = test if name == data_set else plain[name]
        if name in plain:
            shifted[name] = base
        if name in corrupted:
            called = "corrupted" if name == data_set else f"{name} corrupted"
            shifted[called], chosen = spoiled(base, protocol)
            drawn_from[called] = "test" if name == data_set else name, chosen
    for name in label_shifted:
        images = plain[name] if name in plain else _opened(name, _test_split(name), download)
        left = protocol.excluded.get(name, [])
        for one in left:
            known_name(f"class of {name}", one, images.class_names)
        kept = ~np.isin(images.labels, [images.class_names.index(one) for one in left])
        if name in plain:  # which of its images are of known classes, a model's classes say
            unknown[f"{name} others"] = images.subset(kept)
            drawn_from[f"{name} others"] = name, np.flatnonzero(kept)
        else:
            kept &= _first(len(images), protocol.label_shifted_images, protocol.seed)
            unknown[name] = images.subset(kept)
    return Roles(train, test, shifted, unknown, drawn_from)


def spoiled(images: Images, protocol: Protocol) -> tuple[Images, np.ndarray]:
    """Return images under every corruption at every severity, one kind after the other.

    Each kind is shown on other images, as far as there are enough, so that the whole says more
    than the same few images would.

    Returns
    -------
    spoiled : Images
    chosen : ndarray of int64
        Which of the images each of them is.

    Raises
    ------
    ValueError
        A stream: corrupted copies of it are a data set of their own.
    """
    if not isinstance(images, Images):
        raise ValueError(f"corrupted: {images.name} is not held in memory; give a folder of it")
    kinds = [(name, level) for name in protocol.corruptions for level in protocol.severities]
    count = min(protocol.corrupted_images, len(images))
    order = np.random.default_rng(protocol.seed).permutation(len(images))
    chosen = np.resize(order, (len(kinds), count))

    def make() -> np.ndarray:
        return np.concatenate(
            [
                corrupt(images.images[which], *kind, seed=protocol.seed)
                for which, kind in zip(
                    chosen, tqdm(kinds, desc="corrupting", disable=None), strict=True
                )
            ]
        )

    key = cache.key(
        images=images.sha256, kinds=kinds, chosen=chosen.tolist(), seed=protocol.seed, code=CORRUPTS
    )
    found = replace(
        images.subset(chosen.ravel()),
        images=cache.array("corrupted", key, make),
        name=f"{images.name}-corrupted",
        origin=images.origin | {"corruption": f"{len(kinds)} kinds, {count} images each"},
    )
    return found, chosen.ravel()


def _test_split(name: str) -> str:
    """Return the split of test images: ``test``, else ``val``, else the only one."""
    card = find(name)
    if card is not None and card.streamed:
        return next(split for split in ("test", "val", *card.splits) if split in card.splits)
    there = splits(name)
    found = [split for split in ("test", "val") if split in there] or there
    return found[0]


def _opened(name: str, split: str, download: bool) -> Images | ImageStream:
    card = find(name)
    if card is not None and card.streamed:
        return open_stream(name, split)
    return load(name, split, download=download)


def _balanced(labels: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Return the sorted indices of at most so many images of each class, chosen at random."""
    order = np.random.default_rng(seed).permutation(len(labels))
    ranked = order[np.argsort(labels[order], kind="stable")]
    starts = np.searchsorted(labels[ranked], labels[ranked])
    return np.sort(ranked[np.arange(len(ranked)) - starts < most])


def _first(count: int, most: int, seed: int) -> np.ndarray:
    """Return a mask of the first so many of all images in a random order."""
    return np.random.default_rng(seed).permutation(count).argsort() < most
