import re

import pytest

from helpers import scores
from helpers.files import project_root
from helpers.networks import published
from helpers.networks.published_scores import published_scores


@pytest.fixture(scope="module")
def printed():
    return published_scores()


def test_each_number_is_one_of_a_network_a_score_and_a_paper_that_are_known(printed):
    keys = re.findall(r"^@\w+\{(\w+),", (project_root() / "book/references.bib").read_text(), re.M)
    assert set(printed["paper"]) <= set(keys)
    assert set(printed["score"]) <= set(scores.names())
    assert set(printed["network"]) <= published.records().keys()
    assert printed["source"].str.startswith("https://").all()


def test_no_number_is_there_twice(printed):
    assert not printed.duplicated(
        ["network", "ood_set", "score", "settings", "metric", "positive"]
    ).any()


def test_values_are_shares_and_each_rate_says_whose_95_per_cent_are_kept(printed):
    assert printed["value"].between(0, 1).all()
    rates = printed["metric"].eq("fpr95")
    assert set(printed.loc[rates, "positive"]) == {"known", "unknown"}
    assert set(printed.loc[~rates, "positive"]) == {""} == set(printed.loc[~rates, "settings"])
    assert set(printed["metric"]) == {"auroc", "fpr95"}


def test_the_id_set_is_the_networks_own(printed):
    for network, id_set in printed[["network", "id_set"]].drop_duplicates().itertuples(index=False):
        assert published.find(network).data_set == id_set
