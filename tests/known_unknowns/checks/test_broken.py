"""Each check fails for a score or a metric that breaks its contract."""

import ast
import hashlib
import re
import unittest
from functools import partial
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

import helpers.scores
import known_unknowns.scores
from helpers import metrics
from helpers.scores import base
from known_unknowns import checks
from known_unknowns.checks import METRIC_CHECKS, SCORE_CHECKS, check_metric, check_score
from known_unknowns.checks.cases import ScoreCase
from known_unknowns.scores import of_function

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
CALLS = count()
GROUPS = {"known": "group", "unknown": "group"}
RANKED = {"confidence": "scores", "correct": "correct"}
CLASSIFIED = {"probabilities": "probabilities", "labels": "labels"}


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
    """Compute in the given precision, without any check."""
    truth = np.eye(np.shape(probabilities)[1], dtype=np.asarray(probabilities).dtype)[labels]
    return float(np.square(probabilities - truth).sum(axis=1).mean(dtype=truth.dtype))


def without(condition):
    """Return an AURC that drops the images whose confidence satisfies a condition."""

    def aurc(confidence, correct):
        kept = ~condition(np.asarray(confidence))
        return metrics.aurc(np.asarray(confidence)[kept], np.asarray(correct)[kept])

    return aurc


def cut_to_length(confidence, correct):
    length = min(len(confidence), len(correct))
    return metrics.aurc(confidence[:length], correct[:length])


LOGITS = ("logits", "level of the logits", "training outputs")


def score_of(needs=LOGITS, **methods):
    """Return a class like `Theirs` with other needs or methods."""
    info = SimpleNamespace(name="theirs", needs=needs)
    return type("Broken", (Theirs,), {"info": info} | methods)


def largest(outputs):
    return outputs.logits.max(axis=1).astype(np.float64)


def mean_of(outputs):
    return sum(largest(part).sum() for part in base.blocks(outputs)) / len(outputs)


class Theirs:
    """The largest logit minus its mean on the training images; the class has no base class."""

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


def returns_nothing(score, train_outputs, head):
    Theirs.fit(score, train_outputs, head)


def fits_the_class(score, train_outputs, head):
    Theirs.fit(type(score), train_outputs, head)
    return score


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


#: By check: a metric that breaks the contract, its arguments, and, if it matters, which end is
#: better, and the range.
METRICS = [
    (
        "result_is_float64",
        lambda known, unknown: np.float32(metrics.auroc(known, unknown)),
        GROUPS,
    ),
    (
        "result_is_in_range",
        lambda known, unknown: 100 * metrics.auroc(known, unknown),
        GROUPS,
        "higher",
        "[0, 1]",
    ),
    (
        "better_is_better",
        lambda known, unknown: metrics.auroc(unknown, known),
        GROUPS,
        "higher",
    ),
    ("order_does_not_matter", aurc_by_argsort, RANKED),
    ("ties_are_not_broken", aurc_by_argsort, RANKED),
    (
        "ties_are_not_broken",
        lambda known, unknown: np.mean(np.min(known) >= np.asarray(unknown)),
        GROUPS,
        "higher",
    ),
    (
        "calls_are_apart",
        lambda known, unknown: metrics.auroc(known, unknown) + next(CALLS),
        GROUPS,
    ),
    ("given_arrays_are_left_alone", sorts, GROUPS),
    ("form_does_not_matter", sorts, GROUPS),
    ("form_does_not_matter", as_in_memory, CLASSIFIED),
    (
        "form_does_not_matter",
        lambda confidence, correct: metrics.aurc(confidence.ravel(), correct),
        RANKED,
    ),
    ("form_does_not_matter", brier_as_given, CLASSIFIED),
    (
        "form_does_not_matter",
        lambda confidence, correct: float(np.mean(~correct)),
        RANKED,
    ),
    ("bad_input_is_refused", without(np.isnan), RANKED),
    ("infinity_ranks_or_is_refused", without(np.isinf), RANKED),
    ("bad_input_is_refused", cut_to_length, RANKED),
    (
        "bad_input_is_refused",
        lambda known, unknown: metrics.auroc(np.ravel(known), np.ravel(unknown)),
        GROUPS,
    ),
    ("bad_input_is_refused", brier_as_given, CLASSIFIED),
    ("little_input_is_a_number", lambda known, unknown: np.std(known, ddof=1), GROUPS),
    ("little_input_is_a_number", auroc_of_errors, RANKED),
]
#: By check: a phrase of the message, and a score that breaks the contract.
SCORES = [
    ("info_is_complete", "info.needs is ('luck',)", score_of(needs=("luck",))),
    ("fit_returns_itself", "fit returns something else", score_of(fit=returns_nothing)),
    ("scores_are_float64", "ndarray of float32, not of float64", after(np.float32)),
    ("higher_is_known", "the AUROC of known images is 0.0", after(np.negative)),
    (
        "batch_is_its_images",
        "in a batch of 2, not alone: image 0 scores",
        after(lambda values: values - values.mean()),
    ),
    (
        "order_does_not_matter",
        "in another order: image 0 scores",
        after(lambda values: values + 1e-9 * np.arange(len(values))),
    ),
    (
        "order_does_not_matter",
        "copies of one image: image 0 scores 1, not 2",
        after(lambda values: np.argsort(np.argsort(values)) + 0.0),
    ),
    ("calls_are_apart", "asked again: image 0 scores", score_of(score_samples=runs_along)),
    ("calls_are_apart", "fitted twice, not once: image 0 scores", score_of(fit=adds_up)),
    (
        "calls_are_apart",
        "after another one was fitted: image 0 scores",
        score_of(fit=fits_the_class),
    ),
    (
        "only_needs_are_read",
        "with other labels of the images that are scored",
        score_of(of=lambda _, outputs: largest(outputs) + outputs.correct),
    ),
    (
        "level_matters_as_said",
        "info.needs does not name the level of the logits",
        score_of(needs=("logits", "training outputs")),
    ),
    (
        "higher_is_known",
        "at temperature 0.05: image",
        score_of(of=lambda _, outputs: np.exp(largest(outputs))),
    ),
    (
        "given_arrays_are_left_alone",
        "output array is read-only",
        score_of(score_samples=in_place),
    ),
    ("form_does_not_matter", "output array is read-only", score_of(score_samples=for_a_moment)),
    ("form_does_not_matter", "ndarray is not C-contiguous", score_of(of=reads_their_bytes)),
    (
        "form_does_not_matter",
        "in no memory of its own",
        score_of(score_samples=not_a_mapped_file),
    ),
    ("nan_is_not_swallowed", "an image of NaN alone scores 0.0", after(np.nan_to_num)),
    (
        "little_input_is_a_number",
        "image 0 scores",
        score_of(of=lambda _, outputs: largest(outputs) / outputs.logits.std(axis=1)),
    ),
    (
        "little_input_is_a_number",
        "one image to score: ndarray of shape (), not (1,)",
        after(np.squeeze),
    ),
    (
        "little_input_is_a_number",
        "it raised IndexError",
        score_of(of=lambda _, outputs: largest(outputs) - outputs.logits[:, 1]),
    ),
    (
        "unlabelled_images_are_seen",
        "images of label −1: image 0 scores nan",
        score_of(needs=(*LOGITS, "labels"), fit=means_of_classes),
    ),
    (
        "wrong_use_is_refused",
        "a score that is not fitted is taken",
        score_of(score_samples=never),
    ),
    (
        "wrong_use_is_refused",
        "outputs with 2 classes and 2 features is taken",
        score_of(score_samples=checks_the_fit_alone),
    ),
    ("wrong_use_is_refused", "no head is taken", score_of(needs=(*LOGITS, "head"))),
]


def test_each_check_has_a_broken_example():
    assert {name for name, *_ in METRICS} == {*METRIC_CHECKS}
    assert {name for name, *_ in SCORES} == {*SCORE_CHECKS}


def case_of(error):
    """Return the smallest case that a message prints."""
    text = re.search(r"case=(\w+Case\(.*\))\)$", str(error.value))[1]
    call = ast.parse(text, mode="eval").body
    values = {field.arg: ast.literal_eval(field.value) for field in call.keywords}
    return getattr(checks, call.func.id)(**values)


@pytest.mark.parametrize("broken", METRICS, ids=lambda broken: broken[0])
def test_each_check_of_metrics_finds_the_broken_metric(broken):
    """The message names the check and prints a case in which the metric fails again."""
    name, function, takes, *more = broken
    options = dict(zip(("better", "range"), more, strict=False)) | {"only": name}
    with pytest.raises(AssertionError, match=f"check '{name}' of metric") as failed:
        check_metric(function, takes, **options)
    smallest = case_of(failed)
    if (name, function) == ("ties_are_not_broken", aurc_by_argsort):
        assert (smallest.images, smallest.classes) == (2, 1)
    with pytest.raises(AssertionError, match=f"check '{name}'"):
        check_metric(function, takes, **options, case=smallest)


@pytest.mark.parametrize(
    ("name", "phrase", "score"), SCORES, ids=[f"{name}-{phrase}" for name, phrase, _ in SCORES]
)
def test_each_check_of_scores_finds_the_broken_score(name, phrase, score):
    """The message names the contract and prints a case in which the score fails again."""
    with pytest.raises(AssertionError) as failed:
        check_score(score, only=name)
    first, second, *_ = str(failed.value).splitlines()
    assert first.startswith(f"check '{name}' of score")
    assert phrase in first
    assert second.startswith("What must hold: ")
    with pytest.raises(AssertionError, match=re.escape(first)):
        check_score(score, only=name, case=case_of(failed))


def test_a_correct_score_and_a_correct_metric_pass():
    """The class is not registered; the result names checks that do not apply."""
    results = check_score(Theirs)
    assert list(results) == list(SCORE_CHECKS)
    assert [name for name in results if results[name] != "holds"] == ["unlabelled_images_are_seen"]
    results = check_metric(metrics.rejection_threshold)
    assert list(results) == list(METRIC_CHECKS)
    assert results["bad_input_is_refused"] == "holds"
    assert results["better_is_better"].startswith("does not apply: neither higher nor lower")


@pytest.mark.parametrize(
    ("message", "error", "check", "options"),
    [
        ("score: an instance, a class or a function", TypeError, check_score, {"score": "msp"}),
        ("unknown check 'batch'", ValueError, check_score, {"score": Theirs, "only": "batch"}),
        (
            "function: a function expected, got 'auroc'",
            TypeError,
            check_metric,
            {"function": "auroc"},
        ),
        (
            "takes: the arguments of 'brier_as_giv",
            ValueError,
            check_metric,
            {"function": brier_as_given},
        ),
        (
            "unknown kind of",
            ValueError,
            check_metric,
            {"function": sorts, "takes": {"confidence": "score"}},
        ),
        (
            "unknown check 'nan'",
            ValueError,
            check_metric,
            {"function": metrics.aurc, "only": "nan"},
        ),
    ],
)
def test_checks_refuse_unknown_input(message, error, check, options):
    with pytest.raises(error, match=message):
        check(**options)


def test_each_check_is_a_separate_test():
    """Named by score or metric, its arguments, and check; one that does not apply is skipped."""
    knn = [helpers.scores.create("knn"), helpers.scores.create("knn", k=3)]
    others = [
        metrics.aurc,
        partial(metrics.aupr, positive="known"),
        (aurc_by_argsort, RANKED),
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


def test_a_function_of_logits_or_features_is_a_score():
    """Its needs are the names of its arguments, and the level of the logits if it matters."""

    def energy(logits):
        """Logarithm of the sum of exponentials."""
        return np.logaddexp.reduce(logits, axis=1)

    def length(features):
        return np.linalg.norm(features, axis=1)

    def both(logits, features, power=2.0):
        return logits.max(axis=1) - logits.min(axis=1) + (features**power).mean(axis=1)

    def ranks(logits):
        """It compares the images of a batch."""
        return np.argsort(np.argsort(logits.max(axis=1))) + 0.0

    needs = {
        energy: ("logits", "level of the logits"),
        length: ("features",),
        both: ("logits", "features"),
    }
    for function, expected in needs.items():
        score = of_function(function)()
        assert score.info.needs == expected
        assert score.info.name == function.__name__
        assert "holds" in check_score(function).values()
    assert of_function(energy).info.summary == "Logarithm of the sum of exponentials."
    with pytest.raises(AssertionError, match="check 'batch_is_its_images' of score 'ranks'"):
        check_score(ranks, only="batch_is_its_images")
    with pytest.raises(TypeError, match="a function of logits or features expected"):
        of_function(lambda outputs: outputs)


def test_a_registered_function_is_found_by_its_name(monkeypatch):
    monkeypatch.setattr(base, "_REGISTRY", dict(base._REGISTRY))

    @known_unknowns.scores.score
    def spread(logits):
        return logits.max(axis=1) - logits.min(axis=1)

    assert spread(np.eye(2)).tolist() == [1, 1]
    outputs = ScoreCase(images=20).outputs()
    scores = helpers.scores.create("spread").score_samples(outputs)
    assert scores == pytest.approx(np.ptp(outputs.logits, axis=1))
