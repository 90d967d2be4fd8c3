"""The norm of the derivative of the probabilities by the pixels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from helpers.scores.base import recorded
from helpers.scores.images import ImageScore, log_probabilities

if TYPE_CHECKING:
    import torch

    from helpers.data import Images, ImageStream
    from helpers.networks.backbones import Classifier
    from helpers.networks.model import Model

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
    classifiers: Sequence[Classifier],
    images: Images | ImageStream,
    *,
    temperatures: Sequence[float] = (1.0,),
    batch_size: int = 50,
    **view,
) -> np.ndarray:
    r"""Return the squared Frobenius norm of each image's Jacobian, float64 [T, N], exactly.

    The Jacobian [K, pixels] is the derivative by the pixels in [0, 1] of the probabilities at T
    temperatures.  Several networks, all in evaluation mode, are an ensemble.  `batch_size` is an
    upper bound, so that gradients need at most 2 GiB.  `view` are arguments of ``images.in_order``.

    Probabilities depend on logits only through the differences to one class r, the predicted one
    for precision.  Let d be the K − 1 gradients of the differences and :math:`s = \sum_j p_j d_j`.
    The rows of the Jacobian are :math:`p_k (d_k - s) / T`, with :math:`d_r = 0`, so the inner
    products of the gradients are enough for any temperature.
    """
    import torch

    if not len(temperatures) or not min(temperatures) > 0:
        raise ValueError(f"temperatures: positive numbers expected, got {list(temperatures)}")
    device = classifiers[0].mean.device
    norms = []
    for pixels in _small_batches(classifiers, images.in_order(batch_size=batch_size, **view)):
        pixels = pixels.to(device).float().requires_grad_()
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


def _small_batches(
    classifiers: Sequence[Classifier], batches: Iterable[torch.Tensor]
) -> Iterator[torch.Tensor]:
    """Yield batches in parts whose gradients fit into memory."""
    device = classifiers[0].mean.device
    for batch in batches:
        yield from batch.split(_at_once(classifiers, batch.to(device)))


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
