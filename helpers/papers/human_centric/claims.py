"""The claims of *Rethinking Out-of-Distribution Detection From a Human-Centric Perspective*.

Zhu et al. (2022) speak of many models at once, while an effect of `helpers.report.claims` is a sum
of numbers of one.  So `derive` first computes what they speak of over the models of a data set,
run by run and replicate by replicate; its rows then stand for "all models".

The least, the largest and the best of numbers with noise lie further out than those of the numbers
without it.  In the replicates this goes with the rest of their mean, since `helpers.report.claims`
centres them; in the value itself it stays, and favours the claims that something varies
("consistent", "architecture", "capacity").  Hence their margins.

What is said of "all models" is said of few.  Each number comes with how many networks,
architectures and families it is computed from; on a single family, the claims about many decide
nothing, and nothing is decided that the held-out threshold does not say too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd

from helpers.checks import known_name
from helpers.metrics.correlation import spearman
from helpers.metrics.ranks import critical_difference
from helpers.papers.human_centric.parameters import METHODS, PAPER_METHODS, ModelName
from helpers.report.claims import Claim, Effect, Term
from helpers.report.paper_claims import Claims, index_numbers
from helpers.report.published import with_averages

ALL_MODELS = "all models"
"""What `backbone` says in the rows of `derive`."""

_TABLES = "Tables 1 and 2"
_POINT = 0.01  # one point of the paper's tables, which are in per cent
_FAMILIES = 2  # of one alone, siblings, nothing follows about others
_FEWEST = 5  # models for a correlation; of four, one order in 24 is perfect by chance
_SCORES = list(PAPER_METHODS)  # MSP is the first
_NUMBERS = [*((name, "der99", "average") for name in _SCORES), ("network", "accuracy", "test")]
_MSP, _ACCURACY = 0, -1  # places in `_NUMBERS`


def _effect(name: str, method: str, metric: str, relation: str, margin: float) -> tuple[Effect]:
    return (Effect(name, (Term(1, method, metric, test_set="average"),), relation, margin),)


_AHEAD = (  # what is said of each score, the metric of `derive`, and below what it must be
    ("least average DER99 gained over MSP", "least_gain", 0.0),
    ("mean rank ahead of MSP in critical differences", "rank_gain", 1.0),
)
_CLAIMS = (
    Claim(
        id="consistent",
        text="No score is consistently better than MSP.",
        source=_TABLES,
        check="each score is behind MSP on some model, and ahead of it by less than the critical"
        " difference of Nemenyi's test in mean rank over the models",
        effects=tuple(
            effect
            for said, metric, margin in _AHEAD
            for name in _SCORES[1:]
            for effect in _effect(f"{said}, {METHODS[name]}", name, metric, "<", margin)
        ),
        needs="two models with all of the paper's scores",
    ),
    Claim(
        id="architecture",
        text="Which score is best depends on the architecture.",
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
        source="Figures 4 and 5",
        check="rank correlation over models of accuracy and average DER99 of MSP is < -0.5",
        effects=_effect(
            "Spearman's correlation of accuracy and average DER99 of MSP",
            "msp", "accuracy_correlation", "<", -0.5,
        ),
        needs=f"{_FEWEST} models with accuracy and all of the paper's scores",
    ),
    Claim(
        id="capacity",
        text="A larger model of a family does not always have lower detection error rates.",
        source="Figure 4",
        check="average DER99 of some score rises by > 0.01 to the next larger model of a family",
        effects=_effect(
            "largest rise of average DER99 to the next larger model of a family",
            "network", "capacity_rise", ">", _POINT,
        ),
        needs="two models of one family that differ in their number of parameters",
    ),
    Claim(
        id="adversarial",
        text="Strong adversarial training raises detection error rates.",
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
        id="distillation",
        text="Distillation lowers the detection error rate of MSP.",
        source="Figure 7",
        check="average DER99 of MSP is lower with distillation, on average over architectures; a"
        " fine-tuned network is compared with one that is fine-tuned plainly",
        effects=_effect(
            "average DER99 of MSP, normal minus distilled",
            "msp", "distillation_gain", ">", 0.0,
        ),
        needs="a distilled model, and one of its architecture that is not",
    ),
)  # fmt: skip
"""The margins are this project's: the paper gives no number.

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

    Each number is computed within one data set and run, from average DER99 (but for the
    accuracy), and so is each of its replicates; a run that lacks one of the models that a number
    is over has no such number.  Models that failed or lack one of the paper's scores are left out.

    * ``least_gain`` of a score: the least, over models, of MSP minus the score.
    * ``rank_gain`` of a score: mean rank over models of MSP minus that of the score, as a
      multiple of the critical difference at 0.05.  Models of one architecture count as one each.
    * ``regret``: over the architectures trained normally, the score that is best on average minus
      the best of each; the largest of that.
    * ``accuracy_correlation``: Spearman's correlation over models of accuracy and MSP.
    * ``capacity_rise``: the next larger model of a family minus the smaller one, both trained
      normally; the largest over families and scores.
    * ``adversarial_harm``: MSP with the largest strength minus without, mean over architectures.
    * ``distillation_gain``: MSP without minus with distillation, mean over architectures.

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
        numbers, counted = _numbers(own), own[own["metric"] == "parameters"]
        parameters = dict(zip(counted["backbone"], counted["value"], strict=True))
        complete = {model for _, model in numbers}
        models = [model for model in own["backbone"].unique() if model in complete]
        for over in _quantities(models, parameters):
            for run in sorted({run for run, _ in numbers}):
                if not all((run, model) in numbers for model in over.models):
                    continue
                values = over.compute(np.stack([numbers[run, model] for model in over.models]))
                if not np.isfinite(values).all():  # no accuracy
                    continue
                name = {"data_set": data_set, "backbone": ALL_MODELS, "run": run}
                name |= {"method": over.method, "metric": over.metric}
                name |= {"evidence": over.evidence, "limit": over.limit}
                rows.append({**name, "value": values[0], "bootstrap": values[1:]})
    columns = ["data_set", "backbone", "run", "method", "metric", "evidence", "limit", "value",
               "bootstrap"]  # fmt: skip
    return pd.DataFrame(rows, columns=columns).assign(calibration="", test_set="average")


class _Quantity(NamedTuple):
    """A number over models; `compute` takes their numbers, [models, numbers, 1 + replicates]."""

    method: str
    metric: str
    models: list[str]
    compute: Callable[[np.ndarray], np.ndarray]
    families: int = 1
    """Of how many it must be, at least, for a verdict."""

    @property
    def evidence(self) -> str:
        models = {name: ModelName.parse(name) for name in self.models}
        counts = {
            "network": len(models),
            "architecture": len({one.architecture for one in models.values()}),
            "family": self._families,
        }
        plural = {"family": "families"}
        said = [
            f"{count} {what if count == 1 else plural.get(what, f'{what}s')}"
            for what, count in counts.items()
        ]
        return ", ".join(said)

    @property
    def limit(self) -> str:
        few = self._families < self.families
        return f"the networks are of fewer than {self.families} families" if few else ""

    @property
    def _families(self) -> int:
        return len({ModelName.parse(name).family for name in self.models})


def _quantities(models: list[str], parameters: dict[str, float]) -> Iterator[_Quantity]:
    """Yield every number for which there are models enough."""
    parsed = {name: ModelName.parse(name) for name in models}
    normal = [name for name in models if parsed[name].strategy == "normal"]
    if len(models) > 1:
        for place, score in enumerate(_SCORES[1:], start=1):
            least, rank = (partial(one, score=place) for one in (_least_gain, _rank_gain))
            yield _Quantity(score, "least_gain", models, least, _FAMILIES)
            yield _Quantity(score, "rank_gain", models, rank, _FAMILIES)
    if len(normal) > 1:
        yield _Quantity("network", "regret", normal, _regret, _FAMILIES)
    if len(models) >= _FEWEST:
        yield _Quantity("msp", "accuracy_correlation", models, _correlation, _FAMILIES)

    steps = []
    for family in dict.fromkeys(parsed[name].family for name in normal):
        own = [name for name in normal if parsed[name].family == family and name in parameters]
        by_size = pairwise(sorted(own, key=parameters.get))
        steps += [pair for pair in by_size if parameters[pair[0]] < parameters[pair[1]]]
    if steps:
        yield _Quantity("network", "capacity_rise", _flat(steps), _largest_rise)
    if pairs := control_pairs(models, "adversarial"):
        yield _Quantity("msp", "adversarial_harm", _flat(pairs), _mean_rise)
    if pairs := control_pairs(models, "distilled"):
        backwards = [pair[::-1] for pair in pairs]
        yield _Quantity("msp", "distillation_gain", _flat(backwards), _mean_rise)


def control_pairs(models: Iterable[str], strategy: str) -> list[tuple[str, str]]:
    """Return of each architecture the control, and the strongest model of a strategy.

    The control is the network that was only fine-tuned, where there is one: what the others have
    from being trained on is no merit of their strategy.

    Examples
    --------
    >>> control_pairs(["a8", "a8+finetuned", "a8+distilled", "b8", "b8+distilled"], "distilled")
    [('a8+finetuned', 'a8+distilled'), ('b8', 'b8+distilled')]
    """
    parsed, pairs = {name: ModelName.parse(name) for name in models}, []
    for architecture in dict.fromkeys(model.architecture for model in parsed.values()):
        own = [
            name
            for name, model in parsed.items()
            if model.architecture == architecture and model.strategy == strategy
        ]
        controls = [one for one in (f"{architecture}+finetuned", architecture) if one in parsed]
        if own and controls:
            pairs.append((controls[0], max(own, key=lambda name: parsed[name].strength)))
    return pairs


def _flat(pairs: list[tuple[str, str]]) -> list[str]:
    return list(chain.from_iterable(pairs))


def _least_gain(x: np.ndarray, score: int) -> np.ndarray:
    return (x[:, _MSP] - x[:, score]).min(axis=0)


def _rank_gain(x: np.ndarray, score: int) -> np.ndarray:
    from scipy.stats import rankdata  # here, since SciPy takes long to import

    ranks = rankdata(x[:, :_ACCURACY], axis=1).mean(axis=0)
    return (ranks[_MSP] - ranks[score]) / critical_difference(len(_SCORES), len(x))


def _regret(x: np.ndarray) -> np.ndarray:
    errors = x[:, :_ACCURACY]
    best = errors.mean(axis=0).argmin(axis=0)  # one score for each replicate
    kept = np.take_along_axis(errors, best[None, None], axis=1)[:, 0]
    return (kept - errors.min(axis=1)).max(axis=0)


def _correlation(x: np.ndarray) -> np.ndarray:
    """Return Spearman's correlation; 0 where all models are the same in one of the two."""
    return spearman(x[:, _ACCURACY], x[:, _MSP], constant=0.0)


def _largest_rise(x: np.ndarray) -> np.ndarray:
    """Return the largest of second minus first of models that come in pairs, over all scores."""
    return (x[1::2] - x[::2])[:, :_ACCURACY].max(axis=(0, 1))


def _mean_rise(x: np.ndarray) -> np.ndarray:
    return (x[1::2] - x[::2])[:, _MSP].mean(axis=0)


def _numbers(own: pd.DataFrame) -> dict[tuple[int, str], np.ndarray]:
    """Return {(run, model): array [numbers, 1 + replicates]} of models that have all scores.

    A missing accuracy, which the paper does not print, is NaN.
    """
    levels = ["method", "metric", "test_set"]
    every = pd.MultiIndex.from_tuples(_NUMBERS, names=levels)
    own = own[pd.MultiIndex.from_frame(own[levels]).isin(every)]
    found = {}
    for run, part in own.groupby("run"):
        numbers = index_numbers(part, ["backbone", *levels])
        for model, its in numbers.groupby(level="backbone", sort=False):
            its = its.droplevel("backbone").reindex(every)
            if its[0].iloc[:_ACCURACY].notna().all():
                found[run, model] = its.to_numpy()
    return found


CLAIMS = Claims(
    "human_centric", _CLAIMS, derive=derive, second="held-out threshold", printed=with_averages
)
