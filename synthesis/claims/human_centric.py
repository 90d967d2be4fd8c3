"""Claims of *Rethinking OOD Detection From a Human-Centric Perspective*.

The paper's sentences concern many networks at once.  `derive` computes numbers over the networks
of a data set, for each run and replicate; the ``backbone`` of its rows is "all models".

Minima, maxima and best scores of noisy numbers are too extreme.  `synthesis.effects` removes
this bias from replicates, since it centres them.  In the value it remains, and favours claims that
something varies.  The margins allow for it.  For "capacity" no margin would be wide enough: other
runs choose the step.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from helpers.metrics.correlation import spearman
from helpers.metrics.ranks import critical_difference
from helpers.papers.human_centric.parameters import FRESH, KINDS, PAPER_METHODS, ModelName
from helpers.tables.published import with_averages
from synthesis.claim_files import read_claims
from synthesis.paper_claims import Claims, Second, index_numbers

ALL_MODELS = "all models"  # the backbone in the rows of `derive`
SCORES = list(PAPER_METHODS)  # MSP is the first
FEWEST = 5  # models for a correlation: of four, one order in 24 is perfect by chance
WAYS = 3  # ways of training, for the question which of them is best
WEAK = 0.1  # the largest small radius of adversarial training; the paper names it and 1
PAPER_SETS = (1, 3, 4)  # how many sets of each of `KINDS` the paper's average has

# numbers of a network
_NUMBERS = [*((score, "der99", "average") for score in SCORES), ("network", "accuracy", "test")]
_MSP, _ERRORS, _ACCURACY = 0, slice(0, len(SCORES)), -1  # places in `_NUMBERS`


class Quantity(NamedTuple):
    """A number over networks, as a row of `derive`.

    `compute` maps numbers of `models`, [networks, numbers, 1 + replicates], to [1 + replicates].
    If it `chooses` the largest of many differences, it also takes mean numbers of other runs, and
    chooses by these.
    """

    method: str
    metric: str
    models: Sequence[str]
    compute: Callable[..., np.ndarray]
    chooses: bool = False

    def by_run(self, runs: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
        """Return the number and its replicates of each run, from the networks' numbers."""
        if not self.chooses:
            return {run: self.compute(numbers) for run, numbers in runs.items()}
        computed = {}
        for run, numbers in runs.items():
            others = [runs[other][..., 0] for other in runs if other != run]
            computed[run] = self.compute(numbers, np.mean(others or [numbers[..., 0]], axis=0))
        return computed


def derive(table: pd.DataFrame) -> pd.DataFrame:
    """Return numbers over networks, as rows for `synthesis.effects.evaluate`.

    Each number is computed within a data set, run and replicate, from average DER99; the FPR of
    each ResNet stays.  A run that lacks a network of a number lacks it; ``networks`` are these.
    """
    rows = []
    for data_set, part in table.groupby("data_set", sort=False):
        numbers, counted = read_numbers(part), part[part["metric"] == "parameters"]
        sizes = dict(zip(counted["backbone"], counted["value"], strict=True))
        complete = {
            m for (_, m), values in numbers.items() if not np.isnan(values[_ERRORS, 0]).any()
        }
        names = part["backbone"].unique()
        models = [model for model in names if model in complete]
        with_msp = [model for model in names if model in {name for _, name in numbers}]
        for quantity in quantities(models, sizes, with_msp):
            runs = {
                run: np.stack([numbers[run, model] for model in quantity.models])
                for run in sorted({run for run, _ in numbers})
                if all((run, model) in numbers for model in quantity.models)
            }
            named = (*quantity[:2], (*quantity.models,))
            rows += [
                (data_set, ALL_MODELS, run, *named, values[0], values[1:])
                for run, values in quantity.by_run(runs).items()
                if np.isfinite(values).all()  # else there is no accuracy
            ]
    columns = "data_set backbone run method metric networks value bootstrap".split()
    derived = pd.DataFrame(rows, columns=columns).assign(calibration="", test_set="average")
    return pd.concat([derived, _of_figure_2(table)[derived.columns]], ignore_index=True)


def _of_figure_2(table: pd.DataFrame) -> pd.DataFrame:
    """Return FPR over label-shifted sets of normally trained ResNets, if there are two or more."""
    rows = table[table["metric"].str.startswith("fpr_at_tpr")]
    rows = rows[rows["test_set"].eq(KINDS[2]) & rows["backbone"].str.fullmatch("resnet[^+]*")]
    rows = rows[rows.groupby("data_set")["backbone"].transform("nunique") > 1]
    return rows.assign(networks=[(name,) for name in rows["backbone"]])


def at_paper_weights(table: pd.DataFrame) -> pd.DataFrame:
    """Return the average DER99 at the paper's weights, without replicates: sets have none."""
    cell = ["data_set", "backbone", "run", "method"]
    table = table[~table["metric"].str.startswith("fpr_at_tpr")]  # no average of kinds of sets
    rates = table[table["metric"] == "der99"].pivot(index=cell, columns="test_set", values="value")
    means = rates.reindex(columns=[*KINDS]) @ np.array(PAPER_SETS) / sum(PAPER_SETS)
    weighted = means.reindex(pd.MultiIndex.from_frame(table[cell])).to_numpy(float)
    average = table["metric"].eq("der99") & table["test_set"].eq("average") & ~np.isnan(weighted)
    value = table["value"].where(~average, weighted)
    return table.assign(value=value, bootstrap=[()] * len(table))


def read_numbers(table: pd.DataFrame) -> dict[tuple[int, str], np.ndarray]:
    """Return the numbers of each run and network that has MSP.

    From rows of one data set to [numbers, 1 + replicates]; other missing numbers are NaN.
    """
    levels = ["method", "metric", "test_set"]
    every = pd.MultiIndex.from_tuples(_NUMBERS, names=levels)
    table = table[pd.MultiIndex.from_frame(table[levels]).isin(every)]
    arrays = {}
    for run, part in table.groupby("run"):
        numbers = index_numbers(part, ["backbone", *levels])
        for model, values in numbers.groupby(level="backbone", sort=False):
            values = values.droplevel("backbone").reindex(every)
            if not np.isnan(values[0].iloc[_MSP]):
                arrays[run, model] = values.to_numpy()
    return arrays


def quantities(
    models: Sequence[str], sizes: Mapping[str, float], with_msp: Sequence[str] = ()
) -> Iterator[Quantity]:
    """Yield every number for which there are enough networks.

    `models` are the networks of one data set with all of the paper's scores, `sizes` their numbers
    of parameters; `with_msp` are the networks that have MSP, by default the same.  A function has
    numbers x [networks, numbers, 1 + replicates].
    """
    parsed = {name: ModelName.parse(name) for name in models}
    normal = [name for name in models if parsed[name].strategy == "normal"]
    if len(normal) > 1:
        for column, score in enumerate(SCORES[1:], start=1):
            # the minimum over networks of MSP minus the score; and the mean rank of MSP
            # minus the mean rank of the score, in critical differences at 0.05
            least, rank = (partial(gain, score=column) for gain in (_least_gain, _rank_gain))
            yield Quantity(score, "least_gain", normal, least)
            yield Quantity(score, "rank_gain", normal, rank)
        # the largest loss on a network by the score that is best on average
        yield Quantity("network", "regret", normal, _regret)
    with_msp = with_msp or models
    if len(with_msp) >= FEWEST:  # Spearman's, of accuracy and MSP; 0 if one of them is constant
        yield Quantity(
            "msp", "accuracy_correlation", with_msp,
            lambda x: spearman(x[:, _ACCURACY], x[:, _MSP], constant=0.0),
        )  # fmt: skip
    families: dict[str, list[str]] = {}  # each from the smallest network to the largest
    for name in sorted((name for name in normal if name in sizes), key=sizes.get):
        families.setdefault(parsed[name].family, []).append(name)
    steps = _flat(pairwise(names) for names in families.values())
    if steps := [pair for pair in steps if sizes[pair[0]] < sizes[pair[1]]]:
        yield Quantity("network", "capacity_rise", _flat(steps), _chosen_rise, chooses=True)
    resnets = [names for family, names in families.items() if family.split(".")[0] == "resnet"]
    largest = max(resnets, key=len, default=[])[-3:]
    if len(largest) > 2:  # ViM on the smaller, or larger, of three ResNets minus the middle one
        rise = partial(_mean_rise, score=SCORES.index("vim"))
        for metric, end in (("from_smaller", 0), ("from_larger", 2)):
            yield Quantity("vim", f"middle_gain_{metric}", [largest[1], largest[end]], rise)
    # mean rise of MSP by the strongest adversarial training, and by the strongest up to `WEAK`
    weak = [name for name in models if parsed[name].strength <= WEAK]
    for metric, names in (("adversarial_harm", models), ("weak_change", weak)):
        if pairs := control_pairs(names, "adversarial"):
            yield Quantity("msp", metric, _flat(pairs), _mean_rise)
    robust = [name for name in models if parsed[name].strategy == "adversarial"]
    if len(robust) > 1:  # mean over networks of MSP minus the best score
        lag = lambda x: (x[:, _MSP] - x[:, _ERRORS].min(axis=1)).mean(axis=0)  # noqa: E731
        yield Quantity("msp", "robust_lag", robust, lag)
    yield from _of_strategies(models, parsed)
    if pairs := control_pairs(models, "distilled"):  # figure 7, with and without distillation
        backwards = _flat(pair[::-1] for pair in pairs)
        yield Quantity("msp", "distillation_gain", backwards, _mean_rise)
        if len(pairs) > 1:
            yield Quantity("network", "distillation_both", backwards, _gain_and_loss)


def control_pairs(models: Iterable[str], strategy: str) -> list[tuple[str, str]]:
    """Return the control and the strongest network of a strategy, of each architecture.

    The control is the network that was only fine-tuned, if there is one, else the normal one.

    >>> control_pairs(["a8", "a8+finetuned", "a8+distilled", "b8", "b8+distilled"], "distilled")
    [('a8+finetuned', 'a8+distilled'), ('b8', 'b8+distilled')]
    """
    parsed, pairs = {name: ModelName.parse(name) for name in models}, []
    for architecture in dict.fromkeys(model.architecture for model in parsed.values()):
        kinds = {n: m.strength for n, m in parsed.items() if m[:2] == (architecture, strategy)}
        controls = [n for n in (f"{architecture}+finetuned", architecture) if n in parsed]
        if kinds and controls:
            pairs.append((controls[0], max(kinds, key=kinds.get)))
    return pairs


def _of_strategies(models: Sequence[str], parsed: Mapping[str, ModelName]) -> Iterator[Quantity]:
    """Yield the numbers of figure 6, of the architecture with the most strategies.

    Adversarial training is figure 5, and plain fine-tuning is no strategy.
    """
    ways: dict[str, list[str]] = {}
    for name in models:
        if parsed[name].strategy not in ("adversarial", "finetuned"):
            ways.setdefault(parsed[name].architecture, []).append(name)
    names = max(ways.values(), key=len, default=[])
    if len(names) < WAYS:
        return
    # the largest loss of a score by the strategy that is best on average
    yield Quantity("network", "strategy_regret", names, partial(_regret, axes=(1, 0)))
    behind = partial(_mean_difference, first=SCORES.index("vim"), second=SCORES.index("gradnorm"))
    for strategy in ("gaussian_noise", "autoaugment"):
        if chosen := [name for name in names if parsed[name].strategy == strategy]:
            yield Quantity("vim", f"behind_gradnorm_{strategy}", chosen, behind)
    # the distilled network minus the best other one
    if distilled := [name for name in names if parsed[name].strategy == "distilled"]:
        first = [*distilled, *(name for name in names if name not in distilled)]
        for score in ("msp", "knn"):
            lag = partial(_lag_of_first, score=SCORES.index(score))
            yield Quantity(score, "distilled_lag", first, lag)


def _flat(groups: Iterable[Sequence[str]]) -> list[str]:
    return list(chain.from_iterable(groups))


def _least_gain(x: np.ndarray, score: int) -> np.ndarray:
    return (x[:, _MSP] - x[:, score]).min(axis=0)


def _rank_gain(x: np.ndarray, score: int) -> np.ndarray:
    from scipy.stats import rankdata  # here, since SciPy takes long to import

    ranks = rankdata(x[:, _ERRORS], axis=1).mean(axis=0)
    return (ranks[_MSP] - ranks[score]) / critical_difference(len(SCORES), len(x))


def _regret(x: np.ndarray, axes: tuple[int, int] = (0, 1)) -> np.ndarray:
    """Return the largest loss in a row by the column that is best on average."""
    errors = x[:, _ERRORS].transpose(*axes, 2)
    best = errors.mean(axis=0).argmin(axis=0)  # one choice for each replicate
    kept = np.take_along_axis(errors, best[None, None], axis=1)[:, 0]
    return (kept - errors.min(axis=1)).max(axis=0)


def _chosen_rise(x: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Return second minus first, of the pair and score with the largest rise in `by`."""
    rises = (by[1::2] - by[::2])[:, _ERRORS]
    pair, score = np.unravel_index(rises.argmax(), rises.shape)
    return (x[1::2] - x[::2])[pair, score]


def _mean_rise(x: np.ndarray, score: int = _MSP) -> np.ndarray:
    return (x[1::2] - x[::2])[:, score].mean(axis=0)


def _mean_difference(x: np.ndarray, first: int, second: int) -> np.ndarray:
    return (x[:, first] - x[:, second]).mean(axis=0)


def _gain_and_loss(x: np.ndarray) -> np.ndarray:
    """Return the lesser of a score's largest gain and loss; the maximum without MSP."""
    gains = (x[1::2] - x[::2])[:, _ERRORS][:, 1:]
    return np.minimum(gains.max(axis=0), (-gains).max(axis=0)).max(axis=0)


def _lag_of_first(x: np.ndarray, score: int) -> np.ndarray:
    """Return the first network minus the best of all others."""
    return x[0, score] - x[1:, score].min(axis=0)


CLAIMS = Claims(
    "human_centric",
    read_claims(Path(__file__).with_suffix(".yaml"), score=PAPER_METHODS),
    derive=derive,
    seconds=(
        Second(FRESH, variant=FRESH),
        Second("paper's weights of the sets", compute=at_paper_weights, intervals=False),
    ),
    printed=with_averages,
)
