"""Compositions of unions, and tables next to the paper's numbers."""

import numpy as np
import pytest

from helpers import metrics
from helpers.papers.unknown_detection.detectors import Answer
from helpers.papers.unknown_detection.experiment import measure


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
