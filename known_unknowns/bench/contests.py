"""The contest: every score on every feature pack, and which scores a new score beats."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import jinja2
import numpy as np
import pandas as pd

from helpers import metrics, scores
from helpers.metrics import ranks
from helpers.scores import Score
from known_unknowns import LOOK
from known_unknowns.bench.feature_packs import SIDES, FeaturePack, packs
from known_unknowns.checks import check_score
from known_unknowns.scores import of_function

#: Level of the intervals of differences.
LEVEL = 0.95
VERDICTS = ("better", "worse", "not told apart")
_ABSENT = {"images", "members", "native"}  # needs that no pack can meet
_TITLES = {"auroc": "AUROC {} ↑", "fpr_at_tpr": "FPR95 {} ↓"}


@dataclass(frozen=True)
class Contest:
    """The results of a contest.

    Attributes
    ----------
    numbers : DataFrame
        One row per score, network and set of unknown images: ``score``, ``network``, ``side``
        ("near", "far"), ``test_set``, ``auroc``, ``fpr_at_tpr`` (in [0, 1], known images kept),
        and ``bootstrap``, replicates of the AUROC with the same images for all scores.
    entries : tuple of str
        Names of the new scores.
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

        One row per side and other score: ``ahead`` is the mean over networks and sets, ``low`` and
        ``high`` are the 95 % interval for new images of these sets, ``verdict`` is in `VERDICTS`.
        """
        rows = []
        for side, of_side in self.numbers.groupby("side", sort=False):
            places = ["network", "test_set"]
            values = of_side.pivot(index=places, columns="score", values="auroc").mean()
            drawn = of_side.groupby("score")["bootstrap"].agg(lambda o: np.mean(o.tolist(), axis=0))
            for other in values.index.drop(entry):
                ends = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
                low, high = np.quantile(drawn[entry] - drawn[other], ends)
                ahead = values[entry] - values[other]
                rows.append((side, other, ahead, low, high, _verdict(low, high)))
        return pd.DataFrame(rows, columns=["side", "other", "ahead", "low", "high", "verdict"])

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
        """Return a sentence for each side: the rank of a score, and which scores it beats."""
        means = self.means()["auroc"]
        lines = []
        for side, rows in self.differences(entry).groupby("side", sort=False):
            column = means[side]
            count = rows["verdict"].value_counts()
            better, worse, apart = (count.get(verdict, 0) for verdict in VERDICTS)
            lines.append(
                f"{entry}, {side} images: AUROC {100 * column[entry]:.1f}, place "
                f"{int((column > column[entry]).sum()) + 1} of {len(column)}; better than "
                f"{better}, worse than {worse}, not told apart from {apart}."
            )
        return lines

    def write(self, folder: str | os.PathLike) -> Path:
        """Write the tables, figures and page of `files_of`, and return the page's path."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        means = self.means()
        names = [f"{metric}_{side}" for metric, side in means.columns]
        means.set_axis(names, axis=1).to_csv(folder / "table.csv")
        pictures = []
        for side in self.numbers["side"].unique():
            file = folder / f"ranks_{side}.svg"
            order, difference, _ = self.ranking(side)
            _draw_ranks(order, difference, f"Mean ranks, {side} images", file)
            pictures.append(file.read_text(encoding="utf-8"))
        differences = {}
        for name in self.entries:
            table = self.differences(name)
            table.to_csv(folder / f"differences_{name}.csv", index=False)
            table = table.set_index(["other", "side"])
            differences[name] = (100 * table.drop(columns="verdict")).join(table["verdict"])
        template = jinja2.Template(Path(__file__).with_name("page.jinja").read_text("utf-8"))
        titles = [_TITLES[metric].format(side) for metric, side in means.columns]
        lines = [line for name in self.entries for line in self.sentences(name)]
        page = template.render(
            lines=lines + self.rank_tests(),
            means=(100 * means)
            .set_axis(titles, axis=1)
            .rename({name: f"{name} (new)" for name in self.entries}),
            pictures=pictures,
            differences=differences,
        )
        (folder / "index.html").write_text(page, encoding="utf-8")
        return folder / "index.html"


def _verdict(low: float, high: float) -> str:
    """Return the verdict in `VERDICTS` on a difference with this interval."""
    better, worse, unclear = VERDICTS
    if low > 0:
        return better
    return worse if high < 0 else unclear


def _draw_ranks(ranks: pd.Series, difference: float, title: str, file: Path) -> None:
    """Draw sorted mean ranks with bars as long as the critical difference.

    Bars of two scores that do not differ overlap (Demšar 2006, section 3.2.2).
    """
    from matplotlib import pyplot as plt

    with plt.style.context(LOOK):  # the caller's style does not change
        figure, ax = plt.subplots(figsize=(6, 0.25 * len(ranks) + 1.1))
        rows = range(len(ranks))
        ax.errorbar(ranks, rows, xerr=difference / 2, fmt="o", elinewidth=2.5, markersize=5)
        best = ranks.iloc[0]
        ends = best - difference / 2, best + difference / 2
        ax.axvspan(*ends, color="#666666", alpha=0.15, linewidth=0)
        names = [f"{name}  {rank:.2f}" for name, rank in ranks.items()]
        ax.set_yticks(range(len(ranks)), names)
        ax.set(ylim=(len(ranks) - 0.5, -0.5), title=title)
        ax.set_xlabel(f"mean rank (1 is best); critical difference {difference:.2f}")
        figure.savefig(file)
        plt.close(figure)


def files_of(entries: Iterable[str]) -> set[str]:
    """Return the names of all files that `Contest.write` may write."""
    ranks_files = {f"ranks_{side}.svg" for side in SIDES}
    return (
        {"index.html", "table.csv"} | ranks_files | {f"differences_{name}.csv" for name in entries}
    )


def contest(
    entries: Mapping[str, Score] | None = None,
    given: Iterable[FeaturePack] | None = None,
    *,
    replicates: int = 200,
    seed: int = 0,
    tell: Callable[[str], None] = lambda line: None,
) -> Contest:
    """Compare new scores with all scores that do not need images or members.

    Parameters
    ----------
    entries : mapping of str to Score, optional
        New scores by name; each must pass `known_unknowns.checks.check_score`.
    given : iterable of FeaturePack, optional
        Packs; by default the packs in this package.
    replicates, seed : int
        Bootstrap over images, with the same draws for all scores.
    tell : callable
        Function that receives a line about the progress.
    """
    entries = dict(entries or {})
    for name, score in entries.items():
        if missing := _ABSENT.intersection(score.info.needs):
            raise ValueError(
                f"{name}: a score of logits, features and head expected; it needs {min(missing)}, "
                "which no feature pack has"
            )
        tell(f"checks {name}")
        check_score(type(score) if name in scores.names() else score)
    others = [name for name in scores.names() if name not in entries]
    others = [name for name in others if _ABSENT.isdisjoint(scores.create(name).info.needs)]
    given = list(packs() if given is None else given)
    rows = []
    for turn, pack in enumerate(given, 1):
        count = len(others) + len(entries)
        tell(f"{pack.name}: {count} scores (network {turn} of {len(given)})")
        weights = {
            part: metrics.resample_weights(len(outputs), replicates=replicates, seed=seed + order)
            for order, (part, outputs) in enumerate(pack.parts.items())
            if part != "train"
        }
        for name in [*entries, *others]:
            rows += _rows(name, entries.get(name, name), pack, weights)
    return Contest(pd.DataFrame(rows), tuple(entries))


def _rows(
    name: str, score: Score | str, pack: FeaturePack, weights: Mapping[str, np.ndarray]
) -> list[dict]:
    """Return the rows of `Contest.numbers` of a score on a pack."""
    try:
        values = values_on(pack, score)
    except ValueError as error:
        raise ValueError(f"{name} on {pack.name}: {error}") from error
    known = values.pop("test")
    rows = []
    for part, unknown in values.items():
        side, _, test_set = part.partition("/")
        drawn, _ = metrics.weighted_detection(known, unknown, weights["test"], weights[part])
        rows.append(
            {
                "score": name,
                "network": pack.name,
                "side": side,
                "test_set": test_set,
                "auroc": metrics.auroc(known, unknown),
                "fpr_at_tpr": metrics.fpr_at_tpr(known, unknown),
                "bootstrap": drawn,
            }
        )
    return rows


def bench(
    score: Score | Callable[..., np.ndarray],
    given: Iterable[FeaturePack] | None = None,
    **options,
) -> Contest:
    """Compare a new score with all scores that do not need images or members.

    Parameters
    ----------
    score : Score or callable
        New score, not fitted; it need not be registered.  Or a function of ``logits``, of
        ``features``, or of both.
    given, **options
        As in `contest`.

    Examples
    --------
    ``bench(MyScore()).means()`` has the mean AUROC of each score.  A score of images is refused:

    >>> bench(scores.create("odin"))
    Traceback (most recent call last):
        ...
    ValueError: odin: a score of logits, features and head expected; it needs images, which no \
feature pack has
    """
    new = cast("Score", score) if hasattr(score, "score_samples") else of_function(score)()
    return contest({new.info.name: new}, given, **options)


def values_on(pack: FeaturePack, score: Score | str) -> dict[str, np.ndarray]:
    """Return the scores of a pack's images by place, after a fit to its training images.

    A name is a score with its authors' hyper-parameters.
    """
    if isinstance(score, str):
        score = scores.create_as_published(score, pack.id_set, len(pack.train))
    if score.info.fits:
        score.fit(pack.train, pack.head)
    return {
        part: score.score_samples(outputs)
        for part, outputs in pack.parts.items()
        if part != "train"
    }


def entries_of(path: str | os.PathLike) -> dict[str, Score]:
    """Return the scores that a Python file registers, by name.  The file is executed."""
    path = Path(path)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if not (path.is_file() and path.suffix == ".py" and spec and spec.loader):
        raise FileNotFoundError(f"{path}: a Python file (.py) with a score expected here")
    before = set(scores.names())
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # classes look for their module here
    try:
        spec.loader.exec_module(module)
    except SyntaxError:
        raise
    except (Exception, SystemExit) as error:
        raise ValueError(f"{path}: it ends with {type(error).__name__}: {error}") from error
    names = [name for name in scores.names() if name not in before]
    if not names:
        raise ValueError(
            f"{path}: it registers no score; put @known_unknowns.scores.score above a function of "
            "logits, or @known_unknowns.scores.register above a class with an info "
            "(known_unknowns.scores.Info) and score_samples"
        )
    return {name: scores.create(name) for name in names}
