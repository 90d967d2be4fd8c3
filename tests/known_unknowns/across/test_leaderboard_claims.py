"""The claims about the leaderboard: each of them can come out either way."""

import numpy as np
import pytest

from helpers.report import figures
from helpers.report.claims import Verdict
from known_unknowns.across import leaderboard
from known_unknowns.across.leaderboard import claims

SETS = ("cifar10", "cifar100", "imagenet200", "imagenet1k")
YES, NO, OPEN = Verdict.SUPPORTED, Verdict.CONTRADICTED, Verdict.UNDECIDED


def judge(board):
    return claims.judge(claims.evaluate(board))


def everywhere(score, side, value):
    return {(one, score, side): value for one in SETS}


def trained(value, **others):
    numbers = dict.fromkeys(SETS, value) | others
    return {(one, "trained", "near"): number for one, number in numbers.items()}


def shaped(ash, react):
    return {("imagenet1k", "ASH", "far"): ash, ("imagenet1k", "ReAct", "far"): react}


@pytest.mark.parametrize(
    ("claim", "changes", "verdict"),
    [
        ("near CIFAR-100", {}, YES),
        ("near CIFAR-100", {("cifar100", "GEN", "near"): 0.83}, NO),
        ("near CIFAR-100", {("cifar100", "GEN", "near"): 0.812}, OPEN),  # within the deviations
        ("near CIFAR-100", {("cifar10", "GEN", "near"): 0.85}, YES),  # elsewhere
        ("told apart", {}, NO),
        (
            "told apart",
            {(one, score, side): value
             for one in SETS for side, low in (("near", 0.8), ("far", 0.9))
             for score, value in (("KNN", low + 0.02), ("GEN", low + 0.01), ("MSP", low - 0.01))},
            YES,
        ),
        ("told apart", everywhere("KNN", "near", 0.85) | everywhere("MSP", "near", 0.7), NO),
        (
            "no winner",
            {("cifar10", "KNN", "near"): 0.85, ("cifar100", "GEN", "near"): 0.85,
             ("cifar10", "KNN", "far"): 0.95, ("cifar100", "GEN", "far"): 0.95},
            YES,
        ),
        ("no winner", everywhere("KNN", "near", 0.85) | everywhere("KNN", "far", 0.95), NO),
        ("never behind", {}, OPEN),  # the same number, and deviations
        ("never behind", everywhere("KNN", "near", 0.85) | everywhere("KNN", "far", 0.95), YES),
        ("never behind", everywhere("KNN", "near", 0.85) | everywhere("MSP", "far", 0.95), NO),
        ("near is harder", {}, YES),
        ("near is harder", {("imagenet1k", "MSP", "far"): 0.79}, NO),
        ("near is harder", {("cifar10", "MSP", "far"): 0.802}, OPEN),
        ("shaping", shaped(0.92, 0.91), YES),
        ("shaping", shaped(0.92, 0.90), NO),
        ("training", trained(0.85), YES),
        ("training", trained(0.85, imagenet200=0.75), NO),
        ("training", trained(0.85, imagenet200=0.801), OPEN),
        ("training", trained(0.85) | {("cifar10", "GEN", "near"): 0.88}, NO),
        ("full spectrum", {}, YES),
        ("full spectrum", {("imagenet200", "shifted", "near"): 0.75}, NO),
        ("full spectrum", {("imagenet200", "shifted", "near"): 0.701}, OPEN),
    ],
)  # fmt: skip
def test_each_claim_on_both_sides_of_its_margin(make_board, claim, changes, verdict):
    assert judge(make_board(changes)).loc[claim, "verdict"] == verdict


def test_both_sides_were_tried_of_every_claim():
    (mark,) = test_each_claim_on_both_sides_of_its_margin.pytestmark
    tried = {(claim, verdict) for claim, _, verdict in mark.args[1]}
    assert {(claim.id, one) for claim in claims.CLAIMS for one in (YES, NO)} <= tried


def test_a_row_in_doubt_decides_nothing_and_is_never_the_best(make_board):
    ahead = {("cifar100", "GEN", "near"): 0.85}
    board = make_board(ahead | trained(0.83))
    assert judge(board).loc[["near CIFAR-100", "training"], "verdict"].tolist() == [NO, NO]
    doubted = (board["id_set"] == "cifar100") & (board["score"] == "GEN")
    board.loc[doubted, "near_std"] = 0.0
    found = judge(board)
    assert found.loc["near CIFAR-100", ["verdict", "decided_by", "doubt"]].tolist() == [
        OPEN, "GEN", "deviation of zero"
    ]  # fmt: skip
    assert np.isnan(found.loc["near CIFAR-100", "low"])
    assert found.loc["training", "verdict"] == YES


def test_without_a_deviation_the_number_itself_is_compared(make_board):
    board = make_board({("cifar100", "GEN", "near"): 0.8101})
    assert judge(board).loc["near CIFAR-100", "verdict"] == OPEN
    stds = [f"{side}_std" for side in leaderboard.SIDES]
    found = judge(board.assign(**dict.fromkeys(stds, np.nan))).loc["near CIFAR-100"]
    assert found["verdict"] == NO and np.isnan(found["low"])


def test_the_interval_is_students_of_three_networks():
    """Mean ± t s / √3 with s over n − 1, from deviations over n."""
    values = np.array([0.1, 0.25, 0.4])
    half = 4.302653 * values.std(ddof=1) / np.sqrt(3)
    assert claims.half_interval(values.std()) == pytest.approx(half)


def test_what_a_board_has_no_networks_for_has_no_data(make_board):
    board = make_board()
    found = judge(board[board["id_set"] != "imagenet1k"])
    assert found.loc["shaping", "verdict"] == Verdict.NO_DATA
    assert found.loc["near is harder", "verdict"] == YES


def test_the_printed_board_is_judged_and_drawn():
    checks = claims.evaluate(leaderboard.load())
    panels = figures.claim_effects(checks[checks["claim"] != "near CIFAR-100"])
    assert len(panels) == len(claims.CLAIMS) - 1
    found = claims.judge(checks)
    assert found["verdict"].map(str).to_dict() == {
        "near CIFAR-100": "undecided", "told apart": "contradicted", "no winner": "supported",
        "never behind": "undecided", "near is harder": "contradicted", "shaping": "contradicted",
        "training": "contradicted", "full spectrum": "supported",
    }  # fmt: skip
    assert (found["holding"] <= found["effects"]).all()
