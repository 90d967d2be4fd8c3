r"""Another mixture of the known classes, which the answers of a classifier show without labels.

If only the mixture changes, the images of each class, and so the answers to them, stay equal:
with the share :math:`C_{ky}` of answers k to validation images of class y, answers to new images
have the shares :math:`q = C \theta`.  We maximise the likelihood of the new answers over the shares
θ of the classes by expectation maximisation (Saerens, Latinne and Decaestecker 2002).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helpers.checks import float_array, label_array, whole_number

#: Correct answers to each class that count in addition to those to the validation images.
_ADDED = 0.5
#: Largest number of steps, and the largest change of a share in the last step.
_STEPS = 200
_CLOSE = 1e-6
#: Number of draws for the noise of the shares, and the validation images of a class that it needs.
_REPLICATES = 100
#: Numbers of the draws that are computed at once.
_NUMBERS = 1_000_000
_IMAGES = 10


@dataclass(frozen=True)
class ClassMixture:
    """The shares of the known classes among validation images and among other images.

    Attributes
    ----------
    labels : ndarray of int64, shape [n]
        Classes of the validation images.
    before, after : ndarray, shape [K]
        Shares of the classes among the validation images, and among the other images.
    images : int
        Number of the other images.
    moved, low, high : float
        Share of images whose class would have to change, half of the sum of all differences, with
        an interval; the interval is from 0 to 1 with fewer than ten validation images for a class
        on average, since the noise is then unknown.  The draws for the noise are from the answers
        to the other images and K answers to validation images, so that few images show no change.
    drawn : ndarray, shape [R, K]
        Shares `after` of the draws; of few validation images, `after` alone.
    """

    labels: np.ndarray
    before: np.ndarray
    after: np.ndarray
    images: int
    moved: float
    low: float
    high: float
    drawn: np.ndarray

    def reweighted(self, scores, after=None) -> np.ndarray:
        """Return scores of validation images, as if these had the new mixture.

        The weight of an image is the share of its class in `after`, by default the new share,
        divided by the share before.  The scores are quantiles of the weighted scores, as many as
        equal weights would have for the same noise, with the noise of the shares.
        """
        scores = float_array("scores", scores)
        present = np.maximum(self.before, 1 / len(self.labels))
        weights = ((self.after if after is None else after) / present)[self.labels]
        total = weights.sum()
        if not total:
            return scores
        count = 1 / ((weights**2).sum() / total**2 + 1 / self.images)
        order = np.argsort(scores, kind="stable")
        below = np.cumsum(weights[order]) / total
        places = (np.arange(max(1, int(count))) + 0.5) / max(1, int(count))
        return scores[order][np.minimum(np.searchsorted(below, places), len(scores) - 1)]


def class_mixture(answers, labels, others, *, classes: int) -> ClassMixture:
    """Return the shares of the known classes among images without labels, with 95 % intervals.

    Parameters
    ----------
    answers, labels : array_like of int, shape [n]
        Predicted and true classes of validation images.
    others : array_like of int, shape [M]
        Predicted classes of the other images.
    classes : int
        Number K of classes.

    Examples
    --------
    >>> labels = np.arange(1000) % 2
    >>> found = class_mixture(labels, labels, np.arange(1000) % 10 == 0, classes=2)
    >>> found.after.round(1).tolist(), round(found.moved, 1)
    ([0.9, 0.1], 0.4)
    """
    whole_number("classes", classes)
    labels = label_array("labels", labels, classes=classes)
    answers = label_array("answers", answers, classes=classes, length=len(labels))
    others = label_array("others", np.asarray(others, np.int64), classes=classes)
    pairs = np.bincount(answers * classes + labels, minlength=classes**2)
    counts = np.bincount(others, minlength=classes)
    before, after = _shares(pairs.reshape(classes, classes), counts)
    moved = float(np.abs(after - before).sum() / 2)
    # few answers can be equal by chance, and would have no noise: K validation answers add noise
    smoothed = counts + classes * np.bincount(answers, minlength=classes) / len(labels)
    noise = 1.0
    drawn_after = [after[None]]
    if len(labels) >= _IMAGES * classes:
        generator = np.random.default_rng(0)
        distances: list[float] = []
        blocks = min(_REPLICATES, 1 + _REPLICATES * classes**2 // _NUMBERS)
        for block in np.array_split(np.arange(_REPLICATES), blocks):
            draws = [
                (
                    generator.multinomial(len(labels), pairs / len(labels)),
                    generator.multinomial(len(others), smoothed / smoothed.sum()),
                )
                for _ in block
            ]
            drawn_pairs, drawn_counts = map(np.array, zip(*draws, strict=True))
            drawn = _shares(drawn_pairs.reshape(-1, classes, classes), drawn_counts)
            changes = drawn[1] - drawn[0] - (after - before)
            distances.extend(np.abs(changes).sum(axis=1) / 2)
            drawn_after.append(drawn[1])
        noise = float(np.quantile(distances, 0.95))
    # a distance differs from its estimate by at most the size of the noise
    low = max(0.0, moved - noise)
    high = min(1.0, moved + noise)
    return ClassMixture(
        labels, before, after, len(others), moved, low, high, np.concatenate(drawn_after)
    )


def _shares(pairs: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the shares of the classes, from counts of answer and class, and of other answers.

    The counts have the shapes [..., K, K] and [..., K], and the shares [..., K].
    """
    images = pairs.sum(axis=-2)
    before = images / images.sum(axis=-1, keepdims=True)
    filled = pairs + _ADDED * np.eye(pairs.shape[-1])
    answered = filled / filled.sum(axis=-2, keepdims=True)
    # a class without a validation image may have other images
    after = (images + _ADDED) / (images + _ADDED).sum(axis=-1, keepdims=True)
    observed = counts / counts.sum(axis=-1, keepdims=True)
    for _ in range(_STEPS):
        expected = np.einsum("...ky,...y->...k", answered, after)
        ratio = np.divide(observed, expected, out=np.zeros_like(expected), where=expected > 0)
        new = after * np.einsum("...ky,...k->...y", answered, ratio)
        change = np.abs(new - after).max()
        after = new
        if change < _CLOSE:
            break
    return before, after
