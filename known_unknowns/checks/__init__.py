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

from known_unknowns.checks.calls import (
    METRIC_CHECKS,
    SCORE_CHECKS,
    check_metric,
    check_score,
    parametrize_with_checks,
)
from known_unknowns.checks.inputs import MetricCase, ScoreCase
