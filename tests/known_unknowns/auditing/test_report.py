"""One file, for itself, in which names are text and every number is one of audit.json."""

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

from helpers.outputs import Outputs
from known_unknowns.auditing import audit, read_outputs
from known_unknowns.auditing.report import WRITTEN, bars, figures, thresholds

NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.]*\w)")


def page_of(audited):
    """Return the page of an audit, and the numbers that it shows."""
    with TemporaryDirectory() as folder:
        audited.save(folder)
        html, numbers = (Path(folder, name).read_text(encoding="utf-8") for name in WRITTEN[:2])
    return html, json.loads(numbers)


def text_of(html):
    """Return what is to be read, with one space for each tag; ticks of axes are not."""
    body = html.partition("<body>")[2]
    body = re.sub(r"<(script|style|text)\b.*?</\1>", " ", body, flags=re.S)
    return unescape(re.sub(r"<[^>]*>", " ", body))


def values(said):
    """Yield the numbers and texts of JSON."""
    if isinstance(said, dict):
        said = list(said.values())
    if isinstance(said, list):
        for one in said:
            yield from values(one)
    else:
        yield said


def test_every_number_of_the_page_is_in_the_json(inputs):
    found = audit(inputs, risk=0.2, replicates=20, require=["accuracy>=0.5", "auroc>=0.99"])
    html, said = page_of(found)
    known = list(values(said))
    told = {token for one in known if isinstance(one, str) for token in NUMBER.findall(one)}
    numbers = np.array([one for one in known if isinstance(one, int | float)], float)
    numbers = np.concatenate([numbers, 100 * numbers])
    tokens = set(NUMBER.findall(text_of(html)))
    assert len(tokens) > 50
    for token in tokens - told - {"100"}:  # "of 100 images"
        places = len(token.partition(".")[2])
        assert (np.abs(np.round(numbers, places) - float(token)) < 1e-9).any(), token


def test_the_page_needs_nothing_beside_it(inputs):
    html, _ = page_of(audit(inputs, risk=0.2, replicates=5))
    assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'none'" in html
    assert "<script" not in html and html.index("class=bars") < html.index("<details")
    addresses = re.findall(r'src="([^"]*)', html)
    assert addresses and all(one.startswith("data:image/png;base64,") for one in addresses)
    assert not re.findall(r"https?:|@import|url\(|<link|href", html)


def test_names_are_text(arrays, write):
    """Those of classes, sets, files and requirements, also in what is only said aloud."""
    evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>`\n* A sentence."
    arrays = {name: one for name, one in arrays.items() if not name.startswith("ood_")}
    arrays["class_names"] = np.array([f"{evil}{i}" for i in range(4)])
    arrays["files"] = np.array([f"{evil}{i}.png" for i in range(300)])
    inputs = read_outputs(write(arrays))
    unknown = Outputs(inputs.production.logits, inputs.production.features, np.full(170, -1))
    inputs = replace(inputs, ood={evil: unknown}, source=evil, note=evil)
    html, said = page_of(audit(inputs, risk=0.2, replicates=5))
    assert html.count("&lt;script&gt;alert(1)") > 10 and len(said["summary"]) == 5
    assert "<script" not in html and "<img src=x" not in html
    tags = re.findall(r"<[a-z]\w*(?:\s[^<>]*)?>", html)
    assert not [tag for tag in tags if "onerror" in re.sub(r'"[^"]*"', "", tag)]


def test_of_many_sets_the_worst_are_in_the_picture(inputs):
    """And it says that there are others, which a table has."""
    one = inputs.production
    sets = {f"set {i}": one.subset(slice(i, i + 40)) for i in range(10)}
    html, said = page_of(audit(replace(inputs, ood=sets), risk=0.2, replicates=5))
    drawn = re.findall(r"class=name>unknown: (set \d)<", html)
    accepted = said["thresholds"]["risk"]["ood_accepted"]
    assert len(drawn) == 8 and "Of the other sets fewer are accepted" in html
    left = [accepted[name] for name in sets if name not in drawn]
    assert max(left) <= min(accepted[name] for name in drawn)
    assert all(html.count(f"<td>{name}</td>") >= 1 for name in sets)


def test_pictures_of_the_surest_errors_are_shown(arrays, write, tmp_path):
    path = tmp_path / "red.png"
    Image.new("RGB", (20, 10), "red").save(path)
    inputs = read_outputs(write(arrays | {"files": np.array([str(path)] * 300)}))
    assert 'alt="The surest errors"' in page_of(audit(inputs, risk=0.2, replicates=5))[0]


def test_the_bars_are_what_the_rejector_does(inputs):
    audited = audit(inputs, risk=0.2, replicates=5)
    deployed = audited.thresholds[audited.deployed]
    known, pets, unlabelled = bars(audited)
    assert known["right"] + known["wrong"] == pytest.approx(deployed.coverage[0])
    assert known["wrong"] / (known["right"] + known["wrong"]) == pytest.approx(deployed.risk[0])
    assert pets["wrong"] == deployed.ood_accepted["pets_and_toys"] and pets["right"] == 0
    assert unlabelled["unsure"] == audited.rejector.accepts(inputs.production).mean()
    parts = ("right", "wrong", "unsure", "left")
    assert [sum(bar[name] for name in parts) for bar in bars(audited)] == pytest.approx([1] * 3)
    (alone,) = bars(audit(inputs, risk=0.001, replicates=5))
    assert alone["left"] == 0 and alone["right"] + alone["wrong"] == 1


def test_eleven_thresholds_are_shown_with_what_each_does(inputs):
    audited = audit(inputs, wish="coverage", coverage=0.85, replicates=5)
    rows, deployed = thresholds(audited), audited.thresholds["coverage"]
    assert len(rows) == 11 and rows[0]["coverage"] == 1
    (promised,) = [row for row in rows if row["promised"]]
    assert promised["threshold"] == deployed.value
    assert (promised["coverage"], promised["risk"]) == (deployed.coverage[0], deployed.risk[0])
    assert promised["ood_accepted"] == deployed.ood_accepted
    tenths = [row["coverage"] for row in rows if not row["promised"]]
    assert np.allclose(tenths, np.arange(10, 0, -1) / 10, atol=0.01)


def test_no_figure_is_left_open(inputs):
    before = plt.get_fignums(), dict(plt.rcParams)
    assert {"sure", "score", "accept"} <= set(figures(audit(inputs, risk=0.2, replicates=5)))
    assert (plt.get_fignums(), dict(plt.rcParams)) == before


def scaled(inputs, factor):
    """Return inputs with larger logits, and nothing else that would have to fit to them."""
    part = inputs.validation
    louder = Outputs(factor * part.logits, part.features[:, :0], part.labels)
    return replace(inputs, validation=louder, train=None, head=None, ood={}, production=None)


def twins(inputs, count=100):
    """Return inputs whose unknown images nothing can tell from known ones."""
    same = inputs.validation.subset(slice(0, count))
    return replace(inputs, ood={"twins": replace(same, labels=np.full(count, -1))})


def errorless(inputs):
    part = inputs.validation
    return replace(inputs, validation=replace(part, labels=part.predictions))


def guessing(inputs):
    labels = (inputs.validation.predictions + 1) % 4
    return replace(inputs, validation=replace(inputs.validation, labels=labels), head=None)


def moved(inputs):
    part = inputs.production
    features = part.features + 1.5 * (np.arange(6) == 5).astype(np.float32)
    return replace(inputs, production=replace(part, features=features), ood={})


STATES = {
    "a promise": (lambda i: i, {"risk": 0.2}, ["at most 20 % are wrong", "(pets_and_toys)"]),
    "a coverage": (lambda i: i, {"wish": "coverage"}, ["At least 90 % of images like these are"]),
    "a share": (lambda i: i, {"risk": 0.3, "unknown_share": 0.05}, [
        "as long as at most 5 % of the images are of such classes", "State a larger share"]),
    "too few": (lambda i: i, {"risk": 0.001}, [
        "No rejector is written: the wished risk of 0.1 % cannot be had, the smallest that can",
        "Bring more validation images, 5992 at the least, and audit again."]),
    "too few for a coverage": (lambda i: i, {"wish": "coverage", "coverage": 0.999}, [
        "the largest that can is 99.33 %.", "Wish for a smaller coverage, or bring more"]),
    "the other wish": (lambda i: i, {"risk": 0.001, "fallback": True}, [
        "In place of the wished risk the rejector has the threshold for the coverage"]),
    "too few of a mixture": (lambda i: i, {"risk": 0.01, "unknown_share": 0.05}, [
        "Bring more validation images and more unknown ones",
        "It takes 300 images in a mixture with 5 % of unknown ones"]),
    "nearly everything": (twins, {"risk": 0.6}, [
        "Do not rely on it yet, as it accepts nearly everything: wish for a smaller risk (`--risk ",
        "keep fewer of the images (`--coverage 0.9`, with which it accepts "]),
    "no unknown images": (lambda i: replace(i, ood={}), {"risk": 0.6}, [
        "as the model alone is right often enough", "bring images of unknown classes",
        "No set of unknown images was given"]),
    "most of a set": (twins, {"wish": "coverage"}, [
        "where images like twins turn up, most of which it accepts: wish for a smaller coverage."]),
    "nothing helps": (lambda i: twins(errorless(i), 300), {"risk": 0.1, "coverage": 0.999}, [
        "bring features or training images.", "Nothing: it makes no error on these images."]),
    "guesses": (guessing, {}, ["Wish for a larger risk", "no larger risk can be promised either"]),
    "too sure": (lambda i: scaled(i, 6), {"risk": 0.2}, [
        "It is too sure of itself", "Divide the logits by", "Without outputs of training images"]),
    "not sure enough": (lambda i: scaled(i, 0.1), {"risk": 0.2}, ["It is not sure enough"]),
    "probabilities": (lambda i: replace(i, level=False), {"risk": 0.2}, ["From probabilities"]),
    "a drift": (moved, {"risk": 0.2}, [
        "features differ.", "the promise is not about them", "state their share"]),
    "no drift": (lambda i: replace(i, production=i.validation), {"risk": 0.2}, [
        "No difference is shown", "Nothing shows that any of the 300 unlabelled images is of no"]),
    "strata": (lambda i: replace(i, strata=np.arange(300) % 290 // 145), {"risk": 0.3}, [
        "strata a risk of 30 % can be promised"]),
    "unreadable files": (lambda i: replace(i, unreadable={"train": tuple("abcdef")}), {}, [
        "6 files of train cannot be read as images: a, b, c, d, e, …."]),
    "few of a set": (lambda i: twins(i, 30), {"risk": 0.2}, ["Fewer than 40 images in twins"]),
    "groups": (lambda i: replace(i, groups=np.arange(300) // 2), {"risk": 0.3}, [
        "150 images that it has not learnt from", "one of each group, drawn by chance from 300"]),
}  # fmt: skip


@pytest.mark.parametrize("state", STATES)
def test_whatever_was_measured_is_said(inputs, state):
    """Every branch of the template; and no text is left as templates leave it where they err."""
    change, arguments, expected = STATES[state]
    audited = audit(change(inputs), replicates=5, **arguments)
    numbers = audited.as_dict()
    parts = [(one["sentence"], *one["details"], one["advice"]) for one in numbers["findings"]]
    sentences = [
        *numbers["summary"],
        *map(str, audited.doubts),
        *(one for part in parts for one in part),
    ]
    assert len(numbers["summary"]) == 5 and all(sentences)
    for fragment in expected:
        assert any(fragment in sentence for sentence in sentences), fragment
    for sentence in sentences:
        assert not re.search(r"[{}]| [,;:.](?!\w)|  |\.\.(?!\.)", sentence), sentence
