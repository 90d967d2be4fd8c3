"""ODIN: a temperature, and a small step of the image towards its own answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from helpers.scores.base import register
from helpers.scores.calibration import softmax
from helpers.scores.images import ImageScore
from helpers.scores.info import Info

if TYPE_CHECKING:
    from helpers.data import Images, ImageStream
    from helpers.networks.model import Model
    from helpers.networks.models import Classifier
    from helpers.outputs import Outputs


@register
class ODIN(ImageScore):
    """The largest probability at a high temperature, of an image moved towards its answer.

    A confidence: it lies in [1/K, 1].  Both hyper-parameters are chosen on
    held-out images, and none of the images that the score is then tested on may be among them.

    Parameters
    ----------
    temperature : float
        Above 0.
    epsilon : float
        Length of the step in each pixel, as a share of the range of pixel values.  At 0, the
        default, there is no step: the logits are enough, and what is left of ODIN is a softmax at
        a high temperature.

    Notes
    -----
    Liang et al. 2018, equations 1 and 2.  Their code names a step for each network and set of
    unknown images; those here are for a DenseNet and most of the sets.  The step is of the same
    length in every channel whatever the network divides pixels by, and a gradient of zero moves
    nothing.
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
        needs=("logits", "images", "one network"),
        summary="The largest probability at a high temperature, after a small step of the image "
        "that raises it; the step raises that of known images more.",
        hyper_parameters={
            "temperature": "by which the logits are divided",
            "epsilon": "length of the step, as a share of the range of pixel values",
        },
        published={
            "CIFAR-10": {"temperature": 1000, "epsilon": 0.0014},
            "CIFAR-100": {"temperature": 1000, "epsilon": 0.0028},
        },
    )

    def __init__(self, temperature: float = 1000.0, epsilon: float = 0.0):
        if not temperature > 0:
            raise ValueError(f"temperature: a positive number expected, got {temperature}")
        if not epsilon >= 0:
            raise ValueError(f"epsilon: at least 0 expected, got {epsilon}")
        self.temperature, self.epsilon = temperature, epsilon

    def passes(self, classes: int) -> int:
        """Return 3: of the image, back to its pixels, and of the image that was moved."""
        return 3 if self.epsilon else 1

    def score_samples(self, outputs: Outputs) -> np.ndarray:
        """Return the scores of images that are not moved, float64 [N].

        Raises
        ------
        ValueError
            `epsilon` is above 0: the images are needed.
        """
        return super().score_samples(outputs) if self.epsilon else self._of_logits(outputs.logits)

    def score_images(self, model: Model, images: Images | ImageStream) -> np.ndarray:
        """Return the largest probability of each image after its step, float64 [N]."""
        if not self.epsilon:
            return self._of_logits(model.outputs(images).logits)
        return self._of_logits(self.stepped(model, images, [self.epsilon])[0])

    def stepped(
        self, model: Model, images: Images | ImageStream, epsilons: Sequence[float]
    ) -> np.ndarray:
        """Return the logits after steps of several lengths, float32 [E, N, K], kept by content.

        Raises
        ------
        ValueError
            Several networks answer together: the step is that of one.
        """
        if len(model.networks) > 1:
            raise ValueError(f"model: one network expected, got {len(model.networks)}")
        steps = [float(epsilon) for epsilon in epsilons]
        own = {"temperature": float(self.temperature), "epsilons": steps}
        return self._kept(lambda one, *a, **o: stepped_logits(*one, *a, **o), model, images, **own)

    def _of_logits(self, logits: np.ndarray) -> np.ndarray:
        parts = (logits[start : start + 1024] for start in range(0, len(logits), 1024))
        return np.concatenate([softmax(part, self.temperature).max(axis=1) for part in parts])


def stepped_logits(
    classifier: Classifier,
    images: Images | ImageStream,
    temperature: float,
    epsilons: Sequence[float],
    **view,
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
    **view
        How the network sees images, as arguments of ``images.in_order``.

    Returns
    -------
    ndarray of float32, shape [E, N, K]
    """
    import torch

    from helpers.networks import devices

    classifier = classifier.eval()
    device = classifier.mean.device
    size = devices.batch_size(classifier, images, **view)
    if device.type != "cpu":
        size = -(-size // 4)  # the gradient needs that much more memory
    trained = [weight for weight in classifier.parameters() if weight.requires_grad]
    for weight in trained:  # the gradient of the pixels alone is wanted: half the memory
        weight.requires_grad_(False)
    found = []
    try:
        for batch in images.in_order(batch_size=size, **view):
            pixels = batch.to(device).float().requires_grad_()
            largest = (classifier(pixels).float() / temperature).log_softmax(dim=1).amax(dim=1)
            # summed, so that each image gets the gradient that it would get alone
            (gradient,) = torch.autograd.grad(-largest.sum(), pixels)
            step = 255 * gradient.sign()
            with torch.inference_mode():
                moved = [classifier(pixels - epsilon * step).float() for epsilon in epsilons]
                found.append(torch.stack(moved).cpu().numpy())
    finally:
        for weight in trained:
            weight.requires_grad_()
    return np.concatenate(found, axis=1)
