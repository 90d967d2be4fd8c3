"""The claims of *Evaluating Uncertainty Calibration for Open-Set Recognition* (Lyu et al. 2022)."""

from __future__ import annotations

import pandas as pd

from helpers.report.claims import Claim, Effect, Term
from helpers.report.paper_claims import Claims

CLOSED, OPEN, OPENMAX = "closed-set", "open-set", "open-set + OpenMax"
_TABLES = "Tables I-VI"

_CLAIMS = (
    Claim(
        id="closed-set",
        text="Closed-set, temperature scaling brings the calibration error close to perfect.",
        source=_TABLES,
        check="ECE after scaling exceeds that of perfectly calibrated predictions by < 0.02",
        effects=(
            Effect(
                "closed-set ECE after scaling, above the floor",
                (Term(1, CLOSED, "ece", "after"), Term(-1, CLOSED, "ece_floor", "after")),
                "<",
                0.02,
            ),
            Effect(
                "closed-set ECE, fall by scaling",
                (Term(1, CLOSED, "ece", "before"), Term(-1, CLOSED, "ece", "after")),
                ">",
                0.0,
                decides=False,
            ),
        ),
    ),
    Claim(
        id="open-set",
        text="Open-set, temperature scaling helps but leaves a clear gap.",
        source=_TABLES,
        check="ECE falls, and still exceeds that of perfectly calibrated predictions by > 0.05",
        effects=(
            Effect(
                "open-set ECE, fall by scaling",
                (Term(1, OPEN, "ece", "before"), Term(-1, OPEN, "ece", "after")),
                ">",
                0.0,
            ),
            Effect(
                "open-set ECE after scaling, above the floor",
                (Term(1, OPEN, "ece", "after"), Term(-1, OPEN, "ece_floor", "after")),
                ">",
                0.05,
            ),
        ),
    ),
    Claim(
        id="openmax",
        text="OpenMax raises open-set accuracy without better calibration.",
        source=_TABLES,
        check="accuracy is higher with OpenMax, and neither Brier score nor ECE is lower",
        effects=(
            Effect(
                "accuracy gained by OpenMax",
                (Term(1, OPENMAX, "accuracy", "after"), Term(-1, OPEN, "accuracy", "after")),
                ">",
                0.0,
            ),
            Effect(
                "Brier score added by OpenMax",
                (Term(1, OPENMAX, "brier", "after"), Term(-1, OPEN, "brier", "after")),
                ">=",
                0.0,
            ),
            # The paper's own ECE falls with OpenMax in four of its six tables, so that its
            # sentence holds of its Brier scores and not of its calibration errors.
            Effect(
                "ECE added by OpenMax",
                (Term(1, OPENMAX, "ece", "after"), Term(-1, OPEN, "ece", "after")),
                ">=",
                0.0,
            ),
        ),
    ),
)
"""The margins are this project's: the paper says "close" and "gap" and gives no number."""


def _with_floor(printed: pd.DataFrame) -> pd.DataFrame:
    """Add the floor of the ECE, which the paper does not print, as 0.

    That is hard on the first claim, and kind to the second, whose gaps are however several times
    its margin.
    """
    floor = printed[printed["metric"] == "ece"].assign(metric="ece_floor", value=0.0)
    return pd.concat([printed, floor])


CLAIMS = Claims("openset_calibration", _CLAIMS, printed=_with_floor)
