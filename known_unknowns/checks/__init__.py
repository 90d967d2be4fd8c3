"""Checks of a score or a metric, of this package or anybody's: what must hold of each of them.

Some twenty invariants, each a function with a sentence that says what must hold.  One that fails
says its name, what broke, and the smallest data that show it.

Examples
--------
>>> import helpers.scores
>>> from known_unknowns.checks import check_score
>>> found = check_score(helpers.scores.create("entropy"))
>>> found["higher_is_known"], found["nan_is_not_swallowed"]
('holds', 'holds')
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from known_unknowns.checks import metrics, scores
from known_unknowns.checks.cases import MetricCase, ScoreCase
from known_unknowns.checks.metrics import checks as METRIC_CHECKS
from known_unknowns.checks.scores import checks as SCORE_CHECKS


def check_score(score, *, only: str | None = None, case: ScoreCase | None = None) -> dict[str, str]:
    """Check that a score keeps to what every score must, on made-up outputs of a model.

    Which checks apply follows from what its ``info.needs`` names.  Of one that goes back to the
    images only that is checked which needs none.

    Parameters
    ----------
    score : Score or callable
        One that is not fitted yet, or what returns a new one: its class, for instance.  It need
        not be registered; its ``info`` needs a name and what the score needs, out of
        `helpers.scores.info.NEEDS`.
    only : str, optional
        The name of a single check, out of `SCORE_CHECKS`.
    case : ScoreCase, optional
        The data to check it on; by default 600 images, and fewer where a check fails on these.

    Returns
    -------
    dict of str to str
        For each check ``"holds"``, or ``"does not apply: "`` and the reason.

    Examples
    --------
    >>> import helpers.scores
    >>> found = check_score(helpers.scores.create("msp"), only="batch_is_its_images")
    >>> found
    {'batch_is_its_images': 'holds'}
    >>> check_score(helpers.scores.create("msp"), only="wrong_use_is_refused")
    {'wrong_use_is_refused': 'does not apply: its needs name neither training outputs nor a head'}
    """
    return SCORE_CHECKS.run_all(scores.Subject(score), only, case)


def check_metric(
    function: Callable,
    takes: Mapping[str, str] | None = None,
    *,
    better: str | None = None,
    range: str | None = None,
    only: str | None = None,
    case: MetricCase | None = None,
) -> dict[str, str]:
    """Check that a metric keeps to what every metric must, on made-up arrays.

    Parameters
    ----------
    function : callable
        Takes arrays by their names; returns a number, or several, or arrays.
    takes : mapping of str to str, optional
        The name of each argument to call it with, and its kind, out of
        `helpers.metrics.records.KINDS`.  Not needed for a metric of `helpers.metrics` that has a
        record; nor are the next two.
    better : {"lower", "higher", ""}, optional
        What is better; where it is not said, it is not checked.
    range : str, optional
        The values that it can take, such as ``"[0, 1]"``.
    only : str, optional
        The name of a single check, out of `METRIC_CHECKS`.
    case : MetricCase, optional
        The data to check it on; by default 120 images, and fewer where a check fails on these.

    Returns
    -------
    dict of str to str
        For each check ``"holds"``, or ``"does not apply: "`` and the reason.

    Examples
    --------
    Ties that are broken by the order of the images:

    >>> import numpy as np
    >>> def aurc(confidence, correct):
    ...     wrong = 1.0 - np.asarray(correct)[np.argsort(-np.asarray(confidence))]
    ...     return float((np.cumsum(wrong) / np.arange(1, len(wrong) + 1)).mean())
    >>> takes = {"confidence": "scores", "correct": "correct"}
    >>> check_metric(aurc, takes, only="ties_are_not_broken")
    Traceback (most recent call last):
        ...
    AssertionError: check 'ties_are_not_broken' of metric 'aurc' failed: of images that score the \
same, in another order, it is 0.25, not 0.75
    What must hold: Where all images score the same, it does not matter which come first; and \
known images are then not told from unknown ones.
    Smallest case: 2 images (of each group), 1 classes, seed 0. To see it again:
        from known_unknowns.checks import MetricCase, check_metric
        check_metric(function, takes={'confidence': 'scores', 'correct': 'correct'}, \
only='ties_are_not_broken', case=MetricCase(images=2, classes=1, seed=0))
    """
    return METRIC_CHECKS.run_all(metrics.Subject(function, takes, better, range), only, case)


def parametrize_with_checks(objects: Iterable):
    """Make a test of each check of each score or metric: a decorator for pytest.

    Parameters
    ----------
    objects : iterable
        Scores that are not fitted, or classes of such; metrics that have a record; and tuples of
        what `check_metric` takes in this order: function, takes, better, range.

    Returns
    -------
    decorator
        Of a test with the argument ``check``, which is to be called.  A check that does not apply
        is skipped, with the reason.  Tests are named as ``msp-batch_is_its_images``.

    Examples
    --------
    >>> import helpers.scores
    >>> @parametrize_with_checks([helpers.scores.create("msp")])
    ... def test_my_score(check):
    ...     check()
    >>> test_my_score.pytestmark[0].kwargs["ids"][:2]
    ['msp-info_is_complete', 'msp-fit_returns_itself']
    """
    import pytest  # who checks without it needs none

    tests = {}
    for one in objects:
        if hasattr(one, "score_samples"):
            checks, subject = SCORE_CHECKS, scores.Subject(one)
        else:
            checks = METRIC_CHECKS
            subject = metrics.Subject(*one if isinstance(one, tuple) else (one,))
        for name in checks:
            test, number = f"{subject.name}-{name}", 1
            while test in tests:  # of the same score with other arguments, for instance
                number += 1
                test = f"{subject.name}-{number}-{name}"
            tests[test] = partial(checks.run, name, subject)
    return pytest.mark.parametrize("check", list(tests.values()), ids=list(tests))
