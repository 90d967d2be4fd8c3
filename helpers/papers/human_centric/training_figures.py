"""Figures 5 to 7: how errors go with the way in which models were trained, as far as it is seen."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from helpers.papers.human_centric.claims import cases
from helpers.papers.human_centric.figures import (
    distillation_heatmap,
    error_against_strength,
    error_heatmap,
)
from helpers.papers.human_centric.parameters import PAPER_METHODS, ModelName
from helpers.papers.human_centric.quantities import control_pairs


def by_training(table: pd.DataFrame, *, methods: Mapping[str, str]) -> list[str]:
    """Draw figures 5 to 7 of the models that are there.

    Figure 6 is of the architecture that was trained in the most ways, and figure 5 of the one
    that was trained adversarially.

    Parameters
    ----------
    table : DataFrame
        Rows of one data set and variant of a results table.
    methods : mapping of str to str
        Names and titles of the scores of figure 5; the others are of the paper's scores.

    Returns
    -------
    list of str
        A sentence for each figure that lacks the models for it.

    Raises
    ------
    ValueError
        No model has an average DER99.
    """
    values = cases(table)
    values = values[[name for name in PAPER_METHODS if name in values]]
    parsed = {name: ModelName.parse(name) for name in values.index}
    said = []

    complete = [name for name in values.dropna().index if {*methods} <= {*values}]
    robust = {parsed[n].architecture for n in complete if parsed[n].strategy == "adversarial"}
    if len(robust) == 1:
        error_against_strength(table, methods=methods)
    else:
        what = ", ".join(sorted(robust)) or "none"
        said.append(f"No figure 5: one architecture trained adversarially expected, got {what}.")

    ways = pd.Series({name: one.architecture for name, one in parsed.items()})
    most = ways.value_counts(sort=False)
    if most.max() > 1:
        several = values[ways == most.idxmax()].rename(columns=PAPER_METHODS)
        error_heatmap(several.rename(index=lambda name: name.partition("+")[2] or "normal"))
    else:
        said.append(
            f"No figure 6: {len(ways)} models, and no architecture trained in several ways."
        )

    if control_pairs(values.index, "distilled"):
        distillation_heatmap(values.rename(columns=PAPER_METHODS))
    else:
        said.append("No figure 7: it takes a model that is there both distilled and not.")
    return said
