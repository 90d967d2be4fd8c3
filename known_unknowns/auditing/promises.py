"""Whether what a report promises comes true, where labels were held back."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from helpers.metrics import auroc, fpr_at_tpr
from helpers.metrics.guarantees import clopper_pearson
from helpers.report.table import Table, categories
from known_unknowns.auditing.inputs import unlabelled
from known_unknowns.auditing.report import Audit

VERDICTS = KEPT, OPEN, BROKEN = "kept", "not refuted", "broken"
TITLES = {
    "accuracy": "accuracy", "risk": "risk of those accepted", "coverage": "coverage",
    "unknown": "share of unknown ones", "auroc": "AUROC", "fpr95": "FPR95",
}  # fmt: skip
"""What is promised, by its name in `check_promises`."""


def verdict(promised: tuple[float, float], found: tuple[float, float, float]) -> str:
    """Return whether a number lies where it was promised to lie.

    Parameters
    ----------
    promised : (float, float)
        From where to where; NaN where nothing was promised.
    found : (float, float, float)
        The number, and the ends of its interval.

    Returns
    -------
    str
        ``kept`` if the number lies there, ``broken`` if no number of its interval does, and else
        ``not refuted``; empty without a promise.

    Examples
    --------
    >>> verdict((0, 0.05), (0.04, 0.02, 0.07)), verdict((0, 0.05), (0.06, 0.04, 0.09))
    ('kept', 'not refuted')
    >>> verdict((0, 0.05), (0.09, 0.06, 0.13)), verdict((np.nan, np.nan), (0.1, 0, 1))
    ('broken', '')
    """
    (least, most), (value, low, high) = promised, found
    if np.isnan(least) or np.isnan(most):
        return ""
    if least <= value <= most:
        return KEPT
    return BROKEN if high < least or low > most else OPEN


def check_promises(audit: Audit) -> pd.DataFrame:
    """Check an audit's promises against the labels that were held back from it.

    Parameters
    ----------
    audit : Audit
        Of inputs that have ``held_back``.

    Returns
    -------
    DataFrame
        A row for each promise; all numbers are shares.

        * ``images``: which ones; ``new``, those of known classes that were not shown before; or
          these together with a set of unknown images, or with all of them.
        * ``promise``: ``accuracy`` (that it is as on the validation images, within the interval
          there), ``risk`` and ``coverage`` (of the two thresholds, those that could be had),
          ``unknown`` (the least share of them), ``auroc`` and ``fpr95`` (the predictions).
        * ``least``, ``most``: from where to where the number was promised to lie.
        * ``found``, ``low``, ``high``: the number and its exact 95 % interval; of what is said of
          these very images, that is only the number.
        * ``count``: of how many images it is a share; those of the mixture for the last three.
        * ``verdict``: see `verdict`.

    Raises
    ------
    ValueError
        No labels were held back.
    """
    if "new" not in audit.inputs.held_back:
        raise ValueError("audit: no labels were held back from it, so there is nothing to check")
    rows = pd.DataFrame(
        [*_of_known(audit), *_of_mixtures(audit)],
        columns=["images", "promise", "least", "most", "found", "low", "high", "count"],
    )
    numbers = rows[["least", "most", "found", "low", "high"]].to_numpy()
    return rows.assign(verdict=[verdict(tuple(one[:2]), tuple(one[2:])) for one in numbers])


def promises_table(rows: pd.DataFrame) -> Table:
    """Return a table of promises, of what was found, and of the verdicts.

    Parameters
    ----------
    rows : DataFrame
        From `check_promises`.
    """
    per_cent = (100 * rows[["least", "most", "found", "low", "high"]]).map("{:.1f}".format)
    promised = per_cent["least"] + " to " + per_cent["most"]
    promised = promised.where(rows["least"] > 0, "at most " + per_cent["most"])
    promised = promised.where(rows["most"] < 1, "at least " + per_cent["least"])
    promised = promised.where(rows[["least", "most"]].notna().all(axis=1), "")
    ends = " (" + per_cent["low"] + " to " + per_cent["high"] + ")"
    shown = {
        "promised, %": promised,
        "found, %": per_cent["found"] + ends.where(rows["low"] < rows["high"], ""),
        "of images": rows["count"].astype(str),
        "verdict": rows["verdict"],
    }
    cells = pd.concat([rows.assign(column=name, text=text) for name, text in shown.items()])
    cells = cells.assign(
        images=categories(cells["images"], list(dict.fromkeys(rows["images"]))),
        promise=categories(cells["promise"], TITLES),
        column=categories(cells["column"], list(shown)),
    )
    caption = (
        "What the report promised, and what the labels say that were held back. In parentheses: "
        "exact 95 % interval. A promise is kept where the number lies as promised, broken where no "
        "number of its interval does, and else not refuted."
    )
    lines = ["images", "promise"]
    return Table(cells, lines, ["column"], name="audit-promises", caption=caption, data=rows)


def _of_known(audit: Audit) -> Iterator[tuple]:
    """Yield what was promised of images of known classes."""
    new = audit.inputs.held_back["new"]
    yield "new", "accuracy", *audit.accuracy[1:], *_share(new.correct)
    scores = audit.score.score_samples(new)
    for wish, found in audit.thresholds.items():
        accepted = scores >= found.value  # of no image, where the threshold is NaN
        if wish == "risk" and accepted.any():
            yield "new", wish, 0.0, found.wished, *_share(~new.correct[accepted])
        if wish == "coverage" and not found.problem:
            yield "new", wish, found.wished, 1.0, *_share(accepted)


def _of_mixtures(audit: Audit) -> Iterator[tuple]:
    """Yield what was predicted of new images together with unknown ones."""
    held_back = dict(audit.inputs.held_back)
    new = held_back.pop("new")
    mixtures = {name: [one] for name, one in held_back.items()}
    if len(mixtures) > 1:
        mixtures["all"] = list(held_back.values())
    known = audit.score.score_samples(new)
    for name, sets in mixtures.items():
        prediction = audit.predict(unlabelled([new, *sets]))
        unknown = np.concatenate([audit.score.score_samples(one) for one in sets])
        images = f"new and {name}"
        true = {"auroc": auroc(known, unknown), "fpr95": fpr_at_tpr(known, unknown)}
        count = len(known) + len(unknown)
        yield images, "unknown", prediction.unknown, 1.0, *3 * [len(unknown) / count], count
        for metric, (_, _, least, most) in prediction.told.items():
            yield images, metric, least, most, *3 * [true[metric]], count


def _share(happened: np.ndarray) -> tuple[float, float, float, int]:
    total = int(happened.sum())
    return float(happened.mean()), *clopper_pearson(total, len(happened)), len(happened)
