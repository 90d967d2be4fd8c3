"""The rule that rejects every image, next to the scores of *Human-centric evaluation*.

The detection error rate needs this rule as a reference: it uses no score and no threshold.
All averages are at the paper's weights of the kinds of sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from helpers.files import project_root
from helpers.papers.human_centric import tables
from helpers.papers.human_centric.parameters import FRESH, METHODS, ModelName
from helpers.tables import results
from helpers.tables.figures.style import GREY, ORANGE, RED

REJECT = tables.REJECT


#: The networks of the comparison by title: None for the paper's, or a variant of our rows.
_NETWORKS = {
    "the paper's networks": None,
    "CIFAR-10, paper's threshold": "primary",
    "CIFAR-10, fresh threshold": FRESH,
}


class Comparison(NamedTuple):
    """The rule and the scores on some networks: means over the networks, in per cent."""

    networks: int
    scores: int
    rule: float
    msp: float
    lowest: str  # the score with the lowest mean
    lowest_rate: float
    below: int  # how many scores have a lower mean than the rule
    ahead: tuple[str, ...]  # the networks on which some score has a lower rate than the rule


def rates(variant: str | None = "primary", metric: str = "der99") -> pd.DataFrame:
    """Return average error rates of scores and rules on CIFAR-10 networks of tier ``pretrained``.

    Float64 [networks, scores and rules] of normally trained networks, and of the scores that each
    of them has; without a variant, of the paper's networks.
    """
    if variant is None:
        return tables.printed_cases(metric)
    table = results.read(project_root() / "results/pretrained/human_centric.parquet")
    table = table[table["data_set"] == table["data_set"].iloc[0]]
    cases = tables.weighted_cases(table[table["variant"] == variant], metric)
    normal = [ModelName.parse(name).strategy == "normal" for name in cases.index]
    return cases[normal].dropna(axis=1)


def compare(cases: pd.DataFrame) -> Comparison:
    """Compare the rule with the scores of `rates`.

    >>> cases = pd.DataFrame({"msp": [0.3, 0.5], "knn": [0.2, 0.7], REJECT: 0.4}, ["a", "b"])
    >>> compare(cases).lowest, compare(cases).below, compare(cases).ahead
    ('msp', 0, ('a',))
    """
    of_scores = cases[[name for name in METHODS if name in cases]]
    means = 100 * of_scores.mean()
    rule = 100 * float(cases[REJECT].mean())
    lowest = str(means.idxmin())
    ahead = of_scores.min(axis=1) < cases[REJECT]
    return Comparison(
        networks=len(cases),
        scores=of_scores.shape[1],
        rule=rule,
        msp=float(means["msp"]),
        lowest=lowest,
        lowest_rate=float(means[lowest]),
        below=int((means < rule).sum()),
        ahead=tuple(cases.index[ahead]),
    )


def overview() -> pd.DataFrame:
    """Return means over networks of the rule, MSP and the best score, in per cent."""
    lines = {}
    for (title, variant), metric in product(_NETWORKS.items(), tables.METRICS):
        compared = compare(rates(variant, metric))
        lines[title, tables.METRICS[metric]] = {
            REJECT: f"{compared.rule:.1f}",
            "MSP": f"{compared.msp:.1f}",
            "best score": f"{METHODS[compared.lowest]}, {compared.lowest_rate:.1f}",
            "scores below the rule": f"{compared.below} of {compared.scores}",
            "networks with such a score": f"{len(compared.ahead)} of {compared.networks}",
        }
    return pd.DataFrame(lines).T


def draw() -> np.ndarray:
    """Draw the rates of rule and scores on the paper's networks and on ours, by metric."""
    figure, axes = plt.subplots(2, 3, figsize=(9.5, 6.2), sharex=True, layout="constrained")
    for row, (metric, name) in zip(axes, tables.METRICS.items(), strict=True):
        row[0].set_ylabel(name)
        for ax, (title, variant) in zip(row, _NETWORKS.items(), strict=True):
            _draw_networks(ax, rates(variant, metric))
            ax.set_title(title, loc="left", fontsize="medium")
        row[2].set_yticklabels([])  # the networks of the panel to its left
    figure.supxlabel("average error rate at the paper's weights (%)", fontsize="medium")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    return axes


def _draw_networks(ax: Axes, cases: pd.DataFrame) -> None:
    """Draw the rates of each network in a row, the largest network error at the bottom."""
    cases = 100 * cases.sort_values(REJECT)
    others = cases[[name for name in METHODS if name in cases and name != "msp"]]
    places = np.arange(len(cases))
    ax.plot(others, places, "o", color=GREY, markersize=4, alpha=0.6)
    ax.lines[0].set_label("another score")
    ax.plot(cases["msp"], places, "D", color=ORANGE, markersize=6, label="MSP")
    rule: Mapping = {"color": RED, "markersize": 13, "markeredgewidth": 3}
    ax.plot(cases[REJECT], places, "|", **rule, label=REJECT)
    names = [
        name.removesuffix("_cifar10").replace("openset_calibration", "ours").replace(".", ", ")
        for name in cases.index
    ]
    ax.set_yticks(places, names, fontsize="small")
    ax.tick_params(axis="y", length=0)
