"""The errors of the chapter's predictions and of a constant, from a results table alone.

The constant is the mean of the metric over the sets that teach; older tables have it, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pandas as pd

from helpers.labelfree import PREDICTED, fit_regression

#: Titles of the metrics that are predicted, in the order of the paper's Table 4.
METRIC_TITLES = {
    "detection_error": "detection error",
    "fpr95": "FPR95",
    "fpr80": "FPR80",
    "fpr60": "FPR60",
    "auroc": "AUROC",
    "aupr": "AUPR",
}

_NETWORK = ["data_set", "backbone"]
_TRUTH = [*_NETWORK, "test_set", "detector", "metric"]
KEY = [*_NETWORK, "run", "test_set", "detector", "metric"]
COLUMNS = [*KEY, "variant", "evaluator", "error", "guessed", "row"]
#: The name of the constant among evaluators: ``DETECTOR/constant``.
CONSTANT = "constant"


def set_errors(table: pd.DataFrame, metrics: Sequence[str] = PREDICTED) -> pd.DataFrame:
    """Return the error of every prediction and of the constant, set by set.

    If predictions of an evaluator are not stored, a line at its stored Gscores gives them.
    """
    names = table["method"].str.partition("/")
    table = table.assign(detector=names[0], evaluator=names[2])
    stored = table[table["metric"].str.startswith("predicted_") & (table["variant"] == "primary")]
    stored = stored.assign(metric=stored["metric"].str.removeprefix("predicted_"))
    truths = table[(table["variant"] == "test") & (table["evaluator"] == "")]
    truths = truths[truths["metric"].isin(metrics)].rename(columns={"value": "truth"})
    blocks = pd.DataFrame(_lines(table, stored, metrics), columns=[*COLUMNS[:-3], "value"])
    lines = blocks.explode(["test_set", "value"], ignore_index=True)
    lines = lines.astype({"run": int, "value": float})
    constant = lines["evaluator"] == CONSTANT
    guesses = lines[constant].drop(columns=["variant", "evaluator"])
    errors = pd.concat([stored[lines.columns], lines[~constant]], ignore_index=True)
    errors = errors.merge(guesses.rename(columns={"value": "guess"}), on=KEY)
    errors = errors.merge(truths[[*_TRUTH, "truth", "row"]], on=_TRUTH)
    errors["error"] = errors["value"] - errors["truth"]
    errors["guessed"] = errors["guess"] - errors["truth"]
    return errors[COLUMNS]


def _lines(table: pd.DataFrame, stored: pd.DataFrame, metrics: Sequence[str]) -> Iterator[tuple]:
    """Yield the predictions of the constant for all sets, and of lines for the sets that test.

    Each is a row whose `test_set` and `value` are lists.
    """
    primary = stored[stored["variant"] == "primary"]
    tested = primary.groupby([*_NETWORK, "run"])["test_set"].agg(set)
    predicted = {*primary.set_index([*_NETWORK, "detector", "evaluator", "metric"]).index}
    sets = table[table["variant"].isin(["meta", "test"])]
    for (data_set, backbone, detector), rows in sets.groupby([*_NETWORK, "detector"], sort=False):
        wide = rows.pivot(
            index="test_set", columns=["evaluator", "metric", "variant"], values="value"
        )
        values = {column: wide[column].to_numpy() for column in wide}
        evaluators = [name for name, *column in values if column == ["gscore", "test"]]
        for (*network, run), metric in product(tested.index, metrics):
            if network != [data_set, backbone] or ("", metric, "meta") not in values:
                continue
            tests = wide.index.isin(tested[data_set, backbone, run])
            truths = values["", metric, "meta"][~tests]
            cell = (detector, metric, "primary")
            guesses = np.full(len(wide), truths.mean())
            yield data_set, backbone, run, wide.index, *cell, CONSTANT, guesses
            for evaluator in evaluators:
                if (data_set, backbone, detector, evaluator, metric) in predicted:
                    continue
                learnt = values[evaluator, "gscore", "meta"][~tests]
                try:
                    line = fit_regression(learnt[:, None], truths, [0.0])
                except ValueError:  # the same Gscore for all sets: the table has a row `failed`
                    continue
                new = values[evaluator, "gscore", "test"][tests]
                predicted_values = np.clip(line.predict(new), 0, 1)
                yield data_set, backbone, run, wide.index[tests], *cell, evaluator, predicted_values


def constant_errors(errors: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the RMSE of the constant for each group of `set_errors`, and the rows behind it."""
    once = errors.drop_duplicates(KEY).assign(square=lambda rows: rows["guessed"] ** 2)
    groups = once.groupby(list(by), as_index=False)
    means = groups.agg(constant=("square", "mean"), row=("row", " ".join))
    return means.assign(constant=means["constant"] ** 0.5)
