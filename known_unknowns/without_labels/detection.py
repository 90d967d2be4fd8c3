"""AUROC and FPR95 of a detector on unlabelled images, learned from labelled sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from helpers.checks import float_array, known_name, open_share
from helpers.labelfree import (
    PREDICTED,
    Estimate,
    counts_at_share,
    jackknife_ends,
    stack_metrics,
    true_metrics,
)
from helpers.metrics.ranking import rounded_up
from known_unknowns.without_labels.accuracy import FEWEST
from known_unknowns.without_labels.share import share_bound

#: Smallest and largest share of unknown images that an estimator learns from.
SHARES = (0.01, 0.95)
#: Shares of unknown images that divide mixtures into four groups.
BINS = (0.05, 0.2, 0.5)
_LEVELS = np.arange(1, 24) / 24
_SEEN = 22  # number of levels used; above the last levels, chance alone makes a share
_MIXTURES = 1600  # in total, at most; the cost grows with the third power of this number
_TIMES = 8  # largest number of mixtures of a set
_PENALTIES = 10.0 ** np.arange(-4, 2)
_NOTHING = (np.nan, np.nan, np.nan)


def draw_share(generator: np.random.Generator) -> float:
    """Return a share of unknown images, log-uniform in `SHARES`: small shares are not rare."""
    return float(np.exp(generator.uniform(*np.log(SHARES))))


@dataclass(frozen=True)
class MetaSets:
    """Sets of unknown images, and the ID images for mixtures with them.

    Attributes
    ----------
    known : array_like, shape [N]
        Scores of ID images that are not among the validation images.
    unknown : mapping of str to array_like
        Scores of the images of each set, by its name.
    """

    known: np.ndarray
    unknown: Mapping[str, np.ndarray]

    def __post_init__(self):
        object.__setattr__(self, "known", float_array("known", self.known))
        sets = {
            name: float_array(f"unknown['{name}']", each) for name, each in self.unknown.items()
        }
        object.__setattr__(self, "unknown", sets)

    @cached_property
    def truths(self) -> dict[str, np.ndarray]:
        """The metrics of `PREDICTED` for each set against all ID images, [S] each."""
        rows = (true_metrics(self.known, each, PREDICTED) for each in self.unknown.values())
        return stack_metrics(rows, PREDICTED)

    def mix(self, images: float, times: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the scores of mixtures of each set in turn: ID images, and images of the set."""
        generator = np.random.default_rng(0)
        for scores in self.unknown.values():
            for _ in range(times):
                share = draw_share(generator)
                counts = counts_at_share(len(self.known), len(scores), share, images)
                # with replacement: other ID images vary as much
                others = self.known[generator.integers(len(self.known), size=len(self.known))]
                yield (
                    generator.choice(others, counts[0]),
                    generator.permutation(scores)[: counts[1]],
                )


class DetectionEstimator:
    """An estimate of the AUROC and the FPR95 on unlabelled images.

    The estimator learns from mixtures of labelled sets with about as many images as the unlabelled
    mixture: small mixtures vary more than large mixtures.  Shares are drawn from 1 to 95 %.

    Parameters
    ----------
    validation : array_like, shape [V]
        Scores of ID images like the ID images among the unlabelled images, higher = more likely
        known.  The classifier and the score must not have used these images.
    meta : MetaSets
        At least three sets; an interval at the level 0.9 needs nine.
    kind : {"curve_regression", "constant"}
        The regression on the P–P curve, or the mean of the sets' metrics, the baseline that every
        estimator must beat.

    Notes
    -----
    The regression is a kernel ridge regression from `curve_features` to the metric.
    :math:`k(x, z) = 1 + x^\\top z / D + \\exp(-\\|x - z\\|^2 / 2 D)` on standardised features; the
    penalty has the least error on the sets left out.  A monotone change of the score does not
    change the result, because only ranks among the validation images count.  The interval is the
    jackknife+ over sets, from mixtures whose curve shows a similar share of unlike images: errors
    are larger if few images are unknown.

    *Do not use* it for unknown images unlike all meta sets, or if the known images have changed:
    the interval does not cover these cases.

    Examples
    --------
    >>> draw = np.random.default_rng(0).normal
    >>> sets = {str(number): draw(-number / 10, 1, 200) for number in range(40)}
    >>> estimator = DetectionEstimator(draw(size=400), MetaSets(draw(size=400), sets))
    >>> value, low, high = estimator.estimate([*draw(size=100), *draw(-1.5, 1, 100)])["auroc"]
    >>> bool(0.6 < low < value < high <= 1)
    True
    >>> estimator.estimate(draw(size=100))["auroc"]  # no unknown image: no answer
    Estimate(value=nan, low=nan, high=nan)
    """

    def __init__(self, validation, meta: MetaSets, kind: str = "curve_regression"):
        self.validation = float_array("validation", validation)
        self.meta = meta
        kinds: dict[str, type[_Constant | _CurveRegression]] = {
            "curve_regression": _CurveRegression,
            "constant": _Constant,
        }
        self.kind = kinds[known_name("kind of estimator", kind, kinds)]
        if len(meta.unknown) < 3:
            raise ValueError(
                "meta: at least 3 sets of unknown images expected, got "
                f"{len(meta.unknown)}; without them, bound the share of unknown images: share_bound"
            )
        self._learn = lru_cache(maxsize=None)(lambda images: self.kind(self, images))

    def estimate(self, mixture, *, level: float = 0.9) -> dict[str, Estimate]:
        """Return an estimate of each metric of `PREDICTED` for an unlabelled mixture.

        The interval is for the metric on these images and for the metric on more images like them.
        All numbers are NaN, *no answer*, if the mixture is too different from the mixtures of the
        fit: fewer than 2 % of the images are shown to be unlike the validation images, or the
        curve is far from all curves.

        Parameters
        ----------
        mixture : array_like, shape [M]
            Scores of at least 50 unlabelled images, higher = more likely known.
        level : float
            Level of the intervals, in (0, 1).
        """
        open_share("level", level)
        mixture = float_array("mixture", mixture)
        if len(mixture) < FEWEST:
            raise ValueError(f"mixture: at least {FEWEST} images expected, got {len(mixture)}")
        # mixtures with at least half as many images: their metrics vary more, not less
        learned = self._learn(FEWEST * 2 ** int(np.log2(len(mixture) / FEWEST)))
        return {
            metric: Estimate(*np.clip(numbers, 0, 1).tolist())
            for metric, numbers in learned.predict(mixture, level).items()
        }


class _Constant:
    """The mean of the meta sets' metrics, with the interval for one more set."""

    def __init__(self, of: DetectionEstimator, images: int):
        self.truths = of.meta.truths
        mixtures = of.meta.mix(images, _TIMES)
        mixed = stack_metrics((true_metrics(*pair, PREDICTED) for pair in mixtures), PREDICTED)
        self.misses = {}
        sets = len(of.meta.unknown)
        for metric, truths in self.truths.items():
            without = (truths.sum() - truths) / (sets - 1)
            again = np.repeat(without, _TIMES)
            self.misses[metric] = (without, truths - without), (again, mixed[metric] - again)

    def predict(self, mixture: np.ndarray, level: float) -> dict[str, tuple]:
        """Return value, low and high of each metric, equal for all mixtures."""
        result = {}
        for metric, pairs in self.misses.items():
            sets = len(self.truths[metric])
            ends = [_jackknife_ends(without, missed, sets, level) for without, missed in pairs]
            result[metric] = self.truths[metric].mean(), *_widest(*ends)
        return result


class _CurveRegression:
    """The regression, learned from mixtures with a given number of images."""

    def __init__(self, of: DetectionEstimator, images: int):
        self.validation = np.sort(of.validation)
        self.sets = len(of.meta.unknown)
        # validation images are mixed with the sets too
        meta = MetaSets(np.concatenate([of.validation, of.meta.known]), of.meta.unknown)
        times = max(1, min(_TIMES, _MIXTURES // self.sets))
        mixtures = [*meta.mix(images, times)]
        mixed_scores = [np.concatenate(pair) for pair in mixtures]
        curves = np.array([curve_features(self.validation, each) for each in mixed_scores])
        self.groups = _share_groups(curves)
        self.centre = curves.mean(axis=0)
        self.scale = np.maximum(curves.std(axis=0), 1e-6)
        self.curves = (curves - self.centre) / self.scale
        values, axes = np.linalg.eigh(_kernel(self.curves, self.curves))
        self.weights = {}
        self.misses = {}
        mixed = stack_metrics((true_metrics(*pair, PREDICTED) for pair in mixtures), PREDICTED)
        for metric in PREDICTED:
            truths = np.repeat(meta.truths[metric], times)
            self.weights[metric], missed = _ridge(values, axes, truths, self.sets)
            self.misses[metric] = missed, mixed[metric] - (truths - missed)
        self.set_of = np.arange(len(curves)) // times
        same = self.set_of[:, None] == self.set_of
        distances = _distances(self.curves, self.curves)
        self.reach = np.where(same, np.inf, distances).min(axis=1).max()

    def predict(self, mixture: np.ndarray, level: float) -> dict[str, tuple]:
        """Return value, low and high of each metric, or NaN."""
        curve = curve_features(self.validation, mixture)
        same = self.groups == _share_groups(curve[None])[0]
        curve = ((curve - self.centre) / self.scale)[None]
        strange = _distances(curve, self.curves).min() > self.reach
        if strange or share_bound(self.validation, mixture) < 2 * SHARES[0]:
            return dict.fromkeys(self.weights, _NOTHING)
        near = _kernel(curve, self.curves)[0]
        result = {}
        sets = len({*self.set_of[same]})
        for metric, weights in self.weights.items():
            value, *without = near @ weights
            without = np.asarray(without)[self.set_of[same]]
            missed = [misses[same] for misses in self.misses[metric]]
            ends = [_jackknife_ends(without, misses, sets, level) for misses in missed]
            result[metric] = value, *_widest(*ends)
        return result


def curve_features(validation, scores) -> np.ndarray:
    r"""Return the P–P curve of validation images and a mixture, and the area under it.

    :math:`G(F^{-1}(q))` at :math:`q = 1/24 \dots 23/24` is the share of the mixture below the
    quantiles of the validation images; the last number is their AUROC against the mixture.
    """
    validation = np.sort(float_array("validation", validation))
    scores = float_array("scores", scores)
    ranks = np.sort(_below(validation, scores) / (2 * len(validation)))
    return np.append(_below(ranks, _LEVELS) / (2 * len(ranks)), 1 - ranks.mean())


def _below(ranked: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return twice the number of ranked values below each value; ties count once."""
    return np.searchsorted(ranked, values, "left") + np.searchsorted(ranked, values, "right")


def _share_groups(curves: np.ndarray) -> np.ndarray:
    """Return the group of `BINS` of each curve [N, 24], by its share of unlike images."""
    left = (1 - curves[:, :_SEEN]) / (1 - _LEVELS[:_SEEN])
    return np.digitize(1 - left.min(axis=1), BINS)


def _widest(*ends: tuple[float, float]) -> tuple[float, float]:
    """Return the shortest interval that contains all given intervals."""
    low, high = zip(*ends, strict=True)
    return min(low), max(high)


def _jackknife_ends(left_out, misses, sets: int, level: float) -> tuple[float, float]:
    """Return the ends of the jackknife+ interval that leaves out whole sets.

    `left_out` has the prediction without the set of each mixture, and `misses` the error of this
    prediction. For level γ and S sets, the end is the smallest number that is at least their sum
    for the share γ (S + 1) / S of all mixtures. With fewer than γ / (1 − γ) sets the interval is
    [0, 1]. Barber et al. 2021; Dunn, Wasserman and Ramdas 2023 pool the mixtures of a set.

    >>> _jackknife_ends(np.full(9, 0.5), np.arange(9) / 100, 9, 0.9)
    (0.42, 0.58)
    """
    rank = rounded_up(level * (sets + 1) / sets * len(misses)) if sets else 1
    if rank > len(misses):
        return 0.0, 1.0
    low, high = jackknife_ends(left_out, misses, rank)
    return float(low), float(high)


def _kernel(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the kernel of standardised curves, [N, M]."""
    size = first.shape[1]
    return 1 + first @ second.T / size + np.exp(-_distances(first, second) / (2 * size))


def _distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return squared distances, [N, M]."""
    squares = np.add.outer((first**2).sum(axis=1), (second**2).sum(axis=1))
    return np.maximum(squares - 2 * first @ second.T, 0)


def _ridge(
    values: np.ndarray, axes: np.ndarray, truths: np.ndarray, sets: int
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return weights with all sets and without each set, and the errors without each set.

    Without the set g the error is :math:`P_{gg}^{-1} \alpha_g` with :math:`P = (K +
    \lambda)^{-1}` and :math:`\alpha = P y` (Rasmussen and Williams 2006, section 5.4.2), so a
    second fit is unnecessary.
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
    # without set g: alpha minus P[:, g] times the error on g
    columns = np.matmul(grouped.transpose(0, 2, 1), missed)[:, :, 0] * inverse
    return np.column_stack([alpha, alpha[:, None] - axes @ columns.T]), missed.ravel()
