"""Figures of claims and verdicts show the given numbers."""

from itertools import pairwise

import numpy as np
import pandas as pd

from helpers.tables import results
from synthesis.claims.openset_calibration import CLAIMS
from synthesis.effects import Verdict
from synthesis.figures import claim_effects, decisive_effects, tally_bars


def test_claims_are_drawn_with_their_intervals():
    checks = CLAIMS.check_published()
    checks = checks.assign(low=checks["effect"] - 0.01, high=checks["effect"] + 0.02)
    rows = checks[checks["data_set"] == "all"]
    lines = [line for ax in claim_effects(checks) for line in ax.lines]
    drawn = {tuple(line.get_xdata()) for line in lines if len({*line.get_xdata()}) == 2}
    assert drawn == set(rows[["low", "high"]].itertuples(index=False, name=None))
    empty = CLAIMS.check(results.SCHEMA.empty_table().to_pandas())
    shown = [text for ax in claim_effects(empty) for text in ax.texts]
    assert [text.get_text() for text in shown] == [" no data"] * len(empty)


def test_long_names_of_effects_do_not_cover_one_another():
    """Names of three lines once began above the end of the name before."""
    names = [
        f"{number} " + "words of a name " * (1 + 6 * (number % 4 == 3)) for number in range(16)
    ]
    effect = {"data_set": "all", "backbone": "all", "effect": 0.15, "low": 0.1, "high": 0.2}
    checks = pd.DataFrame({"claim": "claim", "check": names, **effect, "relation": ">"})
    checks = checks.assign(margin=0.0, decides=True, verdict=Verdict.SUPPORTED)
    (ax,) = claim_effects(checks)
    ax.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert all(below.y1 <= above.y0 + 1 for above, below in pairwise(boxes))


def test_the_claimed_side_of_a_decisive_effect_is_right():
    """The unit is the largest distance from the margin in the row."""
    names = ["relation", "effect", "low", "high", "printed", "verdict"]
    rows = [(">", 0.25, 0.0, 0.5, 1.0, "undecided"), ("<", 0.25, -0.5, 0.25, np.nan, "supported")]
    rows.insert(1, ("<", -0.25, -0.5, -0.125, np.nan, "supported"))
    lines = pd.DataFrame(rows, columns=names).assign(text="A helps.", tier="small", margin=0.0)
    ax = decisive_effects(lines)
    drawn = [np.atleast_1d(line.get_xdata()).tolist() for line in ax.lines]
    first, second, third = [[0.0, 0.5], [0.25], [1.0]], [[1.0, 0.25], [0.5]], [[1.0, -0.5], [-0.5]]
    assert drawn == [*first, *second, *third, [0, 0]]  # the last line is the margin


def test_bars_are_the_counts():
    index = pd.MultiIndex.from_tuples([("uimnet", "mini"), ("uimnet", "small"), ("gscore", "mini")])
    numbers = [[1, 2, 0, 0, 5], [8, 0, 0, 0, 0], [0, 0, 3, 2, 1]]
    counts = pd.DataFrame(numbers, index, [*map(str, Verdict)])
    ax = tally_bars(counts, titles={"uimnet": "Algorithms", "gscore": "Without labels"})
    assert [[bar.get_width() for bar in bars] for bars in ax.containers] == counts.T.values.tolist()
    assert [bar.get_x() for bar in ax.containers[-1]] == [3, 8, 5]
