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

import numpy as np
import pandas as pd

from helpers.checks import known_name
from helpers.papers.human_centric.parameters import METHODS
from helpers.papers.human_centric.quantities import (
    FEWEST,
    SCORES,
    WAYS,
    WEAK,
    quantities,
    read_numbers,
)
from helpers.report.claims import Claim, Effect, Term
from helpers.report.paper_claims import Claims, Second
from helpers.report.published import with_averages

ALL_MODELS = "all models"
"""What `backbone` says in the rows of `derive`."""

_TABLES = "Tables 1 and 2"
_POINT = 0.01  # one point of the paper's tables, which are in per cent
_LITTLE = 0.02  # where the paper says "little", or "almost"


def _effect(name: str, method: str, metric: str, relation: str, margin: float) -> tuple[Effect]:
    return (Effect(name, (Term(1, method, metric, test_set="average"),), relation, margin),)


_TWO_RESNETS = "two ResNets that are trained normally, with FPR over the label-shifted sets"
_AHEAD = (  # what is said of each score, the metric of `derive`, and below what it must be
    ("least average DER99 gained over MSP", "least_gain", 0.0),
    ("mean rank ahead of MSP in critical differences", "rank_gain", 1.0),
)
_CLAIMS = (
    Claim(
        id="conventional",
        text="Judged as usual, with all ID images as known, MSP is behind GradNorm on a ResNet.",
        about=("detection",),
        source="Figure 2: by 27.54 points on ResNet-50",
        check="FPR at 95 % TPR over the label-shifted sets is higher for MSP, in the mean over"
        " ResNets that are trained normally",
        effects=_effect(
            "FPR at 95 % TPR of MSP minus GradNorm, all ID images known",
            "msp", "fpr_at_tpr_behind", ">", 0.0,
        ),
        needs=_TWO_RESNETS,
    ),
    Claim(
        id="correct-ones",
        text="With only the ID images as known that are answered correctly, MSP is ahead of"
        " GradNorm on a ResNet.",
        about=("detection",),
        source="Figure 2: by 16.55 points on ResNet-50",
        check="the same, over the images that are answered correctly, is lower for MSP",
        effects=_effect(
            "FPR at 95 % TPR of MSP minus GradNorm, correct ID images known",
            "msp", "fpr_at_tpr_correct_behind", "<", 0.0,
        ),
        needs=_TWO_RESNETS,
    ),
    Claim(
        id="consistent",
        text="No score is consistently better than MSP.",
        about=("detection",),
        source=_TABLES,
        check="each score is behind MSP on some model, and ahead of it by less than the critical"
        " difference of Nemenyi's test in mean rank over the models",
        effects=tuple(
            effect
            for said, metric, margin in _AHEAD
            for name in SCORES[1:]
            for effect in _effect(f"{said}, {METHODS[name]}", name, metric, "<", margin)
        ),
        needs="two models with all of the paper's scores",
    ),
    Claim(
        id="architecture",
        text="Which score is best depends on the architecture.",
        about=("detection",),
        source=f"{_TABLES}, figure 4",
        check="on some architecture, the score that is best on average over them is worse than"
        " another by > 0.01 of average DER99",
        effects=_effect(
            "average DER99 lost on an architecture by keeping to one score",
            "network", "regret", ">", _POINT,
        ),
        needs="two architectures with all of the paper's scores",
    ),
    Claim(
        id="accuracy",
        text="Models of higher accuracy have lower detection error rates.",
        about=("detection",),
        source="Figures 4 and 5",
        check="rank correlation over models of accuracy and average DER99 of MSP is < -0.5",
        effects=_effect(
            "Spearman's correlation of accuracy and average DER99 of MSP",
            "msp", "accuracy_correlation", "<", -0.5,
        ),
        needs=f"{FEWEST} models with accuracy and all of the paper's scores",
    ),
    Claim(
        id="capacity",
        text="A larger model of a family does not always have lower detection error rates.",
        about=("detection",),
        source="Figure 4",
        check="average DER99 rises by > 0.01 to the next larger model of a family, for the score"
        " and the two models of which it rises most in the other runs",
        effects=_effect(
            "rise of average DER99 to the next larger model of a family, chosen by other runs",
            "network", "capacity_rise", ">", _POINT,
        ),
        needs="two models of one family that differ in their number of parameters",
    ),
    Claim(
        id="depth",
        text="ViM gets better with the depth of a ResNet, and then worse again.",
        about=("detection",),
        source="Figure 4: by 6.67 points from ResNet-50 to 101, and by 1.92 back at 152",
        check="of the three largest of the family of ResNets with the most models, average DER99 of"
        " ViM is lowest on the middle one, by > 0.01 each",
        effects=tuple(
            effect
            for which in ("smaller", "larger")
            for effect in _effect(
                f"average DER99 of ViM, {which} ResNet minus the middle one",
                "vim", f"middle_gain_from_{which}", ">", _POINT,
            )
        ),
        needs="three ResNets of one family, trained normally, with all of the paper's scores",
    ),
    Claim(
        id="adversarial",
        text="Strong adversarial training raises detection error rates.",
        about=("training", "detection"),
        source="Figure 5",
        check="average DER99 of MSP is higher at the largest strength than without; a fine-tuned"
        " network is compared with one that is fine-tuned plainly",
        effects=_effect(
            "average DER99 of MSP, adversarial at the largest strength minus normal",
            "msp", "adversarial_harm", ">", 0.0,
        ),
        needs="a model trained adversarially, and one of its architecture that is not",
    ),
    Claim(
        id="weak-adversarial",
        text="Weak adversarial training changes detection error rates little.",
        about=("training", "detection"),
        source="Figure 5",
        check=f"average DER99 of MSP at the largest strength up to {WEAK} differs by < 0.02 from"
        " that without",
        effects=tuple(
            effect
            for said, relation, sign in (("at most", "<", 1), ("at least", ">", -1))
            for effect in _effect(
                f"average DER99 of MSP, weakly adversarial minus normal, {said}",
                "msp", "weak_change", relation, sign * _LITTLE,
            )
        ),
        needs=f"a model trained adversarially with a strength up to {WEAK}, and one of its"
        " architecture that is not",
    ),
    Claim(
        id="robust",
        text="On models that are trained adversarially, MSP is almost the best score.",
        about=("training", "detection"),
        source="Figure 5",
        check="average DER99 of MSP is above that of the best score by < 0.02, in the mean over"
        " models that are trained adversarially",
        effects=_effect(
            "average DER99 of MSP minus the best score, adversarial",
            "msp", "robust_lag", "<", _LITTLE,
        ),
        needs="two models trained adversarially, with all of the paper's scores",
    ),
    Claim(
        id="strategy",
        text="Which way of training is best depends on the score.",
        about=("training", "detection"),
        source="Figure 6",
        check="for some score, the way of training that is best on average over the scores is worse"
        " than another by > 0.01 of average DER99",
        effects=_effect(
            "average DER99 that a score loses by keeping to one way of training",
            "network", "strategy_regret", ">", _POINT,
        ),
        needs=f"{WAYS} ways to train one architecture, adversarial images apart",
    ),
    Claim(
        id="teacher",
        text="Of all ways of training, distillation is best for MSP and KNN.",
        about=("training", "detection"),
        source="Figure 6",
        check="average DER99 of MSP, and that of KNN, is lower on the distilled model than on any"
        " other of its architecture",
        effects=tuple(
            effect
            for name in ("msp", "knn")
            for effect in _effect(
                f"average DER99 of {METHODS[name]}, distilled minus the best other way",
                name, "distilled_lag", "<", 0.0,
            )
        ),
        needs=f"{WAYS} ways to train one architecture, distillation among them",
    ),
    Claim(
        id="distillation",
        text="Distillation lowers the detection error rate of MSP.",
        about=("training", "detection"),
        source="Figure 7",
        check="average DER99 of MSP is lower with distillation, on average over architectures; a"
        " fine-tuned network is compared with one that is fine-tuned plainly",
        effects=_effect(
            "average DER99 of MSP, normal minus distilled",
            "msp", "distillation_gain", ">", 0.0,
        ),
        needs="a distilled model, and one of its architecture that is not",
    ),
    Claim(
        id="inconsistent-distillation",
        text="What distillation does to other scores depends on the architecture.",
        about=("training", "detection"),
        source="Figure 7: KNN gains 26.95 points with ResNet-50, and loses 8.96 with DeiT-B",
        check="average DER99 of some other score falls by > 0.01 on one architecture, and rises by"
        " > 0.01 on another",
        effects=_effect(
            "average DER99, lesser of a score's largest gain and largest loss by distillation",
            "network", "distillation_both", ">", _POINT,
        ),
        needs="distilled models of two architectures, and the same ones that are not",
    ),
)  # fmt: skip
"""The margins are this project's: the paper gives none.  Effects that it prints are in `source`.

A correlation of 0.5 is what Cohen (1988) calls large.  The scores are the paper's nine.
"""


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
    _CLAIMS,
    derive=derive,
    second=Second("held-out threshold", variant="held-out threshold"),
    printed=with_averages,
)
