"""Figures of claims and verdicts show the given numbers."""

import numpy as np
import pandas as pd

from synthesis.effects import Verdict
from synthesis.figures import decisive_effects, tally_bars


def test_the_claimed_side_of_a_decisive_effect_is_right():
    """The unit is half an interval, and a distance beyond the axis is at its end."""
    names = ["relation", "effect", "low", "high", "printed", "verdict"]
    rows = [
        (">", 0.25, 0.0, 0.5, 9.0, "undecided"),
        ("<", -0.5, -0.75, -0.25, np.nan, "supported"),
        ("<", 0.25, -0.5, 0.5, np.nan, "supported"),
    ]
    lines = pd.DataFrame(rows, columns=names).assign(text="A helps.", tier="small", margin=0.0)
    ax = decisive_effects(lines.assign(sentence="A is larger than B."))
    drawn = [np.atleast_1d(line.get_xdata()).tolist() for line in ax.lines]
    assert drawn == [[0.0, 2.0], [1.0], [30.0], [3.0, 1.0], [2.0], [1.0, -1.0], [-0.5]]


def test_bars_are_the_counts():
    index = pd.MultiIndex.from_tuples([("uimnet", "mini"), ("uimnet", "small"), ("gscore", "mini")])
    numbers = [[1, 2, 0, 0, 5], [8, 0, 0, 0, 0], [0, 0, 3, 2, 1]]
    counts = pd.DataFrame(numbers, index, [*map(str, Verdict)])
    ax = tally_bars(counts, titles={"uimnet": "Algorithms", "gscore": "Without labels"})
    assert [[bar.get_width() for bar in bars] for bars in ax.containers] == counts.T.values.tolist()
    assert [bar.get_x() for bar in ax.containers[-1]] == [3, 8, 5]
