"""A group that is weak is found; where there is none, none is named more often than stated."""

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from known_unknowns.auditing import audit
from known_unknowns.auditing.directions import principal_directions
from known_unknowns.auditing.sections import describe_groups
from known_unknowns.auditing.weak_groups import LEAST, LEVEL, _as_many, _best_cut, find_weak_groups


def halves(generator, images, risk):
    """Return both halves of images whose errors depend on where they lie by a function."""
    values = generator.normal(size=(images, 6))
    wrong = generator.random(images) < risk(values)
    middle = images // 2
    return values[:middle], wrong[:middle], values[middle:], wrong[middle:]


@pytest.mark.parametrize(("images", "share"), [(200, 0.3), (600, 0.05), (2000, 0.2)])
def test_where_errors_are_by_chance_a_group_is_seldom_named(images, share):
    generator, draws = np.random.default_rng(images), 300
    flat = (halves(generator, images, lambda values: share) for _ in range(draws))
    named = sum(bool(find_weak_groups(*one)[1]) for one in flat)
    assert named <= binom.ppf(0.999, draws, LEVEL)


def test_judged_where_they_were_found_groups_would_be_named_too_often():
    """So that the halves are what keeps the level: the same images in both break it."""
    generator, draws, named = np.random.default_rng(1), 100, 0
    for _ in range(draws):
        values, wrong, *_ = halves(generator, 1200, lambda values: 0.2)
        named += bool(find_weak_groups(values, wrong, values, wrong)[1])
    assert named > binom.ppf(0.999, draws, LEVEL)


def test_a_weak_group_is_found_and_its_images_are_in_it():
    generator, draws, found = np.random.default_rng(2), 40, 0
    for _ in range(draws):
        own = halves(generator, 1000, lambda values: np.where(values[:, 3] > 1.2, 0.5, 0.05))
        looked_at, groups = find_weak_groups(*own)
        assert looked_at <= 8
        for one in groups:
            inside = (own[2][one.places, 3] > 1.0).mean()
            found += inside > 0.9 and one.right[1] <= 0.5 <= one.right[2]
            assert one.right[0] == pytest.approx((~own[3][one.places]).mean())
            rest = np.setdiff1d(np.arange(len(own[3])), one.places)
            assert one.others == pytest.approx((~own[3][rest]).mean()) and one.p_value <= LEVEL
    assert found >= 0.9 * draws


def test_without_errors_and_with_few_images_there_is_nothing_to_look_at():
    generator = np.random.default_rng(3)
    assert find_weak_groups(*halves(generator, 500, lambda values: 0.0)) == (0, ())
    values, wrong = np.arange(2 * LEAST)[:, None] * 1.0, np.arange(2 * LEAST) < LEAST
    assert _best_cut(values, wrong) == (0, LEAST - 1.0)
    assert _best_cut(values[1:], wrong[1:]) is None  # too few for two groups
    assert _best_cut(np.ones_like(values), wrong) is None  # all in one place


def test_the_tail_is_that_of_the_hypergeometric_law():
    generator = np.random.default_rng(6)
    for _ in range(100):
        images = int(generator.integers(10, 3000))
        errors, size = (int(one) for one in generator.integers(1, images, size=2))
        count = int(hypergeom.rvs(images, errors, size, random_state=generator))
        expected = hypergeom.sf(count - 1, images, errors, size)
        assert _as_many(count, size, images, errors) == pytest.approx(expected, rel=1e-6)


def test_directions_are_those_of_the_variance():
    """Against the singular vectors of all features, also with fewer images than those."""
    generator = np.random.default_rng(4)
    values = generator.normal(size=(300, 60)) * np.geomspace(20, 0.1, 60)
    exact = np.linalg.svd(values - values.mean(axis=0), full_matrices=False)[2].T
    found = principal_directions(values)
    assert found.shape == (60, 16) and np.allclose(found.T @ found, np.eye(16), atol=1e-4)
    assert (np.abs((found * exact[:, :16]).sum(axis=0))[:8] > 0.99).all()
    assert principal_directions(values[:5]).shape == (60, 5)


def weak_inputs(inputs, seed=5):
    """Return inputs whose labels are wrong where one feature is large, which nothing else needs."""
    generator = np.random.default_rng(seed)
    part = inputs.validation.subset(np.arange(1200) % len(inputs.validation))
    features = part.features + 0.01 * generator.normal(size=part.features.shape)
    features[:, 5] = generator.normal(size=1200)
    moved = (features[:, 5] > 0.8) & (generator.random(1200) < 0.7)
    labels = np.where(moved, (part.labels + 1) % 4, part.labels)
    validation = type(part)(features[:, :4] * 1.5, features, labels)
    more = {"validation": validation, "files": (), "ood": {}, "production": None, "train": None}
    return type(inputs)(**{**vars(inputs), **more})


def test_the_report_says_which_group_is_weak_and_what_to_do(inputs):
    found = audit(weak_inputs(inputs), risk=0.2, replicates=5)
    first, *_ = groups = describe_groups(found)
    said = found.as_dict()
    (section,) = [one for one in said["findings"] if one["name"] == "weak"]
    assert f"right on {100 * first.right[0]:.1f} %, against" in section["sentence"]
    assert first.unseen and "neither its confidence" in section["advice"]
    assert "so that it does not know it" in section["details"][0]
    assert all(one.startswith("row ") for one in first.examples)
    assert said["weak_groups"]["groups"][0]["images"] == first.images
    assert len(section["details"]) == len(groups) + 1
    places = found.weak_groups[1][0].places
    assert (found.measured.features[places, 5] > 0.5).all()


def test_the_report_says_how_many_errors_of_a_group_are_accepted(inputs):
    found = audit(weak_inputs(inputs), wish="coverage", coverage=0.99, replicates=5)
    first, *_ = describe_groups(found)
    (section,) = [one for one in found.as_dict()["findings"] if one["name"] == "weak"]
    said = f"Of the {first.accepted} that are accepted {100 * first.wrong[0]:.1f} % are wrong."
    assert first.accepted and said in section["details"][0]


def test_the_report_says_that_there_is_none(inputs):
    said = audit(inputs, risk=0.2, replicates=5).as_dict()
    (section,) = [one for one in said["findings"] if one["name"] == "weak"]
    assert "there is no group" in section["sentence"] and said["weak_groups"]["groups"] == []
    assert section["advice"].startswith("Nothing.")
