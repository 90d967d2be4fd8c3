"""Estimators of AUROC and FPR95: interface, meta sets, the constant and the Gscore line.

An estimator is fitted by a function of validation scores and, if it needs them, meta sets::

    fitted = ESTIMATORS[name](validation, meta, share=None)
    fitted.estimate(mixture, level=0.9)["auroc"]  # an Estimate: value, low, high

Validation scores are of ID images like those among the unlabelled images. Neither the
classifier nor the score may have used them. `share` is the share of unknown images in the
mixture; None if it is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import numpy as np

from helpers.checks import float_array, open_share
from helpers.labelfree import METRICS, PREDICTED, TAUS, Estimate, fit_regression, gscores
from helpers.labelfree.regression import fewest_sets
from helpers.metrics import RankedGroups

FEWEST = 50
"""Smallest number of unlabelled images for an estimate."""
_SHARES = (0.05, 0.95)  # range of the drawn shares if the share is unknown
_TIMES = 8  # mixtures of a set
_EVALUATOR = "ude_wasserstein"  # the best of the paper


class Estimator:
    """A fitted estimator of the metrics of mixtures; subclasses have ``predict``."""

    def estimate(self, mixture, *, level: float = 0.9) -> dict[str, Estimate]:
        """Return an estimate of each metric of `PREDICTED` for an unlabelled mixture.

        The interval is for the metric of these images and for that of more images like them.

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
            raise ValueError(
                f"mixture: at least {FEWEST} images expected, got {len(mixture)}; fewer say too "
                "little for an estimate, but bound the share of unknown ones: see share_bound"
            )
        return {
            metric: Estimate(*(float(np.clip(number, 0, 1)) for number in numbers))
            for metric, numbers in self.predict(mixture, level).items()
        }


class BySize(Estimator):
    """An estimator that learns from mixtures with about as many images as the mixture has.

    A small mixture varies more than a large one, and so does its metric.
    """

    def __init__(self, kind: type[Estimator], validation, meta=None, *, share: float | None = None):
        given = float_array("validation", validation), check_meta(meta, kind.fewest)
        self._learnt = lru_cache(maxsize=None)(partial(kind, *given, check_share(share)))

    def of(self, images: int) -> Estimator:
        """Return the estimator that learned from mixtures of at most √2 times fewer images."""
        return self._learnt(int(FEWEST * 2 ** (int(2 * np.log2(images / FEWEST)) / 2)))

    def predict(self, mixture: np.ndarray, level: float) -> dict[str, tuple]:
        """Return value, low and high of each metric."""
        return self.of(len(mixture)).predict(mixture, level)


@dataclass(frozen=True)
class MetaSets:
    """Sets of unknown images, and the ID images that they are mixed with.

    Attributes
    ----------
    known : array_like, shape [N]
        Scores of ID images, none of them among the validation images.
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
        """The metrics of `PREDICTED` on each set, against all of the ID images, [S] each."""
        return _stack(group_metrics(self.known, scores) for scores in self.unknown.values())

    def repeated(self, times: int) -> list[np.ndarray]:
        """Return the scores of each set in turn, several times."""
        return [scores for scores in self.unknown.values() for _ in range(times)]

    def mix(
        self, share: float | None = None, *, images: float = np.inf, times: int = 1
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield mixtures of each set in turn: places of ID images, and of images of the set."""
        generator, count = np.random.default_rng(0), len(self.known)
        for scores in self.repeated(times):
            part = generator.uniform(*_SHARES) if share is None else share
            total = min(images, len(scores) / part, count / (1 - part) if part < 1 else np.inf)
            known, unknown = (max(1, round(each * total)) for each in (1 - part, part))
            others = generator.integers(count, size=count)
            yield generator.choice(others, known), generator.permutation(len(scores))[:unknown]

    def own_truths(self, mixtures: list[tuple[np.ndarray, np.ndarray]]) -> dict[str, np.ndarray]:
        """Return the metrics of `PREDICTED` on the images of each mixture from `mix`, [R] each."""
        pairs = zip(self.repeated(len(mixtures) // len(self.unknown)), mixtures, strict=True)
        return _stack(
            group_metrics(self.known[ours], each[others]) for each, (ours, others) in pairs
        )


def group_metrics(known, unknown) -> dict[str, float]:
    """Return the metrics of `PREDICTED` of two groups of scores, see `true_metrics`."""
    groups = RankedGroups.of(known, unknown)
    return {name: METRICS[name](groups) for name in PREDICTED}


def _stack(rows) -> dict[str, np.ndarray]:
    rows = list(rows)
    return {name: np.array([row[name] for row in rows]) for name in PREDICTED}


def check_share(share: float | None) -> float | None:
    """Return a share of unknown images if it lies in (0, 1], or None."""
    if share is not None and not 0 < share <= 1:
        raise ValueError(
            f"share: that of unknown images, in (0, 1], or None expected, got {share}; where there "
            "are none, nothing is found well or badly"
        )
    return share


def check_meta(meta: MetaSets | None, needed: int) -> MetaSets:
    """Return meta sets if there are as many as needed."""
    sets = len(meta.unknown) if meta else 0
    if sets < needed:
        raise ValueError(
            f"meta: at least {needed} sets of unknown images expected, got {sets}; bring more, or "
            "take an estimator that needs none, as 'prior_corrected'"
        )
    return meta


def wider(*ends: tuple[float, float]) -> tuple[float, float]:
    """Return the shortest interval that contains all given intervals."""
    low, high = zip(*ends, strict=True)
    return min(low), max(high)


def jackknife_ends(left_out, misses, sets: int, level: float) -> tuple[float, float]:
    """Return the ends of the jackknife+ interval that leaves out whole sets.

    `left_out` has the prediction without the set of each mixture, and `misses` its error
    there. The end is the smallest number that is at least their sum for the share γ (S + 1) /
    S of all mixtures, for the level γ and S sets. It is all of [0, 1] with fewer than γ / (1
    − γ) sets. Barber et al. 2021; Dunn, Wasserman and Ramdas 2023 pool the mixtures of a set.

    >>> jackknife_ends(np.full(9, 0.5), np.arange(9) / 100, 9, 0.9)
    (0.42, 0.58)
    """
    rank = int(np.ceil(np.round(level * (sets + 1) / sets * len(misses), 9)))
    if rank > len(misses):
        return 0.0, 1.0
    misses = np.abs(misses)
    low, high = np.sort(misses - left_out)[rank - 1], np.sort(left_out + misses)[rank - 1]
    return float(np.clip(-low, 0, 1)), float(np.clip(high, 0, 1))


class Constant(Estimator):
    """The mean of the meta sets' metrics: the constant that every other estimator must beat.

    `helpers.labelfree.skill` compares an estimator with it. The validation images are not used,
    and only the interval depends on the share. The interval is for the metric of one more set
    like these.
    """

    fewest = 2  # meta sets

    def __init__(self, validation, meta: MetaSets, share: float | None, images: int):
        mixtures = [*meta.mix(share, images=images, times=_TIMES)]
        self.truths, self.mixed = meta.truths, meta.own_truths(mixtures)

    def predict(self, mixture: np.ndarray, level: float) -> dict[str, tuple]:
        """Return value, low and high of each metric, the same for all mixtures."""
        result = {}
        for metric, truths in self.truths.items():
            sets, mixed = len(truths), self.mixed[metric]
            without = (truths.sum() - truths) / (sets - 1)
            again = np.repeat(without, len(mixed) // sets)
            pairs = (without, truths - without), (again, mixed - again)
            ends = wider(*(jackknife_ends(*pair, sets, level) for pair in pairs))
            result[metric] = truths.mean(), *ends
        return result


class GscoreLine(Estimator):
    """Regression lines from the Gscore of a mixture to the metrics of the detector.

    They are fitted to one mixture of each meta set, in the given share. Each metric has a separate
    threshold τ. Zhang et al. 2023 use the share 0.5, the same ID images in all mixtures, and the
    best τ for the FPR95 (`helpers.papers.gscore`).

    *Do not use* it if the share of unknown images is not known: a Gscore changes with the share as
    it changes with the detector.
    """

    fewest = 3

    def __init__(self, validation, meta: MetaSets, share: float | None, images: int):
        self.validation, mixtures = validation, [*meta.mix(share, images=images)]
        learnt = [
            self._gscores(np.concatenate([meta.known[ours], scores[others]]))
            for scores, (ours, others) in zip(meta.unknown.values(), mixtures, strict=True)
        ]
        self.lines = {
            name: fit_regression(learnt, each, TAUS) for name, each in meta.truths.items()
        }
        self.mixed = meta.own_truths(mixtures)

    def _gscores(self, scores: np.ndarray) -> np.ndarray:
        return gscores(scores, [_EVALUATOR], validation=self.validation)[_EVALUATOR]

    def predict(self, mixture: np.ndarray, level: float) -> dict[str, tuple]:
        """Return value, low and high of each metric; all of [0, 1] with too few sets."""
        every, result = self._gscores(mixture), {}
        for metric, line in self.lines.items():
            gscore, ends = every[[np.abs(TAUS - line.tau).argmin()]], (0.0, 1.0)
            if len(line.gscores) >= fewest_sets(level):
                mixed = line.gscores, self.mixed[metric]
                both = (line.interval(gscore, level, redrawn=each) for each in (None, mixed))
                ends = wider(*((low[0], high[0]) for low, high in both))
            result[metric] = line.predict(gscore)[0], *ends
        return result
