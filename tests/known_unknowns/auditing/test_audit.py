"""Halves, files, requirements, comparison and rejector agree; every sentence can be read."""

import json
import re
from dataclasses import replace
from html import unescape

import matplotlib.pyplot as plt
import numpy as np
import pytest

from helpers.outputs import Outputs
from helpers.scores.calibration import softmax
from known_unknowns.auditing import audit, auditing, doubts, ranking, read_outputs
from known_unknowns.auditing.comparison import BETTER, OPEN, WORSE, compare
from known_unknowns.auditing.gates import NUMBERS, judge, read_requirement
from known_unknowns.auditing.inputs import Inputs
from known_unknowns.auditing.rejector import Rejector
from known_unknowns.auditing.report import bars, figures, thresholds

NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.]*\w)")


@pytest.fixture
def audited(inputs):
    return audit(inputs, risk=0.2, replicates=50)


def page_of(audited, folder):
    """Return the page of an audit, and the numbers that it shows."""
    audited.save(folder)
    texts = (folder.joinpath(name).read_text("utf-8") for name in ("report.html", "audit.json"))
    html, numbers = texts
    return html, json.loads(numbers)


def values(numbers):
    """Yield the numbers and texts of JSON."""
    numbers = list(numbers.values()) if isinstance(numbers, dict) else numbers
    if not isinstance(numbers, list):
        yield numbers
        return
    for part in numbers:
        yield from values(part)


def test_the_measuring_half_chooses_nothing(inputs):
    """Temperature, ranking and chosen score do not depend on its labels."""
    first = audit(inputs, replicates=20)
    both = np.concatenate([first.choosing, first.measuring])
    assert np.array_equal(np.sort(both), np.arange(300)) and len(first.measuring) == 150
    labels = inputs.validation.labels.copy()
    labels[first.measuring] = np.random.default_rng(1).permutation(labels[first.measuring])
    part = Outputs(inputs.validation.logits, inputs.validation.features, labels)
    other = audit(replace(inputs, validation=part), replicates=20)
    assert (other.temperature, other.best) == (first.temperature, first.best)
    assert other.ranking.equals(first.ranking)
    assert not other.calibration.equals(first.calibration)
    assert audit(inputs, replicates=20).as_dict() == first.as_dict()
    assert not np.array_equal(audit(inputs, seed=1, replicates=5).choosing, first.choosing)


def test_the_rejector_is_that_of_the_report(audited, tmp_path):
    names = ["report.html", "audit.json", "rejector.safetensors"]
    assert [path.name for path in audited.save(tmp_path)] == names
    rejector = Rejector.load(tmp_path / "rejector.safetensors")
    part, promised = audited.measured, audited.thresholds["risk"]
    accepted = rejector.accepts(part.logits, part.features)
    assert audited.deployed == "risk" and accepted.mean() == promised.coverage[0]
    assert (~part.correct[accepted]).mean() == promised.risk[0] <= 0.2
    for name, outputs in audited.inputs.ood.items():
        share = (audited.samples[name] >= promised.value).mean()
        assert promised.ood_accepted[name] == share
        assert set(audited.samples[name]) <= set(rejector.score_samples(outputs))
    assert rejector.provenance["promise"] == promised.promise


def test_a_wish_that_cannot_be_granted_names_one_that_can(inputs, audited, tmp_path):
    """No rejector of an earlier audit stays in the folder."""
    audited.save(tmp_path)
    strict = audit(inputs, risk=0.001, replicates=5)
    assert strict.deployed == "" and strict.rejector is None
    assert strict.thresholds["risk"].problem and not strict.thresholds["coverage"].problem
    html, numbers = page_of(strict, tmp_path)
    assert numbers["deployed"] == "" and "No rejector is written" in html
    assert not (tmp_path / "rejector.safetensors").exists()
    smallest = float(strict.sentences("threshold")[-1].removesuffix(" %.").rpartition(" ")[2]) / 100
    assert audit(inputs, risk=smallest, replicates=5).deployed == "risk"
    assert audit(inputs, risk=0.85 * smallest, replicates=5).deployed == ""
    assert audit(inputs, wish="coverage", coverage=0.9933, replicates=5).deployed == "coverage"
    assert audit(inputs, wish="coverage", coverage=0.9934, replicates=5).deployed == ""


def test_a_kill_leaves_no_rejector_of_another_audit(audited, inputs, tmp_path, monkeypatch):
    def killed(*arguments):
        raise InterruptedError

    audited.save(tmp_path)
    monkeypatch.setattr(Rejector, "save", killed)
    with pytest.raises(InterruptedError):
        audit(inputs, wish="coverage", replicates=5).save(tmp_path)
    assert not (tmp_path / "rejector.safetensors").exists()


def test_a_rejector_from_probabilities_accepts_these_and_their_logarithms(arrays, write):
    logits = arrays["logits"]
    arrays = {
        name: softmax(array) if name.endswith("logits") else array
        for name, array in arrays.items()
        if "head" not in name
    }
    audited = audit(read_outputs(write(arrays), treat_as="probabilities"), risk=0.2, replicates=5)
    rejector, part = audited.rejector, audited.inputs.validation
    expected = rejector.accepts(part)
    assert rejector.given == "probabilities" and 0 < expected.mean() < 1
    accepted = rejector.accepts(arrays["logits"].astype(np.float32), part.features)
    assert np.array_equal(accepted, expected)
    if "logits" in rejector.score.info.needs:
        with pytest.raises(ValueError, match="made from probabilities, but these are neither"):
            rejector.accepts(logits, part.features)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"wish": "rsk"}, "unknown wish 'rsk'; did you mean 'risk'"),
        ({"risk": 5}, "risk: between 0 and 1 expected, got 5"),
        ({"coverage": 1.0}, "coverage: between 0 and 1 expected"),
        ({"confidence": 0}, "confidence: between 0 and 1 expected"),
        ({"unknown_share": 1.0}, "share: at least 0 and below 1 expected, got 1.0"),
        ({"require": ["accuracy"]}, "NAME>=NUMBER or NAME<=NUMBER expected, got 'accuracy'"),
        ({"require": ["accuracy>0.9"]}, "NAME>=NUMBER"),
        ({"require": ["accuracy>=90"]}, "got 'accuracy>=90'; 90 % is 0.9"),
        ({"require": ["accuracy>=nan"]}, "between 0 and 1 expected"),
        ({"require": ["accuracy>=high"]}, "between 0 and 1 expected"),
        ({"require": ["auro>=0.9"]}, "unknown number to require 'auro'; did you mean 'auroc'"),
        ({"require": ["accuracy:pets>=0.9"]}, "accuracy is of no set"),
        ({"require": ["auroc:pet>=0.9"]}, "unknown set of unknown images 'pet'"),
        ({"require": ["coverage_at_risk_2>=0.5"]}, "a risk between 0 and 1 expected"),
        ({"require": ["coverage_at_risk_low>=0.5"]}, "a risk between 0 and 1 expected"),
    ],
)
def test_bad_wishes(inputs, arguments, message):
    with pytest.raises(ValueError, match=message):
        audit(inputs, **arguments)


def test_wishes_need_unknown_images(inputs):
    bare = replace(inputs, ood={})
    with pytest.raises(ValueError, match="share: images of unknown classes expected"):
        audit(bare, unknown_share=0.1)
    with pytest.raises(ValueError, match="asks for a set of unknown images, and there is none"):
        read_requirement("auroc>=0.5", bare.ood)


def test_the_bound_of_a_requirement_decides(inputs):
    """Each number can be required; of several sets the worst decides."""
    sets = inputs.ood | {"like ID": inputs.validation.subset(slice(0, 100))}
    audited = audit(replace(inputs, ood=sets), risk=0.2, replicates=50)
    value, low, high = audited.accuracy
    between, above = (low + value) / 2, (value + high) / 2
    texts = [f"accuracy>={low}", f"accuracy>={between}", f"accuracy<={above}", f"accuracy<={high}"]
    judged = judge(audited, texts)
    assert [row.holds for row in judged] == [True, False, False, True]
    assert judged[0][1:4] == audited.accuracy
    judged = judge(audited, [f"{name}<=1" for name in NUMBERS])
    assert all(row.holds and row.low <= row.value <= row.high for row in judged)
    named = {row.requirement.partition("<")[0]: row for row in judged}
    assert named["risk"][1:4] == audited.thresholds["risk"].risk
    area = audited.confirmed.query("metric == 'aurc' and set == ''")["value"].item()
    assert named["aurc"].value == area
    each = judge(audited, [f"auroc:{name}>=0.5" for name in sets])
    (every,) = judge(audited, ["auroc>=0.5"])
    assert every[1:] == min(each, key=lambda row: row.low)[1:]
    (most,) = judge(audited, ["fpr95<=0.5"])
    assert most.high == max(row.high for row in judge(audited, [f"fpr95:{n}<=1" for n in sets]))
    texts = ["coverage_at_risk_0.2>=0.1", "coverage_at_risk>=0.1", "coverage_at_risk_0.001>=0"]
    at, wished, never = judge(audited, texts)
    assert at[1:4] == wished[1:4] == audited.thresholds["risk"].coverage and at.holds
    assert np.isnan(never.value) and not never.holds


def test_large_audits_use_random_subsets_but_guarantees_use_all(inputs, monkeypatch):
    whole = audit(inputs, risk=0.2, replicates=2)
    for module, name, size in ((ranking, "COMPARED", 90), (auditing, "FITTED", 80),
                               (doubts, "COPIES_AMONG", 70)):  # fmt: skip
        monkeypatch.setattr(module, name, size)
    sizes = []
    monkeypatch.setattr(auditing, "fit_temperature", lambda *p: sizes.append(len(p[1])) or 1.0)
    audited = audit(inputs, risk=0.2, replicates=2)
    assert sizes == [80] and audited.accuracy == whole.accuracy
    assert np.array_equal(audited.measuring, whole.measuring)
    assert len(audited.samples["validation"]) == len(audited.measuring) == 150
    for text in ("at most 90 ID images, and as many", "80 images of the half", "among 70 valid"):
        assert any(text in note for note in audited.notes)


def test_the_page_is_one_file_whose_numbers_are_in_the_json(inputs, tmp_path):
    required = ["accuracy>=0.5", "auroc>=0.99"]
    html, numbers = page_of(audit(inputs, risk=0.2, replicates=20, require=required), tmp_path)
    known = list(values(numbers))
    quoted = {token for text in known if isinstance(text, str) for token in NUMBER.findall(text)}
    known = np.array([value for value in known if isinstance(value, int | float)], float)
    known = np.concatenate([known, 100 * known])
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", html.partition("<body>")[2], flags=re.S)
    tokens = set(NUMBER.findall(unescape(re.sub(r"<[^>]*>", " ", body))))
    assert len(tokens) > 50
    for token in tokens - quoted - {"100"}:  # "of 100 images"
        places = len(token.partition(".")[2])
        assert (np.abs(np.round(known, places) - float(token)) < 1e-9).any(), token
    assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'none'" in html
    addresses = re.findall(r'src="([^"]*)', html)
    assert addresses and all(text.startswith("data:image/png;base64,") for text in addresses)
    assert not re.findall(r"<script|https?:|@import|url\(|<link|href", html)


def test_names_are_text(arrays, write, tmp_path):
    evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>`\n* A sentence."
    arrays = {name: array for name, array in arrays.items() if not name.startswith("ood_")}
    arrays["class_names"] = np.array([f"{evil}{i}" for i in range(4)])
    arrays["files"] = np.array([f"{evil}{i}.png" for i in range(300)])
    inputs = read_outputs(write(arrays))
    inputs = replace(inputs, ood={evil: inputs.production}, source=evil, note=evil)
    html, numbers = page_of(audit(inputs, risk=0.2, replicates=5), tmp_path)
    assert html.count("&lt;script&gt;alert(1)") > 10 and len(numbers["summary"]) == 5
    assert "<script" not in html and "<img src=x" not in html
    tags = re.findall(r"<[a-z]\w*(?:\s[^<>]*)?>", html)
    assert not [tag for tag in tags if "onerror" in re.sub(r'"[^"]*"', "", tag)]


def test_bars_and_thresholds_are_the_effects_of_the_rejector(inputs, audited):
    deployed = audited.threshold
    known, pets, unlabelled = bars(audited)
    assert known["right"] + known["wrong"] == pytest.approx(deployed.coverage[0])
    assert known["wrong"] / (known["right"] + known["wrong"]) == pytest.approx(deployed.risk[0])
    assert pets["wrong"] == deployed.ood_accepted["pets_and_toys"] and pets["right"] == 0
    assert unlabelled["unsure"] == audited.rejector.accepts(inputs.production).mean()
    shares = [[bar[name] for name in bar if name != "images"] for bar in bars(audited)]
    assert np.sum(shares, axis=1) == pytest.approx(1)
    (alone,) = bars(audit(inputs, risk=0.001, replicates=5))
    assert alone["left"] == 0 and alone["right"] + alone["wrong"] == 1
    audited = audit(inputs, wish="coverage", coverage=0.85, replicates=5)
    rows, deployed = thresholds(audited), audited.threshold
    assert len(rows) == 11 and rows[0]["coverage"] == 1
    (promised,) = [row for row in rows if row["promised"]]
    assert promised["threshold"] == deployed.value
    assert (promised["coverage"], promised["risk"]) == (deployed.coverage[0], deployed.risk[0])
    tenths = [row["coverage"] for row in rows if not row["promised"]]
    assert np.allclose(tenths, np.arange(10, 0, -1) / 10, atol=0.01)


def test_no_figure_stays_open(audited):
    before = plt.get_fignums(), dict(plt.rcParams)
    assert {"sure", "score", "accept"} <= set(figures(audited))
    assert (plt.get_fignums(), dict(plt.rcParams)) == before


def scaled(inputs, factor):
    """Return inputs with larger logits, and nothing else."""
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


def moved(inputs):
    features = inputs.production.features + 1.5 * np.eye(6, dtype=np.float32)[5]
    return replace(inputs, production=replace(inputs.production, features=features), ood={})


STATES = [
    (lambda i: i, {"risk": 0.2}, ["at most 20 % are wrong", "(pets_and_toys)"]),
    (lambda i: i, {"wish": "coverage"}, ["At least 90 % of images like these are"]),
    (lambda i: i, {"risk": 0.3, "unknown_share": 0.05}, [
        "as long as at most 5 % of the images are of such classes", "State a larger share"]),
    (lambda i: i, {"risk": 0.001}, [
        "No rejector is written: the wished risk of 0.1 % cannot be had, the smallest that can",
        "Bring more validation images, 5992 at the least, and audit again."]),
    (lambda i: i, {"wish": "coverage", "coverage": 0.999}, [
        "the largest that can is 99.33 %.", "Wish for a smaller coverage, or bring more"]),
    (lambda i: i, {"risk": 0.001, "fallback": True}, [
        "In place of the wished risk the rejector has the threshold for the coverage"]),
    (lambda i: i, {"risk": 0.01, "unknown_share": 0.05}, [
        "Bring more validation images and more unknown ones",
        "It takes 300 images in a mixture with 5 % of unknown ones"]),
    (twins, {"risk": 0.6}, [
        "Do not rely on it yet, as it accepts nearly everything: wish for a smaller risk (`--risk ",
        "keep fewer of the images (`--coverage 0.9`, with which it accepts "]),
    (lambda i: replace(i, ood={}), {"risk": 0.6}, [
        "as the model alone is right often enough", "bring images of unknown classes"]),
    (twins, {"wish": "coverage"}, [
        "where images like twins turn up, most of which it accepts: wish for a smaller coverage."]),
    (lambda i: twins(labelled(i, 0), 300), {"risk": 0.1, "coverage": 0.999}, [
        "bring features or training images.", "Nothing: it makes no error on these images."]),
    (lambda i: labelled(i, 1, head=None), {}, [
        "Wish for a larger risk", "no larger risk can be promised either"]),
    (lambda i: scaled(i, 6), {"risk": 0.2}, [
        "It is too sure of itself", "Divide the logits by", "Without outputs of training images"]),
    (lambda i: scaled(i, 0.1), {"risk": 0.2}, ["It is not sure enough"]),
    (lambda i: replace(i, level=False), {"risk": 0.2}, ["From probabilities"]),
    (moved, {"risk": 0.2}, ["features differ.", "the promise is not about them"]),
    (lambda i: replace(i, production=i.validation), {"risk": 0.2}, [
        "No difference is shown", "Nothing shows that any of the 300 unlabelled images is of no"]),
    (lambda i: replace(i, strata=np.arange(300) % 290 // 145), {"risk": 0.3}, [
        "strata a risk of 30 % can be promised"]),
    (lambda i: replace(i, unreadable={"train": tuple("abcdef")}), {}, [
        "6 files of train cannot be read as images: a, b, c, d, e, …."]),
    (lambda i: twins(i, 30), {"risk": 0.2}, ["Fewer than 40 images in twins"]),
    (lambda i: replace(i, groups=np.arange(300) // 2), {"risk": 0.3}, [
        "150 images that it has not learnt from", "one of each group, drawn by chance from 300"]),
]  # fmt: skip


@pytest.mark.parametrize(("change", "arguments", "expected"), STATES)
def test_every_branch_of_the_template(inputs, change, arguments, expected):
    audited = audit(change(inputs), replicates=5, **arguments)
    numbers = audited.as_dict()
    sentences = [*numbers["summary"], *map(str, audited.doubts)]
    for part in numbers["findings"]:
        sentences += [part["sentence"], *part["details"], part["advice"]]
    assert len(numbers["summary"]) == 5 and all(sentences)
    for fragment in expected:
        assert any(fragment in sentence for sentence in sentences), fragment
    for sentence in sentences:
        assert not re.search(r"[{}]| [,;:.](?!\w)|  |\.\.(?!\.)", sentence), sentence


def blurred(inputs, noise):
    """Return the same images as a model with noise sees them."""
    generator = np.random.default_rng(0)

    def seen(part):
        logits = part.logits + noise * generator.normal(size=part.logits.shape)
        return Outputs(logits, part.features[:, :0], part.labels)

    ood = {name: seen(part) for name, part in inputs.ood.items()}
    return replace(inputs, validation=seen(inputs.validation), ood=ood, head=None, train=None)


def test_a_comparison_is_the_same_from_the_other_side(inputs):
    sharp, dull = blurred(inputs, 0), blurred(inputs, 6)
    worse, better, same = (
        compare(*pair, risk=0.3, replicates=300)
        for pair in ((sharp, dull), (dull, sharp), (sharp, sharp))
    )
    for comparison, verdict in ((worse, WORSE), (better, BETTER), (same, OPEN)):
        assert set(comparison.rows["verdict"]) == {verdict}
        assert comparison.worse == (verdict == WORSE)
    assert np.allclose(worse.rows["difference"], -better.rows["difference"])
    assert (same.rows[["difference", "low", "high"]] == 0).all(axis=None)
    assert "worse in 4 of 4 respects, and better in none" in worse.sentences()[0]
    assert same.sentences()[0].endswith("neither better nor worse in any respect.")


def test_intervals_of_equal_models_hold_zero_as_often_as_they_say():
    """Of models with the same chance of error, about one in twenty looks different."""
    generator, differ = np.random.default_rng(0), 0
    labels = np.arange(200) % 2

    def drawn():
        answers = np.where(generator.random(200) < 0.8, labels, 1 - labels)
        logits = np.eye(2)[answers] * generator.random((200, 1))
        return Inputs("a toy", Outputs(logits, np.empty((200, 0)), labels), ("ant", "bee"))

    for _ in range(120):
        differ += compare(drawn(), drawn(), replicates=200).rows["verdict"][0] != OPEN
    assert 1 <= differ <= 16  # 6 expected; 16 is four standard deviations above


OTHERS = [
    (lambda i, p: {"validation": p.subset(slice(0, 200)), "files": ()}, "logits: 300 images in"),
    (lambda i, p: {"validation": replace(p, labels=np.roll(p.labels, 1))}, "labels: different in"),
    (lambda i, p: {"files": tuple(map(str, range(300)))}, "files: different in 300 of 300"),
    (lambda i, p: {"class_names": ("a", "bee", "cow", "dog")}, "class_names: different in 1 of 4"),
    (lambda i, p: {"groups": np.arange(300)}, "groups: in one of the two files only"),
    (lambda i, p: {"ood": {}}, "ood: in one of the two files only: pets_and_toys"),
    (lambda i, p: {"ood": {"pets_and_toys": p.subset([1])}}, "ood_pets_and_toys_logits: 120 imag"),
]


@pytest.mark.parametrize(("change", "message"), OTHERS, ids=[message for _, message in OTHERS])
def test_other_images_are_refused(inputs, change, message):
    with pytest.raises(ValueError, match=message):
        compare(inputs, replace(inputs, **change(inputs, inputs.validation)), replicates=5)
