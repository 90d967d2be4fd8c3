"""ODIN: a temperature, and a small step of the image towards its own answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from helpers.scores.base import register
from helpers.scores.calibration import softmax
from helpers.scores.info import Info

if TYPE_CHECKING:
    from helpers.data import Images, ImageStream
    from helpers.networks.models import Classifier


@register
class ODIN:
    """The largest probability at a high temperature, of an image moved towards its answer.

    A confidence: it lies in [1/K, 1].  Nothing is fitted; both hyper-parameters are chosen on
    held-out images, and none of the images that the score is then tested on may be among them.

    Parameters
    ----------
    temperature : float
        Above 0.
    epsilon : float
        Length of the step in each pixel, as a share of the range of pixel values.  At 0 the
        logits are enough, and no image is needed.

    Notes
    -----
    Liang et al. 2018, equations 1 and 2.  The step is of the same length in every channel whatever
    the network divides pixels by, and a gradient of zero moves nothing.
    """

    info = Info(
        name="odin",
        title="ODIN",
        paper="Enhancing The Reliability of Out-of-distribution Image Detection in Neural Networks",
        authors="Shiyu Liang, Yixuan Li, R. Srikant",
        year=2018,
        key="liang2018",
        equation=r"s = \max_k \operatorname{softmax}(z(\tilde x) / T)_k, \quad"
        r" \tilde x = x - \varepsilon \operatorname{sign}\bigl(-\nabla_x \log \max_k"
        r" \operatorname{softmax}(z(x) / T)_k\bigr)",
        needs=("logits", "images"),
        summary="The largest probability at a high temperature, after a small step of the image "
        "that raises it; the step raises that of known images more.",
        sign="High for known images, as in the paper.",
        hyper_parameters={
            "temperature": "by which the logits are divided",
            "epsilon": "length of the step, as a share of the range of pixel values",
        },
    )

    def __init__(self, temperature: float = 1000.0, epsilon: float = 0.0):
        if not temperature > 0:
            raise ValueError(f"temperature: a positive number expected, got {temperature}")
        if not epsilon >= 0:
            raise ValueError(f"epsilon: at least 0 expected, got {epsilon}")
        self.temperature, self.epsilon = temperature, epsilon

    def fit(self, train_outputs, head) -> ODIN:
        """Do nothing, and return itself."""
        return self

    def score_samples(
        self, outputs, images: Images | None = None, classifier: Classifier | None = None
    ) -> np.ndarray:
        """Return the largest probability of each image after its step, float64 [N].

        Parameters
        ----------
        outputs : Outputs
            Of the images as they are.
        images, classifier : Images and Classifier, optional
            Needed where `epsilon` is above 0.

        Raises
        ------
        ValueError
            `epsilon` is above 0 and the images or the classifier are missing.
        """
        logits = outputs.logits
        if self.epsilon:
            if images is None or classifier is None:
                raise ValueError("images, classifier: needed where epsilon is above 0")
            logits = stepped_logits(classifier, images, self.temperature, [self.epsilon])[0]
        parts = (logits[start : start + 1024] for start in range(0, len(logits), 1024))
        return np.concatenate([softmax(part, self.temperature).max(axis=1) for part in parts])


def stepped_logits(
    classifier: Classifier,
    images: Images | ImageStream,
    temperature: float,
    epsilons: Sequence[float],
    *,
    batch_size: int = 500,
    image_size: int | None = None,
) -> np.ndarray:
    """Return the logits of images after ODIN's step, for several lengths of it.

    The gradient does not depend on the length, so it is taken once for all of them.

    Parameters
    ----------
    classifier : Classifier
        On the device where to compute.
    images : Images or ImageStream
    temperature : float
    epsilons : sequence of float
        E lengths.
    batch_size : int
    image_size : int, optional
        Pixels to which the images of a stream are brought.

    Returns
    -------
    ndarray of float32, shape [E, N, K]
    """
    import torch

    classifier = classifier.eval()
    device = classifier.mean.device
    trained = [weight for weight in classifier.parameters() if weight.requires_grad]
    for weight in trained:  # the gradient of the pixels alone is wanted: half the memory
        weight.requires_grad_(False)
    found = []
    for batch in images.in_order(batch_size=batch_size, size=image_size):
        pixels = batch.to(device).float().requires_grad_()
        largest = (classifier(pixels).float() / temperature).log_softmax(dim=1).amax(dim=1)
        # summed, so that each image gets the gradient that it would get alone
        (gradient,) = torch.autograd.grad(-largest.sum(), pixels)
        step = 255 * gradient.sign()
        with torch.inference_mode():
            moved = [classifier(pixels - epsilon * step).float() for epsilon in epsilons]
            found.append(torch.stack(moved).cpu().numpy())
    for weight in trained:
        weight.requires_grad_()
    return np.concatenate(found, axis=1)
