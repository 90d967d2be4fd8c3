"""Sentences about out-of-distribution detection, judged by the numbers of OpenOOD's leaderboard.

A claim here has one margin and several effects, each a difference of two printed numbers, mostly
one on each network; all have to hold.  Where deviations over networks are printed, an effect has an
interval; where they are not, the number itself is compared with the margin, as with the papers'
printed numbers.  A row in doubt (`contradictions`) is never the best of several, and an effect that
it has a part in decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from helpers.report.claims import ALL, Claim, Effect, Verdict, verdicts
from known_unknowns.across.leaderboard import NETWORK, SIDES, by_network, contradictions, rank

_POINT = 0.01
_RUNS = 3  # trained networks behind each printed deviation
_OPENOOD = "OpenOOD v1.5"
_OURS = "this book"


class Found(NamedTuple):
    """One effect: what it is, its size, its printed deviation (NaN: none), why it is doubted."""

    name: str
    effect: float
    deviation: float
    doubt: str = ""


def half_interval(deviation: float) -> float:
    """Return half of the 95 % interval of a difference of two means over three networks.

    OpenOOD's deviations divide by the number of networks, not by one less.  Those of the two
    numbers are taken as independent: where both rise and fall together, the interval is too wide.

    Examples
    --------
    >>> round(half_interval(0.001), 4)
    0.003
    """
    from scipy import stats  # here, since SciPy takes long to import

    return float(stats.t.ppf(0.975, _RUNS - 1) * deviation / math.sqrt(_RUNS - 1))


def _minus(name: str, one: pd.Series, other: pd.Series, side: str, other_side: str = "") -> Found:
    """Return one row's AUROC minus that of another."""
    ends = (one, side), (other, other_side or side)
    values, deviations = ([row[end + more] for row, end in ends] for more in ("", "_std"))
    deviations = [number or math.nan for number in deviations]  # zero: not known
    doubt = "; ".join(dict.fromkeys(filter(None, (one["doubt"], other["doubt"]))))
    return Found(name, values[0] - values[1], float(np.hypot(*deviations)), doubt)


def _best(rows: pd.DataFrame, side: str) -> pd.Series:
    return rows.loc[rows.loc[rows["doubt"] == "", side].idxmax()]


def _networks(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the ordinarily trained networks by name, each with its rows, indexed by score."""
    for network, own in rows.groupby(NETWORK, sort=False):
        yield ", ".join(network), own.set_index("score", drop=False)


def _with_msp(board: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    own = board[board["post_hoc"] & ~board["full_spectrum"]]
    return ((name, rows) for name, rows in _networks(own) if "MSP" in rows.index)


def _near_cifar100(board: pd.DataFrame) -> Iterator[Found]:
    for _, rows in _with_msp(board[board["id_set"] == "cifar100"]):
        for score in rows.index.drop("MSP"):
            yield _minus(score, rows.loc[score], rows.loc["MSP"], "near")


def _told_apart(board: pd.DataFrame) -> Iterator[Found]:
    for side in SIDES:
        ranking = rank(board, side)
        ahead = (ranking.ranks["MSP"] - ranking.ranks.min()) / ranking.difference
        yield Found(f"{side}: {ranking.ranks.index[0]}", ahead, math.nan)


def _no_winner(board: pd.DataFrame) -> Iterator[Found]:
    """Of each side the score that loses least to the best, on the network where it loses most."""
    rows = board[board["post_hoc"] & ~board["full_spectrum"]].set_index([*NETWORK, "score"])
    for side in SIDES:
        values = by_network(board, side)
        lost = (-values).add(values.max(axis=1), axis=0)
        kept = lost.max().idxmin()
        place = lost[kept].idxmax()
        first = values.loc[place].idxmax()
        if first == kept:  # on all networks
            yield Found(f"{side}: {kept}", 0.0, math.nan)
            continue
        pair = (rows.loc[(*place, score)] for score in (first, kept))
        yield _minus(f"{side}: {kept} behind {first} on {', '.join(place)}", *pair, side)


def _near_harder(board: pd.DataFrame) -> Iterator[Found]:
    for name, rows in _with_msp(board):
        yield _minus(name, rows.loc["MSP"], rows.loc["MSP"], "far", "near")


def _never_behind(board: pd.DataFrame) -> Iterator[Found]:
    """Of each side the score whose least gain over MSP is largest, where that is."""
    for side in SIDES:
        least = []
        for score in by_network(board, side).columns.drop("MSP"):
            one = [
                _minus(f"{side}: {score} on {name}", rows.loc[score], rows.loc["MSP"], side)
                for name, rows in _with_msp(board)
            ]
            least.append(min(one, key=lambda found: found.effect))
        yield max(least, key=lambda found: found.effect)


def _shaping(board: pd.DataFrame) -> Iterator[Found]:
    for name, rows in _with_msp(board[board["id_set"] == "imagenet1k"]):
        for score in rows.index.intersection(["ReAct", "ASH"]):
            yield _minus(f"{score} on {name}", rows.loc[score], rows.loc["MSP"], "far")


def _training(board: pd.DataFrame) -> Iterator[Found]:
    own = board[~board["full_spectrum"] & ~board["outliers"]]
    for name, rows in _networks(own):
        trained = rows[~rows["post_hoc"]].reset_index(drop=True)
        if len(trained):
            best = _best(trained, "near")
            words = f"{name}: {best['training']} with {best['score']}"
            post_hoc = rows[rows["post_hoc"]]
            yield _minus(words, best, _best(post_hoc, "near"), "near")


def _full_spectrum(board: pd.DataFrame) -> Iterator[Found]:
    for name, rows in _networks(board[board["post_hoc"]]):
        parts = [rows[rows["full_spectrum"] == shifted] for shifted in (False, True)]
        if all(len(part) for part in parts):
            yield _minus(name, *(_best(part, "near") for part in parts), "near")


def _claim(name: str, text: str, source: str, check: str, relation: str, margin: float) -> Claim:
    return Claim(name, text, source, check, effects=(Effect("", (), relation, margin),))


CLAIMS: dict[Claim, Callable[[pd.DataFrame], Iterator[Found]]] = {
    _claim(
        "near CIFAR-100",
        "No post-hoc score beats MSP against near images of CIFAR-100 by more than a point.",
        _OURS, "near AUROC minus that of MSP, of each score", "<", _POINT,
    ): _near_cifar100,
    _claim(
        "told apart",
        "Over all ordinarily trained networks, the best score is told apart from MSP.",
        _OURS, "mean rank ahead of MSP, in critical differences, near and far", ">=", 1,
    ): _told_apart,
    _claim(
        "no winner",
        "No score is the best on every network.",
        _OPENOOD, "largest loss to the best score of a network, of the score of least such loss",
        ">", 0.0,
    ): _no_winner,
    _claim(
        "never behind",
        "Some score is ahead of MSP on every network.",
        _OURS, "least gain over MSP, of the score of largest such gain, near and far", ">", 0.0,
    ): _never_behind,
    _claim(
        "near is harder",
        "Near images are harder than far ones on every network, for MSP.",
        _OPENOOD, "far minus near AUROC of MSP, on each network", ">", 0.0,
    ): _near_harder,
    _claim(
        "shaping",
        "ReAct and ASH beat MSP against far images of ImageNet-1K whatever the architecture.",
        _OURS, "far AUROC minus that of MSP, of each score on each network", ">", 0.0,
    ): _shaping,
    _claim(
        "training",
        "Other training, without outliers, is better near than any score on ordinary networks.",
        _OURS, "near AUROC, best training minus best post-hoc score, on each network", ">", 0.0,
    ): _training,
    _claim(
        "full spectrum",
        "Ten points of near AUROC are lost where shifted images of known classes count as known.",
        _OPENOOD, "best near AUROC, standard minus full-spectrum, on each network", ">",
        10 * _POINT,
    ): _full_spectrum,
}  # fmt: skip
"""The claims, each with the function that gives its effects on a board."""


def evaluate(board: pd.DataFrame) -> pd.DataFrame:
    """Compute the effects of all claims.

    Parameters
    ----------
    board : DataFrame
        From `known_unknowns.across.leaderboard.load`, or one with the same columns.

    Returns
    -------
    DataFrame
        One row per effect, with columns as `helpers.report.claims.evaluate` has them, so that
        `helpers.report.figures.claim_effects` can draw it.
    """
    found = contradictions(board).query("doubt")
    doubts = found.groupby("row")["kind"].agg("; ".join).reindex(board.index, fill_value="")
    board, rows = board.assign(doubt=doubts), []
    for claim, effects in CLAIMS.items():
        (rule,) = claim.effects
        for one in effects(board):
            half = half_interval(one.deviation)
            low, high = one.effect - half, one.effect + half
            ends = (one.effect, one.effect) if math.isnan(half) else (low, high)
            verdict = Verdict.UNDECIDED if one.doubt else rule.verdict(*ends)
            columns = {"claim": claim.id, "check": one.name, "data_set": ALL, "backbone": ALL}
            columns |= {"effect": one.effect, "low": low, "high": high, "margin": rule.margin}
            columns |= {"relation": rule.relation, "decides": True, "verdict": verdict}
            rows.append(columns | {"doubt": one.doubt, "untestable": "", "note": ""})
    return pd.DataFrame(rows)


def judge(checks: pd.DataFrame) -> pd.DataFrame:
    """Return one verdict for each claim, and the effect that stands for it.

    Of the effects that have the claim's verdict, that is the one furthest on the side that is not
    claimed: the weakest of a claim that is supported, the worst of one that is contradicted.

    Parameters
    ----------
    checks : DataFrame
        From `evaluate`.

    Returns
    -------
    DataFrame
        Indexed by ``claim``: ``text``, ``source``, ``check``, ``verdict``; ``decided_by``, the
        effect in words, with ``effect``, ``low``, ``high``, ``relation`` and ``margin``;
        ``doubt``, why that effect is doubted; ``effects``, how many there are, and ``holding``, how
        many of them are supported.

    Examples
    --------
    >>> from known_unknowns.across.leaderboard import load
    >>> found = judge(evaluate(load())).loc["near is harder"]
    >>> str(found["verdict"]), found["decided_by"], round(float(found["effect"]), 4)
    ('contradicted', 'cifar100, ResNet18', -0.0251)
    """
    summed = verdicts(list(CLAIMS), checks).set_index("claim")
    rows = {}
    for name, own in checks.groupby("claim", sort=False):
        side = np.where(own["relation"] == "<", -1, 1)
        ahead = side * (own["effect"] - own["margin"])
        same = own["verdict"] == summed.loc[name, "verdict"]
        one = own.loc[ahead[same].idxmin()]
        numbers = one[["effect", "low", "high", "relation", "margin", "doubt"]].to_dict()
        holding = int((own["verdict"] == Verdict.SUPPORTED).sum())
        rows[name] = {"decided_by": one["check"], **numbers, "effects": len(own)}
        rows[name] |= {"holding": holding}
    found = summed[["text", "source", "check", "verdict"]]
    return found.join(pd.DataFrame.from_dict(rows, orient="index"))
