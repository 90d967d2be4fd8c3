import numpy as np
import pytest

from helpers.report import figures

NAMES = {
    "columns": ["cat", "ship"],
    "rows": {"near": ["dog", "horse", "truck"], "digits": ["0", "1"]},
    "same": {"near": [[0], [0], [1]]},
}


@pytest.fixture
def panels():
    generator = np.random.default_rng(0)
    return {
        (method, ood): generator.dirichlet([1, 1], len(NAMES["rows"][ood]))
        for ood in ("near", "digits")
        for method in ("Baseline", "Deep Ensemble")
    }


def test_the_panels_show_the_arrays_on_one_scale(panels):
    """Methods go across and OOD sets down; all share one scale from 0."""
    axes = figures.softmax_heatmaps(panels, **NAMES)
    assert axes.shape == (2, 2)
    for (row, column), ax in np.ndenumerate(axes):
        own = panels[("Baseline", "Deep Ensemble")[column], ("near", "digits")[row]]
        assert (ax.images[0].get_array() == own).all()
        largest = max(share.max() for share in panels.values())
        assert ax.images[0].get_clim() == (0, largest)


def test_classes_are_named(panels, texts):
    """Rows, columns, methods and the known class that gets most are in words."""
    axes = figures.softmax_heatmaps(panels, **NAMES)
    assert texts(axes[0, 0].get_yticklabels()) == NAMES["rows"]["near"]
    assert texts(axes[1, 1].get_xticklabels()) == NAMES["columns"]
    mean = panels["Deep Ensemble", "near"].mean(axis=0)
    most = f"most: {NAMES['columns'][mean.argmax()]}, {mean.max():.2f}"
    assert axes[0, 1].get_title() == f"Deep Ensemble\n{most}"


def test_the_own_superclass_is_framed(panels):
    """One frame for each run of rows of a superclass, and none where nothing is shared."""
    axes = figures.softmax_heatmaps(panels, **NAMES)
    frames = [(patch.get_xy(), patch.get_height()) for patch in axes[0, 0].patches]
    assert frames == [((-0.5, -0.5), 2), ((0.5, 1.5), 1)]
    assert not axes[1, 0].patches
    wide = {"same": {"near": [[0, 1], [0, 1], []]}}  # several known classes, or none
    (frame,) = figures.softmax_heatmaps(panels, **NAMES | wide)[0, 0].patches
    assert (frame.get_xy(), frame.get_width(), frame.get_height()) == ((-0.5, -0.5), 2, 2)


def test_names_that_do_not_fit_are_counted_instead():
    """Sixty rows have no room for their names; the axis says how many there are."""
    many = {"rows": {"near": [str(n) for n in range(60)]}, "same": {}}
    (ax,) = figures.softmax_heatmaps({("Baseline", "near"): np.full((60, 2), 0.5)},
                                     **NAMES | many).ravel()  # fmt: skip
    assert ax.get_ylabel() == "near, 60 classes" and not ax.get_yticklabels()


def test_bad_input(panels):
    """Gaps, arrays that do not fit their names and impossible columns are named."""
    with pytest.raises(ValueError, match="columns expected, as are named, got shape"):
        figures.softmax_heatmaps(panels, **NAMES | {"columns": ["cat"]})
    with pytest.raises(ValueError, match="panels: Baseline, digits: 0 rows"):
        figures.softmax_heatmaps(panels, **NAMES | {"rows": {"near": NAMES["rows"]["near"]}})
    with pytest.raises(ValueError, match="same: near: 0 to 1 expected"):
        figures.softmax_heatmaps(panels, **NAMES | {"same": {"near": [[0], [], [2]]}})
    with pytest.raises(ValueError, match="same: near: 3 rows expected, got 1"):
        figures.softmax_heatmaps(panels, **NAMES | {"same": {"near": [[0]]}})
    del panels["Baseline", "near"]
    with pytest.raises(ValueError, match=r"missing .*'Baseline', 'near'"):
        figures.softmax_heatmaps(panels, **NAMES)
