"""Scores that show the images to a model again: their interface, and where results are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import PIL

from helpers import cache
from helpers.scores.info import Info

if TYPE_CHECKING:
    import torch

    from helpers.data import Images, ImageStream
    from helpers.networks.model import Model
    from helpers.networks.models import Classifier
    from helpers.outputs import Outputs


class ImageScore:
    """What scores share that go back to the images.  Nothing is fitted."""

    info: Info
    _code = ""

    def __init_subclass__(cls):
        # read now, when the code is loaded: the file may change before a long run comes to use it
        cls._code = cache.code(cls.__module__, "helpers.networks.models.create")

    def fit(self, train_outputs, head) -> ImageScore:
        """Do nothing, and return itself."""
        return self

    def passes(self, classes: int) -> int:
        """Return the passes that an image costs; one backwards counts as one forwards."""
        raise NotImplementedError

    def score_samples(self, outputs: Outputs) -> np.ndarray:
        """Refuse outputs.

        Raises
        ------
        ValueError
            Always: says what to call instead.
        """
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
        """Return what is computed of images that a model is shown again, kept by content.

        Parameters
        ----------
        compute : callable
            Takes classifiers, images, `parameters` and how the model sees images.
        model : Model
        images : Images or ImageStream
        **parameters
            As JSON holds them.
        """
        from helpers.networks.devices import VERSIONS, reproducible

        first = model.networks[0]
        key = cache.key(
            model=model.sha256,
            images=images.sha256,
            parameters=parameters,
            code=self._code,
            pillow=PIL.__version__,  # it resizes
            **VERSIONS,
        )

        def make() -> np.ndarray:
            with reproducible(first.device, first.threads):
                return compute(model.classifiers, images, **parameters, **first.view)

        return cache.array(self.info.name, key, make)


def log_probabilities(classifiers: Sequence[Classifier], pixels: torch.Tensor) -> torch.Tensor:
    """Return the logarithm of the mean probabilities of one network or several, float32 [B, K]."""
    import torch

    each = [classifier(pixels).float().log_softmax(dim=1) for classifier in classifiers]
    return torch.stack(each).logsumexp(dim=0) - np.log(len(each))


def as_list(classifier: Classifier | Sequence[Classifier]) -> list[Classifier]:
    """Return one network or several as a list, in evaluation mode."""
    several = isinstance(classifier, Sequence)
    return [one.eval() for one in (classifier if several else [classifier])]
