import numpy as np
import pytest

from helpers.papers.openset_calibration.roles import draw_known, split
from helpers.papers.parameters import load

MINI = load("openset_calibration", "mini")


@pytest.mark.parametrize("data_set", ["cifar10_mini", "digits"])
def test_open_set_roles(data_set):
    found = split(MINI, data_set, "open-set", 3)
    assert len(found.known) == 6 and len({*found.known, *found.unknown}) == 10
    assert set(found.train.labels) == set(found.calibration.labels) == set(range(6))
    assert set(found.test.labels) == set(range(-1, 6))
    known = len(found.train) + len(found.calibration)
    assert len(found.calibration) / known == pytest.approx(0.1, abs=0.01)
    pixels = {image.tobytes() for image in found.train.images}
    assert not pixels & {image.tobytes() for image in found.calibration.images}


def test_the_closed_set_has_all_classes_and_labels_keep_their_names():
    closed, opened = (split(MINI, "cifar10_mini", name, 1) for name in ("closed-set", "open-set"))
    assert closed.unknown == () and len(closed.known) == 10
    assert (len(closed.train), len(closed.calibration), len(closed.test)) == (2700, 300, 1000)
    assert np.array_equal(closed.test.images, opened.test.images)
    for before, after in zip(closed.test.labels, opened.test.labels, strict=True):
        name = closed.known[before]
        assert (opened.known[after] == name) if after >= 0 else (name in opened.unknown)


def test_draws_depend_on_run_and_seed():
    draws = {tuple(draw_known(10, 6, run=run, seed=seed)) for run in range(5) for seed in range(5)}
    assert len(draws) > 15
    assert np.array_equal(draw_known(10, 6, run=2, seed=1), draw_known(10, 6, run=2, seed=1))


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: split(MINI, "digits", "openset", 0), "unknown setting 'openset'; did you mean"),
        (lambda: draw_known(10, 10, run=0, seed=0), "known: between 2 and 9 of 10 classes, got 10"),
        (lambda: MINI.replace(known=10), "known: fewer than the 10 classes of .* expected, got 10"),
        (lambda: MINI.replace(alpha=7), r"alpha: at most known \(6\) expected, got 7"),
    ],
)
def test_impossible_choices_are_refused(attempt, message):
    with pytest.raises(ValueError, match=message):
        attempt()
