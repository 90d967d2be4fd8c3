"""Checks of a score or a metric, of this package or of another package.

About thirty invariants, each a function with a sentence that states the invariant.  The message
of a failed check has its name, the failure, and the smallest data that show it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np

from helpers.scores import Score
from known_unknowns.checks import metrics, scores
from known_unknowns.checks.cases import MetricCase, ScoreCase
from known_unknowns.checks.metrics import checks as METRIC_CHECKS
from known_unknowns.checks.scores import checks as SCORE_CHECKS


def check_score(
    score: Score | Callable[[], Score] | Callable[..., np.ndarray],
    *,
    only: str | None = None,
    case: ScoreCase | None = None,
) -> dict[str, str]:
    """Check that a score keeps the contract of all scores, on made-up outputs of a model.

    The score's ``info.needs`` decides which checks apply.

    Parameters
    ----------
    score : Score or callable
        A function of the arrays ``logits`` and ``features``, or of one of them, that returns a
        number for each image.  Or a score that is not fitted, or a class or function that returns
        one.  The score need not be registered; its ``info`` has a name and its needs, from
        `helpers.scores.info.NEEDS`.
    only : str, optional
        Name of a single check of `SCORE_CHECKS`.
    case : ScoreCase, optional
        Data for the check; by default 600 images, and fewer after a failure.

    Returns
    -------
    dict of str to str
        For each check ``"holds"``, or ``"does not apply: "`` and the reason.

    Examples
    --------
    >>> check_score(lambda logits: logits.max(axis=1), only="batch_is_its_images")
    {'batch_is_its_images': 'holds'}
    >>> import helpers.scores
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
    """Check that a metric keeps the contract of all metrics, on made-up arrays.

    Parameters
    ----------
    function : callable
        Function of arrays by name that returns one number, several numbers, or arrays.
    takes : mapping of str to str, optional
        Kind of each argument, from `helpers.metrics.records.KINDS`.  A metric of `helpers.metrics`
        with a record does not need `takes`, `better` and `range`.
    better : {"lower", "higher", ""}, optional
        Direction of better values.
    range : str, optional
        Possible values, such as ``"[0, 1]"``.
    only : str, optional
        Name of a single check of `METRIC_CHECKS`.
    case : MetricCase, optional
        Data for the check; by default 120 images, and fewer after a failure.

    Returns
    -------
    dict of str to str
        For each check ``"holds"``, or ``"does not apply: "`` and the reason.

    Examples
    --------
    A metric that breaks ties by the order of the images:

    >>> def aurc(confidence, correct):
    ...     wrong = 1.0 - np.asarray(correct)[np.argsort(-np.asarray(confidence))]
    ...     return float((np.cumsum(wrong) / np.arange(1, len(wrong) + 1)).mean())
    >>> takes = {"confidence": "scores", "correct": "correct"}
    >>> check_metric(aurc, takes, only="ties_are_not_broken")
    Traceback (most recent call last):
        ...
    AssertionError: check 'ties_are_not_broken' of metric 'aurc' failed: of images that score the \
same, in another order, it is 0.25, not 0.75
    What must hold: If all images have equal scores, their order does not matter, and a metric \
does not separate known from unknown images.
    Smallest case: 2 images (of each group), 1 classes, seed 0. To see it again:
        from known_unknowns.checks import MetricCase, check_metric
        check_metric(function, takes={'confidence': 'scores', 'correct': 'correct'}, \
only='ties_are_not_broken', case=MetricCase(images=2, classes=1, seed=0))
    """
    return METRIC_CHECKS.run_all(metrics.Subject(function, takes, better, range), only, case)


def parametrize_with_checks(objects: Iterable):
    """Make a test of each check of each score or metric: a decorator for pytest.

    `objects` are scores that are not fitted, or their classes, metrics that have a record, and
    tuples of function, takes, better, range.  The test calls its argument ``check``.  Tests have
    names like ``msp-batch_is_its_images``; a check that does not apply is skipped.
    """
    import pytest  # here, since the other functions do not need it

    tests = {}
    for each in objects:
        if hasattr(each, "score_samples"):
            checks = SCORE_CHECKS
            subject: scores.Subject | metrics.Subject = scores.Subject(each)
        else:
            checks = METRIC_CHECKS
            arguments = each if isinstance(each, tuple) else (each,)
            subject = metrics.Subject(*arguments)
        for name in checks:
            test = f"{subject.name}-{name}"
            number = 1
            while test in tests:  # for example, the same score with other arguments
                number += 1
                test = f"{subject.name}-{number}-{name}"
            tests[test] = partial(checks.run, name, subject)
    return pytest.mark.parametrize("check", list(tests.values()), ids=list(tests))
