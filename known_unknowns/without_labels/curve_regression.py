"""A regression on the whole P–P curve of validation images and mixture."""

from __future__ import annotations

import numpy as np

from helpers.checks import float_array
from known_unknowns.without_labels.estimates import (
    PREDICTED,
    Estimator,
    MetaSets,
    jackknife_ends,
    wider,
)

_LEVELS = np.arange(1, 24) / 24
_MIXTURES = 1600  # in all, at most; the cost grows with their third power
_TIMES = 8  # mixtures of a set, at most
_PENALTIES = 10.0 ** np.arange(-4, 2)


def curve_features(validation, scores) -> np.ndarray:
    r"""Return the P–P curve of validation images and a mixture, and the area under it.

    :math:`G(F^{-1}(q))` at :math:`q = 1/24 \dots 23/24` is the share of the mixture below the
    quantiles of the validation images; :math:`A` is their AUROC against the mixture.
    """
    return _curve(_placements(np.sort(float_array("validation", validation)), scores))


class CurveRegression(Estimator):
    r"""A kernel ridge regression from P–P curves to the metrics, fitted to small mixtures.

    :math:`k(x, z) = 1 + x^\top z / D + \exp(-\|x - z\|^2 / 2 D)` on the standardised
    `curve_features`; the penalty has the least error on the sets left out.  Without a share, shares
    are drawn between 0.05 and 0.95.  Validation images are mixed with the sets too.  Only ranks
    among the validation images count, so that a monotone change of the score changes nothing.

    *Do not use* it for unknown images that are like no meta set, nor if the known images of the
    meta sets are not like those of the mixture: its interval covers neither.  At a known share
    `fit_prior_corrected` needs no meta sets and is about as good.
    """

    fewest = 3

    def __init__(self, validation: np.ndarray, meta: MetaSets, share: float | None, images: int):
        self.validation, self.sets = (validation := np.sort(validation)), len(meta.unknown)
        meta = MetaSets(np.concatenate([validation, meta.known]), meta.unknown)
        self.times = times = max(1, min(_TIMES, _MIXTURES // self.sets))
        ours = _placements(validation, meta.known)
        others = [_placements(validation, scores) for scores in meta.repeated(times)]
        mixtures = list(meta.mix(share, images=images, times=times))
        curves = np.array([
            _curve(np.concatenate([ours[known], each[unknown]]))
            for each, (known, unknown) in zip(others, mixtures, strict=True)
        ])  # fmt: skip
        self.centre, self.scale = curves.mean(axis=0), np.maximum(curves.std(axis=0), 1e-6)
        self.curves = curves = (curves - self.centre) / self.scale
        values, axes = np.linalg.eigh(_kernel(curves, curves))
        self.weights, self.misses, mixed = {}, {}, meta.own_truths(mixtures)
        for metric in PREDICTED:
            truths = np.repeat(meta.truths[metric], times)
            self.weights[metric], missed = _ridge(values, axes, truths, self.sets)
            self.misses[metric] = missed, mixed[metric] - (truths - missed)
        of = np.arange(len(curves)) // times
        apart = np.where(of[:, None] == of, np.inf, _distances(curves, curves))
        self.reach = apart.min(axis=1).max()

    def predict(self, mixture: np.ndarray, level: float) -> dict[str, tuple]:
        """Return value, low and high of each metric, by the jackknife+ over sets.

        The interval is all of [0, 1] with too few sets, and for a mixture whose curve is
        farther from all curves than any of them is from the curves of other sets.
        """
        curve = _curve(_placements(self.validation, mixture))
        curve = ((curve - self.centre) / self.scale)[None]
        strange = _distances(curve, self.curves).min() > self.reach
        near, result = _kernel(curve, self.curves)[0], {}
        for metric, weights in self.weights.items():
            value, *without = near @ weights
            without = np.repeat(without, self.times)
            both = (jackknife_ends(without, each, self.sets, level) for each in self.misses[metric])
            result[metric] = value, *((0.0, 1.0) if strange else wider(*both))
        return result


def _placements(validation: np.ndarray, scores) -> np.ndarray:
    """Return the share of validation images (ascending) below each score; ties count half."""
    scores = float_array("scores", scores)
    return _below(validation, scores) / (2 * len(validation))


def _curve(placements: np.ndarray) -> np.ndarray:
    ranked = np.sort(placements)
    return np.append(_below(ranked, _LEVELS) / (2 * len(ranked)), 1 - ranked.mean())


def _below(ranked: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return twice the number of ranked values below each value; ties count once."""
    return sum(np.searchsorted(ranked, values, side=side) for side in ("left", "right"))


def _kernel(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the kernel of standardised curves, [N, M]."""
    size = first.shape[1]
    return 1 + first @ second.T / size + np.exp(-_distances(first, second) / (2 * size))


def _distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return squared distances, [N, M]."""
    squares = ((each**2).sum(axis=1) for each in (first, second))
    return np.maximum(np.add.outer(*squares) - 2 * first @ second.T, 0)


def _ridge(
    values: np.ndarray, axes: np.ndarray, truths: np.ndarray, sets: int
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return weights with all sets and without each set, and the errors of the latter.

    Without the set g the error is :math:`P_{gg}^{-1} \alpha_g` with :math:`P = (K +
    \lambda)^{-1}` and :math:`\alpha = P y` (Rasmussen and Williams 2006, section 5.4.2): no
    second fit is needed.
    """
    grouped = axes.reshape(sets, -1, len(truths))
    fits = []
    for penalty in _PENALTIES:
        inverse = 1 / (np.maximum(values, 0) + penalty)
        alpha = axes @ (inverse * (axes.T @ truths))
        blocks = np.matmul(grouped * inverse, grouped.transpose(0, 2, 1))
        missed = np.linalg.solve(blocks, alpha.reshape(sets, -1, 1))
        fits.append((inverse, alpha, missed))
    inverse, alpha, missed = min(fits, key=lambda fit: (fit[2] ** 2).sum())
    # without set g: alpha less P[:, g] times what g is missed by
    columns = np.matmul(grouped.transpose(0, 2, 1), missed)[:, :, 0] * inverse
    return np.column_stack([alpha, alpha[:, None] - axes @ columns.T]), missed.ravel()
