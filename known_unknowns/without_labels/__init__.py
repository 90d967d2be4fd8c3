"""Estimates from unlabelled images; only the validation images need labels.

* `share_bound`, `estimate_share`, `cautious_share`: the share of images that are unlike the
  validation images.
* `suspected_unknown`: a list of such images.
* `class_mixture`: another mixture of the known classes, which may explain unlike images.
* `accuracy_bracket`: a low and a high value of the classifier's accuracy.
* `DetectionEstimator`: AUROC and FPR95 of a detector, if there are sets with labels.

If you have labels for a few images, use ppi-python.
"""

from known_unknowns.without_labels.accuracy import FEWEST, accuracy_bracket
from known_unknowns.without_labels.class_mixture import class_mixture
from known_unknowns.without_labels.detection import (
    BINS,
    DetectionEstimator,
    MetaSets,
)
from known_unknowns.without_labels.share import (
    cautious_share,
    conformal_p_values,
    estimate_share,
    share_bound,
    suspected_unknown,
)
