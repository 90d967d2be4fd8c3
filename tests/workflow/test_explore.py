"""The figures in which a reader moves something say what the metrics say, at every position."""

import json
import re

import explore
import pytest

from helpers import metrics, scores
from helpers.metrics.calibration import calibration_error
from helpers.modules import ROOT
from helpers.scores.calibration import confidences, fit_temperature
from known_unknowns.bench import FeaturePack
from synthesis.chapters import CHAPTERS

BOOK = ROOT / "book"


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
    assert f"Energy {100 * gap:.1f} %" in sentences["synthesis"][0]
    share = (unknown + (~correct).sum()) / (unknown + len(correct))
    assert sentences["unknown_detection"][-1].endswith(f"risk (both) {100 * share:.1f} %.")
    assert "InAsIn 100.0 %, InAsOut 0.0 %, OutAsIn 100.0 %" in sentences["uimnet"][0]
    assert "correct but rejected 0.0 %" in sentences["human_centric"][0]
    fitted = fit_temperature(pack.test.logits, pack.test.labels)
    error = calibration_error(confidences(pack.test.logits, fitted), correct)
    start = explore.STEPS // 4
    assert f"known images {100 * error:.1f} %" in sentences["openset_calibration"][start]
    # the distance has no sign: the same Gscore for unknown images below and above the known images
    below, above = sentences["gscore"][0], sentences["gscore"][-1]
    assert below.split(", ")[0].split()[-1] == above.split(", ")[0].split()[-1]
    assert "AUROC 96.2 %, FPR95 19.2 %" in below and "AUROC 3.8 %, FPR95 100.0 %" in above
    assert "AUROC 50.0 %" in sentences["gscore"][explore.STEPS // 2]
