"""What must hold of networks before any claim is judged by them, and how many there are.

Every paper speaks of networks that have learned their task.  The uncertainty of a network that is
right on one image in seven is noise: the verdict is "not testable".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from helpers.report.claims import join_texts

PLAIN = ("network", "baseline", "erm", "closed-set")
"""The papers' names of the network of ordinary training, whose accuracy decides."""

LEAST_RIGHT = 0.5
"""Share of the test images of known classes on which a network must be right."""

MOST_LOSS = 0.9
"""Largest NLL of a network, as a share of that of guessing, log K."""

LEAST_AUROC = 0.55
"""What plain training must reach, or its score does not tell unknown images at all."""

LACKS = {
    "pretrained": {"training": "networks are fine-tuned in this way, not trained from scratch"},
}
"""What a tier cannot test, by the words of `helpers.report.claims.Claim.about`, with the reason."""

PLURALS = {"network": "networks", "architecture": "architectures", "family": "families"}
"""What `count_networks` counts."""


def unlearnt(table: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Return the networks that do not know their classes, with the reason."""
    # networks with a "+" are trained in another way
    chosen = table["method"].isin(PLAIN) & ~table["backbone"].str.contains("+", regex=False)
    right = table[chosen & table["calibration"].isin(["", "before"])].query(
        "metric == 'accuracy' and test_set == 'test' and variant == 'primary'"
    )
    right = right.groupby(["data_set", "backbone"])["value"].mean()
    medians = right.groupby(level="data_set").median()
    shares = right.to_dict() | {(name, ""): share for name, share in medians.items()}
    reason = f"right on less than {100 * LEAST_RIGHT:.0f} % of the test images"
    return {place: reason for place, share in shares.items() if share < LEAST_RIGHT}


def mark(rows: pd.DataFrame, reasons: Mapping[tuple[str, str], str]) -> pd.DataFrame:
    """Return numbers with `reasons` of `unlearnt` in their column ``untestable``.

    Numbers over several networks ("all models") have that of their data set.
    """
    there = rows["untestable"] if "untestable" in rows else [""] * len(rows)
    names = rows["backbone"].where(~rows["backbone"].str.startswith("all "), "")
    given = (reasons.get(place, "") for place in zip(rows["data_set"], names, strict=True))
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
