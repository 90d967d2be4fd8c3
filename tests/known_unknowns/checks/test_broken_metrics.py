"""Each check of metrics fails for a function that breaks what it is about, and says so."""

import re
import unittest
from collections import Counter
from functools import partial

import numpy as np
import pytest

import helpers.scores
from helpers import metrics
from known_unknowns.checks import (
    METRIC_CHECKS,
    SCORE_CHECKS,
    MetricCase,
    check_metric,
    parametrize_with_checks,
)
from known_unknowns.checks.running import failure, refused

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
GROUPS = {"known": "group", "unknown": "group"}
RANKED = {"confidence": "scores", "correct": "correct"}
CLASSIFIED = {"probabilities": "probabilities", "labels": "labels"}
CALLS = Counter()


def aurc_by_argsort(confidence, correct):
    """Return the AURC as it is often written: ties stay in the order of the files."""
    wrong = ~np.asarray(correct)[np.argsort(-np.asarray(confidence), kind="stable")]
    return float((np.cumsum(wrong) / np.arange(1, len(wrong) + 1)).mean())


def auroc_by_argsort(known, unknown):
    """Return the AUROC by ranks: of equal scores the known image, which comes first, counts."""
    order = np.argsort(-np.concatenate([known, unknown]), kind="stable")
    is_known = order < len(known)
    return float(np.cumsum(is_known)[~is_known].mean() / len(known))


def auroc_by_pairs(known, unknown):
    known, unknown = np.asarray(known, float)[:, None], np.asarray(unknown, float)
    return float(np.mean((known > unknown) + (known == unknown) / 2))


def auroc_of_errors(confidence, correct):
    correct = np.asarray(correct, bool)
    return metrics.auroc(np.asarray(confidence)[correct], np.asarray(confidence)[~correct])


def sorts(known, unknown):
    known.sort()
    return metrics.auroc(known, unknown)


def counts_calls(known, unknown):
    CALLS["all"] += 1
    return metrics.auroc(known, unknown) + CALLS["all"]


def as_in_memory(probabilities, labels):
    """Take the rows as they lie in memory."""
    array = np.asarray(probabilities)
    return metrics.brier(array.ravel(order="K").reshape(array.shape), labels)


def brier_as_given(probabilities, labels):
    """Compute in whatever precision is given, and look at nothing."""
    own = np.eye(np.shape(probabilities)[1], dtype=np.asarray(probabilities).dtype)[labels]
    return float(np.square(probabilities - own).sum(axis=1).mean(dtype=own.dtype))


def error_rate(confidence, correct):
    return float(np.mean(~correct))


def without(condition):
    """Return an AURC of the images whose confidence satisfies something."""

    def aurc(confidence, correct):
        confidence = np.asarray(confidence, float)
        kept = condition(confidence)
        return metrics.aurc(confidence[kept], np.asarray(correct)[kept])

    return aurc


def cut_to_length(confidence, correct):
    length = min(len(confidence), len(correct))
    return metrics.aurc(confidence[:length], correct[:length])


def nothing_of_nothing(known, unknown):
    return metrics.auroc(known, unknown) if len(known) and len(unknown) else 0.0


BROKEN = {
    "result_is_float64": (lambda known, unknown: np.float32(metrics.auroc(known, unknown)), GROUPS),
    "result_is_in_range": (
        lambda known, unknown: 100 * metrics.auroc(known, unknown), GROUPS, "higher", "[0, 1]",
    ),
    "better_is_better": (lambda known, unknown: metrics.auroc(unknown, known), GROUPS, "higher"),
    "order_does_not_matter": (aurc_by_argsort, RANKED),
    "ties_are_not_broken": (auroc_by_argsort, GROUPS, "higher"),
    "calls_are_apart": (counts_calls, GROUPS),
    "given_arrays_are_left_alone": (sorts, GROUPS),
    "read_only_arrays_do": (sorts, GROUPS),
    "strided_arrays_do": (as_in_memory, CLASSIFIED),
    "lists_do": (lambda confidence, correct: metrics.aurc(confidence.ravel(), correct), RANKED),
    "float32_is_float64": (brier_as_given, CLASSIFIED),
    "zero_and_one_are_false_and_true": (error_rate, RANKED),
    "memory_grows_with_the_images": (auroc_by_pairs, GROUPS),
    "nan_is_refused": (without(lambda confidence: ~np.isnan(confidence)), RANKED),
    "infinity_ranks_or_is_refused": (without(lambda confidence: ~np.isinf(confidence)), RANKED),
    "empty_is_refused": (nothing_of_nothing, GROUPS),
    "other_lengths_are_refused": (cut_to_length, RANKED),
    "other_shapes_are_refused": (
        lambda known, unknown: metrics.auroc(np.ravel(known), np.ravel(unknown)), GROUPS,
    ),
    "out_of_range_is_refused": (brier_as_given, CLASSIFIED),
    "one_image_is_a_number": (lambda known, unknown: np.std(known, ddof=1), GROUPS),
    "one_class_is_a_number": (auroc_of_errors, RANKED),
}  # fmt: skip


@pytest.mark.parametrize("name", METRIC_CHECKS)
def test_each_check_fails_for_what_breaks_it(name):
    """With its name, and a case in which the metric fails when asked again."""
    function, takes, *more = BROKEN[name]
    more = dict(zip(("better", "range"), more, strict=False))
    with pytest.raises(AssertionError) as failed:
        check_metric(function, takes, **more, only=name)
    message = str(failed.value)
    assert message.startswith(f"check '{name}' of metric '{function.__name__}' failed: ")
    case = eval(re.search(r"case=(MetricCase\(.*\))\)$", message)[1], {"MetricCase": MetricCase})
    with pytest.raises(AssertionError, match=f"check '{name}'"):
        check_metric(function, takes, **more, only=name, case=case)


def test_the_case_is_the_smallest():
    """Two images that score the same, of which one is right."""
    with pytest.raises(AssertionError, match=r"MetricCase\(images=2, classes=1, seed=0\)"):
        check_metric(aurc_by_argsort, RANKED, only="ties_are_not_broken")


def test_what_does_not_apply_is_said():
    found = check_metric(metrics.rejection_threshold)
    assert list(found) == list(METRIC_CHECKS)
    assert found["nan_is_refused"] == "holds"
    assert found["better_is_better"].startswith("does not apply: neither higher nor lower")


def test_an_infinite_threshold_is_a_number():
    """It is that of an infinite score, and need not be that of a large one."""
    found = check_metric(lowest, {"known": "group"}, only="infinity_ranks_or_is_refused")
    assert found == {"infinity_ranks_or_is_refused": "holds"}
    with pytest.raises(AssertionError, match="it is NaN"):
        check_metric(spread, {"known": "group"}, only="infinity_ranks_or_is_refused")


def lowest(known):
    return float(np.min(known))


def spread(known):
    return float(np.ptp(known) / np.ptp(known))


def raised(error):
    def fails(*_):
        raise error

    return fails


def test_what_is_no_refusal_is_told_apart():
    """A check that does not apply is no failure, nor does a singular matrix name an argument."""
    with pytest.raises(unittest.SkipTest):
        failure(raised(unittest.SkipTest("no")), None, None)
    with pytest.raises(np.linalg.LinAlgError):
        refused(raised(np.linalg.LinAlgError("singular")))
    assert refused(raised(ValueError("known: empty"))) == "known: empty"


def test_what_is_not_known_is_refused():
    with pytest.raises(TypeError, match="function: a function expected, got 'auroc'"):
        check_metric("auroc")
    with pytest.raises(ValueError, match="takes: the arguments of 'brier_as_given' expected"):
        check_metric(brier_as_given)
    with pytest.raises(ValueError, match="unknown kind of argument 'score'; did you mean 'scores'"):
        check_metric(aurc_by_argsort, {"confidence": "score", "correct": "correct"})
    with pytest.raises(ValueError, match="unknown check 'nan'"):
        check_metric(metrics.aurc, only="nan")


def test_each_check_is_a_test_of_its_own():
    """Named by score or metric, its arguments, and check; one that does not apply is skipped."""
    objects = [
        helpers.scores.create("knn"),
        helpers.scores.create("knn", k=3),
        metrics.aurc,
        partial(metrics.aupr, positive="known"),
        (aurc_by_argsort, RANKED),
    ]
    mark = parametrize_with_checks(objects).mark
    tests = dict(zip(mark.kwargs["ids"], mark.args[1], strict=True))
    assert len(tests) == 2 * len(SCORE_CHECKS) + 3 * len(METRIC_CHECKS)
    tests["knn-2-fit_returns_itself"]()
    tests["aurc-ties_are_not_broken"]()
    with pytest.raises(unittest.SkipTest, match="its needs do not name the head"):
        tests["knn-another_head_is_refused"]()
    with pytest.raises(unittest.SkipTest, match="it takes no correct"):
        tests["aupr-known-zero_and_one_are_false_and_true"]()
    with pytest.raises(AssertionError, match="check 'order_does_not_matter' of metric"):
        tests["aurc_by_argsort-order_does_not_matter"]()
