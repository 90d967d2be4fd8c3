"""Estimates of the accuracy of a classifier on unlabelled images, some of unknown classes.

Unknown images count as incorrect.  Every estimator assumes that the mixture has no unknown images.
`assumptions` returns evidence against this assumption.  `accuracy_of_accepted` leaves out rejected
images and corrects for unknown images among the accepted ones.
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
    "agreement": "agreement of members",
}
"""The estimators by name, and how they are called; the first is the constant of them."""

_SURE = 0.95  # of the checks


@dataclass(frozen=True)
class Answers:
    """Outputs of a classifier on images.

    Attributes
    ----------
    probabilities : array_like, shape [N, K]
        Rows that sum to 1.
    members : array_like, shape [M, N, K], optional
        Probabilities of at least two members of an ensemble.
    """

    probabilities: np.ndarray
    members: np.ndarray | None = None

    def of(self, places) -> Answers:
        """Return the outputs on some images, chosen by a mask or by indices."""
        members = None if self.members is None else np.asarray(self.members)[:, places]
        return Answers(np.asarray(self.probabilities)[places], members)


@dataclass(frozen=True)
class _Checked:
    """Valid outputs, with their confidence and the agreement of members."""

    name: str
    probabilities: np.ndarray
    confidence: np.ndarray
    agreement: np.ndarray | None

    @classmethod
    def of(cls, name: str, answers: Answers) -> _Checked:
        probabilities = probability_array(name, answers.probabilities)
        agreement = None
        if answers.members is not None:
            shape = np.shape(answers.members)
            if len(shape) != 3 or shape[0] < 2 or shape[1:] != probabilities.shape:
                raise ValueError(
                    f"{name}: members of shape [M, N, K] expected, at least 2 of them and N, K = "
                    f"{probabilities.shape}, got {shape}"
                )
            said = np.argmax(answers.members, axis=2)
            same = sum((said == one).sum(axis=0) for one in said) - shape[0]  # but with itself
            agreement = same / (shape[0] * (shape[0] - 1))
        return cls(name, probabilities, probabilities.max(axis=1), agreement)


def estimate_accuracy(
    validation: Answers, correct, mixture: Answers, *, level: float = 0.9
) -> dict[str, Estimate]:
    r"""Return the accuracy on unlabelled images by every estimator that can be computed.

    With the mean :math:`c` of the maximum probability on the mixture, :math:`c_v` on the validation
    images, and the accuracy :math:`a_v` there:

    * ``validation``: :math:`a_v`, without a look at the mixture;
    * ``average_confidence``: :math:`c` (Hendrycks and Gimpel 2017; tools that watch models call it
      CBPE), right where probabilities are calibrated on the mixture;
    * ``difference``: :math:`a_v + c - c_v` (Guillory et al. 2021), where they are wrong by as much
      as on the validation images;
    * ``atc_probability``, ``atc_entropy``: the share of the mixture above the threshold that
      :math:`a_v` of the validation images lie above, of the maximum probability or of the negative
      entropy (Garg et al. 2022), where errors lie below it;
    * ``nuclear_norm``: :math:`a_v + \nu - \nu_v` with :math:`\nu = \|P\|_* / \sqrt{N \min(N, K)}`
      (Deng et al. 2023, who regress on ν; here, as with the confidence, the difference is taken);
    * ``agreement``: how often two members say the same (Jiang et al. 2022), where members are.

    Parameters
    ----------
    validation : Answers
        Outputs on labelled ID images that neither the classifier nor its temperature learned from.
    correct : array_like of bool, shape [V]
        Whether each image is classified correctly.
    mixture : Answers
        Outputs on at least 50 unlabelled images.
    level : float
        Of the intervals, in (0, 1).

    Returns
    -------
    dict of str to Estimate
        By the names of `ACCURACY_ESTIMATORS`, all in [0, 1]; ``agreement`` where both have members.
        The interval is that of drawing images: it says how far off the estimator is from what it
        would say of infinitely many, *not* how far from the accuracy.

    Notes
    -----
    The variance is that of the influence of single images (the infinitesimal jackknife, Jaeckel
    1972), so that nothing is drawn.  *Not to be used*, but for the comparison, on mixtures with
    unknown images: these are then too high, the more the surer the classifier is of them, ATC the
    least.

    Examples
    --------
    >>> answers = Answers([[0.9, 0.1]] * 80 + [[0.6, 0.4]] * 20)
    >>> found = estimate_accuracy(answers, np.arange(100) >= 20, answers)
    >>> round(found["average_confidence"].value, 2), round(found["difference"].value, 2)
    (0.84, 0.8)
    """
    open_share("level", level)
    ours, theirs, correct = _checked(validation, correct, mixture)
    deviations = ndtri((1 + level) / 2)
    found = {}
    for name, statistic in _STATISTICS.items():
        if name == "agreement" and (ours.agreement is None or theirs.agreement is None):
            continue
        value, *influences = statistic(ours, correct, theirs)
        error = np.sqrt(sum(one.var() / len(one) for one in influences))
        ends = (value, value - deviations * error, value + deviations * error)
        found[name] = Estimate(*(float(np.clip(end, 0, 1)) for end in ends))
    return found


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
    mixture, accepts :math:`(1 - \pi) c` known images of a mixture with a share π of unknown ones.
    Every estimate of the accepted images is multiplied by the share of the known among them,
    :math:`\min(1, (1 - \pi) c / a)`.

    Parameters
    ----------
    validation, correct, mixture, level
        As for `estimate_accuracy`, of all images.
    accepted : (array_like of bool, array_like of bool), shapes [V] and [M]
        Which validation images and which of the mixture the rejector accepts; its threshold was
        not chosen on them.
    share : float
        π, known or from `estimate_share`, in [0, 1].
    least : float
        Its lower bound from `share_bound`, at most `share`.

    Returns
    -------
    dict of str to Estimate
        The upper end reckons with the least share of unknown images, the lower end with the
        estimated one: that there are more of them, which look known, no output can exclude.

    Notes
    -----
    Removing first what is unlike the validation images is the distance check of Roschewitz and
    Glocker 2023.  What looks at the mixture, ATC above all, is too low where unknown images that
    are accepted are less sure than others: it has seen them, and is multiplied all the same.
    *Not to be used* with a share that was estimated from a weak score.

    Examples
    --------
    Half of the mixture is unknown, and all of that is accepted:

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
    ours, theirs, correct = _checked(validation, correct, mixture)
    own, new = (
        correct_array(one, length=len(answers.confidence))
        for one, answers in zip(accepted, (ours, theirs), strict=True)
    )
    if not own.any() or new.sum() < FEWEST:
        raise ValueError(
            f"accepted: a validation image and {FEWEST} of the mixture expected at least, got "
            f"{own.sum()} and {new.sum()}; lower the rejector's threshold or bring more images"
        )
    found = estimate_accuracy(validation.of(own), correct[own], mixture.of(new), level=level)
    known, most = (min(1.0, (1 - one) * own.mean() / new.mean()) for one in (share, least))
    return {
        name: Estimate(float(one.value * known), float(one.low * known), float(one.high * most))
        for name, one in found.items()
    }


def assumptions(validation: Answers, correct, mixture: Answers) -> tuple[str, ...]:
    """Return evidence against the assumptions of `estimate_accuracy` on these images."""
    ours, theirs, correct = _checked(validation, correct, mixture)
    found, accuracy = [], correct.mean()
    if least := share_bound(ours.confidence, theirs.confidence, level=_SURE):
        found.append(
            f"By their confidence, at least {least:.1%} of the unlabelled images are unlike the "
            "validation images: if these are of unknown classes, every estimate is too high."
        )
    for what, said in (("mean confidence", ours.confidence), ("agreement", ours.agreement)):
        if said is None:
            continue
        gaps = said - correct
        error = gaps.std() / np.sqrt(len(gaps))
        if abs(gaps.mean()) > ndtri((1 + _SURE) / 2) * error:
            title = "average confidence" if what == "mean confidence" else what
            found.append(
                f"On the validation images the {what} is {said.mean():.1%} and the accuracy "
                f"{accuracy:.1%}: the estimate by {title} is off by as much already there."
            )
    for name, values in (("atc_probability", ours.confidence), ("atc_entropy", _order(ours))):
        if abs((values >= _threshold(values, accuracy)).mean() - accuracy) > 0.01:
            found.append(
                f"Tied values leave no threshold for {ACCURACY_ESTIMATORS[name]} that as many "
                "validation images lie above as are right."
            )
    if len(theirs.confidence) < theirs.probabilities.shape[1]:
        found.append("There are fewer images than classes, and the nuclear norm depends on both.")
    return tuple(found)


def _checked(
    validation: Answers, correct, mixture: Answers
) -> tuple[_Checked, _Checked, np.ndarray]:
    ours, theirs = _Checked.of("validation", validation), _Checked.of("mixture", mixture)
    correct = correct_array(correct, length=len(ours.confidence))
    classes = [one.probabilities.shape[1] for one in (ours, theirs)]
    if classes[0] != classes[1]:
        raise ValueError(
            f"mixture: {classes[0]} classes expected as in validation, got {classes[1]}"
        )
    if len(theirs.confidence) < FEWEST:
        raise ValueError(
            f"mixture: at least {FEWEST} images expected, got {len(theirs.confidence)}"
        )
    return ours, theirs, correct


# Each statistic returns its value and the influence of each image: of validation and of mixture.


def _validation(ours: _Checked, correct, theirs: _Checked):
    return correct.mean(), correct.astype(float), np.zeros(1)


def _average_confidence(ours: _Checked, correct, theirs: _Checked):
    return theirs.confidence.mean(), np.zeros(1), theirs.confidence


def _agreement(ours: _Checked, correct, theirs: _Checked):
    return theirs.agreement.mean(), np.zeros(1), theirs.agreement


def _difference(ours: _Checked, correct, theirs: _Checked):
    gaps = correct - ours.confidence
    return gaps.mean() + theirs.confidence.mean(), gaps, theirs.confidence


def _nuclear_norm(ours: _Checked, correct, theirs: _Checked):
    value, terms = _norm(theirs.probabilities)
    own, own_terms = _norm(ours.probabilities)
    return correct.mean() + value - own, correct - own_terms, terms


def _norm(probabilities: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the nuclear norm, 1 at the most, and the influence of each image on it.

    It is the trace of the root of the mean C of p pᵀ; an image changes C by p pᵀ, and the trace by
    pᵀ C^(-1/2) p / 2.
    """
    images, classes = probabilities.shape
    values, axes = np.linalg.eigh(probabilities.T @ probabilities / images)
    roots = np.sqrt(np.maximum(values, 0))
    inverse = np.where(roots > 1e-6 * roots.max(), 1 / np.maximum(roots, 1e-300), 0)
    size = np.sqrt(min(images, classes))
    return roots.sum() / size, ((probabilities @ axes) ** 2 @ inverse) / (2 * size)


def _order(answers: _Checked) -> np.ndarray:
    """Return the negative entropy."""
    return xlogy(answers.probabilities, answers.probabilities).sum(axis=1)


def _threshold(values: np.ndarray, share: float) -> float:
    """Return the largest value that at least this share of all values reaches."""
    count = round(share * len(values))
    return np.sort(values)[len(values) - count] if count else np.inf


def _thresholded(values: Callable[[_Checked], np.ndarray]):
    def statistic(ours: _Checked, correct, theirs: _Checked):
        own, new, accuracy = values(ours), values(theirs), correct.mean()
        above = own >= _threshold(own, accuracy)
        # slope: change of the mixture's share per change of the validation images' share
        step = max(len(own) ** -0.4, 1 / len(own))
        shares = np.clip([accuracy - step, accuracy + step], 0, 1)
        low, high = ((new >= _threshold(own, one)).mean() for one in shares)
        slope = (high - low) / (shares[1] - shares[0])
        passed = new >= _threshold(own, accuracy)
        return passed.mean(), slope * (correct - above.astype(float)), passed.astype(float)

    return statistic


_STATISTICS = {
    "validation": _validation,
    "average_confidence": _average_confidence,
    "difference": _difference,
    "atc_probability": _thresholded(lambda answers: answers.confidence),
    "atc_entropy": _thresholded(_order),
    "nuclear_norm": _nuclear_norm,
    "agreement": _agreement,
}
