"""Two models on the same images: what the new one does better, what worse, beyond noise.

Both are shown the same images, so their differences are taken image by image: what makes an image
hard for both falls out, and the intervals are narrower than those of two audits set side by side.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd

from helpers import __version__, metrics, scores
from helpers.checks import known_name, open_share
from helpers.files import atomic_path
from helpers.metrics import resample_weights, weighted_aurc, weighted_auroc, weighted_mean
from known_unknowns.auditing import ranking
from known_unknowns.auditing.inputs import Inputs
from known_unknowns.auditing.wished import coverage_at_risk

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
        """Return what was found, the verdict first, then a sentence for each number."""
        counts = self.rows["verdict"].value_counts()
        better, worse = (int(counts.get(one, 0)) for one in (BETTER, WORSE))
        said = f"On {self.images} images the new model is"
        if worse:
            first = f"{said} worse in {worse} of {len(self.rows)} respects"
            first += f", and better in {better}." if better else ", and better in none."
        elif better:
            first = f"{said} better in {better} of {len(self.rows)} respects, and worse in none."
        else:
            first = f"{said} shown to be neither better nor worse in any respect."
        return [first, *map(self._sentence, self.rows.itertuples())]

    def _sentence(self, row) -> str:
        old, new, difference, low, high = (
            100 * one for one in (row.old, row.new, row.difference, row.low, row.high)
        )
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
        """Return what was found as JSON holds it."""
        return {
            "version": __version__,
            "old": self.old,
            "new": self.new,
            "images": self.images,
            "score": self.score,
            "risk": self.risk,
            "worse": self.worse,
            "sentences": self.sentences(),
            "rows": self.rows.to_dict("records"),
        }

    def save(self, folder: str | os.PathLike) -> list[Path]:
        """Write `COMPARED`, and return what was written."""
        paths = [Path(folder) / name for name in COMPARED]
        said = json.dumps(self.as_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        for path, text in zip(paths, (self.page(), said), strict=True):
            with atomic_path(path) as temporary:
                temporary.write_text(text, encoding="utf-8")
        return paths

    def page(self) -> str:
        """Return a page that needs nothing beside it."""
        from known_unknowns.auditing.page import document, table, to_html

        first, *others = self.sentences()
        shown = [
            (
                self._title(row),
                *(float(one) for one in (row.old, row.new, row.difference, row.low, row.high)),
                row.verdict,
            )
            for row in self.rows.itertuples()
        ]
        head = ("number", "old", "new", "difference", "from", "to", "verdict")
        heading = f"Is {self.new} better than {self.old}?"
        advice = (
            "Keep the old model, unless what is worse does not matter to you."
            if self.worse
            else "Take the new model if it is better in what matters to you, and audit it: "
            "thresholds and promises are those of one model, and the old rejector does not fit it."
        )
        body = [
            f"<h1>{escape(heading)}</h1>",
            f"<p><b>{to_html(first)}</b></p>",
            "<ul>" + "".join(f"<li>{to_html(one)}</li>" for one in others) + "</ul>",
            f"<p class=advice><b>What to do.</b> {to_html(advice)}</p>",
            table(head, shown),
            f"<p>The score is {escape(scores.create(self.score).info.title)} for both. Intervals "
            "are of 95 %, each on its own: of forty models that are as good as the old one, about "
            "one looks worse in any one respect.</p>",
            f"<footer>Known Unknowns {__version__}. Every number of this page is in "
            "comparison.json.</footer>",
        ]
        return document(heading, "\n".join(body))


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
    old, new = (one.one_of_each_group(seed) for one in (old, new))
    known_name("score", score, scores.names())
    counts = {ranking.ID: len(old.validation)} | {name: len(one) for name, one in old.ood.items()}
    weights = {
        name: resample_weights(count, replicates=replicates, seed=seed + place)
        for place, (name, count) in enumerate(counts.items())
    }
    ours, theirs = (_measure(one, score, risk, weights) for one in (old, new))
    rows = []
    for key, (before, drawn) in ours.items():
        after, again = theirs[key]
        low, high = (float(end) for end in np.quantile(again - drawn, [0.025, 0.975]))
        good, bad = (low > 0, high < 0) if _HIGHER[key[0]] else (high < 0, low > 0)
        verdict = BETTER if good else WORSE if bad else OPEN
        rows.append((*key, before, after, after - before, low, high, verdict))
    columns = ["metric", "set", "old", "new", "difference", "low", "high", "verdict"]
    table = pd.DataFrame(rows, columns=columns)
    return Comparison(old.source, new.source, len(old.validation), score, risk, table)


def _measure(inputs: Inputs, name: str, risk: float, weights: dict) -> dict:
    """Return each number of one model, with its replicates."""
    usable, left_out = ranking.fitted(inputs, only=name)
    if name not in usable:
        raise ValueError(f"score: {inputs.source} does not allow '{name}': {left_out[name]}")
    known, correct = usable[name].score_samples(inputs.validation), inputs.validation.correct
    own, once = weights[ranking.ID], np.ones((1, len(known)), np.uint16)
    found = {
        ("accuracy", ""): (float(correct.mean()), weighted_mean(correct.astype(float), own)),
        ("aurc", ""): (metrics.aurc(known, correct), weighted_aurc(known, correct, own)),
        ("coverage", ""): (
            float(coverage_at_risk(known, correct, once, risk)[0]),
            coverage_at_risk(known, correct, own, risk),
        ),
    }
    for one, outputs in inputs.ood.items():
        unknown = usable[name].score_samples(outputs)
        drawn = weighted_auroc(known, unknown, own, weights[one])
        found["auroc", one] = metrics.auroc(known, unknown), drawn
    return found


def _refuse_others(old: Inputs, new: Inputs) -> None:
    """Refuse two models that were not shown the same images."""
    for name, ours, theirs in (
        ("logits", len(old.validation), len(new.validation)),
        ("classes", old.validation.num_classes, new.validation.num_classes),
    ):
        if ours != theirs:
            what = "images" if name == "logits" else "classes"
            raise ValueError(f"{name}: {ours} {what} in the old file and {theirs} in the new one")
    pairs = [
        ("labels", old.validation.labels, new.validation.labels),
        ("class_names", old.class_names, new.class_names),
    ]
    if old.files and new.files:
        pairs.append(("files", old.files, new.files))
    if old.groups is not None or new.groups is not None:
        pairs.append(("groups", *(np.asarray(one.groups, dtype=str) for one in (old, new))))
    for name, ours, theirs in pairs:
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        if ours.shape != theirs.shape:
            raise ValueError(f"{name}: in one of the two files only; give them in both")
        if places := np.flatnonzero(ours != theirs).tolist():
            raise ValueError(
                f"{name}: different in {len(places)} of {len(ours)} rows, the first one {places[0]}"
                f" ('{ours[places[0]]}' in the old file, '{theirs[places[0]]}' in the new one); "
                "show both models the same images in the same order"
            )
    if set(old.ood) != set(new.ood):
        only = ", ".join(sorted(set(old.ood) ^ set(new.ood)))
        raise ValueError(f"ood: in one of the two files only: {only}; give both the same sets")
    for name, one in old.ood.items():
        if len(one) != len(new.ood[name]):
            raise ValueError(
                f"ood_{name}_logits: {len(one)} images in the old file and {len(new.ood[name])} in "
                "the new one"
            )
