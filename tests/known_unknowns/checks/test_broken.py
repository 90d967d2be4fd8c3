"""Each check fails for a score or a metric that breaks what it is about, and says so."""

import hashlib
import re
import unittest
from functools import partial
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

import helpers.scores
from helpers import metrics
from helpers.scores import base
from known_unknowns import checks
from known_unknowns.checks import METRIC_CHECKS, SCORE_CHECKS, check_metric, check_score
from tests.mistakes import beside

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
METRICS, TAKES, SCORES, REFUSED = beside(__file__, "broken.yaml").values()
CALLS = count()


def aurc_by_argsort(confidence, correct):
    """Return the AURC as it is often written: ties stay in the order of the files."""
    wrong = ~np.asarray(correct)[np.argsort(-np.asarray(confidence), kind="stable")]
    return float((np.cumsum(wrong) / np.arange(1, len(wrong) + 1)).mean())


def auroc_of_errors(confidence, correct):
    correct = np.asarray(correct, bool)
    confidence = np.asarray(confidence)
    return metrics.auroc(confidence[correct], confidence[~correct])


def sorts(known, unknown):
    known.sort()
    return metrics.auroc(known, unknown)


def as_in_memory(probabilities, labels):
    array = np.asarray(probabilities)
    return metrics.brier(array.ravel(order="K").reshape(array.shape), labels)


def brier_as_given(probabilities, labels):
    """Compute in whatever precision is given, and look at nothing."""
    truth = np.eye(np.shape(probabilities)[1], dtype=np.asarray(probabilities).dtype)[labels]
    return float(np.square(probabilities - truth).sum(axis=1).mean(dtype=truth.dtype))


def without(condition):
    """Return an AURC of the images whose confidence satisfies something."""
    return lambda confidence, correct: metrics.aurc(
        *(np.asarray(each)[condition(np.asarray(confidence))] for each in (confidence, correct))
    )


def cut_to_length(confidence, correct):
    length = min(len(confidence), len(correct))
    return metrics.aurc(confidence[:length], correct[:length])


LOGITS = ("logits", "level of the logits", "training outputs")


def score_of(needs=LOGITS, **methods):
    """Return a class like `Theirs` but for what is given."""
    info = SimpleNamespace(name="theirs", needs=needs)
    return type("Broken", (Theirs,), {"info": info} | methods)


def largest(outputs):
    return outputs.logits.max(axis=1).astype(np.float64)


def mean_of(outputs):
    return sum(largest(part).sum() for part in base.parts(outputs)) / len(outputs)


class Theirs:
    """The largest logit, less the mean of those of the training images; no relative of ours."""

    info = SimpleNamespace(name="theirs", needs=LOGITS)

    def fit(self, train_outputs, head):
        self.width = train_outputs.num_classes
        self.mean = mean_of(train_outputs)
        return self

    def of(self, outputs):
        return largest(outputs)

    def score_samples(self, outputs):
        if not hasattr(self, "width"):
            raise ValueError("call fit first")
        if outputs.num_classes != self.width:
            raise ValueError(f"outputs: {self.width} logits expected, got {outputs.num_classes}")
        return base.in_blocks(outputs, self.of, filled=False) - self.mean


def after(change):
    """Return a class whose scores are changed before they are returned."""

    return score_of(score_samples=lambda self, outputs: change(Theirs.score_samples(self, outputs)))


def in_place(score, outputs):
    outputs.logits[:] -= outputs.logits.max()
    return Theirs.score_samples(score, outputs)


def for_a_moment(score, outputs):
    outputs.logits[:] += 1
    values = Theirs.score_samples(score, outputs) - 1
    outputs.logits[:] -= 1
    return values


def runs_along(score, outputs):
    values = Theirs.score_samples(score, outputs)
    score.mean += values.mean()
    return values


def adds_up(score, train_outputs, head):
    Theirs.fit(score, train_outputs, head)
    score.mean = score.total = getattr(score, "total", 0.0) + score.mean
    return score


def means_of_classes(score, train_outputs, head):
    classes = range(train_outputs.num_classes)
    values = largest(train_outputs)
    means = [values[train_outputs.labels == k].mean() for k in classes]
    score.width = train_outputs.num_classes
    score.mean = np.mean(means)
    return score


def reads_their_bytes(score, outputs):
    return hashlib.sha256(outputs.logits) and largest(outputs)


def not_a_mapped_file(score, outputs):
    if isinstance(outputs.logits.base, np.memmap):
        raise TypeError("in no memory of its own")
    return Theirs.score_samples(score, outputs)


def never(score, outputs):
    return outputs.logits.max(axis=1) - score.__dict__.get("mean", 0.0)


def checks_the_fit_alone(score, outputs):
    if not hasattr(score, "width"):
        raise ValueError("call fit first")
    return never(score, outputs)


def test_there_is_a_broken_one_for_each_check():
    assert {name for name, *_ in METRICS} == {*METRIC_CHECKS}
    assert {name for name, *_ in SCORES} == {*SCORE_CHECKS}


def case_of(error):
    """Return the smallest case, as a message tells it."""
    text = re.search(r"case=(\w+Case\(.*\))\)$", str(error.value))[1]
    return eval(text, vars(checks))


@pytest.mark.parametrize("broken", METRICS, ids=lambda broken: broken[0])
def test_each_check_of_metrics_fails_for_what_breaks_it(broken):
    """With its name, and a case in which the metric fails when asked again."""
    name, function, takes, *more = broken
    function = eval(function)
    takes = TAKES[takes]
    options = dict(zip(("better", "range"), more, strict=False)) | {"only": name}
    with pytest.raises(AssertionError, match=f"check '{name}' of metric") as failed:
        check_metric(function, takes, **options)
    smallest = case_of(failed)
    if (name, function) == ("ties_are_not_broken", aurc_by_argsort):
        assert (smallest.images, smallest.classes) == (2, 1)
    with pytest.raises(AssertionError, match=f"check '{name}'"):
        check_metric(function, takes, **options, case=smallest)


@pytest.mark.parametrize(("name", "phrase", "score"), SCORES)
def test_each_check_of_scores_fails_for_what_breaks_it(name, phrase, score):
    """With its name, what must hold, and a case in which the score fails when asked again."""
    score = eval(score)
    with pytest.raises(AssertionError) as failed:
        check_score(score, only=name)
    first, second, *_ = str(failed.value).splitlines()
    assert first.startswith(f"check '{name}' of score") and phrase in first
    assert second.startswith("What must hold: ")
    with pytest.raises(AssertionError, match=re.escape(first)):
        check_score(score, only=name, case=case_of(failed))


def test_what_is_right_passes():
    """Of a class that is not ours, and not registered; what does not apply is said."""
    results = check_score(Theirs)
    assert list(results) == list(SCORE_CHECKS)
    assert [name for name in results if results[name] != "holds"] == ["unlabelled_images_are_seen"]
    results = check_metric(metrics.rejection_threshold)
    assert list(results) == list(METRIC_CHECKS) and results["bad_input_is_refused"] == "holds"
    assert results["better_is_better"].startswith("does not apply: neither higher nor lower")


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_not_known_is_refused(message):
    error, call = REFUSED[message]
    with pytest.raises(eval(error), match=message):
        eval(call)


def test_each_check_is_a_test_of_its_own():
    """Named by score or metric, its arguments, and check; one that does not apply is skipped."""
    knn = [helpers.scores.create("knn"), helpers.scores.create("knn", k=3)]
    others = [
        metrics.aurc,
        partial(metrics.aupr, positive="known"),
        (aurc_by_argsort, TAKES["ranked"]),
    ]
    mark = checks.parametrize_with_checks([*knn, *others]).mark
    tests = dict(zip(mark.kwargs["ids"], mark.args[1], strict=True))
    assert len(tests) == 2 * len(SCORE_CHECKS) + 3 * len(METRIC_CHECKS)
    tests["knn-2-fit_returns_itself"]()
    tests["aurc-ties_are_not_broken"]()
    with pytest.raises(unittest.SkipTest, match="its needs do not name labels"):
        tests["knn-unlabelled_images_are_seen"]()
    with pytest.raises(AssertionError, match="check 'order_does_not_matter' of metric"):
        tests["aurc_by_argsort-order_does_not_matter"]()
    assert vars(knn[1]) == {"k": 3, "normalise": True, "bank": None}  # it is checked on copies
