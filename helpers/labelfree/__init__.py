"""Evaluation without labels, as in the Gscore paper: from scores of a mixture to a prediction.

A *mixture* is an unlabelled union of ID and OOD images.  An *evaluator* splits its scores into two
parts and computes their distance, the Gscore.  A larger distance means a better detector, so a line
through mixtures with known metrics predicts the metrics of an unlabelled mixture.

Scores are higher for images that are more likely known.  Empty input, NaN, infinite or constant
scores and a mixture of one image raise a `ValueError` that names the argument.  A mixture of ID
images alone, or of OOD images alone, has a Gscore too, because no score can detect this.
`known_unknowns.without_labels` has estimates that are not in the paper.
"""

from helpers.labelfree.distances import DISTANCES, distance
from helpers.labelfree.evaluators import EVALUATORS, TAUS, gscores
from helpers.labelfree.frechet import feature_moments, frechet_distance
from helpers.labelfree.gaussian_mixture import Mixture, fit_mixture, mixture_parts
from helpers.labelfree.mixtures import counts_at_share, counts_in_ratio, draw_places
from helpers.labelfree.regression import Estimate, Regression, fit_regression, jackknife_ends
from helpers.labelfree.splits import Parts, SortedScores, density_parts, two_means
from helpers.labelfree.truths import (
    METRICS,
    PREDICTED,
    confidence_metrics,
    stack_metrics,
    true_metrics,
)
