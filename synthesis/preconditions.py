"""Conditions on networks and numbers before a claim is tested on them: `PRECONDITIONS`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from synthesis.effects import Claim, Verdict, join_texts

#: The papers' names of the network of ordinary training, whose accuracy decides.
PLAIN = ("network", "baseline", "erm", "closed-set")

#: Least share of the test images of known classes that a network must classify correctly.
LEAST_RIGHT = 0.5

#: Largest NLL of a network, as a share of the NLL of guessing, log K.
MOST_LOSS = 0.9

#: Least AUROC of plain training; below this, its score does not detect unknown images at all.
LEAST_AUROC = 0.55

#: Largest loss of accuracy of a method from the baseline, unless the paper has it as well.
MOST_BEHIND = 0.02

_FILE = Path(__file__).with_suffix(".yaml")
PRECONDITIONS, _METHODS, SHORT, LEAKS = yaml.safe_load(_FILE.read_text(encoding="utf-8")).values()

FINE_TUNED = "networks are fine-tuned in this way, not trained from scratch"

#: Families and architectures that a verdict requires, by the subject of a claim.
LEAST_NETWORKS = {"models": (2, 3), "families": (2, 1)}

PLURALS = {"network": "networks", "architecture": "architectures", "family": "families"}


def unlearnt(table: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Return the networks that do not know their classes, with the reason."""
    # networks with a "+" are trained in another way
    chosen = table["method"].isin(PLAIN) & ~table["backbone"].str.contains("+", regex=False)
    chosen &= table["calibration"].isin(["", "before"]) & table["variant"].eq("primary")
    right = table[chosen & table["metric"].eq("accuracy") & table["test_set"].eq("test")]
    right = right.groupby(["data_set", "backbone"])["value"].mean()
    medians = right.groupby(level="data_set").median()
    reason = f"right on less than {100 * LEAST_RIGHT:.0f} % of the test images"
    shares = right.to_dict() | {(name, ""): share for name, share in medians.items()}
    return {network: reason for network, share in shares.items() if share < LEAST_RIGHT}


def mark(rows: pd.DataFrame, reasons: Mapping[tuple[str, str], str]) -> pd.DataFrame:
    """Return numbers with `reasons` of `unlearnt` in their column ``untestable``.

    Numbers over several networks ("all models") have the reason of their data set.
    """
    there = rows["untestable"].tolist() if "untestable" in rows else [""] * len(rows)
    names = rows["backbone"].where(~rows["backbone"].str.startswith("all "), "").tolist()
    given = (reasons.get(key, "") for key in zip(rows["data_set"].tolist(), names, strict=True))
    return rows.assign(untestable=np.array([*map(join_texts, there, given)], dtype=object))


def count_networks(backbones: Iterable[str]) -> dict[str, int]:
    """Return how many networks, architectures and families there are.

    A network that was trained in another way (after "+"), or by others (after "."), is no other
    architecture; a family is the letters that a name begins with.

    >>> count_networks(["resnet8", "resnet8+distilled", "resnet20.others", "tf_efficientnet_lite0"])
    {'network': 4, 'architecture': 3, 'family': 2}
    """
    names = set(backbones)
    architectures = {re.split(r"[+.]", name)[0] for name in names}
    families = {re.match(r"(?:tf_)?([a-z]*)", name.lower())[1] for name in architectures}
    return dict(zip(PLURALS, map(len, (names, architectures, families)), strict=True))


def networks_in_words(backbones: Iterable[str]) -> str:
    """Return the counts of `count_networks` in words."""
    counts = count_networks(backbones)
    return ", ".join(f"{n} {what if n == 1 else PLURALS[what]}" for what, n in counts.items())


def untestable(claim: Claim, tier: str, paper: str) -> str:
    """Return why a claim cannot be tested at a tier, or ""; always "" for printed numbers."""
    key, departure = f"{tier}/{paper}", claim.departure if tier else ""
    training = {"pretrained": FINE_TUNED}.get(tier, SHORT.get(key, ""))
    about_training = training if "training" in claim.about else ""
    return join_texts(_METHODS.get(tier, ""), LEAKS.get(key, ""), departure, about_training)


def weaknesses(claim: Claim, checks: pd.DataFrame, networks, tier: str, paper: str) -> pd.Series:
    """Return for each effect in `checks` why it is undecided in spite of its interval, or ""."""
    example = "an example elsewhere is no contradiction" * claim.existential
    against, few = join_texts(example, SHORT.get(f"{tier}/{paper}", "")), ""
    counts = count_networks(networks)
    for families, architectures in (LEAST_NETWORKS.get(word, (0, 0)) for word in claim.about):
        if counts["family"] < families:
            few = "all networks are of one family"
        elif counts["architecture"] < architectures:
            few = f"the networks are of fewer than {architectures} architectures"
    varies = {"training", "runs"} & {*claim.about}
    reasons = [
        join_texts(
            few,
            "there is one run" if varies and runs == 1 else "",
            against if verdict == Verdict.CONTRADICTED else "",
        )
        for runs, verdict in zip(checks["runs"], checks["verdict"], strict=True)
    ]
    return pd.Series(reasons if tier else "", checks.index)


def behind(table: pd.DataFrame, printed: pd.DataFrame | None) -> dict[tuple[str, str, str], str]:
    """Return the reason for each data set, backbone and method that is far behind "baseline"."""
    paper_gaps = {} if printed is None else _gaps(printed)
    excused = {key[-1] for key, gap in paper_gaps.items() if gap < -MOST_BEHIND}  # in the paper too
    return {
        key: f"its accuracy is {-100 * gap:.1f} points below the baseline's"
        for key, gap in _gaps(table).items()
        if gap < -MOST_BEHIND and key[-1] not in excused
    }


def _gaps(table: pd.DataFrame) -> dict[tuple[str, str, str], float]:
    """Return each method's accuracy minus the baseline's, by data set, backbone and method."""
    rows = table[table["metric"].eq("accuracy") & table["test_set"].eq("test")]
    if "variant" in rows:
        rows = rows[rows["variant"].eq("primary") & rows["calibration"].isin(["", "before"])]
    means = rows.groupby(["data_set", "backbone", "method"])["value"].mean().unstack("method")
    plain = [name for name in ("baseline", "erm") if name in means]
    return means.sub(means[plain[0]], axis=0).stack().to_dict() if plain else {}
