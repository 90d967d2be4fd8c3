"""What is asked without labels of images that are few, tied, constant, all known or all unknown.

An error that names what is wrong, or an honest answer: a number in its range, and an interval that
is wide where nothing can be said.
"""

import numpy as np
import pytest

from known_unknowns import without_labels as labelfree


def answers(scores):
    """A network that is the surer the higher the score."""
    sure = 0.5 + 0.5 / (1 + np.exp(-np.asarray(scores, float)))
    return labelfree.Answers(np.stack([sure, 1 - sure], axis=1))


def estimate(name, share=None):
    def ask(validation, mixture):
        generator = np.random.default_rng(0)
        sets = {str(i): generator.normal(-i / 3, 1, 80) for i in range(12)}
        meta = labelfree.MetaSets(generator.normal(size=200), sets)
        fitted = labelfree.ESTIMATORS[name](validation, meta, share=share)
        return [number for one in fitted.estimate(mixture).values() for number in one]

    return ask


def accuracy(validation, mixture):
    said = answers(validation), np.arange(len(validation)) % 4 > 0, answers(mixture)
    return [number for one in labelfree.estimate_accuracy(*said).values() for number in one]


def accepted(validation, mixture):
    keep = np.ones(len(validation), bool), np.ones(len(mixture), bool)
    said = answers(validation), np.arange(len(validation)) % 4 > 0, answers(mixture)
    found = labelfree.accuracy_of_accepted(*said, keep, share=0.2)
    return [number for one in found.values() for number in one]


def listed(validation, mixture):
    return labelfree.suspected_unknown(validation, mixture, adaptive=True).p_values


def by_class(validation, mixture):
    classes = np.arange(len(validation)) % 2
    return [labelfree.label_shift_share_bound(validation, classes, mixture)]


ESTIMATES = {name: estimate(name) for name in labelfree.ESTIMATORS}
ESTIMATES |= {"accuracy": accuracy, "accepted": accepted}
OTHERS = {
    "share_bound": lambda *scores: [labelfree.share_bound(*scores)],
    "estimate_share": lambda *scores: [labelfree.estimate_share(*scores)],
    "label_shift_share_bound": by_class,
    "suspected_unknown": listed,
}
EVERY = ESTIMATES | OTHERS
WITH_VALIDATION = sorted(EVERY.keys() - {"constant"})


def draw(known=200, images=120, unknown=0.3, seed=1):
    generator = np.random.default_rng(seed)
    shift = 2 * (np.arange(images) < unknown * images)
    return generator.normal(size=known), generator.normal(size=images) - shift


def in_order(found):
    found = np.asarray(found)
    return found.size and np.isfinite(found).all() and found.min() >= 0 and found.max() <= 1


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("unknown", [0, 0.3, 1])
def test_ties_everywhere_none_unknown_and_all_unknown_are_no_error(name, unknown):
    validation, mixture = draw(unknown=unknown)
    assert in_order(EVERY[name](validation, mixture))
    assert in_order(EVERY[name](np.round(validation), np.round(mixture)))


@pytest.mark.parametrize("name", ESTIMATES)
def test_fewer_than_fifty_images_are_too_few_for_an_estimate(name):
    validation, mixture = draw(images=49)
    with pytest.raises(ValueError, match=r"at least 50|50 of the mixture"):
        ESTIMATES[name](validation, mixture)


@pytest.mark.parametrize("name", OTHERS)
def test_and_enough_for_a_bound_and_a_list(name):
    assert in_order(OTHERS[name](*draw(images=20)))


@pytest.mark.parametrize("name", WITH_VALIDATION)
def test_without_a_validation_image_nothing_is_said(name):
    with pytest.raises(ValueError, match="validation"):
        EVERY[name](np.empty(0), draw()[1])


@pytest.mark.parametrize("name", EVERY)
def test_nan_is_refused(name):
    validation, mixture = draw()
    mixture[3] = np.nan
    with pytest.raises(ValueError, match=r"mixture|confidence"):
        EVERY[name](validation, mixture)


@pytest.mark.parametrize("name", EVERY)
def test_constant_scores_are_refused_or_say_nothing(name):
    """A Gscore has no two parts to tell apart; who needs ranks alone gives what is true of ties."""
    validation, mixture = np.zeros(200), np.zeros(120)
    if name == "gscore":
        with pytest.raises(ValueError, match="constant scores"):
            EVERY[name](validation, mixture)
        return
    found = EVERY[name](validation, mixture)
    assert in_order(found)
    if "share" in name:  # no image is surer than the others
        assert found == [0]


@pytest.mark.parametrize("share", [0, 1.1, np.nan])
@pytest.mark.parametrize("name", labelfree.ESTIMATORS)
def test_a_share_that_leaves_nothing_to_find_is_refused(name, share):
    with pytest.raises(ValueError, match="share"):
        estimate(name, share)(*draw())


@pytest.mark.parametrize("name", labelfree.ESTIMATORS)
def test_a_share_of_one_is_none(name):
    assert in_order(estimate(name, 1)(*draw(unknown=1)))
