"""The front picture is drawn from numbers that the committed data give."""

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


def test_the_accepted_shares_are_those_of_the_packs(stored):
    measured = front.accepted_shares(packs())
    assert (stored["networks"], stored["sets"]) == (measured["networks"], measured["sets"])
    for score, kinds in measured["accepted"].items():
        for kind, numbers in kinds.items():
            assert stored["accepted"][score][kind] == approx(numbers, abs=0.005), (score, kind)


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


def test_the_picture_stores_its_numbers(stored, tmp_path):
    verdicts = {"supported": 3, "not testable": 2}
    front.write(stored | {"verdicts": verdicts}, tmp_path / "front.png")
    assert front.stored(tmp_path / "front.png") == stored | {"verdicts": verdicts}
