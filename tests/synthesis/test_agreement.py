"""A build agrees with the committed numbers that lie in its intervals."""

import numpy as np
import pandas as pd
import pytest

from helpers import papers
from helpers.tables import results
from synthesis import agreement, chapters


def table(tier: str, data_set: str, values: dict, spread: float = 0.04) -> pd.DataFrame:
    replicates = np.linspace(-1, 1, 41)
    records = [
        {
            "tier": tier, "paper": "unknown_detection", "data_set": data_set, "metric": "auroc",
            "backbone": "resnet20", "run": 0, "method": "baseline", "images": 100,
            "test_set": test_set, "value": value, "bootstrap": value + spread * replicates,
        }
        for test_set, value in values.items()
    ]  # fmt: skip
    origin = {"parameters": "0" * 12, "code": "c", "versions": "{}", "device": "cpu"}
    return results.tidy(records, origin | {"seed": 0, "seconds": 1.0})


BUILD = table("mini", "cifar100_mini", {"near": 0.7, "svhn_mini": 0.9, "noise": 0.5, "far": 0.6})
WHOLE = table("small", "cifar100", {"near": 0.73, "svhn": 0.8, "textures": 0.6, "far": 0.9})


@pytest.fixture
def parameters(tmp_path, monkeypatch):
    """Return parameters whose committed table is the made-up one."""
    root = tmp_path / "repository"
    (root / "results" / "small").mkdir(parents=True)
    results.write(WHOLE, root / "results" / "small" / "unknown_detection.parquet")
    parameters = papers.load("unknown_detection", "mini", finished="small")
    monkeypatch.setattr(agreement, "project_root", lambda: root)
    return parameters


def test_a_number_agrees_if_the_interval_of_the_slice_contains_it():
    common = agreement.agreement(BUILD, WHOLE, excluded=["far"]).set_index("test_set")
    assert common["agrees"].to_dict() == {"near": True, "svhn": False}
    assert common.loc["near", ["low", "high"]].tolist() == pytest.approx([0.662, 0.738], abs=1e-4)


@pytest.mark.parametrize("replicates", [[], [1.0, 1.0, 1.0]])
def test_a_number_without_an_interval_is_not_compared(replicates):
    build = BUILD.assign(bootstrap=[replicates] * len(BUILD))
    assert agreement.agreement(build, WHOLE).empty


def test_a_report_names_the_exceptions_and_what_is_not_compared(parameters, tmp_path):
    options = {"excluded": ["far"], "reasons": {"svhn": "A slice of digits.", "odin": "No."}}
    text = agreement.report(parameters, BUILD, tmp_path, **options)
    assert text.startswith("**1 of 2 committed numbers lie in the 95 % intervals of your build.")
    lines = text.splitlines()
    assert "| baseline | auroc | svhn | 1 | 0.062 |" in lines
    assert "* `svhn`: A slice of digits." in lines and "odin" not in text
    assert "Not compared: `far`" in text
    assert len(pd.read_parquet(tmp_path / agreement.FILE)) == 2


def test_a_report_names_the_parameters_that_a_reader_changed(parameters, tmp_path):
    changed = parameters.replace(passes=3, tails=[5])
    text = agreement.report(changed, BUILD, tmp_path)
    assert "You changed" in text and "`passes` from 5 to 3" in text
    assert "`tails` from [2] to [5]" in text
    usual = papers.load("unknown_detection", "mini")
    assert agreement.changes(usual) == []
    assert agreement.changes(chapters.load("synthesis", "mini")) == []  # a chapter without a paper


@pytest.mark.parametrize("case", ["trained in the build", "other data", "other tier"])
def test_a_build_without_committed_numbers_says_so(parameters, tmp_path, case):
    agreement.report(parameters, BUILD, tmp_path)
    changes = {"trained in the build": {"finished": None}, "other tier": {"finished": "paper"}}
    given = parameters.replace(larger_tiers=[], **changes.get(case, {}))
    build = table("mini", "cifar10_mini", {"near": 0.7}) if case == "other data" else BUILD
    text = agreement.report(given, build, tmp_path)
    assert text == "No number of this build can be compared with a committed number."
    assert not (tmp_path / agreement.FILE).exists()


def test_many_groups_of_exceptions_are_counted_and_the_largest_shown():
    sets = {f"set {number}": 0.5 for number in range(12)}
    far_away = {name: 0.7 + 0.01 * number for number, name in enumerate(sets)}
    common = agreement.agreement(table("mini", "c", sets), table("small", "c", far_away))
    groups = agreement.exceptions(common)
    assert len(groups) == 12 and groups["test set"][0] == "set 11"
    assert groups["largest distance"][0] == "0.27"


def test_the_whole_build_counts_all_chapters_and_can_fail(parameters, tmp_path):
    assert "counts how many committed numbers" in agreement.whole_build(tmp_path)["agreement"]
    agreement.report(parameters, BUILD, tmp_path / "unknown_detection", excluded=["far"])
    wrong = BUILD.assign(value=0.1, bootstrap=[[0.1, 0.11]] * len(BUILD))
    agreement.report(parameters, wrong, tmp_path / "without_labels")
    texts = agreement.whole_build(tmp_path)
    assert texts["agreement"].strip() == (
        "**1 of 5 committed numbers lie in the 95 % intervals of your build.**"
    )
    assert "| Without labels | 0 | 3 |" in texts["agreements"]
    assert "| 1 | 2 |" in texts["agreements"]
