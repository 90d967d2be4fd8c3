"""The rule that rejects every image, next to the scores of *Human-centric evaluation*.

The detection error rate needs this rule as a reference: it uses no score and no threshold.
All averages are at the paper's weights of the kinds of sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from helpers.files import project_root
from helpers.papers.human_centric import tables
from helpers.papers.human_centric.parameters import FRESH, METHODS, PAPER_METHODS, ModelName
from helpers.tables import results
from helpers.tables.figures.style import GREY, ORANGE, RED
from synthesis.rendering import render

REJECT = tables.REJECT


class Comparison(NamedTuple):
    """The rule and the scores on some networks: means over the networks, in per cent."""

    networks: int
    scores: int
    rule: float
    msp: float
    lowest: str  # the title of the score with the lowest mean
    lowest_rate: float
    ahead: tuple[str, ...]  # the networks on which some score has a lower rate than the rule


def rates(variant: str = "primary") -> pd.DataFrame:
    """Return average DER99 of scores and rules on the CIFAR-10 networks of tier ``pretrained``.

    Float64 [networks, scores and rules] of normally trained networks, and of the scores that each
    of them has.
    """
    table = results.read(project_root() / "results/pretrained/human_centric.parquet")
    table = table[table["data_set"] == table["data_set"].iloc[0]]
    cases = tables.weighted_cases(table[table["variant"] == variant])
    normal = [ModelName.parse(name).strategy == "normal" for name in cases.index]
    return cases[normal].dropna(axis=1)


def compare(cases: pd.DataFrame) -> Comparison:
    """Compare the rule with the scores of `rates`, or of `tables.printed_cases`.

    >>> cases = pd.DataFrame({"msp": [0.3, 0.5], "knn": [0.2, 0.7], REJECT: 0.4}, ["a", "b"])
    >>> compare(cases).lowest, compare(cases).lowest_rate, compare(cases).ahead
    ('MSP', 40.0, ('a',))
    """
    of_scores = cases[[name for name in METHODS if name in cases]]
    means = 100 * of_scores.mean()
    lowest = str(means.idxmin())
    ahead = of_scores.min(axis=1) < cases[REJECT]
    return Comparison(
        networks=len(cases),
        scores=of_scores.shape[1],
        rule=100 * float(cases[REJECT].mean()),
        msp=float(means["msp"]),
        lowest=METHODS[lowest],
        lowest_rate=float(means[lowest]),
        ahead=tuple(cases.index[ahead]),
    )


def best_of_all_msp(printed: pd.DataFrame) -> list[str]:
    """Return the networks of the paper on which MSP has the lowest rate of its scores."""
    lowest = printed[[*PAPER_METHODS]].idxmin(axis=1)
    return [*lowest.index[lowest == "msp"]]


def finding() -> str:
    """Return the finding in words, from committed results and the paper's printed numbers."""
    printed = tables.printed_cases()
    without = [name for name in printed.index if name not in compare(printed).ahead]
    return render(
        "rejecting.md",
        fresh=compare(rates(variant=FRESH)),
        trained=compare(rates()),
        without=without,
        msp_first=sorted(best_of_all_msp(printed)) == sorted(without),
    )


def draw() -> np.ndarray:
    """Draw the rates of rule and scores on the paper's networks and on ours."""
    panels = {
        "the paper's networks": tables.printed_cases(),
        "CIFAR-10, the paper's threshold": rates(),
        "CIFAR-10, fresh threshold": rates(variant=FRESH),
    }
    figure, axes = plt.subplots(1, 3, figsize=(9.5, 3.6), sharex=True, layout="constrained")
    for ax, (title, cases) in zip(axes, panels.items(), strict=True):
        _draw_networks(ax, cases)
        ax.set_title(title, loc="left", fontsize="medium")
    figure.supxlabel("average DER99 at the paper's weights (%)", fontsize="medium")
    handles, labels = axes[0].get_legend_handles_labels()
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
