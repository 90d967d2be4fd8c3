"""OpenMax: an extra class "unknown" from the distances to the class means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helpers.checks import float_array, known_name, label_array, whole_number
from helpers.scores.base import in_blocks, register
from helpers.scores.calibration import softmax
from helpers.scores.energy import log_sum_exp
from helpers.scores.info import record
from helpers.scores.weibull import fit_weibull

_DISTANCES = ("euclidean", "euclidean_cosine")
# The share of the Euclidean distance in "euclidean_cosine", as in the authors' code.
_EUCLIDEAN_SHARE = 0.005
# Images in one step of the fit; bounds the memory.
_BLOCK = 1024


def openmax_answer(probabilities) -> np.ndarray:
    """Return the most probable of K + 1 answers, −1 for the last one, "unknown", int64 [N].

    >>> openmax_answer([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]])
    array([ 0, -1])
    """
    best = float_array("probabilities", probabilities, ndim=2).argmax(axis=1)
    return np.where(best < np.shape(probabilities)[1] - 1, best, -1)


@dataclass(frozen=True)
class ClassDistances:
    """The correctly classified training images of each class: all that `OpenMax` knows of them.

    Attributes
    ----------
    distance : {"euclidean", "euclidean_cosine"}
    mean : ndarray of float64, shape [K, K]
        Mean logits of each class.
    correct : ndarray of int64, shape [K]
        Numbers of images.
    largest : ndarray of float, shape [K, T]
        The T largest distances of the images of each class to its mean, in descending order; NaN
        after the last image of a class.
    """

    distance: str
    mean: np.ndarray
    correct: np.ndarray
    largest: np.ndarray


def class_distances(
    logits, labels, distance: str = "euclidean", most: int | None = None
) -> ClassDistances:
    """Return the distances of training images to the means of their classes.

    Images with labels of −1, or with an incorrect prediction, are left out.  `most` is the number
    of distances of each class, the largest ones; all by default.

    >>> class_distances([[1.0, 0.0]], [0], "euclidian")
    Traceback (most recent call last):
        ...
    ValueError: unknown distance 'euclidian'; did you mean 'euclidean'? There are: ...
    """
    known_name("distance", distance, _DISTANCES)
    logits = np.asarray(logits)
    if logits.ndim != 2 or not logits.size:
        float_array("logits", logits, ndim=2)  # raises an error that names the problem
    length, classes = logits.shape
    labels = label_array("labels", labels, classes=classes, length=length, unknown=True)
    blocks = [slice(start, start + _BLOCK) for start in range(0, length, _BLOCK)]
    is_correct = np.empty(length, dtype=bool)
    mean = np.zeros((classes, classes))
    for rows in blocks:
        values = float_array("logits", logits[rows], ndim=2)
        is_correct[rows] = values.argmax(axis=1) == labels[rows]
        np.add.at(mean, labels[rows][is_correct[rows]], values[is_correct[rows]])
    if not is_correct.any():
        raise ValueError("labels: no image is classified correctly, so OpenMax cannot be fitted")
    correct = np.bincount(labels[is_correct], minlength=classes)
    mean /= np.maximum(correct, 1)[:, None]

    distances = np.empty(length)
    for rows in blocks:
        means = mean[labels[rows]]
        distances[rows] = _distances(logits[rows].astype(np.float64), means, distance)
    labels = labels[is_correct]
    distances = distances[is_correct]
    first = np.cumsum(correct) - correct  # of each class, once sorted by class
    order = np.lexsort((-distances, labels))
    rank = np.arange(len(order)) - first[labels[order]]
    most = most or int(correct.max())
    taken = order[rank < most]
    largest = np.full((classes, most), np.nan)
    largest[labels[taken], rank[rank < most]] = distances[taken]
    return ClassDistances(distance, mean, correct, largest)


class OpenMax:
    r"""OpenMax: logits revised by how extreme an image's distance to each class is.

    Each class k = 1, …, K has a mean logit vector :math:`\mu_k` over its correctly classified
    training images.  The tail are the largest distances of these images to it, :math:`\tau_k` the
    smallest of the tail.  A Weibull distribution function :math:`F_k` is fitted to the tail, moved
    by

    .. math:: d_k = \operatorname{distance}(z, \mu_k) - \tau_k + 1.

    For an image with logits z, of ranks :math:`r_k` (0 for the largest),

    .. math::
        w_k = \frac{\max(\alpha - r_k, 0)}{\alpha} F_k(d_k), \quad
        \hat z_k = (1 - w_k) z_k, \quad
        \hat z_{\mathrm{unknown}} = \sum_{k=1}^{K} w_k z_k,

    and the softmax of the K + 1 revised logits gives the probabilities, "unknown" last.

    Parameters
    ----------
    tail : int
        Number of largest distances of each class in the Weibull fit, at least 2.
    alpha : int, optional
        Number of largest logits that are revised, 1 to K; all of them by default.
    distance : {"euclidean", "euclidean_cosine"}
        The second is 0.005 × the Euclidean distance + the cosine distance.

    Attributes
    ----------
    fitted : dict of str to ndarray
        Result of `fit`, for each class: ``mean`` [K, K]; ``correct`` and ``tail``, numbers of
        images and distances; ``revised``, whether there is a Weibull; ``start``, :math:`\tau_k`;
        ``shape`` and ``log_scale`` of the distribution function.

    Notes
    -----
    Bendale and Boult 2016, algorithms 1 and 2.  Implementations differ; this implementation

    * fits only correctly classified images, as in the paper;
    * counts ranks from 0 as the authors' code does (with ranks from 1, as in the paper's formula,
      ``alpha=1`` would not revise any logit);
    * moves the smallest distance of the tail to 1 before the fit, as libmr does since 2016 (the
      copy in the authors' code moves it to 10,000), and has :math:`F_k(d_k) = 0` for
      :math:`d_k \le 0`;
    * uses all correct images of a class with fewer than `tail`; a class without two distinct
      distances does not get a Weibull, and its logit is never revised.

    A revision raises negative logits, and lowers the logit of "unknown", as in the paper.
    """

    info = record("openmax")

    def __init__(self, tail: int = 20, alpha: int | None = None, distance: str = "euclidean"):
        self.tail = whole_number("tail", tail, least=2)
        self.alpha = None if alpha is None else whole_number("alpha", alpha)
        self.distance = known_name("distance", distance, _DISTANCES)
        self.fitted: dict[str, np.ndarray] = {}

    def fit(self, logits, labels) -> OpenMax:
        """Compute the class means, fit the Weibulls, and return itself.

        Training images with labels of −1, or with an incorrect prediction, are left out.
        """
        return self.fit_distances(class_distances(logits, labels, self.distance, self.tail))

    def fit_distances(self, known: ClassDistances) -> OpenMax:
        """Fit the Weibulls to known distances of the training images, and return itself.

        Raises
        ------
        ValueError
            Other distances, or fewer of them than `tail`.
        """
        classes = len(known.mean)
        if self.alpha is not None and self.alpha > classes:
            raise ValueError(f"alpha: at most {classes} (the classes) expected, got {self.alpha}")
        if known.distance != self.distance:
            raise ValueError(
                f"known: distances of kind '{self.distance}' expected, got '{known.distance}'"
            )
        stored = known.largest.shape[1]
        if stored < min(self.tail, known.correct.max()):
            raise ValueError(
                f"tail: at most {stored} (the known distances of a class) expected, got {self.tail}"
            )
        tails = np.asarray(known.largest[:, : self.tail], dtype=np.float64)
        used = ~np.isnan(tails)
        end = np.where(used, tails, 0.0).max(axis=1)
        start = np.where(used, tails, end[:, None]).min(axis=1)
        # Rounding makes equal distances differ in the last digits, which is no spread to fit.
        revised = end > start * (1 + 1e-9)
        shape = np.ones(classes)
        log_scale = np.zeros(classes)
        for k in np.flatnonzero(revised):
            shape[k], log_scale[k] = fit_weibull(np.log1p(tails[k, used[k]] - start[k]))
        self.fitted = {
            "mean": known.mean,
            "correct": known.correct,
            "tail": used.sum(axis=1),
            "revised": revised,
            "start": start,
            "shape": shape,
            "log_scale": log_scale,
        }
        return self

    def rank_weights(self, alpha: int) -> np.ndarray:
        """Return the factor of F for each revised rank, from the largest logit down."""
        return (alpha - np.arange(alpha)) / alpha

    def revised_logits(self, logits) -> np.ndarray:
        """Return the revised logits and, last, the logit of "unknown", float64 [N, K + 1].

        Among equal logits, the lower index ranks higher.
        """
        if not self.fitted:
            raise ValueError("OpenMax: not fitted yet, call fit first")
        # In one memory order, so that sums over classes are rounded equally for every batch.
        logits = np.ascontiguousarray(float_array("logits", logits, ndim=2))
        classes = len(self.fitted["mean"])
        if logits.shape[1] != classes:
            raise ValueError(f"logits: {classes} classes expected, got {logits.shape[1]}")
        alpha = self.alpha or classes
        rank_weight = self.rank_weights(alpha)
        revised = np.empty((len(logits), classes + 1))
        block = max(1, 2**20 // (alpha * classes))  # bounds the memory of [block, alpha, K]
        for first in range(0, len(logits), block):
            block_logits = logits[first : first + block]
            top = np.argsort(-block_logits, axis=1, kind="stable")[:, :alpha]
            weight = rank_weight * self._outlier_probability(block_logits, top)
            highest = np.take_along_axis(block_logits, top, axis=1)
            known = block_logits.copy()
            np.put_along_axis(known, top, highest * (1 - weight), axis=1)
            revised[first : first + block, :-1] = known
            revised[first : first + block, -1] = (highest * weight).sum(axis=1)
        return revised

    def probabilities(self, logits, temperature: float = 1.0) -> np.ndarray:
        """Return the probabilities of the classes and, last, of "unknown", float64 [N, K + 1].

        The temperature divides all K + 1 *revised* logits; before the revision it would change
        distances.
        """
        return softmax(self.revised_logits(logits), temperature)

    def _outlier_probability(self, logits: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """Return F of each image's distance to each given class, [n, alpha]."""
        fitted = self.fitted
        distances = _distances(logits[:, None, :], fitted["mean"][classes], self.distance)
        moved = np.maximum(distances - fitted["start"][classes], -1.0)
        with np.errstate(divide="ignore", over="ignore"):  # log(0) gives F = 0, overflow F = 1
            exponent = fitted["shape"][classes] * (np.log1p(moved) - fitted["log_scale"][classes])
            probability = -np.expm1(-np.exp(exponent))
        return np.where(fitted["revised"][classes], probability, 0.0)


def _distances(logits: np.ndarray, means: np.ndarray, kind: str) -> np.ndarray:
    """Return distances along the last axis.

    By inner products of single rows, since rounding in a matrix product depends on the batch.
    """
    differences = logits - means
    euclidean = np.sqrt(np.vecdot(differences, differences))
    if kind == "euclidean":
        return euclidean
    norms = np.sqrt(np.vecdot(logits, logits) * np.vecdot(means, means))
    cosine = np.vecdot(logits, means) / np.where(norms > 0, norms, 1.0)
    return _EUCLIDEAN_SHARE * euclidean + (1 - cosine)


@register
class OpenMaxScore:
    """Log odds of a known class by OpenMax, log((1 − p) / p) for a probability p of "unknown".

    With many classes, p itself is rounded to 1 for most images.

    Parameters
    ----------
    tail, distance
        As in `helpers.scores.openmax.OpenMax`, with the values of the authors' code.
    alpha : int
        Number of largest logits that are revised; with fewer classes, all are.
    """

    info = OpenMax.info

    def __init__(self, tail: int = 20, alpha: int = 10, distance: str = "euclidean_cosine"):
        self.alpha = whole_number("alpha", alpha)
        self.openmax = OpenMax(tail, alpha, distance)

    def fit(self, train_outputs, head) -> OpenMaxScore:
        """Fit on the correctly classified training images, and return itself."""
        self.openmax.alpha = min(self.alpha, train_outputs.num_classes)
        self.openmax.fit(train_outputs.logits, train_outputs.labels)
        return self

    def score_samples(self, outputs) -> np.ndarray:
        """Return the log odds of each image, float64 [N]."""

        def log_odds(block):
            revised = self.openmax.revised_logits(block.logits)
            return log_sum_exp(revised[:, :-1]) - revised[:, -1]

        return in_blocks(outputs, log_odds)
