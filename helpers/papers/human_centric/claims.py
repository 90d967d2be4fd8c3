"""Claims of *Rethinking OOD Detection From a Human-Centric Perspective*.

The paper's sentences are about many networks at once.  `derive` computes numbers over the
networks of a data set, for each run and replicate; its rows stand for "all models".

Minima, maxima and best scores of noisy numbers are too extreme.  In replicates this is removed,
since `helpers.report.claims` centres them; in the value it remains, and favours claims that
something varies.  The margins allow for it.  For "capacity" no margin would be wide enough: other
runs choose the step.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from helpers.checks import known_name
from helpers.papers.human_centric.parameters import METHODS
from helpers.papers.human_centric.quantities import SCORES, quantities, read_numbers
from helpers.report.claim_files import read_claims
from helpers.report.paper_claims import Claims, Second
from helpers.report.published import with_averages

ALL_MODELS = "all models"
"""What `backbone` says in the rows of `derive`."""


def cases(table: pd.DataFrame, *, metric: str = "der99") -> pd.DataFrame:
    """Return the average DER99 (or `metric`) of each network and score, float64 [networks, scores].

    Means over runs and data sets; scores in the order of `METHODS`, NaN if a network lacks a score.

    >>> from helpers.metrics.ranks import mean_ranks
    >>> from helpers.report.published import load, with_averages
    >>> models = cases(with_averages(load("human_centric")))
    >>> models.shape
    (8, 9)
    >>> mean_ranks(models, lower_is_better=True).nsmallest(2).to_dict()
    {'msp': 3.25, 'kl_matching': 3.375}
    """
    known_name("metric", metric, ("der95", "der99"))
    own = table[(table["metric"] == metric) & (table["test_set"] == "average")]
    if own.empty:
        raise ValueError(f"table: no {metric} on the test set average")
    wide = own.pivot_table(
        index="backbone", columns="method", values="value", aggfunc="mean", sort=False
    )
    return wide[[name for name in METHODS if name in wide]].rename_axis(index=None, columns=None)


def derive(table: pd.DataFrame) -> pd.DataFrame:
    """Return numbers over networks, as rows for `helpers.report.claims.evaluate`.

    Each number is computed within a data set, run and replicate, from average DER99 unless noted.
    A run without one of the networks of a number has no such number.

    * ``fpr_at_tpr_behind``, ``fpr_at_tpr_correct_behind``: mean over ResNets of MSP minus GradNorm,
      FPR.
    * ``least_gain``: the minimum over networks of MSP minus the score.
    * ``rank_gain``: mean rank of MSP minus that of the score, in critical differences at 0.05.
    * ``regret``: the largest loss on a normally trained network by the score that is best on
      average.
    * ``accuracy_correlation``: Spearman's correlation over networks of accuracy and MSP.
    * ``capacity_rise``: the largest rise from a network to the next larger one, chosen by other
      runs.
    * ``middle_gain_from_smaller``, ``middle_gain_from_larger``: ViM on the smaller, or larger, of
      three ResNets minus the middle one.
    * ``adversarial_harm``, ``weak_change``: mean rise of MSP by the strongest adversarial training,
      and by the strongest up to `quantities.WEAK`.
    * ``robust_lag``: mean over adversarially trained networks of MSP minus the best score.
    * ``strategy_regret``: the largest loss of a score by the strategy that is best on average.
    * ``distilled_lag``: the distilled network minus the best other one of its architecture.
    * ``distillation_gain``: mean fall of MSP by distillation.
    * ``distillation_both``: the lesser of the largest gain and loss by distillation, maximum over
      scores.

    ``evidence`` describes the networks in words, ``limit`` is why no verdict is possible, or "".
    """
    rows = []
    for data_set, own in table.groupby("data_set", sort=False):
        numbers, counted = read_numbers(own), own[own["metric"] == "parameters"]
        parameters = dict(zip(counted["backbone"], counted["value"], strict=True))
        complete = {model for _, model in numbers}
        models = [model for model in own["backbone"].unique() if model in complete]
        for over in quantities(models, parameters):
            runs = {
                run: np.stack([numbers[run, model] for model in over.models])
                for run in sorted({run for run, _ in numbers})
                if all((run, model) in numbers for model in over.models)
            }
            for run, values in over.by_run(runs).items():
                if not np.isfinite(values).all():  # no accuracy
                    continue
                name = {"data_set": data_set, "backbone": ALL_MODELS, "run": run}
                name |= {"method": over.method, "metric": over.metric}
                name |= {"evidence": over.evidence, "limit": over.limit(len(runs))}
                rows.append({**name, "value": values[0], "bootstrap": values[1:]})
    columns = ["data_set", "backbone", "run", "method", "metric", "evidence", "limit", "value",
               "bootstrap"]  # fmt: skip
    return pd.DataFrame(rows, columns=columns).assign(calibration="", test_set="average")


CLAIMS = Claims(
    "human_centric",
    read_claims(
        Path(__file__).with_name("claims.yaml"), score={name: METHODS[name] for name in SCORES}
    ),
    derive=derive,
    second=Second("held-out threshold", variant="held-out threshold"),
    printed=with_averages,
)
