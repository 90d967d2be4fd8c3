import numpy as np
import pytest

from helpers import labelfree as gscore


@pytest.fixture(params=["continuous", "tied", "few"])
def scores(request):
    generator = np.random.default_rng(3)
    drawn = np.concatenate([generator.normal(3, 0.5, 60), generator.normal(0, 1, 41)])
    return {"continuous": drawn, "tied": drawn.round(), "few": drawn[55:63]}[request.param]


def described(scores, inside):
    """Means, deviations and counts of two parts, by the definition."""
    parts = [scores[inside], scores[~inside]]
    parts = [part if len(part) else scores for part in parts]
    return (
        [part.mean() for part in parts],
        [part.std() for part in parts],
        [inside.sum(), (~inside).sum()],
    )


def assert_parts(parts, expected, row=...):
    for found, values in zip((parts.means, parts.deviations, parts.counts), expected, strict=True):
        assert found[row] == pytest.approx(values, abs=1e-7)


def test_two_means_is_the_best_of_all_cuts(scores):
    cuts = np.unique(scores)[1:]
    losses = [
        sum(((part - part.mean()) ** 2).sum() for part in (scores[scores < c], scores[scores >= c]))
        for c in cuts
    ]
    assert_parts(gscore.two_means(scores), described(scores, scores >= cuts[np.argmin(losses)]))


def test_density_parts_follow_the_definition_at_every_threshold(scores):
    validation, taus = [2.2, 3.0, 3.4, 3.8], np.array([1, 0.99, 0.5, 0, 0.01, 0.93])
    parts = gscore.density_parts(scores, validation, taus)
    densities = np.exp(-((scores - np.mean(validation)) ** 2) / (2 * np.var(validation)))
    for row, tau in enumerate(taus):
        assert_parts(parts, described(scores, densities > tau), row)


def test_scores_above_the_band_are_taken_for_ood():
    parts = gscore.density_parts([0.0, 10.0, 5.0, 5.1], [4.0, 6.0], [0.9])
    assert parts.counts.tolist() == [[2, 2]]
    assert parts.means[0] == pytest.approx([5.05, 5.0])


def test_no_threshold_and_the_highest_leave_a_part_empty_at_distance_zero(scores):
    parts = gscore.density_parts(scores, [2.0, 4.0], [0, 1])
    assert parts.counts.tolist() == [[len(scores), 0], [0, len(scores)]]
    for kind in gscore.DISTANCES:
        assert gscore.distance(parts, kind).tolist() == [0, 0]


def test_a_part_of_one_has_a_distance_but_no_divergence():
    parts = gscore.density_parts([5.0, 1.0, 2.0, 3.0], [4.0, 6.0], [0.99])
    assert parts.counts.tolist() == [[1, 3]] and parts.deviations[0, 0] == 0
    assert gscore.distance(parts, "l2") == pytest.approx([3.0])
    assert gscore.distance(parts, "wasserstein") == pytest.approx([9.0 + 2 / 3])
    assert gscore.distance(parts, "kl").tolist() == [0]


def test_equal_scores_have_no_deviation_left_by_rounding():
    scores = np.concatenate([np.full(7000, 0.1), np.random.default_rng(0).normal(9, 1, 7000)])
    assert gscore.two_means(scores).deviations[1] == 0


def test_distances_of_one_hand_computed_case():
    parts = gscore.Parts(np.array([5.0, 2.0]), np.array([1.0, 2.0]), np.array([4, 4]))
    assert gscore.distance(parts, "l2") == 3
    assert gscore.distance(parts, "wasserstein") == 10
    assert gscore.distance(parts, "kl") == pytest.approx(-np.log(2) + 13 / 2 - 0.5)


@pytest.mark.parametrize(
    "bad, message",
    [
        ([1.0], "at least 2 images"),
        ([2.0, 2.0, 2.0], "constant"),
        ([1.0, np.nan], "scores"),
        ([1.0, np.inf], "scores"),
        ([], "scores: empty"),
        ([[1.0, 2.0]], "scores"),
    ],
)
def test_scores_that_cannot_be_split_are_refused(bad, message):
    for refuse in (gscore.two_means, gscore.fit_mixture, gscore.gscores):
        with pytest.raises(ValueError, match=message):
            refuse(bad)


@pytest.mark.parametrize("bad", [[3.0], [3.0, 3.0], [np.nan, 1.0], []])
def test_validation_scores_without_a_spread_are_refused(bad):
    with pytest.raises(ValueError, match="validation"):
        gscore.density_parts([1.0, 2.0], bad, [0.5])


@pytest.mark.parametrize("bad", [[1.5], [-0.1], [np.nan], []])
def test_thresholds_outside_the_unit_interval_are_refused(bad):
    with pytest.raises(ValueError, match="taus"):
        gscore.density_parts([1.0, 2.0], [1.0, 2.0], bad)


def test_an_unknown_distance_is_answered_with_the_nearest():
    with pytest.raises(ValueError, match="did you mean 'wasserstein'"):
        gscore.distance(gscore.two_means([1, 2]), "wasserstien")
