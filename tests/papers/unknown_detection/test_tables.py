"""Compositions of unions, and tables next to the paper's numbers."""

import numpy as np
import pytest

from helpers import metrics
from helpers.papers.unknown_detection import composition
from helpers.papers.unknown_detection.detectors import Answer
from helpers.papers.unknown_detection.experiment import measure
from helpers.report import published


def answers(sizes):
    """Return answers that are correct for some ID images, with random confidences."""
    generator = np.random.default_rng(0)
    return {
        name: Answer(
            generator.random(size), (generator.random(size) < 0.7) & np.array(name == "test")
        )
        for name, size in sizes.items()
    }


def rows(sizes, data_set="cifar100"):
    far = [name for name in sizes if name not in ("test", "near")]
    weights = lambda name, images: np.ones((2, images), np.uint16)  # noqa: E731
    return list(measure(answers(sizes), far, weights, data_set))


def values(sizes, data_set="cifar100"):
    return {(row["test_set"], row["metric"]): row["value"] for row in rows(sizes, data_set)}


@pytest.mark.parametrize(("correct", "images"), [(0, 5), (3, 5), (5, 5), (2911, 23_640)])
def test_the_least_area_is_that_of_a_perfect_ranking(correct, images):
    perfect = np.arange(images) < correct
    area = metrics.aurc(perfect.astype(float) - 1e-9 * np.arange(images), perfect)
    least = composition.least_aurc(np.array([correct]), images)[0]
    assert least == pytest.approx(area, abs=1e-12)


def test_a_union_is_weighted_to_the_papers_shares():
    """As if each far image were there as often as it counts; nothing changes the paper's union."""
    paper = {"test": 400, "near": 600, "svhn": 400, "lsun_fix": 400, "dtd": 564}
    same = values(paper)
    assert same["paper_union", "aurc"] == pytest.approx(same["union", "aurc"], rel=2e-3)
    sizes = {"test": 400, "near": 600, "svhn": 40, "lsun_fix": 50, "dtd": 47}
    times = {"test": 1, "near": 1, "svhn": 10, "lsun_fix": 8, "dtd": 12}
    given, found = answers(sizes), values(sizes)
    repeated = [
        np.concatenate([np.repeat(getattr(given[name], field), n) for name, n in times.items()])
        for field in ("confidence", "correct")
    ]
    expected = metrics.aurc(*repeated)
    assert found["paper_union", "aurc"] == pytest.approx(expected, rel=2e-3)
    assert abs(found["union", "aurc"] - expected) > 0.05


def test_a_far_set_without_counterpart_and_a_data_set_without_counterpart():
    sizes = {"test": 40, "near": 60, "mazes": 30}
    assert ("paper_union", "aurc") not in values(sizes, "digits")
    counts = composition.counts(sizes, "cifar100")
    assert counts == {"test": 5000, "near": 5000, "mazes": 22_733}


def test_the_excess_is_that_of_the_images_themselves(table_of):
    sizes = {"test": 200, "near": 100, "svhn": 50}
    keep = ("test_set", "metric", "value", "bootstrap", "images")
    records = [
        {name: row[name] for name in keep} | {"run": 0, "method": "baseline"}
        for row in rows(sizes)
        if row["metric"] in ("aurc", "accuracy")
    ]
    table = table_of(records, paper="unknown_detection", data_set="cifar100")
    excess = composition.with_excess(table).query("metric == 'eaurc'").set_index("test_set")
    assert set(excess.index) == {"test", "near", "far", "union", "paper_union"}
    parts = answers(sizes).values()
    union = [np.concatenate([getattr(part, field) for part in parts])
             for field in ("confidence", "correct")]  # fmt: skip
    assert excess.loc["union", "value"] == pytest.approx(metrics.eaurc(*union), abs=1e-12)
    assert np.allclose(excess.loc["union", "bootstrap"], excess.loc["union", "value"])
    assert len(excess.loc["union", "row"].split()) == 2


def test_the_printed_excess_by_hand():
    """At 74.4 % correct of 4,000 among 23,640, an area of 735.5 is 122 above the least possible."""
    excess = composition.printed(published.load("unknown_detection")).query("metric == 'eaurc'")
    excess = excess[excess["data_set"] == "CIFAR-40"]
    cells = 1000 * excess.pivot_table("value", "method", "test_set")
    assert cells.loc["baseline"].round().to_dict() == {"paper_union": 122, "test": 39, "union": 122}
    assert cells["union"].idxmin() == "outlier_exposure"  # by AURC it is Deep Ensemble
    assert excess["std"].isna().all()
