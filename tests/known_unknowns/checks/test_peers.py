"""The checks find what is known of functions of others, and find nothing where nothing is."""

import pytest

from benchmarks import checks
from known_unknowns.checks import METRIC_CHECKS, SCORE_CHECKS
from known_unknowns.checks.metrics import Subject as Metric
from known_unknowns.checks.scores import Subject as Score


@pytest.fixture(scope="module")
def theirs():
    return {one[0]: one for one in checks.of_pytorch_ood()}


def metric(one):
    return Metric(*one[1:4], "[0, 1]")


@pytest.mark.parametrize("check", ["order_does_not_matter", "ties_are_not_broken"])
def test_an_area_that_depends_on_the_order_of_the_images_is_found(theirs, check):
    with pytest.raises(AssertionError, match=f"check '{check}' of metric 'aurc' failed"):
        METRIC_CHECKS.run(check, metric(theirs["aurc"]))
    METRIC_CHECKS.run(check, metric(theirs["auroc"]))


def test_an_openmax_that_depends_on_its_batch_is_found():
    theirs = {one.info.name: one for one in checks.detectors()}
    small = type(SCORE_CHECKS.case)(images=60, classes=12, width=12, train=240)
    with pytest.raises(AssertionError, match="check 'batch_is_its_images' of score 'openmax'"):
        SCORE_CHECKS.run("batch_is_its_images", Score(theirs["openmax"]), small)
    SCORE_CHECKS.run("batch_is_its_images", Score(theirs["max_logit"]), small)


def test_rows_say_what_came_of_each_check(theirs):
    found = list(checks.rows_of("A", "metric", "aurc", METRIC_CHECKS, metric(theirs["aurc"])))
    assert [row["check"] for row in found] == list(METRIC_CHECKS)
    failed = {row["check"]: row["words"] for row in found if row["outcome"] == "fails"}
    assert "in another order" in failed["order_does_not_matter"]
    assert {row["sort"] for row in found} == {"invariant", "what it is given"}
