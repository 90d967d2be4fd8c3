"""Every score that the inputs allow, and how well it separates correct and other answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    weighted_detection,
)
from helpers.metrics.ranking import last_of_ties
from helpers.outputs import Outputs
from helpers.scores import Score
from known_unknowns.auditing.inputs import LEAST, Inputs
from known_unknowns.guarantees import clopper_pearson, independent_draws

#: With many images, there are fewer replicates, to bound the memory; but not fewer than this.
FEWEST_REPLICATES = 50
_WEIGHTS = 2**26  # numbers of draws, two bytes each
_FEW_ERRORS = 10  # with fewer, the AURC of resampled images varies too little
_NORMAL = 1.96  # standard deviations of a 95 % interval
_CELLS = 2**18  # number of counts in memory at a time: about the size of a CPU's cache


class Target(NamedTuple):
    """Target of a threshold's guarantee: a kind, its level, and a share of unknown images."""

    name: str = "risk"
    level: float = 0.05
    unknown: float = 0.0

    @property
    def metric(self) -> str:
        """Metric of a score for this target: ``coverage`` at a risk, or ``risk`` at a coverage."""
        return "coverage" if self.name == "risk" else "risk"

    def measure(
        self,
        scores: np.ndarray,
        correct: np.ndarray,
        unknown: Sequence[np.ndarray],
        weights: Sequence[np.ndarray],
    ) -> np.ndarray:
        """Return this metric once for each row of weights, float64 [B]."""
        if self.name == "coverage":
            return risk_at_coverage(scores, correct, weights[0], self.level)
        if not self.unknown:
            return coverage_at_risk(scores, correct, weights[0], self.level)
        shares = [1 - self.unknown] + [self.unknown / len(unknown)] * len(unknown)
        masses = [
            share * weight / weight.sum(axis=1, keepdims=True, dtype=np.int64)
            for share, weight in zip(shares, weights, strict=True)
        ]
        drawn = np.concatenate([scores, *unknown])
        known = np.arange(len(drawn)) < len(scores)
        right = _with_unknown(correct, len(drawn))
        return coverage_at_risk(drawn, right, np.concatenate(masses, axis=1), self.level, known)


def _with_unknown(correct: np.ndarray, count: int) -> np.ndarray:
    """Return whether each of `count` images is correct: ID images, then unknown images."""
    return np.append(correct, np.zeros(count - len(correct), bool))


def coverage_at_risk(confidence, correct, weights, risk: float, known=None) -> np.ndarray:
    """Return the largest share of images kept with an error share up to `risk`, float64 [B].

    >>> coverage_at_risk(np.array([4, 3, 2, 1]), np.array([1, 1, 0, 1]) > 0, np.ones((1, 4)), 0.25)
    array([1.])
    >>> coverage_at_risk(np.array([4, 3, 2, 1]), np.array([1, 1, 0, 1]) > 0, np.ones((1, 4)), 0.2)
    array([0.5])
    """
    coverages = []
    for order, last, drawn, kept, errors in _cumulated(confidence, correct, weights):
        counted = kept if known is None else np.cumsum(drawn * known[order], axis=1)
        # a rounding error must not undo an equality
        possible = last & (errors <= risk * kept * (1 + 1e-9))
        coverages.append((counted * possible).max(axis=1) / counted[:, -1])
    return np.concatenate(coverages)


def risk_at_coverage(confidence, correct, weights, coverage: float) -> np.ndarray:
    """Return the share of errors among the images kept at a coverage, float64 [B].

    >>> some = np.array([4, 3, 2, 1]), np.array([1, 1, 0, 1]) > 0, np.ones((1, 4))
    >>> risk_at_coverage(*some, 0.5), risk_at_coverage(*some, 0.51)
    (array([0.]), array([0.33333333]))
    """
    risks = []
    for _, last, _, kept, errors in _cumulated(confidence, correct, weights):
        first = (last & (kept >= coverage * kept[:, -1:] * (1 - 1e-9))).argmax(axis=1)[:, None]
        risks.append(np.take_along_axis(errors, first, 1) / np.take_along_axis(kept, first, 1))
    return np.concatenate(risks)[:, 0]


def _cumulated(confidence, correct, weights) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield blocks of rows of weights, by falling confidence.

    Each block has the order of the images, whether an image is the last of its ties, the weights,
    their sums, and the sums over incorrect images.
    """
    order = np.argsort(-confidence, kind="stable")
    ranked = confidence[order]
    wrong = ~correct[order]
    last = last_of_ties(ranked)
    kind = np.float64 if weights.dtype.kind == "f" else np.int64
    size = max(1, _CELLS // len(order))
    for start in range(0, len(weights), size):
        drawn = weights[start : start + size, order].astype(kind)
        yield order, last, drawn, np.cumsum(drawn, axis=1), np.cumsum(drawn * wrong, axis=1)


#: Arguments of scores: a rejector contains the bank, so it is as small as NNGuide's bank.
ARGUMENTS: dict[str, dict] = {"knn": {"bank": 12_800}, "relation": {"bank": 12_800}}

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
#: Names of the ID images as a set, and of ID and unknown images together.
ID = ""
UNION = "all"
#: Number of images whose outputs are copied at a time.
BLOCK = 2048
#: Largest number of ID images, and of images of each set, on which scores are compared.
COMPARED = 1000


def fitted(inputs: Inputs) -> tuple[dict[str, Score], dict[str, str]]:
    """Return the fitted scores that the inputs allow, and why other scores are left out."""
    absent = {
        "features": not inputs.validation.features.shape[1],
        "head": inputs.head is None,
        "training outputs": inputs.train is None,
        "level of the logits": not inputs.level,
    }
    missing = WITHHELD | {need: reason for need, reason in _ABSENT.items() if absent[need]}
    usable = {}
    left_out = {}
    for name in scores.names():
        score = scores.create(name, **ARGUMENTS.get(name, {}))
        reasons = [reason for need, reason in missing.items() if need in score.info.needs]
        if reasons:
            left_out[name] = "; ".join(reasons)
            continue
        try:
            if score.info.fits:
                # None for scores that need only the head
                score.fit(inputs.train, inputs.head)  # type: ignore[arg-type]
        except ValueError as error:  # for example, a class without training images
            left_out[name] = f"cannot be fitted: {error}"
        else:
            usable[name] = score
    return usable, left_out


def demands(score: Score) -> int:
    """Return the level of a score's needs: 0 logits, 1 features, 2 head, 3 training images.

    >>> [demands(scores.create(name)) for name in ("msp", "gradnorm", "ash", "knn")]
    [0, 1, 2, 3]
    """
    levels = ("logits", "features", "head", "training outputs")
    return max((levels.index(need) for need in score.info.needs if need in levels), default=0)


class Half(NamedTuple):
    """Outputs of a group, and the indices of some of its images, without a copy."""

    outputs: Outputs
    places: np.ndarray


def score_halves(scores: Mapping[str, Score], halves: Mapping[str, Half]) -> dict[str, dict]:
    """Return the scores of each half, by the name of the score and of the half.

    Scores with the same block size share the blocks, and so their probabilities.
    """
    samples = {
        name: {half: np.empty(len(halves[half].places)) for half in halves} for name in scores
    }
    sizes = {name: min(getattr(score, "block", BLOCK), BLOCK) for name, score in scores.items()}
    for size in set(sizes.values()):
        together = [name for name in scores if sizes[name] == size]
        for half, (outputs, places) in halves.items():
            for start in range(0, len(places), size):
                rows = slice(start, start + size)
                part = outputs.subset(places[rows])
                for name in together:
                    samples[name][half][rows] = scores[name].score_samples(part)
    return samples


def draws(count: int, replicates: int, seed: int, groups: np.ndarray | None = None) -> np.ndarray:
    """Return how often each image is drawn, with all images of its group, uint16 [B, count]."""
    if groups is None:
        return resample_weights(count, replicates=replicates, seed=seed)
    _, which = np.unique(groups, return_inverse=True)
    return resample_weights(which.max() + 1, replicates=replicates, seed=seed)[:, which]


class Groups:
    """Halves of ID images and of sets of unknown images, and how often each image is drawn.

    `UNION` has as many unknown images as ID errors, as evenly from all sets as possible.  Both
    then have equal weight for any number of unknown images.  If the ID images have `groups`, whole
    groups are drawn.
    """

    def __init__(
        self,
        halves: Mapping[str, Half],
        replicates: int,
        seed: int,
        target: Target,
        groups: np.ndarray | None = None,
    ):
        counts = {name: len(half.places) for name, half in halves.items()}
        self.correct = halves[ID].outputs.correct[halves[ID].places]
        self.draws = independent_draws(len(self.correct), groups)
        self.target = target
        self.ood = [name for name in halves if name != ID]
        shares = _even(max(int((~self.correct).sum()), LEAST), [counts[name] for name in self.ood])
        most = max(FEWEST_REPLICATES, _WEIGHTS // max(counts.values()))
        replicates = min(replicates, most)
        self.few = dict(zip(self.ood, map(slice, shares), strict=True))
        self.weights = {
            name: draws(counts[name], replicates, seed + number, groups if name == ID else None)
            for number, name in enumerate([ID, *self.ood])
        }

    def measure(self, samples: Mapping[str, np.ndarray]) -> tuple[list[dict], list[np.ndarray]]:
        """Return rows of a score's metrics with intervals, and some replicates.

        The first row is the target's metric; the replicates are for this row and the last AURC.
        """
        known = samples[ID]
        correct = self.correct
        weights = self.weights
        unknown = {name: samples[name] for name in self.ood}
        sets = list(unknown.values())
        once = [np.ones((1, len(samples[name])), np.uint16) for name in weights]
        value = self.target.measure(known, correct, sets, once)
        target_value = self.target.measure(known, correct, sets, list(weights.values()))
        areas = weighted_aurc(known, correct, weights[ID])
        rows = [_row(self.target.metric, ID, float(value[0]), target_value)]
        rows.append(_row("aurc", ID, aurc(known, correct), areas))
        if (errors := int((~correct).sum())) < _FEW_ERRORS:
            # no score of use is worse than chance, whose AURC is the share of errors
            most = clopper_pearson(min(errors, self.draws), self.draws)[1]
            rows[-1]["high"] = max(rows[-1]["high"], most)
        if unknown:
            few = [unknown[name][rank] for name, rank in self.few.items()]
            few_weights = [weights[name][:, rank] for name, rank in self.few.items()]
            values = np.concatenate([known, *few])
            right = _with_unknown(correct, len(values))
            drawn = np.concatenate([weights[ID], *few_weights], axis=1)
            areas = weighted_aurc(values, right, drawn)
            rows.append(_row("aurc", UNION, aurc(values, right), areas))
        for name, part in unknown.items():
            aurocs, accepted = weighted_detection(known, part, weights[ID], weights[name])
            rows.append(_row("auroc", name, auroc(known, part), aurocs))
            rows.append(_row("fpr95", name, fpr_at_tpr(known, part), accepted))
            # a bootstrap never draws the rare images that are absent here
            unseen = [clopper_pearson(0, images)[1] for images in (self.draws, len(part))]
            rows[-2]["low"] = min(rows[-2]["low"], (1 - unseen[0]) * (1 - unseen[1]))
            rows[-1]["high"] = max(rows[-1]["high"], unseen[1])
        return rows, [target_value, areas]


def ranked(
    usable: Mapping[str, Score], samples: Mapping[str, Mapping[str, np.ndarray]], groups: Groups
) -> tuple[pd.DataFrame, list[str]]:
    """Return a table of all scores, best first, and the scores that may be as good as the best."""
    sign = -1 if groups.target.metric == "coverage" else 1  # high coverage or low risk is better
    last_area = 2 if groups.ood else 1
    rows = {}
    ahead = {}
    areas = {}
    for name in usable:
        rows[name], (target_value, drawn) = groups.measure(samples[name])
        ahead[name] = sign * rows[name][0]["value"], sign * target_value
        areas[name] = rows[name][last_area]["value"], drawn
    order, able = _as_good(ahead)
    ranked_able, equal = _as_good({name: areas[name] for name in able})
    order = ranked_able + [name for name in order if name not in able]
    table = pd.DataFrame([{"score": name} | row for name in order for row in rows[name]])
    return table, sorted(equal, key=lambda name: (demands(usable[name]), order.index(name)))


def _as_good(candidates: Mapping[str, tuple[float, np.ndarray]]) -> tuple[list[str], list[str]]:
    """Return the scores by rising value, and the scores that may be as good as the first."""
    order = sorted(candidates, key=lambda name: candidates[name][0])
    best = candidates[order[0]][1]
    return order, [name for name in order if np.quantile(candidates[name][1] - best, 0.025) <= 0]


def _even(total: int, sizes: list[int]) -> list[int]:
    """Return how many images to use of each set, in total `total` or all images.

    >>> _even(10, [2, 9, 9]), _even(10, [3, 3])
    ([2, 4, 4], [3, 3])
    """
    shares = [0] * len(sizes)
    for done, index in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        left = total - sum(shares)
        shares[index] = min(sizes[index], round(left / (len(sizes) - done)))
    return shares


def _row(metric: str, name: str, value: float, drawn: np.ndarray) -> dict:
    """Return a metric with its bootstrap interval.

    The AURC is skewed: its percentiles are too low for a few hundred images.  Therefore its
    interval is symmetric for the logarithm.
    """
    low, high = np.quantile(drawn, [0.025, 0.975])
    positive = drawn[drawn > 0]
    if metric == "aurc" and value and len(positive):
        factor = np.exp(_NORMAL * np.log(positive).std())
        low = value / factor
        high = min(1.0, value * factor)
    return {"metric": metric, "set": name, "value": value, "low": float(low), "high": float(high)}
