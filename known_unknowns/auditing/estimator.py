"""A classifier of scikit-learn that rejects, with the audit's promise of a risk."""

from __future__ import annotations

import warnings
from numbers import Real

import numpy as np

from helpers.checks import open_share
from known_unknowns.auditing.thresholds import promise_risk

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
    from sklearn.model_selection import train_test_split
    from sklearn.utils import get_tags, indexable
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, column_or_1d
except ImportError as error:  # the one module here that needs it
    raise ImportError(
        "RejectingClassifier wraps classifiers of scikit-learn, which is not installed: "
        "pip install scikit-learn"
    ) from error


class RejectingClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier that answers only where the risk of the answers is promised.

    Some samples are held out when it is fitted, and give the threshold: among samples like these
    that are accepted, at most `risk` are classified wrongly, in the long run.  This is false for at
    most 1 − `confidence` of all draws of the held out samples.

    Parameters
    ----------
    estimator : estimator
        A classifier with ``predict_proba`` or ``decision_function``.
    risk : float
        In (0, 1).
    confidence : float
        In (0, 1).
    validation : float or "prefit"
        Which share of the samples is held out, drawn by chance; the classifier learns from the
        others.  With ``"prefit"`` the classifier is fitted already, and all samples that `fit` is
        given are for the threshold: it must not have learnt from them.
    rejected : int, float or str, optional
        What `predict` says of a sample that is rejected; no class.  None stands for −1, or, where
        classes are as small, for the number below them; and for ``"rejected"`` where they are text.
    random_state : int, RandomState or None
        Of what is held out.

    Attributes
    ----------
    estimator_ : estimator
        Fitted; its ``predict_proba`` is that of all samples.
    classes_ : ndarray
        Without `rejected`.
    threshold_ : float
        A sample is accepted if its score is at least that; infinite if nothing can be promised.
    promise_ : Threshold
        What is promised, and how the held out samples fared.
    rejected_ : int, float or str
    n_features_in_, feature_names_in_
        As of `estimator_`, if it has them.

    Notes
    -----
    The threshold is that of `helpers.metrics.guarantees.risk_threshold`.  If too few samples are
    held out, or too many of the surest answers are wrong, `fit` warns, and every sample is
    rejected.  `score` counts what is rejected as wrong.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> y = (X[:, 0] + np.random.default_rng(1).normal(size=1000) / 4 > 0).astype(int)
    >>> model = RejectingClassifier(LogisticRegression(), risk=0.05).fit(X, y)
    >>> model.predict([[2, 0], [0, 0], [-2, 0]])
    array([ 1, -1,  0])
    """

    def __init__(
        self,
        estimator,
        *,
        risk=0.05,
        confidence=0.95,
        validation=0.5,
        rejected=None,
        random_state=0,
    ):
        self.estimator = estimator
        self.risk = risk
        self.confidence = confidence
        self.validation = validation
        self.rejected = rejected
        self.random_state = random_state

    def fit(self, X, y):
        """Fit the classifier, unless it is, and find the threshold.

        Parameters
        ----------
        X : array_like, shape [N, D]
        y : array_like, shape [N]

        Returns
        -------
        RejectingClassifier
            Itself.

        Raises
        ------
        ValueError
            A share outside (0, 1), fewer than two classes, `rejected` among the classes; and what
            the classifier raises.
        """
        for name in ("risk", "confidence"):
            open_share(name, getattr(self, name))
        if y is None:
            raise ValueError("y: requires y to be passed, but the target y is None")
        X, y = indexable(X, y)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        if self.validation == "prefit":
            check_is_fitted(self.estimator)
            self.estimator_ = self.estimator
        elif isinstance(self.validation, Real):
            open_share("validation", self.validation)
            # not stratified: the promise is about independent draws
            train, X, labels, y = train_test_split(
                X, y, test_size=self.validation, random_state=self.random_state
            )
            self.estimator_ = clone(self.estimator).fit(train, labels)
        else:
            raise ValueError(
                f'validation: a share in (0, 1) or "prefit" expected, got {self.validation!r}'
            )
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        self.classes_ = np.asarray(self.estimator_.classes_)
        if len(self.classes_) < 2:
            raise ValueError(f"y: two classes expected at the least, got {self.classes_}")
        self.rejected_ = self.rejected
        if self.rejected is None:
            text = self.classes_.dtype.kind in "OSU"
            self.rejected_ = "rejected" if text else min(-1, int(np.floor(self.classes_.min())) - 1)
        if self.rejected_ in self.classes_.tolist():
            raise ValueError(
                f"rejected: {self.rejected_!r} is a class; give what `predict` is to say instead"
            )
        correct = np.asarray(self.estimator_.predict(X) == y)
        scores = self._score(X)
        self.promise_ = promise_risk(scores, correct, {}, self.risk, self.confidence)
        self.threshold_ = np.inf if self.promise_.problem else self.promise_.value
        if self.promise_.problem:
            warnings.warn(f"everything is rejected: {self.promise_.problem}", stacklevel=2)
        return self

    def score_samples(self, X):
        """Return how sure the classifier is of each sample.

        Returns
        -------
        ndarray, shape [N]
            The largest probability; without ``predict_proba`` the largest value of the decision
            function, and of two classes its distance from the border.
        """
        check_is_fitted(self)
        return self._score(X)

    def accepts(self, X):
        """Return which samples are accepted.

        Returns
        -------
        ndarray of bool, shape [N]
        """
        return self.score_samples(X) >= self.threshold_

    def predict(self, X):
        """Return the class of each sample, or `rejected_`.

        Returns
        -------
        ndarray, shape [N]
        """
        accepted = self.accepts(X)
        answers = np.asarray(self.estimator_.predict(X))
        if isinstance(self.rejected_, str) != (answers.dtype.kind in "OSU"):
            answers = answers.astype(object)
        return np.where(accepted, answers, self.rejected_)

    def _score(self, X) -> np.ndarray:
        if hasattr(self.estimator_, "predict_proba"):
            return self.estimator_.predict_proba(X).max(axis=1)
        decision = self.estimator_.decision_function(X)
        return np.abs(decision) if decision.ndim == 1 else decision.max(axis=1)

    def __sklearn_tags__(self):
        """Say what scikit-learn should expect: what its classifier does, but for rejected ones."""
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags.sparse = own.input_tags.sparse
        tags.input_tags.allow_nan = own.input_tags.allow_nan
        tags.classifier_tags.multi_class = own.classifier_tags.multi_class
        # rejected samples have no right answer, and its checks bring too few for a promise
        tags.classifier_tags.poor_score = True
        return tags
