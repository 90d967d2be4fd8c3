"""Estimators and answers of the chapter, on scores that are drawn."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from helpers import metrics
from helpers.papers import load
from helpers.papers.gscore.experiment import divide
from helpers.papers.gscore.mixtures import (
    DetectorScores,
)
from known_unknowns.without_labels.answers import Classified, rows_of_answers
from known_unknowns.without_labels.protocols import (
    all_rows_of_estimators,
    evaluate_estimators,
    rows_of_estimators,
)
from known_unknowns.without_labels.skills import (
    DRAWN,
    ESTIMATED,
    ESTIMATOR_TITLES,
    KNOWN,
    OTHER_KIND,
)
from pictures import FAMILIES

PARAMETERS = load(
    "gscore", "mini", repeats=2, ratios=[[1, 2]], sizes=[20], validations=[10],
    validation_images=30, least_images=10, shifts=["fog/3"],
)  # fmt: skip


def each(detector, change):
    """Return the scores of all roles, changed."""
    known, sets = (
        {name: change(one) for name, one in role.items()}
        for role in (detector.known, detector.sets)
    )
    return DetectorScores(known, change(detector.validation), sets)


@pytest.fixture(scope="module")
def gaussians():
    """A detector of 12 sets, from one that it tells apart to one that it does not."""
    draw = np.random.default_rng(0).normal
    sets = {f"set {k}": draw(-k / 4, 1, 150) for k in range(12)}
    known = {part: draw(0, 1, 400) for part in ("meta", "test")}
    return DetectorScores(known, draw(0, 1, 300), sets)


def test_every_estimator_answers_for_the_sets_that_test(gaussians):
    """At both protocols; what is told the share is nearer than what guesses it; rows by hand."""
    confidence = each(gaussians, lambda scores: 1 / (1 + np.exp(-scores)))
    own, names = PARAMETERS.replace(least_images=50), list(gaussians.sets)
    divisions = [divide(12, number, own) for number in range(2)]
    said = evaluate_estimators(gaussians, confidence, divisions, own)
    assert {key[2] for key in said} == {*ESTIMATOR_TITLES} and len(said) == 2 * 2 * 6
    truths = [metrics.auroc(gaussians.known["test"], one) for one in gaussians.sets.values()]
    rows = pd.DataFrame(rows_of_estimators("msp", said, names))
    errors = rows[rows["metric"] == "rmse_auroc"].groupby(["variant", "method"])["value"].mean()
    assert errors[KNOWN, "msp/prior_corrected"] < 0.5 * errors[KNOWN, "msp/constant"]
    assert errors[DRAWN, "msp/prior_corrected"] < errors[DRAWN, f"msp/{ESTIMATED}"]
    one = rows.query("variant == @KNOWN and method == 'msp/gscore' and run == 1")
    values = one[one["metric"] == "predicted_auroc"].set_index("test_set")["value"]
    assert values.index.tolist() == [names[number] for number in divisions[1][1]]
    off = values.to_numpy() - np.array(truths)[divisions[1][1]]
    rmse = one.loc[one["metric"] == "rmse_auroc", "value"].item()
    assert rmse == pytest.approx(np.sqrt(np.mean(off**2)))
    assert not rows.query("method == 'msp/confidence' and metric == 'width_auroc'").size


def test_an_estimator_that_fails_does_so_alone(gaussians):
    """Constant scores have no line; a mixture of fewer than 50 images has no estimate at all."""
    flat = each(gaussians, np.zeros_like)
    divisions = [divide(12, 0, PARAMETERS)]
    said = evaluate_estimators(flat, flat, divisions, PARAMETERS)
    failed = {key[2] for key, one in said.items() if isinstance(one, str)}
    assert "gscore" in failed and "constant" not in failed
    rows = [*rows_of_estimators("msp", said, [*flat.sets])]
    assert {row["method"] for row in rows if row["metric"] == "failed"} == {
        f"msp/{name}" for name in failed
    }
    few = each(gaussians, lambda scores: np.tanh(scores[:20]))
    assert evaluate_estimators(few, each(few, np.abs), divisions, PARAMETERS) == {}


def test_other_detectors_sizes_shifts_and_kinds_of_sets(gaussians):
    """Each protocol has what its name says; truths are those of the ID images that are shown."""
    names = [*list(FAMILIES)[:8], "held_out_a", "digits", "photographs", "held_out_b"]
    known = gaussians.known | {"fog/3": gaussians.known["test"] - 1}
    one = replace(
        gaussians, known=known, sets=dict(zip(names, gaussians.sets.values(), strict=True))
    )
    other = replace(one, known=gaussians.known)
    own = PARAMETERS.replace(least_images=50, sizes=[20, 50, 100], detectors=["msp", "energy"])
    divisions = [divide(12, number, own) for number in range(3)]
    both = {"msp": one, "energy": other}
    sure = dict.fromkeys(both, each(other, lambda scores: 1 / (1 + np.exp(-scores))))
    rows = pd.DataFrame(all_rows_of_estimators(both, sure, divisions, names, own))
    runs = rows.groupby(["variant", rows["method"].str.partition("/")[0]])["run"].nunique()
    fog = f"{DRAWN}, shift fog/3"
    assert runs.to_dict() == {
        (KNOWN, "msp"): 3, (DRAWN, "msp"): 3, (KNOWN, "energy"): 2, (DRAWN, "energy"): 2,
        (f"{DRAWN}, size 50", "msp"): 2, (f"{DRAWN}, size 100", "msp"): 2, (fog, "msp"): 2,
        (OTHER_KIND, "msp"): 1,
    }  # fmt: skip
    said = rows[rows["metric"] == "predicted_auroc"]
    assert set(said.query("variant == @DRAWN + ', size 50'")["images"]) == {50}
    assert set(said.query("variant == @OTHER_KIND")["test_set"]) == set(names[8:])
    true = rows[(rows["metric"] == "true_auroc") & (rows["run"] == 0)].set_index("test_set")
    assert set(true["variant"]) == {fog}
    for name, value in true["value"].items():
        assert value == pytest.approx(metrics.auroc(known["fog/3"], one.sets[name]))
    assert "msp/confidence" not in set(said.query("variant == @fog")["method"])
    errors = rows[rows["metric"] == "rmse_auroc"].groupby(["variant", "method"])["value"].mean()
    # ID images that score lower count as unknown ones, and the detector seems better than it is
    assert errors[fog, "msp/prior_corrected"] > 2 * errors[DRAWN, "msp/prior_corrected"]


def test_answers_about_mixtures_are_held_against_labels(gaussians):
    """A network that is right where it is sure, and unknown images that it is less sure of."""
    draw = np.random.default_rng(1)

    def classify(scores, known=True):
        sure = 0.5 + 0.5 / (1 + np.exp(-scores - 1.5))
        labels = (
            (draw.random(len(scores)) > sure).astype(int) if known else np.full(len(scores), -1)
        )
        return Classified(np.stack([sure, 1 - sure], axis=1), labels, labels == 0)

    answers = {"validation": classify(gaussians.validation)}
    answers |= {"test": classify(gaussians.known["test"])}
    answers |= {name: classify(one, known=False) for name, one in gaussians.sets.items()}
    own = PARAMETERS.replace(least_images=60)
    rows = pd.DataFrame(rows_of_answers("msp", gaussians, answers, own))
    assert set(rows["variant"]) == {DRAWN} and rows["value"].notna().all()
    by_set = rows[rows["test_set"] != "all"]
    assert set(by_set["metric"]) == {"known_listed", "power"} and len(by_set) == 12 * 2 * 2
    found = rows[rows["test_set"] == "all"].set_index(["method", "metric"])["value"]
    for bound in ("share_bound", "label_shift_share_bound"):
        assert found[f"msp/{bound}", "coverage_share"] >= 0.9
        assert 0 <= found[f"msp/{bound}", "part_share"] <= found["msp/share_bound", "part_share"]
    assert found["msp/share_bound", "part_share"] > 0.3
    assert found["msp/estimate_share", "rmse_share"] < 0.5
    for name in ("suspected", "suspected_adaptive"):
        mean = by_set[by_set["method"] == f"msp/{name}"].groupby("metric")["value"].mean()
        assert found[f"msp/{name}", "power"] == pytest.approx(mean["power"])
        assert found[f"msp/{name}", "known_listed"] <= 0.15
    assert found["msp/suspected_adaptive", "power"] >= found["msp/suspected", "power"] > 0.05
    error = found[:, "rmse_accuracy"]
    assert found["accuracy/validation", "bias_accuracy"] > 0.2
    assert error["accepted/validation"] < error["accuracy/validation"]
    assert error["accuracy/average_confidence"] > 0.1
