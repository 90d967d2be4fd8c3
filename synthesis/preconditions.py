"""Conditions on networks and numbers before a claim is tested on them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd

from helpers.files import content_of, project_root
from synthesis.effects import CELL, Claim, Judged, Verdict
from synthesis.reasons import Kind, Note, Reason

#: The papers' names of the network of ordinary training, whose accuracy decides.
PLAIN = ("network", "baseline", "erm", "closed-set")

#: Least share of the test images of known classes that a network must classify correctly.
LEAST_RIGHT = 0.5

#: Largest NLL of a network, as a share of the NLL of guessing, log K.
MOST_LOSS = 0.9

#: Least AUROC of plain training; below this, its score does not detect unknown images at all.
LEAST_AUROC = 0.55

#: Least change of the accuracy by half as many epochs more that shows a schedule to be too short.
LONG_ENOUGH = 0.01

#: Largest loss of accuracy of a method from the baseline, unless the paper has it as well.
MOST_BEHIND = 0.02

#: Why a tier tests no claim.
_TESTS_NO_CLAIM = content_of(__file__)

FINE_TUNED = "networks are fine-tuned in this way, not trained from scratch"

#: Families, architectures and networks that a verdict requires, by the subject of a claim.
LEAST_NETWORKS = {"models": (2, 3, 5), "families": (2, 1, 1)}

PLURALS = {"network": "networks", "architecture": "architectures", "family": "families"}


class Longer(NamedTuple):
    """What half as many epochs more change: the mean over networks, and how many there are."""

    change: float
    networks: int


def longer(tier: str, paper: str) -> Longer | None:
    """Return the change of the test accuracy by half as many epochs more; None if not measured.

    ``workflow/longer_schedule.py`` has measured it.
    """
    path = project_root() / "results" / tier / f"{paper}-longer.csv"
    if not path.exists():
        return None
    trained = pd.read_csv(path).set_index(["network", "method", "data_seed"])
    trained = trained.sort_values("epochs", kind="stable")["test_accuracy"]
    pairs = trained.groupby(level=[0, 1, 2])
    changes = (pairs.last() - pairs.first())[pairs.size() == 2]
    return Longer(float(changes.mean()), len(changes))


@dataclass(frozen=True)
class Schedule:
    """A schedule of a tier that is shorter than the paper's, and what more epochs change."""

    epochs: int
    papers: int
    longer: Longer | None = None

    @property
    def short(self) -> str:
        """Why the schedule is not known to be long enough; "" if it is."""
        measured = "the effect of 50 % more is not measured"
        if self.longer is not None:
            change, networks = self.longer
            if abs(change) < LONG_ENOUGH:
                return ""
            count = f"{networks} network{'s' if networks > 1 else ''}"
            measured = f"50 % more change the accuracy by {100 * change:+.1f} points ({count})"
        return f"{self.epochs} epochs (the paper has {self.papers}): {measured}"


@dataclass(frozen=True)
class Conditions:
    """Facts about the networks of a results table and about its tier.

    `unlearnt` and `behind` are the results of the functions of this name.  `short` describes a
    schedule that is too short.  Printed numbers are without a tier, and preconditions do not apply
    to them.
    """

    tier: str = ""
    unlearnt: Mapping[tuple[str, str], Reason] = field(default_factory=dict)
    behind: Mapping[tuple[str, str, str], Reason] = field(default_factory=dict)
    short: str = ""


def unlearnt(table: pd.DataFrame) -> dict[tuple[str, str], Reason]:
    """Return the networks that do not know their classes, with the reason."""
    # networks with a "+" are trained in another way
    chosen = table["method"].isin(PLAIN) & ~table["backbone"].str.contains("+", regex=False)
    chosen &= table["calibration"].isin(["", "before"]) & table["variant"].eq("primary")
    right = table[chosen & table["metric"].eq("accuracy") & table["test_set"].eq("test")]
    right = right.groupby(["data_set", "backbone"])["value"].mean()
    medians = right.groupby(level="data_set").median()
    reason = _untestable(f"right on less than {100 * LEAST_RIGHT:.0f} % of the test images")
    shares = right.to_dict() | {(name, ""): share for name, share in medians.items()}
    return {network: reason for network, share in shares.items() if share < LEAST_RIGHT}


def mark(rows: pd.DataFrame, unlearnt: Mapping[tuple[str, str], Reason]) -> pd.DataFrame:
    """Return numbers with the reasons of `unlearnt` in their column ``reasons``.

    Numbers over several networks ("all models") have the reason of their data set.
    """
    before = rows["reasons"].tolist() if "reasons" in rows else [()] * len(rows)
    names = rows["backbone"].where(~rows["backbone"].str.startswith("all "), "").tolist()
    keys = zip(rows["data_set"].tolist(), names, strict=True)
    return rows.assign(reasons=_added(before, (unlearnt.get(key) for key in keys)))


def _added(
    before: Iterable[tuple[Reason, ...]], more: Iterable[Reason | None]
) -> list[tuple[Reason, ...]]:
    pairs = zip(before, more, strict=True)
    return [(*reasons, reason) if reason else reasons for reasons, reason in pairs]


def count_networks(backbones: Iterable[str]) -> dict[str, int]:
    """Return how many networks, architectures and families there are.

    A network that was trained in another way (after "+"), or by others (after "."), is no other
    architecture; a family is the letters that a name begins with.

    >>> count_networks(["resnet8", "resnet8+distilled", "resnet20.others", "tf_efficientnet_lite0"])
    {'network': 4, 'architecture': 3, 'family': 2}
    """
    names = set(backbones)
    architectures = {re.split(r"[+.]", name)[0] for name in names}
    plain = (name.lower().removeprefix("tf_") for name in architectures)
    families = {re.split("[^a-z]", name)[0] for name in plain}
    return dict(zip(PLURALS, map(len, (names, architectures, families)), strict=True))


def networks_behind(judged: Judged, numbers: pd.DataFrame, table: pd.DataFrame) -> tuple[str, ...]:
    """Return the networks behind an effect: named by its `numbers`, or of its cells.

    A cell "all ..." has all plain networks of its data set.  The effect of a single cell has the
    networks of all numbers: these are the evidence for a sentence about networks in general.
    """
    pairs = zip(numbers["data_set"].tolist(), numbers["backbone"].tolist(), strict=True)
    behind_it = [not judged.cells or pair in judged.cells for pair in pairs]
    used = numbers[np.array(behind_it, bool)]
    if "networks" in used and len(named := used["networks"].explode().dropna()):
        return tuple(named.unique())
    joint = used["backbone"].str.startswith("all ").astype(bool)
    behind = table.loc[table["data_set"].isin(used.loc[joint, "data_set"]), "backbone"]
    plain = [name for name in behind.unique() if "+" not in name]
    return tuple(dict.fromkeys([*used.loc[~joint, "backbone"], *plain]))


def networks_in_words(backbones: Iterable[str]) -> str:
    """Return the counts of `count_networks` in words."""
    counts = count_networks(backbones)
    return ", ".join(f"{n} {what if n == 1 else PLURALS[what]}" for what, n in counts.items())


def prevent(numbers: pd.DataFrame, claim: Claim, conditions: Conditions) -> pd.DataFrame:
    """Return the numbers of a claim with the reasons why they cannot test it at their tier."""
    if not conditions.tier:
        return numbers
    texts = [_TESTS_NO_CLAIM.get(conditions.tier, ""), claim.departure]
    if "training" in claim.about:
        if conditions.tier != "pretrained":
            texts.append(conditions.short)
        elif not (claim.fine_tuned or claim.existential):
            texts.append(FINE_TUNED)
    if reasons := tuple(_untestable(text) for text in texts if text):
        doubts = (Note(before).of(Kind.DOUBT) for before in numbers["reasons"])
        return numbers.assign(reasons=[(*doubt, *reasons) for doubt in doubts])
    if "training" not in claim.about:
        return numbers
    keys = numbers[[*CELL, "method"]].itertuples(index=False, name=None)
    more = (conditions.behind.get(key) for key in keys)
    counted = numbers["metric"] != "accuracy"
    far_behind = [reason if behind else None for reason, behind in zip(more, counted, strict=True)]
    return numbers.assign(reasons=_added(numbers["reasons"], far_behind))


def fine_tuned(claim: Claim, conditions: Conditions) -> str:
    """Return that fine-tuned networks stand for networks that are trained from scratch, if so."""
    if conditions.tier != "pretrained" or "training" not in claim.about:
        return ""
    return "" if claim.fine_tuned else "by fine-tuning"


def weaknesses(judged: Judged, conditions: Conditions, trained: bool) -> tuple[Reason, ...]:
    """Return why an effect is undecided in spite of its interval.

    If the runs are `trained`, each is a further network, and not a division of the test sets.
    """
    if not conditions.tier:
        return ()
    claim = judged.claim
    texts = [_few_networks(claim, judged.networks, judged.runs if trained else 1)]
    if not judged.varied and {"training", "runs"} & {*claim.about}:
        texts.append("there is one run")
    if judged.verdict == Verdict.CONTRADICTED:
        if claim.existential:
            texts.append("an example elsewhere is no contradiction")
        texts.append(conditions.short)
    return tuple(Reason(Kind.WEAKNESS, text) for text in texts if text)


def _few_networks(claim: Claim, networks: Iterable[str], runs: int) -> str:
    """Return in what the networks of a claim are too few, or ""; each run is another network."""
    counts = count_networks(networks)
    few = ""
    for word in claim.about:
        families, architectures, trained = LEAST_NETWORKS.get(word, (0, 0, 0))
        if counts["family"] < families:
            few = "all networks are of one family"
        elif counts["architecture"] < architectures:
            few = f"the networks are of fewer than {architectures} architectures"
        elif counts["network"] * max(1, runs) < trained:
            few = f"there are fewer than {trained} networks"
    return few


def behind(table: pd.DataFrame, printed: pd.DataFrame | None) -> dict[tuple[str, str, str], Reason]:
    """Return the reason for each data set, backbone and method that is far behind "baseline"."""
    paper_gaps = {} if printed is None else _gaps(printed)
    excused = {key[-1] for key, gap in paper_gaps.items() if gap < -MOST_BEHIND}  # in the paper too
    return {
        key: _untestable(f"its accuracy is {-100 * gap:.1f} points below the baseline's")
        for key, gap in _gaps(table).items()
        if gap < -MOST_BEHIND and key[-1] not in excused
    }


def _untestable(text: str) -> Reason:
    return Reason(Kind.UNTESTABLE, text)


def _gaps(table: pd.DataFrame) -> dict[tuple[str, str, str], float]:
    """Return each method's accuracy minus the baseline's, by data set, backbone and method."""
    rows = table[table["metric"].eq("accuracy") & table["test_set"].eq("test")]
    if "variant" in rows:
        rows = rows[rows["variant"].eq("primary") & rows["calibration"].isin(["", "before"])]
    means = rows.groupby(["data_set", "backbone", "method"])["value"].mean().unstack("method")
    plain = [name for name in ("baseline", "erm") if name in means]
    return means.sub(means[plain[0]], axis=0).stack().to_dict() if plain else {}
