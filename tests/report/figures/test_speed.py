import numpy as np
import pandas as pd
import pytest

from helpers.report import figures

RATIOS = pd.DataFrame(
    {
        "work": ["AURC", "ECE", "training"],
        "peer": ["one", "other", "third"],
        "ratio": [30.0, 0.5, np.nan],
        "low": [20.0, 0.4, np.nan],
        "high": [40.0, 0.6, np.nan],
        "wanted": [20.0, 1.0, 10.0],
    }
)


def costs():
    rows = [
        {"score": score, "step": step, "images": images, "seconds": scale * images**power}
        for score, scale, power in (("msp", 1e-6, 1.0), ("knn", 1e-8, 2.0))
        for step in ("fit", "score")
        for images in (100, 200, 400)
    ]
    return pd.DataFrame(rows)


def test_ratios_of_what_is_measured_are_drawn_beside_their_goals(texts):
    """The first comparison is on top, one that is not measured is nowhere, a miss has a mark."""
    ax = figures.speed_ratios(RATIOS)
    assert texts(ax.get_yticklabels()) == ["ECE · other", "AURC · one"]
    drawn = {line.get_label(): list(line.get_xdata()) for line in ax.lines}
    assert drawn["as fast as wanted, or faster"] == [30.0]
    assert drawn["slower than wanted"] == [0.5]
    assert drawn["wanted"] == [1.0, 20.0]


def test_nothing_measured_is_refused():
    with pytest.raises(ValueError, match="at least one with a ratio"):
        figures.speed_ratios(RATIOS[2:])


def test_growth_is_the_slope_on_logarithmic_axes():
    found = figures.growth_exponents(costs())
    assert found.round(6).to_dict() == {
        ("knn", "fit"): 2.0, ("knn", "score"): 2.0, ("msp", "fit"): 1.0, ("msp", "score"): 1.0,
    }  # fmt: skip


def test_growth_has_a_panel_for_each_step_and_names_the_slowest(texts):
    table = costs()
    names = [f"knn {number}" for number in range(6)]
    slow = [table[table["score"] == "knn"].assign(score=name) for name in names]
    axes = figures.growth_curves(pd.concat([table[table["score"] == "msp"], *slow]))
    assert [ax.get_title() for ax in axes] == ["fit", "score"]
    for ax in axes:
        assert texts(ax.get_legend()) == [*names, "slope 1"]
        assert ax.get_xscale() == ax.get_yscale() == "log"
