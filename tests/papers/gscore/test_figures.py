from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from helpers.labelfree import Parts
from helpers.papers.gscore import figures, panels


def parts(deviations=(1.0, 2.0), counts=(300, 100)):
    return Parts(np.array([5.0, 0.0]), np.array(deviations), np.array(counts))


@pytest.fixture(scope="module")
def scores():
    generator = np.random.default_rng(0)
    return generator.normal(5, 1, 300), generator.normal(0, 2, 100)


def test_parts_are_gaussians_with_the_area_of_their_images(scores):
    """Bars stand one on the other; a part of one score is a line, and an empty one is not drawn."""
    full, line, empty = (plt.subplots()[1] for _ in range(3))
    for ax, *given in (full,), (line, (1.0, 0.0), (399, 1)), (empty, (1.0, 0.0), (400, 0)):
        figures.score_parts(*scores, parts(*given), score="max logit", ax=ax)
    width = full.patches[0].get_width()
    for one, count in zip(full.lines, (300, 100), strict=True):
        area = np.trapezoid(one.get_ydata(), one.get_xdata())
        assert area == pytest.approx(count * width, rel=0.1)
    assert sum(bar.get_height() for bar in full.patches) == 400
    assert set(line.lines[1].get_xdata()) == {0.0} and len(empty.lines) == 1


def test_sets_outside_their_interval_are_crosses(texts):
    """Told by shape and counted; the diagonal is agreement."""
    truths, predictions = np.array([0.5, 0.7, 0.9]), np.array([0.55, 0.6, 0.9])
    ends = (predictions - 0.08, predictions + 0.08)
    ax = plt.subplots()[1]
    figures.predicted_against_true(truths, predictions, ends, learnt=[0.6], metric="auroc", ax=ax)
    (said,) = ax.texts
    assert said.get_text().startswith("skill 0.89 [")  # 1 - 0.0125 / 0.11
    figures.predicted_against_true(
        truths, truths[::-1], ends, learnt=[0.6], metric="auroc", ax=(bad := plt.subplots()[1])
    )
    assert bad.texts[0].get_text().endswith("guessing")
    assert texts(ax.get_legend()) == ["truth inside, 2", "truth outside, 1"]
    cross = next(line for line in ax.lines if line.get_marker() == "x")
    assert cross.get_xdata() == pytest.approx([70]) and cross.get_ydata() == pytest.approx([60])
    assert ax.get_xlim() == ax.get_ylim()


def test_histograms_of_groups_stand_one_on_the_other():
    """Every set is counted once."""
    groups = {"generated": [0.5, 0.6, 0.9], "real": [0.55, 0.95]}
    ax = figures.metric_histogram(groups, metric="auroc")
    assert sum(bar.get_height() for bar in ax.patches) == 5
    assert max(bar.get_y() + bar.get_height() for bar in ax.patches) == 1


def test_difficulties_are_those_of_the_mixtures_that_test(suites, texts):
    """Of one network and detector; drawn sets apart from others."""
    names = {"test_set": {"set 3": "dice"}, "method": {"msp": "odin"}}
    ax = figures.difficulty_histogram(suites[suites["backbone"] == "vit"].replace(names))
    assert sorted(texts(ax.get_legend())) == ["drawn, 1 sets", "not drawn, 11 sets"]


@pytest.fixture(scope="module")
def varied():
    """Two evaluators over two ratios, two runs; one size; a third at 1:1 alone."""
    correlations = {"ratio 10:1": 0.9, "ratio 1:10": 0.8, "primary": 0.7, "size 50": 0.6}
    rows = [
        (run, f"msp/{name}", variant, sign * value + 0.02 * run)
        for name, sign in (("kmeans_l2", 1), ("ude_wasserstein", -1))
        for (variant, value), run in product(correlations.items(), range(2))
    ]
    rows.append((0, "msp/gmm_kl", "primary", 0.9))
    table = pd.DataFrame(rows, columns=["run", "method", "variant", "value"])
    return table.assign(data_set="cifar10_mini", backbone="resnet8", metric="pearson_fpr95")


def test_correlations_stand_at_their_ratios(varied, texts):
    """Absolute values, means over runs, in the order of the ratios whatever that of the rows."""
    ((ratio, size, _),) = panels.correlation_panels(varied)
    assert texts(ratio.get_xticklabels()) == ["1:10", "1:1", "10:1"]
    first, second = (container.lines[0] for container in ratio.containers)
    assert first.get_xdata() == pytest.approx([0.1, 1, 10])
    assert first.get_ydata() == pytest.approx([0.81, 0.71, 0.91])
    assert second.get_ydata() == pytest.approx([0.79, 0.69, 0.89])
    assert size.containers[0].lines[0].get_xdata() == pytest.approx([50])


def test_each_network_has_a_row_of_panels(varied):
    """The second row shows the numbers of the second network."""
    axes = panels.correlation_panels(pd.concat([varied, varied.assign(backbone="vit")]))
    assert axes.shape == (2, 3)
    assert axes[1, 0].containers[0].lines[0].get_ydata() == pytest.approx([0.81, 0.71, 0.91])


def test_skills_stand_where_correlations_do():
    """By hand: the constant misses by 0.2, the line by 0.1 of it all at 1:10, and twice at 50."""
    errors = {"primary": 0.1, "ratio 1:10": 0.02, "size 50": 0.4}
    rows = [
        {"run": run, "method": "msp/ude_wasserstein", "variant": variant, "metric": "rmse_fpr95",
         "value": value, "test_set": "all"}
        for (variant, value), run in product(errors.items(), range(2))
    ]  # fmt: skip
    for name, truth in {"a": 0.5, "b": 0.5, "c": 0.7, "d": 0.3}.items():
        cell = {"test_set": name, "metric": "fpr95", "value": truth, "method": "msp", "run": 0}
        rows += [cell | {"variant": variant, "row": f"{name} {variant}"}
                 for variant in ("meta", "test")]  # fmt: skip
        if name in "cd":
            cell |= {"method": "msp/ude_wasserstein", "metric": "predicted_fpr95"}
            rows += [cell | {"run": run, "variant": "primary"} for run in range(2)]
    table = pd.DataFrame(rows).assign(data_set="cifar10_mini", backbone="resnet8")
    ((ratio, size, _),) = panels.skill_panels(table)
    assert ratio.containers[0].lines[0].get_ydata() == pytest.approx([1 - 0.01, 1 - 0.25])
    assert size.containers[0].lines[0].get_ydata() == pytest.approx([1 - 4])
    assert [text.get_text() for text in ratio.texts] == ["no better than guessing"]
    with pytest.raises(ValueError, match="no rmse_fpr95 of msp in any variant"):
        panels.skill_panels(table[table["variant"] != "size 50"].replace("ratio 1:10", "mixed"))


@pytest.mark.parametrize("values", [[0.61, 0.99], [0.2, 0.3, 0.7], [0.0, 1.0], [1.0], [0.0]])
def test_histograms_have_the_same_bins_whatever_the_values(values):
    """Those of several networks stand side by side."""
    bars = figures.metric_histogram({"all": values}, metric="auroc").patches
    assert {round(bar.get_width(), 6) for bar in bars} == {4.0}
    assert sum(bar.get_height() for bar in bars) == len(values)
    assert bars[0].get_height() and bars[-1].get_height()  # no empty bins beyond the values


@pytest.fixture(scope="module")
def suites():
    """Twelve sets of two networks and a detector; of the last two there are predictions."""
    generator, rows, proposed = np.random.default_rng(0), [], "msp/ude_wasserstein"
    for backbone, variant, number in product(("resnet8", "vit"), ("meta", "test"), range(12)):
        truth, place = generator.random(), (backbone, f"set {number}", variant)
        rows.append((*place, proposed, "gscore", number + 0.5 * (variant == "test")))
        rows += [(*place, "msp", "fpr95", truth), (*place, "msp", "auroc", 1 - truth)]
        if backbone == "vit" and variant == "test" and number > 9:
            rows.append((*place[:2], "primary", proposed, "predicted_fpr95", 0.5))
    columns = "backbone test_set variant method metric value".split()
    return pd.DataFrame(rows, columns=columns).assign(data_set="mini", run=0)


def test_every_network_has_a_row_of_scatters(suites):
    """Sets that are predicted are crosses, at the Gscores of the mixtures that test the line."""
    axes = figures.gscore_scatters(suites)
    assert axes.shape == (2, 2)
    assert axes[1, 0].get_title(loc="left").startswith("vit\nr = ")
    assert "skill" not in axes[1, 0].get_title(loc="left")  # of two sets nothing is said
    three = {"test_set": "set 1", "variant": "primary", "method": "msp/ude_wasserstein"}
    three |= {"backbone": "vit", "metric": "predicted_fpr95", "value": 0.5}
    three |= {"data_set": "mini", "run": 0}
    more = [pd.DataFrame([three | {"test_set": "set 1"}]), suites]
    told = figures.gscore_scatters(pd.concat(more, ignore_index=True))
    assert "\nskill " in told[1, 0].get_title(loc="left")
    many = pd.concat([suites, suites.assign(data_set="cifar100")], ignore_index=True)
    grown = figures.gscore_scatters(many)
    assert grown.shape == (4, 2)
    dots, crosses, _ = axes[1, 1].lines
    assert dots.get_xdata() == pytest.approx(np.arange(10))
    assert crosses.get_xdata() == pytest.approx([10.5, 11.5])
    truth = suites.query("backbone == 'vit' and metric == 'auroc' and variant == 'meta'")["value"]
    assert dots.get_ydata() == pytest.approx(100 * truth[:10])
    alone = figures.gscore_scatters(suites[suites["metric"] != "predicted_fpr95"])
    assert [len(ax.lines[0].get_xdata()) for ax in alone.flat] == [12] * 4


def test_sets_are_shown_from_the_easiest_to_the_hardest(texts):
    """By AUROC from the highest."""
    images = {name: np.zeros((3, 8, 8, 3), np.uint8) for name in ("dice", "maps", "waves")}
    truths = {"dice": 0.7, "maps": 0.5, "waves": 0.9, "other": 0.1}

    ax = figures.easiest_to_hardest(images, truths)
    assert texts(ax.get_yticklabels()) == ["waves, 90.0", "dice, 70.0", "maps, 50.0"]


def test_bad_input(scores, varied, suites):
    """What cannot be drawn, or would mix numbers, is refused by name."""
    several, ax = Parts(*(np.zeros((3, 2)) for _ in range(3))), plt.subplots()[1]
    two = pd.concat([varied, varied.assign(data_set="cifar100")])
    dice = {"dice": np.zeros((1, 8, 8, 3), np.uint8)}
    style, own = {"score": "s", "ax": ax}, {"metric": "auroc", "ax": ax}
    true = own | {"learnt": [0.5]}
    short = [0.5, 0.6], [0.5], ([0], [1])
    primary, vit = varied[varied["variant"] == "primary"], suites[suites["backbone"] == "vit"]
    for draw, given, options, message in (
        (figures.score_parts, (*scores, several), style, "parts: those of one threshold"),
        (figures.score_parts, (scores[0], [np.nan], parts()), style, "unknown: contains NaN"),
        (figures.predicted_against_true, short, true, "predictions: length 2 expected, got 1"),
        (figures.metric_histogram, ({},), own, "groups: 1 to 4 expected, got 0"),
        (figures.difficulty_histogram, (vit,), {}, "table: no AUROC of odin by sets"),
        (figures.difficulty_histogram, (suites,), {}, r"several of backbone \(resnet8, vit\)"),
        (panels.correlation_panels, (primary,), {}, "table: no pearson_fpr95 of msp in any var"),
        (panels.correlation_panels, (two,), {}, r"of data_set \(cifar10_mini, cifar100\)"),
        (figures.gscore_scatters, (primary.assign(test_set="all"),), {}, "no Gscores by ude_wass"),
        (figures.gscore_scatters, (pd.concat([suites, suites]),), {}, "duplicate"),
        (figures.easiest_to_hardest, (dice, {}), {}, "areas: no AUROC of dice"),
        (figures.easiest_to_hardest, ({}, {}), {}, "areas: no AUROC of any set to show"),
    ):
        with pytest.raises(ValueError, match=message):
            draw(*given, **options)
