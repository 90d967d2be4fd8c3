"""One published network at a glance: how scores tell its own images from sets of unknown ones."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from helpers.papers.human_centric.parameters import EVERY_SET, METHODS
from helpers.report.figures.style import BLUE, ORANGE, check_columns

NETWORK = "resnet20.akamaster_cifar10"
"""The one that comes with the package."""
SHOWN = {name: METHODS[name] for name in ("msp", "energy", "vim", "knn", "fdbd", "gradnorm")}
_MEANS = ("near", "far", "label-shifted")


def rows_of(table: pd.DataFrame, network: str = NETWORK) -> pd.DataFrame:
    """Return the rows of a network, with all sets at hand counted as label-shifted ones.

    Raises
    ------
    ValueError
        The table has none.
    """
    own = table[(table["backbone"] == network) & (table["variant"] == EVERY_SET)]
    if own.empty:
        raise ValueError(f"table: no rows of '{network}' on every set")
    return own


def auroc_of_sets(
    table: pd.DataFrame, near: list[str], *, methods: Mapping[str, str] = SHOWN
) -> Axes:
    """Draw the AUROC of every score on every set of unknown images: a dot each.

    Parameters
    ----------
    table : DataFrame
        From `rows_of`.
    near : list of str
        The near sets, which have their own colour.
    methods : mapping of str to str
        Names and titles of the scores, a line each.

    Raises
    ------
    ValueError
        No AUROC of these scores.
    """
    check_columns("table", table, ["test_set", "method", "metric", "value"])
    own = table[(table["metric"] == "auroc") & ~table["test_set"].isin(_MEANS)]
    own = own[own["method"].isin(list(methods))]
    if own.empty:
        raise ValueError("table: no auroc of these scores")
    ax = plt.subplots(figsize=(6, 0.42 * len(methods) + 1.1), layout="constrained")[1]
    for is_near, colour, marker, label in (
        (False, BLUE, "|", "a far set"),
        (True, ORANGE, "o", "a near set"),
    ):
        dots = own[own["test_set"].isin(near) == is_near]
        places = [list(methods).index(name) for name in dots["method"]]
        ax.plot(
            100 * dots["value"],
            places,
            marker,
            color=colour,
            label=label,
            markersize=8 - 2 * is_near,
        )
    ax.set_yticks(range(len(methods)), list(methods.values()))
    ax.set_ylim(len(methods) - 0.5, -0.5)
    ax.axvline(50, color="0.6", linewidth=1, linestyle=":")
    ax.set_xlabel("AUROC (%)")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return ax
