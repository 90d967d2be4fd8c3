"""Claims about evaluation without labels that are this project's own, and no paper's.

They are checked as the paper's are, of the first detector that the estimators were asked about,
MSP, and are counted apart: see `helpers.report.ledger.ledger`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from helpers.metrics import resample_weights
from helpers.papers.gscore.skills import (
    DRAWN,
    ESTIMATOR_TITLES,
    KNOWN,
    WITHOUT_META_SETS,
    set_errors,
)
from helpers.report.claims import OURS, Claim, Effect, Term
from helpers.report.paper_claims import Claims

_TITLES = {"fpr95": "FPR95", "auroc": "AUROC"}
_PROPOSED, _CORRECTED, _CURVE = "ude_wasserstein", "prior_corrected", "curve_regression"
_NO_SKILL = 0.1
_REPLICATES = 1000


def _effect(name: str, method: str, metric: str, relation: str, margin: float) -> Effect:
    return Effect(name, (Term(1, method, metric, test_set="all"),), relation, margin)


_CLAIMS = (
    Claim(
        id="prior-corrected",
        text="At a known share of unknown images, the prior-corrected two-sample estimate has a"
        " smaller error than the Gscore.",
        source=OURS,
        check="RMSE of UDE + Wasserstein minus that of the prior-corrected estimate, of MSP on"
        " mixtures of one to one, is > 0 for FPR95 and AUROC",
        effects=tuple(
            _effect(
                f"RMSE of UDE + Wasserstein minus prior-corrected, {title}",
                f"msp/{_CORRECTED}", f"gain_{metric}", ">", 0.0,
            )
            for metric, title in _TITLES.items()
        ),
        needs="MSP with UDE + Wasserstein, and the estimators at a known share",
    ),
    Claim(
        id="without-meta-sets",
        text="Where the share of unknown images is not known, no estimator without meta sets has"
        " skill.",
        source=OURS,
        check="the skill of each estimator that is told neither meta sets nor the share, of MSP on"
        f" mixtures whose share is drawn, is < {_NO_SKILL} for FPR95 and AUROC",
        effects=tuple(
            _effect(
                f"skill of {ESTIMATOR_TITLES[name]}, {title}",
                f"msp/{name}", f"skill_{metric}", "<", _NO_SKILL,
            )
            for metric, title in _TITLES.items()
            for name in WITHOUT_META_SETS
        ),
        needs="MSP with the estimators on mixtures whose share is drawn",
    ),
    Claim(
        id="curve-regression",
        text="Where the share of unknown images is not known, the regression on the P–P curve has"
        " skill.",
        source=OURS,
        check="its skill, of MSP on mixtures whose share is drawn, is > 0 for FPR95 and AUROC",
        effects=tuple(
            _effect(
                f"skill of {ESTIMATOR_TITLES[_CURVE]}, {title}",
                f"msp/{_CURVE}", f"skill_{metric}", ">", 0.0,
            )
            for metric, title in _TITLES.items()
        ),
        needs="MSP with the estimators on mixtures whose share is drawn",
    ),
)  # fmt: skip
"""A skill below 0.1 saves less than a tenth of the constant's squared error, which nobody who takes
an estimate for one would notice; a claim of skill has to do with more than none.
"""


def derive(table: pd.DataFrame) -> pd.DataFrame:
    """Compute the numbers that the claims speak of, run by run, with replicates over sets.

    * ``gain_METRIC`` of msp/prior_corrected: the RMSE of UDE + Wasserstein minus its own, both on
      the same mixtures of one to one.
    * ``skill_METRIC`` of an estimator of MSP, where the share is drawn.

    Parameters
    ----------
    table : DataFrame
        A results table of this paper and one tier.

    Returns
    -------
    DataFrame
        Rows as `helpers.report.claims.evaluate` takes them.  A table from before the estimators has
        none, and no data for the claims.
    """
    rows = []
    needed = table["method"].str.startswith("msp")
    for (data_set, backbone), own in set_errors(table[needed], [*_TITLES]).groupby(
        ["data_set", "backbone"], sort=False
    ):
        names = sorted(own["test_set"].unique())
        weights = resample_weights(len(names), replicates=_REPLICATES, seed=0).astype(float)
        weights = pd.DataFrame(np.vstack([np.ones(len(names)), weights]), columns=names)
        for (run, metric), one in own.groupby(["run", "metric"], sort=False):
            for method, what, values in _quantities(one, weights):
                place = (data_set, backbone, run, f"msp/{method}", f"{what}_{metric}")
                rows.append((*place, values[0], values[1:]))
    columns = ["data_set", "backbone", "run", "method", "metric", "value", "bootstrap"]
    return pd.DataFrame(rows, columns=columns).assign(calibration="", test_set="all", doubt="")


def _quantities(
    errors: pd.DataFrame, weights: pd.DataFrame
) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield the numbers of one run and metric: method, what it is, the value and its replicates."""
    wide = (
        errors.set_index(["variant", "evaluator", "test_set"])[["error", "guessed"]] ** 2
    ).unstack()
    there = set(wide.index)
    if {("primary", _PROPOSED), (KNOWN, _CORRECTED)} <= there:
        both = wide.loc[[("primary", _PROPOSED), (KNOWN, _CORRECTED)], "error"].dropna(axis=1)
        drawn = weights[both.columns].to_numpy()
        total = np.maximum(drawn.sum(axis=1), 1)  # where no set is drawn there is no error
        first, second = np.sqrt(drawn @ both.to_numpy().T / total[:, None]).T
        yield _CORRECTED, "gain", first - second
    for name in (*WITHOUT_META_SETS, _CURVE):
        if (DRAWN, name) in there:
            own, guessed = (wide.loc[(DRAWN, name), one].dropna() for one in ("error", "guessed"))
            drawn = weights[own.index].to_numpy()
            guess = drawn @ guessed.to_numpy()
            if guess[0]:
                ratio = np.divide(
                    drawn @ own.to_numpy(), guess, out=np.ones_like(guess), where=guess > 0
                )
                yield name, "skill", 1 - ratio


OWN = Claims("gscore", _CLAIMS, derive=derive, every_variant=True, resampled="sets")
