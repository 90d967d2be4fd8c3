"""The claims of *Evaluating Uncertainty Calibration for Open-Set Recognition* (Lyu et al. 2022)."""

from __future__ import annotations

import pandas as pd

from helpers.report import claims
from helpers.report.claims import Claim, Effect, Term

PAPER = "openset_calibration"
CLOSED, OPEN, OPENMAX = "closed-set", "open-set", "open-set + OpenMax"
_TABLES = "Tables I-VI"

CLAIMS = (
    Claim(
        id="closed-set",
        paper=PAPER,
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
        paper=PAPER,
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
        paper=PAPER,
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


def check(table: pd.DataFrame, *, variant: str = "primary") -> pd.DataFrame:
    """Check the paper's claims on a results table.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier; rows of other papers and variants are left out.
    variant : str
        Which variant of the protocol to check.

    Returns
    -------
    DataFrame
        See `helpers.report.claims.evaluate`; `verdicts` sums it up.

    Raises
    ------
    ValueError
        Several tiers at once, or a variant that the table does not have.
    """
    return claims.evaluate(CLAIMS, claims.of_paper(table, PAPER, variant=variant))


def check_published() -> pd.DataFrame:
    """Do the same arithmetic on the paper's own printed numbers.

    They come without runs and images, hence without intervals: the verdict compares the effect
    itself with its margin.  The paper prints no floor of the ECE, which is taken to be 0: hard on
    the first claim, kind to the second, whose gaps are however several times its margin.
    """
    printed = claims.printed(PAPER)
    floor = printed[printed["metric"] == "ece"].assign(metric="ece_floor", value=0.0)
    return claims.evaluate(CLAIMS, pd.concat([printed, floor]), intervals=False)


def verdicts(checks: pd.DataFrame) -> pd.DataFrame:
    """Sum up what `check` or `check_published` returned; see `helpers.report.claims.verdicts`."""
    return claims.verdicts(CLAIMS, checks)
