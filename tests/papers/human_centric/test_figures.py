import itertools

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from helpers.papers.human_centric import figures
from helpers.papers.human_centric.training_figures import by_training

MODELS = {  # accuracy, parameters
    "resnet14": (0.68, 2e5), "resnet8": (0.62, 1e5), "vit4": (0.50, 4e5),
    "resnet8+adversarial_1": (0.47, 1e5), "resnet8+adversarial_0.5": (0.56, 1e5),
    "resnet8+distilled": (0.64, 1e5),
}  # fmt: skip
METHODS = {"vim": "ViM", "msp": "MSP"}


def rate(model, method):
    """A share that differs for each model and score; MSP is the better score but on vit4."""
    place = list(MODELS).index(model)
    return 0.3 + place / 100 + (0.1 if (method == "msp") == (model == "vit4") else 0.0)


@pytest.fixture(scope="module")
def table(table_of):
    ranking = itertools.product(("auroc", "fpr_at_tpr"), ("", "_correct"))
    places = {"der99": "average"} | dict.fromkeys(map("".join, ranking), "label-shifted")
    records = []
    for model, (accuracy, size) in MODELS.items():
        cells = [(method, *place, rate(model, method))
                 for method, place in itertools.product(METHODS, places.items())]  # fmt: skip
        cells += [
            ("network", "accuracy", "test", accuracy),
            ("network", "parameters", "test", size),
        ]
        for method, metric, test_set, value in cells:
            own = {"backbone": model, "method": method, "metric": metric, "test_set": test_set}
            spread = np.linspace(-0.01, 0.01, 50) if method != "network" else ()
            records.append(own | {"value": value, "bootstrap": [value + by for by in spread]})
    return table_of(records, paper="human_centric")


@pytest.fixture(scope="module")
def values(table):
    own = table[table["metric"] == "der99"]
    return own.pivot(index="backbone", columns="method", values="value").loc[list(MODELS)]


def test_positives_has_two_bars_for_each_score_with_intervals(table, texts):
    """FPR and AUROC in a panel each, in per cent, under the scores' titles."""
    own = table[table["backbone"] == "resnet8"]
    axes = figures.positives(own, methods=METHODS | {"ash": "ASH"})  # ASH is not there
    assert texts(axes[0].get_yticklabels()) == ["ViM", "MSP"]
    for ax in axes:
        widths = [bar.get_width() for bar in ax.patches]
        expected = [100 * rate("resnet8", name) for name in METHODS]
        assert widths == pytest.approx(expected * 2)
        drawn = [one.lines[2][0].get_segments() for one in ax.containers[::2]]  # then bars
        ends = np.concatenate(drawn)[..., 0]
        assert (ends[:, 0] < widths).all() and (widths < ends[:, 1]).all()
        assert np.ptp(ends, axis=1) == pytest.approx([2 * 0.95] * 4, abs=0.1)  # 95 % of ± 1


def test_error_against_accuracy_joins_the_models_of_a_family_by_size(table, texts):
    """Normal models alone, each labelled with its size; the family is in the legend."""
    axes = figures.error_against_accuracy(table, methods=METHODS)
    assert [ax.get_title() for ax in axes] == ["ViM", "MSP"]
    resnet, vit = axes[1].lines
    assert (resnet.get_label(), vit.get_label()) == ("resnet", "vit")
    assert resnet.get_xdata().tolist() == [62, 68]  # from the smaller to the larger
    expected = [100 * rate(name, "msp") for name in ("resnet8", "resnet14")]
    assert resnet.get_ydata() == pytest.approx(expected)
    assert texts(axes[1].texts) == ["8", "14", "4"]


def test_error_against_strength_starts_from_the_normal_model(table, texts):
    """Strengths go up, from 0; accuracy has a panel of its own."""
    axes = figures.error_against_strength(table, methods=METHODS)
    assert texts(axes[1].get_xticklabels()) == ["0", "0.5", "1"]
    names = ["resnet8", "resnet8+adversarial_0.5", "resnet8+adversarial_1"]
    for line, method in zip(axes[0].lines, METHODS, strict=True):
        assert line.get_ydata() == pytest.approx([100 * rate(name, method) for name in names])
    assert axes[1].lines[0].get_ydata() == pytest.approx([62, 56, 47])


def test_error_heatmap_writes_every_number_and_marks_the_lowest_of_each_model(values, texts):
    """Scores down, models across; what is missing has no text and shifts no mark."""
    values = values.copy()
    values.loc["resnet14", "vim"] = np.nan
    ax = figures.error_heatmap(values)
    assert texts(ax.get_xticklabels()) == list(values.index)
    found = {text.get_text(): text.get_weight() for text in ax.texts}
    shown = [share for share in values.T.to_numpy().ravel() if not np.isnan(share)]
    assert list(found) == [f"{100 * share:.1f}" for share in shown]
    lowest = {f"{100 * share:.1f}" for share in values.drop("resnet14").min(axis=1)}
    assert {text for text, weight in found.items() if weight == "bold"} == lowest
    assert len(found) == 11


def test_distillation_heatmap_puts_pairs_beside_each_other(values, texts):
    """The second panel is distilled minus normal, in points."""
    axes = figures.distillation_heatmap(values)
    names = texts(axes[0].get_xticklabels())
    assert names == ["resnet8", "resnet8+distilled"]
    change = [rate("resnet8+distilled", name) - rate("resnet8", name) for name in values.columns]
    assert texts(axes[1].texts) == [f"{100 * share:+.1f}" for share in change]
    assert figures.distillation_heatmap(-values)[1].texts[0].get_text()[0] == "−"


def decisions(right, captions=None):
    pictures = np.zeros((len(right), 8, 8, 3), np.uint8)
    return figures.Decisions(pictures, captions or ["cat"] * len(right), right)


def test_kept_and_rejected_tells_right_from_wrong_without_colour():
    """Frames and marks follow the decisions; rows are named, the first with its evaluation."""
    accepted, rejected = decisions([True, False]), decisions([True])
    groups = {
        "conventional": {"accepted": accepted, "rejected": rejected},
        "human-centric": {"accepted": decisions([False, False])},
    }
    axes = figures.kept_and_rejected(groups)
    assert axes.shape == (3, 2)
    assert [row[0].get_ylabel() for row in axes] == ["accepted", "rejected", "accepted"]
    titles = [row[0].get_title(loc="left") for row in axes]
    assert titles == ["conventional", "", "human-centric"]
    marks = [[ax.get_xlabel()[:1] for ax in row] for row in axes]
    assert marks == [["✓", "✕"], ["✓", ""], ["✕", "✕"]]
    assert [ax.spines["left"].get_linestyle() for ax in axes[0]] == ["-", "--"]


@pytest.mark.parametrize("draw", [figures.error_against_accuracy, figures.error_against_strength])
def test_what_would_mix_numbers_is_refused(table, draw):
    other = pd.concat([table, table.assign(data_set="digits")])
    with pytest.raises(ValueError, match=r"several of data_set \(cifar10_mini, digits\)"):
        draw(other, methods=METHODS)
    with pytest.raises(ValueError, match="table: no average der99 of gen"):
        draw(table, methods={"gen": "GEN"})


FLAT = figures.Decisions(np.zeros((1, 8, 8), np.uint8), ["cat"], [True])


@pytest.mark.parametrize(
    ("message", "draw"),
    [
        ("several of backbone", lambda t, v: figures.positives(t, methods=METHODS)),
        ("no auroc on the test set label-shifted",
         lambda t, v: figures.positives(t[t["backbone"] == "vit4"], methods={"gen": "GEN"})),
        ("adversarially expected, got none", lambda t, v: figures.error_against_strength(
            t[~t["backbone"].str.contains("adversarial")], methods=METHODS)),
        ("no model that is there both", lambda t, v: figures.distillation_heatmap(v.loc[["vit4"]])),
        ("values: no number", lambda t, v: figures.error_heatmap(v * np.nan)),
        ("groups: no image", lambda t, v: figures.kept_and_rejected({})),
        ("kept: one caption and one mark",
         lambda t, v: figures.kept_and_rejected({"a": {"kept": decisions([True] * 2, ["cat"])}})),
        (r"groups: kept: uint8 \[N, H, W, 3\] expected",
         lambda t, v: figures.kept_and_rejected({"a": {"kept": FLAT}})),
    ],
)  # fmt: skip
def test_what_shows_nothing_is_refused(table, values, draw, message):
    with pytest.raises(ValueError, match=message):
        draw(table, values)


def test_depth_goes_along_and_each_rate_has_its_interval(table):
    """The family that has most models; the rest is not there."""
    ax = figures.error_against_depth(table, methods=METHODS)
    assert [one.get_text() for one in ax.get_xticklabels()] == ["8", "14"]
    assert ax.get_xlabel() == "layers of resnet"
    for method, drawn in zip(METHODS, ax.containers, strict=True):
        heights = drawn.lines[0].get_ydata()
        expected = [100 * rate(name, method) for name in ("resnet8", "resnet14")]
        assert heights == pytest.approx(expected)
        ends = np.array(drawn.lines[2][0].get_segments())[..., 1]
        assert (ends[:, 0] < heights).all() and (heights < ends[:, 1]).all()
    with pytest.raises(ValueError, match="no family of two models"):
        figures.error_against_depth(table[table["backbone"] != "resnet14"], methods=METHODS)


def test_fine_tuned_networks_are_drawn_beside_the_plainly_fine_tuned_one(table):
    """It stands at strength 0, in place of the one that all begin with."""
    plain = table[table["backbone"] == "resnet14"]
    tuned = pd.concat([table, plain.assign(backbone="resnet8+finetuned")])
    axes = figures.error_against_strength(tuned, methods=METHODS)
    starts = [line.get_ydata()[0] for line in axes[0].lines]
    assert starts == pytest.approx([100 * rate("resnet14", name) for name in METHODS])


def test_figures_5_to_7_as_far_as_there_are_models(table):
    """What lacks its models is said, and the others are drawn; figure 6 is of resnet8."""
    assert by_training(table, methods=METHODS) == []
    assert len(plt.get_fignums()) == 3
    heatmap = plt.figure(plt.get_fignums()[1]).axes[0]
    shown = [text.get_text() for text in heatmap.get_xticklabels()]
    assert shown == ["normal", "adversarial_1", "adversarial_0.5", "distilled"]
    plt.close("all")
    names = table["backbone"]
    without = {
        "adversarial": ["No figure 5: one architecture trained adversarially expected, got none."],
        "distilled": ["No figure 7: it takes a model that is there both distilled and not."],
        "resnet8+": [
            "No figure 5: one architecture trained adversarially expected, got none.",
            "No figure 6: 3 models, and no architecture trained in several ways.",
            "No figure 7: it takes a model that is there both distilled and not.",
        ],
    }
    for what, expected in without.items():
        left = table[~names.str.contains(what, regex=False)]
        assert by_training(left, methods=METHODS) == expected
        assert len(plt.get_fignums()) == 3 - len(expected)
        plt.close("all")
    with pytest.raises(ValueError, match="no der99"):
        by_training(table[table["metric"] == "parameters"], methods=METHODS)
