"""The contest: every score on every feature pack, and which scores a new score beats."""

from __future__ import annotations

import html
import importlib.util
import io
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from helpers import metrics, scores
from helpers.metrics import ranks
from helpers.report.table import DOWN, UP
from helpers.scores import Score
from known_unknowns.bench.feature_packs import SIDES, FeaturePack, packs
from known_unknowns.checks import check_score

LEVEL = 0.95
"""Of the intervals of differences."""
_ABSENT = {"images", "members", "native"}  # what no pack has
_COLUMNS = {("auroc", side): f"AUROC {side} {UP}" for side in SIDES} | {
    ("fpr_at_tpr", side): f"FPR95 {side} {DOWN}" for side in SIDES
}


@dataclass(frozen=True)
class Contest:
    """The results of a contest.

    Attributes
    ----------
    numbers : DataFrame
        One row per score, network and set of unknown images: ``score``, ``network``, ``side``
        ("near", "far"), ``test_set``, ``auroc``, ``fpr_at_tpr`` (in [0, 1], known images kept),
        and ``bootstrap``, replicates of the AUROC, whose images are those of all scores.
    entries : tuple of str
        The new scores among them.
    """

    numbers: pd.DataFrame
    entries: tuple[str, ...]

    def means(self) -> pd.DataFrame:
        """Return means over networks and sets, the best near AUROC on top."""
        wide = self.numbers.pivot_table(
            ["auroc", "fpr_at_tpr"], "score", "side", "mean", sort=False
        )
        return wide.sort_values(wide.columns[0], ascending=False, kind="stable")

    def differences(self, entry: str) -> pd.DataFrame:
        """Return the difference in AUROC between a score and each other score.

        Returns
        -------
        DataFrame
            One row per side and other score: ``side``, ``other``, ``ahead`` (mean over networks and
            sets), ``low``, ``high`` (95 % interval for other images of these sets, on these
            networks) and ``verdict``: "better", "worse" or "not told apart".
        """
        rows = []
        for side, own in self.numbers.groupby("side", sort=False):
            values = own.pivot(
                index=["network", "test_set"], columns="score", values="auroc"
            ).mean()
            drawn = own.groupby("score")["bootstrap"].agg(lambda one: np.mean(one.tolist(), axis=0))
            for other in values.index.drop(entry):
                ahead = values[entry] - values[other]
                noise = drawn[entry] - drawn[other]
                low, high = np.quantile(noise, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
                verdict = "better" if low > 0 else "worse" if high < 0 else "not told apart"
                columns = {"side": side, "other": other, "ahead": ahead, "low": low, "high": high}
                rows.append(columns | {"verdict": verdict})
        return pd.DataFrame(rows)

    def ranking(self, side: str) -> tuple[pd.Series, float, int]:
        """Return mean ranks, the best first, Nemenyi's critical difference, and the cases.

        A case is a pair of network and set.
        """
        numbers = self.numbers[self.numbers["side"] == side]
        areas = numbers.pivot(index=["network", "test_set"], columns="score", values="auroc")
        order = ranks.mean_ranks(areas, lower_is_better=False).sort_values(kind="stable")
        return order, ranks.critical_difference(areas.shape[1], len(areas)), len(areas)

    def rank_tests(self) -> list[str]:
        """Return a sentence for each side: which mean ranks differ significantly."""
        lines = []
        for side in self.numbers["side"].unique():
            order, difference, cases = self.ranking(side)
            apart = "".join(
                f"; {int((abs(order - order[name]) > difference).sum())} differ by that from "
                f"{name}, of mean rank {order[name]:.1f}"
                for name in self.entries
            )
            lines.append(
                f"Ranks, {side} images: over {cases} pairs of network and set; mean ranks differ "
                f"beyond chance by more than {difference:.1f} (Nemenyi's test){apart}."
            )
        return lines

    def sentences(self, entry: str) -> list[str]:
        """Return a sentence for each side: the place of a score, and which scores it beats."""
        means, differences = self.means(), self.differences(entry)
        lines = []
        for side, rows in differences.groupby("side", sort=False):
            column, count = means["auroc", side], rows["verdict"].value_counts()
            place = int((column > column[entry]).sum()) + 1
            lines.append(
                f"{entry}, {side} images: AUROC {100 * column[entry]:.1f}, place {place} of "
                f"{len(column)}; better than {count.get('better', 0)}, worse than "
                f"{count.get('worse', 0)}, not told apart from {count.get('not told apart', 0)}."
            )
        return lines

    def write(self, folder: str | os.PathLike) -> Path:
        """Write `files_of`: tables, figures, and a page of all this; return the page's path."""
        from matplotlib import pyplot as plt

        from helpers.report.figures import critical_difference, use_style

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        means = self.means()
        flat = means.set_axis([f"{metric}_{side}" for metric, side in means.columns], axis=1)
        flat.to_csv(folder / "table.csv")
        lines = [line for name in self.entries for line in self.sentences(name)]
        blocks = [f"<p>{html.escape(line)}</p>" for line in [*lines, *self.rank_tests()]]
        blocks.append(
            (100 * means)
            .set_axis([_COLUMNS[column] for column in means.columns], axis=1)
            .rename({name: f"{name} (new)" for name in self.entries})
            .to_html(float_format="{:.1f}".format)
        )
        for side in self.numbers["side"].unique():
            drawn = io.StringIO()
            with plt.rc_context():  # the caller's style stays
                use_style()
                ax = critical_difference(*self.ranking(side)[:2])
                ax.set_title(f"Mean ranks, {side} images")
                ax.figure.savefig(drawn, format="svg")
                plt.close(ax.figure)
            picture = drawn.getvalue()
            (folder / f"ranks_{side}.svg").write_text(picture, encoding="utf-8")
            blocks.append(picture[picture.index("<svg") :])
        for name in self.entries:
            differences = self.differences(name)
            differences.to_csv(folder / f"differences_{name}.csv", index=False)
            points = 100 * differences.set_index(["other", "side"])[["ahead", "low", "high"]]
            verdicts = differences.set_index(["other", "side"])["verdict"]
            blocks.append(f"<p>{name} is ahead by, in points of AUROC, with 95 % intervals:</p>")
            blocks.append(points.join(verdicts).to_html(float_format="{:+.1f}".format))
        page = _PAGE.format(body="\n".join(blocks))
        (folder / "index.html").write_text(page, encoding="utf-8")
        return folder / "index.html"


def files_of(entries: Iterable[str]) -> set[str]:
    """Return the names of the files that `Contest.write` writes at most."""
    files = {"index.html", "table.csv", *(f"ranks_{side}.svg" for side in SIDES)}
    return files | {f"differences_{name}.csv" for name in entries}


_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Scores compared</title>
<style>body {{ font-family: sans-serif; max-width: 50em; margin: 2em auto; padding: 0 1em; }}
svg {{ max-width: 100%; height: auto; }} table {{ display: block; overflow-x: auto; }}</style>
</head><body><h1>Scores compared</h1>
{body}
</body></html>
"""


def contest(
    entries: Mapping[str, Score] | None = None,
    given: Iterable[FeaturePack] | None = None,
    *,
    replicates: int = 200,
    seed: int = 0,
    tell: Callable[[str], None] = lambda line: None,
) -> Contest:
    """Compare new scores with all scores that need neither images nor members.

    Parameters
    ----------
    entries : mapping of str to Score, optional
        By name; each must keep to what `known_unknowns.checks.check_score` asks of a score.
    given : iterable of FeaturePack, optional
        By default those that come with the package.
    replicates, seed : int
        Of the bootstrap over images, the same draws for all scores.
    tell : callable
        Is told what is being done, a line at a time.
    """
    entries = dict(entries or {})
    others = [name for name in scores.names() if name not in entries and _fits(scores.create(name))]
    for name, score in entries.items():
        if missing := _ABSENT.intersection(score.info.needs):
            raise ValueError(
                f"{name}: a score of logits, features and head expected; it needs {min(missing)}, "
                "which no feature pack has"
            )
        tell(f"checks {name}")
        check_score(type(score) if name in scores.names() else score)
    given = list(packs() if given is None else given)
    rows = []
    for turn, pack in enumerate(given, 1):
        count = len(others) + len(entries)
        tell(f"{pack.name}: {count} scores (network {turn} of {len(given)})")
        weights = {
            place: metrics.resample_weights(len(one), replicates=replicates, seed=seed + order)
            for order, (place, one) in enumerate(pack.parts.items())
            if place != "train"
        }
        for name in [*entries, *others]:
            score = entries.get(name) or scores.create_as_published(name, pack.id_set)
            rows += _measure(name, score, pack, weights)
    return Contest(pd.DataFrame(rows), tuple(entries))


def _fits(score: Score) -> bool:
    return not _ABSENT.intersection(score.info.needs)


def values_on(pack: FeaturePack, score: Score) -> dict[str, np.ndarray]:
    """Return the scores of a pack's images by place, fitted to its training images."""
    if score.info.fits:
        score.fit(pack.train, pack.head)
    return {
        place: score.score_samples(one) for place, one in pack.parts.items() if place != "train"
    }


def _measure(name: str, score: Score, pack: FeaturePack, weights: Mapping) -> list[dict]:
    try:
        values = values_on(pack, score)
    except ValueError as error:
        raise ValueError(f"{name} on {pack.name}: {error}") from error
    known, rows = values.pop("test"), []
    for place, unknown in values.items():
        side, _, test_set = place.partition("/")
        drawn = metrics.weighted_auroc(known, unknown, weights["test"], weights[place])
        columns = {"score": name, "network": pack.name, "side": side, "test_set": test_set}
        columns |= {"auroc": metrics.auroc(known, unknown)}
        columns |= {"fpr_at_tpr": metrics.fpr_at_tpr(known, unknown)}
        rows.append(columns | {"bootstrap": drawn})
    return rows


def entries_of(path: str | os.PathLike) -> dict[str, Score]:
    """Return the scores that a Python file registers, by name.  The file is executed."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    before = set(scores.names())
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # where classes look for their own module
    spec.loader.exec_module(module)
    found = [name for name in scores.names() if name not in before]
    if not found:
        raise ValueError(
            f"{path}: it registers no score; put @helpers.scores.register above a class with an "
            "info (helpers.scores.info.Info) and score_samples"
        )
    return {name: scores.create(name) for name in found}
