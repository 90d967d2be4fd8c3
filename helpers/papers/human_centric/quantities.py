"""Numbers that the claims about many networks compare, and the networks of each number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd

from helpers.metrics.correlation import spearman
from helpers.metrics.ranks import critical_difference
from helpers.papers.human_centric.parameters import PAPER_METHODS, ModelName
from helpers.report.paper_claims import index_numbers
from helpers.report.preconditions import PLURALS, count_networks, networks_in_words

SCORES = list(PAPER_METHODS)
"""The paper's nine; MSP is the first."""
FEWEST = 5
"""Models for a correlation: of four, one order in 24 is perfect by chance."""
WAYS = 3
"""Ways of training, for the question which of them is best."""
WEAK = 0.1
"""The largest radius of adversarial training that is small; the paper names it beside 1."""
FAMILIES, ARCHITECTURES = 2, 3
"""For a sentence about models in general: from siblings alone, or from two architectures, nothing
follows about others.  Two decide whether something depends on the architecture."""

_CHOSEN = "of one training of each network, the largest of many differences may be luck"
_FPR = ("fpr_at_tpr", "fpr_at_tpr_correct")
_COMPARED = ("msp", "gradnorm")  # in figure 2
_NUMBERS = [
    *((score, "der99", "average") for score in SCORES),
    *((score, metric, "label-shifted") for metric in _FPR for score in _COMPARED),
    ("network", "accuracy", "test"),
]
_MSP, _ERRORS = 0, slice(0, len(SCORES))  # places in `_NUMBERS`
_ACCURACY = -1
_AT = {name: place for place, name in enumerate(_NUMBERS)}


class Quantity(NamedTuple):
    """A number over networks, as a row of `claims.derive`.

    `compute` maps numbers of `models`, [networks, numbers, 1 + replicates], to [1 + replicates].
    For a verdict, they must belong to enough `families` and `architectures`.  If it `chooses` the
    largest of many differences, it also takes mean numbers of other runs, and chooses by these.
    """

    method: str
    metric: str
    models: Sequence[str]
    compute: Callable[..., np.ndarray]
    families: int = 1
    architectures: int = 1
    chooses: bool = False

    @property
    def evidence(self) -> str:
        """The numbers of networks, architectures and families in words."""
        return networks_in_words(self.models)

    def by_run(self, runs: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
        """Return the number and its replicates of each run, from the networks' numbers."""
        if not self.chooses:
            return {run: self.compute(own) for run, own in runs.items()}
        found = {}
        for run, own in runs.items():
            others = [one[..., 0] for other, one in runs.items() if other != run]
            found[run] = self.compute(own, np.mean(others or [own[..., 0]], axis=0))
        return found

    def limit(self, runs: int) -> str:
        """Return why a verdict from so many runs is not possible, "" if it is."""
        least = {"family": self.families, "architecture": self.architectures}
        counts = count_networks(self.models)
        few = [f"{one} {PLURALS[what]}" for what, one in least.items() if counts[what] < one]
        if few:
            return f"the networks are of fewer than {' and '.join(few)}"
        return _CHOSEN if self.chooses and runs == 1 else ""


def quantities(models: Sequence[str], parameters: dict[str, float]) -> Iterator[Quantity]:
    """Yield every number for which there are enough networks.

    `models` are the networks of one data set with all of the paper's scores, `parameters` their
    sizes.
    """
    parsed = {name: ModelName.parse(name) for name in models}
    normal = [name for name in models if parsed[name].strategy == "normal"]
    if len(models) > 1:
        for place, score in enumerate(SCORES[1:], start=1):
            least, rank = (partial(one, score=place) for one in (_least_gain, _rank_gain))
            yield Quantity(score, "least_gain", models, least, FAMILIES, ARCHITECTURES)
            yield Quantity(score, "rank_gain", models, rank, FAMILIES, ARCHITECTURES)
    if len(normal) > 1:
        yield Quantity("network", "regret", normal, _regret, FAMILIES, ARCHITECTURES)
    if len(models) >= FEWEST:
        yield Quantity("msp", "accuracy_correlation", models, _correlation, FAMILIES, ARCHITECTURES)
    yield from _of_resnets(normal, parameters)
    if steps := _flat(_steps(normal, parameters)):
        yield Quantity("network", "capacity_rise", steps, _chosen_rise, chooses=True)
    yield from _of_adversarial_training(models)
    yield from _of_strategies(models)
    yield from _of_distillation(models)


def control_pairs(models: Iterable[str], strategy: str) -> list[tuple[str, str]]:
    """Return the control and the strongest network of a strategy, of each architecture.

    The control is the network that was only fine-tuned, if there is one, else the normal one.

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


def read_numbers(own: pd.DataFrame) -> dict[tuple[int, str], np.ndarray]:
    """Return the numbers of each run and network that has all of the paper's scores.

    From rows of one data set to [numbers, 1 + replicates]; other missing numbers are NaN.
    """
    levels = ["method", "metric", "test_set"]
    every = pd.MultiIndex.from_tuples(_NUMBERS, names=levels)
    own = own[pd.MultiIndex.from_frame(own[levels]).isin(every)]
    replicates = own["bootstrap"].map(len)
    # where many sets are averaged, rankings have none, and cannot be paired with what has
    own = own[~(own["metric"].isin(_FPR) & (replicates == 0)) | (replicates.max() == 0)]
    found = {}
    for run, part in own.groupby("run"):
        numbers = index_numbers(part, ["backbone", *levels])
        for model, its in numbers.groupby(level="backbone", sort=False):
            its = its.droplevel("backbone").reindex(every)
            if its[0].iloc[_ERRORS].notna().all():
                found[run, model] = its.to_numpy()
    return found


def _of_resnets(normal: Sequence[str], parameters: dict[str, float]) -> Iterator[Quantity]:
    """Yield the numbers of figure 2 and of the text on figure 4, over ResNets."""
    of_family: dict[str, list[str]] = {}
    for name in normal:
        if (family := ModelName.parse(name).family).partition(".")[0] == "resnet":
            of_family.setdefault(family, []).append(name)
    every = _flat(of_family.values())
    if len(every) > 1:
        for metric in _FPR:
            behind = partial(_behind_gradnorm, metric=metric)
            yield Quantity("msp", f"{metric}_behind", every, behind)
    family = max(of_family.values(), key=len, default=[])
    sizes = sorted((one for one in family if one in parameters), key=parameters.get)
    if len(sizes) > 2:
        largest = sizes[-3:]
        for metric, pair in (("from_smaller", (0, 1)), ("from_larger", (2, 1))):
            yield Quantity("vim", f"middle_gain_{metric}", largest, partial(_vim_gain, pair=pair))


def _of_adversarial_training(models: Sequence[str]) -> Iterator[Quantity]:
    if pairs := control_pairs(models, "adversarial"):
        yield Quantity("msp", "adversarial_harm", _flat(pairs), _mean_rise)
    weak = [name for name in models if ModelName.parse(name).strength <= WEAK]
    if pairs := control_pairs(weak, "adversarial"):
        yield Quantity("msp", "weak_change", _flat(pairs), _mean_rise)
    robust = [name for name in models if ModelName.parse(name).strategy == "adversarial"]
    if len(robust) > 1:
        yield Quantity("msp", "robust_lag", robust, _mean_lag)


def _of_strategies(models: Sequence[str]) -> Iterator[Quantity]:
    """Yield the numbers of figure 6, of the architecture with the most strategies.

    Adversarial training is figure 5, and plain fine-tuning is no strategy.
    """
    ways: dict[str, list[str]] = {}
    for name in models:
        model = ModelName.parse(name)
        if model.strategy not in ("adversarial", "finetuned"):
            ways.setdefault(model.architecture, []).append(name)
    own = max(ways.values(), key=len, default=[])
    if len(own) < WAYS:
        return
    yield Quantity("network", "strategy_regret", own, _strategy_regret)
    distilled = [name for name in own if ModelName.parse(name).strategy == "distilled"]
    if distilled:
        first = [*distilled, *(name for name in own if name not in distilled)]
        for score in ("msp", "knn"):
            lag = partial(_lag_of_first, score=SCORES.index(score))
            yield Quantity(score, "distilled_lag", first, lag)


def _of_distillation(models: Sequence[str]) -> Iterator[Quantity]:
    """Yield the numbers of figure 7, on networks with and without distillation."""
    if not (pairs := control_pairs(models, "distilled")):
        return
    backwards = _flat(pair[::-1] for pair in pairs)
    yield Quantity("msp", "distillation_gain", backwards, _mean_rise)
    if len(pairs) > 1:
        yield Quantity("network", "distillation_both", backwards, _gain_and_loss, FAMILIES)


def _steps(normal: Sequence[str], parameters: dict[str, float]) -> list[tuple[str, str]]:
    """Return pairs of a network and the next larger network of its family."""
    families = {name: ModelName.parse(name).family for name in normal if name in parameters}
    steps = []
    for family in dict.fromkeys(families.values()):
        own = sorted((n for n in families if families[n] == family), key=parameters.get)
        steps += [pair for pair in pairwise(own) if parameters[pair[0]] < parameters[pair[1]]]
    return steps


def _flat(groups: Iterable[Sequence[str]]) -> list[str]:
    return list(chain.from_iterable(groups))


def _least_gain(x: np.ndarray, score: int) -> np.ndarray:
    return (x[:, _MSP] - x[:, score]).min(axis=0)


def _rank_gain(x: np.ndarray, score: int) -> np.ndarray:
    from scipy.stats import rankdata  # here, since SciPy takes long to import

    ranks = rankdata(x[:, _ERRORS], axis=1).mean(axis=0)
    return (ranks[_MSP] - ranks[score]) / critical_difference(len(SCORES), len(x))


def _regret(x: np.ndarray) -> np.ndarray:
    """Return the largest loss on a network by using one score for all networks."""
    return _loss_by_one(x[:, _ERRORS])


def _strategy_regret(x: np.ndarray) -> np.ndarray:
    """Return the largest loss of a score by using one strategy for all scores."""
    return _loss_by_one(x[:, _ERRORS].swapaxes(0, 1))


def _loss_by_one(errors: np.ndarray) -> np.ndarray:
    """Return the largest loss by the choice that is best on average, [1 + replicates]."""
    best = errors.mean(axis=0).argmin(axis=0)  # one choice for each replicate
    kept = np.take_along_axis(errors, best[None, None], axis=1)[:, 0]
    return (kept - errors.min(axis=1)).max(axis=0)


def _correlation(x: np.ndarray) -> np.ndarray:
    """Return Spearman's correlation; 0 if all networks are equal in one of the two."""
    return spearman(x[:, _ACCURACY], x[:, _MSP], constant=0.0)


def _chosen_rise(x: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Return second minus first, of the pair and score with the largest rise in `by`."""
    rises = (by[1::2] - by[::2])[:, _ERRORS]
    pair, score = np.unravel_index(rises.argmax(), rises.shape)
    return (x[1::2] - x[::2])[pair, score]


def _mean_rise(x: np.ndarray) -> np.ndarray:
    return (x[1::2] - x[::2])[:, _MSP].mean(axis=0)


def _gain_and_loss(x: np.ndarray) -> np.ndarray:
    """Return the lesser of a score's largest gain and loss; the maximum without MSP."""
    gains = (x[1::2] - x[::2])[:, _ERRORS][:, 1:]
    return np.minimum(gains.max(axis=0), (-gains).max(axis=0)).max(axis=0)


def _behind_gradnorm(x: np.ndarray, metric: str) -> np.ndarray:
    msp, gradnorm = (x[:, _AT[score, metric, "label-shifted"]] for score in _COMPARED)
    return (msp - gradnorm).mean(axis=0)


def _vim_gain(x: np.ndarray, pair: tuple[int, int]) -> np.ndarray:
    first, second = (x[place, SCORES.index("vim")] for place in pair)
    return first - second


def _mean_lag(x: np.ndarray) -> np.ndarray:
    return (x[:, _MSP] - x[:, _ERRORS].min(axis=1)).mean(axis=0)


def _lag_of_first(x: np.ndarray, score: int) -> np.ndarray:
    """Return the first network minus the best of all others."""
    return x[0, score] - x[1:, score].min(axis=0)
