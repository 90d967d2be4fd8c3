"""Halves, files, requirements and rejector agree; every sentence can be read."""

import json
import re
from dataclasses import replace
from functools import partial
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from helpers.outputs import Outputs
from known_unknowns.auditing import Inputs, audit, findings, ranking, read_outputs, stages
from known_unknowns.auditing.doubts import Doubt
from known_unknowns.auditing.rejector import Rejector
from known_unknowns.auditing.report import bars
from tests.known_unknowns.auditing.conftest import made

NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.]*\w)")


@pytest.fixture
def audited(inputs):
    return audit(inputs, risk=0.2, replicates=50)


def page_of(audited, folder):
    """Return the page of an audit, and the numbers that it shows."""
    audited.save(folder)
    html, numbers = (folder / name for name in ("report.html", "audit.json"))
    return html.read_text("utf-8"), json.loads(numbers.read_text("utf-8"))


def values(numbers):
    """Return the names, numbers and texts of JSON."""
    numbers = [*numbers, *numbers.values()] if isinstance(numbers, dict) else numbers
    nested = isinstance(numbers, list)
    return [value for part in numbers for value in values(part)] if nested else [numbers]


def test_the_numbers_of_a_toy_are_as_expected(arrays, write):
    """The file has logits, groups, strata, a share of unknown images and drift."""
    arrays = {name: array for name, array in arrays.items() if name.endswith(("logits", "labels"))}
    groups = {"groups": np.arange(300) // 2, "strata": np.arange(300) % 3 // 2}
    inputs = read_outputs(write(arrays | groups))
    required = ["accuracy>=0.5", "coverage_at_risk_0.3>=0.2", "auroc:pets_and_toys>=0.9"]
    targets = {"risk": 0.3, "unknown_share": 0.1, "replicates": 50, "require": required}
    numbers = json.loads(json.dumps(audit(inputs, **targets).as_dict()))
    expected = json.loads(Path(__file__).with_name("expected.json").read_text("utf-8"))
    assert numbers.keys() == expected.keys() | {"version", "date", "sha256"}
    near = partial(pytest.approx, rel=1e-3, abs=1e-6)
    for key, value in expected.items():
        wanted = [near(one) if isinstance(one, float) else one for one in values(value)]
        assert values(numbers[key]) == wanted, key


def test_the_measuring_half_does_not_influence_any_choice(inputs):
    """Temperature, ranking and chosen score do not depend on its labels."""
    inputs = replace(inputs, validation=Outputs(*made(1000)), files=())
    first = audit(inputs, replicates=20)
    both = np.concatenate([first.choosing, first.measuring])
    assert np.array_equal(np.sort(both), np.arange(1000))
    assert len(first.measuring) == 500
    assert len(first.samples["pets_and_toys"]) == 60
    assert len(first.chosen) == len(first.choosing)
    labels = inputs.validation.labels.copy()
    labels[first.measuring] = np.random.default_rng(1).permutation(labels[first.measuring])
    part = replace(inputs.validation, labels=labels)
    other = audit(replace(inputs, validation=part), replicates=20)
    assert (other.temperature, other.best) == (first.temperature, first.best)
    assert other.ranking.equals(first.ranking)
    assert not other.calibration.equals(first.calibration)
    assert audit(inputs, replicates=20).as_dict() == first.as_dict()


def test_a_few_images_all_measure_a_score_that_is_fixed_in_advance(inputs):
    """No label changes the score, and every label counts."""
    first = audit(inputs, risk=0.2, replicates=5)
    assert first.score.info.name == first.best[0] == "msp"
    assert len(first.measuring) == len(first.samples["validation"]) == 300
    assert np.array_equal(np.sort(first.measuring), np.arange(300))
    assert not {*first.held_out} & {*first.choosing}
    labels = np.random.default_rng(0).permutation(inputs.validation.labels)
    part = replace(inputs.validation, labels=labels)
    other = audit(replace(inputs, validation=part), risk=0.2, replicates=5)
    assert np.array_equal(other.samples["validation"], first.samples["validation"])
    given = audit(inputs, risk=0.2, replicates=5, score="gap")
    assert given.score.info.name == "gap"
    assert given.sentences("about_score")[1].startswith("Gap is fixed in advance")
    for name, message in (("gpa", "did you mean 'gap'"), ("tta", "goes back to the images")):
        with pytest.raises(ValueError, match=message):
            audit(inputs, score=name)
    with pytest.raises(ValueError, match=r"logits: a scale .*; divide the logits"):
        audit(scaled(inputs, 1e12))


def test_the_rejector_agrees_with_the_report(audited, tmp_path):
    names = ["report.html", "audit.json", "rejector.safetensors", "to_label.csv"]
    assert [path.name for path in audited.save(tmp_path)] == names
    rejector = Rejector.load(tmp_path / "rejector.safetensors")
    part = audited.inputs.validation.subset(audited.measuring)
    guaranteed = audited.thresholds["risk"]
    accepted = rejector.accepts(part.logits, part.features)
    assert audited.deployed == "risk"
    assert accepted.mean() == guaranteed.coverage[0]
    assert (~part.correct[accepted]).mean() == guaranteed.risk[0] <= 0.2
    scores = audited.samples["pets_and_toys"]
    assert guaranteed.ood_accepted["pets_and_toys"] == (scores >= guaranteed.value).mean()
    assert set(scores) <= set(rejector.score_samples(audited.inputs.ood["pets_and_toys"]))
    assert rejector.provenance["guarantee"] == guaranteed.guarantee
    known, pets, unlabelled = bars(audited)
    assert known["right"] + known["wrong"] == pytest.approx(guaranteed.coverage[0])
    assert pets["wrong"] == guaranteed.ood_accepted["pets_and_toys"]
    assert pets["right"] == 0
    assert unlabelled["unsure"] == rejector.accepts(audited.inputs.production).mean()
    for bar in bars(audited):
        assert sum(bar[name] for name in bar if name != "images") == pytest.approx(1)
    assert not plt.get_fignums()  # no figure stays open


def test_the_message_about_an_impossible_risk_names_the_smallest_possible_risk(inputs):
    strict = audit(inputs, risk=0.001, replicates=5)
    assert strict.deployed == ""
    assert strict.rejector is None
    assert strict.thresholds["risk"].problem
    assert not strict.thresholds["coverage"].problem
    smallest = strict.thresholds["smallest"]
    words = f"a guaranteed risk of {100 * smallest.target_value:.3g} %, which keeps"
    assert words in strict.sentences("rejector")[0]
    assert audit(inputs, risk=smallest.target_value, replicates=5).deployed == "risk"
    deployed = audit(inputs, risk=0.001, fallback="smallest", replicates=5)
    assert deployed.deployed == "smallest"
    assert deployed.rejector.threshold == smallest.value
    assert deployed.rejector.provenance["risk"] == smallest.target_value
    assert audit(inputs, target="coverage", coverage=0.9966, replicates=5).deployed == "coverage"
    assert audit(inputs, target="coverage", coverage=0.9967, replicates=5).deployed == ""


def test_a_guaranteed_risk_is_the_end_of_its_interval():
    """The walk to a threshold stops at a one-sided test, which the usual interval exceeds."""
    logits, _, labels = made(3000)
    audited = audit(
        read_outputs({"logits": logits / 3, "labels": labels}), risk=0.05, replicates=20
    )
    assert audited.threshold.risk[2] > 0.05
    (row,) = findings.judge(audited, ["risk<=0.05"])
    assert row["holds"] and row["high"] == 0.05
    doubted = replace(audited, doubts=(Doubt("learnt", "", ""),))
    assert not findings.judge(doubted, ["risk<=0.05"])[0]["holds"]


def test_the_bound_of_a_requirement_decides(inputs):
    """The worst of several sets decides."""
    sets = inputs.ood | {"like ID": inputs.validation.subset(slice(0, 100))}
    audited = audit(replace(inputs, ood=sets), risk=0.2, replicates=50)
    value, low, high = audited.accuracy
    texts = [f"accuracy>={low}", f"accuracy>={value}", f"accuracy<={value}", f"accuracy<={high}"]
    assert [row["holds"] for row in findings.judge(audited, texts)] == [True, False, False, True]
    each = findings.judge(audited, [f"auroc:{name}>=0.5" for name in sets])
    required = ["auroc>=0.5", "aurc<=1", "risk<=1", "coverage>=0"]
    required += ["coverage_at_risk_0.2>=0.1", "coverage_at_risk_0.001>=0"]
    every, area, risk, kept, at, never = findings.judge(audited, required)
    assert every["value"] == min(each, key=lambda row: row["low"])["value"]
    union = audited.confirmed.query("metric == 'aurc' and set == 'all'")["value"].item()
    assert area["value"] != union
    assert risk["high"] == audited.threshold.risk[2]
    assert kept["low"] == at["low"] == audited.thresholds["risk"].coverage[1]
    assert at["holds"]
    assert np.isnan(never["value"])
    assert not never["holds"]


def test_a_requirement_needs_more_than_a_few_images_without_errors(write):
    """No resampled image is an error, so the bootstrap alone gives an interval without length."""
    logits = 9.0 * np.eye(2)[np.arange(40) % 2]
    arrays = {"logits": logits, "labels": logits.argmax(axis=1), "ood_one_logits": logits[:2] / 5}
    required = ["aurc<=0.01", "auroc:one>=0.9", "fpr95:one<=0.1"]
    audited = audit(read_outputs(write(arrays)), replicates=20, require=required)
    rows = findings.judge(audited, required)
    assert [row["value"] for row in rows] == [0, 1, 0]
    assert not any(row["holds"] for row in rows)


def test_a_set_that_is_accepted_more_often_is_named_and_fulfils_no_risk(write):
    """It has the higher AUROC, so the guarantee includes the other set."""
    generator = np.random.default_rng(3)

    def sure(margins):
        return margins[:, None] * np.eye(4)[generator.integers(4, size=len(margins))]

    logits = sure(generator.uniform(0.5, 9, 2000))
    often = np.r_[generator.uniform(7, 9, 400), generator.uniform(0.3, 2, 600)]
    sets = {"medium": np.full(1000, 4.6), "often": often}
    arrays = {f"ood_{name}_logits": sure(margins) for name, margins in sets.items()}
    arrays |= {"logits": logits, "labels": logits.argmax(axis=1)}
    required = ["risk<=0.05"]
    settings = {"unknown_share": 0.1, "score": "msp", "replicates": 2, "require": required}
    audited = audit(read_outputs(write(arrays)), **settings)
    assert list(audited.hard) == ["medium"] and audited.threshold.unknown == 0.1
    assert audited.beyond == ["often"]
    assert any("It accepts images of often more often" in text for text in audited.summary())
    assert not findings.judge(audited, required)[0]["holds"]
    alone = {name: array for name, array in arrays.items() if "often" not in name}
    audited = audit(read_outputs(write(alone)), **settings)
    assert audited.beyond == [] and findings.judge(audited, required)[0]["holds"]


def test_large_audits_use_random_subsets_but_guarantees_use_all(inputs, monkeypatch):
    whole = audit(inputs, risk=0.2, replicates=2)
    monkeypatch.setattr(ranking, "COMPARED", 90)
    monkeypatch.setattr(stages, "FITTED", 80)
    sizes = []
    monkeypatch.setattr(
        stages, "temperature_or_reason", lambda _, y: (sizes.append(len(y)) or 1.0, "")
    )
    audited = audit(inputs, risk=0.2, replicates=2)
    assert sizes == [80, 40, 40]
    assert audited.accuracy == whole.accuracy
    assert len(audited.samples["validation"]) == 300
    assert np.array_equal(audited.measuring, whole.measuring)
    for text in ("at most 90 ID images and 90 images of each", "80 images of their half"):
        assert any(text in note for note in audited.notes)


def test_the_page_is_one_file_whose_numbers_are_in_the_json(inputs, tmp_path):
    required = ["accuracy>=0.5", "auroc>=0.99"]
    html, numbers = page_of(audit(inputs, risk=0.2, replicates=20, require=required), tmp_path)
    assert "no estimate of how well unknown images are detected" in html  # fewer than nine sets
    known = values(numbers)
    quoted = {token for text in known if isinstance(text, str) for token in NUMBER.findall(text)}
    known = np.array([value for value in known if isinstance(value, int | float)], float)
    known = np.concatenate([known, 100 * known])
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", html.partition("<body>")[2], flags=re.S)
    tokens = set(NUMBER.findall(unescape(re.sub(r"<[^>]*>", " ", body))))
    assert len(tokens) > 50
    for token in tokens - quoted - {"100"}:  # "per 100 images"
        places = len(token.partition(".")[2])
        assert (np.abs(np.round(known, places) - float(token)) < 1e-9).any(), token
    assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'none'" in html
    addresses = re.findall(r'src="([^"]*)', html)
    assert addresses
    assert all(text.startswith("data:image/png;base64,") for text in addresses)
    assert not re.findall(r"<script|https?:|@import|url\(|<link|href|score [,.]|details img", html)


def test_names_are_text(arrays, write, tmp_path):
    evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>`\n* A sentence."
    arrays = {name: array for name, array in arrays.items() if not name.startswith("ood_")}
    arrays["class_names"] = np.array([f"{evil}{i}" for i in range(4)])
    arrays["files"] = np.array([f"{evil}{i}.png" for i in range(300)])
    inputs = read_outputs(write(arrays))
    inputs = replace(inputs, ood={evil: inputs.production}, source=evil, note=evil)
    html, numbers = page_of(audit(inputs, risk=0.2, replicates=5), tmp_path)
    assert html.count("&lt;script&gt;alert(1)") > 10
    assert len(numbers["summary"]) == 7
    assert "<script" not in html
    assert "<img src=x" not in html
    tags = re.findall(r"<[a-z]\w*(?:\s[^<>]*)?>", html)
    assert not [tag for tag in tags if "onerror" in re.sub(r'"[^"]*"', "", tag)]


def scaled(inputs, factor):
    """Return inputs with only larger logits."""
    part = inputs.validation
    louder = Outputs(factor * part.logits, part.features[:, :0], part.labels)
    return replace(inputs, validation=louder, train=None, head=None, ood={}, production=None)


def twins(inputs, count=100):
    """Return inputs whose unknown images are copies of known ones."""
    same = inputs.validation.subset(slice(0, count))
    return replace(inputs, ood={"twins": replace(same, labels=np.full(count, -1))})


def labelled(inputs, step, **more):
    """Return inputs whose labels are the predictions, or another class."""
    labels = (inputs.validation.predictions + step) % 4
    return replace(inputs, validation=replace(inputs.validation, labels=labels), **more)


def rare(n=4000):
    """Return inputs in which a few images of a large class get a small class with confidence."""
    generator = np.random.default_rng(0)
    labels = (generator.random(n) < 0.02).astype(int)
    logits = generator.normal(size=(n, 2)) * 0.5
    logits[:, 0] += 3
    seen = generator.random(n) < np.where(labels == 1, 0.35, 0.004)
    logits[seen, 1] += 6
    return Inputs("a toy", Outputs(logits, np.empty((n, 0)), labels), ("many", "few"))


def by_chance(inputs):
    part = inputs.validation
    labels = np.random.default_rng(0).permutation(part.labels)
    return replace(inputs, validation=Outputs(part.logits, part.features, labels))


def moved(inputs):
    features = inputs.production.features + 1.5 * np.eye(6, dtype=np.float32)[5]
    return replace(inputs, production=replace(inputs.production, features=features), ood={})


#: By name in mistakes.yaml: how the inputs of the toy are changed.
CHANGES = {
    "unchanged": lambda inputs: inputs,
    "twins": twins,
    "no unknown images": partial(replace, ood={}),
    "twins of correct answers": lambda inputs: twins(labelled(inputs, 0), 300),
    "correct answers alone": lambda inputs: replace(labelled(inputs, 0), ood={}),
    "labels by chance, no head": lambda inputs: by_chance(replace(inputs, head=None)),
    "six times the logits": partial(scaled, factor=6),
    "no level of the logits": partial(replace, level=False),
    "moved": moved,
    "trained on": lambda inputs: replace(inputs, train=inputs.validation),
    "rare": lambda inputs: rare(),
    "production like validation": lambda inputs: replace(inputs, production=inputs.validation),
}


def test_each_branch_of_the_template_is_written(inputs, state, message):
    changed = CHANGES[state["inputs"]](inputs)
    audited = audit(changed, replicates=5, **state["targets"])
    numbers = audited.as_dict()
    sentences = [*numbers["summary"], *map(str, audited.doubts)]
    for part in numbers["findings"]:
        sentences += [part["sentence"], *part["details"], part["advice"]]
    rare = bool((np.bincount(changed.validation.labels) > 0.8 * len(changed.validation)).any())
    assert len(numbers["summary"]) == 5 + rare + 2 * (audited.drift is not None)
    assert all(sentences)
    for fragment in (message, *state.get("more", ())):
        assert any(fragment in sentence for sentence in sentences), fragment
    for sentence in sentences:
        assert not re.search(r"[{}]| [,;:.](?!\w)|  |\.\.(?!\.)", sentence), sentence


def test_a_requirement_is_judged_by_the_worst_set_and_by_its_calibration():
    rates = {"set": ["a", "b"], "value": [0.3, 0.35], "low": [0.1, 0.2], "high": [0.6, 0.45]}
    errors = {"ece": [0.2, 0.1], "low": [0.15, 0.05], "high": [0.25, 0.12]}
    audited = SimpleNamespace(
        inputs=SimpleNamespace(ood={"a": 0, "b": 0}),
        confirmed=pd.DataFrame({"metric": "fpr95", **rates}),
        calibration=pd.DataFrame(errors, ["before", "after"]),
        valid=True,
    )
    required = ["fpr95<=0.5", "ece<=0.2", "ece_scaled<=0.2"]
    worst, plain, scaled = findings.judge(audited, required)
    assert (worst["high"], worst["holds"]) == (0.6, False)
    assert (plain["value"], plain["holds"]) == (0.2, False)
    assert (scaled["value"], scaled["holds"]) == (0.1, True)


def test_the_interval_of_a_calibration_error_contains_it():
    """Resampled images of a calibrated model have a larger error, which is no evidence."""
    generator = np.random.default_rng(0)
    sure = generator.uniform(0.5, 1, 2000)
    labels = generator.random(2000) > sure
    outputs = {"probabilities": np.c_[sure, 1 - sure], "labels": labels.astype(int)}
    rows = audit(outputs, replicates=50).calibration
    assert (rows["low"] < rows["ece"]).all() and (rows["ece"] < rows["high"]).all()
