"""README, openings and front picture: the verdicts of the ledger, in words and in numbers."""

from types import SimpleNamespace

import numpy as np
import pytest
from pytest import approx

from helpers import data
from helpers.networks import zoo, zoo_records
from helpers.papers import PAPERS
from helpers.scores.calibration import softmax
from synthesis import front, openings
from synthesis.effects import Effect, Reading, Verdict, Wording, number
from synthesis.ledger import PRINTED, ledger
from synthesis.reasons import Kind, Note, Reason, remark
from tests.mistakes import beside

EXAMPLES = beside(__file__, "sentences.yaml")
LINE, SENTENCES = EXAMPLES["line"], EXAMPLES["sentences"]
WORDINGS = EXAMPLES["wordings"]
NETWORK = "resnet20.akamaster_cifar10"


@pytest.fixture
def judged():
    """Return a ledger in which one main claim has verdicts of two tiers, made up."""
    claims = ledger(PAPERS, {}, openings.TIERS)
    chosen = (claims["paper"] == "openset_calibration") & (claims["claim"] == "open-set")
    for tier, verdict, effect in (("mini", "supported", 0.25), ("small", "contradicted", -0.5)):
        row = claims.index[chosen & (claims["tier"] == tier)]
        decided = Verdict(verdict), "open-set ECE, fall by scaling", ">"
        claims.loc[row, ["verdict", "decided_by", "relation"]] = decided
        claims.loc[row, ["effect", "low", "high", "margin"]] = effect, effect - 1, effect + 1, 0.0
    return claims


def test_a_finding_is_of_the_largest_tier_with_data(judged):
    """The printed effect is the same effect, which the paper's own verdict need not rest on."""
    lines = openings.findings(judged).set_index("paper")
    line = lines.loc["openset_calibration"]
    assert line["tier"] == "small" and line["verdict"] == Verdict.CONTRADICTED
    printed = judged[(judged["tier"] == PRINTED) & (judged["claim"] == "open-set")]
    assert printed["decided_by"].item() == line["decided_by"]
    # the three printed tables of CIFAR-10, as our results of this tier; the others are of SVHN
    assert line["printed"] == approx((0.116 + 0.088 + 0.098) / 3) != printed["effect"].item()
    others = lines.drop("openset_calibration")
    assert (others["verdict"] == Verdict.NO_DATA).all() and others["printed"].isna().all()


def test_the_largest_tier_that_can_test_a_claim_judges_it(judged):
    """Not a larger one that has numbers and cannot; one that cannot, before one without numbers."""
    for claim, tier in (("open-set", "pretrained"), ("openmax", "mini")):
        row = (judged["claim"] == claim) & (judged["tier"] == tier)
        judged.loc[row, "verdict"] = Verdict.NOT_TESTABLE
    lines = openings.largest(judged)
    claims = judged[["paper", "claim"]].drop_duplicates()
    assert lines[["paper", "claim"]].to_numpy().tolist() == claims.to_numpy().tolist()
    tiers = lines.set_index(["paper", "claim"])["tier"].loc["openset_calibration"]
    assert tiers["open-set"] == "small" and tiers["openmax"] == tiers["closed-set"] == "mini"


def test_a_table_of_main_claims_names_other_tiers_with_another_verdict(judged, tmp_path):
    shown = openings.main_claims(judged, "{paper}")
    assert "| **contradicted**; supported at `mini` |" in shown
    shown = openings.main_claims(judged[judged["tier"] != "mini"], "{paper}")
    assert "| **contradicted** |" in shown
    assert "0 supported" in openings.write(judged, tmp_path)["synthesis"]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_an_effect_is_a_sentence_with_its_interval(sentence):
    line = {"prevented": (), **LINE, **SENTENCES[sentence]}
    reasons = [Reason(Kind.UNTESTABLE, text) for text in line.pop("prevented")]
    line["note"] = Note((remark("one run: images resampled"), *reasons))
    line["verdict"] = Verdict(line["verdict"])
    line["second"] = [Reading(*each) for each in line["second"]]
    name, *texts = WORDINGS[line["decided_by"]]
    wording = Wording(*texts) if texts else None
    effect = Effect(name, number("aurc", "a"), ">", 0.0, wording=wording)
    assert sentence in openings.measured(SimpleNamespace(**line), effect)


def test_a_figure_names_each_reason_completely(judged, tmp_path):
    """A semicolon or a parenthesis in a reason once cut the rest off."""
    rows = judged["paper"].eq("openset_calibration") & judged["tier"].eq("small")
    lines = openings.largest(judged[rows]).assign(effect=0.25, low=0.125, high=0.5, margin=0.0)
    texts = ["there is one run", "a schedule (40 epochs; the paper has 100) is short", "an example"]
    weak = [Reason(Kind.WEAKNESS, text) for text in texts]
    notes = [Note((remark("one run"), *weak[:2])), Note((weak[0], weak[2])), Note(), Note(), Note()]
    names = [claim.effects[0].name for claim in openings.load_claims("openset_calibration").claims]
    lines = lines.assign(relation=">", note=notes, decided_by=names)
    caption = openings.figure(lines, tmp_path)
    assert [caption.count(text) for text in texts] == [1, 1, 1]


def test_the_predictions_are_those_of_the_network_on_images_of_median_confidence():
    """Of another machine's rounding, a neighbour may have the median confidence."""
    network, names = zoo.load(NETWORK, progress=False, device="cpu"), zoo_records.find(NETWORK)
    for prediction, name in zip(front.stored()["predictions"], front.SETS, strict=True):
        outputs = network.outputs(data.load(name, "test").unknown())
        probabilities = softmax(outputs.logits.astype(float))
        predicted, median = probabilities[prediction["image"]], np.median(probabilities.max(axis=1))
        assert predicted.max() == approx(median, abs=0.005)
        assert prediction["confidence"] == approx(predicted.max(), abs=0.005)
        label = names.class_names[predicted.argmax()]
        assert (prediction["set"], prediction["label"]) == (name, label)
