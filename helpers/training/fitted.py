"""Networks trained once: weights and outputs kept by the content that made them."""

from __future__ import annotations

import copy
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from helpers import cache, checkpoints
from helpers.data.images import Images
from helpers.files import cache_root, locked
from helpers.networks import backbones
from helpers.networks.chosen_device import chosen_device
from helpers.networks.devices import (
    VERSIONS,
    device_name,
    precision_on,
    reproducible,
)
from helpers.networks.heads import EQUIPPED
from helpers.networks.inference import compute_once
from helpers.networks.recipe import Recipe
from helpers.outputs import Outputs
from helpers.training import finished_networks, objectives
from helpers.training.loop import train

if TYPE_CHECKING:
    import torch

    from helpers.data import ImageStream
    from helpers.networks.zoo import Pretrained

# read now, when the code is loaded: the files may change before a long run uses them
_NETWORK = "helpers.networks.backbones.create"
#: Code of a training in its key; files of other objectives are left out.
TRAINING = {
    name: cache.code("helpers.training.loop.train", _NETWORK, f"helpers.training.objectives.{name}")
    for name in objectives.names()
}
#: Code of a network's outputs in their key.
COMPUTING = cache.code("helpers.networks.inference", _NETWORK)
log = logging.getLogger(__name__)
#: The longest training that a value of TRAINING permits, in epochs; others permit each training.
LONGEST = {"refused": 0, "short": 3}
PASSES_AT_ONCE = 500  # images in a batch with dropout: the draws depend on this number


@dataclass(frozen=True)
class Fitted:
    """A trained network from the cache or from an export.

    Attributes
    ----------
    path : Path
        Its checkpoint.
    recipe : Recipe
    num_classes : int
    history : DataFrame
        The learning curve, as `loop.train` returns it.
    seconds : float
        Wall-clock time of all epochs of the training.
    device : str
        Device on which `outputs` computes.
    device_name : str
        Device of the training, in words.
    sha256 : str
        Digest of the weights.
    initial : Pretrained, optional
        The network with which the training began, and whose architecture it keeps.
    origin : mapping
        Inputs of the training in addition to the recipe: digests of data, classes, seed.
    finished : bool
        Whether it has learnt from a whole set of which the given training images are a slice.
    """

    path: Path
    recipe: Recipe
    num_classes: int
    history: pd.DataFrame
    seconds: float
    device: str
    device_name: str
    sha256: str
    initial: Pretrained | None = None
    origin: Mapping = field(default_factory=dict)
    finished: bool = False

    @property
    def weights(self) -> dict[str, torch.Tensor]:
        """All tensors of the network by name, read without building it; float32 and integers."""
        tensors, _ = checkpoints.load(self.path)
        weights = {}
        for name, tensor in tensors.items():
            weights[name] = tensor.float() if tensor.is_floating_point() else tensor
        return weights

    @property
    def held_out_sha256(self) -> str:
        """Digest of the stored outputs on held-out images; empty without any."""
        return finished_networks.held_out_digest(self.path) if self.finished else ""

    @cached_property
    def classifier(self) -> backbones.Classifier:
        """The network with its weights, in evaluation mode."""
        classifier = _fresh(self.recipe, self.num_classes, self.initial)
        classifier.load_state_dict(self.weights)
        return classifier.to(self.device).eval()

    @property
    def threads(self) -> int:
        """Number of CPU threads."""
        return self.recipe.threads

    @property
    def preprocessing(self) -> dict:
        """The pixels to which the images of a stream are brought."""
        return {"size": self.recipe.image_size}

    view = preprocessing

    def outputs(self, images: Images | ImageStream, *, passes: int = 0) -> Outputs:
        """Return the outputs of a data set, from the cache if the network has seen it."""
        key = cache.key(
            weights=self.sha256,
            images=images.sha256,
            passes=passes,
            image_size=self.recipe.image_size,
            code=COMPUTING,
            **VERSIONS,
        )

        options = {"passes": passes, "batch_size": PASSES_AT_ONCE if passes else None}
        return compute_once(self, images, key, image_size=self.recipe.image_size, **options)

    def held_out(self, images: Images | ImageStream) -> Outputs:
        """Return the outputs of held-out images: of these, which the network has not learnt.

        A finished network may have learnt them: its outputs on the images that were held out of
        its training are stored beside it, without features.
        """
        return finished_networks.held_out(self.path) if self.finished else self.outputs(images)


def fit(
    images: Images | ImageStream,
    recipe: Recipe,
    *,
    outliers: Images | ImageStream | None = None,
    teacher: Fitted | None = None,
    initial: Pretrained | None = None,
    finished: Path | None = None,
    seed: int = 0,
    device: str | None = None,
    progress: bool = True,
) -> Fitted:
    """Train a network on a data set, or load it if it has been trained or exported already.

    An exported network (`helpers.training.finished_networks`) is found by recipe, images and seed,
    independent of the code, unless the environment variable TRAINING is ``anew``.  In the folder
    `finished` it is found by recipe, classes and seed.

    RND and OC train an additional module on top of ERM's network.  That network is trained once
    for each recipe and seed, and shared with ERM.
    An interrupted training continues from its last checkpoint.  The cache key of the network
    covers the images and labels, the outliers, the teacher's weights, the recipe, the seed, the
    code and the versions of torch and timm.  The device is not in the key, but in the result.

    Parameters
    ----------
    images : Images or ImageStream
        Labels 0 … K − 1, for K class names.
    recipe : Recipe
        Architecture, objective, optimiser and schedule.
    outliers : Images or ImageStream, optional
        For objectives that use them, see `loop.train`; other objectives ignore them.
    teacher : Fitted, optional
        For objectives that learn from another network; other objectives ignore it.
    initial : Pretrained, optional
        A network to fine-tune; its architecture and normalisation are kept.
        The recipe's own architecture then does not matter.
    finished : Path, optional
        A folder of networks that have learnt from the whole set of which `images` are a slice.
    seed : int
        Seed of the initial weights, the order of the images and the augmentation.
    device : str, optional
        A GPU by default if available.
    progress : bool
        Show a progress bar while training.

    Raises
    ------
    FloatingPointError
        The loss or the final weights are not finite; nothing is stored.
    """
    objective = objectives.create(recipe.objective, **recipe.objective_arguments)
    if initial is not None:
        _check_initial(initial, images, recipe)
    training = Training(
        images=images,
        recipe=recipe,
        objective=objective,
        outliers=outliers if objective.needs_outliers else None,
        teacher=teacher if objective.needs_teacher else None,
        initial=initial,
        seed=seed,
        device=chosen_device(device),
        progress=progress,
    )
    exported = None
    larger = None
    if os.environ.get("TRAINING") != "anew":
        exported = finished_networks.find(training.origin, recipe)
        if exported is None and finished is not None:
            larger = finished_networks.find_finished(finished, recipe, images.class_names, seed)
    if stored := exported or larger:
        log.info("found by its recipe, not trained again: %s", stored)
        return replace(training.load(stored, finished_networks.load), finished=stored == larger)
    path = cache.path_of("networks", training.key, ".safetensors")
    return cache.load_or_make(path, training.load, training.make)


@dataclass(frozen=True, kw_only=True)
class Training:
    """One training: everything that decides its weights, the device and the progress bar."""

    images: Images | ImageStream
    recipe: Recipe
    objective: objectives.ERM
    outliers: Images | ImageStream | None
    teacher: Fitted | None
    initial: Pretrained | None
    seed: int
    device: str
    progress: bool

    @cached_property
    def origin(self) -> dict:
        """Inputs in addition to the recipe: digests of data and networks, classes, seed."""
        origin = {
            "images": self.images.sha256,
            "outliers": "" if self.outliers is None else self.outliers.sha256,
            "teacher": "" if self.teacher is None else self.teacher.sha256,
            "classes": len(self.images.class_names),
            "seed": self.seed,
        }
        if self.initial is not None:
            origin["initial"] = self.initial.sha256
        return origin

    @cached_property
    def key(self) -> str:
        """The cache key of the network."""
        code = TRAINING[self.recipe.objective]
        return cache.key(**self.origin, recipe=self.recipe.as_dict(), code=code, **VERSIONS)

    def make(self, path: Path) -> None:
        """Train the network into a checkpoint, unless another process does so meanwhile."""
        permission = os.environ.get("TRAINING", "allowed")
        if self.recipe.epochs > LONGEST.get(permission, inf):
            raise cache.MissingError(
                f"{path}: not there, and TRAINING={permission}; the network of {self.images.name} "
                f"with {self.recipe} and seed {self.seed} is trained by an earlier step, unless "
                "data, parameters, code or versions differ; TRAINING=allowed trains it here"
            )
        precision_on(self.device, self.recipe.precision)  # refused before anything is computed
        with locked(cache_root() / "locks" / f"{self.key}.lock"):
            if not path.exists():
                self._train_into(path)

    def _train_into(self, path: Path) -> None:
        classifier = _fresh(self.recipe, len(self.images.class_names), self.initial, self.seed)
        partial = path.with_suffix(".partial")
        if self.objective.beside:
            history = self._finish_erm(classifier)
        else:
            history = train(
                classifier,
                self.images,
                self.recipe,
                outliers=self.outliers,
                teacher=None if self.teacher is None else self.teacher.classifier,
                seed=self.seed,
                device=self.device,
                checkpoint=partial,
                progress=self.progress,
            )
        weights = classifier.state_dict()
        if not all(tensor.isfinite().all() for tensor in weights.values()):
            raise FloatingPointError(
                "the weights are not finite after the last step: try a lower learning_rate (now "
                f"{self.recipe.learning_rate:g})"
            )
        checkpoints.save(
            path,
            weights,
            history=history.to_dict("list"),
            seconds=float(history["seconds"].sum()),  # of all legs, if it was interrupted
            device_name=_trained_on(self.device, self.recipe),
        )
        partial.unlink(missing_ok=True)

    def _finish_erm(self, classifier: backbones.Classifier) -> pd.DataFrame:
        """Train an additional module on top of ERM's network; return the learning curve."""
        recipe = self.recipe
        erm = replace(recipe, objective="erm", objective_arguments={})
        network = fit(self.images, erm, seed=self.seed, device=self.device, progress=self.progress)
        classifier.load_state_dict(network.weights, strict=False)  # all except the measure
        with reproducible(self.device, recipe.threads):
            on_device = classifier.to(self.device)
            after = self.objective.finish(
                on_device, self.images, recipe, seed=self.seed, device=self.device
            )
        return network.history.assign(**after)

    def load(self, path: Path, read=checkpoints.load) -> Fitted:
        """Return the network of a checkpoint."""
        tensors, information = read(path)
        return Fitted(
            path=path,
            recipe=self.recipe,
            num_classes=len(self.images.class_names),
            history=pd.DataFrame(information["history"]),
            seconds=information["seconds"],
            device=self.device,
            device_name=information["device_name"],
            sha256=checkpoints.digest(tensors),
            initial=self.initial,
            origin=self.origin,
        )


def load_exported(path: Path, class_names: Sequence[str], *, device: str | None = None) -> Fitted:
    """Return an exported network, which must know these classes in this order."""
    tensors, information = finished_networks.load(path)
    if information["class_names"] != [*class_names]:
        raise ValueError(
            f"{path}: a network of the classes {', '.join(class_names)} expected; this network "
            f"knows {', '.join(information['class_names'])}"
        )
    return Fitted(
        path=path,
        recipe=Recipe.from_parameters(information["recipe"]),
        num_classes=len(class_names),
        history=pd.DataFrame(information["history"]),
        seconds=information["seconds"],
        device=chosen_device(device),
        device_name=information["device_name"],
        sha256=checkpoints.digest(tensors),
        origin=information["origin"],
    )


def _trained_on(device: str, recipe: Recipe) -> str:
    """Return the device of a training in words, with the precision if it is not the default."""
    precision = precision_on(device, recipe.precision)
    unusual = f", {precision}" if precision != precision_on(device, "auto") else ""
    return device_name(device, recipe.threads) + unusual


def _fresh(
    recipe: Recipe, num_classes: int, initial: Pretrained | None, seed: int = 0
) -> backbones.Classifier:
    """Return a network to train, with random weights or with the weights of `initial`."""
    if initial is None:
        return backbones.create(recipe, num_classes, seed=seed)
    classifier = copy.deepcopy(initial.classifier).requires_grad_()
    classifier.keeps_normalisation = True
    return classifier


def _check_initial(initial: Pretrained, images: Images | ImageStream, recipe: Recipe) -> None:
    if initial.class_names != images.class_names:
        raise ValueError(
            f"initial: '{initial.name}' has other classes, or another order, than {images.name}"
        )
    if recipe.objective in EQUIPPED:
        raise ValueError(
            f"initial: objective '{recipe.objective}' has its own head; train it from scratch"
        )
