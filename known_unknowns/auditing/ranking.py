"""Every score that the inputs allow, and how well each tells right answers from all others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from helpers import scores
from helpers.metrics import (
    aurc,
    auroc,
    fpr_at_tpr,
    resample_weights,
    weighted_aurc,
)
from helpers.metrics.weighted_ranking import weighted_detection
from helpers.outputs import Outputs
from helpers.scores import Score
from known_unknowns.auditing.inputs import LEAST, Inputs

_CELLS = 2**18  # counts held at a time: about the size of a CPU's cache


class Wish(NamedTuple):
    """What a threshold is to promise.

    Attributes
    ----------
    name : {"risk", "coverage"}
    level : float
        The risk, or the coverage.
    unknown : float
        Share of unknown images that the promise of a risk reckons with.
    """

    name: str = "risk"
    level: float = 0.05
    unknown: float = 0.0

    @property
    def metric(self) -> str:
        """What a score gives for it: the ``coverage`` at a risk, or the ``risk`` at a coverage."""
        return "coverage" if self.name == "risk" else "risk"

    def measure(self, scores, correct, unknown, weights) -> np.ndarray:
        """Return that number once for each row of weights, float64 [B]."""
        if self.name == "coverage":
            return risk_at_coverage(scores, correct, weights[0], self.level)
        if not self.unknown:
            return coverage_at_risk(scores, correct, weights[0], self.level)
        shares = [1 - self.unknown, *[self.unknown / len(unknown)] * len(unknown)]
        masses = [
            share * weight / weight.sum(axis=1, keepdims=True, dtype=np.int64)
            for share, weight in zip(shares, weights, strict=True)
        ]
        drawn = np.concatenate([scores, *unknown])
        known = np.arange(len(drawn)) < len(scores)
        right = np.concatenate([correct, np.zeros(len(drawn) - len(scores), bool)])
        return coverage_at_risk(drawn, right, np.concatenate(masses, axis=1), self.level, known)


DEFAULT = Wish()
"""What an audit wishes for where nothing is said."""


def coverage_at_risk(confidence, correct, weights, risk: float, known=None) -> np.ndarray:
    """Return which share of the images can be kept with at most `risk` of these wrong, float64 [B].

    Examples
    --------
    >>> coverage_at_risk(np.array([4, 3, 2, 1]), np.array([1, 1, 0, 1]) > 0, np.ones((1, 4)), 0.25)
    array([1.])
    >>> coverage_at_risk(np.array([4, 3, 2, 1]), np.array([1, 1, 0, 1]) > 0, np.ones((1, 4)), 0.2)
    array([0.5])
    """
    order, ends = _ranked(confidence)
    wrong, coverages = ~correct[order], np.empty(len(weights))
    for rows, drawn in _sums(weights, order):
        kept, errors = np.cumsum(drawn, axis=1), np.cumsum(drawn * wrong, axis=1)
        counted = kept if known is None else np.cumsum(drawn * known[order], axis=1)
        # a rounding error must not undo an equality
        possible = ends & (errors <= risk * kept * (1 + 1e-9))
        coverages[rows] = (counted * possible).max(axis=1) / counted[:, -1]
    return coverages


def risk_at_coverage(confidence, correct, weights, coverage: float) -> np.ndarray:
    """Return which share is wrong of the images kept where `coverage` of all are, float64 [B].

    Parameters are those of `coverage_at_risk`.

    Examples
    --------
    >>> some = np.array([4, 3, 2, 1]), np.array([1, 1, 0, 1]) > 0, np.ones((1, 4))
    >>> risk_at_coverage(*some, 0.5), risk_at_coverage(*some, 0.51)
    (array([0.]), array([0.33333333]))
    """
    order, ends = _ranked(confidence)
    wrong, risks = ~correct[order], np.empty(len(weights))
    for rows, drawn in _sums(weights, order):
        kept, errors = np.cumsum(drawn, axis=1), np.cumsum(drawn * wrong, axis=1)
        first = (ends & (kept >= coverage * kept[:, -1:] * (1 - 1e-9))).argmax(axis=1)[:, None]
        both = np.take_along_axis(errors, first, 1), np.take_along_axis(kept, first, 1)
        risks[rows] = (both[0] / both[1])[:, 0]
    return risks


def _ranked(confidence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the images by falling score, and which are the last of those with one score."""
    order = np.argsort(-confidence, kind="stable")
    ranked = confidence[order]
    return order, np.append(ranked[1:] != ranked[:-1], True)


def _sums(weights: np.ndarray, order: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield some rows of weights in this order, so that sums need no more than float64 or int64."""
    kind = np.float64 if weights.dtype.kind == "f" else np.int64
    size = max(1, _CELLS // len(order))
    for start in range(0, len(weights), size):
        rows = slice(start, start + size)
        yield rows, weights[rows, order].astype(kind)


ARGUMENTS = {"knn": {"bank": 12_800}, "relation": {"bank": 12_800}}
"""What a score is created with: a rejector carries the bank, so it holds no more than NNGuide's."""

WITHHELD = {
    "images": "goes back to the images, which no stored outputs hold",
    "members": "needs an ensemble or several passes",
    "native": "is the measure of a training algorithm that brings one",
}
_ABSENT = {
    "features": "needs features",
    "head": "needs the head's weights (head_weight, head_bias)",
    "training outputs": "needs outputs of training images",
    "level of the logits": "needs logits, and probabilities have lost their level",
}
ID, UNION = "", "all"
"""What ID images, and these and unknown ones together, are called as a set."""
BLOCK = 2048
"""Images whose outputs are copied at a time."""
COMPARED = 1000
"""ID images, and images of each set of unknown ones, on which scores are compared, at the most."""


def fitted(inputs: Inputs, only: str | None = None) -> tuple[dict[str, Score], dict[str, str]]:
    """Return every score that the inputs allow, fitted, and why the others are left out.

    Of one name, if `only` is given, that is all that is fitted.
    """
    absent = {
        "features": not inputs.validation.features.shape[1],
        "head": inputs.head is None,
        "training outputs": inputs.train is None,
        "level of the logits": not inputs.level,
    }
    usable, left_out = {}, {}
    for name in scores.names() if only is None else (only,):
        score = scores.create(name, **ARGUMENTS.get(name, {}))
        needs = score.info.needs
        reasons = [reason for need, reason in WITHHELD.items() if need in needs]
        reasons += [reason for need, reason in _ABSENT.items() if need in needs and absent[need]]
        if not reasons:
            try:
                if score.info.fits:
                    score.fit(inputs.train, inputs.head)
                usable[name] = score
                continue
            except ValueError as error:  # a class without training images, say
                reasons.append(f"cannot be fitted: {error}")
        left_out[name] = "; ".join(reasons)
    return usable, left_out


def demands(score: Score) -> int:
    """Return how much a score asks for: 0 logits, 1 features, 2 the head, 3 training images.

    Examples
    --------
    >>> [demands(scores.create(name)) for name in ("msp", "gradnorm", "ash", "knn")]
    [0, 1, 2, 3]
    """
    needs = score.info.needs
    return max(
        place
        for place, need in enumerate(("logits", "features", "head", "training outputs"))
        if need in needs or not place
    )


class Half(NamedTuple):
    """Some images of a group, which are not copied.

    Attributes
    ----------
    outputs : Outputs
        Of all images of the group.
    places : ndarray of int64
        Of these among them.
    """

    outputs: Outputs
    places: np.ndarray


def score_halves(scores: Mapping[str, Score], halves: Mapping[str, Half]) -> dict[str, dict]:
    """Return what each score says of each half, by the score's name and the half's.

    The outputs are copied a block of images at a time, and scores that work in blocks of one size
    see the same ones, so that probabilities are made once for all of them.
    """
    scored = {name: {half: [] for half in halves} for name in scores}
    sizes = {name: min(getattr(score, "block", BLOCK), BLOCK) for name, score in scores.items()}
    for size in dict.fromkeys(sizes.values()):
        some = [name for name in scores if sizes[name] == size]
        for half, (outputs, places) in halves.items():
            for start in range(0, len(places), size):
                part = outputs.subset(places[start : start + size])
                for name in some:
                    scored[name][half].append(scores[name].score_samples(part))
    return {
        name: {half: np.concatenate(blocks) for half, blocks in blocks_of_halves.items()}
        for name, blocks_of_halves in scored.items()
    }


class Groups:
    """ID images and sets of unknown ones, and how often each is drawn in every replicate.

    On `UNION` there are as many unknown images as wrongly classified ID ones, as evenly from all
    sets as these allow: a score is to find both kinds of what the model does not know, and the
    number of unknown images that somebody happened to bring must not decide which of them counts.
    """

    def __init__(
        self,
        correct: np.ndarray,
        ood: Mapping[str, int],
        replicates: int,
        seed: int,
        wish: Wish = DEFAULT,
    ):
        self.correct, self.ood, self.wish = correct, ood, wish
        errors = int((~correct).sum())
        self.shares = _even(max(errors, LEAST), list(ood.values()))
        counts = {ID: len(correct)} | dict(ood)
        self.weights = {
            name: resample_weights(count, replicates=replicates, seed=seed + place)
            for place, (name, count) in enumerate(counts.items())
        }

    @classmethod
    def of(cls, halves: Mapping[str, Half], replicates: int, seed: int, wish: Wish) -> Groups:
        """Return the groups of halves of the ID images and of the sets."""
        known = halves[ID].outputs.correct[halves[ID].places]
        sizes = {name: len(half.places) for name, half in halves.items() if name != ID}
        return cls(known, sizes, replicates, seed, wish)

    def wished(self, samples: Mapping[str, np.ndarray]) -> tuple[dict, np.ndarray]:
        """Return what a score gives for the wish, as a row of `measured`, and its replicates."""
        known, names = samples[ID], [ID, *self.ood]
        unknown = [samples[name] for name in self.ood]
        once = [np.ones((1, len(samples[name])), np.uint16) for name in names]
        (value,) = self.wish.measure(known, self.correct, unknown, once)
        weights = [self.weights[name] for name in names]
        drawn = self.wish.measure(known, self.correct, unknown, weights)
        return _row(self.wish.metric, ID, float(value), drawn), drawn

    def measured(self, samples: Mapping[str, np.ndarray]) -> tuple[list[dict], np.ndarray]:
        """Return rows of a score's metrics with intervals, and the replicates of its AURC."""
        known, correct, of_known = samples[ID], self.correct, self.weights[ID]
        drawn = weighted_aurc(known, correct, of_known)
        rows = [_row("aurc", ID, aurc(known, correct), drawn)]
        if self.ood:
            unknown = {name: samples[name] for name in self.ood}
            few = dict(zip(unknown, map(slice, self.shares), strict=True))
            values = np.concatenate([known, *(unknown[name][few[name]] for name in few)])
            right = np.concatenate([correct, np.zeros(len(values) - len(known), bool)])
            theirs = [self.weights[name][:, few[name]] for name in few]
            weights = np.concatenate([of_known, *theirs], axis=1)
            drawn = weighted_aurc(values, right, weights)
            rows.append(_row("aurc", UNION, aurc(values, right), drawn))
            for name, theirs in unknown.items():
                pair = known, theirs
                areas, accepted = weighted_detection(*pair, of_known, self.weights[name])
                rows += [
                    _row("auroc", name, auroc(*pair), areas),
                    _row("fpr95", name, fpr_at_tpr(*pair), accepted),
                ]
        return rows, drawn


def ranked(
    usable: Mapping[str, Score], samples: Mapping[str, Mapping[str, np.ndarray]], groups: Groups
) -> tuple[pd.DataFrame, list[str]]:
    """Compare all scores; return them best first, and those that may be as good as the best."""
    wished = {name: groups.wished(samples[name]) for name in usable}
    sign = -1 if groups.wish.metric == "coverage" else 1  # more coverage is better, or less risk
    ahead = {name: (sign * row["value"], sign * drawn) for name, (row, drawn) in wished.items()}
    order, able = _as_good(ahead)
    measured = {name: groups.measured(samples[name]) for name in usable}
    place = int(bool(groups.ood))  # of the area among the rows
    areas = {name: (rows[place]["value"], drawn) for name, (rows, drawn) in measured.items()}
    ranked_able, equal = _as_good({name: areas[name] for name in able})
    order = [*ranked_able, *(name for name in order if name not in able)]
    rows = [
        {"score": name} | row for name in order for row in (wished[name][0], *measured[name][0])
    ]
    table = pd.DataFrame(rows)
    return table, sorted(equal, key=lambda name: (demands(usable[name]), order.index(name)))


def _as_good(candidates: Mapping[str, tuple[float, np.ndarray]]) -> tuple[list[str], list[str]]:
    """Return scores by rising value, and those that may be as good as the first."""
    order = sorted(candidates, key=lambda name: candidates[name][0])
    best = candidates[order[0]][1]
    return order, [name for name in order if np.quantile(candidates[name][1] - best, 0.025) <= 0]


def _even(total: int, sizes: list[int]) -> list[int]:
    """Return how many images to take of each set, `total` together if there are as many.

    >>> _even(10, [2, 9, 9]), _even(10, [3, 3])
    ([2, 4, 4], [3, 3])
    """
    shares = [0] * len(sizes)
    for place, index in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        left = total - sum(shares)
        shares[index] = min(sizes[index], round(left / (len(sizes) - place)))
    return shares


def _row(metric: str, name: str, value: float, drawn: Iterable[float]) -> dict:
    low, high = np.quantile(drawn, [0.025, 0.975])
    return {"metric": metric, "set": name, "value": value, "low": float(low), "high": float(high)}
