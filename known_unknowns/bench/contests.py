"""The contest: every score on every feature pack, and what a new one is better than."""

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
from helpers.files import atomic_path
from helpers.metrics import ranks
from helpers.report.table import DOWN, UP, Table, categories, mark_best, number
from helpers.scores import Score
from known_unknowns.bench.feature_packs import SIDES, FeaturePack, packs
from known_unknowns.checks import check_score

LEVEL = 0.95
"""Of the intervals of differences."""
_SUFFIXES = ("html", "tex", "csv")
_ABSENT = {"images", "members", "native"}  # what no pack has
_COLUMNS = {("auroc", side): f"AUROC {side} {UP}" for side in SIDES} | {
    ("fpr_at_tpr", side): f"FPR95 {side} {DOWN}" for side in SIDES
}


@dataclass(frozen=True)
class Contest:
    """What came of it.

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
        """Return means over networks and sets, the best near AUROC on top.

        Returns
        -------
        DataFrame of float64
            By score; the columns are pairs of metric and side.
        """
        wide = self.numbers.pivot_table(
            ["auroc", "fpr_at_tpr"], "score", "side", "mean", sort=False
        )
        return wide.sort_values(wide.columns[0], ascending=False, kind="stable")

    def differences(self, entry: str) -> pd.DataFrame:
        """Return what a score is ahead of each other one, in AUROC.

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

    def ranking(self, side: str) -> tuple[pd.Series, float]:
        """Return mean ranks over networks and sets, the best first, and the critical difference.

        Notes
        -----
        Demšar 2006.  Cases are taken as independent; those of one network are not, so that the
        difference is rather too small.
        """
        values = self._areas(side)
        found = ranks.mean_ranks(values, lower_is_better=False).sort_values(kind="stable")
        return found, ranks.critical_difference(values.shape[1], len(values))

    def rank_tests(self) -> list[str]:
        """Say for each side whether ranks tell any scores apart, and what they say of new ones."""
        said = []
        for side in self.numbers["side"].unique():
            values = self._areas(side)
            found, difference = self.ranking(side)
            test = "" if len(values) < 2 else (
                ", Friedman's test that all scores are equally good has p = "
                f"{ranks.friedman(values, lower_is_better=False).f_p_value:.2g}"
            )  # fmt: skip
            told = "".join(
                f"; from {name}, of mean rank {found[name]:.1f}, "
                f"{int((abs(found - found[name]) > difference).sum())} are told apart"
                for name in self.entries
            )
            said.append(
                f"Ranks, {side} images: over {len(values)} pairs of network and set{test}; mean "
                f"ranks differ beyond chance by more than {difference:.1f} (Nemenyi's test){told}."
            )
        return said

    def _areas(self, side: str) -> pd.DataFrame:
        own = self.numbers[self.numbers["side"] == side]
        return own.pivot(index=["network", "test_set"], columns="score", values="auroc")

    def sentences(self, entry: str) -> list[str]:
        """Say for each side where a score stands and how many others it can be told from."""
        means, found = self.means(), self.differences(entry)
        said = []
        for side in found["side"].unique():
            column = means["auroc", side]
            place = int((column > column[entry]).sum()) + 1
            count = found.loc[found["side"] == side, "verdict"].value_counts()
            told = ", ".join(
                f"{word} {count.get(verdict, 0)}"
                for verdict, word in (("better", "better than"), ("worse", "worse than"),
                                      ("not told apart", "not told apart from"))
            )  # fmt: skip
            said.append(
                f"{entry}, {side} images: AUROC {100 * column[entry]:.1f}, place {place} of "
                f"{len(column)}; {told}."
            )
        return said

    def table(self) -> Table:
        """Return the means as a table, in per cent: the best is bold, what is new underlined."""
        means = self.means()
        long = means.stack(level=[0, 1], future_stack=True).rename("mean").reset_index()
        long["column"] = list(zip(long["level_1"], long["side"], strict=True))
        up = long["mean"].where(long["level_1"] == "auroc", -long["mean"])
        cells = long.assign(
            text=[number(100 * one, ".1f") for one in long["mean"]],
            bold=mark_best(up, long["column"].astype(str)),
            underlined=long["score"].isin(self.entries),
            column=categories(long["column"].map(_COLUMNS), _COLUMNS.values()),
            score=categories(long["score"], [*means.index]),
        )
        caption = (
            f"Means over {self.numbers['test_set'].nunique()} sets of unknown images and over the "
            f"networks {', '.join(self.numbers['network'].unique())}, per cent."
        )
        flat = means.set_axis([f"{metric}_{side}" for metric, side in means.columns], axis=1)
        return Table(
            cells, ["score"], ["column"], name="contest", caption=caption, data=flat.reset_index()
        )

    def difference_table(self, entry: str) -> Table:
        """Return what a score is ahead of the others, in points; bold where it is told apart."""
        found = self.differences(entry)
        parts = (found[one].map(lambda value: number(100 * value, "+.1f"))
                 for one in ("ahead", "low", "high"))  # fmt: skip
        cells = found.assign(
            text=[f"{ahead} [{low}, {high}]" for ahead, low, high in zip(*parts, strict=True)],
            bold=found["verdict"] != "not told apart",
            side=found["side"] + " images",
        )
        caption = (
            f"By how many points of AUROC {entry} is ahead, with paired 95 % intervals for other "
            "images of these sets, on these networks; bold where they leave 0 out."
        )
        return Table(cells, ["other"], ["side"], name="ahead", caption=caption, data=found)

    def write(self, folder: str | os.PathLike) -> Path:
        """Write `files_of`: tables, figures, and a page of all this; return the page's path."""
        from matplotlib import pyplot as plt

        from helpers.report.figures import critical_difference, use_style

        folder = Path(folder)
        table = self.table()
        for suffix in _SUFFIXES:
            table.write(folder / f"table.{suffix}")
        said = [line for name in self.entries for line in self.sentences(name)]
        blocks = [f"<p>{html.escape(one)}</p>" for one in [*said, *self.rank_tests()]]
        blocks.append(table.html())
        for side in self.numbers["side"].unique():
            drawn = io.StringIO()
            with plt.rc_context():  # whoever calls this keeps a look of their own
                use_style()
                ax = critical_difference(*self.ranking(side))
                ax.set_title(f"Mean ranks, {side} images")
                ax.figure.savefig(drawn, format="svg")
                plt.close(ax.figure)
            picture = drawn.getvalue()
            with atomic_path(folder / f"ranks_{side}.svg") as path:
                path.write_text(picture, encoding="utf-8")
            blocks.append(picture[picture.index("<svg") :])
        for name in self.entries:
            found = self.difference_table(name)
            found.write(folder / f"differences_{name}.csv")
            blocks.append(found.html())
        page = _PAGE.format(body="\n".join(blocks))
        with atomic_path(folder / "index.html") as path:
            path.write_text(page, encoding="utf-8")
        return folder / "index.html"


def files_of(entries: Iterable[str]) -> set[str]:
    """Return the names of the files that `Contest.write` writes at most."""
    files = {"index.html", *(f"table.{suffix}" for suffix in _SUFFIXES)}
    files |= {f"ranks_{side}.svg" for side in SIDES}
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
    """Let new scores meet all others that need neither images nor members.

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

    Raises
    ------
    AssertionError
        An entry breaks the contract of a score; says which check, where, and the smallest case.
    ValueError
        An entry has the name of another score, needs what no pack has, or cannot be fitted.
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
    """Fit a score to a pack's training images; return what it says of the others, by place."""
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
    """Return the scores that a Python file registers, by name.  The file is executed.

    Raises
    ------
    FileNotFoundError
        No such file.
    ValueError
        It registers no score.
    """
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
