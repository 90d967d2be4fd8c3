"""Figures show the given numbers, and methods differ by colour and without colour."""

import re
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from helpers import scores
from helpers.data.hypernyms import Hypernyms
from helpers.files import project_root
from helpers.labelfree import fit_regression
from helpers.metrics import calibration_error, reliability_curve, risk_coverage_curve
from helpers.papers.human_centric import parameters as human_centric
from helpers.papers.openset_calibration.claims import CLAIMS
from helpers.papers.uimnet.names import ALGORITHMS, MEASURES
from helpers.papers.unknown_detection import parameters as unknown_detection
from helpers.report import figures, results
from helpers.report.claims import Verdict
from helpers.report.figures.style import SMALLEST, method_styles

TITLES = {"uimnet": "Algorithms", "gscore": "Without labels"}
VERDICTS = [*map(str, Verdict)]
CURVE = risk_coverage_curve([0.9, 0.1, 0.8, 0.7], [True, False, True, True])
IMAGES = np.arange(6 * 4 * 4 * 3, dtype=np.uint8).reshape(6, 4, 4, 3)
SHEET = (IMAGES, np.array([2, 0, 2, 1, 2, 0]), ("cat", "dog", "ship", "not shown"))
HISTORY = pd.DataFrame({"epoch": [1, 2], "loss": [2.0, 1.0], "accuracy": [0.2, 0.5]})
GRAPH = Hypernyms({"tool": (), "hand tool": ("tool",), "edge tool": ("tool",),
                   "knife": ("edge tool",), "plane": ("hand tool", "edge tool")})  # fmt: skip
SHARES = {("Baseline", "near"): np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]])}
NAMES = {"columns": ["cat", "ship"], "rows": {"near": ["dog", "horse", "truck"]},
         "same": {"near": [[0], [0], [1]]}}  # fmt: skip


def regression(sets=40):
    generator = np.random.default_rng(0)
    gscores = generator.random(sets)
    truths = 0.8 - 0.5 * gscores + 0.02 * generator.standard_normal(sets)
    return fit_regression(gscores[:, None], truths, [0.5])


def test_reliability():
    """The printed ECE is the metric, bars and gaps show the curve, and the grid has one scale."""
    generator = np.random.default_rng(0)
    confidence = generator.uniform(0.35, 1, 200)
    correct = generator.random(200) < confidence**2
    curves = [reliability_curve(confidence**power, correct) for power in (1, 2)]
    panels = {("msp", name): curve for name, curve in zip(("before", "after"), curves, strict=True)}
    axes = figures.reliability_grid(panels)
    assert axes.shape == (1, 2) and len({ax.child_axes[0].get_ylim() for ax in axes.flat}) == 1
    for ax, curve, power in zip(axes.flat, curves, (1, 2), strict=True):
        error = calibration_error(confidence**power, correct)
        assert ax.texts[0].get_text() == f"ECE {error:.3f}"
        accuracy, gap = ax.containers
        assert [bar.get_height() for bar in accuracy] == pytest.approx(curve.accuracy)
        ends = [bar.get_y() + bar.get_height() for bar in gap]
        assert ends == pytest.approx(curve.confidence)
        shares = [bar.get_height() for bar in ax.child_axes[0].containers[0]]
        assert shares == pytest.approx(curve.count / 200)


@pytest.mark.parametrize("draw", [figures.claim_effects, figures.claim_intervals])
def test_claims_are_drawn_with_their_intervals(draw):
    checks = CLAIMS.check_published()
    checks["low"], checks["high"] = checks["effect"] - 0.01, checks["effect"] + 0.02
    pooled = draw == figures.claim_effects
    rows = checks[checks["data_set"] == "all"] if pooled else checks
    drawn = [line.get_xdata() for ax in draw(checks) for line in ax.lines]
    drawn = {tuple(ends) for ends in drawn if len(ends) == 2 and ends[0] != ends[1]}
    assert drawn == set(rows[["low", "high"]].itertuples(index=False, name=None))
    empty = CLAIMS.check(results.SCHEMA.empty_table().to_pandas())
    texts = [text.get_text() for ax in draw(empty) for text in ax.texts]
    assert texts.count(" no data") == len(empty)


def test_the_claimed_side_of_a_decisive_effect_is_right():
    """The unit is the largest distance from the margin in the row."""
    row = {"text": "A helps.", "tier": "small", "effect": 0.25, "low": 0.0, "high": 0.5,
           "relation": ">", "margin": 0.0, "printed": 1.0,
           "verdict": Verdict.UNDECIDED}  # fmt: skip
    below = {"relation": "<", "printed": np.nan, "verdict": Verdict.SUPPORTED, "effect": -0.25,
             "low": -0.5, "high": -0.125}  # fmt: skip
    lines = pd.DataFrame([row, row | below, row | below | {"effect": 0.25, "high": 0.25}])
    drawn = [
        np.atleast_1d(one.get_xdata()).tolist() for one in figures.decisive_effects(lines).lines
    ]
    first, second, third = [[0.0, 0.5], [0.25], [1.0]], [[1.0, 0.25], [0.5]], [[1.0, -0.5], [-0.5]]
    assert drawn == [*first, *second, *third, [0, 0]]  # the last line is the margin


def test_a_contact_sheet_has_a_row_for_each_class(texts):
    ax = figures.contact_sheet(*SHEET, columns=2)
    assert texts(ax.get_yticklabels()) == ["cat", "dog", "ship"]
    sheet = ax.images[0].get_array()
    assert (sheet[10:14, :4] == IMAGES[0]).all() and (sheet[10:14, 5:9] == IMAGES[2]).all()
    assert (sheet[5:9, 5:9] == 255).all()  # there is one dog
    ax = figures.contact_sheet(*SHEET, known={2, 1})
    assert texts(ax.get_yticklabels()) == ["dog", "ship", "cat"]
    assert texts(ax.get_legend()) == ["known", "unknown"]
    axes = figures.resize_pairs({"original": IMAGES[:2], "other": IMAGES[2:4]})
    assert (axes[1, 1].images[0].get_array() == IMAGES[3]).all()


def test_gscore_scatter_shows_the_fit():
    line = regression()
    ax = figures.gscore_scatter(line, metric="fpr95", unseen=([0.2, 1.4], [0.7, 0.1]))
    dots, crosses, drawn = ax.lines
    assert dots.get_ydata() == pytest.approx(100 * (line.predict(line.gscores) + line.residuals))
    assert crosses.get_ydata() == pytest.approx([70, 10])
    assert drawn.get_xdata().max() == pytest.approx(1.4)
    assert drawn.get_ydata() == pytest.approx(100 * line.predict(drawn.get_xdata()))
    for sets, banded in ((8, False), (9, True)):  # a 90 % interval needs nine sets
        ax = figures.gscore_scatter(regression(sets), metric="auroc")
        assert bool(ax.collections) == banded


def test_the_ledger_is_drawn():
    index = pd.MultiIndex.from_tuples([("uimnet", "mini"), ("uimnet", "small"), ("gscore", "mini")])
    counts = pd.DataFrame([[1, 2, 0, 0, 5], [8, 0, 0, 0, 0], [0, 0, 3, 2, 1]], index, VERDICTS)
    ax = figures.tally_bars(counts, titles=TITLES)
    widths = np.array([[bar.get_width() for bar in bars] for bars in ax.containers]).T
    assert (widths == counts.to_numpy()).all()
    rows = [
        ("uimnet", "erm", "mini", Verdict.SUPPORTED, 2.0),
        ("uimnet", "erm", "small", Verdict.CONTRADICTED, -np.inf),
        ("gscore", "rmse", "mini", Verdict.UNDECIDED, np.nan),
        ("gscore", "ratios", "small", Verdict.NOT_TESTABLE, 3.0),
    ]
    columns = ["paper", "claim", "tier", "verdict", "clearance"]
    ax = figures.clearances(pd.DataFrame(rows, columns=columns), titles=TITLES)
    places = [line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 1]
    assert places == [2.0, -30.0, 3.0]  # larger distances are drawn at the end of the scale
    rows = [("uimnet", "mini", "ece", 0.1, 0.2), ("uimnet", "small", "ece", 0.1, 0.15)]
    columns = ["paper", "tier", "metric", "published", "reproduced"]
    (ax,) = figures.counterpart_scatters(pd.DataFrame(rows, columns=columns), titles=TITLES)
    open_markers = {(line.get_xdata()[0], line.get_ydata()[0]): line.get_markerfacecolor() == "none"
                    for line in ax.lines if len(line.get_xdata()) == 1}  # fmt: skip
    assert open_markers == {(0.1, 0.2): True, (0.1, 0.15): False}  # the last tier is filled


def test_a_method_has_one_look_under_all_its_names():
    """The name in code, the title of the score and the titles of the chapters."""
    titles = {name: scores.create(name).info.title for name in scores.names()}
    for names in (titles, human_centric.METHODS, unknown_detection.METHODS, MEASURES, ALGORITHMS):
        for name, title in names.items():
            assert method_styles([name])[name] == method_styles([title])[title], name


def test_no_two_methods_look_alike_and_a_new_score_moves_no_other():
    names = [*scores.names(), *ALGORITHMS, *(f"new {number}" for number in range(20))]
    looks = method_styles(names)
    for first, second in combinations(looks.values(), 2):
        assert any(first[key] != second[key] for key in ("color", "marker"))
    known = [*scores.names()]
    after = method_styles(["a new one", *known])
    assert {name: after[name] for name in known} == method_styles(known)


@pytest.mark.parametrize("methods", [unknown_detection.METHODS, ALGORITHMS, MEASURES,
                                     [f"method {number}" for number in range(9)]])  # fmt: skip
def test_methods_of_one_figure_differ_by_colour_and_without_it(methods):
    looks = method_styles(methods).values()
    assert len({look["color"] for look in looks}) == len(looks)
    assert len({(look["linestyle"], look["marker"]) for look in looks}) == len(looks)


def bars(ax):
    return [line.get_xdata().tolist() for line in ax.lines if line.get_marker() == "o"]


def test_critical_difference():
    """The better half is labelled on the right; bars join methods that do not differ."""
    ranks = pd.Series({"C4.5": 3.143, "m": 2.0, "cf": 2.893, "m+cf": 1.964})
    ax = figures.critical_difference(ranks, 1.12)
    places = {text.get_text(): text.xy[0] for text in ax.texts[:-1]}
    assert places == {"m+cf  1.96": 1, "m  2.00": 1, "2.89  cf": 4, "3.14  C4.5": 4}
    assert bars(ax) == [[1.964, 2.0, 2.893], [2.893, 3.143]]
    assert np.ptp(ax.lines[-1].get_xdata()) == pytest.approx(1.12)
    assert not bars(figures.critical_difference(ranks, 0.01))
    equal = pd.Series({"a": 2.0, "b": 2.0, "c": 2.0})
    assert bars(figures.critical_difference(equal, 1.0)) == [[2.0, 2.0, 2.0]]


@pytest.mark.parametrize("number", [2, 9, 20])
def test_labels_of_ranks_do_not_overlap(number):
    values = np.random.default_rng(0).uniform(1, number, number)
    ranks = pd.Series(values, [f"{chr(97 + i) * (3 + 5 * i % 13)}" for i in range(number)])
    with plt.rc_context():
        figures.use_style()
        ax = figures.critical_difference(ranks, number / 5)
        ax.figure.draw_without_rendering()
        texts = [*ax.texts, ax.xaxis.label, *ax.get_xticklabels()]
        boxes = [text.get_window_extent() for text in texts]
        size = ax.figure.bbox.size
    assert not any(first.overlaps(second) for first, second in combinations(boxes, 2))
    corners = np.array([box.corners() for box in boxes])
    assert corners.min() >= 0 and (corners <= size).all()


def test_histograms(texts):
    """An image at the threshold is accepted; groups share bins, and their shares add up to one."""
    ax = figures.confidence_histograms([0.2, 0.9, 0.9, 0.9], [0.1, 0.5], 0.5)
    assert texts(ax.get_legend())[:2] == [
        "known classes, 25% rejected",
        "unknown classes, 50% rejected",
    ]
    groups = {"smooth": np.linspace(-0.05, 0, 40), "rough": np.linspace(-0.2, -0.03, 10)}
    ax = figures.score_histograms(groups, score="smoothness", bins=8)
    for patch, values in zip(ax.patches, groups.values(), strict=True):
        shares = np.histogram(values, 8, (-0.2, 0))[0] / len(values)
        assert patch.get_xy()[1:17:2, 1] == pytest.approx(shares)


def test_densities_enclose_an_area_of_one():
    panels = {"Baseline": {"correct": [1.0, 1.0, 0.9], "near": [0.5], "far": [0.2, 0.4]}}
    (ax,) = figures.confidence_densities(panels)
    for line in ax.lines:
        x, density = line.get_data()
        assert density.mean() == pytest.approx(1)  # over [0, 1]
        middle = (x * density).sum() / density.sum()
        assert middle == pytest.approx(np.mean(panels["Baseline"][line.get_label()]), abs=0.02)


def test_curves_are_drawn_as_given():
    ax = figures.risk_coverage_curves({"best": CURVE})
    given, ideal, chance = ax.lines
    assert (given.get_xdata() == CURVE[0]).all() and (given.get_ydata() == CURVE[1]).all()
    assert ideal.get_ydata() == pytest.approx(CURVE[1]) and set(chance.get_ydata()) == {0.25}
    loss, accuracy = figures.learning_curves(HISTORY)
    assert loss.lines[0].get_ydata().tolist() == [2.0, 1.0]
    assert accuracy.lines[0].get_ydata().tolist() == [0.2, 0.5]


def test_the_superclass_of_a_row_is_framed():
    ax = figures.softmax_heatmaps(SHARES, **NAMES)[0, 0]
    assert (ax.images[0].get_array() == SHARES["Baseline", "near"]).all()
    frames = [(patch.get_xy(), patch.get_height()) for patch in ax.patches]
    assert frames == [((-0.5, -0.5), 2), ((0.5, 1.5), 1)]
    assert ax.get_title() == "Baseline\nmost: cat, 0.67"


def test_a_tree_has_a_row_for_each_node_and_names_a_second_parent():
    ax = figures.wordnet_tree(GRAPH, roles={"knife": "removed"})
    rows = [text.get_text() for text in ax.texts]
    assert sorted(row.split(" (")[0] for row in rows) == sorted(GRAPH.parents)
    (plane,) = (row for row in rows if row.startswith("plane"))
    assert plane in ("plane (also below edge tool)", "plane (also below hand tool)")


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: figures.reliability_grid({}), "missing all"),
        (lambda: figures.claim_effects(pd.DataFrame()), "checks: no column claim"),
        (lambda: figures.contact_sheet(IMAGES / 255, *SHEET[1:]), "images: uint8"),
        (lambda: figures.contact_sheet(IMAGES, [0], SHEET[2]), "labels: 6 expected"),
        (lambda: figures.contact_sheet(IMAGES, [4] * 6, SHEET[2]), "labels: 0 to 3"),
        (lambda: figures.resize_pairs({"a": IMAGES, "b": IMAGES[:1]}), "as many images in each"),
        (lambda: figures.gscore_scatter(regression(), metric="fpr_95"), "did you mean 'fpr95'"),
        (lambda: figures.critical_difference(pd.Series({"a": 1.0}), 1.0), "two methods or more"),
        (lambda: figures.confidence_histograms([0.5], [1.5], 0.5), "unknown: confidences"),
        (lambda: figures.score_histograms({}, score="x"), "groups: 1 to 4 expected, got 0"),
        (lambda: figures.confidence_densities({}), "panels: empty"),
        (lambda: figures.risk_coverage_curves({}), "curves: empty"),
        (lambda: figures.learning_curves(HISTORY.iloc[:0]), "table: empty"),
        (lambda: figures.wordnet_tree(GRAPH, roles={"knife": "near"}), "unknown role 'near'"),
    ],
)
def test_bad_input(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


def test_no_figure_has_letters_below_the_smallest():
    """`workflow/legible.py` computes the height of letters on a page from the smallest."""
    for path in [
        *project_root().glob("helpers/**/*.py"),
        *project_root().glob("notebooks/**/*.ipynb"),
    ]:
        sizes = re.findall(r"(?:font|label)size=\\?\W?([\w.-]+)", path.read_text(encoding="utf-8"))
        small = [size for size in sizes if size.endswith("x-small")]
        small += [size for size in sizes if size[0].isdigit() and float(size) < SMALLEST]
        assert not small, path
