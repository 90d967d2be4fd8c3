import numpy as np
import pytest
from matplotlib.axes import Axes

from helpers.report import figures


def test_confidence_histograms(texts):
    ax = figures.confidence_histograms([0.2, 0.9, 0.9, 0.9], [0.1, 0.5], 0.5)
    assert isinstance(ax, Axes)
    assert texts(ax.get_legend()) == [
        "known classes, 25% rejected",
        "unknown classes, 50% rejected",  # one that equals the threshold is accepted
        "threshold, 0.500",
    ]
    assert ax.patches[0].get_xy()[:, 1].max() == pytest.approx(0.75)
    with pytest.raises(ValueError, match="unknown: confidences"):
        figures.confidence_histograms([0.5], [1.5], 0.5)
    with pytest.raises(ValueError, match="known: empty"):
        figures.confidence_histograms([], [0.5], 0.5)


def test_score_histograms(texts):
    """Groups share their bins, and each group's shares add up to one."""
    smooth, rough = np.linspace(-0.05, 0, 40), np.linspace(-0.2, -0.03, 10)
    ax = figures.score_histograms({"smooth": smooth, "rough": rough}, score="smoothness", bins=8)
    assert texts(ax.get_legend()) == ["smooth", "rough"] and ax.get_xlabel() == "smoothness"
    for patch, values in zip(ax.patches, (smooth, rough), strict=True):
        shares = np.histogram(values, 8, (-0.2, 0))[0] / len(values)
        steps = patch.get_xy()[1:17:2, 1]
        assert steps == pytest.approx(shares) and steps.sum() == pytest.approx(1)
    assert len({(patch.get_linestyle(), patch.get_hatch()) for patch in ax.patches}) == 2
    with pytest.raises(ValueError, match="groups: 1 to 4 expected, got 0"):
        figures.score_histograms({}, score="smoothness")
    with pytest.raises(ValueError, match="rough: empty"):
        figures.score_histograms({"smooth": smooth, "rough": []}, score="smoothness")


PANELS = {
    "Baseline": {"correct": [1.0, 1.0, 0.9], "near": [0.5], "far": [0.2, 0.4]},
    "Deep Ensemble": {"correct": [0.8], "far": [0.1], "near": [0.3, 0.3]},
}


class TestConfidenceDensities:
    def test_each_curve_is_a_density_about_its_images(self):
        """Every curve encloses an area of one, also at the ends, and peaks where its images are."""
        axes = figures.confidence_densities(PANELS)
        assert [ax.get_title() for ax in axes] == list(PANELS)
        for ax, groups in zip(axes, PANELS.values(), strict=True):
            curves = {line.get_label(): line.get_data() for line in ax.lines}
            assert list(curves) == ["correct", "near", "far"]  # one order in all panels
            for name, (x, density) in curves.items():
                assert density.mean() == pytest.approx(1)  # over [0, 1]
                middle = (x * density).sum() / density.sum()
                assert middle == pytest.approx(np.mean(groups[name]), abs=0.02)

    def test_curves_differ_in_more_than_colour(self, texts):
        """No two categories share line and marker."""
        ax = figures.confidence_densities(PANELS)[0]
        assert len({(line.get_linestyle(), line.get_marker()) for line in ax.lines}) == 3
        names = texts(ax.figure.legends[0])
        assert names == ["correct", "near", "far"]

    def test_bad_input(self):
        """Nothing, other categories and impossible confidences are refused by name."""
        with pytest.raises(ValueError, match="panels: empty"):
            figures.confidence_densities({})
        with pytest.raises(ValueError, match="ODIN: categories correct, near, far expected"):
            figures.confidence_densities(PANELS | {"ODIN": {"near": [0.5]}})
        with pytest.raises(ValueError, match="near: confidences in"):
            figures.confidence_densities({"Baseline": {"near": [1.5]}})
