"""The rule that rejects every image, next to the scores of committed results."""

import pandas as pd
import pytest

from helpers.papers.human_centric import tables
from synthesis import without_score


def test_the_rule_of_a_table_is_the_mean_accuracy_at_the_papers_weights(table_of):
    """Test images, input-shifted and label-shifted sets count 1:3:4."""
    records = []
    for test_set, share in (("test", 0.8), ("fog", 0.6), ("snow", 0.4)):
        records.append(
            {"method": "network", "metric": "accuracy", "test_set": test_set, "value": share}
        )
    for test_set, share in (("test", 0.1), ("input-shifted", 0.3), ("label-shifted", 0.5)):
        records.append({"method": "msp", "metric": "der99", "test_set": test_set, "value": share})
    table = table_of([{"backbone": "resnet8"} | each for each in records], paper="human_centric")
    (case,) = tables.weighted_cases(table).to_dict("records")
    assert case["msp"] == pytest.approx((0.1 + 3 * 0.3 + 4 * 0.5) / 8)
    assert case[tables.REJECT] == pytest.approx((0.8 + 3 * 0.5) / 8)
    assert case[tables.ACCEPT] == pytest.approx(1 - case[tables.REJECT])


def test_a_network_counts_as_ahead_only_with_a_rate_below_the_rule():
    """Equal rates are not ahead."""
    cases = pd.DataFrame({"msp": [0.4, 0.5], "knn": [0.5, 0.3], tables.REJECT: 0.4}, ["a", "b"])
    compared = without_score.compare(cases)
    assert compared.ahead == ("b",)
    assert (compared.lowest, compared.lowest_rate) == ("knn", 40.0)


def test_the_overview_has_both_thresholds_of_both_metrics():
    """Whether scores are better than the rule depends on the threshold."""
    shown = without_score.overview()
    of_ours = shown.loc[["CIFAR-10, paper's threshold", "CIFAR-10, fresh threshold"]]
    assert [*of_ours["scores below the rule"]] == ["20 of 22", "6 of 22", "11 of 22", "0 of 22"]
    assert [*shown.iloc[1, :2]] == ["31.0", "31.5"]  # by the paper's own DER99
    # the page of figures names the paper's networks on which no score is better
    printed = without_score.rates(None, "der95").index
    behind = [
        {*printed} - {*without_score.compare(without_score.rates(None, metric)).ahead}
        for metric in tables.METRICS
    ]
    assert behind == [{"MobileNetV2"}, {"VGG19", "RN50", "MobileNetV2"}]


def test_the_figure_has_the_networks_of_the_paper_and_ours():
    """One row for each network, one mark of the rule in each; by DER95 and DER99."""
    axes = without_score.draw()
    assert [len(ax.get_yticks()) for ax in axes.flat] == [8, 9, 9] * 2
