"""Labels that are wrong are found, and of right ones few are suspected."""

import numpy as np

from helpers.outputs import Outputs
from known_unknowns.auditing.label_errors import likely_label_errors


def test_labels_that_were_changed_are_found_and_others_are_not(group):
    """Two sides: most of those changed, and of all others only what the model errs on."""
    right = group(600, 0)
    labels = right.labels
    before = likely_label_errors(right)
    changed = np.random.default_rng(1).permutation(600)[:30]
    wrong = labels.copy()
    wrong[changed] = (wrong[changed] + 1) % 4
    found = likely_label_errors(Outputs(right.logits, right.features, wrong))
    assert np.isin(changed, found).mean() > 0.7
    assert not right.correct[before].any() and len(before) <= (~right.correct).sum()
    assert len(np.setdiff1d(found, changed)) <= (~right.correct).sum()
    assert np.isin(found[:10], changed).mean() > 0.7  # the surest first


def test_a_class_without_images_is_no_ones_label():
    logits = np.eye(3)[np.arange(60) % 3] * 5.0
    kept = np.arange(60) % 3 != 2
    part = Outputs(logits, np.empty((60, 0)), np.where(kept, np.arange(60) % 3, 0))
    assert not likely_label_errors(part).size  # what it says of the third class has no scale
