"""The claims of *Rethinking Out-of-Distribution Detection From a Human-Centric Perspective*.

Zhu et al. (2022) speak of many models at once, while an effect of `helpers.report.claims` is a sum
of numbers of one.  So `derive` first computes what they speak of over the models of a data set,
run by run and replicate by replicate; its rows then stand for "all models".

The least, the largest and the best of numbers with noise lie further out than those of the numbers
without it.  In the replicates this goes with the rest of their mean, since `helpers.report.claims`
centres them; in the value itself it stays, and favours the claims that something varies
("consistent", "architecture", "strategy", "inconsistent-distillation").  Hence their margins.
Where trainings are compared with trainings, by every score and step ("capacity"), no margin is
wide enough: which step is looked at is chosen by the other runs, and one run decides nothing.

What is said of "all models" is said of few.  Each number comes with how many networks,
architectures and families it is computed from; on a single family, the claims about many decide
nothing, and nothing is decided that the held-out threshold does not say too.
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
    """Return one number per model and score, as rank tests, tables and heat maps take them.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier and variant, or printed numbers.
    metric : {"der99", "der95"}
        Its average over test sets, and the mean of that over runs and data sets.

    Returns
    -------
    DataFrame of float64, shape [models, scores]
        Scores in the order of `METHODS`, those that the table lacks left out; models in the order
        of the table.  NaN where a model lacks a score; failed models are not there.

    Raises
    ------
    ValueError
        The metric is unknown, or the table has no average of it.

    Examples
    --------
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
    """Compute from the numbers of single models what the claims say of them together.

    Each number is computed within one data set and run, from average DER99 where nothing else is
    said, and so is each of its replicates; a run that lacks one of the models that a number
    is over has no such number.  Models that failed or lack one of the paper's scores are left out.

    * ``fpr_at_tpr_behind``, ``fpr_at_tpr_correct_behind``: MSP minus GradNorm, of FPR at 95 % TPR
      over the label-shifted sets, mean over ResNets trained normally.
    * ``least_gain`` of a score: the least, over models, of MSP minus the score.
    * ``rank_gain`` of a score: mean rank over models of MSP minus that of the score, as a
      multiple of the critical difference at 0.05.  Models of one architecture count as one each.
    * ``regret``: over the architectures trained normally, the score that is best on average minus
      the best of each; the largest of that.
    * ``accuracy_correlation``: Spearman's correlation over models of accuracy and MSP.
    * ``capacity_rise``: the next larger model of a family minus the smaller one, both trained
      normally; of the models and the score of which it is largest in the other runs.
    * ``middle_gain_from_smaller``, ``middle_gain_from_larger``: ViM on the smaller, or the larger,
      of three ResNets minus that on the middle one.
    * ``adversarial_harm``: MSP with the largest strength minus without, mean over architectures;
      ``weak_change``: the same with the largest strength up to `quantities.WEAK`.
    * ``robust_lag``: MSP minus the best score, mean over models trained adversarially.
    * ``strategy_regret``: over the scores, the way of training that is best on average minus the
      best of each; the largest of that.
    * ``distilled_lag``: of a score, the distilled model minus the best other one of its
      architecture.
    * ``distillation_gain``: MSP without minus with distillation, mean over architectures.
    * ``distillation_both``: the lesser of a score's largest gain and largest loss by distillation
      over architectures; the largest over scores, without MSP.

    Without is the network of the same architecture that was fine-tuned and nothing else, where
    there is one (strategy "finetuned"), else the one trained normally.

    Parameters
    ----------
    table : DataFrame
        A results table of one tier and variant, or printed numbers.

    Returns
    -------
    DataFrame
        Rows as `helpers.report.claims.evaluate` takes them, ``backbone`` being "all models" and
        ``test_set`` "average".  What too few models are there for has no row.  ``evidence`` says
        in words what a number is over, ``limit`` why a verdict on it would say too little.

    Raises
    ------
    ValueError
        Numbers of one run have different numbers of replicates, or a number is there twice.
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
