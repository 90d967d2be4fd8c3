"""The Gscore line and the constant, which estimates without looking at the mixture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helpers.checks import float_array
from helpers.labelfree.evaluators import TAUS, gscores
from helpers.labelfree.regression import Regression, fewest_sets, fit_regression
from known_unknowns.without_labels.estimates import (
    BySize,
    Estimate,
    MetaSets,
    check_meta,
    check_share,
    jackknife_ends,
    mixture_array,
    wider,
)

_TIMES = 8  # mixtures of a set
_EVALUATOR = "ude_wasserstein"  # the best of the paper


@dataclass(frozen=True)
class Constant:
    """The mean of the meta sets' metrics, the constant that is best for them."""

    truths: dict[str, np.ndarray]
    own: dict[str, np.ndarray]

    def estimate(self, mixture, *, level: float = 0.9) -> dict[str, Estimate]:
        """See `Estimator.estimate`; of all mixtures it is the same."""
        mixture_array(mixture, level)
        found = {}
        for metric, truths in self.truths.items():
            sets, mean = len(truths), truths.mean()
            without = (truths.sum() - truths) / (sets - 1)
            again = np.repeat(without, len(self.own[metric]) // sets)
            ends = wider(
                jackknife_ends(without, truths - without, sets, level),
                jackknife_ends(again, self.own[metric] - again, sets, level),
            )
            found[metric] = Estimate(float(mean), *ends)
        return found


def fit_constant(validation, meta: MetaSets | None = None, *, share: float | None = None) -> BySize:
    """Return the constant estimate from meta sets.

    Parameters
    ----------
    validation, meta, share
        See `.estimates`; the validation images are not used, and the share by the
        interval alone.

    Returns
    -------
    BySize
        Of a `Constant`, whose interval is that of the metric of one more set like these.

    Notes
    -----
    What every other estimator must beat: `helpers.labelfree.skill` says by how much.
    """
    meta, share = check_meta(meta, 2), check_share(share)

    def learn(images: int) -> Constant:
        mixtures = list(meta.mix(share, images=images, times=_TIMES))
        return Constant(meta.truths, meta.own_truths(mixtures))

    return BySize(learn)


@dataclass(frozen=True)
class GscoreLine:
    """Regression lines from the Gscore of a mixture to the metrics of the detector."""

    validation: np.ndarray
    lines: dict[str, Regression]
    own: dict[str, np.ndarray]

    def estimate(self, mixture, *, level: float = 0.9) -> dict[str, Estimate]:
        """See `Estimator.estimate`.

        The scores of the mixture must not be constant; the interval is all of [0, 1] with fewer
        sets than it takes, see `Regression.interval`.
        """
        mixture = mixture_array(mixture, level)
        every = gscores(mixture, [_EVALUATOR], validation=self.validation)[_EVALUATOR]
        found = {}
        for metric, line in self.lines.items():
            gscore, ends = every[[np.abs(TAUS - line.tau).argmin()]], (0.0, 1.0)
            if len(line.gscores) >= fewest_sets(level):
                own = line.gscores, self.own[metric]
                both = (line.interval(gscore, level, redrawn=one) for one in (None, own))
                ends = wider(*((float(low[0]), float(high[0])) for low, high in both))
            found[metric] = Estimate(float(np.clip(line.predict(gscore)[0], 0, 1)), *ends)
        return found


def fit_gscore_line(
    validation, meta: MetaSets | None = None, *, share: float | None = None
) -> BySize:
    """Return lines from Gscores to metrics, fitted to one mixture of each meta set.

    Parameters
    ----------
    validation, meta, share
        See `.estimates`; the meta sets are mixed in this share.

    Returns
    -------
    BySize
        Of a `GscoreLine`.  Each metric has a threshold τ of its own.

    Notes
    -----
    Zhang et al. 2023, whose share is 0.5; there all mixtures have the same ID images, and τ is the
    one that is best for the FPR95 (`helpers.papers.gscore`).  Of other ID images such a line is
    often far off, since its threshold was chosen for those.

    *Not to be used* where the share of unknown images is not known: a Gscore changes with it as it
    does with the detector.
    """
    meta, share = check_meta(meta, 3), check_share(share)
    validation = float_array("validation", validation)

    def learn(images: int) -> GscoreLine:
        learnt, mixtures = [], list(meta.mix(share, images=images))
        for scores, (ours, theirs) in zip(meta.unknown.values(), mixtures, strict=True):
            mixed = np.concatenate([meta.known[ours], scores[theirs]])
            learnt.append(gscores(mixed, [_EVALUATOR], validation=validation)[_EVALUATOR])
        lines = {name: fit_regression(learnt, one, TAUS) for name, one in meta.truths.items()}
        return GscoreLine(validation, lines, meta.own_truths(mixtures))

    return BySize(learn)
