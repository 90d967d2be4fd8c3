"""By how much predictions of the chapter are better than a constant, from a results table alone.

The constant is the mean of the metric over the sets that teach.  Both these and the sets that test
have their true metrics in every results table, so that older ones have a skill too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from helpers.labelfree import PREDICTED, describe_skill, fit_regression, skill_of_errors
from helpers.report.table import MINUS

METRIC_TITLES = {
    "detection_error": "detection error",
    "fpr95": "FPR95",
    "fpr80": "FPR80",
    "fpr60": "FPR60",
    "auroc": "AUROC",
    "aupr": "AUPR",
}
"""The metrics that are predicted, in the order of the paper's Table 4, and how they are called."""

_PLACE = ["data_set", "backbone", "variant", "detector", "evaluator", "metric"]
KEY = ["data_set", "backbone", "run", "test_set", "detector", "metric"]
COLUMNS = [*dict.fromkeys([*KEY, *_PLACE]), "error", "guessed", "row"]
CONSTANT = "constant"
"""What the rows of the constant are called: ``DETECTOR/constant``."""


def set_errors(
    table: pd.DataFrame,
    metrics: Sequence[str] = PREDICTED,
    variants: Sequence[str] = ("primary",),
) -> pd.DataFrame:
    """Return how far every prediction is off, and the constant beside it, set by set."""
    names = table["method"].str.partition("/")
    table = table.assign(detector=names[0], evaluator=names[2])
    found = [pd.DataFrame(columns=COLUMNS)]
    for (data_set, backbone), own in table.groupby(["data_set", "backbone"], sort=False):
        said = own[own["metric"].str.startswith("predicted_")]
        said = said[said["variant"].isin(variants)]
        tested = said[said["variant"] == "primary"].groupby("run")["test_set"].agg(set)
        of_sets = own[own["variant"].isin(["meta", "test"])]
        for detector, rows in of_sets.groupby("detector", sort=False):
            stored = said[said["detector"] == detector]
            errors = _of_detector(rows, stored, tested.to_dict(), metrics)
            errors = errors.assign(data_set=data_set, backbone=backbone, detector=detector)
            found.append(errors[COLUMNS])
    found = [one for one in found if len(one)] or found[:1]
    return pd.concat(found, ignore_index=True)


def _of_detector(
    rows: pd.DataFrame, stored: pd.DataFrame, tested: Mapping[int, set], metrics: Sequence[str]
) -> pd.DataFrame:
    """Return the errors of a detector's predictions, of those that are stored and of lines.

    Metric by metric and run by run, in arrays: tables are asked for these by the thousand.
    """
    wide = rows.pivot(index="test_set", columns=["evaluator", "metric", "variant"], values="value")
    ids = rows[(rows["variant"] == "test") & (rows["evaluator"] == "")]
    ids = ids.pivot(index="test_set", columns="metric", values="row").reindex(wide.index)
    columns = dict(zip(wide, wide.to_numpy(float).T, strict=True))
    lines = [one for one, metric, part in columns if (metric, part) == ("gscore", "meta")]
    lines = [one for one in lines if (one, "gscore", "test") in columns]
    kinds = {run: ~wide.index.isin(sets) for run, sets in tested.items()}
    said = {name: stored[name].to_numpy() for name in ("variant", "evaluator", "value")}
    said = {"place": wide.index.get_indexer(stored["test_set"])} | said
    predicts, of_run = stored["metric"].to_numpy(), stored["run"].to_numpy()
    found = []
    for metric in (one for one in metrics if ("", one, "test") in columns):
        known, asked = (columns["", metric, part] for part in ("meta", "test"))
        ready = predicts == f"predicted_{metric}"
        there = set(said["evaluator"][ready & (said["variant"] == "primary")])
        for run, learnt in kinds.items():
            parts = [[one[ready & (of_run == run)] for one in said.values()]]
            for one in (one for one in lines if one not in there):
                meta, test = (columns[one, "gscore", part] for part in ("meta", "test"))
                parts.append(_by_a_line(one, meta, test, known, learnt))
            place, variant, evaluator, value = map(np.concatenate, zip(*parts, strict=True))
            right = np.append(asked, np.nan)[place]  # nothing is known of the place -1
            found.append({
                "place": place, "variant": variant, "evaluator": evaluator,
                "run": np.full(len(place), run), "metric": np.full(len(place), metric, object),
                "error": value - right, "guessed": known[learnt].mean() - right,
                "row": np.append(ids[metric].to_numpy(object), None)[place],
            })  # fmt: skip
    if not any(len(one["place"]) for one in found):
        return pd.DataFrame(columns=COLUMNS)
    joined = pd.DataFrame({name: np.concatenate([one[name] for one in found]) for name in found[0]})
    names = wide.index.to_numpy()[joined["place"]]
    return joined.assign(test_set=names)


def _by_a_line(evaluator: str, meta, test, truths, learnt: np.ndarray) -> list[np.ndarray]:
    """Return what the line of one division says of the sets that it does not learn from."""
    try:
        line = fit_regression(meta[learnt, None], truths[learnt], [0.0])
    except ValueError:  # the same Gscore for all sets: the table says so of its own regressions
        return [np.empty(0, int), *np.empty((2, 0), object), np.empty(0)]
    place = np.flatnonzero(~learnt)
    names = (np.full(len(place), one, object) for one in ("primary", evaluator))
    return [place, *names, line.predict(test[place])]


def skills(errors: pd.DataFrame, *, level: float = 0.95) -> pd.DataFrame:
    """Return the skill of every evaluator, for each network."""
    squares = errors.assign(error=errors["error"] ** 2, guessed=errors["guessed"] ** 2)
    groups, rows = squares.groupby(_PLACE, sort=False), []
    places = squares.drop_duplicates(_PLACE)[_PLACE].itertuples(index=False, name=None)
    sums = squares.groupby([groups.ngroup(), "test_set"])[["error", "guessed"]].sum()
    ends = np.flatnonzero(np.diff(sums.index.get_level_values(0), append=np.inf)) + 1
    for place, own in zip(places, np.split(sums.to_numpy(), ends[:-1]), strict=True):
        if len(own) >= 3 and own[:, 1].any():
            rows.append((*place, *skill_of_errors(*own.T, level=level)))
    return pd.DataFrame(rows, columns=[*_PLACE, "value", "low", "high"])


def pooled_skill(errors: pd.DataFrame) -> str:
    """Return the skill over all that is in some errors, in words; "" where there is none."""
    squares = errors.assign(error=errors["error"] ** 2, guessed=errors["guessed"] ** 2)
    sums = squares.groupby("test_set")[["error", "guessed"]].sum()
    if len(sums) < 3 or not sums["guessed"].any():
        return ""
    return skill_in_words(skill_of_errors(sums["error"], sums["guessed"]))


def skill_in_words(row) -> str:
    """Return a skill as a cell of a table has it."""
    numbers = f"{row.value:.2f} [{row.low:.2f}, {row.high:.2f}]".replace("-", MINUS)
    words = describe_skill(row)
    return numbers if row.low > 0 else f"{numbers}, {words}"


def with_constant(table: pd.DataFrame, errors: pd.DataFrame) -> pd.DataFrame:
    """Return a results table with the errors of the constant as those of one more evaluator."""
    first = errors[errors["variant"] == "primary"].drop_duplicates(KEY)
    if first.empty:
        return table
    own = first.assign(value=first["guessed"] ** 2).groupby(
        ["data_set", "backbone", "run", "detector", "metric"], sort=False, as_index=False
    ).agg(value=("value", "mean"), row=("row", " ".join))  # fmt: skip
    own = own.assign(
        value=np.sqrt(own["value"]), metric="rmse_" + own["metric"], variant="primary",
        method=own["detector"] + f"/{CONSTANT}", test_set="all", calibration="",
        tier=table["tier"].iloc[0], paper=table["paper"].iloc[0],
    )  # fmt: skip
    return pd.concat([table, own.drop(columns="detector")], ignore_index=True)


def skills_of(table: pd.DataFrame, metrics: Sequence[str] = tuple(METRIC_TITLES)) -> pd.DataFrame:
    """Return the skills behind a results table, as tables show them."""
    found = skills(set_errors(table, tuple(metrics)))
    return found.assign(text=[skill_in_words(one) for one in found.itertuples()])


def skill_caption(skill: pd.DataFrame | None) -> str:
    """Return what a caption says of skills, if there are any."""
    if skill is None:
        return ""
    return (
        " Skill: 1 less the mean squared error over that of the constant, the metric's mean over"
        " the sets that teach, with a 95 % interval over resampled sets; of predictions that the"
        " results do not hold, by the line at the threshold of the first division."
    )
