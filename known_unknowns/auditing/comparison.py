"""Comparison of two models on the same images, from paired replicates.

What makes an image hard for both models cancels, so the intervals are narrower than those of two
separate audits.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from helpers import __version__, metrics, scores
from helpers.checks import known_name, open_share
from helpers.files import atomic_path
from helpers.metrics import resample_weights, weighted_aurc, weighted_auroc, weighted_mean
from known_unknowns.auditing import ranking
from known_unknowns.auditing.inputs import Inputs
from known_unknowns.auditing.report import write_json
from known_unknowns.auditing.sentences import render, write_page

COMPARED = ("report.html", "comparison.json")
"""Files that a comparison writes."""
VERDICTS = BETTER, OPEN, WORSE = "better", "no difference shown", "worse"


@dataclass(frozen=True)
class Comparison:
    """Differences between a new model and an old one, both in words.

    `rows` has ``metric`` (accuracy, aurc, coverage at `risk`, and the auroc of each ``set``),
    ``old``, ``new``, ``difference`` (new minus old) with its 95 % interval ``low`` to ``high``,
    ``verdict``.
    """

    old: str
    new: str
    images: int
    score: str
    risk: float
    rows: pd.DataFrame

    @property
    def worse(self) -> bool:
        """Whether a number of the new model is worse beyond noise."""
        return bool(self.rows["verdict"].eq(WORSE).any())

    def _titled(self) -> list[dict]:
        titles = {
            "accuracy": "Accuracy",
            "aurc": "AURC (lower is better)",
            "coverage": f"Share of answers kept with {100 * self.risk:g} % of them wrong",
        }
        rows = self.rows.to_dict("records")
        return [
            {"title": titles.get(row["metric"], f"AUROC on {row['set']}")} | row for row in rows
        ]

    def sentences(self) -> list[str]:
        """Return the verdict, then a sentence for each number."""
        better, worse = (int(self.rows["verdict"].eq(name).sum()) for name in (BETTER, WORSE))
        rows = self._titled()
        return render("two_models", images=self.images, rows=rows, better=better, worse=worse)

    def as_dict(self) -> dict:
        """Return the comparison as JSON holds it."""
        numbers = {"version": __version__} | vars(self) | {"worse": self.worse}
        del numbers["rows"]
        return numbers | {"sentences": self.sentences(), "rows": self.rows.to_dict("records")}

    def save(self, folder: str | os.PathLike) -> list[Path]:
        """Write `COMPARED`; return the paths."""
        page, numbers = (Path(folder) / name for name in COMPARED)
        write_page(page, "comparison.html", numbers=self.as_dict(), rows=self._titled())
        with atomic_path(numbers) as temporary:
            write_json(temporary, self.as_dict())
        return [page, numbers]


def compare(
    old: Inputs,
    new: Inputs,
    *,
    score: str = "msp",
    risk: float = 0.05,
    replicates: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Compare two models on the same images.

    Parameters
    ----------
    old, new : Inputs
        Outputs of two models with the same classes for the same images in the same order.
    score : str
        Name of a score that both inputs allow.
    risk : float
        Share of wrong answers among those kept, in (0, 1).
    replicates, seed : int
        Number and seed of the bootstrap replicates.

    Raises
    ------
    ValueError
        Different images, labels, groups, classes or sets; a score that an input does not allow.
    """
    open_share("risk", risk)
    _check_same(old, new)
    old, new = (part.one_of_each_group(seed) for part in (old, new))
    known_name("score", score, scores.names())
    counts = [len(old.validation), *map(len, old.ood.values())]
    weights = [
        resample_weights(count, replicates=replicates, seed=seed + place)
        for place, count in enumerate(counts)
    ]
    before, after = (_measure(part, score, risk, weights) for part in (old, new))
    rows = []
    for (metric, ood), (value, replicated) in before.items():
        changed, changed_replicates = after[metric, ood]
        low, high = map(float, np.quantile(changed_replicates - replicated, [0.025, 0.975]))
        up, down = (WORSE, BETTER) if metric == "aurc" else (BETTER, WORSE)
        row = {"metric": metric, "set": ood, "old": value, "new": changed}
        row |= {"difference": changed - value, "low": low, "high": high}
        rows.append(row | {"verdict": up if low > 0 else down if high < 0 else OPEN})
    return Comparison(old.source, new.source, counts[0], score, risk, pd.DataFrame(rows))


def _measure(inputs: Inputs, name: str, risk: float, weights: list[np.ndarray]) -> dict:
    """Return each number of one model, with its replicates."""
    usable, left_out = ranking.fitted(inputs, [name])
    if name not in usable:
        raise ValueError(f"score: {inputs.source} does not allow '{name}': {left_out[name]}")
    known, correct = usable[name].score_samples(inputs.validation), inputs.validation.correct
    drawn, *of_sets = weights
    kept, replicates = (
        ranking.coverage_at_risk(known, correct, drawings, risk)
        for drawings in (np.ones((1, len(known)), np.uint16), drawn)
    )
    numbers = {
        ("accuracy", ""): (float(correct.mean()), weighted_mean(correct.astype(float), drawn)),
        ("aurc", ""): (metrics.aurc(known, correct), weighted_aurc(known, correct, drawn)),
        ("coverage", ""): (float(kept[0]), replicates),
    }
    for (ood, outputs), of_set in zip(inputs.ood.items(), of_sets, strict=True):
        unknown = usable[name].score_samples(outputs)
        replicates = weighted_auroc(known, unknown, drawn, of_set)
        numbers["auroc", ood] = metrics.auroc(known, unknown), replicates
    return numbers


def _check_same(old: Inputs, new: Inputs) -> None:
    """Refuse outputs of different images, labels, groups, classes or sets."""
    pairs = [("logits", "images", old.validation, new.validation)]
    pairs += [("classes", "classes", old.class_names, new.class_names)]
    if only := sorted(set(old.ood) ^ set(new.ood)):
        raise ValueError(
            f"ood: in one of the two files only: {', '.join(only)}; give both the same sets"
        )
    pairs += [(f"ood_{name}_logits", "images", old.ood[name], new.ood[name]) for name in old.ood]
    for name, what, before, after in pairs:
        if len(before) != len(after):
            raise ValueError(
                f"{name}: {len(before)} {what} in the old file and {len(after)} in the new one"
            )
    columns = {"labels": (old.validation.labels, new.validation.labels)}
    columns["class_names"] = old.class_names, new.class_names
    if old.files and new.files:
        columns["files"] = old.files, new.files
    if old.groups is not None or new.groups is not None:
        columns["groups"] = tuple(np.asarray(part.groups, dtype=str) for part in (old, new))
    for name, pair in columns.items():
        before, after = map(np.asarray, pair)
        if before.shape != after.shape:
            raise ValueError(f"{name}: in one of the two files only; give them in both")
        if places := np.flatnonzero(before != after).tolist():
            first = places[0]
            raise ValueError(
                f"{name}: different in {len(places)} of {len(before)} rows, the first one {first}"
                f" ('{before[first]}' in the old file, '{after[first]}' in the new one); "
                "show both models the same images in the same order"
            )
