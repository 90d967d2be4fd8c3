"""The figures in which a reader moves something say what the metrics say, at every position."""

import json
import re
from pathlib import Path

import explore
import pytest

from helpers import metrics, scores
from helpers.metrics.calibration import calibration_error
from helpers.scores.calibration import confidences, fit_temperature
from known_unknowns.bench import FeaturePack
from synthesis.chapters import CHAPTERS

BOOK = Path(__file__).resolve().parents[2] / "book"


@pytest.fixture(scope="module")
def pack():
    return FeaturePack.read(explore.EMBEDDED / f"{explore.NETWORK}.safetensors")


@pytest.fixture(scope="module")
def sentences(pack):
    """Return the sentences of each figure, position by position."""
    sentences = {}
    for name, page in explore.write().items():
        (text,) = re.findall(r'<script type="application/json">(.*?)</script>', page)
        sentences[name] = json.loads(text)["sentences"]
        assert 'id="cursor"' in page and "http" not in page.replace("http://www.w3.org", "")
        assert f"```{{include}} reference/{name}_explore.txt\n" in (BOOK / f"{name}.md").read_text()
        assert len(set(sentences[name])) > 5 and "nan" not in text
    assert set(sentences) == set(CHAPTERS)
    return sentences


def test_sentences_are_those_of_the_metrics(sentences, pack):
    correct, unknown = pack.test.correct, sum(map(len, (pack.near | pack.far).values()))
    msp, energy = (scores.create(name).score_samples(pack.test) for name in ("msp", "energy"))
    gap = metrics.aurc(energy, correct) - metrics.aurc(msp, correct)
    assert f"Energy {gap:.3f}" in sentences["synthesis"][0]
    share = (unknown + (~correct).sum()) / (unknown + len(correct))
    assert sentences["unknown_detection"][-1].startswith(f"coverage 1: risk {share:.3f}, ")
    assert "InAsIn 1.000, InAsOut 0.000, OutAsIn 1.000" in sentences["uimnet"][0]
    assert "correct, rejected 0.00" in sentences["human_centric"][0]
    fitted = fit_temperature(pack.test.logits, pack.test.labels)
    error = calibration_error(confidences(pack.test.logits, fitted), correct)
    assert f"known classes {error:.3f}" in sentences["openset_calibration"][explore.STEPS // 2]
    # the distance has no sign: the same Gscore for unknown images below and above the known images
    below, above = sentences["gscore"][0], sentences["gscore"][-1]
    assert below.split(", ")[0].split()[-1] == above.split(", ")[0].split()[-1]
    assert "AUROC 1.000, FPR95 0.000" in below and "AUROC 0.000, FPR95 1.000" in above
    assert "AUROC 0.500" in sentences["gscore"][explore.STEPS // 2]
