"""Estimates from unlabelled images: share of unknown images, lists, accuracy, AUROC and FPR95.

* `ESTIMATORS` predict AUROC and FPR95 of a mixture, with intervals.
* `share_bound` bounds the share of images that are unlike the validation images;
  `label_shift_share_bound` does so if classes have become more or less frequent.
* `suspected_unknown` lists images that are unlike the validation images.
* `estimate_accuracy` estimates the accuracy of the classifier.

`experiment` compares the estimates with labels, on the mixtures of the Gscore paper. If you
have labels for a few images, use ppi-python.
"""

from functools import partial

from helpers.labelfree import Estimate
from known_unknowns.without_labels.accuracy import (
    ACCURACY_ESTIMATORS,
    Answers,
    accuracy_of_accepted,
    assumptions,
    estimate_accuracy,
)
from known_unknowns.without_labels.curve_regression import CurveRegression, curve_features
from known_unknowns.without_labels.estimates import (
    FEWEST,
    BySize,
    Constant,
    Estimator,
    GscoreLine,
    MetaSets,
)
from known_unknowns.without_labels.prior_corrected import fit_prior_corrected
from known_unknowns.without_labels.share import (
    Selection,
    conformal_p_values,
    estimate_share,
    label_shift_share_bound,
    selection_outcome,
    share_bound,
    suspected_unknown,
)

ESTIMATORS = {
    "constant": partial(BySize, Constant),
    "gscore": partial(BySize, GscoreLine),
    "prior_corrected": fit_prior_corrected,
    "curve_regression": partial(BySize, CurveRegression),
}
"""Functions of (validation, meta, share=) that return an `Estimator`; see `estimates`.

Only the prior-corrected ROC needs no meta sets, and only the constant no validation images.
"""
