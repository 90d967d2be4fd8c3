"""The rows of the experiment, on scores that are drawn."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from helpers import metrics
from helpers.files import project_root
from helpers.outputs import Outputs
from helpers.papers import load
from helpers.papers.gscore.experiment import divide
from helpers.papers.gscore.mixtures import DetectorScores
from helpers.report import results
from known_unknowns.auditing.sentences import render
from known_unknowns.without_labels.experiment import (
    DRAWN,
    OTHER_KIND,
    Protocol,
    choose_images,
    rows_of_answers,
    rows_of_protocols,
)
from known_unknowns.without_labels.summary import by_share
from pictures import FAMILIES

PARAMETERS = load(
    "gscore", "mini", repeats=2, sizes=[20, 50, 100], shifts=["fog/3"], detectors=["msp", "energy"]
)
NAMES = [*list(FAMILIES)[:8], "held_out_a", "digits", "photographs", "held_out_b"]
FOG = f"{DRAWN}, shift fog/3"
DIVISIONS = [divide(12, number, PARAMETERS) for number in range(3)]


@pytest.fixture(scope="module")
def msp():
    """A detector of 12 sets, from sets that it tells apart to sets that it does not."""
    draw = np.random.default_rng(0).normal
    sets = {name: draw(-k / 4, 1, 150) for k, name in enumerate(NAMES)}
    known = {part: draw(0, 1, 400) for part in ("meta", "test")}
    return DetectorScores(known | {"fog/3": known["test"] - 1}, draw(0, 1, 300), sets)


def test_each_protocol_has_the_rows_that_its_name_states(msp):
    energy = replace(msp, known={part: msp.known[part] for part in ("meta", "test")})
    rows = pd.DataFrame(
        rows_of_protocols({"msp": msp, "energy": energy}, DIVISIONS, PARAMETERS)
    )  # fmt: skip
    runs = rows.groupby(["variant", rows["method"].str.partition("/")[0]])["run"].nunique()
    assert runs.to_dict() == {
        (DRAWN, "msp"): 3, (DRAWN, "energy"): 1, (f"{DRAWN}, size 50", "msp"): 1,
        (f"{DRAWN}, size 100", "msp"): 1, (FOG, "msp"): 1, (OTHER_KIND, "msp"): 1,
    }  # fmt: skip
    values = rows[rows["metric"] == "value_auroc"]
    assert set(values["method"]) == {
        f"{detector}/{name}" for detector in ("msp", "energy")
        for name in ("constant", "curve_regression")
    }  # fmt: skip
    assert set(rows.query("variant == @DRAWN + ', size 50'")["images"]) == {50}
    assert set(rows.query("variant == @OTHER_KIND")["test_set"]) == set(NAMES[8:])
    one = rows.query("variant == @DRAWN and method == 'msp/constant' and run == 1")
    assert set(one["test_set"]) == {NAMES[number] for number in DIVISIONS[1][1]}
    truths = rows[(rows["method"] == "msp/truth") & (rows["metric"] == "auroc")]
    for variant, known in ((DRAWN, "test"), (FOG, "fog/3")):
        true = truths[truths["variant"] == variant]
        for name, value in zip(true["test_set"], true["value"], strict=True):
            assert value == pytest.approx(metrics.auroc(msp.known[known], msp.sets[name]))


def test_shares_are_drawn_first_and_small_ones_are_not_rare(msp):
    many = replace(msp, sets={f"set {i}": np.zeros(150) for i in range(200)})
    pairs = choose_images(many, Protocol(), 0).values()
    shares = np.array([len(others) / (len(ours) + len(others)) for ours, others in pairs])
    bins = np.bincount(np.digitize(shares, [0.05, 0.2, 0.5])) / 200
    assert (bins > 0.08).all() and (
        np.mean([len(a) == 400 or len(b) == 150 for a, b in pairs])
    ) == 1
    few = replace(msp, known={"test": np.zeros(30)})
    assert all(len(a) + len(b) >= 50 for a, b in choose_images(few, Protocol(), 0).values())


def test_answers_about_mixtures_are_compared_with_labels(msp):
    """A network that is correct if it has confidence, and has less for unknown images."""
    draw = np.random.default_rng(1)

    def classify(scores, known=True):
        high = 0.5 + 0.5 / (1 + np.exp(-scores - 1.5))
        labels = np.where(known, draw.random(len(scores)) > high, -1)
        probabilities = np.stack([high, 1 - high], axis=1)
        return Outputs(np.log(probabilities), np.empty((len(scores), 0)), labels)

    answers = {"validation": classify(msp.validation), "test": classify(msp.known["test"])}
    answers |= {name: classify(scores, known=False) for name, scores in msp.sets.items()}
    rows = pd.DataFrame(rows_of_answers("msp", msp, answers, PARAMETERS))
    assert set(rows["variant"]) == {DRAWN} and rows["value"].notna().all()
    value = rows.pivot(index="test_set", columns=["method", "metric"], values="value")
    places = choose_images(msp, Protocol(), PARAMETERS.seed)
    for name, (ours, others) in places.items():
        share = len(others) / (len(ours) + len(others))
        assert value["msp/share", "truth"][name] == pytest.approx(share)
        right = answers["test"].correct[ours].sum() / (len(ours) + len(others))
        assert value["msp/accuracy", "truth"][name] == pytest.approx(right)
        keep = np.quantile(msp.known["meta"], 0.05)
        kept = msp.known["test"][ours] >= keep
        accepted = kept.sum() + (msp.sets[name][others] >= keep).sum()
        right = answers["test"].correct[ours][kept].sum() / accepted
        assert value["msp/accepted", "truth"][name] == pytest.approx(right)
    assert (value["msp/share", "bound"] <= value["msp/share", "truth"]).mean() >= 0.9
    for group in ("accuracy", "accepted"):
        low, truth, high = (value[f"msp/{group}", end] for end in ("low", "truth", "high"))
        held = (low <= truth) & (truth <= high)
        # unknown images that look known are not in the estimate, nor in the bracket
        missed = value["msp/share", "truth"] - value["msp/share", "value"]
        assert held[missed < 0.04].all() and not held[missed > 0.1].any()
    assert value["msp/suspected", "known_listed"].mean() <= 0.15
    assert value["msp/suspected", "power"].mean() > 0.05


def test_the_summary_by_share_by_hand(table_of):
    """Two sets with few unknown images, one with many; the second has no answer."""
    cells = []
    for name, share, truth, value in (
        ("a", 0.04, 0.8, 0.9),
        ("b", 0.03, 0.7, None),
        ("c", 0.6, 0.9, 0.6),
    ):
        numbers = {("truth", "share"): share, ("truth", "auroc"): truth}
        if value:
            ends = {"value": value, "low": value - 0.2, "high": value + 0.2}
            numbers |= {("curve_regression", f"{end}_auroc"): each for end, each in ends.items()}
        numbers |= {
            ("accuracy", "low"): 0.5,
            ("accuracy", "truth"): truth,
            ("accuracy", "high"): 0.8,
        }
        cells += [
            {"test_set": name, "method": f"msp/{kind}", "metric": metric, "value": number,
             "variant": DRAWN}
            for (kind, metric), number in numbers.items()
        ]  # fmt: skip
    summary = by_share(table_of(cells, paper="without_labels"))
    curve = summary.loc["AUROC", "regression on the P–P curve"]
    few, many = curve["0–5 %"], curve["50–95 %"]
    assert few.round(9).to_dict() == {
        "error (RMSE)": 10, "intervals that hold": 100, "answers": 50
    }  # fmt: skip
    assert many.round(9).to_dict() == {
        "error (RMSE)": 30, "intervals that hold": 0, "answers": 100
    }  # fmt: skip
    assert curve.loc["intervals that hold", "all"] == 50 and curve["5–20 %"].isna().all()
    held = summary.loc["accuracy", "bracket"].loc["brackets that hold"]
    assert held["0–5 %"] == 100 and held["50–95 %"] == 0
    assert "share" not in summary.index


def test_what_the_audit_says_of_the_bracket_is_what_the_committed_table_shows():
    table = results.read(project_root() / "results/pretrained/without_labels.parquet")
    summary = by_share(table)
    for question in ("accuracy", "accuracy of accepted images"):
        held = summary.loc[question, "bracket"].loc["brackets that hold"]
        assert held["all"] >= 90 and held.min() >= 80
    worst = [
        by_share(rows).loc["accuracy", "bracket"].loc["brackets that hold", "50–95 %"]
        for _, rows in table.groupby(["data_set", "backbone"])
    ]
    assert 50 <= min(worst) < 60 and sorted(worst)[1] > 90 and len(worst) == 3
    (sentence,) = render("about_bracket")
    assert "nine of ten mixtures, and for eight of ten" in sentence
    assert "for only half on one of three networks" in sentence
