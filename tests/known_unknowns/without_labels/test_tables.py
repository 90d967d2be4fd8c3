"""Tables of the estimates: skills, shares, lists and accuracies."""

from itertools import product

import pandas as pd
import pytest

from helpers.papers.gscore.skills import skill_in_words, skills
from known_unknowns.without_labels import tables
from known_unknowns.without_labels.skills import set_errors

SETS = {"waves": 0.9, "dice": 0.6, "maps": 0.3}  # and their AUROC


def record(method, metric, value, **others):
    return {"test_set": "all", "method": method, "metric": metric, "value": value} | others


def test_estimators_stand_with_their_skill_at_both_protocols(table_of):
    """What is no better than guessing is called so; a table from before them has none."""
    records, sets = [], SETS | {"cups": 0.5}
    for run, (name, truth) in product(range(2), sets.items()):
        if not run:
            for variant in ("meta", "test"):
                cell = {"test_set": name, "variant": variant}
                records.append(record("msp", "auroc", truth, **cell))
        if name != "maps":
            own = {"test_set": name, "run": run}
            records.append(record("msp/ude_wasserstein", "predicted_auroc", truth, **own))
    misses = {"gscore": 0.01, "curve_regression": 0.9}
    for variant, (method, off) in product(("share known", "share drawn"), misses.items()):
        for run, name in product(range(2), sorted({*sets} - {"maps"})):
            own = {"test_set": name, "run": run, "variant": variant}
            records.append(record(f"msp/{method}", "predicted_auroc", sets[name] + off, **own))
        own = {"variant": variant}
        records.append(record(f"msp/{method}", "rmse_auroc", off, **own))
    table = table_of(records, paper="gscore")
    skill = skills(set_errors(table))
    skill = skill.assign(text=[skill_in_words(row) for row in skill.itertuples()])
    frame = tables.estimators(table, skill).frame()["AUROC"]
    good = [one for key, one in frame.items() if "Gscore line" in key]
    bad = [one for key, one in frame.items() if "regression on the P–P curve" in key]
    assert len(good) == len(bad) == 2
    assert all("guessing" not in one and one.startswith("1.0; skill") for one in good)
    assert all("worse than guessing" in one for one in bad)
    with pytest.raises(ValueError, match="no rmse_fpr95"):
        tables.estimators(table[table["variant"] == "primary"], pd.DataFrame())


def test_protocols_have_a_constant_and_truths_of_their_own(table_of):
    """Other sets teach there, or other ID images are shown: nothing is taken from the primary."""
    records = []
    for number, truth in enumerate((0.7, 0.6, 0.8)):
        own = {"test_set": f"set {number}"}
        for part in ("meta", "test"):
            records.append(record("msp", "auroc", truth, variant=part, **own))
        for variant, off in (("share drawn, size 50", 0.0), ("share drawn, shift fog/3", -0.2)):
            if off:
                records.append(
                    record("msp/truth", "true_auroc", truth + off, variant=variant, **own)
                )
            for method, value in (("constant", truth + off + 0.2), ("gscore", truth + off + 0.1)):
                cell = {"variant": variant, **own}
                records.append(record(f"msp/{method}", "predicted_auroc", value, **cell))
    errors = set_errors(table_of(records, paper="gscore"))
    errors = errors[errors["evaluator"] == "gscore"]
    assert len(errors) == 6 and errors["row"].notna().all()
    assert errors["error"].tolist() == pytest.approx([0.1] * 6)
    assert errors["guessed"].tolist() == pytest.approx([0.2] * 6)
    frame = tables.protocols(errors).frame()["AUROC"]
    assert frame.tolist() == ["0.75 [0.75, 0.75]"] * 2
    assert {names[1] for names in frame.index} == {"MSP"}
    with pytest.raises(ValueError, match="errors: none of any protocol"):
        tables.protocols(errors.assign(variant="primary"))


def test_answers_about_mixtures_stand_in_two_tables(table_of):
    """Means over networks; what a network lacks is a dash."""
    given = {
        ("accuracy/validation", "rmse_accuracy"): 0.3,
        ("accepted/validation", "rmse_accuracy"): 0.1,
        ("accuracy/atc_entropy", "coverage_accuracy"): 0.9,
        ("accuracy/labelled", "coverage_accuracy"): 0.9,  # of an estimator that is gone
        ("msp/share_bound", "coverage_share"): 1.0,
        ("msp/suspected", "power"): 0.25,
    }  # fmt: skip
    records = [
        record(method, metric, value + off, backbone=network, variant="share drawn")
        for (method, metric), value in given.items()
        for network, off in (("a", 0.0), ("b", -0.1))
    ]
    table = table_of(records, paper="gscore")
    accuracy = tables.accuracy(table).frame()
    assert accuracy["RMSE ↓"].tolist() == ["25.0", "–", "5.0"]
    assert [names[1] for names in accuracy.index][1] == "ATC, entropy"
    shares = tables.shares_and_lists(table).frame()
    assert shares["bounds that hold (%)"].tolist() == ["100.0", "–", "90.0", "–"]
    assert shares["of the unknown, listed (%)"].tolist() == ["–", "25.0", "–", "15.0"]
    for show in (tables.accuracy, tables.shares_and_lists):
        with pytest.raises(ValueError, match="of the variant share drawn"):
            show(table[table["variant"] == "primary"])
