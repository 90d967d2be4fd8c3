import numpy as np
import pytest

from helpers.data import hold_out
from helpers.papers.openset_calibration.roles import draw_known
from helpers.papers.openset_calibration.roles import split as split_of
from helpers.papers.parameters import load


def split(data_set, setting, run, **given):
    return split_of(load("openset_calibration", "mini", **given), data_set, setting, run)


@pytest.mark.parametrize("data_set", ["cifar10_mini", "digits"])
def test_open_set_roles(data_set):
    one = split(data_set, "open-set", 3)
    assert len(one.known) == 6 and len(one.unknown) == 4
    assert not set(one.known) & set(one.unknown)
    assert set(one.train.labels) == set(one.calibration.labels) == set(range(6))
    assert set(one.test.labels) == set(range(-1, 6))
    known = len(one.train) + len(one.calibration)
    assert len(one.calibration) / known == pytest.approx(0.1, abs=0.01)
    pixels = {image.tobytes() for image in one.train.images}
    assert not pixels & {image.tobytes() for image in one.calibration.images}


def test_closed_set_has_all_classes():
    one = split("cifar10_mini", "closed-set", 0)
    assert one.unknown == () and len(one.known) == 10
    assert (len(one.train), len(one.calibration), len(one.test)) == (2700, 300, 1000)
    assert one.test.labels.min() == 0


def test_labels_keep_their_names():
    closed, opened = (split("cifar10_mini", setting, 1) for setting in ("closed-set", "open-set"))
    assert np.array_equal(closed.test.images, opened.test.images)
    for before, after in zip(closed.test.labels, opened.test.labels, strict=True):
        name = closed.known[before]
        assert (opened.known[after] == name) if after >= 0 else (name in opened.unknown)


def test_draws_depend_on_run_and_seed_alone():
    draws = {tuple(draw_known(10, 6, run=run, seed=seed)) for run in range(5) for seed in range(5)}
    assert len(draws) > 15
    assert np.array_equal(draw_known(10, 6, run=2, seed=1), draw_known(10, 6, run=2, seed=1))
    labels = np.repeat(np.arange(4), 25)
    assert not np.array_equal(
        hold_out(labels, 0.2, run=0, seed=0), hold_out(labels, 0.2, run=1, seed=0)
    )
    assert np.bincount(labels[hold_out(labels, 0.2, run=0, seed=0)]).tolist() == [5] * 4


def test_mistakes_are_refused():
    with pytest.raises(ValueError, match="unknown setting 'openset'; did you mean 'open-set'"):
        split("cifar10_mini", "openset", 0)
    with pytest.raises(ValueError, match="known: between 2 and 9 of 10 classes, got 10"):
        draw_known(10, 10, run=0, seed=0)
