"""Published networks by our scores, beside what others have printed for the same networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from helpers import scores
from helpers.metrics import (
    auroc,
    fpr_at_tpr,
    resample_weights,
    weighted_auroc,
    weighted_fpr_at_tpr,
)
from helpers.networks.published_scores import published_scores
from helpers.outputs import Head, Outputs
from helpers.report.table import ABSENT, DOWN, UP, Table, categories

STANDS_FOR = {
    "textures": "textures", "dtd_subset": "textures", "svhn": "svhn", "places365": "places365",
    "cifar10": "cifar10", "cifar100": "cifar100",
}  # fmt: skip
"""The set of the printed numbers that a data set of ours is, or is a part of."""
PARTS = ("dtd_subset",)
"""Data sets that are a part of what they stand for; an interval does not say which part."""
SCORES = ("msp", "mahalanobis", "energy", "react", "dice", "ash")
"""What the papers about these networks compare."""
_KEYS = ["network", "ood_set", "score", "metric", "positive"]


def compare(
    network: str,
    known: Outputs,
    unknown: Mapping[str, Outputs],
    *,
    train: Outputs | None = None,
    head: Head | None = None,
    replicates: int = 200,
    seed: int = 0,
) -> pd.DataFrame:
    """Return our numbers of a network, and those that are printed for it.

    Parameters
    ----------
    network : str
        One of `helpers.networks.published.records`.
    known : Outputs
        Of all test images of its data set.
    unknown : mapping of str to Outputs
        By the names of our data sets; those that are not in `STANDS_FOR` are left out.
    train : Outputs, optional
        Of all training images; without, scores that learn from them are left out.
    head : Head, optional
        Its last layer, for these.
    replicates, seed : int
        Of the bootstrap over known and over unknown images.

    Returns
    -------
    DataFrame
        A row for each of `STANDS_FOR` among `unknown`, score and metric: ``network``, ``data_set``
        (ours), ``ood_set`` (what it stands for), ``score``, ``metric``, ``positive``; ``ours``
        with the ends ``low`` and ``high`` of a 95 % interval; ``printed``, NaN where nothing is,
        and its ``source``.  Scores have the settings that their authors print for the ID set.
    """
    printed = published_scores()
    printed = printed[printed["network"].eq(network)]
    found = [
        {"network": network, "data_set": name, "ood_set": STANDS_FOR[name], **row}
        for name, images in unknown.items()
        if name in STANDS_FOR
        for row in _numbers(network, known, images, train, head, printed, replicates, seed)
    ]
    if not found:
        raise ValueError(f"unknown: one of {', '.join(STANDS_FOR)} expected, got {list(unknown)}")
    beside = printed.rename(columns={"value": "printed"})[[*_KEYS, "printed", "source"]]
    return pd.DataFrame(found).merge(beside, on=_KEYS, how="left").fillna({"source": ""})


def _numbers(network, known, unknown, train, head, printed, replicates, seed) -> Iterator[dict]:
    """Yield our numbers on one set of unknown images."""
    weights = [
        resample_weights(len(part), replicates=replicates, seed=seed + number)
        for number, part in enumerate((known, unknown))
    ]
    schools = dict.fromkeys(["known", *printed.loc[printed["metric"].eq("fpr95"), "positive"]])
    for name in dict.fromkeys([*SCORES, *printed["score"]]):
        score = scores.create_as_published(name, network.rpartition("_")[2])
        info = score.info
        if "images" in info.needs or (info.fits and (train is None or head is None)):
            continue
        if info.fits:
            score.fit(train, head)
        pair = score.score_samples(known), score.score_samples(unknown)
        yield _row(name, "auroc", "", auroc(*pair), weighted_auroc(*pair, *weights))
        for positive in schools:
            ours, groups = fpr_at_tpr(*pair, positive=positive), (*pair, *weights)
            if positive == "unknown":  # the other way round
                groups = -pair[1], -pair[0], *weights[::-1]
            yield _row(name, "fpr95", positive, ours, weighted_fpr_at_tpr(*groups))


def _row(score: str, metric: str, positive: str, ours: float, draws: np.ndarray) -> dict:
    low, high = np.percentile(draws, [2.5, 97.5])
    return {
        "score": score, "metric": metric, "positive": positive, "ours": ours, "low": low,
        "high": high,
    }  # fmt: skip


def table(rows: pd.DataFrame) -> Table:
    """Return our numbers with their intervals, and below them those that are printed.

    Parameters
    ----------
    rows : DataFrame
        From `compare`, of one network or several.
    """
    per_cent = (100 * rows[["ours", "low", "high", "printed"]]).map("{:.2f}".format)
    ours = per_cent["ours"] + " (" + per_cent["low"] + " to " + per_cent["high"] + ")"
    stands = rows["data_set"].where(~rows["data_set"].isin(PARTS), rows["data_set"] + ", a part")
    titles = {name: scores.create(name).info.title for name in dict.fromkeys(rows["score"])}
    metric = rows["metric"].map({"auroc": f"AUROC {UP}", "fpr95": f"FPR95 {DOWN}"})
    metric = metric.where(rows["positive"].ne("unknown"), f"FPR95 of unknown {DOWN}")
    both = {"here": ours, "printed": per_cent["printed"].where(rows["printed"].notna(), ABSENT)}
    lines = rows.assign(set=rows["ood_set"] + " (" + stands + ")", metric=metric)
    cells = pd.concat([lines.assign(place=place, text=text) for place, text in both.items()])
    cells = cells.assign(
        score=categories(cells["score"], titles),
        place=categories(cells["place"], list(both)),
        metric=categories(cells["metric"], list(dict.fromkeys(metric))),
    )
    caption = (
        "What our scores say of published networks, in per cent with 95 % intervals of a bootstrap "
        "over the images, beside what is printed for the same networks on the whole set. Where "
        "ours is a part of it, the interval knows nothing of the parts that are missing. FPR95: "
        "known images are the positive ones; FPR95 of unknown: unknown ones are."
    )
    down, across = ["network", "set", "score"], ["metric", "place"]
    return Table(cells, down, across, name="published-parity", caption=caption, data=rows)
