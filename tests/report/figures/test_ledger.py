import numpy as np
import pandas as pd
import pytest

from helpers.report.claims import Verdict
from helpers.report.figures.ledger import clearances, counterpart_scatters, tally_bars

TITLES = {"uimnet": "Algorithms", "gscore": "Without labels"}
VERDICTS = [*map(str, Verdict)]


def test_bars_are_as_long_as_there_are_claims(texts):
    """One bar of each paper and tier, whose parts are the counts of its verdicts, in order."""
    index = pd.MultiIndex.from_tuples([("uimnet", "mini"), ("uimnet", "small"), ("gscore", "mini")])
    counts = pd.DataFrame([[1, 2, 0, 0, 5], [8, 0, 0, 0, 0], [0, 0, 3, 2, 1]], index, VERDICTS)
    ax = tally_bars(counts, titles=TITLES)
    assert texts(ax.get_yticklabels()) == ["mini", "small", "mini"]
    widths = np.array([[bar.get_width() for bar in bars] for bars in ax.containers]).T
    assert (widths == counts.to_numpy()).all()
    ends = [bar.get_x() + bar.get_width() for bar in ax.containers[-1]]
    assert ends == counts.sum(axis=1).tolist()
    assert [text for text in texts(ax.texts) if text in TITLES.values()] == [*TITLES.values()]
    with pytest.raises(ValueError, match="counts: no column undecided"):
        tally_bars(counts.drop(columns="undecided"), titles=TITLES)


def test_clearances_stand_where_they_are_up_to_the_end_of_the_scale(texts):
    """A claim without an interval says so; what lies beyond the scale is drawn at its end."""
    rows = [
        ("uimnet", "erm", "mini", Verdict.SUPPORTED, 2.0),
        ("uimnet", "erm", "small", Verdict.CONTRADICTED, -np.inf),
        ("gscore", "rmse", "mini", Verdict.UNDECIDED, np.nan),
        ("gscore", "rmse", "small", Verdict.NO_DATA, np.nan),
        ("gscore", "ratios", "small", Verdict.NOT_TESTABLE, 3.0),
    ]
    columns = ["paper", "claim", "tier", "verdict", "clearance"]
    ax = clearances(pd.DataFrame(rows, columns=columns), titles=TITLES)
    assert texts(ax.get_yticklabels()) == ["erm", "rmse", "ratios"]
    places = [line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 1]
    assert places == [2.0, -30.0, 3.0]
    (text,) = [one for one in ax.texts if one.get_text() == "no interval"]
    assert text.get_position()[1] == ax.get_yticks()[1]
    with pytest.raises(ValueError, match="found: empty"):
        clearances(pd.DataFrame(columns=columns), titles=TITLES)


def test_each_paper_has_a_panel_with_all_its_numbers(texts):
    """Filled are those of the last tier; metrics of one kind share a marker."""
    rows = [
        ("uimnet", "mini", "ece", 0.1, 0.2),
        ("uimnet", "small", "ece", 0.1, 0.15),
        ("gscore", "mini", "pearson_fpr95", -0.9, -0.8),
        ("gscore", "mini", "pearson_auroc", 0.9, 0.7),
    ]
    columns = ["paper", "tier", "metric", "published", "reproduced"]
    first, second = counterpart_scatters(pd.DataFrame(rows, columns=columns), titles=TITLES)
    drawn = {
        (x, y): line.get_markerfacecolor() == "none"
        for line in first.lines
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
        if line.get_linestyle() == "None"
    }
    assert drawn == {(0.1, 0.2): True, (0.1, 0.15): False}
    labels = texts(second.get_legend())
    assert labels == ["pearson"] and second.get_xlim()[0] < -0.9
    assert first.get_legend().get_title().get_text() == "filled: small, open: mini"
