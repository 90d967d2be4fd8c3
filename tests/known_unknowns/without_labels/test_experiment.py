"""The rows of the experiment and the errors in them, on scores that are drawn."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from helpers import metrics
from helpers.outputs import Outputs
from helpers.papers import load
from helpers.papers.gscore.experiment import divide
from helpers.papers.gscore.mixtures import DetectorScores
from known_unknowns.without_labels.experiment import (
    rows_of_answers,
    rows_of_estimators,
    rows_of_protocols,
)
from known_unknowns.without_labels.skills import (
    DRAWN,
    ESTIMATED,
    ESTIMATOR_TITLES,
    KNOWN,
    OTHER_KIND,
    set_errors,
)
from pictures import FAMILIES

PARAMETERS = load(
    "gscore", "mini", repeats=2, sizes=[20, 50, 100], least_images=50, shifts=["fog/3"],
    detectors=["msp", "energy"],
)  # fmt: skip
NAMES = [*list(FAMILIES)[:8], "held_out_a", "digits", "photographs", "held_out_b"]
FOG = f"{DRAWN}, shift fog/3"
DIVISIONS = [divide(12, number, PARAMETERS) for number in range(3)]


def each(detector, change):
    """Return the scores of all roles, changed."""
    known, sets = (
        {name: change(scores) for name, scores in role.items()}
        for role in (detector.known, detector.sets)
    )
    return DetectorScores(known, change(detector.validation), sets)


@pytest.fixture(scope="module")
def msp():
    """A detector of 12 sets, from sets that it tells apart to sets that it does not."""
    draw = np.random.default_rng(0).normal
    sets = {name: draw(-k / 4, 1, 150) for k, name in enumerate(NAMES)}
    known = {part: draw(0, 1, 400) for part in ("meta", "test")}
    return DetectorScores(known | {"fog/3": known["test"] - 1}, draw(0, 1, 300), sets)


@pytest.fixture(scope="module")
def rows(msp):
    energy = replace(msp, known={part: msp.known[part] for part in ("meta", "test")})
    confidence = each(energy, lambda scores: 1 / (1 + np.exp(-scores)))
    both = {"msp": msp, "energy": energy}
    sure = dict.fromkeys(both, confidence)
    return pd.DataFrame(rows_of_protocols(both, sure, DIVISIONS, PARAMETERS))


def test_each_protocol_has_the_rows_that_its_name_states(msp, rows):
    runs = rows.groupby(["variant", rows["method"].str.partition("/")[0]])["run"].nunique()
    assert runs.to_dict() == {
        (KNOWN, "msp"): 3, (DRAWN, "msp"): 3, (KNOWN, "energy"): 2, (DRAWN, "energy"): 2,
        (f"{DRAWN}, size 50", "msp"): 2, (f"{DRAWN}, size 100", "msp"): 2, (FOG, "msp"): 2,
        (OTHER_KIND, "msp"): 1,
    }  # fmt: skip
    predicted = rows[rows["metric"] == "predicted_auroc"]
    of_energy = predicted.query("variant == @DRAWN and method.str.startswith('energy')")
    assert set(of_energy["method"]) == {f"energy/{name}" for name in ESTIMATOR_TITLES}
    assert set(predicted.query("variant == @DRAWN + ', size 50'")["images"]) == {50}
    assert set(predicted.query("variant == @OTHER_KIND")["test_set"]) == set(NAMES[8:])
    assert "msp/confidence" not in set(predicted.query("variant == @FOG")["method"])
    assert not rows.query("method == 'msp/confidence' and metric == 'width_auroc'").size
    true = rows[(rows["metric"] == "true_auroc") & (rows["run"] == 0)].set_index("test_set")
    assert set(true["variant"]) == {FOG}
    for name, value in true["value"].items():
        assert value == pytest.approx(metrics.auroc(msp.known["fog/3"], msp.sets[name]))


def test_errors_of_estimators_by_hand(msp, rows):
    truths = [metrics.auroc(msp.known["test"], scores) for scores in msp.sets.values()]
    line = rows.query("variant == @KNOWN and method == 'msp/gscore' and run == 1")
    values = line[line["metric"] == "predicted_auroc"].set_index("test_set")["value"]
    tested = DIVISIONS[1][1]
    assert values.index.tolist() == [NAMES[number] for number in tested]
    rmse = np.sqrt(np.mean((values.to_numpy() - np.array(truths)[tested]) ** 2))
    assert line.loc[line["metric"] == "rmse_auroc", "value"].item() == pytest.approx(rmse)
    errors = rows[rows["metric"] == "rmse_auroc"].groupby(["variant", "method"])["value"].mean()
    assert errors[KNOWN, "msp/prior_corrected"] < 0.5 * errors[KNOWN, "msp/constant"]
    assert errors[DRAWN, "msp/prior_corrected"] < errors[DRAWN, f"msp/{ESTIMATED}"]
    # ID images that score lower count as unknown images
    assert errors[FOG, "msp/prior_corrected"] > 2 * errors[DRAWN, "msp/prior_corrected"]


def test_an_estimator_fails_alone(msp):
    """Constant scores have no line; a mixture of fewer than 50 images has no estimate."""
    flat = each(msp, np.zeros_like)
    failed = pd.DataFrame(rows_of_estimators("msp", flat, flat, DIVISIONS[:1], PARAMETERS))
    methods = set(failed.loc[failed["metric"] == "failed", "method"])
    assert "msp/gscore" in methods and "msp/constant" not in methods
    few = each(msp, lambda scores: np.tanh(scores[:20]))
    assert not [*rows_of_estimators("msp", few, each(few, np.abs), DIVISIONS[:1], PARAMETERS)]


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
    rows = pd.DataFrame(rows_of_answers("msp", msp, answers, PARAMETERS.replace(least_images=60)))
    assert set(rows["variant"]) == {DRAWN} and rows["value"].notna().all()
    by_set = rows[rows["test_set"] != "all"]
    assert set(by_set["metric"]) == {"known_listed", "power"} and len(by_set) == 12 * 2 * 2
    value = rows[rows["test_set"] == "all"].set_index(["method", "metric"])["value"]
    for bound in ("share_bound", "label_shift_share_bound"):
        assert value[f"msp/{bound}", "coverage_share"] >= 0.9
        assert 0 <= value[f"msp/{bound}", "part_share"] <= value["msp/share_bound", "part_share"]
    assert value["msp/share_bound", "part_share"] > 0.3
    assert value["msp/estimate_share", "rmse_share"] < 0.5
    for name in ("suspected", "suspected_adaptive"):
        mean = by_set[by_set["method"] == f"msp/{name}"].groupby("metric")["value"].mean()
        assert value[f"msp/{name}", "power"] == pytest.approx(mean["power"])
        assert value[f"msp/{name}", "known_listed"] <= 0.15
    assert value["msp/suspected_adaptive", "power"] >= value["msp/suspected", "power"] > 0.05
    error = value[:, "rmse_accuracy"]
    assert value["accuracy/validation", "bias_accuracy"] > 0.2
    assert error["accepted/validation"] < error["accuracy/validation"]


def test_other_protocols_have_a_separate_constant_and_truths(table_of):
    """Other sets teach there, or other ID images are shown: nothing is taken from the primary."""
    records = []
    for number, truth in enumerate((0.7, 0.6, 0.8)):
        shared = {"test_set": f"set {number}", "metric": "auroc", "method": "msp", "value": truth}
        records += [shared | {"variant": part} for part in ("meta", "test")]
        for variant, off in ((f"{DRAWN}, size 50", 0.0), (FOG, -0.2)):
            cells = {"constant": ("predicted", 0.2), "gscore": ("predicted", 0.1)}
            cells |= {"truth": ("true", 0.0)} if off else {}
            for name, (what, error) in cells.items():
                cell = {"method": f"msp/{name}", "metric": f"{what}_auroc", "variant": variant}
                records.append(shared | cell | {"value": truth + off + error})
    errors = set_errors(table_of(records, paper="gscore")).query("evaluator == 'gscore'")
    assert len(errors) == 6 and errors["row"].notna().all()
    assert errors["error"].tolist() == pytest.approx([0.1] * 6)
    assert errors["guessed"].tolist() == pytest.approx([0.2] * 6)
