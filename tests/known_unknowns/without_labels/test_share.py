import numpy as np
import pytest
from scipy.stats import betabinom

from known_unknowns.without_labels import estimate_share, share_bound


def draw(generator, known, images, share, shift):
    unknown = generator.binomial(images, share)
    mixture = generator.normal(size=images) - shift * (np.arange(images) < unknown)
    return generator.normal(size=known), mixture


@pytest.mark.parametrize(
    ("known", "images", "share"), [(200, 300, 0), (150, 80, 0.2), (60, 500, 0.5)]
)
def test_a_bound_is_kept_where_unknown_images_lie_below_all_known_ones(known, images, share):
    """The worst case: all of the share shows."""
    generator, repeats = np.random.default_rng(3), 200
    broken = sum(
        share_bound(*draw(generator, known, images, share, 50), level=0.8) > share
        for _ in range(repeats)
    )
    assert broken / repeats <= 0.2


def test_at_one_rank_the_bound_is_that_of_the_beta_binomial_law():
    """With a single validation image there is one rank, and without unknown images no integral."""
    mixture = np.r_[np.full(39, -1.0), 1.0]
    tail = betabinom.sf(38, 40, 1, 1)  # that 39 or more of 40 lie below: 2 / 41
    assert share_bound([0.0], mixture, level=1 - tail * 1.01) > 0
    assert share_bound([0.0], mixture, level=1 - tail * 0.99) == 0


def test_the_estimate_finds_the_share_where_high_scores_are_free_of_unknown_images():
    generator = np.random.default_rng(5)
    for share in (0.05, 0.4, 0.9):
        found = [estimate_share(*draw(generator, 4000, 4000, share, 4)) for _ in range(10)]
        assert np.mean(found) == pytest.approx(share, abs=0.02)


def test_ties_make_a_bound_smaller_only():
    generator = np.random.default_rng(9)
    validation, mixture = draw(generator, 300, 300, 0.5, 3)
    rough = share_bound(np.round(validation), np.round(mixture))
    assert 0 < rough <= share_bound(validation, mixture) + 0.02


@pytest.mark.parametrize("function", [share_bound, estimate_share])
@pytest.mark.parametrize(
    ("validation", "mixture", "named"),
    [([], [1.0], "validation: empty"), ([1.0], [], "mixture: empty"),
     ([1.0, np.nan], [1.0], "validation: contains NaN"),
     ([1.0], [np.inf], "mixture: contains inf")],
)  # fmt: skip
def test_what_are_no_scores_is_refused(function, validation, mixture, named):
    with pytest.raises(ValueError, match=named):
        function(validation, mixture)


@pytest.mark.parametrize("level", [0, 1, 95])
def test_a_level_lies_between_0_and_1(level):
    with pytest.raises(ValueError, match="level"):
        share_bound([1.0], [1.0], level=level)
