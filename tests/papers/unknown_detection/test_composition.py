import numpy as np
import pandas as pd
import pytest

from helpers import metrics
from helpers.papers.unknown_detection import composition, tables
from helpers.papers.unknown_detection.detectors import Answer
from helpers.papers.unknown_detection.experiment import measure
from helpers.report import published


def answers(sizes, seed=0):
    """Answers that are right for some of the ID images, and of no use otherwise."""
    generator = np.random.default_rng(seed)
    return {
        name: Answer(
            generator.random(size), (generator.random(size) < 0.7) & np.array(name == "test")
        )
        for name, size in sizes.items()
    }


def measured(sizes, far, data_set="cifar100"):
    found = measure(answers(sizes), far, lambda name, n: np.ones((2, n), np.uint16), data_set)
    return {(row["test_set"], row["metric"]): row["value"] for row in found}


def test_the_least_area_is_that_of_a_perfect_ranking():
    for right, images in ((0, 5), (3, 5), (5, 5), (2911, 23_640)):
        perfect = np.arange(images) < right
        area = metrics.aurc(perfect.astype(float) - 1e-9 * np.arange(images), perfect)
        assert composition.least_aurc(np.array([right]), images)[0] == pytest.approx(
            area, abs=1e-12
        )


def test_the_papers_own_composition_changes_nothing():
    sizes = {"test": 400, "near": 600, "svhn": 400, "lsun_fix": 400, "dtd": 564}
    found = measured(sizes, ["svhn", "lsun_fix", "dtd"])
    assert found["paper_union", "aurc"] == pytest.approx(found["union", "aurc"], rel=2e-3)


def test_another_composition_is_brought_to_the_papers():
    """As if each far image were there as often as it counts."""
    sizes = {"test": 400, "near": 600, "svhn": 40, "lsun_fix": 50, "dtd": 47}
    far = ["svhn", "lsun_fix", "dtd"]
    given, found = answers(sizes), measured(sizes, far)
    times = {"test": 1, "near": 1, "svhn": 10, "lsun_fix": 8, "dtd": 12}
    confidence = np.concatenate([np.repeat(given[name].confidence, n) for name, n in times.items()])
    correct = np.concatenate([np.repeat(given[name].correct, n) for name, n in times.items()])
    expected = metrics.aurc(confidence, correct)
    assert found["paper_union", "aurc"] == pytest.approx(expected, rel=2e-3)
    assert abs(found["union", "aurc"] - expected) > 0.05


def test_what_stands_for_none_of_the_papers_has_no_such_number():
    sizes = {"test": 40, "near": 60, "mazes": 30}
    assert ("paper_union", "aurc") not in measured(sizes, ["mazes"], "digits")
    even = composition.counts(sizes, "cifar100")  # one far set that stands for none
    assert even == {"test": 5000, "near": 5000, "mazes": 22_733}


def test_the_excess_is_that_of_the_images_themselves(table_of):
    given = answers({"test": 200, "near": 100, "svhn": 50})
    rows = [
        row
        for row in measure(given, ["svhn"], lambda name, n: np.ones((3, n), np.uint16), "cifar100")
        if row["metric"] in ("aurc", "accuracy")
    ]
    keep = ("test_set", "metric", "value", "bootstrap", "images")
    records = [
        {name: row[name] for name in keep} | {"run": 0, "method": "baseline"} for row in rows
    ]
    table = table_of(records, paper="unknown_detection", data_set="cifar100")
    excess = composition.with_excess(table).query("metric == 'eaurc'").set_index("test_set")
    assert set(excess.index) == {"test", "near", "far", "union", "paper_union"}
    union = [np.concatenate([getattr(given[name], what) for name in given]) for what in
             ("confidence", "correct")]  # fmt: skip
    assert excess.loc["union", "value"] == pytest.approx(metrics.eaurc(*union), abs=1e-12)
    assert np.allclose(excess.loc["union", "bootstrap"], excess.loc["union", "value"])
    assert len(excess.loc["union", "row"].split()) == 2  # the rows behind it
    shown = tables.areas(table)
    assert shown.loc[("ours", "baseline"), ("eaurc", "union")] == round(
        1000 * excess.loc["union", "value"]
    )
    assert shown.loc[("paper", "ensemble"), ("aurc", "union")] == 693


def test_the_printed_excess_tells_more_than_the_printed_area():
    """At 74.4 % right of 4,000 among 23,640, an area of 735.5 is 122 above the least possible."""
    numbers = composition.printed(published.load("unknown_detection"))
    own = numbers.query("metric == 'eaurc' and data_set == 'CIFAR-40'")
    cells = 1000 * own.pivot_table("value", "method", "test_set")
    assert cells.loc["baseline"].round().to_dict() == {"paper_union": 122, "test": 39, "union": 122}
    assert cells["union"].idxmin() == "outlier_exposure"  # by AURC it is Deep Ensemble
    assert own["std"].isna().all()
    twice = numbers.query("test_set == 'paper_union' and metric == 'aurc'")["value"]
    assert sorted(twice) == sorted(
        numbers.query("test_set == 'union' and metric == 'aurc'")["value"]
    )
    assert isinstance(numbers, pd.DataFrame)
