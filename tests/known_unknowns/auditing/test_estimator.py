"""The classifier that rejects is one of scikit-learn, and keeps the audit's promise of a risk."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from known_unknowns import RejectingClassifier


class AsSure(ClassifierMixin, BaseEstimator):
    """Says class 1 of everything, as surely as the only feature says; it learns nothing."""

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return np.ones(len(X), int)

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


@parametrize_with_checks(
    [
        RejectingClassifier(LogisticRegression()),
        RejectingClassifier(RidgeClassifier()),  # a decision function alone
        # promises that few samples allow
        RejectingClassifier(LogisticRegression(), risk=0.5, confidence=0.5),
    ]
)
@pytest.mark.filterwarnings("ignore:everything is rejected")
def test_it_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def blobs():
    generator = np.random.default_rng(0)
    labels = generator.integers(3, size=2000)
    return generator.normal(size=(2000, 4)) + 2 * np.eye(3, 4)[labels], labels


def test_what_is_accepted_is_right_often_enough(blobs):
    """Of samples that it has not seen, which all together are wrong far more often."""
    X, y = (one[:1000] for one in blobs)
    new, true = (one[1000:] for one in blobs)
    for classifier in (LogisticRegression(), RidgeClassifier()):
        model = RejectingClassifier(classifier, risk=0.1).fit(X, y)
        answers, accepted = model.predict(new), model.accepts(new)
        assert np.array_equal(answers == -1, ~accepted)
        assert np.array_equal(accepted, model.score_samples(new) >= model.threshold_)
        assert 0.3 < accepted.mean() < 0.95
        everything = model.estimator_.predict(new)
        assert np.array_equal(answers[accepted], everything[accepted])
        assert (answers[accepted] != true[accepted]).mean() < 0.1 < (everything != true).mean()
        assert model.score(new, true) == (answers == true).mean()


def test_the_promise_is_kept_and_not_wasteful():
    """Two samples of a hundred are wrong among the surest 70 %, and each second one below."""
    generator, draws, level, risk = np.random.default_rng(0), 300, 0.1, 0.1
    best = 0.7 + 0.7 * (risk - 0.02) / (0.5 - risk)  # accepts so many, of whom 10 % are wrong
    coverages = []
    for _ in range(draws):
        sure = generator.random(1000)
        right = generator.random(1000) >= np.where(sure >= 0.3, 0.02, 0.5)
        model = RejectingClassifier(AsSure(), risk=risk, confidence=1 - level, validation=0.5)
        coverages.append(1 - model.fit(sure[:, None] / 2 + 0.5, right).threshold_)
    coverages = 2 * np.array(coverages)
    assert (coverages > best).sum() <= level * draws + 3 * np.sqrt(level * (1 - level) * draws)
    assert np.median(coverages) > 0.9 * best


@pytest.mark.filterwarnings("ignore:everything is rejected")
def test_no_more_is_promised_than_is_allowed():
    """With a risk that is just too large everywhere: granted as seldom as stated, but granted.

    Who takes samples that the classifier has learnt from breaks it: one that knows its samples by
    heart makes no error on them.
    """
    generator, draws, level, risk = np.random.default_rng(0), 300, 0.1, 0.1
    granted, learnt = 0, 0
    for i in range(draws):
        X, y = generator.random((200, 1)), generator.random(200) >= risk + 0.002
        model = RejectingClassifier(
            AsSure().fit(X, y), risk=risk, confidence=1 - level, validation="prefit"
        )
        granted += np.isfinite(model.fit(X / 2 + 0.5, y).threshold_)
        if i < 20:
            model.set_params(estimator=KNeighborsClassifier(1).fit(X, y))
            learnt += np.isfinite(model.fit(X, y).threshold_)
    assert 0.2 * level * draws < granted <= level * draws + 3 * np.sqrt(level * draws)
    assert learnt == 20


def test_text_and_other_labels_for_what_is_rejected(blobs):
    X, y = blobs
    names = np.array(["ant", "bee", "cow"])[y]
    steps = make_pipeline(StandardScaler(), LogisticRegression())
    answers = RejectingClassifier(steps, risk=0.1).fit(X, names).predict(X)
    assert set(answers) == {"ant", "bee", "cow", "rejected"}
    answers = RejectingClassifier(steps, risk=0.1, rejected=99).fit(X, y).predict(X)
    assert set(answers) == {0, 1, 2, 99} and answers.dtype.kind == "i"
    answers = RejectingClassifier(steps, risk=0.1, rejected="ask").fit(X, y).predict(X)
    assert set(answers) == {0, 1, 2, "ask"}
    # −1 is a class: what is rejected is below it
    answers = RejectingClassifier(steps, risk=0.1).fit(X, y - 1).predict(X)
    assert set(answers) == {-2, -1, 0, 1}
    for rejected, labels in ((2, y), ("ant", names)):
        with pytest.raises(ValueError, match=f"rejected: '?{rejected}'? is a class"):
            RejectingClassifier(steps, rejected=rejected).fit(X, labels)


def test_a_fitted_classifier_is_left_as_it_is(blobs):
    X, y = blobs
    fitted = LogisticRegression().fit(X[:1000], y[:1000])
    model = RejectingClassifier(fitted, risk=0.1, validation="prefit").fit(X[1000:], y[1000:])
    assert model.estimator_ is fitted and 0 < model.accepts(X).mean() < 1
    with pytest.raises(NotFittedError):
        RejectingClassifier(LogisticRegression(), validation="prefit").fit(X, y)


def test_what_cannot_be_promised_is_said_and_rejected(blobs):
    X, y = blobs
    with pytest.warns(UserWarning, match="everything is rejected: at least 300 images expected"):
        model = RejectingClassifier(LogisticRegression(), risk=0.01).fit(X[:500], y[:500])
    assert (model.predict(X) == -1).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"risk": 0}, "risk: "),
        ({"confidence": 1}, "confidence: "),
        ({"validation": 1.5}, "validation: "),
        ({"validation": "cv"}, 'validation: a share in .0, 1. or "prefit" expected'),
    ],
)
def test_settings_that_cannot_be_are_refused(blobs, arguments, message):
    with pytest.raises(ValueError, match=message):
        RejectingClassifier(LogisticRegression(), **arguments).fit(*blobs)


def test_without_scikit_learn_all_else_works():
    """The message says what to install."""
    program = (
        "import sys\nsys.modules['sklearn'] = None\nimport known_unknowns as ku\n"
        "from known_unknowns import *\n"
        "try:\n    ku.RejectingClassifier\n"
        "except ImportError as error:\n    assert 'pip install scikit-learn' in str(error)\n"
        "else:\n    raise AssertionError\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert not done.returncode, done.stderr[-500:]


def test_it_needs_no_torch():
    program = (
        "import sys\nfrom known_unknowns import RejectingClassifier\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert not done.returncode, done.stderr[-500:]
