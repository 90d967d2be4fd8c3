"""The ROC curve of validation images against the mixture, corrected for the known images in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from helpers.checks import float_array
from helpers.metrics import resample_weights
from helpers.metrics.ranking import required_count
from helpers.metrics.weighted_ranking import weighted_detection, weighted_fpr_at_tpr
from known_unknowns.without_labels.estimates import Estimator, MetaSets, check_share, wider
from known_unknowns.without_labels.share import estimate_share, share_bound

_REPLICATES = 400
_KEPT = 0.95


@dataclass(frozen=True)
class PriorCorrected(Estimator):
    """An estimator that uses validation images as the known images of the mixture."""

    validation: np.ndarray
    share: float | None = None

    def predict(self, mixture: np.ndarray, level: float) -> dict[str, tuple]:
        """Return value, low and high of each metric.

        Intervals are percentiles of the bootstrap, at a known share as wide as 1 / share. At
        an estimated share they hold for every share from its lower bound to 1. They are also
        for the metric of these images, which depends on the known images that are among them.
        """
        area, passed, kept = _two_samples(self.validation.tobytes(), mixture.tobytes())
        tail, share, possible = (1 - level) / 2, self.share, [self.share]
        if share is None:  # half of the error probability is the bound's
            tail = tail / 2
            possible = [share_bound(self.validation, mixture, level=(1 + level) / 2), 1.0]
            # without any image that is unlike them, all unknown ones would look known
            share = estimate_share(self.validation, mixture) or 1.0
        inner = [_errors_on_own_images(self.validation, mixture, each) for each in possible]
        # what the metric is where the score tells nothing, and how far it is from that
        parts = {"auroc": (0.5, area - 0.5), "fpr95": (kept[0], passed - kept)}
        result = {}
        for metric, (nothing, shift) in parts.items():
            ends = np.quantile(shift[1:], [tail, 1 - tail])
            every = [tuple(_divide(end, each) for end in ends) for each in possible]
            for each, errors in zip(possible, inner, strict=True):
                missed = np.quantile(errors[metric], [1 - tail, tail])
                every.append(tuple(_divide(shift[0], each) - missed))
            result[metric] = [nothing + end for end in (shift[0] / share, *wider(*every))]
        return result


def fit_prior_corrected(
    validation, meta: MetaSets | None = None, *, share: float | None = None
) -> PriorCorrected:
    r"""Return the estimator that uses validation images as the known images of the mixture.

    With a share π of unknown images, the AUROC of validation images against the mixture, and
    the share of the mixture above the 5 % quantile of the validation images, are

    .. math:: A = \tfrac12 (1 - \pi) + \pi \, \text{AUROC}, \qquad
              Q = 0.95 \, (1 - \pi) + \pi \, \text{FPR95},

    and both are solved for the metric.

    Parameters
    ----------
    validation, meta, share
        See `.estimates`. No meta sets are needed; without `share`, `estimate_share` estimates
        it from the same scores.

    Returns
    -------
    PriorCorrected

    Notes
    -----
    Jain, White and Radivojac 2017. If scores are tied, the share of validation images that
    the threshold keeps replaces 0.95. *Do not use* it if the known images have changed since
    validation: they count as unknown images. With few unknown images the error grows as 1 /
    π. With an estimated share and unknown images among the highest scores, π is too small and
    the detector seems too good; the interval is wide enough for this.

    Examples
    --------
    >>> known, unknown = np.arange(1000) / 100, np.arange(1000) / 100 - 4
    >>> mixture = [*known, *unknown]
    >>> found = fit_prior_corrected(known, share=0.5).estimate(mixture)
    >>> from helpers.metrics import auroc
    >>> round(found["auroc"].value, 2), round(auroc(known, unknown), 2)
    (0.82, 0.82)
    """
    return PriorCorrected(float_array("validation", validation), check_share(share))


def _divide(shift: float, share: float) -> float:
    """Return the quotient, infinite for a share of 0."""
    return shift / share if share else np.inf * np.sign(shift) if shift else 0.0


def _errors_on_own_images(
    validation: np.ndarray, mixture: np.ndarray, share: float
) -> dict[str, np.ndarray]:
    """Return replicates of the error of estimates for the metric of the mixture's own images.

    Validation images and the known images of the mixture are drawn from the validation
    images. The latter move estimate and metric in opposite directions. Mixture and share
    determine how many unknown images score below each of them.
    """
    images = round((1 - share) * len(mixture))
    if not share or not images:  # nothing is excluded, or there are no known images
        return dict.fromkeys(("auroc", "fpr95"), np.zeros(1))
    validation, count = np.sort(validation), len(validation)
    known, mixed = (
        np.array([np.searchsorted(np.sort(each), validation, side=side)
                  for side in ("left", "right")]) / len(each)
        for each in (validation, mixture)
    )  # fmt: skip
    unknown = np.clip((mixed - (1 - share) * known) / share, 0, 1)
    odds, (below, _) = (1 - share) / share, unknown
    placed = unknown.mean(axis=0) + odds * known.mean(axis=0)
    lowest = np.searchsorted(validation, validation)  # of the images with the same score
    # the threshold's place from below, of either group
    cuts = [size - required_count("kept", _KEPT, size) for size in (count, images)]
    held, inside = np.split(_drawn(count, images), [count], axis=1)
    first, second = (
        np.partition(each, cut)[:, cut] for each, cut in zip((held, inside), cuts, strict=True)
    )
    extra = (inside >= lowest[first][:, None]).mean(axis=1) - (1 - cuts[0] / count)
    return {
        "auroc": placed[held].mean(axis=1) - placed[inside].mean(axis=1),
        "fpr95": below[second] - below[first] + odds * extra,
    }


@lru_cache(maxsize=8)  # the same for many mixtures of one size
def _drawn(count: int, images: int) -> np.ndarray:
    """Return the places of `count` images, and of more, among so many in each replicate."""
    return np.random.default_rng(2).integers(count, size=(_REPLICATES, count + images))


@lru_cache(maxsize=2)  # the same for a known and an estimated share
def _two_samples(validation: bytes, mixture: bytes) -> tuple[np.ndarray, ...]:
    """Return A, Q and the share of validation images kept: of the images, then of replicates.

    Arguments are scores as bytes of float64; ties are never split.
    """
    held, mixed = np.frombuffer(validation), np.frombuffer(mixture)
    # separate seeds: groups of one size would be drawn alike otherwise
    ours, others = (_weights(len(each), seed) for seed, each in enumerate((held, mixed)))
    kept = weighted_fpr_at_tpr(held, held, ours, ours, tpr=_KEPT)
    return *weighted_detection(held, mixed, ours, others, tpr=_KEPT), kept


@lru_cache(maxsize=8)
def _weights(images: int, seed: int) -> np.ndarray:
    """Return how often each image is drawn: once, then the counts of every replicate."""
    drawn = resample_weights(images, replicates=_REPLICATES, seed=seed)
    return np.vstack([np.ones(images, np.uint16), drawn])
