"""The networks of the test-bed: every trial of an algorithm, and the one that finds the classes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from helpers import cache
from helpers.data import Images, ImageStream
from helpers.files import atomic_path
from helpers.networks.devices import VERSIONS, default_device
from helpers.networks.recipe import Recipe
from helpers.training.fitted import TRAINING, Fitted, fit
from helpers.training.search import Law, applied, check_space, trials


@dataclass(frozen=True)
class Algorithm:
    """A training algorithm and how its hyper-parameters are searched.

    Attributes
    ----------
    name : str
        One of `helpers.papers.uimnet.ALGORITHMS`.
    recipe : Recipe
        What all of its trials share; its hyper-parameters are the defaults.
    defaults : dict of str to value
        Defaults of those hyper-parameters that are searched.
    space : dict of str to Law
        The laws that they are drawn from.
    passes : int
        With dropout at work, in evaluation; 0 leaves it out.

    Raises
    ------
    ValueError
        A search that would meet an impossible value, as `helpers.training.search.check_space`.
    """

    name: str
    recipe: Recipe
    defaults: dict[str, object] = field(default_factory=dict)
    space: dict[str, Law] = field(default_factory=dict)
    passes: int = 0

    def __post_init__(self):
        check_space(self.recipe, self.space, self.defaults)

    def recipes(self, count: int, *, seed: int) -> list[Recipe]:
        """Return the recipe of each trial, the defaults first."""
        found = trials(self.space, self.defaults, count, seed=seed)
        return [applied(self.recipe, values) for values in found]


@dataclass(frozen=True)
class Trial:
    """One training of an algorithm.

    Attributes
    ----------
    number : int
        0 has the defaults.
    recipe : Recipe
    fitted : Fitted or None
        None where the loss did not stay finite.
    message : str
        What happened, where it diverged.
    """

    number: int
    recipe: Recipe
    fitted: Fitted | None
    message: str = ""

    @property
    def diverged(self) -> bool:
        """Whether there is no network to choose."""
        return self.fitted is None


def trained(
    algorithm: Algorithm,
    images: Images | ImageStream,
    number: int,
    recipe: Recipe,
    *,
    seed: int,
    device: str | None = None,
    progress: bool = True,
) -> Trial:
    """Train one trial, or take it from the cache; one that diverged is not tried again.

    It has diverged if its loss or, in the end, its weights are not all finite.

    Parameters
    ----------
    algorithm : Algorithm
    images : Images or ImageStream
        Of the in-domain classes.
    number : int
    recipe : Recipe
        One of `Algorithm.recipes`.
    seed : int
        Of the initial weights, the order of the images and the augmentation.
    device, progress
        As in `helpers.training.fitted.fit`.
    """
    device = device or default_device()
    key = cache.key(
        images=images.sha256, recipe=recipe.as_dict(), seed=seed,
        code=TRAINING[recipe.objective], **VERSIONS,
    )  # fmt: skip
    path = cache.path_of("diverged", key, ".json")
    if path.exists():
        return Trial(number, recipe, None, json.loads(path.read_text(encoding="utf-8")))
    try:
        fitted = fit(images, recipe, seed=seed, device=device, progress=progress)
    except FloatingPointError as error:
        _note(path, str(error))
        return Trial(number, recipe, None, str(error))
    if not all(tensor.isfinite().all() for tensor in fitted.classifier.state_dict().values()):
        message = "weights that are not finite after the last step"
        _note(path, message)
        return Trial(number, recipe, None, message)
    return Trial(number, recipe, fitted)


def _note(path: Path, message: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(message), encoding="utf-8")


def class_means(
    images: Images | ImageStream,
    featuriser: str,
    networks: Mapping[str, Recipe],
    *,
    seed: int = 0,
    download: bool = False,
    device: str | None = None,
    progress: bool = True,
) -> np.ndarray:
    """Return the mean features of each class, float64 [C, D].

    Parameters
    ----------
    images : Images or ImageStream
        Training images of all classes, in-domain and out-domain.
    featuriser : str
        One of `networks`, trained on these images here; or a pretrained network of timm.
    networks : mapping of str to Recipe
    seed, download, device, progress
        As in `helpers.training.fitted.fit` and `helpers.networks.zoo.load`.

    Raises
    ------
    ValueError
        A class has no images, or timm has no such network.
    """
    if featuriser in networks:
        source = fit(images, networks[featuriser], seed=seed, device=device, progress=progress)
    else:
        from helpers.networks import zoo

        source = zoo.load(featuriser, download=download, device=device, progress=progress)
    features, classes = source.outputs(images).features, range(len(images.class_names))
    counts = np.bincount(images.labels, minlength=len(classes))
    if not counts.all():
        missing = images.class_names[int(counts.argmin())]
        raise ValueError(f"images: at least one of each class expected, got none of '{missing}'")
    return np.array([features[images.labels == k].mean(axis=0, dtype=float) for k in classes])
