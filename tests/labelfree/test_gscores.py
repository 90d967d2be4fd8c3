"""From the scores of a mixture to a Gscore, and from there to a metric and its interval."""

from functools import partial

import numpy as np
import pytest
from scipy.linalg import sqrtm
from sklearn.mixture import GaussianMixture

from helpers import labelfree as gscore
from helpers.labelfree import TAUS, fit_regression
from tests.mistakes import beside

VALIDATION = np.random.default_rng(4).normal(4, 1, 200)


@pytest.fixture(params=["continuous", "tied", "few"])
def scores(request):
    generator = np.random.default_rng(3)
    drawn = np.concatenate([generator.normal(3, 0.5, 60), generator.normal(0, 1, 41)])
    return {"continuous": drawn, "tied": drawn.round(), "few": drawn[55:63]}[request.param]


def assert_parts(parts, scores, inside, row=...):
    """The parts are `inside` and its complement; an empty part has the other part's numbers."""
    values = [scores[chosen] if chosen.any() else scores for chosen in (inside, ~inside)]
    assert parts.counts[row].tolist() == [inside.sum(), (~inside).sum()]
    assert parts.means[row] == pytest.approx([part.mean() for part in values], abs=1e-7)
    assert parts.deviations[row] == pytest.approx([part.std() for part in values], abs=1e-7)


def test_two_means_is_the_best_of_all_cuts(scores):
    cuts = np.unique(scores)[1:]
    halves = [(scores[scores < cut], scores[scores >= cut]) for cut in cuts]
    losses = [sum(((part - part.mean()) ** 2).sum() for part in pair) for pair in halves]
    assert_parts(gscore.two_means(scores), scores, scores >= cuts[np.argmin(losses)])


def test_density_parts_follow_the_definition_at_every_threshold(scores):
    """Very high scores are outside of the band."""
    validation = [2.2, 3.0, 3.4, 3.8]
    taus = np.array([1, 0.99, 0.5, 0, 0.01, 0.93])
    densities = np.exp(-((scores - 3.1) ** 2) / (2 * 0.35))
    parts = gscore.density_parts(scores, validation, taus)
    for row, tau in enumerate(taus):
        assert_parts(parts, scores, densities > tau, row)
    empty = gscore.density_parts(scores, validation, [0, 1])
    for kind in gscore.DISTANCES:
        assert gscore.distance(empty, kind).tolist() == [0, 0]


def test_distances_by_hand():
    parts = gscore.Parts(np.array([5.0, 2.0]), np.array([1.0, 2.0]), np.array([4, 4]))
    distances = [float(gscore.distance(parts, kind)) for kind in gscore.DISTANCES]
    assert distances == pytest.approx([3, -np.log(2) + 13 / 2 - 0.5, np.log(2) + 10 / 8 - 0.5, 10])
    single = gscore.density_parts([5.0, 1.0, 2.0, 3.0], [4.0, 6.0], [0.99])  # a part of one score
    distances = [gscore.distance(single, kind).item() for kind in gscore.DISTANCES]
    assert distances == pytest.approx([3.0, 0.0, 0.0, 9.0 + 2 / 3])
    equal = np.concatenate([np.full(7000, 0.1), np.random.default_rng(0).normal(9, 1, 7000)])
    assert gscore.two_means(equal).deviations[1] == 0  # nothing is left by rounding


def drawn(case):
    normal = np.random.default_rng(11).normal
    known = 120 if case == "few ID" else 600
    if case == "saturated":  # as the largest probability: most close to 1
        return 1 / (1 + 9 * np.exp(-np.abs(np.r_[normal(9, 3, 600), normal(2, 2, 600)])))
    if case == "small":  # as ODIN's at a temperature of 1000
        return 0.1 + 1e-4 * np.r_[normal(3, 1, 600), normal(0, 1.5, 600)]
    distance = {"overlapping": 2.0, "apart": 8.0}.get(case, 4.0)
    return np.r_[normal(distance, 1, known), normal(0, 2, 1200 - known)]


@pytest.mark.parametrize("case", ["apart", "overlapping", "few ID", "saturated", "small"])
def test_the_mixture_is_scikit_learns(case):
    scores = drawn(case)
    start = gscore.two_means(scores)
    ours = gscore.fit_mixture(scores)
    floor = 1e-6 * scores.var()
    peer = GaussianMixture(
        2,
        tol=1e-15,
        max_iter=20_000,
        reg_covar=floor,
        weights_init=start.counts / len(scores),
        means_init=start.means[:, None],
        precisions_init=1 / (start.deviations**2 + floor)[:, None, None],
    ).fit(scores[:, None])
    assert peer.converged_
    order = np.argsort(peer.means_[:, 0])[::-1]
    near = {"abs": 1e-6 * scores.std()}
    assert ours.weights == pytest.approx(peer.weights_[order], abs=1e-6)
    assert ours.means == pytest.approx(peer.means_[order, 0], **near)
    assert ours.deviations == pytest.approx(np.sqrt(peer.covariances_[order, 0, 0]), **near)
    turned = gscore.fit_mixture(5 - 1e-3 * scores[::-1])
    assert turned.means == pytest.approx(5 - 1e-3 * ours.means[::-1], abs=1e-8)


PAIRS = beside(__file__, "pairs.yaml")


@pytest.mark.parametrize("pair", PAIRS)
def test_scores_are_divided_by_their_posterior(pair):
    mixture = gscore.Mixture(*map(np.array, pair))
    scores = np.random.default_rng(1).normal(1, 3, 400)
    taus = [0, 0.05, 0.3, 0.5, 0.7, 0.95, 1]
    logs = np.log(mixture.weights / mixture.deviations)
    logs = logs - ((scores[:, None] - mixture.means) / mixture.deviations) ** 2 / 2
    posterior = 1 / (1 + np.exp(logs[:, 1] - logs[:, 0]))
    parts = gscore.mixture_parts(scores, mixture, taus)
    for row, tau in enumerate(taus):
        inside = posterior > tau if 0 < tau < 1 else np.full(400, tau == 0)
        assert_parts(parts, scores, inside, row)


def test_each_evaluator_is_its_split_and_its_distance(scores):
    """At each threshold alone as at all at once; the scale and the order of scores are free."""
    by_name = gscore.gscores(scores, taus=[0.5, 0.9], validation=VALIDATION)
    fitted = gscore.fit_mixture(scores)
    parts = {
        "kmeans": gscore.two_means(scores),
        "gmm": gscore.mixture_parts(scores, fitted, [0.5, 0.9]),
        "ude": gscore.density_parts(scores, VALIDATION, [0.5, 0.9]),
        "components": gscore.Parts(fitted.means, fitted.deviations, np.full(2, len(scores))),
    }
    centre = np.mean(VALIDATION)
    quantile = np.quantile(VALIDATION, 0.05)
    statistics = {"mean": scores.mean(), "moment": np.mean((scores - centre) ** 2)}
    statistics["share"] = np.mean(scores < quantile)
    assert list(by_name) == list(gscore.EVALUATORS)
    scaled = gscore.gscores(3 * scores[::-1] + 1, taus=[0.9], validation=3 * VALIDATION + 1)
    for name, values in by_name.items():
        split, kind = name.split("_", 1)
        if split == "statistic":
            assert values == pytest.approx(np.full(2, statistics[kind]))
            continue
        assert values.shape == (2,)
        assert (values == gscore.distance(parts[split], kind)).all()
        power = {"l2": 3, "wasserstein": 9, "kl": 1, "reversed_kl": 1}[kind]
        assert scaled[name] == pytest.approx(power * values[1:], rel=1e-5)


def test_a_score_at_the_quantile_is_not_below_it():
    estimates = gscore.gscores([0.0, 1.0, 2.0], ["statistic_share"], validation=[0.0, 0.0, 1.0])
    assert estimates["statistic_share"][0] == 0


@pytest.mark.parametrize(("centre", "count"), [(4.0, 500), (-9.0, 500), (0.0, 2)])
def test_all_id_all_ood_and_two_images_have_finite_gscores(centre, count):
    scores = np.random.default_rng(8).normal(centre, 1, count)
    for name, values in gscore.gscores(scores, validation=VALIDATION).items():
        assert np.isfinite(values).all()
        assert (values >= 0).all() or name == "statistic_mean"


def test_baselines_by_definition():
    estimated = gscore.confidence_metrics([0.95, 0.91, 0.9, 0.2], [3.0, 1.0, 2.0, 0.0])
    assert estimated == gscore.true_metrics([3.0, 1.0], [2.0, 0.0])
    for same in ([0.95, 0.99], [0.5, 0.6]):  # labels that are all the same
        assert gscore.confidence_metrics(same, [1, 2]) == gscore.true_metrics([3.0], [1.0])
    generator = np.random.default_rng(1)
    for images in (5, 60):  # fewer than features, and more
        first = generator.normal(size=(40, 8))
        second = generator.normal(1, 2, (images, 8))
        spread = np.cov(first.T)
        other = np.cov(second.T)
        root = np.real(sqrtm(sqrtm(spread) @ other @ sqrtm(spread)))
        expected = ((first.mean(0) - second.mean(0)) ** 2).sum()
        expected += np.trace(spread + other - 2 * root)
        moments = gscore.feature_moments(first), gscore.feature_moments(second)
        assert gscore.frechet_distance(*moments) == pytest.approx(expected, rel=1e-5)
    assert gscore.frechet_distance(moments[0], moments[0]) == pytest.approx(0, abs=1e-9)


MISTAKES = beside(__file__, "mistakes.yaml")
LINE = fit_regression([[0.0]] * 9 + [[1.0]], np.r_[:10] / 10, [0.5])
FUNCTIONS = vars(gscore) | {
    "interval of ten sets": LINE.interval,
    "distance of two means": partial(gscore.distance, gscore.two_means([1, 2])),
}


@pytest.mark.parametrize("function", MISTAKES)
def test_bad_input_is_named(function):
    for message, calls in MISTAKES[function].items():
        for arguments in calls:
            with pytest.raises(ValueError, match=message):
                FUNCTIONS[function](*arguments)


def test_the_line_is_least_squares():
    generator = np.random.default_rng(0)
    x = generator.normal(size=20)
    y = generator.uniform(size=20)
    line = fit_regression(x[:, None], y, [0.93])
    slope, intercept = np.polyfit(x, y, 1)
    assert (line.slope, line.intercept, line.tau) == pytest.approx((slope, intercept, 0.93))
    assert line.residuals == pytest.approx(y - slope * x - intercept)
    assert line.predict([0.0, 2.0]) == pytest.approx([intercept, intercept + 2 * slope])
    low, high = line.interval([-50.0, 50.0])
    assert (low >= 0).all()
    assert (high <= 1).all()
    assert (low <= high).all()


def noisy(noise_by_tau, sets=30):
    """Gscores that are the metric and noise, which depends on the threshold."""
    generator = np.random.default_rng(1)
    truths = generator.uniform(0.5, 1, sets)
    return truths[:, None] + generator.normal(size=sets)[:, None] * noise_by_tau, truths


def test_the_threshold_is_sought_coarse_then_fine():
    """The fine search is near the best coarse threshold, and the first of equal ones wins."""
    assert fit_regression(*noisy(np.abs(TAUS - 0.37)), TAUS).tau == 0.37
    noise = np.abs(TAUS - 0.3) + 0.1
    noise[85] = 0  # a better one that no coarse step has
    assert fit_regression(*noisy(noise), TAUS).tau == 0.3
    gscores, truths = noisy(np.full(101, 0.2))
    gscores[:, [0, 100]] = 0  # as of an empty part
    line = fit_regression(gscores, truths, TAUS)
    assert line.tau not in (0, 1)
    assert line.slope > 0
    gscores, truths = noisy(np.array([0.1]))
    assert fit_regression(np.repeat(gscores, 101, axis=1), truths, TAUS).tau == 0


@pytest.mark.parametrize(("level", "rank"), [(0.8, 12), (0.75, 12), (0.9, 14)])
def test_the_interval_is_the_jackknife_plus_by_definition(level, rank):
    """Also of mixtures with other ID images, if the intervals know of them."""
    generator = np.random.default_rng(5)
    x = generator.normal(size=14)
    y = generator.uniform(0.3, 0.7, 14)
    new = np.r_[-1.0, 0.4]
    again = generator.normal(size=14), generator.uniform(0.3, 0.7, 14)
    line = fit_regression(x[:, None], y, [0.5])
    for redrawn in (None, (x, y), again):
        low, high = line.interval(new, level=level, redrawn=redrawn)
        others, truths = redrawn or (x, y)
        lower = []
        upper = []
        for left_out in range(14):
            kept = np.arange(14) != left_out
            slope, intercept = np.polyfit(x[kept], y[kept], 1)
            miss = abs(truths[left_out] - intercept - slope * others[left_out])
            lower.append(intercept + slope * new - miss)
            upper.append(intercept + slope * new + miss)
        # of 15 that are 12, 11.25 or 13.5: so many from below, and so many from above
        assert low == pytest.approx(np.clip(np.sort(lower, axis=0)[14 - rank], 0, 1))
        assert high == pytest.approx(np.clip(np.sort(upper, axis=0)[rank - 1], 0, 1))


@pytest.mark.parametrize(("sets", "level"), [(8, 0.9), (18, 0.95)])
def test_an_interval_needs_enough_sets(sets, level):
    x = np.arange(sets + 1.0)
    with pytest.raises(ValueError, match=f"at least {sets + 1} meta-training sets"):
        fit_regression(x[:-1, None], x[:-1] / 20, [0.5]).interval([1.0], level)
    low, high = fit_regression(x[:, None], x / 20, [0.5]).interval([1.0], level)
    assert low == pytest.approx(high)
