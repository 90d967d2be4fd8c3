"""Claims of *Rethinking OOD Detection From a Human-Centric Perspective*.

The paper's sentences concern many networks at once.  `derive` computes numbers over the networks
of a data set, for each run and replicate; the ``backbone`` of its rows is "all models".

Minima, maxima and best scores of noisy numbers are too extreme.  `synthesis.measuring` removes
this bias from replicates, since it centres them.  In the value it remains, and favours claims that
something varies.  The margins allow for it.  For "capacity" no margin would be wide enough: other
runs choose the step.

The margins are this project's: the paper gives none.  Effects that it prints are in the sources.
0.01 is one point of the paper's tables, which are in per cent.  0.02 stands for "little" and
"almost".  The scores are the paper's nine.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd

from helpers.metrics.correlation import spearman
from helpers.metrics.ranks import critical_difference
from helpers.papers.human_centric.parameters import FRESH, KINDS, PAPER_METHODS, ModelName
from helpers.papers.human_centric.tables import PAPER_SETS
from helpers.tables.printed_numbers import with_averages
from synthesis.effects import POINTS, STRONG, Effect, Wording, number
from synthesis.spread import over_networks
from synthesis.verdicts import Claims, Second, index_numbers

ALL_MODELS = "all models"  # the backbone in the rows of `derive`
SCORES = list(PAPER_METHODS)  # MSP is the first
FEWEST = 5  # models for a correlation: of four, one order in 24 is perfect by chance
WAYS = 3  # ways of training, for the question which of them is best
WEAK = 0.1  # the largest small radius of adversarial training; the paper names it and 1
_RESNETS = "two ResNets that are trained normally, with FPR over the label-shifted sets"

# numbers of a network
_NUMBERS = [*((score, "der99", "average") for score in SCORES), ("network", "accuracy", "test")]
# places in `_NUMBERS`
_MSP = 0
_ERRORS = slice(0, len(SCORES))
_ACCURACY = -1


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
    """Return numbers over networks, as rows for `synthesis.judging.evaluate`.

    Each number is computed within a data set, run and replicate, from average DER99; the FPR of
    each ResNet stays.  A run that lacks a network of a number lacks it; ``networks`` are these.
    """
    rows = []
    for data_set, part in table.groupby("data_set", sort=False):
        numbers = read_numbers(part)
        counted = part[part["metric"] == "parameters"]
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
    """Return FPR and AUROC over label-shifted sets of normal ResNets, if there are two or more."""
    rows = table[table["metric"].str.match(r"(fpr_at_tpr|auroc)(_correct)?$")]
    rows = rows[rows["test_set"].eq(KINDS[2]) & rows["backbone"].str.fullmatch("resnet[^+]*")]
    rows = rows[rows.groupby("data_set")["backbone"].transform("nunique") > 1]
    return rows.assign(networks=[(name,) for name in rows["backbone"]])


def at_paper_weights(table: pd.DataFrame) -> pd.DataFrame:
    """Return the average DER99 at the paper's weights, without replicates: sets have none."""
    cell = ["data_set", "backbone", "run", "method"]
    table = table[table["metric"].isin(["der99", "accuracy", "parameters"])]
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
    models: Sequence[str], sizes: Mapping[str, float], with_msp: Sequence[str]
) -> Iterator[Quantity]:
    """Yield every number for which there are enough networks.

    `models` are the networks of one data set with all of the paper's scores, `sizes` their numbers
    of parameters; `with_msp` are the networks that have MSP.  A function has
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
        # the largest loss on a network by the score that is best on average; without KNN, whose
        # two readings differ more than the scores do
        without_knn = partial(_regret, left_out=SCORES.index("knn"))
        yield Quantity("network", "regret", normal, without_knn)
    if len(with_msp) >= FEWEST:  # Spearman's, of accuracy and MSP; 0 if one of them is constant
        yield Quantity(
            "msp", "accuracy_correlation", with_msp,
            lambda x: over_networks(spearman(x[:, _ACCURACY], x[:, _MSP], constant=0.0), len(x)),
        )  # fmt: skip
    families: dict[str, list[str]] = {}  # each from the smallest network to the largest
    for name in sorted((name for name in normal if name in sizes), key=lambda name: sizes[name]):
        families.setdefault(parsed[name].family, []).append(name)
    following = chain.from_iterable(pairwise(names) for names in families.values())
    if steps := [(small, large) for small, large in following if sizes[small] < sizes[large]]:
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
    yield from _of_strategies(parsed)
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
    parsed = {name: ModelName.parse(name) for name in models}
    pairs = []
    for architecture in dict.fromkeys(model.architecture for model in parsed.values()):
        kinds = {n: m.strength for n, m in parsed.items() if m[:2] == (architecture, strategy)}
        controls = [n for n in (f"{architecture}+finetuned", architecture) if n in parsed]
        if kinds and controls:
            pairs.append((controls[0], max(kinds, key=lambda name: kinds[name])))
    return pairs


def _of_strategies(parsed: Mapping[str, ModelName]) -> Iterator[Quantity]:
    """Yield the numbers of figure 6, of the architecture with the most strategies.

    Adversarial training is figure 5.  A network that was only fine-tuned replaces the normal one.

    >>> names = ["a8", "a8+finetuned", "a8+augmix", "a8+distilled", "a8+adversarial_1"]
    >>> next(_of_strategies({name: ModelName.parse(name) for name in names})).models
    ['a8+finetuned', 'a8+augmix', 'a8+distilled']
    """
    ways: dict[str, list[str]] = {}
    for name, (architecture, strategy, _) in parsed.items():
        if strategy != "adversarial" and f"{name}+finetuned" not in parsed:
            ways.setdefault(architecture, []).append(name)
    names = max(ways.values(), key=len, default=[])
    if len(names) < WAYS:
        return
    # the largest loss of a score by the strategy that is best on average
    yield Quantity("network", "strategy_regret", names, partial(_regret, axes=(1, 0)))
    behind = partial(_mean_difference, first=SCORES.index("vim"), second=SCORES.index("gradnorm"))
    # the paper's noise is learned; Gaussian noise stands in for it
    for strategies in (("adversarial_noise", "gaussian_noise"), ("autoaugment",)):
        if chosen := [name for name in names if parsed[name].strategy in strategies]:
            yield Quantity("vim", f"behind_gradnorm_{strategies[-1]}", chosen, behind)
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


def _regret(
    x: np.ndarray, axes: tuple[int, int] = (0, 1), left_out: int | tuple[()] = ()
) -> np.ndarray:
    """Return the largest loss in a row by the column that is best on average.

    `left_out` is the number of a score that does not count.
    """
    errors = np.delete(x[:, _ERRORS], left_out, axis=1).transpose(*axes, 2)
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
    main="consistent",
    settled_by="ordinary networks of several families on ImageNet, with both kinds of threshold",
    derive=derive,
    seconds=(
        Second(FRESH, variant=FRESH, needs="average"),
        Second("paper's weights of the sets", compute=at_paper_weights, intervals=False),
    ),
    printed=with_averages,
)


#: The authors of MEAL V2, which the paper uses, fine-tune a pretrained network, too.
_DISTILLED = "our distillation is one epoch at a temperature of 4, the authors' is longer"


def _average(name: str, metric: str, method: str, relation: str, margin: float = 0) -> Effect:
    """Return an effect on one of the numbers of `derive`, which are of average DER99."""
    return Effect(name, number(metric, method, "average"), relation, margin)


#: The metrics of figure 2: the title, and the sign of the difference of a worse and a better score.
_FIGURE_2 = {"fpr_at_tpr": ("FPR at 95 % TPR", ">", "<"), "auroc": ("AUROC", "<", ">")}


def _msp_minus_gradnorm(metric: str, known: str, worse: bool) -> Effect:
    """Return MSP minus GradNorm, expected to be worse or better, over the label-shifted sets."""
    title, if_worse, if_better = _FIGURE_2[metric]
    column = metric if known == "all" else f"{metric}_{known}"
    values = [number(column, score, "label-shifted") for score in ("msp", "gradnorm")]
    name = f"{title} of MSP minus GradNorm, {known} ID images known"
    return Effect(name, values[0] - values[1], if_worse if worse else if_better, 0)


def _reversal(metric: str) -> list[Effect]:
    """Return both halves of a sentence: behind with all images, ahead with the correct ones."""
    return [
        _msp_minus_gradnorm(metric, "all", worse=True),
        _msp_minus_gradnorm(metric, "correct", worse=False),
    ]


@CLAIMS.add(
    existential=True,
    source="Figure 2: by 27.54 points on ResNet-50, and by 16.55 ahead",
    check="on one ResNet that is trained normally, FPR at 95 % TPR over the label-shifted sets is"
    " higher for MSP with all ID images as known, and lower with those that are answered correctly",
    needs=_RESNETS,
)
def correct_ones():
    """By FPR at 95 % TPR, MSP is behind GradNorm on a ResNet with all ID images as known, and ahead
    with those that are answered correctly.
    """
    return _reversal("fpr_at_tpr")


@CLAIMS.add(
    existential=True,
    source="Figure 2, whose AUROCs we do not have in numbers",
    check="on one ResNet that is trained normally, AUROC over the label-shifted sets is lower for"
    " MSP with all ID images as known, and higher with those that are answered correctly",
    needs=_RESNETS.replace("FPR", "AUROC"),
)
def correct_ones_auroc():
    """By AUROC, too, MSP is behind GradNorm on a ResNet with all ID images as known, and ahead with
    those that are answered correctly.
    """
    return _reversal("auroc")


@CLAIMS.add(
    about="models",
    source="Tables 1 and 2",
    check="each score is behind MSP on some model by > 0.01, and ahead of it by less than the"
    " critical difference of Nemenyi's test in mean rank over the models",
    needs="two models with all of the paper's scores",
)
def consistent():
    """No score is consistently better than MSP."""
    others = {score: title for score, title in PAPER_METHODS.items() if score != "msp"}
    for score, title in others.items():
        wording = Wording(
            f"the DER99 of {title} is below that of MSP on each network, by at least {{size}}",
            f"the DER99 of {title} is up to {{size}} above that of MSP",
            *POINTS,
        )
        name = f"least average DER99 gained over MSP, {title}"
        yield replace(_average(name, "least_gain", score, "<", -0.01), wording=wording)
    for score, title in others.items():
        wording = Wording(
            f"{title} ranks ahead of MSP by {{size}}",
            f"{title} ranks behind MSP by {{size}}",
            " critical differences",
            digits=2,
        )
        name = f"mean rank ahead of MSP in critical differences, {title}"
        yield replace(_average(name, "rank_gain", score, "<", 1), wording=wording)


@CLAIMS.add(
    about="models",
    existential=True,
    source="Tables 1 and 2, figure 4",
    check="on some network, the score that is best on average over them is worse than another by"
    " > 0.01 of average DER99; KNN does not count, since its two readings differ by more",
    needs="two networks with all of the paper's scores",
)
def architecture():
    """Which score is best depends on the network."""
    name = "average DER99 lost on a network by keeping to one score"
    return [_average(name, "regret", "network", ">", 0.01)]


@CLAIMS.add(
    about="models",
    source="Figures 4 and 5; the paper's text lacks the sentence",
    check="rank correlation over models of accuracy and average DER99 of MSP is < -0.8",
    needs="5 models with accuracy and average DER99 of MSP",
)
def accuracy():
    """Models of higher accuracy have lower detection error rates."""
    name = "Spearman's correlation of accuracy and average DER99 of MSP"
    effect = _average(name, "accuracy_correlation", "msp", "<", -STRONG)
    return [replace(effect, limits=(-1, 1))]


@CLAIMS.add(
    about="runs",
    existential=True,
    source="Figure 4: ViM is 1.92 points worse on ResNet-152 than on ResNet-101",
    check="average DER99 rises by > 0.01 to the next larger model of a family, for the score and"
    " the two models of which it rises most in the other runs, or with one run in this run",
    needs="two models of one family with all of the paper's scores that differ in their number of"
    " parameters",
)
def capacity():
    """A larger model of a family does not always have lower detection error rates."""
    name = "largest rise of average DER99 to the next larger model of a family"
    return [_average(name, "capacity_rise", "network", ">", 0.01)]


@CLAIMS.add(
    existential=True,
    about="runs",
    source="Figure 4: by 6.67 points from ResNet-50 to 101, and by 1.92 back at 152",
    check="of the three largest of the family of ResNets with the most models, average DER99 of ViM"
    " is lowest on the middle one, by > 0.01 each",
    needs="three ResNets of one family, trained normally, with all of the paper's scores",
)
def depth():
    """ViM gets better with the depth of a ResNet, and then worse again."""
    for which in ("smaller", "larger"):
        name = f"average DER99 of ViM, {which} ResNet minus the middle one"
        yield _average(name, f"middle_gain_from_{which}", "vim", ">", 0.01)


@CLAIMS.add(
    about="training",
    source="Figure 5: MSP is 15.32 points worse at a budget of 1",
    check="average DER99 of MSP is higher at the largest strength than without; a fine-tuned"
    " network is compared with one that is fine-tuned plainly",
    needs="a model trained adversarially, and one of its architecture that is not",
)
def adversarial():
    """Strong adversarial training raises detection error rates."""
    name = "average DER99 of MSP, adversarial at the largest strength minus normal"
    return [_average(name, "adversarial_harm", "msp", ">")]


@CLAIMS.add(
    about="training",
    source="Figure 5",
    check="average DER99 of MSP at the largest strength up to 0.1 differs by < 0.02 from that"
    " without",
    needs="a model trained adversarially with a strength up to 0.1, and one of its architecture"
    " that is not",
)
def weak_adversarial():
    """Weak adversarial training changes detection error rates little."""
    name = "average DER99 of MSP, weakly adversarial minus normal"
    return [
        _average(f"{name}, at most", "weak_change", "msp", "<", 0.02),
        _average(f"{name}, at least", "weak_change", "msp", ">", -0.02),
    ]


@CLAIMS.add(
    about="training",
    source="Figure 5",
    check="average DER99 of MSP is above that of the best score by < 0.02, in the mean over models"
    " that are trained adversarially",
    needs="two models trained adversarially, with all of the paper's scores",
)
def robust():
    """On models that are trained adversarially, MSP is almost the best score."""
    name = "average DER99 of MSP minus the best score, adversarial"
    return [_average(name, "robust_lag", "msp", "<", 0.02)]


@CLAIMS.add(
    existential=True,
    about="training",
    source="Figure 6",
    check="for some score, the way of training that is best on average over the scores is worse"
    " than another by > 0.01 of average DER99",
    needs="3 ways to train one architecture, adversarial images apart",
)
def strategy():
    """Which way of training is best depends on the score."""
    name = "average DER99 that a score loses by keeping to one way of training"
    return [_average(name, "strategy_regret", "network", ">", 0.01)]


@CLAIMS.add(
    existential=True,
    about="training",
    source="Figure 6, with learned noise (ANT)",
    check="average DER99 of ViM is higher than that of GradNorm on the model that is trained with"
    " noise, and lower on the model that is trained with AutoAugment",
    needs="3 ways to train one architecture, noise and AutoAugment among them",
)
def noise_autoaugment():
    """GradNorm is better than ViM after training with noise, and ViM is better after
    AutoAugment.
    """
    name = "average DER99 of ViM minus GradNorm"
    return [
        _average(f"{name}, noise", "behind_gradnorm_gaussian_noise", "vim", ">"),
        _average(f"{name}, AutoAugment", "behind_gradnorm_autoaugment", "vim", "<"),
    ]


@CLAIMS.add(
    about="training",
    fine_tuned=True,
    departure=_DISTILLED,
    source="Figure 6",
    check="average DER99 of MSP, and that of KNN, is lower on the distilled model than on any other"
    " of its architecture",
    needs="3 ways to train one architecture, distillation among them",
)
def teacher():
    """Of all ways of training, distillation is best for MSP and KNN."""
    for score in ("msp", "knn"):
        name = f"average DER99 of {PAPER_METHODS[score]}, distilled minus the best other way"
        yield _average(name, "distilled_lag", score, "<")


@CLAIMS.add(
    about="training",
    fine_tuned=True,
    departure=_DISTILLED,
    source="Figure 7",
    check="average DER99 of MSP is lower with distillation, on average over architectures; a"
    " fine-tuned network is compared with one that is fine-tuned plainly",
    needs="a distilled model, and one of its architecture that is not",
)
def distillation():
    """Distillation lowers the detection error rate of MSP."""
    name = "average DER99 of MSP, normal minus distilled"
    return [_average(name, "distillation_gain", "msp", ">")]


@CLAIMS.add(
    existential=True,
    about="training families",
    source="Figure 7: KNN gains 26.95 points with ResNet-50, and loses 8.96 with DeiT-B",
    check="average DER99 of some other score falls by > 0.01 on one architecture, and rises by"
    " > 0.01 on another",
    needs="distilled models of two architectures, and the same ones that are not",
)
def inconsistent_distillation():
    """What distillation does to other scores depends on the architecture."""
    name = "average DER99, lesser of a score's largest gain and largest loss by distillation"
    return [_average(name, "distillation_both", "network", ">", 0.01)]
