"""The size of the Jacobian: how fast the probabilities change with the pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from helpers.scores.base import register
from helpers.scores.images import ImageScore, as_list, log_probabilities
from helpers.scores.info import BELGHAZI, Info

if TYPE_CHECKING:
    import torch

    from helpers.data import Images, ImageStream
    from helpers.networks.model import Model
    from helpers.networks.models import Classifier


_MEMORY = 2**31  # bytes of gradients at once: 6 images of 224 pixels with ImageNot's 266 classes


@register
class Jacobian(ImageScore):
    """Minus the squared Frobenius norm of the derivative of the probabilities by the pixels.

    At most 0.

    Notes
    -----
    Belghazi and Lopez-Paz 2021, as their text has it; their code takes the gradient of the sum
    of all logits instead.
    """

    info = Info(
        name="jacobian",
        title="Jacobian",
        **BELGHAZI,
        equation=r"s = -\Bigl\lVert \frac{\partial p(x)}{\partial x} \Bigr\rVert_F^2",
        needs=("images",),
        summary="How little the probabilities change with small changes of the image.",
        sign="The norm is negated: high for known images.",
    )

    def passes(self, classes: int) -> int:
        """Return K: one forwards, and a gradient for each class but the predicted one."""
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
    r"""Return the squared Frobenius norm of each image's Jacobian, at several temperatures.

    The derivative of the probabilities by the pixels, these as shares of their range: a matrix of
    K rows and as many columns as the image has values.  It is exact.

    Parameters
    ----------
    classifier : Classifier or sequence of Classifier
        On the device where to compute; of several, the ensemble of their mean probabilities.
        Dropout is not at work.
    images : Images or ImageStream
    temperatures : sequence of float
        T of them, above 0, by which logits (of an ensemble, the logarithms of its mean
        probabilities) are divided.
    batch_size : int
        Images at once, at most: fewer where their gradients, as many as classes times pixels, would
        take more than 2 GiB.
    **view
        How the networks see images, as arguments of ``images.in_order``.

    Returns
    -------
    ndarray of float64, shape [T, N]

    Raises
    ------
    ValueError
        A temperature that is not positive, or none.

    Notes
    -----
    Probabilities depend on logits through the differences to that of one class r alone.  These
    are K − 1, each differentiated for a whole batch at once; an image has more values than a
    network has classes, so forward products would be more.  With d the gradients of the
    differences and :math:`s = \sum_j p_j d_j`, the rows of the Jacobian are
    :math:`p_k (d_k - s) / T`, with :math:`d_r = 0`: the products of the gradients with each other
    are enough for any temperature.  The class r is the predicted one; the sum then has small
    terms only and keeps its digits where the network is certain.
    """
    import torch

    if not len(temperatures) or not min(temperatures) > 0:
        raise ValueError(f"temperatures: positive numbers expected, got {list(temperatures)}")
    classifiers = as_list(classifier)
    device = classifiers[0].mean.device
    read = (one.to(device) for one in images.in_order(batch_size=batch_size, **view))
    found = []
    for pixels in (part for batch in read for part in batch.split(_at_once(classifiers, batch))):
        pixels = pixels.float().requires_grad_()
        answers = log_probabilities(classifiers, pixels)
        order = answers.detach().argsort(dim=1, descending=True)  # the predicted class comes first
        differences = answers.gather(1, order[:, 1:]) - answers.gather(1, order[:, :1])
        gradients = [
            torch.autograd.grad(one.sum(), pixels, retain_graph=True)[0].flatten(1)
            for one in differences.unbind(dim=1)
        ]
        rows = torch.stack(gradients, dim=1).mul_(255)
        products = (rows @ rows.mT).double().cpu().numpy()
        values = differences.detach().double().cpu().numpy()
        found.append([_norms(products, values, one) for one in temperatures])
    return np.concatenate(found, axis=1)


def _at_once(classifiers: Sequence[Classifier], batch: torch.Tensor) -> int:
    """Return of how many images the gradients, and their copy side by side, fit into memory."""
    import torch

    with torch.inference_mode():
        classes = log_probabilities(classifiers, batch[:1].float()).shape[1]
    return max(1, _MEMORY // (2 * 4 * classes * batch[0].numel()))


def _norms(products: np.ndarray, differences: np.ndarray, temperature: float) -> np.ndarray:
    """Return squared norms [B] from the products [B, K − 1, K − 1] of the gradients of the logits'
    differences [B, K − 1] to the largest logit."""
    odds = np.exp(differences / temperature)
    first = 1 / (1 + odds.sum(axis=1))
    others = odds * first[:, None]
    with_sum = np.einsum("bij,bj->bi", products, others)
    of_sum = np.einsum("bi,bi->b", with_sum, others)
    squares = np.einsum("bii->bi", products) - 2 * with_sum + of_sum[:, None]
    total = (others**2 * np.maximum(squares, 0)).sum(axis=1) + first**2 * of_sum
    return total / temperature**2
