"""OpenMax and the other open-set answers, and temperatures, against loops and SciPy."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import weibull_min

from helpers.metrics import rejection_threshold
from helpers.outputs import Outputs
from helpers.scores import calibration, create, openmax, openset
from helpers.scores.calibration import confidences, fit_temperature, softmax
from helpers.scores.openmax import OpenMax
from helpers.scores.weibull import fit_weibull


def example(n=600, classes=6, seed=0, scale=1.0):
    """Training logits: a cloud around each class's own corner."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, classes, n)
    return scale * (6 * np.eye(classes)[labels] + generator.normal(size=(n, classes))), labels


def far_away(n=50, classes=6):
    return np.abs(np.random.default_rng(9).normal(size=(n, classes))) * 30 + 30


def by_hand(openmax, train, labels, image):
    """One image through algorithms 1 and 2 of the paper, class by class, with scipy's fit."""
    right = train.argmax(axis=1) == labels
    classes = train.shape[1]
    alpha = openmax.alpha or classes
    revised = image.copy()
    unknown = 0.0
    for rank, c in enumerate(np.argsort(-image)[:alpha]):
        members = train[right & (labels == c)]
        distances = np.sort([distance(openmax, x, members.mean(axis=0)) for x in members])
        tail = distances[-openmax.tail :]
        shape, _, size = weibull_min.fit(tail - tail[0] + 1, floc=0)
        value = distance(openmax, image, members.mean(axis=0)) - tail[0] + 1
        weight = (alpha - rank) / alpha * weibull_min.cdf(value, shape, scale=size)
        revised[c] = image[c] * (1 - weight)
        unknown += image[c] * weight
    return np.append(revised, unknown)


def distance(openmax, a, b):
    euclidean = np.linalg.norm(a - b)
    if openmax.distance == "euclidean":
        return euclidean
    return 0.005 * euclidean + 1 - a @ b / np.linalg.norm(a) / np.linalg.norm(b)


@pytest.mark.parametrize("arguments", [{}, {"tail": 7, "alpha": 2}, {"alpha": 1}])
@pytest.mark.parametrize("kind", ["euclidean", "euclidean_cosine"])
def test_openmax_is_the_papers(arguments, kind):
    train, labels = example()
    openmax = OpenMax(**arguments, distance=kind).fit(train, labels)
    images = np.concatenate([example(5, seed=1)[0], far_away(3), example(4, seed=2)[0] * 1.5])
    expected = [by_hand(openmax, train, labels, image) for image in images]
    assert openmax.revised_logits(images) == pytest.approx(np.array(expected), rel=2e-3, abs=2e-3)


@pytest.mark.parametrize("shift", [0.0, 5.0])
@pytest.mark.parametrize("spread", [1e-6, 1e-2, 1.0, 30.0])
def test_weibulls_are_scipys(spread, shift):
    generator = np.random.default_rng(1)
    values = shift + spread * generator.weibull([[0.7], [1.0], [3.0], [20.0]], size=(4, 40))
    for row, count in enumerate((40, 3, 20, 40)):
        kept = values[row, :count]
        shape, log_scale = fit_weibull(np.log(kept))
        mine = weibull_min.logpdf(kept, shape, scale=np.exp(log_scale)).sum()
        expected_shape, _, size = weibull_min.fit(kept, floc=0)
        best = weibull_min.logpdf(kept, expected_shape, scale=size).sum()
        assert mine >= best - 1e-6 * max(1, abs(best))  # scipy stops a little short
        logs = np.log(kept)
        power = np.exp(shape * (logs - logs.max()))
        stationary = (power @ logs / power.sum() - logs.mean()) * shape
        assert stationary == pytest.approx(1, rel=1e-6)


def test_the_shape_at_the_edge_of_its_bracket_is_found():
    """One value is far below 99 equal ones: rounding hides that the solution is above the edge."""
    logs = np.append(np.ones(99), 0.0)
    shape, log_scale = fit_weibull(logs)
    assert shape == pytest.approx(1 / (1 - logs.mean()))
    assert log_scale == pytest.approx(1 + np.log(0.99) / shape)


def test_of_equal_logits_the_first_is_revised():
    train, labels = example()
    image = np.array([[50.0, 50.0, 0.0, 0.0, 0.0, 0.0]])
    revised = OpenMax(alpha=1).fit(train, labels).revised_logits(image)
    assert (revised[:, :-1] != image).tolist() == [[True] + 5 * [False]]


def test_a_class_without_a_tail_is_never_revised():
    train, labels = example()
    only_one = np.flatnonzero(labels == 1)[1:]
    keep = np.setdiff1d(np.flatnonzero(labels != 0), only_one)  # class 0 has none, class 1 one
    openmax = OpenMax().fit(train[keep], labels[keep])
    images = np.concatenate([train[:20], far_away()])
    revised = openmax.revised_logits(images)
    assert np.isfinite(revised).all()
    assert (revised[:, :2] == images[:, :2]).all()
    assert (revised[:, 2:6] != images[:, 2:]).any(axis=0).all()


def test_two_images_have_the_same_distance_from_their_mean():
    train, _ = example(40, classes=20)
    labels = np.arange(40) // 2
    train[np.arange(40), labels] += 20  # all right
    openmax = OpenMax().fit(train, labels)
    assert (openmax.fitted["tail"] == 2).all()
    assert not openmax.fitted["revised"].any()  # what differs is rounding


@pytest.mark.parametrize("classes", [2, 6, 1000])
def test_unknown_probability_is_largest_for_the_uniform_softmax(classes):
    bound = (1 - 1 / classes) ** classes
    uniform = np.full((1, classes), 1 / classes)
    assert openset.unknown_probability(uniform) == pytest.approx(bound)
    others = softmax(np.random.default_rng(0).normal(size=(200, classes)) * 3)
    shares = openset.unknown_probability(others)
    assert (shares < bound).all()
    assert shares == pytest.approx(np.prod(1 - others, axis=1), rel=1e-9)


def test_a_score_equal_to_the_threshold_is_accepted():
    probabilities = softmax(example(200, seed=8, scale=0.3)[0])
    largest = probabilities.max(axis=1)
    answers = openset.open_set_answer(probabilities, rejection_threshold(largest, keep=0.95))
    rejected = largest < np.sort(largest)[10]
    assert (answers == np.where(rejected, -1, probabilities.argmax(axis=1))).all()
    revised = np.column_stack([0.5 * probabilities, np.where(rejected, 1.0, 0.0)])
    assert (openmax.openmax_answer(revised) == answers).all()


def overconfident(n=400, classes=6, temperature=1.0, seed=0):
    """Logits whose calibrated temperature is about `temperature`, and labels drawn from them."""
    generator = np.random.default_rng(seed)
    logits = 2 * generator.normal(size=(n, classes))
    labels = (softmax(logits).cumsum(axis=1) > generator.random((n, 1))).argmax(axis=1)
    return logits * temperature, labels


@pytest.mark.parametrize("seed", range(12))
def test_the_temperature_is_the_exact_minimum_at_any_scale(seed):
    """There the derivative of the NLL with respect to 1/T is 0."""
    generator = np.random.default_rng(seed)
    scale = 10 ** generator.uniform(-3, 3)
    logits, labels = overconfident(*generator.integers([30, 2], [500, 20]), scale, seed)
    right = logits[np.arange(len(labels)), labels]
    fitted = fit_temperature(logits, labels)

    def slope(temperature):
        return ((softmax(logits, temperature) * logits).sum(axis=1) - right).mean()

    root = brentq(slope, fitted / 10, fitted * 10, xtol=1e-13 * scale)
    assert fitted == pytest.approx(root, rel=1e-6)


def test_without_a_minimum_the_temperature_stays_1():
    """Images are all correct, logits are uninformative, or logits are equal."""
    logits, labels = overconfident()
    tied = np.array([[1.0, 1.0, 0.0]] * 20), np.zeros(20, int)
    for given in ((logits, logits.argmax(axis=1)), (100 * logits[:1], [logits[0].argmax()]), tied):
        with pytest.warns(RuntimeWarning, match="no image has a larger logit.* T stays 1"):
            assert fit_temperature(*given) == 1.0
    with pytest.warns(RuntimeWarning, match="say nothing.* T stays 1"):
        assert fit_temperature(-logits, labels) == 1.0
    assert fit_temperature(np.full((4, 3), 7.3), [0, 1, 2, 0]) == 1.0


@pytest.mark.parametrize("column", [-1e9, -1e300])
def test_masked_classes_and_a_huge_logit_do_not_move_the_minimum(column):
    logits, labels = overconfident()
    expected = fit_temperature(logits, labels)
    masked = np.hstack([logits, np.full((len(logits), 3), column)])
    assert fit_temperature(masked, labels) == pytest.approx(expected, rel=1e-9)


def test_in_blocks_the_bits_are_the_same(monkeypatch):
    logits = np.random.default_rng(0).normal(size=(50, 7))
    labels = np.arange(50) % 7
    whole = softmax(logits, 0.7), fit_temperature(logits + 2 * np.eye(7)[labels], labels)
    assert np.array_equal(confidences(logits, 0.7), whole[0].max(axis=1))
    monkeypatch.setattr(calibration, "_CELLS", 20)  # two rows
    assert np.array_equal(softmax(logits, 0.7), whole[0])
    assert np.array_equal(confidences(logits, 0.7), whole[0].max(axis=1))
    assert fit_temperature(logits + 2 * np.eye(7)[labels], labels) == whole[1]


def test_softmax_does_not_overflow_or_saturate():
    """Also in single precision."""
    probabilities = softmax(np.float32([[1e4, 1e4 - 30], [-1e4, -1e4]]))
    assert probabilities[0, 0] < 1
    assert probabilities[0, 1] > 0
    assert (probabilities[1] == 0.5).all()


def test_a_mean_of_probabilities_is_scaled_by_its_logarithms():
    members = np.array([[[0.0, 4.0]], [[2.0, 0.0]]])
    mean = softmax(members[:, 0]).mean(axis=0)
    outputs = Outputs(
        np.zeros((1, 2), "f4"),
        np.ones((1, 3), "f4"),
        np.array([1]),
        members=softmax(members[:, 0])[:, None].astype("f4"),
    )
    for temperature, power in ((1.0, mean), (0.5, mean**2)):
        scaled = calibration.scale_outputs(outputs, temperature)
        assert np.allclose(scaled.probabilities, power / power.sum(), atol=1e-6)
        assert scaled.members is None
        assert scaled.labels.tolist() == [1]


@pytest.mark.parametrize("classes", [3, 100])
def test_the_score_is_the_log_odds_even_where_the_probability_is_rounded(classes):
    """With the authors' settings, as far as there are so many classes."""
    rng = np.random.default_rng(0)
    labels = np.arange(2000) % classes
    logits = 3 * rng.standard_normal((2000, classes)) + 9 * np.eye(classes)[labels]
    outputs = Outputs(logits, np.zeros((2000, 1)), labels)
    score = create("openmax").fit(outputs, None)
    rule = score.openmax
    assert (rule.tail, rule.alpha, rule.distance) == (20, min(10, classes), "euclidean_cosine")
    values = score.score_samples(outputs)
    assert len(np.unique(values)) > 0.99 * len(values)
    unknown = rule.probabilities(logits)[:, -1]
    between = (unknown > 1e-6) & (unknown < 1 - 1e-6)
    expected = np.log(1 / unknown[between] - 1)
    np.testing.assert_allclose(values[between], expected, rtol=1e-6, atol=1e-6)
