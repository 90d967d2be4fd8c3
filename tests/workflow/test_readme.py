"""README and front picture show what the committed results say."""

import front
import glance
import readme

from helpers.papers import PAPERS

README = readme.ROOT / "README.md"


def test_the_readmes_are_up_to_date():
    """That of the repository, and that of the committed results."""
    text = README.read_text(encoding="utf-8")
    assert readme.filled(text) == text
    assert (readme.RESULTS / "README.md").read_text(encoding="utf-8") == readme.details()


def test_the_picture_counts_the_verdicts_of_the_ledger():
    verdicts = front.stored()["verdicts"]
    assert verdicts == front.count_verdicts(glance.largest(readme.judged()))
    assert sum(verdicts.values()) == sum(len(PAPERS[name].claims.CLAIMS.claims)
                                         for name in glance.TITLES)  # fmt: skip
