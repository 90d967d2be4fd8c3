"""A regression on the whole P–P curve of validation images and mixture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helpers.checks import float_array
from known_unknowns.without_labels.estimates import (
    PREDICTED,
    BySize,
    Estimate,
    MetaSets,
    check_meta,
    check_share,
    jackknife_ends,
    mixture_array,
    wider,
)

_LEVELS = np.arange(1, 24) / 24
_MIXTURES = 1600  # in all, at most; the cost grows with their third power
_TIMES = 8  # mixtures of a set, at most
_PENALTIES = 10.0 ** np.arange(-4, 2)


def curve_features(validation, scores) -> np.ndarray:
    r"""Return the P–P curve of validation images and a mixture, and the area under it.

    :math:`G(F^{-1}(q))` at :math:`q = 1/24 \dots 23/24`, the share of the mixture below the
    quantiles of the validation images, and :math:`A`, their AUROC against the mixture.
    """
    return _curve(_placements(np.sort(float_array("validation", validation)), scores))


@dataclass(frozen=True)
class CurveRegression:
    """A kernel ridge regression from P–P curves to the metrics of the detector."""

    validation: np.ndarray
    curves: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    sets: int
    reach: float
    weights: dict[str, np.ndarray]
    misses: dict[str, tuple[np.ndarray, np.ndarray]]

    def estimate(self, mixture, *, level: float = 0.9) -> dict[str, Estimate]:
        """See `Estimator.estimate`.

        The interval is that of the jackknife+ over sets, for a mixture like those learnt from; all
        of [0, 1] with fewer sets than it takes, and for a mixture whose curve lies farther from all
        learnt ones than any of these does from those of the other sets.
        """
        curve = _curve(_placements(self.validation, mixture_array(mixture, level)))
        curve = ((curve - self.centre) / self.scale)[None]
        near, strange = (
            _kernel(curve, self.curves)[0],
            _distances(curve, self.curves).min() > self.reach,
        )
        found = {}
        for metric, weights in self.weights.items():
            value, *without = near @ weights
            without = np.repeat(without, len(self.curves) // self.sets)
            both = (jackknife_ends(without, one, self.sets, level) for one in self.misses[metric])
            ends = (0.0, 1.0) if strange else wider(*both)
            found[metric] = Estimate(float(np.clip(value, 0, 1)), *ends)
        return found


def fit_curve_regression(
    validation, meta: MetaSets | None = None, *, share: float | None = None
) -> BySize:
    r"""Return a regression that learns from meta sets, each mixed several times.

    Kernel ridge regression with :math:`k(x, z) = 1 + x^\top z / D + \exp(-\|x - z\|^2 / 2 D)` on
    the standardised `curve_features`; its penalty has the least error on the sets left out.

    Parameters
    ----------
    validation, meta, share
        See `.estimates`.  Without `share` each mixture has another, from 0.05 to
        0.95, so that it learns to tell more unknown images from worse ones.  Validation images are
        mixed with the sets too: the more ID images, the less are their quirks learnt.

    Returns
    -------
    BySize
        Of a `CurveRegression`.

    Notes
    -----
    Leaving out a set costs no second fit: with :math:`P = (K + \lambda)^{-1}` and
    :math:`\alpha = P y`, what is said without the set g misses its truths by
    :math:`P_{gg}^{-1} \alpha_g` (Rasmussen and Williams 2006, section 5.4.2).

    It only asks for ranks among the validation images, so that a monotone change of the score
    changes nothing.  *Not to be used* for unknown images of a kind that no meta set is like, nor
    where the known images of the meta sets are not like those of the mixture: its interval covers
    neither.  At a known share `fit_prior_corrected` needs no meta sets and is about as good.
    """
    validation, meta = np.sort(float_array("validation", validation)), check_meta(meta, 3)
    meta = MetaSets(np.concatenate([validation, meta.known]), meta.unknown)
    check_share(share)
    return BySize(lambda images: _learn(validation, meta, share, images))


def _learn(
    validation: np.ndarray, meta: MetaSets, share: float | None, images: int
) -> CurveRegression:
    """Return a regression fitted to mixtures of at most `images` images."""
    sets = list(meta.unknown.values())
    times = max(1, min(_TIMES, _MIXTURES // len(sets)))
    ours = _placements(validation, meta.known)
    theirs = [one for scores in sets for one in [_placements(validation, scores)] * times]
    mixtures = list(meta.mix(share, images=images, times=times))
    curves = np.array([
        _curve(np.concatenate([ours[known], one[unknown]]))
        for one, (known, unknown) in zip(theirs, mixtures, strict=True)
    ])  # fmt: skip
    centre, scale = curves.mean(axis=0), np.maximum(curves.std(axis=0), 1e-6)
    curves = (curves - centre) / scale
    values, axes = np.linalg.eigh(_kernel(curves, curves))
    weights, misses, own = {}, {}, meta.own_truths(mixtures)
    for metric in PREDICTED:
        truths = np.repeat(meta.truths[metric], times)
        weights[metric], missed = _ridge(values, axes, truths, len(sets))
        misses[metric] = missed, own[metric] - (truths - missed)
    distances = _distances(curves, curves)
    of = np.arange(len(curves)) // times
    reach = float(np.where(of[:, None] == of, np.inf, distances).min(axis=1).max())
    return CurveRegression(validation, curves, centre, scale, len(sets), reach, weights, misses)


def _placements(validation: np.ndarray, scores) -> np.ndarray:
    """Return the share of validation images (ascending) below each score; ties count half."""
    scores = float_array("scores", scores)
    ends = (np.searchsorted(validation, scores, side=side) for side in ("left", "right"))
    return sum(ends) / (2 * len(validation))


def _curve(placements: np.ndarray) -> np.ndarray:
    ranked = np.sort(placements)
    ends = (np.searchsorted(ranked, _LEVELS, side=side) for side in ("left", "right"))
    return np.append(sum(ends) / (2 * len(ranked)), 1 - ranked.mean())


def _kernel(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the kernel of standardised curves, [N, M]."""
    size = first.shape[1]
    return 1 + first @ second.T / size + np.exp(-_distances(first, second) / (2 * size))


def _distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return squared distances, [N, M]."""
    squares = ((one**2).sum(axis=1) for one in (first, second))
    return np.maximum(np.add.outer(*squares) - 2 * first @ second.T, 0)


def _ridge(
    values: np.ndarray, axes: np.ndarray, truths: np.ndarray, sets: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights with all sets and without each set, and the errors of the latter."""
    grouped = axes.reshape(sets, -1, len(truths))
    best = None
    for penalty in _PENALTIES:
        inverse = 1 / (np.maximum(values, 0) + penalty)
        alpha = axes @ (inverse * (axes.T @ truths))
        blocks = np.matmul(grouped * inverse, grouped.transpose(0, 2, 1))
        missed = np.linalg.solve(blocks, alpha.reshape(sets, -1, 1))
        if best is None or (missed**2).sum() < best[0]:
            best = (missed**2).sum(), inverse, alpha, missed
    _, inverse, alpha, missed = best
    # without set g: alpha less P[:, g] times what g is missed by
    columns = np.matmul(grouped.transpose(0, 2, 1), missed)[:, :, 0] * inverse
    return np.column_stack([alpha, alpha[:, None] - axes @ columns.T]), missed.ravel()
