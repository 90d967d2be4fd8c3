"""The front picture is drawn from numbers that the committed data give."""

import doctest

import front
import numpy as np
import pytest
from pytest import approx

from helpers import metrics, scores
from known_unknowns.bench import FeaturePack, packs, values_on
from known_unknowns.bench.feature_packs import EMBEDDED


@pytest.fixture(scope="module")
def stored():
    return front.stored()


def compare(stored, measured):
    """Raise unless all numbers agree, to half a per cent."""
    for score, kinds in measured["accepted"].items():
        for kind, numbers in kinds.items():
            assert stored["accepted"][score][kind] == approx(numbers, abs=0.005), (score, kind)
    for name in ("networks", "sets"):
        assert stored[name] == measured[name]


def test_examples():
    assert doctest.testmod(front).failed == 0


def test_the_accepted_shares_are_those_of_the_packs(stored):
    """And a share that is a per cent off is noticed, as is another interval."""
    measured = front.accepted_shares(packs())
    compare(stored, measured)
    for place in range(3):
        changed = {score: dict(kinds) for score, kinds in measured["accepted"].items()}
        numbers = list(changed["knn"]["far"])
        numbers[place] += 0.01
        changed["knn"]["far"] = numbers
        with pytest.raises(AssertionError):
            compare(stored, measured | {"accepted": changed})


@pytest.mark.parametrize("place", range(len(front.SETS)))
def test_the_predictions_are_those_of_the_network_on_images_of_median_confidence(stored, place):
    """Of another machine's rounding, a neighbour may have the median confidence."""
    prediction = stored["predictions"][place]
    assert prediction["set"] == [*front.SETS][place]
    probabilities = front.predict(prediction["set"])
    predicted = probabilities[prediction["image"]]
    assert predicted.max() == approx(np.median(probabilities.max(axis=1)), abs=0.005)
    assert prediction["confidence"] == approx(predicted.max(), abs=0.005)
    assert prediction["label"] == front.class_names()[predicted.argmax()]


def test_the_accuracy_is_that_of_the_committed_results(stored):
    assert stored["accuracy"] == front.accuracy()


def test_resampled_shares_by_hand():
    """The first row is the share itself; each replicate has its own threshold."""
    whole = FeaturePack.read(EMBEDDED / f"{front.NETWORK}.safetensors")
    name = next(iter(whole.far))
    parts = whole.train, whole.test.subset(np.arange(200))
    pack = FeaturePack(
        whole.name, whole.id_set, whole.head, *parts, whole.near, {name: whole.far[name]}
    )
    shares = front.resample_shares(pack, "msp")
    values = values_on(pack, scores.create("msp"))
    correct = pack.test.correct
    threshold = metrics.rejection_threshold(values["test"][correct], keep=front.KEEP)
    assert shares["mistakes"][0] == (values["test"][~correct] >= threshold).mean()
    assert shares["far"][0] == (values[f"far/{name}"] >= threshold).mean()
    near = [(values[f"near/{one}"] >= threshold).mean() for one in pack.near]
    assert shares["near"][0] == approx(np.mean(near))
    drawn = np.repeat(np.arange(200), front._weights(200)[7].astype(int))
    values_drawn, correct_drawn = values["test"][drawn], correct[drawn]
    threshold = metrics.rejection_threshold(values_drawn[correct_drawn], keep=front.KEEP)
    assert shares["mistakes"][7] == approx((values_drawn[~correct_drawn] >= threshold).mean())


def test_the_picture_holds_its_numbers_and_shows_them(stored, tmp_path):
    """A verdict that does not occur has no bar."""
    verdicts = {"supported": 3, "not testable": 2}
    front.write(stored | {"verdicts": verdicts}, tmp_path / "front.png")
    assert front.stored(tmp_path / "front.png") == stored | {"verdicts": verdicts}
    with front.style():
        figure = front.draw(stored | {"verdicts": verdicts})
    texts = [text.get_text() for ax in figure.axes for text in ax.texts]
    assert "not testable" in texts and "contradicted" not in texts
    assert f"MSP {100 * stored['accepted']['msp']['far'][0]:.0f} %" in texts
    for prediction in stored["predictions"]:
        assert f"“{prediction['label']}”" in texts
    assert min(text.get_fontsize() for text in [*figure.texts, *texts_of(figure)]) >= 10


def texts_of(figure):
    """Return the texts of all axes, labels of ticks included."""
    return [
        text
        for ax in figure.axes
        for text in [*ax.texts, *ax.get_xticklabels(), *ax.get_yticklabels()]
    ]


def test_texts_quote_the_stored_numbers(stored):
    shares = stored["accepted"]
    for text in (front.quote(stored), front.tabulate(stored)):
        for score in ("msp", "knn"):
            assert front.percent(shares[score]["mistakes"]) in text
            assert front.percent(shares[score]["far"]) in text
    for verdict, count in stored["verdicts"].items():
        assert f"{count} {verdict}" in front.tally(stored)
    assert front.tally(stored) in front.show(stored)
