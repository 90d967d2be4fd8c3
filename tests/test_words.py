"""Plain English: how often hard words are in texts and docstrings."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
GIVEN = yaml.safe_load((ROOT / "tests/words.yaml").read_text("utf-8"))
HARD = re.compile(rf"\b({'|'.join(GIVEN['words'])})\b", re.IGNORECASE)


@pytest.mark.parametrize("files", GIVEN["most"])
def test_hard_words_are_rare(files):
    text = " ".join(path.read_text("utf-8") for path in ROOT.glob(files))
    assert 1000 * len(HARD.findall(text)) <= GIVEN["most"][files] * len(text.split())
