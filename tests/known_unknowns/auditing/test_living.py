"""A guarantee that checked answers keep or break, at any time."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from helpers.scores import create
from known_unknowns.auditing.command import main
from known_unknowns.auditing.commands.places import FAILS, HOLDS, REFUSED
from known_unknowns.auditing.rejector import Rejector
from known_unknowns.few_labels import (
    ERROR,
    certified_threshold,
    check_guarantee,
    guarantee_evidence,
)
from tests.known_unknowns.auditing.conftest import watch

NAMES = ["ant", "bee ", "cow"]
RUNS = 1000


def simulated(risk, labels, batch, guaranteed=0.05, seed=0):
    """Return the states of many runs at any time, and the number of labels until the first."""
    errors = np.random.default_rng(seed).binomial(batch, risk, size=(labels // batch, RUNS))
    first = {}
    logs = guarantee_evidence(errors, batch, guaranteed)
    for state, log in zip(("broken", "kept"), logs, strict=True):
        found = log >= np.log(1 / ERROR)
        first[state] = np.where(found.any(axis=0), batch * (1 + found.argmax(axis=0)), np.inf)
    return first


def test_a_guarantee_that_holds_is_rarely_called_broken_and_the_reverse():
    """At any of 25 looks, with exactly the guaranteed risk, both are false."""
    first = simulated(0.05, 1000, 40)
    for state in first:
        assert np.isfinite(first[state]).mean() <= ERROR + 2 * np.sqrt(ERROR / RUNS)


def test_a_broken_and_a_kept_guarantee_are_found():
    """At 11.8 % after about 90 labels, at 2 % after about 300."""
    broken = simulated(0.118, 1000, 20)["broken"]
    assert np.isfinite(broken).mean() > 0.99
    assert np.median(broken) <= 120
    kept = simulated(0.02, 1000, 20)["kept"]
    assert np.isfinite(kept).mean() > 0.9
    assert np.median(kept) <= 340


def test_a_guarantee_that_breaks_later_is_found():
    errors = [1] * 25 + [6] * 10
    state = check_guarantee(errors, [40] * 35, 0.05)
    assert check_guarantee(errors[:25], [40] * 25, 0.05).state == "kept"
    assert state.state == "broken"
    assert (state.wrong, state.labels, state.more) == (85, 1400, 0)


def test_good_answers_do_not_mend_a_broken_guarantee():
    errors = [8] * 3 + [0] * 60
    assert check_guarantee(errors, [50] * 63, 0.05).state == "broken"
    looks = [(np.ones(50), np.arange(50) < wrong) for wrong in errors]
    assert certified_threshold(looks, 0.05, [0.5]) is None


def test_the_number_of_labels_to_expect_is_about_right():
    for risk, state in ((0.02, "kept"), (0.12, "broken")):
        more = check_guarantee([0], [0], 0.05, expected=risk).more
        needed = np.median(simulated(risk, 1000, 10)[state])
        assert 0.6 < more / needed < 1.6, (risk, more, needed)
    assert check_guarantee([50], [1000], 0.05).more is None


def test_a_moved_threshold_rarely_has_a_larger_risk():
    """At the smallest threshold of a grid whose risk is too large, the walk stops."""
    generator = np.random.default_rng(0)
    grid = np.linspace(0, 0.9, 19)
    broken = []
    certified = []
    for _ in range(300):
        looks = []
        for _ in range(8):
            scores = generator.random(60)
            looks.append((scores, generator.random(60) < 0.2 * (1 - scores) ** 2))
        value = certified_threshold(looks, 0.02, grid)
        certified.append(value is not None)
        # the mean risk above t is 0.2 (1 - t)² / 3
        broken.append(value is not None and 0.2 * (1 - value) ** 2 / 3 > 0.02)
    assert np.mean(broken) <= ERROR
    assert certified_threshold([(np.ones(500), np.zeros(500, bool))], 0.02, [0.5]) == 0.5


@pytest.fixture
def folder(here):
    """A rejector of 5 % and files of new outputs; the surer, the more often correct."""
    provenance = {"risk": 0.05, "risk_measured": 0.03, "class_names": NAMES, "temperature": 1.0}
    known = np.sort(np.random.default_rng(0).random(1000))
    Rejector(create("max_logit"), 0.2, 3, known=known, provenance=provenance).save("r.safetensors")
    return here


def answered(name, wrong, *, seed=0, images=400, check=100):
    """Write outputs, accept them, and fill in the truth of the drawn images."""
    generator = np.random.default_rng(seed)
    logits = np.full((images, 3), -1.0)
    answers = generator.integers(3, size=images)
    scores = generator.random(images)
    logits[np.arange(images), answers] = scores
    np.savez("new.npz", logits=logits)
    command = ["accept", "r.safetensors", "new.npz", "--out", name, "--force", "--check"]
    assert main([*command, str(check)]) == HOLDS
    table = pd.read_csv(name, dtype=str, keep_default_na=False)
    assert (table["check"] == "yes").sum() == check
    false = generator.random(images) < wrong(scores)
    truth = np.where(false, (answers + 1) % 3, answers)
    table["truth"] = np.where(table["check"] == "yes", np.array(NAMES)[truth], "")
    table.to_csv(name, index=False)
    return table


def test_watch_has_three_states_and_an_exit_status(folder, capsys):
    answered("a.csv", lambda scores: 0.02 + 0 * scores)
    assert watch("a.csv") == HOLDS
    printed = " ".join(capsys.readouterr().out.split())
    assert "NOT ENOUGH LABELS" in printed and "this verdict" not in printed
    assert int(re.search(r"About (\d+) more will decide", printed)[1]) > 50
    alone = "a.csv --state alone.json --move-to m.safetensors"
    assert watch(*alone.split()) == FAILS and not (folder / "m.safetensors").exists()
    assert "these answers certify no threshold yet" in capsys.readouterr().out
    for seed in range(1, 6):
        answered(f"{seed}.csv", lambda scores: 0.01 + 0 * scores, seed=seed)
        assert watch(f"{seed}.csv") == HOLDS
    assert "KEPT so far: the" in " ".join(capsys.readouterr().out.split())
    before = (folder / "r.watch.json").read_bytes()
    assert watch("5.csv") == HOLDS  # it counts once
    assert "This draw was counted before" in capsys.readouterr().out
    assert (folder / "r.watch.json").read_bytes() == before
    for seed in (7, 8):
        answered(f"{seed}.csv", lambda scores: 0.3 + 0 * scores, seed=seed)
    assert watch("7.csv") == FAILS
    assert "BROKEN: at some time, more than 5 %" in capsys.readouterr().out
    answered("9.csv", lambda scores: 0 * scores, seed=9)
    # it stays broken, and the answers before the break certify nothing for other images
    for words in ([], ["--move-to", "m.safetensors"]):
        assert watch("9.csv", *words) == FAILS
    assert not (folder / "m.safetensors").exists()


def test_the_threshold_moves_to_the_smallest_that_is_certified(folder, capsys):
    """Below a score of 0.5, every third answer is wrong."""
    for seed in range(8):
        answered(f"{seed}.csv", lambda scores: np.where(scores < 0.5, 0.33, 0.005), seed=seed)
        status = watch(f"{seed}.csv")
    assert status == FAILS
    printed = capsys.readouterr().out
    assert printed.count("Give all images to people") + printed.count("--move-to stricter") > 1
    assert "Add `--move-to stricter.safetensors`" in printed.splitlines()[-1]
    assert watch("3.csv", "--move-to", "moved.safetensors") == HOLDS
    moved = Rejector.load("moved.safetensors")
    assert 0.4 < moved.threshold < 0.6 and moved.by_answer is None
    assert "At most 5 % of accepted images" in moved.provenance["guarantee"]
    assert "this keeps" in capsys.readouterr().out
    # a refused command counts no answers
    answered("8.csv", lambda scores: 0 * scores, seed=8)
    before = (folder / "r.watch.json").read_bytes()
    assert watch("8.csv", "--move-to", "moved.safetensors") == REFUSED
    refusal = "--move-to: moved.safetensors is there already; name another file\n"
    assert refusal in capsys.readouterr().err
    assert (folder / "r.watch.json").read_bytes() == before


@pytest.mark.parametrize("file", ["new.npz", "new.csv"])
@pytest.mark.parametrize("has_risk", [True, False])
def test_labels_of_new_outputs_are_not_used(folder, capsys, file, has_risk):
    if not has_risk:  # accept --check refuses such a rejector
        rejector = Rejector.load("r.safetensors")
        del rejector.provenance["risk"]
        rejector.save("r.safetensors")
    logits = np.random.default_rng(0).random((400, 3))
    np.savez("new.npz", logits=logits, labels=np.full(400, 7))
    pd.DataFrame(logits).add_prefix("logit_").assign(label="lion").to_csv("new.csv", index=False)
    assert watch(file, "--share", "0.9") == HOLDS
    advice = "; check answers that accept --check draws" if has_risk else ""
    assert capsys.readouterr().out.splitlines()[-1] == f"The labels are not used{advice}."
    assert not json.loads((folder / "r.watch.json").read_text())["checked"]
    assert watch(file, "--move-to", "m.safetensors") == REFUSED
    assert "a table of accept --check expected" in capsys.readouterr().err


def test_all_answers_certify_a_smaller_threshold(folder):
    for seed in range(6):
        answered(f"{seed}.csv", lambda scores: 0.005 + 0 * scores, seed=seed)
        watch(f"{seed}.csv")
    assert watch("0.csv", "--move-to", "moved.safetensors") == HOLDS
    assert Rejector.load("moved.safetensors").threshold < 0.01


def test_a_table_that_cannot_be_counted_is_refused(folder, capsys):
    table = answered("a.csv", lambda scores: 0 * scores)
    row = int(np.flatnonzero((table["check"] == "yes") & (table["accepted"] == "True"))[0])

    def refused(message, **cells):
        changed = table.copy()
        for name, value in cells.items():
            changed.loc[row, name] = value
        changed.to_csv("b.csv", index=False)
        assert watch("b.csv") == REFUSED
        assert message in capsys.readouterr().err
        assert not (folder / "r.watch.json").exists()

    refused("truth is empty for 1 of 100 images with check = yes", truth="")
    refused("one of 3 classes (ant, bee, cow …) or -1 expected as truth, got 'cat'", truth="cat")
    refused("the answers of another rejector", score="-5")
    refused("a number as score expected, got 'True' and 'half'", score="half", accepted="True")
    refused("got 'WAHR' and", accepted="WAHR")
    refused("100 rows of one draw with check = yes expected, got 99", check="")
    refused("all rows of one draw", draw="")
    del table["truth"]
    refused("with the columns check and truth")
    accept = ["accept", "r.safetensors", "new.npz", "--check", "9"]
    assert main([*accept, "--by-answer"]) == REFUSED
    assert "leave out --by-answer" in capsys.readouterr().err
    assert watch("a.csv", "--acknowledge") == REFUSED
    assert watch("new.npz", "--move-to", "m.safetensors") == REFUSED
    for count in ("401", "0"):
        assert main(["accept", "r.safetensors", "new.npz", "--check", count]) == REFUSED
        assert f"1 to 400 images expected, got {count}" in capsys.readouterr().err
    rule = Rejector.load("r.safetensors")
    Rejector(rule.score, 0.2, 3, known=rule.known, provenance={}).save("r.safetensors")
    # and nobody is asked to check answers that do not count
    for command in (["watch", "r.safetensors", "a.csv"], accept):
        assert main(command) == REFUSED
        assert "this one has none; audit with --risk" in capsys.readouterr().err


def test_no_known_class_is_wrong_and_a_spreadsheet_does_no_harm(folder):
    table = answered("a.csv", lambda scores: 0 * scores)
    accepted = (table["check"] == "yes") & (table["accepted"] == "True")
    table.loc[np.flatnonzero(accepted)[:7], "truth"] = "-1"
    assert watch("a.csv") == HOLDS
    table.to_csv("a.csv", index=False)
    table["accepted"] = table["accepted"].str.upper()
    table["score"] = table["score"].astype(float).round(9)
    assert watch("a.csv") == HOLDS
    for changed in (table, table.sort_values("check"), table[table["check"] == "yes"]):
        changed.to_csv("b.csv", index=False)
        assert watch("b.csv") == HOLDS
    ((_, wrong),) = json.loads((folder / "r.watch.json").read_text())["checked"].values()
    assert sum(wrong) == 7
    # equal answers to other images, such as those of the next day
    logits = np.load("new.npz")["logits"]
    np.savez("new.npz", logits=0.9 * logits)
    command = ["accept", "r.safetensors", "new.npz", "--out", "c.csv", "--check", "100"]
    assert main(command) == HOLDS
    later = pd.read_csv("c.csv", dtype=str, keep_default_na=False)
    later["truth"] = later["label"]
    later.to_csv("c.csv", index=False)
    watch("c.csv")
    assert len(json.loads((folder / "r.watch.json").read_text())["checked"]) == 2
