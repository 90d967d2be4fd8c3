"""Whether toy networks' orders and verdicts are those of others: on made-up tables."""

import numpy as np
import pandas as pd
import pytest

from helpers.report.claims import Verdict
from known_unknowns.across import figures, transfer

SCORES = ("msp", "energy", "knn", "vim")


@pytest.fixture(scope="module")
def made_up(table_of):
    """Return a function that makes a chapter's results of {backbone: AUROCs of `SCORES`}."""

    def build(paper="human_centric", *, replicates=0, noise=0.01, **networks):
        rng, records = np.random.default_rng(0), []
        prefix, test_set = (
            ("", "label-shifted") if paper == "human_centric" else ("baseline/", "far")
        )
        for backbone, values in networks.items():
            for score, value in zip(SCORES, values, strict=True):
                drawn = value + noise * rng.normal(size=replicates)
                columns = {"backbone": backbone.replace("__", "."), "method": prefix + score}
                columns |= {"metric": "auroc", "test_set": test_set, "value": value}
                records.append(columns | {"bootstrap": drawn})
        return table_of(records, paper=paper)

    return build


def correlations(tables, **options):
    found = transfer.transfer(transfer.numbers_of_scores(tables), **{"draws": 200} | options)
    return found.set_index(["first", "second"])


def test_the_same_order_is_1_and_the_reversed_one_minus_1(made_up):
    """Whatever the numbers are, and whichever network they are the mean of."""
    tables = {
        ("mini", "human_centric"): made_up(a=[0.5, 0.6, 0.7, 0.8], b=[0.4, 0.5, 0.6, 0.9]),
        ("small_cpu", "human_centric"): made_up(a=[0.90, 0.91, 0.95, 0.99]),
        ("pretrained", "human_centric"): made_up(a__b_cifar10=[0.9, 0.8, 0.7, 0.6]),
    }
    found = correlations(tables)
    toy, larger, real = "mini, trained here", "small_cpu, trained here", "pretrained, published"
    assert found["correlation"].round(9).to_dict() == {
        (toy, larger): 1.0, (toy, real): -1.0, (larger, real): -1.0
    }  # fmt: skip
    assert found.loc[(toy, larger), "networks"] == "2 and 1" and (found["scores"] == 4).all()
    assert (found["low"] <= found["correlation"]).all()


def test_networks_of_a_strategy_of_other_classes_and_failures_are_left_out(made_up):
    table = made_up(a=[0.5, 0.6, 0.7, 0.8])
    other = made_up(**{"a+augmix": [0.8, 0.7, 0.6, 0.5]}), made_up(b=[0.8, 0.7, 0.6, 0.5])
    mixed = pd.concat([table, other[0], other[1].assign(data_set="cifar100")])
    found = transfer.numbers_of_scores(
        {("mini", "human_centric"): mixed, ("mini", "uimnet"): table}
    )
    assert set(found["network"]) == {"a/0"} and len(found) == len(SCORES)


def test_what_a_tier_lacks_is_said_and_not_filled_in(made_up):
    """A pair needs both tiers, and three scores that both have."""
    own = made_up(a=[0.5, 0.6, 0.7, 0.8])
    one = {("mini", "human_centric"): own}
    assert correlations(one).empty and correlations({}).empty
    asked = {"human_centric": ["mini", "pretrained"]}
    lacking = transfer.lacking(transfer.numbers_of_scores(one), asked)
    assert lacking == ["Human-centric evaluation: no results of tier pretrained"]
    few = made_up(a=[0.5, 0.6, 0.7, 0.8])
    few = few[few["method"].isin(SCORES[:2])]
    assert correlations(one | {("small", "human_centric"): few}).empty
    with pytest.raises(ValueError, match="pairs: empty"):
        figures.transfer_intervals(transfer.transfer(transfer.numbers_of_scores(one)))


def test_kinds_of_networks_are_kept_apart_within_a_tier(made_up):
    """And so are the chapters."""
    both = made_up(a=[0.5, 0.6, 0.7, 0.8], b__c_cifar10=[0.8, 0.7, 0.6, 0.5])
    single = made_up("synthesis", a=[0.5, 0.6, 0.7, 0.8])
    found = correlations({("mini", "human_centric"): both, ("mini", "synthesis"): single})
    assert found["chapter"].tolist() == ["human_centric"]
    assert found["correlation"].iloc[0] == pytest.approx(-1)


def test_intervals_widen_with_the_noise_of_images_and_of_networks(made_up):
    def width(noise, **more):
        first = made_up(a=[0.5, 0.6, 0.7, 0.8], **more, replicates=50, noise=noise)
        second = made_up(c=[0.5, 0.6, 0.7, 0.8], replicates=50, noise=noise)
        found = correlations({("mini", "human_centric"): first, ("small", "human_centric"): second})
        return (found["high"] - found["low"]).iloc[0]

    assert width(0.0) == 0 < width(0.1)
    assert width(0.0, b=[0.9, 0.3, 0.6, 0.8]) > 0


def test_claims_that_tiers_decide_in_opposite_ways():
    """Undecided and lacking ones are no side."""
    yes, no, open_ = Verdict.SUPPORTED, Verdict.CONTRADICTED, Verdict.UNDECIDED
    verdicts = {"a": (yes, no), "b": (yes, yes), "c": (no, open_), "d": (no, Verdict.NO_DATA)}
    found = pd.DataFrame(
        [
            {"paper": "uimnet", "claim": claim, "text": claim.upper(), "tier": tier, "verdict": one}
            for claim, own in verdicts.items()
            for tier, one in zip(("mini", "pretrained"), own, strict=True)
        ]
    )
    decided = transfer.changed_sides(found, ["mini", "pretrained", "small"])
    assert decided["changes"].to_dict() == {("uimnet", "a"): True, ("uimnet", "b"): False}
    assert decided.loc[("uimnet", "a")].tolist()[:4] == [
        "A",
        "supported",
        "contradicted",
        "no data",
    ]
    assert transfer.changed_sides(found, ["mini"]).empty


def test_scores_are_ranked_over_networks_and_sets(table_of):
    """By AUROC the highest is first, by FPR95 the lowest; a case that lacks a score is named."""
    sets, records = ("cifar100", "tiny_imagenet_64"), []
    for backbone in ("a.x", "b.x"):
        for test_set in sets:
            for place, score in enumerate(SCORES):
                for metric, value in (
                    ("auroc", 0.9 - place / 10),
                    ("fpr_at_tpr", 0.1 - place / 99),
                ):
                    records.append(
                        {"backbone": backbone, "test_set": test_set, "metric": metric,
                         "method": f"baseline/{score}", "value": value}
                    )  # fmt: skip
    table = table_of(records, paper="synthesis")
    found = transfer.rank_scores(table, ["a.x", "b.x"], sets)
    assert found.ranks.to_dict() == dict(zip(SCORES, (1, 2, 3, 4), strict=True))
    assert found.cases == 4 and found.p_value < 0.01
    lower = transfer.rank_scores(table, ["a.x"], sets, "fpr_at_tpr")
    assert lower.ranks.index[0] == "vim" and lower.cases == 2
    assert lower.difference > found.difference
    with pytest.raises(ValueError, match=r"no auroc of c\.x on digits"):
        transfer.rank_scores(table, ["c.x"], ["digits"])
    with pytest.raises(ValueError, match="missing"):
        transfer.rank_scores(table.iloc[2:], ["a.x", "b.x"], sets)


def test_the_table_of_networks_is_of_each_id_set_with_the_best_on_top(table_of):
    records = [
        {"backbone": backbone, "data_set": data_set, "method": f"baseline/{score}",
         "metric": metric, "test_set": test_set, "value": value}
        for backbone, data_set, shift in (("a.x", "one", 0), ("b.x", "one", 0.2), ("c.x", "two", 0))
        for score, auroc in (("msp", 0.5), ("knn", 0.7))
        for metric, test_set, value in (
            ("auroc", "union", auroc + shift), ("der99", "average", 1 - auroc), ("auroc", "x", 0),
        )
    ]  # fmt: skip
    alone = {
        "backbone": "a.x",
        "data_set": "one",
        "method": "baseline",
        "metric": "passes",
        "value": 1,
    }
    table = table_of([*records, alone], paper="synthesis")
    found = transfer.of_networks(table, ["a.x", "b.x", "c.x"])
    assert found.index.tolist() == [("one", "knn"), ("one", "msp"), ("two", "knn"), ("two", "msp")]
    assert found.iloc[:, 0].round(3).tolist() == [0.8, 0.6, 0.7, 0.5] and found.shape[1] == 2
    with pytest.raises(ValueError, match=r"no score of d\.x"):
        transfer.of_networks(table, ["d.x"])


def test_the_figure_has_a_panel_for_each_chapter(made_up, texts):
    tables = {
        (tier, paper): made_up(paper, **{network: [0.5, 0.6, 0.7, value]})
        for paper in ("human_centric", "synthesis")
        for tier, network, value in (("mini", "a", 0.8), ("pretrained", "a__b_cifar10", 0.4))
    }
    axes = figures.transfer_intervals(transfer.transfer(transfer.numbers_of_scores(tables)))
    assert [ax.get_title() for ax in axes] == ["Human-centric evaluation", "Synthesis"]
    assert [texts(ax.get_yticklabels()) for ax in axes] == [["AUROC"], ["AUROC, far"]]
    points = [
        line.get_xdata()[0] for line in axes[0].lines if line.get_marker() not in ("None", "")
    ]
    assert points == pytest.approx([-0.2])


def test_methods_of_other_chapters_are_ranked_too(table_of):
    """Heads on frozen features and trained networks: of the paper's methods, those of both."""
    order = {"baseline": 0.5, "crl": 0.6, "edl": 0.7, "odin": 0.4}

    def rows(values, data_set):
        records = [
            dict(method=method, metric="auroc", test_set="near", value=value, data_set=data_set)
            for method, value in values.items()
        ]  # fmt: skip
        return table_of(records, paper="unknown_detection")

    extra = {"augmix": 0.9, "mahalanobis": 0.1, "baseline+knn": 0.2}
    trained = rows(order | extra, "cifar100")
    others = trained.assign(data_set="cifar10"), trained.assign(calibration="after")
    tables = {
        ("small_cpu", "unknown_detection"): pd.concat([trained, *others]),
        ("frozen", "unknown_detection"): rows(order, "cifar100"),
    }
    (found,) = correlations(tables).reset_index().to_dict("records")
    assert (found["first"], found["second"]) == ("small_cpu, trained here", "frozen, trained here")
    assert found["measure"] == "AUROC, near" and found["scores"] == 4
    assert found["correlation"] == pytest.approx(1)
