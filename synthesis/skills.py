"""How much better the predictions of the Gscore chapter are than a constant."""

from __future__ import annotations

import pandas as pd

from helpers.labelfree import Estimate, describe_skill, skill_of_errors
from helpers.tables.table import MINUS


def skills(errors: pd.DataFrame) -> pd.DataFrame:
    """Return the skill of every evaluator for each network; `text` has it in words."""
    keys = ["data_set", "backbone", "variant", "detector", "evaluator", "metric"]
    rows = [
        (*names, *estimate, skill_in_words(estimate))
        for names, group in errors.groupby(keys, sort=False)
        if (estimate := _skill(group))
    ]
    return pd.DataFrame(rows, columns=[*keys, *Estimate._fields, "text"])


def pooled_skill(errors: pd.DataFrame) -> str:
    """Return the skill over all errors in words, or "" if there is none."""
    estimate = _skill(errors)
    return skill_in_words(estimate) if estimate else ""


def _skill(errors: pd.DataFrame) -> Estimate | None:
    sums = (errors[["error", "guessed"]] ** 2).groupby(errors["test_set"]).sum()
    if len(sums) < 3 or not sums["guessed"].any():
        return None
    return skill_of_errors(sums["error"], sums["guessed"])


def skill_in_words(estimate: Estimate) -> str:
    """Return a skill with its interval, and with an explanation if it is below 0."""
    value, low, high = (f"{number:.2f}".replace("-", MINUS) for number in estimate)
    numbers = f"{value} [{low}, {high}]"
    return numbers if estimate.low > 0 else f"{numbers}, {describe_skill(estimate)}"
