"""A threshold that a reader moves: what it accepts, what of that is wrong, and what is unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from known_unknowns.auditing.report import Audit

STEPS = 40
"""Thresholds that are drawn, about: at each a further fortieth of the images is rejected."""
SETS = 3
"""Sets of unknown images that are drawn, those of which most are accepted."""


@dataclass(frozen=True)
class Place:
    """One threshold, and what it does on the measuring half.

    Attributes
    ----------
    threshold : float
    coverage, risk : float
        Share of the ID images that it accepts, and of wrong ones among these.
    ood_accepted : dict of str to float
        Share of the images of each set of unknown ones that it accepts.
    promised : bool
        Whether it is the rejector's.
    """

    threshold: float
    coverage: float
    risk: float
    ood_accepted: dict[str, float]
    promised: bool


def places(audit: Audit) -> list[Place]:
    """Return thresholds from the one that accepts all images to one that accepts next to none."""
    own, deployed = audit.samples["validation"], audit.thresholds.get(audit.deployed)
    values = np.quantile(own, np.arange(STEPS) / STEPS, method="nearest").tolist()
    promised = None if deployed is None else deployed.value
    found = []
    for value in sorted({*values, *([] if promised is None else [promised])}):
        accepted = own >= value
        unknown = {name: float((audit.samples[name] >= value).mean()) for name in audit.inputs.ood}
        risk = float((~audit.correct[accepted]).mean())
        found.append(Place(value, float(accepted.mean()), risk, unknown, value == promised))
    return found


def draw(said: Mapping) -> str:
    """Return the figure as HTML, from what audit.json says; nothing if all scores are the same."""
    from helpers.report.movable import Axis, Position, movable

    rows = said["curve"]
    if len(rows) < 2:
        return ""
    sets = sorted(
        rows[0]["ood_accepted"], key=lambda name: -sum(row["ood_accepted"][name] for row in rows)
    )[:SETS]
    lines = {"wrong among those accepted": [row["risk"] for row in rows]}
    lines |= {
        f"accepted of unknown: {name}": [row["ood_accepted"][name] for row in rows] for name in sets
    }
    coverage = [row["coverage"] for row in rows]
    positions = [
        Position(
            f"{row['threshold']:.4g}",
            _sentence(row, sets),
            points={
                "threshold": ([row["coverage"]] * len(lines), [one[i] for one in lines.values()])
            },
            at=row["coverage"],
        )
        for i, row in enumerate(rows)
    ]
    top = max(max(one) for one in lines.values())
    return movable(
        positions,
        name="threshold",
        what="Threshold",
        alt="Share of wrong answers, and of unknown images accepted, against the share accepted.",
        axes=(
            Axis("images like yours that are accepted", 0, 1, True),
            Axis("share", 0, min(1, 1.1 * top) or 1, True),
        ),
        still={name: (coverage, one) for name, one in lines.items()},
        start=next((i for i, row in enumerate(rows) if row["promised"]), len(rows) // 10),
    )


def _sentence(row: Mapping, sets: list[str]) -> str:
    unknown = [f"{100 * row['ood_accepted'][name]:.1f} % of {name}" for name in sets]
    return (
        f"From {row['threshold']:.4g} on it accepts {100 * row['coverage']:.1f} % of images like "
        f"yours; {100 * row['risk']:.1f} % of these are wrong."
        + (f" Of unknown images it accepts {', '.join(unknown)}." if unknown else "")
        + (" This is the rejector's." if row["promised"] else "")
    )
