"""Scores from gradients: by the pixels (ODIN, the Jacobian norm) and by the weights (GradNorm)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from helpers.checks import at_least_zero, positive_number
from helpers.scores.base import BlockwiseScore, recorded
from helpers.scores.calibration import softmax
from helpers.scores.images import ImageScore, as_list, log_probabilities

if TYPE_CHECKING:
    import torch

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
        parts = (logits[start : start + 1024] for start in range(0, len(logits), 1024))
        return np.concatenate([softmax(part, self.temperature).max(axis=1) for part in parts])


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


_MEMORY = 2**31  # bytes of gradients at once: 6 images of 224 pixels with ImageNot's 266 classes


@recorded("jacobian")
class Jacobian(ImageScore):
    """Minus the squared Frobenius norm of the derivative of the probabilities by the pixels.

    Belghazi and Lopez-Paz 2021, as in their text; their code differentiates the sum of all logits.
    """

    def passes(self, classes: int) -> int:
        """Return K: one forward pass, and a gradient for each class but the predicted one."""
        return classes

    def at_temperatures(
        self, model: Model, images: Images | ImageStream, temperatures: Sequence[float]
    ) -> np.ndarray:
        """Return minus the squared norm of each image's Jacobian, float64 [T, N]."""
        return -self._kept(
            jacobian_norms, model, images, temperatures=list(map(float, temperatures))
        )


def jacobian_norms(
    classifier: Classifier | Sequence[Classifier],
    images: Images | ImageStream,
    *,
    temperatures: Sequence[float] = (1.0,),
    batch_size: int = 50,
    **view,
) -> np.ndarray:
    r"""Return the squared Frobenius norm of each image's Jacobian, float64 [T, N], exactly.

    The Jacobian [K, pixels] is the derivative by the pixels in [0, 1] of the probabilities at T
    temperatures.  Several networks are an ensemble; dropout is off.  `batch_size` is an upper
    bound, so that gradients need at most 2 GiB.  `view` are arguments of ``images.in_order``.

    Probabilities depend on logits only through the differences to one class r, the predicted one
    for precision.  Let d be the K − 1 gradients of the differences and :math:`s = \sum_j p_j d_j`.
    The rows of the Jacobian are :math:`p_k (d_k - s) / T`, with :math:`d_r = 0`, so the inner
    products of the gradients are enough for any temperature.
    """
    import torch

    if not len(temperatures) or not min(temperatures) > 0:
        raise ValueError(f"temperatures: positive numbers expected, got {list(temperatures)}")
    classifiers = as_list(classifier)
    device = classifiers[0].mean.device
    read = (batch.to(device) for batch in images.in_order(batch_size=batch_size, **view))
    norms = []
    for pixels in (part for batch in read for part in batch.split(_at_once(classifiers, batch))):
        pixels = pixels.float().requires_grad_()
        answers = log_probabilities(classifiers, pixels)
        order = answers.detach().argsort(dim=1, descending=True)  # the predicted class comes first
        differences = answers.gather(1, order[:, 1:]) - answers.gather(1, order[:, :1])
        gradients = [
            torch.autograd.grad(difference.sum(), pixels, retain_graph=True)[0].flatten(1)
            for difference in differences.unbind(dim=1)
        ]
        rows = torch.stack(gradients, dim=1).mul_(255)
        products = (rows @ rows.mT).double().cpu().numpy()
        values = differences.detach().double().cpu().numpy()
        norms.append([_norms(products, values, temperature) for temperature in temperatures])
    return np.concatenate(norms, axis=1)


def _at_once(classifiers: Sequence[Classifier], batch: torch.Tensor) -> int:
    """Return for how many images the gradients, and a copy of them, fit into memory."""
    import torch

    with torch.inference_mode():
        classes = log_probabilities(classifiers, batch[:1].float()).shape[1]
    return max(1, _MEMORY // (2 * 4 * classes * batch[0].numel()))


def _norms(products: np.ndarray, differences: np.ndarray, temperature: float) -> np.ndarray:
    """Return squared norms [B] from products [B, K − 1, K − 1] of the gradients of differences.

    `differences` [B, K − 1] are logits minus the largest logit.
    """
    odds = np.exp(differences / temperature)
    first = 1 / (1 + odds.sum(axis=1))
    others = odds * first[:, None]
    with_sum = np.einsum("bij,bj->bi", products, others)
    of_sum = np.einsum("bi,bi->b", with_sum, others)
    squares = np.einsum("bii->bi", products) - 2 * with_sum + of_sum[:, None]
    total = (others**2 * np.maximum(squares, 0)).sum(axis=1) + first**2 * of_sum
    return total / temperature**2


@recorded("gradnorm")
class GradNorm(BlockwiseScore):
    """L1 norm of the gradient of the last layer's weight, of the cross-entropy to uniform.

    The gradient is the outer product of :math:`p - 1/K` and the features, so its norm is the
    product of their norms.

    Huang et al. 2021, at temperature 1.  Their code uses targets of 1 instead of 1/K, which
    multiplies each score by K: the same ranking.
    """

    def _scores(self, part):
        norms = np.abs(part.features).sum(axis=1, dtype=np.float64)
        gaps = part.probabilities - 1 / part.num_classes
        return norms * np.abs(gaps, out=gaps).sum(axis=1)
