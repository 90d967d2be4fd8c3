"""The README shows what the committed results say."""

import doctest
from pathlib import Path

import readme

from helpers.papers.human_centric.roles import PAPER_METHODS
from helpers.report import results

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_readmes_are_up_to_date():
    """That of the repository, and that of the committed results."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.filled(text) == text
    assert (ROOT / "results" / "README.md").read_text(encoding="utf-8") == readme.details()


def test_only_what_is_between_the_markers_changes():
    text = f"before\n{readme.START}\nold\n{readme.END}\nafter\n"
    renewed = readme.filled(text)
    assert renewed.startswith(f"before\n{readme.START}\n")
    assert renewed.endswith(f"{readme.END}\nafter\n")
    assert "old" not in renewed.split(readme.START)[1].split(readme.END)[0].splitlines()


def test_examples():
    assert doctest.testmod(readme).failed == 0


def test_error_rates_appear_with_the_tables_that_are_committed(tmp_path, monkeypatch):
    """Nothing without them; means, ranks and counts by hand, and the rule that accepts all."""
    monkeypatch.setattr(readme, "RESULTS", tmp_path)
    assert readme.errors() == []
    records = []
    for model, accuracy, best in (("resnet8", 0.75, "msp"), ("vit4", 0.25, "vim")):
        own = dict(tier="small_cpu", paper="human_centric", data_set="cifar10", backbone=model)
        own |= dict(run=0, calibration="", images=10, bootstrap=[])
        right = dict(method="network", metric="accuracy", test_set="test", value=accuracy)
        records.append(own | right)
        for method in PAPER_METHODS:
            error = dict(method=method, metric="der99", value=0.25 if method == best else 0.5)
            records += [own | error | dict(test_set=one) for one in ("test", "mazes", "average")]
            held = dict(variant="held-out threshold", test_set="average", value=0.625)
            records.append(own | error | held)
    made = results.provenance({}, seed=0, device="cpu", seconds=1.0)
    path = tmp_path / "small_cpu" / "human_centric.parquet"
    results.write(results.tidy(records, made), path)
    (text,) = readme.errors()
    assert "2 networks trained here" in text and "right on 25 to 75 %" in text
    assert "label-shifted: mazes." in text
    assert "| MSP | 37.5 (31.5) | 3.2 (3.2) | 1 (3) | 62.5 |" in text
    assert "| DICE | 50.0 (60.0) | 5.5 (7.9) | 0 (0) | 62.5 |" in text
    assert "| accept everything | 75.0 |  |  |  |" in text  # (1/4 + 1) / 2 and (3/4 + 1) / 2
