import numpy as np
import pandas as pd
import pytest

from helpers.papers.openset_calibration.claims import CLAIMS
from helpers.report import figures, results
from helpers.report.claims import Verdict


def test_claim_intervals(texts):
    checks = CLAIMS.check_published()
    checks["low"], checks["high"] = checks["effect"] - 0.01, checks["effect"] + 0.02
    checks.loc[3, ["verdict", "effect", "low", "high"]] = [Verdict.NO_DATA, *[np.nan] * 3]
    axes = figures.claim_intervals(checks)
    assert len(axes) == checks["check"].nunique()
    cells = len(checks) // len(axes)
    for ax in axes:
        names = texts(ax.get_yticklabels())
        assert len(names) == cells and names[:2] == ["all", "CIFAR10, ResNet"]
        assert len(ax.patches) == 1  # the claimed side
    assert sum(len(ax.lines) for ax in axes) == 2 * (len(checks) - 1) + len(axes)
    assert [text for ax in axes for text in texts(ax.texts)].count(" no data") == 1
    first = checks[checks["data_set"] == "all"].iloc[0]
    assert list(axes[0].lines[0].get_xdata()) == [first["low"], first["high"]]
    side = axes[0].patches[0]  # the first effect is claimed below its margin
    assert side.get_x() + side.get_width() == pytest.approx(first["margin"])
    with pytest.raises(ValueError, match="no column margin"):
        figures.claim_intervals(checks.drop(columns="margin"))


def test_claim_intervals_without_any_data(texts):
    nothing = CLAIMS.check(results.SCHEMA.empty_table().to_pandas())
    shown = [text for ax in figures.claim_intervals(nothing) for text in texts(ax.texts)]
    assert shown.count(" no data") == len(nothing)


def test_claim_effects_shows_each_claim_once():
    """One panel per claim and margin with a row per effect, drawn where its interval lies."""
    checks = CLAIMS.check_published()
    checks["low"], checks["high"] = checks["effect"] - 0.01, checks["effect"] + 0.02
    pooled = checks[checks["data_set"] == "all"]
    axes = figures.claim_effects(checks)
    assert len(axes) == len(pooled[["claim", "relation", "margin"]].drop_duplicates())
    drawn = [line.get_xdata() for ax in axes for line in ax.lines if len(line.get_xdata()) == 2]
    drawn = [list(ends) for ends in drawn if ends[0] != ends[1]]  # the margin is a vertical line
    assert drawn == pooled[["low", "high"]].to_numpy().tolist()
    assert sum(len(ax.get_yticklabels()) for ax in axes) == len(pooled)


def test_claim_effects_names_what_effects_share_in_the_title(texts):
    """A part before the comma that all effects have is said once."""
    row = {"claim": "best", "data_set": "all", "backbone": "all", "effect": 0.1, "low": 0.0,
           "high": 0.2, "relation": ">", "margin": 0.0, "verdict": Verdict.SUPPORTED}  # fmt: skip
    names = ("AURC, a minus b", "AURC, c minus b")
    both = [{**row, "check": name, "decides": name == names[0]} for name in names]
    (ax,) = figures.claim_effects(pd.DataFrame(both))
    assert ax.get_title(loc="left") == "best: AURC"
    shown = texts(ax.get_yticklabels())
    assert shown == ["a minus b", "c minus b (reported only)"]


def test_decisive_effects_turn_what_is_claimed_to_the_right(texts):
    """From the margin, in units of the largest distance of the row; the printed number beside."""
    row = {"text": "A helps.", "tier": "small", "effect": 0.25, "low": 0.0, "high": 0.5,
           "relation": ">", "margin": 0.0, "printed": 1.0,
           "verdict": Verdict.UNDECIDED}  # fmt: skip
    below = {"relation": "<", "printed": np.nan, "verdict": Verdict.SUPPORTED, "effect": -0.25,
             "low": -0.5, "high": -0.125}  # fmt: skip
    lines = pd.DataFrame([row, row | below, row | below | {"effect": 0.25, "high": 0.25}])
    ax = figures.decisive_effects(lines)
    drawn = [np.atleast_1d(one.get_xdata()).tolist() for one in ax.lines]
    first, second, third = [[0.0, 0.5], [0.25], [1.0]], [[1.0, 0.25], [0.5]], [[1.0, -0.5], [-0.5]]
    assert drawn == [*first, *second, *third, [0, 0]]  # the last is the margin
    shown = texts(ax.texts)
    assert shown[1] == "small: +0.250 [+0.000, +0.500]\nclaimed > 0, paper +1.000"
    assert shown[3] == "small: −0.250 [−0.500, −0.125]\nclaimed < 0"
    legend = texts(ax.figure.legends[0].get_texts())
    assert legend == ["supported", "undecided", "paper, other data", "claimed"]
    with pytest.raises(ValueError, match="no column printed"):
        figures.decisive_effects(lines.drop(columns="printed"))
