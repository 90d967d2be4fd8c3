"""The base of scores that show the images to a model again, and their cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import PIL

from helpers import cache
from helpers.scores.info import Info

if TYPE_CHECKING:
    import torch

    from helpers.data import Images, ImageStream
    from helpers.networks.backbones import Classifier
    from helpers.networks.model import Model
    from helpers.outputs import Outputs


class ImageScore:
    """Base of scores that read images.  They fit nothing."""

    info: Info
    _code = ""

    def __init_subclass__(cls):
        # read now, when the code is loaded: the file may change before a long run uses it
        cls._code = cache.code(cls.__module__, "helpers.networks.backbones.create")

    def fit(self, train_outputs, head) -> ImageScore:
        """Do nothing, and return this score."""
        return self

    def passes(self, classes: int) -> int:
        """Return the number of passes per image; a backward pass counts as one."""
        raise NotImplementedError

    def score_samples(self, outputs: Outputs) -> np.ndarray:
        """Refuse outputs; the message names the function to call."""
        raise ValueError(
            f"outputs: score '{self.info.name}' needs the images themselves; call "
            "helpers.scores.score(score, model, images)"
        )

    def score_images(self, model: Model, images: Images | ImageStream) -> np.ndarray:
        """Return the score of each image, float64 [N], higher = more likely known."""
        return self.at_temperatures(model, images, [1.0])[0]

    def at_temperatures(
        self, model: Model, images: Images | ImageStream, temperatures: Sequence[float]
    ) -> np.ndarray:
        """Return the scores at T temperatures of the model's probabilities, float64 [T, N]."""
        raise NotImplementedError

    def _kept(
        self,
        compute: Callable[..., np.ndarray],
        model: Model,
        images: Images | ImageStream,
        **parameters,
    ) -> np.ndarray:
        """Return the result of `compute`, cached by content.

        `compute` takes classifiers, images, `parameters` (JSON values) and the model's view.
        """
        computed = partial(compute, **parameters)
        return kept(self.info.name, self._code, computed, model, images, parameters)


def kept(
    name: str,
    code: str,
    compute: Callable[..., np.ndarray],
    model: Model,
    images: Images | ImageStream,
    parameters: Mapping,
) -> np.ndarray:
    """Return the result of `compute`, cached in the folder `name` by content.

    `compute` takes classifiers, images, and the model's view; `parameters` (JSON values) and the
    digest of its code are everything else that decides the result.
    """
    from helpers.networks.devices import VERSIONS, reproducible

    first = model.networks[0]
    key = cache.key(
        model=model.sha256,
        images=images.sha256,
        parameters=parameters,
        code=code,
        pillow=PIL.__version__,  # it resizes
        **VERSIONS,
    )

    def make() -> np.ndarray:
        with reproducible(first.device, first.threads):
            return compute(model.classifiers, images, **first.view)

    return cache.array(name, key, make)


def log_probabilities(classifiers: Sequence[Classifier], pixels: torch.Tensor) -> torch.Tensor:
    """Return the logarithm of the mean probabilities of the networks, float32 [B, K]."""
    import torch

    per_network = [classifier(pixels).float().log_softmax(dim=1) for classifier in classifiers]
    return torch.stack(per_network).logsumexp(dim=0) - np.log(len(per_network))
