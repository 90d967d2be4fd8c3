"""ODIN: a high temperature, and a step of the image along the gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from helpers.checks import at_least_zero, positive_number
from helpers.scores.base import recorded
from helpers.scores.calibration import confidences
from helpers.scores.images import ImageScore

if TYPE_CHECKING:
    from helpers.data import Images, ImageStream
    from helpers.networks.backbones import Classifier
    from helpers.networks.model import Model
    from helpers.outputs import Outputs


@recorded("odin")
class ODIN(ImageScore):
    """Largest probability at a high temperature, of an image moved towards its prediction.

    A confidence in [1/K, 1].  Choose both hyper-parameters on held-out images that are not test
    images. Source: Liang et al. 2018, equations 1 and 2.  Their code has a step for each network
    and unknown set; the published values are for a DenseNet and most of the sets.  The step is
    equal in all channels, and a gradient of zero gives no step.

    Parameters
    ----------
    temperature : float
        Positive.
    epsilon : float
        Step in each pixel, as a share of the range of pixel values.  At 0, the default, the logits
        are enough.
    """

    def __init__(self, temperature: float = 1000.0, epsilon: float = 0.0):
        self.temperature = positive_number("temperature", temperature)
        self.epsilon = at_least_zero("epsilon", epsilon)

    def passes(self, classes: int) -> int:
        """Return 3 passes (forward, backward, forward with the moved image); 1 without a step."""
        return 3 if self.epsilon else 1

    def score_samples(self, outputs: Outputs) -> np.ndarray:
        """Return the scores without a step, float64 [N]; refuse a positive `epsilon`."""
        return super().score_samples(outputs) if self.epsilon else self._of_logits(outputs.logits)

    def score_images(self, model: Model, images: Images | ImageStream) -> np.ndarray:
        """Return the largest probability of each image after its step, float64 [N]."""
        if not self.epsilon:
            return self._of_logits(model.outputs(images).logits)
        return self._of_logits(self.stepped(model, images, [self.epsilon])[0])

    def stepped(
        self, model: Model, images: Images | ImageStream, epsilons: Sequence[float]
    ) -> np.ndarray:
        """Return the logits after steps of several lengths, float32 [E, N, K], cached."""
        if len(model.networks) > 1:
            raise ValueError(f"model: one network expected, got {len(model.networks)}")
        steps = [float(epsilon) for epsilon in epsilons]

        def step(networks: Sequence[Classifier], images, **options) -> np.ndarray:
            return stepped_logits(networks[0], images, **options)

        settings = {"temperature": float(self.temperature), "epsilons": steps}
        return self._kept(step, model, images, **settings)

    def _of_logits(self, logits: np.ndarray) -> np.ndarray:
        return confidences(logits, self.temperature)


def stepped_logits(
    classifier: Classifier,
    images: Images | ImageStream,
    temperature: float,
    epsilons: Sequence[float],
    **view,
) -> np.ndarray:
    """Return the logits after ODIN's steps of E lengths, float32 [E, N, K].

    The gradient does not depend on the length, so it is computed once.  `view` are arguments of
    ``images.in_order``.
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
    stepped = []
    try:
        for batch in images.in_order(batch_size=size, **view):
            pixels = batch.to(device).float().requires_grad_()
            largest = (classifier(pixels).float() / temperature).log_softmax(dim=1).amax(dim=1)
            # summed, so that each image gets the gradient that it would get alone
            (gradient,) = torch.autograd.grad(-largest.sum(), pixels)
            step = 255 * gradient.sign()
            with torch.inference_mode():
                moved = [classifier(pixels - epsilon * step).float() for epsilon in epsilons]
                stepped.append(torch.stack(moved).cpu().numpy())
    finally:
        for weight in trained:
            weight.requires_grad_()
    return np.concatenate(stepped, axis=1)
