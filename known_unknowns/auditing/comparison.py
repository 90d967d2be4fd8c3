"""Two models on the same images: what the new one does better, what worse, beyond noise.

Both are shown the same images, so their differences are taken image by image: what makes an image
hard for both falls out, and the intervals are narrower than those of two audits set side by side.
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
from known_unknowns.auditing.ranking import coverage_at_risk
from known_unknowns.auditing.report import write_json, write_page

COMPARED = ("report.html", "comparison.json")
"""What a comparison leaves in its folder."""
VERDICTS = BETTER, OPEN, WORSE = "better", "no difference shown", "worse"
_HIGHER = {"accuracy": True, "aurc": False, "coverage": True, "auroc": True}


@dataclass(frozen=True)
class Comparison:
    """What a new model does better or worse than an old one.

    Attributes
    ----------
    old, new : str
        What is compared, in words.
    images : int
        Validation images.
    score : str
        Name of the score, the same for both.
    risk : float
        At which the coverage is compared.
    rows : DataFrame
        ``metric`` (accuracy, aurc, coverage at the risk, and the auroc of each ``set`` of unknown
        images), ``old``, ``new``, ``difference`` (new minus old), ``low`` and ``high`` (of its 95 %
        interval, from paired replicates) and ``verdict``, one of `VERDICTS`.
    """

    old: str
    new: str
    images: int
    score: str
    risk: float
    rows: pd.DataFrame

    @property
    def worse(self) -> bool:
        """Whether anything is worse beyond noise."""
        return bool(self.rows["verdict"].eq(WORSE).any())

    def sentences(self) -> list[str]:
        """Return the verdict, then a sentence for each number."""
        counts = self.rows["verdict"].value_counts()
        better, worse = (int(counts.get(verdict, 0)) for verdict in (BETTER, WORSE))
        verdict = "shown to be neither better nor worse in any respect."
        if worse:
            verdict = f"worse in {worse} of {len(self.rows)} respects, and better in "
            verdict += f"{better}." if better else "none."
        elif better:
            verdict = f"better in {better} of {len(self.rows)} respects, and worse in none."
        first = f"On {self.images} images the new model is {verdict}"
        return [first, *map(self._sentence, self.rows.itertuples())]

    def _sentence(self, row) -> str:
        old, new = 100 * row.old, 100 * row.new
        difference, low, high = (100 * part for part in (row.difference, row.low, row.high))
        change = f"{difference:+.1f} points ({low:+.1f} to {high:+.1f})".replace("-", "−")
        return f"{self._title(row)}: {old:.1f} to {new:.1f} %, {change}: {row.verdict}."

    def _title(self, row) -> str:
        return {
            "accuracy": "Accuracy",
            "aurc": "AURC (lower is better)",
            "coverage": f"Share of answers kept with {100 * self.risk:g} % of them wrong",
            "auroc": f"AUROC on {row.set}",
        }[row.metric]

    def as_dict(self) -> dict:
        """Return the comparison as JSON holds it."""
        names = ("old", "new", "images", "score", "risk")
        more = {"worse": self.worse, "sentences": self.sentences()}
        numbers = {name: getattr(self, name) for name in names} | more
        return {"version": __version__} | numbers | {"rows": self.rows.to_dict("records")}

    def save(self, folder: str | os.PathLike) -> list[Path]:
        """Write `COMPARED`, and return what was written."""
        page, numbers = (Path(folder) / name for name in COMPARED)
        columns = ["old", "new", "difference", "low", "high", "verdict"]
        cells = self.rows[columns].itertuples(index=False)
        titles = map(self._title, self.rows.itertuples())
        write_page(
            page, "comparison.html", old=self.old, new=self.new, sentences=self.sentences(),
            worse=self.worse, score=scores.create(self.score).info.title,
            table_rows=[(title, *row) for title, row in zip(titles, cells, strict=True)],
        )  # fmt: skip
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
        Of the same images in the same order, from two models with the same classes.
    score : str
        One that both allow.
    risk : float
        Share of wrong answers among those kept, in (0, 1).
    replicates, seed : int
        Of the bootstrap.

    Raises
    ------
    ValueError
        The images, their labels, groups, classes or sets differ, by name; a score that one of the
        two does not allow; a risk outside (0, 1).
    """
    open_share("risk", risk)
    _refuse_others(old, new)
    old, new = (part.one_of_each_group(seed) for part in (old, new))
    known_name("score", score, scores.names())
    counts = {ranking.ID: len(old.validation)} | {name: len(part) for name, part in old.ood.items()}
    weights = {
        name: resample_weights(count, replicates=replicates, seed=seed + place)
        for place, (name, count) in enumerate(counts.items())
    }
    before, after = (_measure(part, score, risk, weights) for part in (old, new))
    rows = []
    for key, (value, replicated) in before.items():
        changed, changed_replicates = after[key]
        ends = np.quantile(changed_replicates - replicated, [0.025, 0.975])
        low, high = (float(end) for end in ends)
        good, bad = (low > 0, high < 0) if _HIGHER[key[0]] else (high < 0, low > 0)
        verdict = BETTER if good else WORSE if bad else OPEN
        rows.append((*key, value, changed, changed - value, low, high, verdict))
    columns = ["metric", "set", "old", "new", "difference", "low", "high", "verdict"]
    table = pd.DataFrame(rows, columns=columns)
    return Comparison(old.source, new.source, len(old.validation), score, risk, table)


def _measure(inputs: Inputs, name: str, risk: float, weights: dict) -> dict:
    """Return each number of one model, with its replicates."""
    usable, left_out = ranking.fitted(inputs, only=name)
    if name not in usable:
        raise ValueError(f"score: {inputs.source} does not allow '{name}': {left_out[name]}")
    known, correct = usable[name].score_samples(inputs.validation), inputs.validation.correct
    drawn, once = weights[ranking.ID], np.ones((1, len(known)), np.uint16)
    kept, kept_replicates = (
        coverage_at_risk(known, correct, drawings, risk) for drawings in (once, drawn)
    )
    numbers = {
        ("accuracy", ""): (float(correct.mean()), weighted_mean(correct.astype(float), drawn)),
        ("aurc", ""): (metrics.aurc(known, correct), weighted_aurc(known, correct, drawn)),
        ("coverage", ""): (float(kept[0]), kept_replicates),
    }
    for ood, outputs in inputs.ood.items():
        unknown = usable[name].score_samples(outputs)
        replicates = weighted_auroc(known, unknown, drawn, weights[ood])
        numbers["auroc", ood] = metrics.auroc(known, unknown), replicates
    return numbers


def _refuse_others(old: Inputs, new: Inputs) -> None:
    """Refuse two models that were not shown the same images."""
    for name, what, count in (
        ("logits", "images", lambda inputs: len(inputs.validation)),
        ("classes", "classes", lambda inputs: inputs.validation.num_classes),
    ):
        if (before := count(old)) != (after := count(new)):
            raise ValueError(f"{name}: {before} {what} in the old file and {after} in the new one")
    pairs = {"labels": (old.validation.labels, new.validation.labels)}
    pairs["class_names"] = old.class_names, new.class_names
    if old.files and new.files:
        pairs["files"] = old.files, new.files
    if old.groups is not None or new.groups is not None:
        pairs["groups"] = tuple(np.asarray(part.groups, dtype=str) for part in (old, new))
    for name, pair in pairs.items():
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
    if only := sorted(set(old.ood) ^ set(new.ood)):
        raise ValueError(
            f"ood: in one of the two files only: {', '.join(only)}; give both the same sets"
        )
    for name, part in old.ood.items():
        if len(part) != (after := len(new.ood[name])):
            raise ValueError(
                f"ood_{name}_logits: {len(part)} images in the old file and {after} in the new one"
            )
