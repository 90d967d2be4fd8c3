"""The figures in which a reader moves something say what the metrics say, at every position."""

import doctest
import json
import re
from pathlib import Path

import explore
import numpy as np
import pytest

from helpers import metrics, scores
from helpers.papers import PAPERS
from known_unknowns.bench import FeaturePack
from known_unknowns.guarantees import risk_threshold

BOOK = Path(__file__).resolve().parents[2] / "book"


@pytest.fixture(scope="module")
def pack():
    """Return some images of the pack that comes along."""
    whole = FeaturePack.read(explore.EMBEDDED / f"{explore.NETWORK}.safetensors")
    part = lambda one, count: one.subset(np.arange(count))  # noqa: E731
    sides = [
        {name: part(one, 60) for name, one in list(each.items())[:4]}
        for each in (whole.near, whole.far)
    ]
    first = part(whole.train, 1000), part(whole.test, 400)
    return FeaturePack(whole.name, whole.id_set, whole.head, *first, *sides)


@pytest.fixture(scope="module")
def said(pack):
    """Return what each figure says, position by position."""
    pages = explore.write(pack)
    found = {}
    for name, page in pages.items():
        (text,) = re.findall(r'<script type="application/json">(.*?)</script>', page)
        found[name] = json.loads(text)
    return found


def test_examples():
    assert doctest.testmod(explore).failed == 0


def test_each_chapter_has_one_and_shows_it(said):
    assert set(said) == {*PAPERS, "audit"}
    for name, own in said.items():
        assert f"```{{include}} reference/{name}_explore.txt\n" in (BOOK / f"{name}.md").read_text()
        assert len(own["said"]) > 10 and len(set(own["said"])) > 5, name
        assert "nan" not in " ".join(own["said"])


def test_sentences_are_those_of_the_metrics(said, pack):
    sure, right = scores.create("msp").score_samples(pack.test), pack.test.correct
    own = said["audit"]
    largest = risk_threshold(sure, right, risk=1.5 * (~right).mean())
    assert f"are accepted: {explore.percent(largest.coverage)} of" in own["said"][-1]
    assert "cannot be promised" in own["said"][0]
    alone = metrics.aurc(scores.create("energy").score_samples(pack.test), right)
    assert f"{alone:.3f}" in said["synthesis"]["said"][0]
    last = said["unknown_detection"]["said"][-1]
    unknown = sum(map(len, (pack.near | pack.far).values()))
    share = (unknown + (~right).sum()) / (unknown + len(right))
    assert f" 100.0 % of the images are accepted. Of these {explore.percent(share)}" in last
    first = said["uimnet"]["said"][0]
    assert "InAsIn 100.0 %, InAsOut 0.0 %, OutAsIn 100.0 %" in first
    low = said["human_centric"]["said"][0]
    rejected = float(re.search(r", ([\d.]+) % of the right answers", low).group(1))
    assert rejected < 1
    one = said["openset_calibration"]
    at = one["value"].index("1.00")
    assert (
        f"{100 * metrics.ece(pack.test.probabilities, pack.test.labels):.1f} %" in one["said"][at]
    )


def test_the_line_is_best_where_it_was_learnt(said):
    own = said["gscore"]
    errors = [float(re.search(r"of ([\d.]+) points", one).group(1)) for one in own["said"]]
    assert errors[own["value"].index("50.0 %")] == min(errors)
