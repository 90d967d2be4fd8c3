"""The figures in which a reader moves something say what the metrics say, at every position."""

import json
import re
from pathlib import Path

import explore
import numpy as np
import pytest

from helpers import metrics, scores
from helpers.metrics.calibration import calibration_error
from helpers.scores.calibration import confidences, fit_temperature
from known_unknowns.bench import FeaturePack
from known_unknowns.chapters import CHAPTERS

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
def told(pack):
    """Return the sentences of each figure, position by position."""
    found = {}
    for name, page in explore.write(pack).items():
        (text,) = re.findall(r'<script type="application/json">(.*?)</script>', page)
        found[name] = json.loads(text)["sentences"]
        assert 'id="cursor"' in page and "http" not in page.replace("http://www.w3.org", "")
    return found


def test_each_chapter_has_one_and_shows_it(told):
    assert set(told) == set(CHAPTERS)
    for name, sentences in told.items():
        assert f"```{{include}} reference/{name}_explore.txt\n" in (BOOK / f"{name}.md").read_text()
        assert len(sentences) > 10 and len(set(sentences)) > 5, name
        assert "nan" not in " ".join(sentences)


def test_sentences_are_those_of_the_metrics(told, pack):
    correct, unknown = pack.test.correct, sum(map(len, (pack.near | pack.far).values()))
    msp, energy = (scores.create(name).score_samples(pack.test) for name in ("msp", "energy"))
    gap = metrics.aurc(energy, correct) - metrics.aurc(msp, correct)
    assert f"Energy {gap:.3f}" in told["synthesis"][0]
    share = (unknown + (~correct).sum()) / (unknown + len(correct))
    assert told["unknown_detection"][-1].startswith(f"coverage 1: risk {share:.3f}, ")
    assert "InAsIn 1.000, InAsOut 0.000, OutAsIn 1.000" in told["uimnet"][0]
    rejected = float(re.search(r"correct, rejected ([\d.]+)", told["human_centric"][0])[1])
    assert rejected < 0.01
    fitted = fit_temperature(pack.test.logits, pack.test.labels)
    error = calibration_error(confidences(pack.test.logits, fitted), correct)
    assert f"known classes {error:.3f}" in told["openset_calibration"][explore.STEPS // 2]


def test_the_line_is_best_where_it_was_learned(told):
    errors = {one.split(":")[0][-4:]: float(one[:-1].split()[-1]) for one in told["gscore"]}
    assert errors[" 0.5"] == min(errors.values())
