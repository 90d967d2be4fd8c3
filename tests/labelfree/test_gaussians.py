import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from helpers import labelfree as gscore


def drawn(case):
    generator = np.random.default_rng(11)
    normal, id_share = generator.normal, 0.1 if case == "few ID" else 0.5
    known = int(id_share * 1200)
    if case == "saturated":  # as the largest probability: most close to 1
        return 1 / (1 + 9 * np.exp(-np.abs(np.r_[normal(9, 3, 600), normal(2, 2, 600)])))
    if case == "small":  # as ODIN's at a temperature of 1000
        return 0.1 + 1e-4 * np.r_[normal(3, 1, 600), normal(0, 1.5, 600)]
    distance = {"overlapping": 2.0, "apart": 8.0}.get(case, 4.0)
    return np.r_[normal(distance, 1, known), normal(0, 2, 1200 - known)]


CASES = "apart", "overlapping", "few ID", "saturated", "small"


@pytest.mark.parametrize("case", CASES)
def test_the_mixture_is_scikit_learns(case):
    scores = drawn(case)
    start = gscore.two_means(scores)
    ours = gscore.fit_mixture(scores)
    floor = 1e-6 * scores.var()
    theirs = GaussianMixture(
        2,
        tol=1e-15,
        max_iter=20_000,
        reg_covar=floor,
        weights_init=start.counts / len(scores),
        means_init=start.means[:, None],
        precisions_init=1 / (start.deviations**2 + floor)[:, None, None],
    ).fit(scores[:, None])
    assert ours.converged and theirs.converged_
    order = np.argsort(theirs.means_[:, 0])[::-1]
    deviations = np.sqrt(theirs.covariances_[order, 0, 0])
    assert ours.weights == pytest.approx(theirs.weights_[order], abs=1e-6)
    assert ours.means == pytest.approx(theirs.means_[order, 0], abs=1e-6 * scores.std())
    assert ours.deviations == pytest.approx(deviations, abs=1e-6 * scores.std())
    assert ours.iterations < theirs.n_iter_


def test_the_fit_follows_the_scale_of_the_scores_and_not_their_order():
    scores = drawn("overlapping")
    first, second = gscore.fit_mixture(scores), gscore.fit_mixture(5 - 1e-3 * scores[::-1])
    assert second.means == pytest.approx(5 - 1e-3 * first.means[::-1], abs=1e-9)
    assert second.deviations == pytest.approx(1e-3 * first.deviations[::-1], abs=1e-9)


def test_the_smallest_mixture_has_one_score_in_each_component():
    mixture = gscore.fit_mixture([1.0, 3.0])
    assert mixture.converged
    assert mixture.means == pytest.approx([3, 1]) and mixture.weights == pytest.approx([0.5, 0.5])


MIXTURES = {
    "inner narrow": gscore.Mixture(np.r_[0.6, 0.4], np.r_[2.0, 0.5], np.r_[0.7, 2.0], 1, True),
    "outer narrow": gscore.Mixture(np.r_[0.3, 0.7], np.r_[2.0, 0.5], np.r_[2.0, 0.7], 1, True),
    "as wide": gscore.Mixture(np.r_[0.6, 0.4], np.r_[2.0, 0.0], np.r_[1.0, 1.0], 1, True),
    "never likely": gscore.Mixture(np.r_[0.01, 0.99], np.r_[0.1, 0.0], np.r_[0.9, 1.0], 1, True),
    "always likely": gscore.Mixture(np.r_[0.99, 0.01], np.r_[0.1, 0.0], np.r_[1.0, 0.9], 1, True),
    "the same": gscore.Mixture(np.r_[0.6, 0.4], np.r_[1.0, 1.0], np.r_[1.0, 1.0], 1, True),
}


@pytest.mark.parametrize("name", MIXTURES)
def test_parts_are_where_the_posterior_exceeds_the_threshold(name):
    mixture, scores = MIXTURES[name], np.random.default_rng(1).normal(1, 3, 400)
    taus = np.array([0, 0.05, 0.3, 0.5, 0.7, 0.95, 0.99, 1])
    gaps = (scores[:, None] - mixture.means) / mixture.deviations
    logs = np.log(mixture.weights / mixture.deviations) - gaps**2 / 2
    posterior = 1 / (1 + np.exp(logs[:, 1] - logs[:, 0]))
    parts = gscore.mixture_parts(scores, mixture, taus)
    assert parts.counts[0].tolist() == [400, 0] and parts.counts[-1].tolist() == [0, 400]
    for row, tau in enumerate(taus[1:-1], 1):
        inside = posterior > tau
        assert parts.counts[row].tolist() == [inside.sum(), (~inside).sum()]
        for column, chosen in enumerate([inside, ~inside]):
            if chosen.any():
                assert parts.means[row, column] == pytest.approx(scores[chosen].mean())
                deviation = scores[chosen].std()
                assert parts.deviations[row, column] == pytest.approx(deviation, abs=1e-7)
