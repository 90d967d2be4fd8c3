"""OpenOOD's leaderboard: its rows as they are shipped, and what is made of rows, made up."""

import re
from pathlib import Path

import pandas as pd
import pytest

from helpers import scores
from helpers.checks import float_array
from helpers.metrics.ranks import critical_difference
from known_unknowns.across import leaderboard
from known_unknowns.across.transfer import Ranking

ROW = ["id_set", "full_spectrum", "backbone", "training", "recipe", "score"]


@pytest.fixture(scope="module")
def printed():
    return leaderboard.load()


def test_all_rows_are_there_once(printed):
    assert len(printed) == 414 and not printed.duplicated(ROW).any()
    assert printed.index.tolist() == list(range(414))
    assert printed.groupby(["id_set", "full_spectrum"]).size().to_dict() == {
        ("cifar10", False): 61, ("cifar100", False): 57, ("imagenet200", False): 56,
        ("imagenet200", True): 60, ("imagenet1k", False): 97, ("imagenet1k", True): 83,
    }  # fmt: skip


def test_numbers_are_shares_and_deviations_are_there_where_networks_are_several(printed):
    for side in leaderboard.SIDES:
        assert float_array(side, printed[side]).min() > 0.2 and printed[side].max() < 1
        one_network = printed["id_set"] == "imagenet1k"
        assert (printed[f"{side}_std"].isna() == one_network).all()
        assert printed[f"{side}_std"].dropna().between(0, 0.2).all()
    assert printed["accuracy"].dropna().between(0.3, 1).all()
    assert printed["accuracy"].isna().sum() == 18 and printed["post_hoc"].sum() == 258
    assert (printed.groupby("training")["outliers"].nunique() == 1).all()
    assert printed.loc[printed["outliers"], "training"].nunique() == 4


def test_some_numbers_are_as_they_are_printed(printed):
    own = printed[printed["post_hoc"] & ~printed["full_spectrum"]]
    found = own.set_index(["id_set", "backbone", "score"])[["near", "near_std", "far", "accuracy"]]
    assert found.loc[("cifar10", "ResNet18", "KNN")].tolist() == [0.9064, 0.0020, 0.9296, 0.9506]
    assert found.loc[("imagenet200", "ResNet18", "VIM")].tolist() == [
        0.7868, 0.0024, 0.9126, 0.8637
    ]  # fmt: skip
    assert found.loc[("imagenet1k", "Swin-T", "ASH"), ["near", "far"]].tolist() == [0.4647, 0.4464]


def test_origin_and_licence_lie_beside_the_rows():
    folder = Path(leaderboard.__file__).parent
    head = [line for line in (folder / "rows.csv").read_text().splitlines() if line[0] == "#"]
    assert re.search("zjysteven/OpenOOD at [0-9a-f]{40} of 2025-07-19", " ".join(head))
    licence = (folder / "LICENSE.txt").read_text()
    assert "MIT License" in licence and "Copyright (c) 2021 Jingkang Yang" in licence


def test_scores_of_ours_are_ours_and_all_of_them_are_on_the_board(printed):
    assert set(leaderboard.OURS.values()) <= set(scores.names())
    assert set(printed["ours"]) - {""} == set(leaderboard.OURS.values())
    assert len(set(leaderboard.OURS.values())) == len(leaderboard.OURS)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"near_std": 0.0}, "deviation of zero"),
        ({"far_std": 0.0}, "deviation of zero"),
        ({"near_std": 0.0001}, None),
        ({"accuracy": 0.9002}, "another accuracy"),
        ({"accuracy": 0.9001}, None),  # rounding
        ({"near": 0.95}, "near above far"),
        ({"near": 0.902}, None),  # within the deviations
        ({"near": 0.79, "far": 0.7}, None),  # it tells near images no better than MSP does
        ({"far": 0.4999, "near": 0.4}, "below chance"),
        ({"far": 0.5, "near": 0.4}, None),
    ],
)
def test_each_kind_of_contradiction_on_both_sides(make_board, changes, expected):
    board = make_board()
    row = board.index[(board["id_set"] == "cifar10") & (board["score"] == "KNN")][0]
    board.loc[row, list(changes)] = list(changes.values())
    found = leaderboard.contradictions(board)
    assert found["row"].tolist() == [row] * bool(expected)
    assert found["kind"].tolist() == [expected] * bool(expected)
    left = leaderboard.comparable(board).index
    assert (row in left) == (expected in (None, "below chance"))


def test_where_msp_too_tells_near_images_better_nothing_is_odd(make_board):
    board = make_board({("cifar100", "MSP", "near"): 0.91, ("cifar100", "KNN", "near"): 0.95})
    assert leaderboard.contradictions(board).empty


def test_only_post_hoc_scores_on_standard_benchmarks_are_compared(make_board):
    board = make_board()
    left = leaderboard.comparable(board)
    assert left["post_hoc"].all() and not left["full_spectrum"].any()
    assert len(left) == 25 < len(board)


def test_ranks_are_over_networks_of_scores_that_all_of_them_have(make_board):
    best = {(one, "KNN", "near"): 0.85 for one in ("cifar10", "cifar100", "imagenet200")}
    board = make_board(best | {("cifar10", "GEN", "near"): 0.86})
    found = leaderboard.rank(board, "near")
    assert found.cases == 5 and set(found.ranks.index) == {"MSP", "GEN", "ASH", "ReAct", "KNN"}
    assert found.ranks.index[0] == "KNN"
    assert found.ranks["KNN"] == pytest.approx((2 + 1 + 1 + 3 + 3) / 5)
    assert found.difference == critical_difference(5, 5)
    without = board[~((board["score"] == "KNN") & (board["id_set"] == "imagenet200"))]
    assert set(leaderboard.rank(without, "near").ranks.index) == {"MSP", "GEN", "ASH", "ReAct"}
    assert leaderboard.rank(board, "far", "ResNet").cases == 4


def test_ranks_need_msp_and_a_side_that_there_is(make_board):
    board = make_board()
    with pytest.raises(ValueError, match="no network with MSP whose backbone begins with 'Swin'"):
        leaderboard.rank(board, "near", "Swin")
    with pytest.raises(ValueError, match="near"):
        leaderboard.rank(board, "nera")


@pytest.mark.parametrize(("difference", "pairs"), [(2.0, 1), (2.01, 0), (1.0, 3)])
def test_pairs_that_differ_by_the_difference_are_told_apart(difference, pairs):
    ranking = Ranking(pd.Series({"c": 3.0, "a": 1.0, "b": 2.0}), difference, 0.01, 4)
    found = leaderboard.told_apart(ranking)
    assert len(found) == pairs
    assert (found["apart"] > 0).all()


def test_leaders_and_the_best_of_ours_beside_them(make_board):
    """A leader in doubt is none."""
    board = make_board({("cifar10", "KNN", "far"): 0.95, ("cifar100", "GEN", "near"): 0.83})
    other = board[(board["id_set"] == "cifar10") & (board["score"] == "GEN")].iloc[:1]
    more = [other.assign(score="NAC", ours="", far=0.97, near=0.85),
            other.assign(score="CombOOD", ours="", near=0.99, near_std=0.0)]  # fmt: skip
    found = leaderboard.leaders(pd.concat([board, *more], ignore_index=True))
    far = found.loc[("cifar10", "ResNet18", "far")]
    assert far[["leader", "ours"]].tolist() == ["NAC", "knn"]
    assert far["ahead"] == pytest.approx(0.02)
    assert found.loc[("cifar10", "ResNet18", "near"), "leader"] == "NAC"
    near = found.loc[("cifar100", "ResNet18", "near")]
    assert near[["leader", "ours", "ahead"]].tolist() == ["GEN", "gen", 0]


def test_gains_over_msp_are_means_over_the_networks_that_have_a_score(make_board):
    board = make_board({("cifar10", "KNN", "near"): 0.90, ("cifar100", "KNN", "near"): 0.75})
    board = board[~((board["score"] == "KNN") & board["id_set"].str.startswith("imagenet"))]
    found = leaderboard.gains(board)
    assert found.index[0] == "KNN" and "MSP" not in found.index
    assert found.loc["KNN", ["ours", "networks"]].tolist() == ["knn", 2]
    assert found.loc["KNN", "near"] == pytest.approx((0.10 - 0.05) / 2)
    assert found.loc["KNN", "worst near"] == pytest.approx(-0.05)
