import numpy as np
import pytest
from scipy.optimize import brentq

from helpers.outputs import Outputs
from helpers.scores import calibration
from helpers.scores.calibration import confidences, fit_temperature, softmax


def example(n=400, classes=6, temperature=1.0, seed=0):
    """Logits whose calibrated temperature is about `temperature`, and labels drawn from them."""
    generator = np.random.default_rng(seed)
    logits = 2 * generator.normal(size=(n, classes))
    labels = (softmax(logits).cumsum(axis=1) > generator.random((n, 1))).argmax(axis=1)
    return logits * temperature, labels


def slope(logits, labels, temperature):
    """Derivative of the NLL with respect to 1/T."""
    own = logits[np.arange(len(labels)), labels]
    return ((softmax(logits, temperature) * logits).sum(axis=1) - own).mean()


@pytest.mark.parametrize("seed", range(12))
def test_is_the_exact_minimum_at_any_scale(seed):
    generator = np.random.default_rng(seed)
    scale = 10 ** generator.uniform(-3, 3)
    logits, labels = example(
        int(generator.integers(30, 500)), int(generator.integers(2, 20)), scale, seed
    )
    fitted = fit_temperature(logits, labels)
    root = brentq(lambda t: slope(logits, labels, t), fitted / 10, fitted * 10, xtol=1e-13 * scale)
    assert fitted == pytest.approx(root, rel=1e-6)


@pytest.mark.parametrize("count", [1, 10, 300])
@pytest.mark.parametrize("factor", [1, 100])
def test_all_right_gives_the_confidence_that_so_many_images_support(count, factor):
    logits = factor * example(count)[0]
    with pytest.warns(RuntimeWarning, match="every image is classified correctly"):
        fitted = fit_temperature(logits, logits.argmax(axis=1))
    mean_confidence = softmax(logits, fitted).max(axis=1).mean()
    assert mean_confidence == pytest.approx((count + 1) / (count + 2), abs=1e-9)


def test_all_right_but_tied_is_bounded():
    logits = np.array([[1.0, 1.0, 0.0]] * 20)  # never more confident than 1/2
    with pytest.warns(RuntimeWarning, match="every image"):
        fitted = fit_temperature(logits, np.zeros(20, int))
    assert 0 < fitted < 0.01


def test_logits_that_say_nothing_become_uniform():
    logits, labels = example()
    with pytest.warns(RuntimeWarning, match="say nothing"):
        fitted = fit_temperature(-logits, labels)
    assert softmax(-logits, fitted) == pytest.approx(np.full_like(logits, 1 / 6), abs=1e-3)


def test_equal_logits_do_not_depend_on_the_temperature():
    assert fit_temperature(np.full((4, 3), 7.3), [0, 1, 2, 0]) == 1.0


@pytest.mark.parametrize(
    ("logits", "labels", "named"),
    [
        (np.empty((0, 3)), [], "logits"),
        ([1.0, 2.0], [0, 1], "logits"),
        ([[1.0, np.nan]], [0], "logits"),
        ([[1.0, np.inf]], [0], "logits"),
        ([[1.0, 2.0]], [0, 1], "labels"),
        ([[1.0, 2.0]], [2], "labels"),
        ([[1.0, 2.0]], [-1], "labels"),
        ([[1.0, 2.0]], [1.0], "labels"),
    ],
)
def test_bad_input_is_named(logits, labels, named):
    with pytest.raises(ValueError, match=f"^{named}: "):
        fit_temperature(logits, labels)
    for temperature in (0, -1, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"^temperature: "):
            softmax([[1.0, 2.0]], temperature)


def test_in_blocks_the_bits_are_the_same(monkeypatch):
    logits = np.random.default_rng(0).normal(size=(50, 7))
    labels = np.arange(50) % 7
    whole = softmax(logits, 0.7), fit_temperature(logits + 2 * np.eye(7)[labels], labels)
    assert np.array_equal(confidences(logits, 0.7), whole[0].max(axis=1))
    monkeypatch.setattr(calibration, "_CELLS", 20)  # two rows
    assert np.array_equal(softmax(logits, 0.7), whole[0])
    assert np.array_equal(confidences(logits, 0.7), whole[0].max(axis=1))
    assert fit_temperature(logits + 2 * np.eye(7)[labels], labels) == whole[1]


def test_softmax_neither_overflows_nor_saturates():
    probabilities = softmax(np.float32([[1e4, 1e4 - 30], [-1e4, -1e4]]))
    assert probabilities[0, 0] < 1 and probabilities[0, 1] > 0
    assert (probabilities[1] == 0.5).all()


def test_a_mean_of_probabilities_is_scaled_by_its_logarithms():
    members = np.array([[[0.0, 4.0]], [[2.0, 0.0]]])
    mean = softmax(members[:, 0]).mean(axis=0)
    outputs = Outputs(np.zeros((1, 2), "f4"), np.ones((1, 3), "f4"), np.array([1]),
                      members=softmax(members[:, 0])[:, None].astype("f4"))  # fmt: skip
    for temperature, power in ((1.0, mean), (0.5, mean**2)):
        scaled = calibration.scale_outputs(outputs, temperature)
        assert np.allclose(scaled.probabilities, power / power.sum(), atol=1e-6)
        assert scaled.members is None and scaled.labels.tolist() == [1]
