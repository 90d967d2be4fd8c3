"""Metrics: pure functions from arrays to numbers and curves.

All values are in the unit interval where they are shares or areas; tables and figures scale them.
Every function raises `ValueError` for empty input, NaN, a wrong shape, a length mismatch, labels
out of range, rows of probabilities that do not sum to 1, or only one of two groups.  The message
names the argument.  Scores are higher for images that are more likely known, and ties are never
broken by the order of the images.
"""

from helpers.metrics.bootstrap import (
    resample_weights,
    weighted_calibration_error,
    weighted_calibration_error_floor,
    weighted_mean,
)
from helpers.metrics.calibration import (
    ReliabilityCurve,
    accuracy,
    brier,
    calibration_error,
    calibration_error_floor,
    ece,
    nll,
    reliability_curve,
    squared_errors,
)
from helpers.metrics.detection_error_rate import detection_error_rate
from helpers.metrics.open_set import (
    answer_confidence,
    open_set_brier,
    open_set_ece,
    open_set_squared_errors,
)
from helpers.metrics.ranking import aupr, auroc, detection_error, fpr_at_tpr
from helpers.metrics.selective import augrc, aurc, eaurc, risk_coverage_curve
from helpers.metrics.thresholds import (
    DomainConfusion,
    domain_confusion,
    rejection_threshold,
)
from helpers.metrics.weighted_ranking import weighted_aurc, weighted_detection
