"""Each check of scores fails for a score that breaks what it is about, and says so."""

import hashlib
import re
import sys
import weakref
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import helpers.scores
from helpers.scores import base
from helpers.scores.calibration import softmax
from known_unknowns.checks import SCORE_CHECKS, ScoreCase, check_score

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
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
        self.width, self.mean = train_outputs.num_classes, mean_of(train_outputs)
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

    def score_samples(self, outputs):
        return change(Theirs.score_samples(self, outputs), self)

    return score_of(score_samples=score_samples)


def changes_in_place(score, outputs):
    outputs.logits[:] -= outputs.logits.max()
    return Theirs.score_samples(score, outputs)


def changes_for_a_moment(score, outputs):
    outputs.logits[:] += 1
    found = Theirs.score_samples(score, outputs) - 1
    outputs.logits[:] -= 1
    return found


def runs_along(found, score):
    score.mean += found.mean()
    return found


def looks_at_the_buffer(score, outputs):
    assert hashlib.sha256(outputs.logits).digest()
    return largest(outputs)


def adds_up(score, train_outputs, head):
    Theirs.fit(score, train_outputs, head)
    score.mean = score.total = getattr(score, "total", 0.0) + score.mean
    return score


def keeps_in_the_class(score, train_outputs, head):
    type(score).width, type(score).mean = train_outputs.num_classes, mean_of(train_outputs)
    return score


def keeps_the_images(score, train_outputs, head):
    score.kept = train_outputs.logits.astype(np.float64)
    return Theirs.fit(score, train_outputs, head)


def means_of_classes(score, train_outputs, head):
    classes = range(train_outputs.num_classes)
    found = largest(train_outputs)
    means = [found[train_outputs.labels == k].mean() for k in classes]
    score.width, score.mean = train_outputs.num_classes, np.mean(means)
    return score


def not_a_mapped_file(score, outputs):
    if isinstance(outputs.logits.base, np.memmap):
        raise TypeError("in no memory of its own")
    return Theirs.score_samples(score, outputs)


def never_checks(score, outputs):
    return outputs.logits.max(axis=1) - score.__dict__.get("mean", 0.0)


KEPT = weakref.WeakKeyDictionary()


class Forgetful(Theirs):
    """Registered while it is checked; what it learns is kept beside it."""

    info = replace(helpers.scores.create("energy").info, name="forgetful", needs=LOGITS)
    mean = property(lambda self: KEPT.get(self, 99.0), lambda self, x: KEPT.update({self: x}))


BROKEN = {
    "info_is_complete": ("info.needs is ('luck',)", score_of(needs=("luck",))),
    "fit_returns_itself": (
        "fit returns something else",
        score_of(fit=lambda self, train, head: Theirs.fit(self, train, head) and None),
    ),
    "scores_are_float64": (
        "ndarray of float32, not of float64",
        after(lambda found, *_: found.astype(np.float32)),
    ),
    "higher_is_known": (
        "AUROC of known against unknown images is 0",
        after(lambda found, *_: -found),
    ),
    "batch_is_its_images": (
        "in a batch of 2, not alone: image 0 scores",
        after(lambda found, *_: found - found.mean()),
    ),
    "order_does_not_matter": (
        "in another order: image 0 scores",
        after(lambda found, *_: found + 1e-9 * np.arange(len(found))),
    ),
    "equal_images_score_alike": (
        "copies of one image: image 1 scores 2, not 1",
        after(lambda found, *_: np.argsort(np.argsort(found)) + 0.0),
    ),
    "scoring_changes_nothing": ("asked again: image 0 scores", after(runs_along)),
    "fit_starts_anew": ("fitted twice, not once: image 0 scores", score_of(fit=adds_up)),
    "fits_are_apart": (
        "after another one was fitted: image 0 scores",
        score_of(fit=keeps_in_the_class),
    ),
    "saved_score_is_the_same": ("read from its file: image 0 scores -9", Forgetful),
    "only_needs_are_read": (
        "with other labels of the images that are scored",
        score_of(of=lambda _, outputs: largest(outputs) + outputs.correct),
    ),
    "level_matters_as_said": (
        "info.needs does not name the level of the logits",
        score_of(needs=("logits", "training outputs")),
    ),
    "temperature_keeps_the_sign": (
        "at temperature 0.05: image",
        score_of(of=lambda _, outputs: np.exp(largest(outputs))),
    ),
    "memory_does_not_grow": ("the peak of 5,000 images is 1.", score_of(fit=keeps_the_images)),
    "given_arrays_are_left_alone": (
        "was changed in place",
        score_of(score_samples=changes_in_place),
    ),
    "read_only_arrays_do": (
        "output array is read-only",
        score_of(score_samples=changes_for_a_moment),
    ),
    "strided_arrays_do": ("ndarray is not C-contiguous", score_of(of=looks_at_the_buffer)),
    "stored_outputs_do": ("in no memory of its own", score_of(score_samples=not_a_mapped_file)),
    "nan_is_not_swallowed": (
        "an image of NaN alone scores 0.0",
        after(lambda found, *_: np.nan_to_num(found)),
    ),
    "constant_images_are_numbers": (
        "zeros to score: image 0 scores nan",
        score_of(of=lambda _, outputs: largest(outputs) / outputs.logits.std(axis=1)),
    ),
    "one_image_is_a_number": (
        "one image to score: ndarray of shape (), not (1,)",
        after(lambda found, *_: np.squeeze(found)),
    ),
    "one_class_is_a_number": (
        "it raised IndexError",
        score_of(of=lambda _, outputs: largest(outputs) - outputs.logits[:, 1]),
    ),
    "unlabelled_images_are_seen": (
        "images of label −1: image 0 scores nan",
        score_of(needs=(*LOGITS, "labels"), fit=means_of_classes),
    ),
    "not_fitted_is_refused": (
        "a score that is not fitted is taken",
        score_of(score_samples=never_checks),
    ),
    "another_width_is_refused": (
        "outputs with 2 classes and 2 features is taken",
        score_of(score_samples=never_checks),
    ),
    "another_head_is_refused": ("no head is taken", score_of(needs=(*LOGITS, "head"))),
}


def test_what_is_right_passes():
    """Of a class that is not ours, and not registered; what does not apply is said."""
    found = check_score(Theirs)
    assert list(found) == list(SCORE_CHECKS)
    assert {name for name, what in found.items() if what != "holds"} == {
        "saved_score_is_the_same", "unlabelled_images_are_seen", "another_head_is_refused",
    }  # fmt: skip
    assert found["another_head_is_refused"] == "does not apply: its needs do not name the head"


@pytest.mark.parametrize("name", SCORE_CHECKS)
def test_each_check_fails_for_what_breaks_it(name, monkeypatch):
    """With its name, what must hold, and a case in which the score fails when asked again."""
    monkeypatch.setitem(base._REGISTRY, "forgetful", Forgetful)
    phrase, broken = BROKEN[name]
    with pytest.raises(AssertionError) as failed:
        check_score(broken, only=name)
    message = str(failed.value)
    assert message.startswith(f"check '{name}' of score '{broken.info.name}' failed: ")
    assert phrase in message.splitlines()[0]
    assert f"What must hold: {' '.join(SCORE_CHECKS[name].__doc__.split())[:50]}" in message
    case = eval(re.search(r"case=(ScoreCase\(.*\))\)$", message)[1], {"ScoreCase": ScoreCase})
    with pytest.raises(AssertionError, match=re.escape(message.splitlines()[0])):
        check_score(broken, only=name, case=case)


def test_the_case_is_the_smallest():
    """A mean over the batch shows with two images of one class."""
    with pytest.raises(AssertionError, match=r"ScoreCase\(images=2, classes=1, width=1, train=1"):
        check_score(BROKEN["batch_is_its_images"][1], only="batch_is_its_images")


class OpenMaxOfTheBatch(type(helpers.scores.create("openmax"))):
    """As pytorch-ood 0.4 has it: what the classes lose is added up over the whole batch."""

    def score_samples(self, outputs):
        revised = self.openmax.revised_logits(outputs.logits)
        revised[:, -1] = revised[:, -1].sum()
        return 1 - softmax(revised)[:, -1]


def test_an_openmax_that_depends_on_its_batch_is_found():
    """The defect of a peer that need not be installed for this; ours has it not."""
    case = ScoreCase(images=60, classes=12, width=12, train=240)
    check_score(helpers.scores.create("openmax"), only="batch_is_its_images", case=case)
    with pytest.raises(AssertionError, match="'batch_is_its_images' of score 'openmax' failed: "):
        check_score(OpenMaxOfTheBatch, only="batch_is_its_images", case=case)


def test_all_that_fail_are_said_at_once():
    broken = after(lambda found, *_: -found.astype(np.float32))
    with pytest.raises(AssertionError, match=r"(?s)'scores_are_float64'.*'higher_is_known'"):
        check_score(broken)


def test_what_is_no_score_or_no_check_is_refused():
    with pytest.raises(TypeError, match="score: an instance, a class or a function expected"):
        check_score("msp")
    with pytest.raises(ValueError, match="unknown check 'batch_is_its_image'; did you mean"):
        check_score(Theirs, only="batch_is_its_image")


def test_files_are_not_asked_for_where_they_cannot_be_read(monkeypatch):
    monkeypatch.setitem(sys.modules, "known_unknowns.auditing.rejector", None)
    found = check_score(helpers.scores.create("knn"))
    assert "which is not installed" in found["saved_score_is_the_same"]
    assert found["batch_is_its_images"] == "holds"


def test_a_score_that_goes_back_to_the_images():
    """Is left alone where it needs them, with its own words for it."""
    found = check_score(helpers.scores.create("odin", epsilon=0.1))
    assert found["info_is_complete"] == found["fit_returns_itself"] == "holds"
    assert "score 'odin' needs the images themselves" in found["batch_is_its_images"]


def test_an_instance_is_left_as_it_was():
    """It is checked on copies."""
    score = helpers.scores.create("knn", k=3)
    check_score(score, only="batch_is_its_images")
    assert vars(score) == {"k": 3, "bank": None}
