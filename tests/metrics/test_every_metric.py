"""What every metric must keep to, and what it refuses to be taken of, with the argument's name."""

import inspect
import re
from functools import partial

import numpy as np
import pytest

from helpers import metrics
from helpers.metrics.records import MetricInfo
from helpers.papers import PAPERS
from helpers.scores.info import NEEDS, Info
from helpers.scores.openset import open_set_answer, openmax_answer, unknown_probability
from known_unknowns.checks import parametrize_with_checks
from known_unknowns.guarantees import clopper_pearson, coverage_threshold, risk_threshold

NAN = float("nan")
# Of each kind of argument what is good for one image, and what is not: how the message begins.
ROWS = {"": [np.empty((0, 2)), [0.5, 0.5], [[]], [[NAN, 0.5]], [[1.5, -0.5]]]}
WEIGHTS = {"shape [B, 1] expected": [[[1, 1]], [1], np.empty((0, 1))], "a row sums to 0": [[[0]]]}
KINDS = {
    "numbers": ([[0.5, 0.5]], {"": ROWS[""][:-1]}),
    "rows": ([[0.5, 0.5]], ROWS),
    "probabilities": ([[0.5, 0.5]], ROWS | {"rows that sum to": [[[0.9, 0.9]]]}),
    "labels": ([0], {"": [[0, 1], [2], [-2], [0.5], [[0]]]}),
    "shares": ([0.5], {"": [[], [1.5], [-0.5], [NAN]]}),
    "correct": ([1], {"": [[1, 0], [0.5], [2], [NAN]]}),
    "scores": ([0.5], {"": [["a"], [[0.1]]], "empty": [[]], "contains NaN": [[NAN]]}),
    "weights": ([[1]], WEIGHTS | {"contains NaN": [[[NAN]]]}),
    "counts": ([[1]], WEIGHTS | {"whole numbers": [[[0.5]], [[-1]]]}),
    "bins": (15, {"": [0, 2.5]}),
    "number": (0.5, {"": [NAN]}),
    "top": (1, {"1 to 2": [3], "a whole number, at least 1": [0, -1, 1.5]}),
    "positive": (1, {"a whole number, at least 1": [0]}),
    "replicates": (1, {"": [0]}),
    "share": (0.5, {"": [0, -0.1, 1.01, 95, NAN]}),
    "open share": (0.5, {"": [0, 1, -0.1, NAN]}),
    "successes": (0, {"": [2, -1]}),
    "total": (1, {"": [0]}),
}
GROUPS = {"known": "scores", "unknown": "scores"}
RANKED = {"confidence": "scores", "correct": "correct"}
CALIBRATED = {"confidence": "shares", "correct": "correct", "bins": "bins"}
CLASSIFIED = {"probabilities": "probabilities", "labels": "labels"}
SCORED = {"scores": "scores", "correct": "correct"}
THRESHOLD = {"threshold": "number"}
WEIGHED = {"weights": "weights"}
COUNTED = {f"{side}_weights": "counts" for side in GROUPS}
ARGUMENTS = [
    (metrics.accuracy, CLASSIFIED | {"top": "top"}),
    (metrics.calibration_error, CALIBRATED),
    (metrics.reliability_curve, CALIBRATED),
    (metrics.calibration_error_floor, {"confidence": "shares", "replicates": "replicates"}),
    (metrics.fpr_at_tpr, GROUPS | {"tpr": "share"}),
    (metrics.rejection_threshold, {"train_scores": "scores", "keep": "share"}),
    (metrics.detection_error_rate, SCORED | THRESHOLD),
    (metrics.domain_confusion, {"id_scores": "scores", "ood_scores": "scores"} | THRESHOLD),
    (risk_threshold, SCORED | {"risk": "share", "confidence": "open share"}),
    (coverage_threshold, {"scores": "scores", "coverage": "open share"}),
    (clopper_pearson, {"successes": "successes", "total": "total", "confidence": "open share"}),
    (partial(metrics.resample_weights, seed=0), {"n": "positive", "replicates": "positive"}),
    (metrics.weighted_mean, {"values": "scores"} | WEIGHED),
    (metrics.weighted_calibration_error, CALIBRATED | WEIGHED),
    (metrics.weighted_calibration_error_floor, {"confidence": "shares"} | WEIGHED),
    (metrics.weighted_aurc, RANKED | {"weights": "counts"}),
    (metrics.weighted_auroc, GROUPS | COUNTED),
    (metrics.weighted_fpr_at_tpr, GROUPS | COUNTED | {"tpr": "share"}),
    (unknown_probability, {"probabilities": "rows"}),
    (open_set_answer, {"probabilities": "numbers"} | THRESHOLD),
    (openmax_answer, {"probabilities": "numbers"}),
]


RECORDED = [getattr(metrics, one.name) for one in metrics.RECORDS if one.name != "aupr"]
RECORDED += [partial(metrics.aupr, positive=positive) for positive in ("known", "unknown")]
RECORDED += [
    partial(metrics.aurc, variant="trapezoid"),
    partial(metrics.fpr_at_tpr, positive="unknown"),
    (metrics.calibration_error, {"confidence": "shares", "correct": "correct"}, "lower", "[0, 1]"),
]


@parametrize_with_checks(RECORDED)
def test_what_must_hold_of_every_metric(check):
    """Every check of `known_unknowns.checks` that applies to the metric."""
    check()


@pytest.mark.parametrize(
    ("function", "arguments", "name"),
    [(function, arguments, name) for function, arguments in ARGUMENTS for name in arguments],
)
def test_bad_input_is_named(function, arguments, name):
    """With all else good; `bad_input_is_refused` checks the arrays of the other metrics."""
    good = {one: KINDS[kind][0] for one, kind in arguments.items()}
    for message, values in KINDS[arguments[name]][1].items():
        for value in values:
            with pytest.raises(ValueError, match=f"^{name}: {re.escape(message)}"):
                function(**good | {name: value})


WORDS = dict(name="n", title="t", equation="e", range="r", convention="c", key="k")
SCORE = dict.fromkeys(["name", "title", "paper", "authors", "key", "equation"], "x")


@pytest.mark.parametrize(
    ("message", "function", "arguments", "options"),
    [
        (r"row 1 sums to 1\.6", metrics.nll, ([[0.5, 0.5], [0.8, 0.8]], [0, 1]), {}),
        ("did you mean 'known'", metrics.fpr_at_tpr, ([1], [0]), {"positive": "knwon"}),
        ("positive class 'ood'", metrics.aupr, ([1], [0]), {"positive": "ood"}),
        ("did you mean 'trapezoid'", metrics.aurc, ([1], [1]), {"variant": "trapezium"}),
        ("unknown optimum", metrics.eaurc, ([1], [1]), {"optimum": "best"}),
        ("rejected image 'knwon'; did you mean 'known'", metrics.open_set_ece,
         ([[0.5, 0.5]], [0.1], [0], [0]), {"rejected": "knwon"}),
        ("a row sums to 0 and cannot be normalised", metrics.open_set_brier,
         ([[0.0, 0.0]], [0.0], [0]), {"normalised": True}),
        *[("^unknown_weights: as many rows", function, ([1, 2], [1, 2], [[1, 1]], [[1, 1]] * 2), {})
          for function in (metrics.weighted_auroc, metrics.weighted_fpr_at_tpr)],
        ("^better: ", MetricInfo, (), WORDS | {"better": "more"}),
        ("^unknown need 'luck'", Info, (),
         SCORE | dict(year=2000, needs=("luck", *NEEDS), summary="", sign="")),
    ],
)  # fmt: skip
def test_bad_options_are_named(message, function, arguments, options):
    with pytest.raises(ValueError, match=message):
        function(*arguments, **options)


BUILDING_BLOCKS = "_|weighted_|resample_|answer_confidence|calibration_error$|.*squared_errors"


def test_every_metric_has_one_complete_record():
    functions = [name for name, _ in inspect.getmembers(metrics, inspect.isfunction)]
    names = [record.name for record in metrics.RECORDS]
    assert sorted(names) == [one for one in functions if not re.match(BUILDING_BLOCKS, one)]
    assert {name for paper in PAPERS.values() for name in paper.metrics} == set(names)
    for record in metrics.RECORDS:
        assert record.title and record.equation and record.range and record.key
        assert record.convention.endswith(".")
        assert record.equation.count("{") == record.equation.count("}")
        assert inspect.getdoc(getattr(metrics, record.name))
