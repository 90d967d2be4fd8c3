"""What every metric must keep to, and what it refuses to be taken of, with the argument's name."""

import inspect
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import yaml

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
FILE = Path(__file__).with_name("arguments.yaml")
ARGUMENTS = yaml.safe_load(FILE.read_text("utf-8"))
MISTAKES = yaml.safe_load(FILE.with_name("mistakes.yaml").read_text("utf-8"))
OTHERS = (risk_threshold, coverage_threshold, clopper_pearson)
OTHERS += (unknown_probability, open_set_answer, openmax_answer)
FUNCTIONS = vars(metrics) | {function.__name__: function for function in OTHERS}
FUNCTIONS["resample_weights"] = partial(metrics.resample_weights, seed=0)


RECORDED = [getattr(metrics, one.name) for one in metrics.RECORDS if one.name != "aupr"]
RECORDED += [partial(metrics.aupr, positive=positive) for positive in ("known", "unknown")]
RECORDED += [
    partial(metrics.fpr_at_tpr, positive="unknown"),
    (metrics.calibration_error, {"confidence": "shares", "correct": "correct"}, "lower", "[0, 1]"),
]


@parametrize_with_checks(RECORDED)
def test_what_must_hold_of_every_metric(check):
    """Every check of `known_unknowns.checks` that applies to the metric."""
    check()


CASES = [(function, name) for function, arguments in ARGUMENTS.items() for name in arguments]


@pytest.mark.parametrize(("function", "name"), CASES)
def test_bad_input_is_named(function, name):
    """With all else good; `bad_input_is_refused` checks the arrays of the other metrics."""
    good = {argument: KINDS[kind][0] for argument, kind in ARGUMENTS[function].items()}
    for message, values in KINDS[ARGUMENTS[function][name]][1].items():
        for value in values:
            with pytest.raises(ValueError, match=f"^{name}: {re.escape(message)}"):
                FUNCTIONS[function](**good | {name: value})


WORDS = dict(name="n", title="t", equation="e", range="r", convention="c", key="k")
SCORE = dict.fromkeys(["name", "title", "paper", "authors", "key", "equation"], "x")


@pytest.mark.parametrize("message", MISTAKES)
def test_bad_options_are_named(message):
    function, arguments, options = MISTAKES[message]
    with pytest.raises(ValueError, match=message):
        getattr(metrics, function)(*arguments, **options)


def test_bad_records_are_refused():
    with pytest.raises(ValueError, match=r"^better: "):
        MetricInfo(**WORDS, better="more")
    with pytest.raises(ValueError, match=r"^unknown need 'luck'"):
        Info(**SCORE, year=2000, needs=("luck", *NEEDS), summary="", sign="")


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
