import numpy as np
import pytest

from helpers.metrics import auroc, fpr_at_tpr
from helpers.outputs import Head, Outputs
from helpers.papers.human_centric import parity
from helpers.scores.base import create

NETWORK = "densenet100.dice_cifar100"
SHOWN = ["metric", "positive"]


def made(count, shift, seed):
    """Return outputs of a made-up network of 5 classes with 8 features."""
    generator = np.random.default_rng(seed)
    labels = np.arange(count) % 5
    features = np.abs(generator.normal(size=(count, 8))).astype(np.float32)
    features[np.arange(count), labels] += shift
    return Outputs(features @ np.eye(8, 5, dtype=np.float32), features, labels)


@pytest.fixture(scope="module")
def groups():
    head = Head(np.eye(5, 8, dtype=np.float32), np.zeros(5, np.float32))
    return {"known": made(400, 3, 0), "train": made(300, 3, 1), "head": head}


@pytest.fixture(scope="module")
def rows(groups):
    unknown = {"dtd_subset": made(150, 1, 2), "mnist": made(50, 0, 3)}
    return parity.compare(NETWORK, unknown=unknown, replicates=50, **groups)


def test_ours_is_what_the_metrics_say_and_lies_in_its_interval(rows, groups):
    own = rows.set_index(["score", *SHOWN])
    pair = [create("energy").score_samples(one) for one in (groups["known"], made(150, 1, 2))]
    assert own.loc[("energy", "auroc", ""), "ours"] == auroc(*pair)
    assert own.loc[("energy", "fpr95", "known"), "ours"] == fpr_at_tpr(*pair)
    assert (rows["low"] <= rows["ours"]).all() and (rows["ours"] <= rows["high"]).all()
    assert (rows["low"] < rows["high"]).mean() > 0.9


def test_what_is_printed_for_the_network_stands_beside(rows):
    own = rows.set_index(["score", *SHOWN])
    assert own.loc[("energy", "auroc", ""), "printed"] == 0.7104
    assert own.loc[("energy", "fpr95", "known"), "printed"] == 0.8449
    assert "issues/2" in own.loc[("energy", "auroc", ""), "source"]
    assert own.loc[("msp", "auroc", ""), "source"] == ""


def test_sets_that_nobody_has_printed_are_left_out(rows, groups):
    assert set(rows["data_set"]) == {"dtd_subset"} and set(rows["ood_set"]) == {"textures"}
    with pytest.raises(ValueError, match=r"unknown: one of textures, .* expected, got \['mnist'\]"):
        parity.compare(NETWORK, unknown={"mnist": made(50, 0, 3)}, **groups)


def test_scores_that_learn_need_training_images(groups):
    unknown = {"svhn": made(60, 1, 4)}
    found = parity.compare(NETWORK, groups["known"], unknown, replicates=5)
    assert set(found["score"]) == {"msp", "energy"}
    whole = parity.compare(NETWORK, unknown=unknown, replicates=5, **groups)
    assert {"dice", "react", "mahalanobis"} <= set(whole["score"])


def test_the_other_rate_is_the_one_with_the_groups_exchanged(groups, monkeypatch):
    """As Outlier Exposure prints it: its interval holds the number too."""
    numbers = parity.published_scores()
    rates = numbers["metric"].eq("fpr95") & numbers["network"].eq(NETWORK)
    monkeypatch.setattr(
        parity, "published_scores", lambda: numbers.assign(
            positive=numbers["positive"].where(~rates, "unknown")
        ),
    )  # fmt: skip
    unknown = made(150, 1, 2)
    rows = parity.compare(NETWORK, groups["known"], {"textures": unknown}, replicates=50)
    own = rows.set_index(["score", *SHOWN]).loc[("energy", "fpr95", "unknown")]
    pair = [create("energy").score_samples(one) for one in (groups["known"], unknown)]
    assert own["ours"] == fpr_at_tpr(*pair, positive="unknown") and own["printed"] == 0.8449
    assert own["low"] <= own["ours"] <= own["high"]


def test_the_table_says_which_sets_are_a_part(rows):
    frame = parity.table(rows).frame()
    assert frame.index.names == ["network", "set", "score"]
    (first, *_), *_ = frame.index
    assert frame.index[0][1] == "textures (dtd_subset, a part)" and first == NETWORK
    energy = frame.xs("Energy", level="score").iloc[0]
    assert energy[("AUROC ↑", "printed")] == "71.04" and "(" in energy[("AUROC ↑", "here")]
    assert "–" in frame.to_numpy()
