import inspect

import pytest

from helpers import metrics
from helpers.metrics.records import MetricInfo
from helpers.papers import PAPERS
from helpers.scores.info import NEEDS, Info

# Building blocks and resampling are no metrics of their own.
NO_RECORD = {
    "answer_confidence",
    "calibration_error",
    "open_set_squared_errors",
    "resample_weights",
    "squared_errors",
    "weighted_aurc",
    "weighted_auroc",
    "weighted_calibration_error",
    "weighted_calibration_error_floor",
    "weighted_fpr_at_tpr",
    "weighted_mean",
}


def test_every_metric_has_one_record():
    functions = {
        name for name, _ in inspect.getmembers(metrics, inspect.isfunction) if name[0] != "_"
    }
    names = [record.name for record in metrics.RECORDS]
    assert sorted(names) == sorted(functions - NO_RECORD)
    assert {name for paper in PAPERS.values() for name in paper.metrics} == set(names)


@pytest.mark.parametrize("record", metrics.RECORDS, ids=lambda record: record.name)
def test_records_are_complete(record):
    assert record.title and record.equation and record.range and record.key
    assert record.convention.endswith(".")
    assert record.equation.count("{") == record.equation.count("}")
    assert inspect.getdoc(getattr(metrics, record.name))


def test_records_refuse_what_they_do_not_know():
    words = dict(name="n", title="t", equation="e", range="r", convention="c", key="k")
    with pytest.raises(ValueError, match=r"^better: "):
        MetricInfo(**words, better="more")
    words = dict.fromkeys(["name", "title", "paper", "authors", "key", "equation"], "x")
    with pytest.raises(ValueError, match=r"^unknown need 'luck'"):
        Info(**words, year=2000, needs=("luck", *NEEDS), summary="", sign="")
