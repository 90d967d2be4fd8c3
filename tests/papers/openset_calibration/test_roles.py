import numpy as np

from helpers.papers.openset_calibration.roles import split
from helpers.papers.parameters import load

MINI = load("openset_calibration", "mini")


def test_the_closed_set_has_all_classes_and_labels_keep_their_names():
    closed, opened = (split(MINI, "cifar10_mini", name, 1) for name in ("closed-set", "open-set"))
    assert closed.unknown == () and len(closed.known) == 10
    assert (len(closed.train), len(closed.calibration), len(closed.test)) == (2700, 300, 1000)
    assert np.array_equal(closed.test.images, opened.test.images)
    for before, after in zip(closed.test.labels, opened.test.labels, strict=True):
        name = closed.known[before]
        assert (opened.known[after] == name) if after >= 0 else (name in opened.unknown)
