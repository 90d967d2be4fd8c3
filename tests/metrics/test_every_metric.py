"""Every metric passes its checks and refuses bad input with the argument's name."""

import inspect
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest

from helpers import metrics
from helpers.metrics import ranks, records
from helpers.papers import PAPERS
from known_unknowns.checks import parametrize_with_checks
from tests.mistakes import beside, refusals, refused

# of each kind of argument what is good for one image, and what is not: how the message begins
GIVEN = beside(__file__, "arguments.yaml")
KINDS = GIVEN["kinds"]
ARGUMENTS = GIVEN["functions"]
OBJECTS = {"no rows": np.empty((0, 2))}


RECORDED = [getattr(metrics, record.name) for record in records.read() if record.name != "aupr"]
RECORDED += [partial(metrics.aupr, positive=positive) for positive in ("known", "unknown")]
RECORDED += [
    partial(metrics.fpr_at_tpr, positive="unknown"),
    (metrics.calibration_error, {"confidence": "shares", "correct": "correct"}, "lower", "[0, 1]"),
]


@parametrize_with_checks(RECORDED)
def test_every_metric_passes_its_checks(check):
    """Every check of `known_unknowns.checks` that applies to the metric."""
    check()


CASES = [(function, name) for function, arguments in ARGUMENTS.items() for name in arguments]


@pytest.mark.parametrize(("function", "name"), CASES)
def test_bad_input_is_named(function, name):
    """With all else good; `bad_input_is_refused` checks the arrays of the other metrics."""
    good = {argument: KINDS[kind]["good"] for argument, kind in ARGUMENTS[function].items()}
    for message, values in KINDS[ARGUMENTS[function][name]]["bad"].items():
        for value in values:
            refused(function, f"^{name}: {re.escape(message)}", good | {name: value}, OBJECTS)


def ranked(function, values, **options):
    """Call a function of ranks with a table, or with one column."""
    kind = pd.DataFrame if "columns" in values else pd.Series
    return getattr(ranks, function)(kind(**values), **options)


test_bad_options_and_records_are_named = refusals(__file__, {})


BUILDING_BLOCKS = "_|weighted_|resample_|answer_confidence|calibration_error$|.*squared_errors"


def test_every_metric_has_one_complete_record():
    functions = [name for name, _ in inspect.getmembers(metrics, inspect.isfunction)]
    names = [record.name for record in records.read()]
    assert sorted(names) == [name for name in functions if not re.match(BUILDING_BLOCKS, name)]
    assert {name for paper in PAPERS.values() for name in paper.metrics} == set(names)
    for record in records.read():
        assert all((record.title, record.equation, record.range, record.key))
