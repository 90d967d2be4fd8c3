import numpy as np
import pytest

from helpers import labelfree as gscore


@pytest.fixture
def mixture():
    generator = np.random.default_rng(2)
    return np.r_[generator.normal(4, 1, 300), generator.normal(0, 1.5, 200)]


@pytest.fixture
def validation():
    return np.random.default_rng(4).normal(4, 1, 200)


def test_each_evaluator_is_its_split_and_its_distance(mixture, validation):
    found = gscore.gscores(mixture, taus=[0.5, 0.9], validation=validation)
    assert list(found) == list(gscore.EVALUATORS)
    fitted = gscore.fit_mixture(mixture)
    parts = {
        "kmeans": gscore.two_means(mixture),
        "gmm": gscore.mixture_parts(mixture, fitted, [0.5, 0.9]),
        "ude": gscore.density_parts(mixture, validation, [0.5, 0.9]),
    }
    for name, values in found.items():
        split, kind = name.split("_")
        assert values.shape == (2,)
        assert (values == gscore.distance(parts[split], kind)).all()


def test_ude_with_wasserstein_at_a_high_threshold_is_a_second_moment(validation):
    """That of the scores about the validation mean, as the book's chapter says."""
    generator, found, moments = np.random.default_rng(5), [], []
    for _ in range(40):  # unknown images at either side, as many as chance will have it
        unknown = generator.normal(generator.uniform(-2, 8), generator.uniform(0.5, 2), 400)
        known = generator.normal(4, 1, generator.integers(100, 800))
        mixture = np.r_[known, unknown]
        found += gscore.gscores(mixture, ["ude_wasserstein"], taus=[0.99], validation=validation)[
            "ude_wasserstein"
        ].tolist()
        moments.append(((mixture - validation.mean()) ** 2).mean())
    assert np.corrcoef(found, moments)[0, 1] > 0.99


def test_all_thresholds_at_once_are_each_threshold_alone(mixture, validation):
    together = gscore.gscores(mixture, validation=validation)
    for position in (0, 37, 99):
        alone = gscore.gscores(mixture, taus=[gscore.TAUS[position]], validation=validation)
        for name in together:
            assert together[name][position] == alone[name][0]


@pytest.mark.parametrize("evaluator", gscore.EVALUATORS)
def test_gscores_grow_as_the_modes_part(evaluator, validation):
    generator = np.random.default_rng(6)
    known, unknown = generator.normal(4, 1, 2000), generator.normal(4, 1, 2000)
    near, middle, far = (
        gscore.gscores(np.r_[known, unknown - gap], [evaluator], taus=[0.5], validation=validation)
        for gap in (2, 6, 12)
    )
    assert near[evaluator] < middle[evaluator] < far[evaluator]


@pytest.mark.parametrize("evaluator", gscore.EVALUATORS)
def test_gscores_do_not_depend_on_the_order_and_follow_the_scale(evaluator, mixture, validation):
    options = {"taus": [0.3, 0.8], "validation": validation}
    first = gscore.gscores(mixture, [evaluator], **options)[evaluator]
    assert (gscore.gscores(mixture[::-1], [evaluator], **options)[evaluator] == first).all()
    options["validation"] = 3 * validation + 1
    scaled = gscore.gscores(3 * mixture + 1, [evaluator], **options)[evaluator]
    power = {"l2": 3, "wasserstein": 9, "kl": 1}[evaluator.split("_")[1]]
    assert scaled == pytest.approx(power * first)


@pytest.mark.parametrize("scores", [(4.0, 500), (-9.0, 500), (0.0, 2)])
def test_all_id_all_ood_and_two_images_have_finite_gscores(scores, validation):
    centre, count = scores
    scores = np.random.default_rng(8).normal(centre, 1, count)
    for values in gscore.gscores(scores, validation=validation).values():
        assert np.isfinite(values).all() and (values >= 0).all()


def test_density_estimation_asks_for_validation_scores(mixture):
    with pytest.raises(ValueError, match="validation: UDE needs"):
        gscore.gscores(mixture, ["ude_l2"])


def test_an_unknown_evaluator_is_answered_with_the_nearest(mixture):
    with pytest.raises(ValueError, match="did you mean 'ude_wasserstein'"):
        gscore.gscores(mixture, ["ude_waserstein"])
