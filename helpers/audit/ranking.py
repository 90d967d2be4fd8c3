"""Every score that the inputs allow, and how well each tells right answers from all others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from helpers import scores
from helpers.audit.inputs import LEAST, Inputs
from helpers.metrics import (
    aurc,
    auroc,
    fpr_at_tpr,
    resample_weights,
    weighted_aurc,
    weighted_auroc,
    weighted_fpr_at_tpr,
)
from helpers.outputs import Outputs
from helpers.scores import Score

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
UNION = "all"
"""What ID and unknown images together are called, as a set."""


def fitted(inputs: Inputs) -> tuple[dict[str, Score], dict[str, str]]:
    """Return every score that the inputs allow, fitted, and why the others are left out.

    Returns
    -------
    usable : dict of str to Score
        By name, in alphabetical order; to none of them has a validation image been shown.
    left_out : dict of str to str
        The reason, by name.
    """
    absent = {
        "features": not inputs.validation.features.shape[1],
        "head": inputs.head is None,
        "training outputs": inputs.train is None,
        "level of the logits": not inputs.level,
    }
    usable, left_out = {}, {}
    for name in scores.names():
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


class Groups:
    """ID images and sets of unknown ones, and how often each is drawn in every replicate.

    On `UNION` there are as many unknown images as wrongly classified ID ones, as evenly from all
    sets as these allow: a score is to find both kinds of what the model does not know, and the
    number of unknown images that somebody happened to bring must not decide which of them counts.

    Parameters
    ----------
    known : Outputs
        ID, with labels.
    ood : mapping of str to Outputs
        In random order, of which the union has the first ones.
    replicates : int
    seed : int
        The same for all scores, whose replicates are therefore paired.
    """

    def __init__(self, known: Outputs, ood: Mapping[str, Outputs], replicates: int, seed: int):
        self.known, self.ood = known, ood
        errors = int((~known.correct).sum())
        self.shares = _even(max(errors, LEAST), [len(one) for one in ood.values()])
        counts = {"": len(known)} | {name: len(one) for name, one in ood.items()}
        self.weights = {
            name: resample_weights(count, replicates=replicates, seed=seed + place)
            for place, (name, count) in enumerate(counts.items())
        }

    def measured(self, score: Score) -> tuple[pd.DataFrame, np.ndarray]:
        """Return what a score is worth, with intervals, and the replicates of its criterion.

        Returns
        -------
        rows : DataFrame
            ``metric``, ``set``, ``value``, ``low`` and ``high`` (of 95 %): the AURC on the ID
            images (set ""); with sets of unknown images that on `UNION`, and the AUROC and the
            FPR95 on each.
        criterion : ndarray of float64, shape [replicates]
            The AURC on `UNION` where there are sets of unknown images, else on the ID images.
        """
        known, correct = score.score_samples(self.known), self.known.correct
        own = self.weights[""]
        drawn = weighted_aurc(known, correct, own)
        rows = [_row("aurc", "", aurc(known, correct), drawn)]
        if self.ood:
            unknown = {name: score.score_samples(one) for name, one in self.ood.items()}
            few = dict(zip(unknown, map(slice, self.shares), strict=True))
            values = np.concatenate([known, *(unknown[name][few[name]] for name in few)])
            right = np.concatenate([correct, np.zeros(len(values) - len(known), bool)])
            theirs = [self.weights[name][:, few[name]] for name in few]
            weights = np.concatenate([own, *theirs], axis=1)
            drawn = weighted_aurc(values, right, weights)
            rows.append(_row("aurc", UNION, aurc(values, right), drawn))
            for name, theirs in unknown.items():
                pair = known, theirs
                both = own, self.weights[name]
                rows += [
                    _row("auroc", name, auroc(*pair), weighted_auroc(*pair, *both)),
                    _row("fpr95", name, fpr_at_tpr(*pair), weighted_fpr_at_tpr(*pair, *both)),
                ]
        return pd.DataFrame(rows), drawn


def ranked(usable: Mapping[str, Score], groups: Groups) -> tuple[pd.DataFrame, list[str]]:
    """Measure all scores; return them best first, and those that may be as good as the best.

    Returns
    -------
    table : DataFrame
        The rows of `Groups.measured` with a column ``score``, in order of the criterion.
    best : list of str
        The best score, and each whose difference to it in paired replicates includes 0 within
        95 %; the one that asks for least comes first, of equals the better one.
    """
    found = {name: groups.measured(score) for name, score in usable.items()}
    place = int(bool(groups.ood))  # of the criterion among the rows
    values = {name: float(rows["value"].iloc[place]) for name, (rows, _) in found.items()}
    order = sorted(values, key=values.__getitem__)
    drawn = {name: replicates for name, (_, replicates) in found.items()}
    equal = [name for name in order if np.quantile(drawn[name] - drawn[order[0]], 0.025) <= 0]
    table = pd.concat([found[name][0].assign(score=name) for name in order], ignore_index=True)
    table = table[["score", "metric", "set", "value", "low", "high"]]
    return table, sorted(equal, key=lambda name: (demands(usable[name]), order.index(name)))


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
