"""The interface of all estimators of AUROC and FPR95, and their meta sets.

An estimator is fitted by a function of validation scores and, if there are any, meta sets::

    fitted = ESTIMATORS[name](validation, meta, share=None)
    fitted.estimate(mixture, level=0.9)["auroc"]  # an Estimate: value, low, high

Validation scores are of ID images like those among the unlabelled ones, which chose nothing that
the score depends on.  `share` is that of the unknown images in the mixture, None if nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from helpers.checks import float_array, open_share
from helpers.labelfree import METRICS, PREDICTED, Estimate
from helpers.metrics import RankedGroups

FEWEST = 50
"""Smallest number of unlabelled images for an estimate."""
_SHARES = (0.05, 0.95)  # range of the drawn shares if the share is unknown


class Estimator(Protocol):
    """A fitted estimator of the metrics of mixtures."""

    def estimate(self, mixture, *, level: float = 0.9) -> dict[str, Estimate]:
        """Return an estimate of each metric of `PREDICTED` for an unlabelled mixture.

        The interval is for the metric of these very images as for that of more images like them.

        Parameters
        ----------
        mixture : array_like, shape [M]
            Scores of at least 50 unlabelled images, higher = more likely known.
        level : float
            Of the intervals, in (0, 1).
        """


@dataclass(frozen=True)
class MetaSets:
    """Sets of unknown images, and the ID images that they are mixed with.

    Attributes
    ----------
    known : array_like, shape [N]
        Scores of ID images, none of them among the validation images.
    unknown : mapping of str to array_like
        Of each set, by its name.
    """

    known: np.ndarray
    unknown: Mapping[str, np.ndarray]

    def __post_init__(self):
        object.__setattr__(self, "known", float_array("known", self.known))
        sets = {name: float_array(f"unknown['{name}']", one) for name, one in self.unknown.items()}
        object.__setattr__(self, "unknown", sets)

    @cached_property
    def truths(self) -> dict[str, np.ndarray]:
        """The metrics of `PREDICTED` on each set, against all of the ID images, [S] each."""
        return stack([group_metrics(self.known, one) for one in self.unknown.values()])

    def mix(
        self,
        share: float | None = None,
        *,
        images: float = np.inf,
        times: int = 1,
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield mixtures of each set in turn: places of ID images, and of those of the set."""
        generator, count = np.random.default_rng(0), len(self.known)
        for scores in self.unknown.values():
            for _ in range(times):
                part = generator.uniform(*_SHARES) if share is None else share
                total = min(images, len(scores) / part)
                if part < 1:
                    total = min(total, count / (1 - part))
                known, unknown = (max(1, round(one * total)) for one in (1 - part, part))
                others = generator.integers(count, size=count)
                yield generator.choice(others, known), generator.permutation(len(scores))[:unknown]

    def own_truths(
        self, mixtures: Sequence[tuple[np.ndarray, np.ndarray]]
    ) -> dict[str, np.ndarray]:
        """Return the metrics of `PREDICTED` on the images of each mixture from `mix`, [R] each."""
        times = len(mixtures) // len(self.unknown)
        sets = [scores for scores in self.unknown.values() for _ in range(times)]
        pairs = zip(sets, mixtures, strict=True)
        found = [group_metrics(self.known[ours], one[theirs]) for one, (ours, theirs) in pairs]
        return stack(found)


@dataclass(frozen=True)
class BySize:
    """An estimator that learns from mixtures of about as many images as it is asked about.

    The fewer images, the more varies all that is computed of a mixture, and so does the metric of
    these very images: what has learnt from large mixtures is too sure of small ones.
    """

    learn: Callable[[int], Estimator]
    _learnt: dict[int, Estimator] = field(default_factory=dict, repr=False)

    def of(self, images: int) -> Estimator:
        """Return the estimator for so many images: from mixtures of at most √2 times fewer."""
        size = int(FEWEST * 2 ** (int(2 * np.log2(images / FEWEST)) / 2))
        if size not in self._learnt:
            self._learnt[size] = self.learn(size)
        return self._learnt[size]

    def estimate(self, mixture, *, level: float = 0.9) -> dict[str, Estimate]:
        """See `Estimator.estimate`."""
        mixture = mixture_array(mixture, level)
        return self.of(len(mixture)).estimate(mixture, level=level)


def group_metrics(known, unknown) -> dict[str, float]:
    """Return the metrics of `PREDICTED` of two groups of scores, see `true_metrics`."""
    groups = RankedGroups.of(known, unknown)
    return {name: METRICS[name](groups) for name in PREDICTED}


def stack(found: list[dict[str, float]]) -> dict[str, np.ndarray]:
    """Return an array for each metric from one dictionary for each mixture."""
    return {name: np.array([one[name] for one in found]) for name in PREDICTED}


def mixture_array(mixture, level: float) -> np.ndarray:
    """Return the scores of a mixture as float64 [M]; raise ValueError if they are bad input."""
    open_share("level", level)
    mixture = float_array("mixture", mixture)
    if len(mixture) < FEWEST:
        raise ValueError(
            f"mixture: at least {FEWEST} images expected, got {len(mixture)}; fewer say too little "
            "for an estimate, but bound the share of unknown ones: see share_bound"
        )
    return mixture


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
    r"""Return the ends of the jackknife+ interval that leaves out whole sets.

    With the prediction :math:`\hat p_{-i}` that leaves set i out, and what it misses a mixture of
    that set by, :math:`r_{ij}`: the smallest number that is at least :math:`\hat p_{-i} + r_{ij}`
    for the share :math:`\gamma (S + 1) / S` of all mixtures, and its mirror image.

    Parameters
    ----------
    left_out, misses : ndarray, shape [R]
        Of each mixture; every set has as many.
    sets : int
        S.
    level : float
        γ, in (0, 1).

    Returns
    -------
    low, high : float
        In [0, 1]; all of it with fewer than γ / (1 − γ) sets, which is 9 for 0.9.

    Notes
    -----
    Barber et al. 2021; with several mixtures of a set, the sets are what is exchangeable, and
    their mixtures are pooled (Dunn, Wasserman and Ramdas 2023).

    Examples
    --------
    >>> jackknife_ends(np.full(9, 0.5), np.arange(9) / 100, 9, 0.9)
    (0.42, 0.58)
    """
    rank = int(np.ceil(np.round(level * (sets + 1) / sets * len(misses), 9)))
    if rank > len(misses):
        return 0.0, 1.0
    misses = np.abs(misses)
    low, high = np.sort(misses - left_out)[rank - 1], np.sort(left_out + misses)[rank - 1]
    return float(np.clip(-low, 0, 1)), float(np.clip(high, 0, 1))
