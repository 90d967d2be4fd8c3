"""Estimates of the accuracy of a classifier on unlabelled images, some of unknown classes.

Unknown images count as incorrect. Every estimator assumes that the mixture has no unknown
images. `assumptions` returns evidence against this assumption. `accuracy_of_accepted` leaves
out rejected images and corrects for unknown images among the accepted ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, xlogy

from helpers.checks import open_share
from helpers.metrics.inputs import correct_array, probability_array
from known_unknowns.without_labels.estimates import FEWEST, Estimate
from known_unknowns.without_labels.share import share_bound

ACCURACY_ESTIMATORS = {
    "validation": "validation accuracy",
    "average_confidence": "average confidence",
    "difference": "difference of confidences",
    "atc_probability": "ATC, maximum probability",
    "atc_entropy": "ATC, entropy",
    "nuclear_norm": "nuclear norm",
}
"""The estimators by name, and their titles; the first is the constant of them."""

_CONFIDENCE = 0.95  # of the checks


@dataclass(frozen=True)
class Answers:
    """Outputs of a classifier on images: probabilities [N, K], rows that sum to 1."""

    probabilities: np.ndarray

    def of(self, places) -> Answers:
        """Return the outputs on some images, chosen by a mask or by indices."""
        return Answers(np.asarray(self.probabilities)[places])


def estimate_accuracy(
    validation: Answers, correct, mixture: Answers, *, level: float = 0.9
) -> dict[str, Estimate]:
    r"""Return the accuracy on unlabelled images by every estimator of `ACCURACY_ESTIMATORS`.

    With the mean :math:`c` of the maximum probability on the mixture, :math:`c_v` on the
    validation images, and the accuracy :math:`a_v` there:

    * ``validation``: :math:`a_v`, which does not depend on the mixture;
    * ``average_confidence``: :math:`c` (Hendrycks and Gimpel 2017), for probabilities that are
      calibrated on the mixture;
    * ``difference``: :math:`a_v + c - c_v` (Guillory et al. 2021), for probabilities with the same
      error as on the validation images;
    * ``atc_probability``, ``atc_entropy``: the share of the mixture above the threshold that the
      share :math:`a_v` of the validation images is above, of the maximum probability or of the
      negative entropy (Garg et al. 2022), if the errors are below it;
    * ``nuclear_norm``: :math:`a_v + \nu - \nu_v` with :math:`\nu = \|P\|_* / \sqrt{N \min(N, K)}`
      (Deng et al. 2023, who regress on ν; we take the difference, as with the confidence).

    Parameters
    ----------
    validation : Answers
        Outputs on labelled ID images that neither the classifier nor its temperature learned from.
    correct : array_like of bool, shape [V]
        Whether each validation image is classified correctly.
    mixture : Answers
        Outputs on at least 50 unlabelled images.
    level : float
        Level of the intervals, in (0, 1).

    Returns
    -------
    dict of str to Estimate
        Estimates by name, all in [0, 1]. The interval is for other images of the same kind:
        it is an interval of the estimator, *not* of the accuracy.

    Notes
    -----
    The variance is that of the influence of single images (the infinitesimal jackknife, Jaeckel
    1972).  *Do not use* these estimates on mixtures with unknown images: they are too high, ATC
    the least.

    Examples
    --------
    >>> answers = Answers([[0.9, 0.1]] * 80 + [[0.6, 0.4]] * 20)
    >>> found = estimate_accuracy(answers, np.arange(100) >= 20, answers)
    >>> round(found["average_confidence"].value, 2), round(found["difference"].value, 2)
    (0.84, 0.8)
    """
    open_share("level", level)
    known, mixed, correct = _checked(validation, correct, mixture)
    deviations, estimates = ndtri((1 + level) / 2), {}
    for name, (value, *influences) in _statistics(known, mixed, correct).items():
        error = np.sqrt(sum(each.var() / len(each) for each in influences))
        ends = (value, value - deviations * error, value + deviations * error)
        estimates[name] = Estimate(*(float(np.clip(end, 0, 1)) for end in ends))
    return estimates


def accuracy_of_accepted(
    validation: Answers,
    correct,
    mixture: Answers,
    accepted,
    *,
    share: float,
    least: float = 0.0,
    level: float = 0.9,
) -> dict[str, Estimate]:
    r"""Return the accuracy on the unlabelled images that a rejector accepts.

    A rejector that accepts the share :math:`c` of the validation images, and :math:`a` of the
    mixture, accepts :math:`(1 - \pi) c` known images of a mixture with a share π of unknown
    images. Every estimate for the accepted images is multiplied by the share of known images
    among them,
    :math:`\min(1, (1 - \pi) c / a)`.

    Parameters
    ----------
    validation, correct, mixture, level
        As for `estimate_accuracy`, of all images.
    accepted : (array_like of bool, array_like of bool), shapes [V] and [M]
        Validation images and unlabelled images that the rejector accepts; its threshold was
        not chosen on them.
    share : float
        π, known or from `estimate_share`, in [0, 1].
    least : float
        Lower bound of π from `share_bound`, at most `share`.

    Returns
    -------
    dict of str to Estimate
        Estimates by name. The upper end uses the least share of unknown images, and the lower
        end the estimated share. No output can exclude that more unknown images look known.

    Notes
    -----
    Roschewitz and Glocker 2023 also remove first what is unlike the validation images.
    Estimators that depend on the mixture, ATC above all, are too low if accepted unknown
    images have less confidence than others. *Do not use* a share that was estimated from a
    weak score.

    Examples
    --------
    Half of the mixture is unknown, and the rejector accepts everything:

    >>> answers = Answers([[0.9, 0.1]] * 100)
    >>> right, every = np.arange(100) >= 20, np.full(100, True)
    >>> found = accuracy_of_accepted(answers, right, answers, (every, every), share=0.5)
    >>> found["validation"].value
    0.4
    """
    if not 0 <= least <= share <= 1:
        raise ValueError(
            f"share, least: 0 <= least <= share <= 1 expected, got share {share}, least {least}"
        )
    *probabilities, correct = _checked(validation, correct, mixture)
    held, new = (
        correct_array(mask, length=len(each))
        for mask, each in zip(accepted, probabilities, strict=True)
    )
    if not held.any() or new.sum() < FEWEST:
        raise ValueError(
            f"accepted: a validation image and {FEWEST} of the mixture expected at least, got "
            f"{held.sum()} and {new.sum()}; lower the rejector's threshold or bring more images"
        )
    plain = estimate_accuracy(validation.of(held), correct[held], mixture.of(new), level=level)
    known, most = (min(1.0, (1 - part) * held.mean() / new.mean()) for part in (share, least))
    return {
        name: Estimate(float(value * known), float(low * known), float(high * most))
        for name, (value, low, high) in plain.items()
    }


def assumptions(validation: Answers, correct, mixture: Answers) -> tuple[str, ...]:
    """Return evidence against the assumptions of `estimate_accuracy` on these images."""
    known, mixed, correct = _checked(validation, correct, mixture)
    confidence, accuracy, evidence = known.max(axis=1), correct.mean(), []
    if least := share_bound(confidence, mixed.max(axis=1), level=_CONFIDENCE):
        evidence.append(
            f"By their confidence, at least {least:.1%} of the unlabelled images are unlike the "
            "validation images: if these are of unknown classes, every estimate is too high."
        )
    gaps = confidence - correct
    error = gaps.std() / np.sqrt(len(gaps))
    if abs(gaps.mean()) > ndtri((1 + _CONFIDENCE) / 2) * error:
        evidence.append(
            f"On the validation images the mean confidence is {confidence.mean():.1%} and the "
            f"accuracy {accuracy:.1%}: the estimate by average confidence is off by as much "
            "already there."
        )
    for name, order in _ORDERS.items():
        values = order(known)
        if abs((values >= _threshold(values, accuracy)).mean() - accuracy) > 0.01:
            evidence.append(
                f"Tied values leave no threshold for {ACCURACY_ESTIMATORS[name]} that as many "
                "validation images lie above as are right."
            )
    if len(mixed) < mixed.shape[1]:
        evidence.append(
            "There are fewer images than classes, and the nuclear norm depends on both."
        )
    return tuple(evidence)


def _checked(
    validation: Answers, correct, mixture: Answers
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the valid probabilities of validation images and mixture, and `correct`."""
    known = probability_array("validation", validation.probabilities)
    mixed = probability_array("mixture", mixture.probabilities)
    correct = correct_array(correct, length=len(known))
    if known.shape[1] != mixed.shape[1]:
        raise ValueError(
            f"mixture: {known.shape[1]} classes expected as in validation, got {mixed.shape[1]}"
        )
    if len(mixed) < FEWEST:
        raise ValueError(f"mixture: at least {FEWEST} images expected, got {len(mixed)}")
    return known, mixed, correct


def _statistics(known: np.ndarray, mixed: np.ndarray, correct: np.ndarray) -> dict[str, tuple]:
    """Return each value, and the influence of each image on it, in one array or two."""
    gaps, confidence = correct - known.max(axis=1), mixed.max(axis=1)
    (norm, terms), (known_norm, known_terms) = _nuclear_norm(mixed), _nuclear_norm(known)
    return {
        "validation": (correct.mean(), correct.astype(float)),
        "average_confidence": (confidence.mean(), confidence),
        "difference": (gaps.mean() + confidence.mean(), gaps, confidence),
        **{
            name: _above_threshold(order(known), order(mixed), correct)
            for name, order in _ORDERS.items()
        },
        "nuclear_norm": (correct.mean() + norm - known_norm, correct - known_terms, terms),
    }


def _nuclear_norm(probabilities: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the nuclear norm, 1 at the most, and the influence of each image on it.

    It is the trace of the root of the mean C of p pᵀ; an image changes C by p pᵀ, and the
    trace by pᵀ C^(-1/2) p / 2.
    """
    images, classes = probabilities.shape
    values, axes = np.linalg.eigh(probabilities.T @ probabilities / images)
    roots = np.sqrt(np.maximum(values, 0))
    inverse = np.where(roots > 1e-6 * roots.max(), 1 / np.maximum(roots, 1e-300), 0)
    size = np.sqrt(min(images, classes))
    return roots.sum() / size, ((probabilities @ axes) ** 2 @ inverse) / (2 * size)


_ORDERS: dict[str, Callable] = {
    "atc_probability": lambda probabilities: probabilities.max(axis=1),
    "atc_entropy": lambda probabilities: xlogy(probabilities, probabilities).sum(axis=1),
}
"""What the thresholds of ATC are of."""


def _threshold(values: np.ndarray, share: float) -> float:
    """Return the largest value that at least this share of all values reaches."""
    count = round(share * len(values))
    return np.sort(values)[len(values) - count] if count else np.inf


def _above_threshold(known: np.ndarray, mixed: np.ndarray, correct: np.ndarray) -> tuple:
    accuracy = correct.mean()
    threshold = _threshold(known, accuracy)
    # slope: change of the mixture's share per change of the validation images' share
    step = max(len(known) ** -0.4, 1 / len(known))
    shares = np.clip([accuracy - step, accuracy + step], 0, 1)
    low, high = ((mixed >= _threshold(known, share)).mean() for share in shares)
    slope = (high - low) / (shares[1] - shares[0])
    passed = mixed >= threshold
    return passed.mean(), slope * (correct - (known >= threshold).astype(float)), passed * 1.0
