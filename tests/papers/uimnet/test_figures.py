import itertools

import numpy as np
import pandas as pd
import pytest

from helpers.papers.uimnet import figures
from helpers.papers.uimnet.roles import partition

CHANGES = ({}, {"spectral": "weights"}, {"variant": "ensemble"}, {"calibration": "after"})


@pytest.fixture(scope="module")
def means():
    """Each change adds something of its own; MC-Dropout has no Jacobian and no spectral norm."""
    base = {"data_set": "cifar10_mini", "backbone": "resnet8", "spectral": "none",
            "variant": "primary", "calibration": "before", "std": 0.01}  # fmt: skip
    algorithms = enumerate(("mixup", "erm", "mc_dropout"))
    numbers = ("", "ece", 0.0), ("entropy", "auroc", 0.5), ("jacobian", "auroc", 0.45)
    rows = [
        base | change | {"algorithm": algorithm, "measure": measure, "metric": metric}
        | {"mean": mean + 0.1 * place + 0.1 * gain}
        for (place, algorithm), (gain, change) in itertools.product(algorithms, enumerate(CHANGES))
        for measure, metric, mean in numbers
        if algorithm != "mc_dropout" or not (measure == "jacobian" or "spectral" in change)
    ]  # fmt: skip
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def plain(means):
    own = (means["variant"] == "primary") & (means["calibration"] == "before")
    return means[own & (means["spectral"] == "none")]


def test_measure_heatmap_writes_every_number_and_marks_the_best_of_each_algorithm(plain, texts):
    """In the paper's order; what is missing has no text and shifts no mark."""
    ax = figures.measure_heatmap(plain)
    assert texts(ax.get_xticklabels()) == ["ERM", "Mixup", "MC-Dropout"]
    assert texts(ax.get_yticklabels()) == ["Entropy", "Jacobian"]
    assert texts(ax.texts) == ["60.0", "50.0", "70.0", "55.0", "45.0"]
    weights = [text.get_weight() for text in ax.texts]
    assert weights == ["bold", "bold", "normal", "normal", "normal"]  # MC-Dropout has one alone
    assert np.mean(ax.collections[0].get_clim()) == 50


def test_a_score_that_is_not_the_papers_is_drawn_too(means, plain, texts):
    """Below the paper's measures, by its own title."""
    own = plain[plain["measure"] == "jacobian"]
    both = pd.concat([own.assign(measure="knn", mean=own["mean"] + 0.5), plain])
    ax = figures.measure_heatmap(both)
    called = ["Entropy", "Jacobian", "Nearest neighbours (KNN)"]
    assert texts(ax.get_yticklabels()) == called
    assert texts(ax.texts)[-2:] == ["105.0", "95.0"]
    both = means.replace({"measure": {"entropy": "knn"}})
    (ax,) = figures.paired_change(both, change="variant", panels=[("auroc", "knn")])
    assert ax.get_xlabel().endswith(f"of {called[2]}")


@pytest.mark.parametrize("change, gain", [("spectral", 10), ("variant", 20), ("calibration", 30)])
def test_paired_change_moves_what_changes_alone(means, change, gain, texts):
    """Both dots in per cent, the second with that change and no other; one line for each pair."""
    panels = [("ece", ""), ("auroc", "entropy")]
    axes = figures.paired_change(means, change=change, panels=panels)
    assert texts(axes[0].get_yticklabels()) == ["ERM", "Mixup", "MC-Dropout"]
    for ax, base in zip(axes, ([10, 0, 20], [60, 50, 70]), strict=True):
        first, second = (container.lines[0] for container in ax.containers)
        shown = dict(zip(first.get_ydata(), first.get_xdata(), strict=True))
        places = [0, 1] if change == "spectral" else [0, 1, 2]
        assert shown == pytest.approx({place: base[place] for place in places})
        assert second.get_xdata() == pytest.approx(first.get_xdata() + gain)
        assert len(ax.collections[0].get_segments()) == len(places)
        assert first.get_marker() != second.get_marker()
    assert axes[1].get_xlabel() == "AUC ↑ (%)\nof Entropy"


def test_forms_of_spectral_normalisation_stand_side_by_side(means, texts):
    """No normalisation and two forms of it: three dots; a fourth has no mark."""
    other = means[means["spectral"] == "weights"].assign(spectral="bounded_3")
    both = pd.concat([means, other])
    (ax,) = figures.paired_change(both, change="spectral", panels=[("ece", "")])
    labels = texts(ax.figure.legends[0])
    assert labels == ["no spectral normalisation", "weights", "bounded 3"]
    assert len(ax.containers) == 3
    more = pd.concat([both, other.assign(spectral="strict")])
    with pytest.raises(ValueError, match="part: two or three sides of the change expected"):
        figures.paired_change(more, change="spectral", panels=[("ece", "")])


def test_whiskers_are_deviations_over_data_seeds(means):
    """One point either side; with one data seed there are none."""
    panels = [("ece", "")]
    (ax,) = figures.paired_change(means, change="variant", panels=panels)
    spans = [np.ptp(line.get_segments()[0][:, 0]) for line in ax.containers[0].lines[2]]
    assert spans == pytest.approx([2.0])
    (ax,) = figures.paired_change(means.assign(std=np.nan), change="variant", panels=panels)
    assert ax.containers[0].lines[2] == ()


def test_bad_input(means, plain):
    """Unknown names, mixed numbers and panels without numbers are refused."""
    other, pair = pd.concat([means, means.assign(backbone="resnet20")]), figures.paired_change
    ece = {"change": "variant", "panels": [("ece", "")]}
    for draw, part, given, message in [
        (figures.measure_heatmap, means, {}, "part: several of spectral"),
        (figures.measure_heatmap, plain, {"metric": "aurok"}, "unknown metric 'aurok'; did you"),
        (figures.measure_heatmap, plain, {"metric": "out_as_out"}, "part: no out_as_out"),
        (figures.measure_heatmap, plain.iloc[:0], {}, "part: empty"),
        (pair, means, ece | {"change": "spectre"}, "unknown change 'spectre'; did you mean"),
        (pair, plain, ece, "part: no ece on both sides"),
        (pair, other, ece, r"several of backbone \(resnet20, resnet8\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            draw(part, **given)


def test_accuracy_of_forms_by_hand(texts):
    """Two networks that are right about 2 and 3 of 4 images; ones that are always right."""
    half, most, all_of_them = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]], bool)
    ax = figures.accuracy_of_forms(
        {"none": [half, most], "strict": [all_of_them], "other": [half]}, chance=0.25
    )
    assert texts(ax.get_yticklabels())[2] == "other"
    first, second, _ = ax.containers
    (mean,), (place,) = first.lines[0].get_data()
    assert (mean, place) == (pytest.approx(62.5), 0)
    (ends,) = (one.get_segments()[0][:, 0] for one in first.lines[2])
    assert ends[0] < 62.5 < ends[1] <= 100
    rings = [one for one in ax.lines if one.get_fillstyle() == "none"]
    assert [list(one.get_xdata()) for one in rings] == [[50, 75], [100], [50]]
    (sure,) = (one.get_segments()[0][:, 0] for one in second.lines[2])
    assert sure == pytest.approx([100, 100])
    (line,) = (one for one in ax.lines if one.get_linestyle() == ":")
    assert set(line.get_xdata()) == {25}


def test_a_dendrogram_has_the_left_branch_on_top(texts):
    """Classes stand in the order of the merges, marked by what they are; two branches, a root."""
    means = np.array([[0.0], [1], [20], [21], [2], [3], [4]])
    found = partition(means, list("abcdefg"))
    ax = figures.class_dendrogram(found, words={"c": "cow"})
    named = texts(ax.get_yticklabels())
    assert set(named[:2]) == {"cow", "d"} and set(named[2:]) == set("abefg")
    marked = {one.get_label(): one for one in ax.lines if one.get_linestyle() == "None"}
    rows = {label: {named[int(row)] for row in one.get_ydata()} for label, one in marked.items()}
    expected = {"in-domain": {"cow", "d"}, "out-domain": {"a", "b"}, "not taken": {"e", "f", "g"}}
    assert rows == expected
    for look in ("get_marker", "get_color"):
        assert len({getattr(one, look)() for one in marked.values()}) == 3
    links = [one for one in ax.lines if one.get_linestyle() != "None"]
    assert [one.get_linestyle() for one in links].count("--") == 4 and len(links) == 6
    (root,) = (one for one in links if max(one.get_xdata()) == found.linkage[-1, 2])
    assert ax.get_xlim()[0] > max(root.get_xdata()) and ax.get_xlim()[1] == 0
    assert root.get_color() not in {one.get_color() for one in links if one is not root}


def test_names_of_many_classes_are_left_out():
    """But not their marks."""
    means = np.random.default_rng(0).normal(size=(70, 3))
    ax = figures.class_dendrogram(partition(means, [str(one) for one in range(70)]), words={})
    assert not ax.get_yticklabels()
    assert sum(len(one.get_xdata()) for one in ax.lines if one.get_linestyle() == "None") == 70
