import numpy as np
import pytest

from helpers.papers.openset_calibration.roles import draw_known, split
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


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: split(MINI, "digits", "openset", 0), "unknown setting 'openset'; did you mean"),
        (lambda: draw_known(10, 10, run=0, seed=0), "known: between 2 and 9 of 10 classes, got 10"),
    ],
)
def test_impossible_choices_are_refused(attempt, message):
    with pytest.raises(ValueError, match=message):
        attempt()
