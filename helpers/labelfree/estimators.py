"""All estimators of how well unknown images are found, by name."""

from __future__ import annotations

from helpers.labelfree.constant import fit_constant
from helpers.labelfree.curve_regression import fit_curve_regression
from helpers.labelfree.gscore_line import fit_gscore_line
from helpers.labelfree.prior_corrected import fit_prior_corrected

ESTIMATORS = {
    "constant": fit_constant,
    "gscore": fit_gscore_line,
    "prior_corrected": fit_prior_corrected,
    "curve_regression": fit_curve_regression,
}
"""Functions of (validation, meta, share=) that return an `Estimator`; see `estimates`.

The prior-corrected ROC alone needs no meta sets, and the constant no validation images.
"""
