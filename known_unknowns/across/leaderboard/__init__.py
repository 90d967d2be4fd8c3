"""OpenOOD's leaderboard as data: what it prints, where it contradicts itself, what it ranks.

``rows.csv`` holds all rows as they were printed, and says in its head where and when they were
read.  Nothing here is measured by this project.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from helpers.checks import known_name
from helpers.metrics import ranks
from known_unknowns.across.transfer import Ranking

NETWORK = ["id_set", "backbone"]
"""The columns that tell the ordinarily trained networks apart; a case of the rank tests."""
SIDES = ("near", "far")
OURS = {
    "MSP": "msp", "MLS": "max_logit", "EBO": "energy", "ODIN": "odin", "OpenMax": "openmax",
    "GEN": "gen", "KLM": "kl_matching", "ReAct": "react", "ASH": "ash", "SCALE": "scale",
    "DICE": "dice", "MDS": "mahalanobis", "RMDS": "rmds", "KNN": "knn", "NNGuide": "nnguide",
    "VIM": "vim", "fDBD": "fdbd", "GradNorm": "gradnorm", "SHE": "she", "NCI": "nci",
    "Relation": "relation", "MDS++": "mahalanobis_pp", "RMDS++": "rmds_pp",
}  # fmt: skip
"""Scores of `helpers.scores` by their names on the leaderboard.

TempScale is no score here but MSP after a calibration, and stands for none of them.
"""

_ROUNDING = 0.00015  # accuracies are printed to a hundredth of a per cent, and rounded


def load() -> pd.DataFrame:
    """Return the rows of the leaderboard, in its order.

    Returns
    -------
    DataFrame
        One row per ID set, spectrum, network and score, with an index from 0:
        ``id_set``, "cifar10", "cifar100", "imagenet200" or "imagenet1k"; ``full_spectrum``,
        whether images of known classes under another style or corruption count as known too;
        ``backbone``; ``training`` and ``recipe``, as printed; ``post_hoc``, whether the network
        was trained by cross-entropy alone, so that all that a row is about is its score;
        ``score``, as printed; ``ours``, the same of `helpers.scores`, or ""; ``near``, ``far`` and
        ``accuracy``, shares (AUROC of known against unknown; NaN where no accuracy is given), with
        ``near_std``, ``far_std`` and ``accuracy_std``, their deviations over trained networks (NaN
        where there is one network); ``outliers``, whether unknown images were trained on.

    Examples
    --------
    >>> board = load()
    >>> board.query("id_set == 'cifar100' and score == 'GEN'")[["near", "near_std"]].values.tolist()
    [[0.8131, 0.0008]]
    """
    printed = pd.read_csv(
        Path(__file__).with_name("rows.csv"), comment="#", na_values={"id_accuracy": ["/"]}
    )
    names = {f"{side}_auroc": side for side in SIDES}
    names |= {"id_accuracy": "accuracy", "acc_std": "accuracy_std"}
    names |= {"arch": "backbone", "postprocessor": "score", "description": "recipe"}
    board = printed.rename(columns=names)
    numbers = [one + end for one in (*SIDES, "accuracy") for end in ("", "_std")]
    board[numbers] = (board[numbers].astype(float) / 100).round(6)
    return board.assign(
        id_set=board["benchmark"].str.partition("_")[0],
        full_spectrum=board["benchmark"].str.endswith("fsood"),
        post_hoc=board["training"] == "CrossEntropy",
        ours=board["score"].map(OURS).fillna(""),
        outliers=board["outlier_data"] == "Yes",
    )[[
        *NETWORK, "full_spectrum", "training", "recipe", "post_hoc", "score", "ours", *numbers,
        "outliers",
    ]]  # fmt: skip


def contradictions(board: pd.DataFrame) -> pd.DataFrame:
    """Return what rows say against themselves, or against others of the same network.

    The leaderboard prints no number of a single test set, so that its means cannot be taken anew.

    Parameters
    ----------
    board : DataFrame
        From `load`, or whole networks of it.

    Returns
    -------
    DataFrame
        One row per reason, in the order of the board; a row may have several: ``row``, of the
        board's index; ``kind``; ``reason``, in words; ``doubt``, whether the row counts for
        nothing that is concluded.  The kinds are

        * "deviation of zero": a deviation is printed as 0.00, which several trained networks do
          not give: the number is that of one of them, or its deviation was not known;
        * "another accuracy": a score changes no prediction, and yet the accuracy is another one
          than that of most rows on the same trained networks, by more than rounding;
        * "near above far": near images are told better than far ones, by more than twice the root
          sum of squares of the deviations, and better than by MSP, which on the same network tells
          the far ones better, as if the near images had been others;
        * "below chance": far images get higher scores than known ones, so that the score would be
          better with its sign turned round; no contradiction, and no reason to doubt the number.

    Examples
    --------
    >>> contradictions(load())["kind"].value_counts().to_dict()
    {'deviation of zero': 13, 'below chance': 9, 'another accuracy': 5, 'near above far': 2}
    """
    place = [*NETWORK, "full_spectrum"]
    usual = board.groupby([*place, "training", "recipe"])["accuracy"].transform("median")
    msp = board[board["post_hoc"] & (board["score"] == "MSP")].set_index(place)[[*SIDES]]
    beside = board.join(msp.add_prefix("msp_"), on=place)
    spread = 2 * np.hypot(*(board[f"{side}_std"].fillna(0) for side in SIDES))
    zero = (board[[f"{side}_std" for side in SIDES]] == 0).any(axis=1)
    above = (board["near"] - board["far"] > spread) & (board["near"] > beside["msp_near"])
    hits = {
        "deviation of zero": zero,
        "another accuracy": (board["accuracy"] - usual).abs() > _ROUNDING,
        "near above far": above & (beside["msp_near"] < beside["msp_far"]),
        "below chance": board["far"] < 0.5,
    }
    words = {
        "deviation of zero": "AUROC ± 0.00",
        "another accuracy": "accuracy {accuracy:.2f}, others {usual:.2f}",
        "near above far": "near {near:.2f} above far {far:.2f}, MSP {msp_near:.2f} below"
        " {msp_far:.2f}",
        "below chance": "far AUROC {far:.2f}",
    }
    shown = beside.assign(usual=usual).select_dtypes("number") * 100
    rows = [
        (row, kind, words[kind].format(**shown.loc[row]), kind != "below chance")
        for row in board.index
        for kind in hits
        if hits[kind][row]
    ]
    return pd.DataFrame(rows, columns=["row", "kind", "reason", "doubt"])


def comparable(board: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that scores are compared by: post hoc, not full-spectrum, in no doubt."""
    found = contradictions(board)
    doubted = board.index.isin(found.loc[found["doubt"], "row"])
    return board[board["post_hoc"] & ~board["full_spectrum"] & ~doubted]


def by_network(board: pd.DataFrame, side: str, backbones: str = "") -> pd.DataFrame:
    """Return AUROCs by network (down) and score (across), as many as leave no gap.

    Parameters
    ----------
    board : DataFrame
        From `load`.  Of its `comparable` rows are taken those of networks that have MSP, and of
        scores that all of these have.
    side : {"near", "far"}
    backbones : str
        What the names of the backbones begin with, "" for all.

    Raises
    ------
    ValueError
        `side` is unknown, or no network has MSP.
    """
    known_name("side", side, SIDES)
    own = comparable(board)
    own = own[own["backbone"].str.startswith(backbones)]
    values = own.pivot(index=NETWORK, columns="score", values=side)
    if "MSP" not in values:
        raise ValueError(f"board: no network with MSP whose backbone begins with '{backbones}'")
    return values[values["MSP"].notna()].dropna(axis=1)


def rank(board: pd.DataFrame, side: str, backbones: str = "") -> Ranking:
    """Rank scores over networks that were trained ordinarily: a case is one of them.

    Parameters and errors are those of `by_network`, whose scores are ranked.

    Notes
    -----
    Demšar 2006.  The networks of one ID set share its images, and the test takes them as
    independent, so that the difference is rather too small.
    """
    values = by_network(board, side, backbones)
    return Ranking(
        ranks.mean_ranks(values, lower_is_better=False).sort_values(kind="stable"),
        ranks.critical_difference(values.shape[1], len(values)),
        ranks.friedman(values, lower_is_better=False).f_p_value,
        len(values),
    )


def told_apart(ranking: Ranking) -> pd.DataFrame:
    """Return the pairs of scores that a ranking tells apart: ``better``, ``worse`` and ``apart``.

    Examples
    --------
    >>> places = pd.Series({"gen": 1.5, "msp": 2.0, "gradnorm": 4.0})
    >>> told_apart(Ranking(places, 2.2, 0.01, 6)).values.tolist()
    [['gen', 'gradnorm', 2.5]]
    """
    places = ranking.ranks.sort_values(kind="stable")
    pairs = [
        (better, worse, places[worse] - places[better])
        for end, worse in enumerate(places.index)
        for better in places.index[:end]
    ]
    found = pd.DataFrame(pairs, columns=["better", "worse", "apart"])
    return found[found["apart"] >= ranking.difference].reset_index(drop=True)


def leaders(board: pd.DataFrame) -> pd.DataFrame:
    """Return the best score of each network, and the best of those that `helpers.scores` has.

    Parameters
    ----------
    board : DataFrame
        From `load`; its `comparable` rows count.

    Returns
    -------
    DataFrame
        Indexed by ``id_set``, ``backbone`` and ``side``: ``leader`` and its ``auroc``; ``ours``,
        our name of the best of ours, and its ``auroc of ours``; ``ahead``, by how much the leader
        is better, 0 where it is ours.
    """
    own, rows = comparable(board), []
    for network, scores in own.groupby(NETWORK, sort=False):
        for side in SIDES:
            first = scores.loc[scores[side].idxmax()]
            mine = scores[scores["ours"] != ""]
            best = mine.loc[mine[side].idxmax()]
            numbers = first["score"], first[side], best["ours"], best[side]
            rows.append((*network, side, *numbers, first[side] - best[side]))
    columns = [*NETWORK, "side", "leader", "auroc", "ours", "auroc of ours", "ahead"]
    return pd.DataFrame(rows, columns=columns).set_index(columns[:3])


def gains(board: pd.DataFrame) -> pd.DataFrame:
    """Return by how much each score is ahead of MSP, on average over the networks that have it.

    Parameters
    ----------
    board : DataFrame
        From `load`; its `comparable` rows count.

    Returns
    -------
    DataFrame
        Indexed by ``score``, in the order of the mean of both sides, the best first: ``ours``;
        ``networks``, how many, which are not the same for all; ``near`` and ``far``, mean gains;
        ``worst near`` and ``worst far``, on the network where the gain is least.
    """
    own = comparable(board)
    msp = own[own["score"] == "MSP"].set_index(NETWORK)[[*SIDES]]
    gained = own[[*SIDES]] - own[NETWORK].join(msp, on=NETWORK)[[*SIDES]]
    by_score = own[["score", "ours"]].join(gained).dropna().groupby(["score", "ours"])
    found = by_score.size().to_frame("networks").join(by_score[[*SIDES]].mean())
    found = found.join(by_score[[*SIDES]].min().add_prefix("worst ")).reset_index("ours")
    order = found[[*SIDES]].mean(axis=1).sort_values(ascending=False, kind="stable").index
    return found.loc[order.drop("MSP")]
