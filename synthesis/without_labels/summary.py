"""Quality of the estimates by the share of unknown images, from only a results table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from known_unknowns.without_labels.detection import BINS
from synthesis.without_labels.experiment import DRAWN, ESTIMATORS

#: Titles of the groups of shares that `BINS` divide.
BIN_TITLES = ("0–5 %", "5–20 %", "20–50 %", "50–95 %")
_TITLES = {"constant": "constant", "curve_regression": "regression on the P–P curve"}


def by_share(table: pd.DataFrame, detector: str = "msp", variant: str = DRAWN) -> pd.DataFrame:
    """Return the error, the coverage and the use of every estimate, by share of unknown images.

    Parameters
    ----------
    table : DataFrame
        Rows of `synthesis.without_labels.experiment`; means are over networks and sets.
    detector, variant : str
        Detector and protocol.

    Returns
    -------
    DataFrame
        One row for each question, estimator and number; one column for each group of `BIN_TITLES`,
        and ``all``.  Numbers are per cent or points; empty groups are NaN.  Errors of AUROC and
        FPR95 are of the mixtures that the regression answers.
    """
    names = table["method"].str.partition("/")
    rows = table.assign(kind=names[2])[(names[0] == detector) & (table["variant"] == variant)]
    place = ["data_set", "backbone", "run", "test_set"]
    wide = rows.pivot(index=place, columns=["kind", "metric"], values="value")

    def column(kind: str, metric: str) -> pd.Series:
        return wide.get((kind, metric), pd.Series(np.nan, wide.index))

    share = column("truth", "share").fillna(column("share", "truth"))
    lines = []

    def add(question: str, estimator: str, number: str, values: pd.Series, *, root=False) -> None:
        means = values.groupby(np.digitize(share, BINS)).mean().reindex(range(len(BIN_TITLES)))
        means = [*means, values.mean()]
        numbers = 100 * (np.sqrt(means) if root else np.array(means))
        if not np.isnan(numbers).all():
            lines.append([question, estimator, number, *numbers])

    for metric, title in (("auroc", "AUROC"), ("fpr95", "FPR95")):
        truth = column("truth", metric)
        answered = column("curve_regression", f"{_ENDS[0]}_{metric}").notna()
        for estimator in ESTIMATORS:
            value, low, high = (column(estimator, f"{end}_{metric}") for end in _ENDS)
            words = title, _TITLES[estimator]
            add(*words, "error (RMSE)", ((value - truth) ** 2).where(answered), root=True)
            add(*words, "intervals that hold", _holds(low, truth, high))
            add(*words, "answers", value.notna().where(truth.notna()).astype(float))
    truth = column("share", "truth")
    add("share", "lower bound", "bounds that hold", _holds(column("share", "bound"), truth, 1))
    add("share", "estimate", "error (RMSE)", (column("share", "value") - truth) ** 2, root=True)
    add("which ones", "list", "known images on it", column("suspected", "known_listed"))
    add("which ones", "list", "unknown images found", column("suspected", "power"))
    for kind in ("accuracy", "accepted"):
        low, truth, high = (column(kind, end) for end in ("low", "truth", "high"))
        add(_QUESTIONS[kind], "bracket", "brackets that hold", _holds(low, truth, high))
        add(_QUESTIONS[kind], "bracket", "width", high - low)
    columns = ["question", "estimator", "number", *BIN_TITLES, "all"]
    return pd.DataFrame(lines, columns=columns).set_index(columns[:3])


_ENDS = ("value", "low", "high")
_QUESTIONS = {"accuracy": "accuracy", "accepted": "accuracy of accepted images"}


def _holds(low, truth: pd.Series, high) -> pd.Series:
    """Return whether intervals contain the truth; NaN without a truth or an interval."""
    known = truth.notna() & pd.Series(low, truth.index).notna()
    return ((low <= truth) & (truth <= high)).astype(float).where(known)
