"""Evaluation without labels: what the scores of an unlabelled mixture say about a detector.

A *mixture* is an unlabelled union of ID and OOD images, and an *evaluator* a way from its scores
to one number, the Gscore: how far apart the two parts lie that the scores are split into.  The
more, the better the detector, so that a line through mixtures whose metrics are known predicts
those of a mixture that nobody has labelled.

`ESTIMATORS` predict AUROC and FPR95 of a mixture with intervals, the Gscore and its line among
them; `share_bound` says how many of its images are unlike the validation images, and
`label_shift_share_bound` the same where classes have become more or less frequent.

Scores are higher for images that are more likely known.  Empty input, NaN, infinite or constant
scores and a mixture of one image are a `ValueError` that names the argument; a mixture that is all
ID or all OOD is not told from another, and its Gscore is a number like any.
"""

from helpers.labelfree.accuracy import (
    ACCURACY_ESTIMATORS,
    Answers,
    accuracy_of_accepted,
    assumptions,
    estimate_accuracy,
)
from helpers.labelfree.baselines import FeatureMoments, confidence_metrics, frechet_distance
from helpers.labelfree.constant import fit_constant
from helpers.labelfree.curve_regression import curve_features, fit_curve_regression
from helpers.labelfree.estimates import PREDICTED, Estimate, Estimator, MetaSets
from helpers.labelfree.estimators import ESTIMATORS
from helpers.labelfree.evaluators import EVALUATORS, TAUS, gscores
from helpers.labelfree.gaussians import Mixture, fit_mixture, mixture_parts
from helpers.labelfree.gscore_line import fit_gscore_line
from helpers.labelfree.label_shift import (
    ClassShares,
    estimate_class_shares,
    label_shift_share_bound,
)
from helpers.labelfree.labelling import (
    LabelledEstimate,
    LabelPlan,
    choose_to_label,
    labelled_accuracy,
    labelled_risk,
)
from helpers.labelfree.mixtures import counts_in_ratio, draw_counts, draw_places
from helpers.labelfree.parts import (
    DISTANCES,
    Parts,
    SortedScores,
    density_parts,
    distance,
    two_means,
)
from helpers.labelfree.prior_corrected import fit_prior_corrected
from helpers.labelfree.regression import Regression, fit_regression
from helpers.labelfree.selection import (
    Selection,
    conformal_p_values,
    selection_outcome,
    suspected_unknown,
)
from helpers.labelfree.share import dkw_share_bound, estimate_share, share_bound
from helpers.labelfree.skill import describe_skill, skill, skill_of_errors
from helpers.labelfree.truths import METRICS, true_metrics
