"""The numbers of each finding: a function of the committed results, under the finding's name.

A function gets `read`, which returns the rows of a committed table with some values in some
columns, and returns the numbers of the sentence by name.  Shares, errors and areas are in per cent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from helpers.papers.human_centric.parameters import FRESH
from helpers.tables import printed_numbers, results
from synthesis import front
from synthesis.findings.intervals import (
    Interval,
    over_both,
    over_images,
    over_runs,
    rank_correlation,
)
from synthesis.spread import WITHOUT_RUN, jackknife, leave_out
from synthesis.without_score import compare, rates

Read = Callable[..., pd.DataFrame]
Numbers = dict[str, Any]
EFFECTS: dict[str, Callable[[Read], Numbers]] = {}
#: The measures of the three kinds of errors: test set, metric, and whether less is better.
KINDS = {
    "mistakes": ("test", "aurc", True),
    "near": ("near", "auroc", False),
    "far": ("far", "auroc", False),
}
#: The variants of human-centric evaluation with a threshold from training and from fresh images.
THRESHOLDS = {"training": "primary", "fresh": FRESH}


def effect(function: Callable[[Read], Numbers]) -> Callable[[Read], Numbers]:
    """Register a function under its name."""
    EFFECTS[function.__name__] = function
    return function


def mean_over(rows: pd.DataFrame) -> Interval:
    """Return the mean of some rows in per cent, with its interval for other test images."""
    low, high = results.interval_of_mean(rows)
    return Interval(100 * rows["value"].mean(), 100 * low, 100 * high)


def replicates_of(rows: pd.DataFrame) -> np.ndarray:
    """Return the mean replicates of some rows, which draw the same images."""
    return np.mean(rows["bootstrap"].tolist(), axis=0)


def difference(rows: pd.DataFrame, others: pd.DataFrame) -> Interval:
    """Return the difference of two means in per cent, with its interval for other test images."""
    draws = replicates_of(rows) - replicates_of(others)
    return over_images(100 * (rows["value"].mean() - others["value"].mean()), 100 * draws)


def by_method(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of each method."""
    return {str(name): group for name, group in rows.groupby("method", sort=False)}


@effect
def half_accepted(read: Read) -> Numbers:
    """Compare the shares of errors that MSP and fDBD accept."""
    shares = read("front").set_index(["score", "kind"])
    return {
        f"{score}_{kind}": Interval(*(100 * shares.loc[score, kind]))
        for score in ("msp", "fdbd")
        for kind in KINDS
    }


def mean_ranks(read: Read) -> dict[str, pd.DataFrame]:
    """Return the mean rank of each score for each kind of errors, with `low` and `high`."""
    return {kind: _ranked(read, *measure) for kind, measure in KINDS.items()}


def of_baseline(read: Read, test_set: str, metric: str) -> pd.DataFrame:
    """Return the rows of all scores of the published networks, before any calibration."""
    rows = read("pretrained/synthesis", test_set=test_set, metric=metric, variant="primary")
    return rows[rows["method"].str.startswith("baseline/") & (rows["calibration"] != "after")]


def _ranked(read: Read, test_set: str, metric: str, less_is_better: bool) -> pd.DataFrame:
    rows = of_baseline(read, test_set, metric)
    rows = rows.assign(score=rows["method"].str.partition("/")[2])
    values = rows.pivot(index="score", columns="backbone", values="value")
    drawn = rows.pivot(index="score", columns="backbone", values="bootstrap")
    ranks = values.rank(ascending=less_is_better).mean(axis=1)
    images = np.array(drawn.to_numpy().tolist())  # by score, network and replicate
    signed = images if less_is_better else -images
    # with ties of replicates in the order of the table, which are rare
    places = signed.argsort(axis=0).argsort(axis=0).mean(axis=1) + 1
    low, high = np.quantile(places, [0.025, 0.975], axis=1)
    return pd.DataFrame({"rank": ranks, "low": low, "high": high})


@effect
def all_rounders(read: Read) -> Numbers:
    """Find the scores that are best for one kind of errors, and for all three kinds."""
    ranks = mean_ranks(read)
    places = pd.DataFrame({kind: table["rank"] for kind, table in ranks.items()})
    worst = places.max(axis=1).sort_values()
    kinds = places.idxmax(axis=1)
    numbers: Numbers = {"scores": len(places)}
    for ordinal, score in zip(("first", "second", "third"), worst.index, strict=False):
        numbers[ordinal] = score
        numbers[f"worst_{ordinal}"] = Interval(*ranks[kinds[score]].loc[score])
    for kind, table in ranks.items():
        best = table["rank"] == table["rank"].min()
        numbers |= {
            f"best_{kind}": table.index[best].tolist(),  # of equal rank
            f"msp_{kind}": Interval(*table.loc["msp"]),
        }
    first = Interval(*ranks["far"].loc[worst.index[0]])
    numbers["ahead"] = _apart(numbers["msp_far"], first)
    areas = by_method(of_baseline(read, *KINDS["mistakes"][:2]))
    msp = areas["baseline/msp"]
    return numbers | {
        "area": 100 * msp["value"].mean(),
        "lost_first": difference(areas[f"baseline/{worst.index[0]}"], msp),
        "lost_second": difference(areas[f"baseline/{worst.index[1]}"], msp),
    }


def _apart(first: Interval, second: Interval) -> Interval:
    """Return a difference of two numbers, with the widest interval that both allow."""
    return Interval(first.value - second.value, first.low - second.high, first.high - second.low)


@effect
def better_than_msp(read: Read) -> Numbers:
    """Compare the errors of NCI and fDBD with those of MSP, with two kinds of thresholds."""
    numbers: Numbers = {}
    for threshold, variant in THRESHOLDS.items():
        cases = rates(variant)
        for score in ("nci", "fdbd"):
            change = 100 * (cases[score] - cases["msp"])
            numbers[f"{score}_{threshold}"] = over_runs(change)
            numbers[f"{score}_{threshold}_most"] = change.max()
    strict = compare(rates(FRESH))
    loose = compare(rates(FRESH, "der95"))
    return numbers | {
        "networks": strict.networks,
        "scores": strict.scores,
        "rule": strict.rule,
        "best": strict.lowest,
        "lowest": strict.lowest_rate,
        "loose": loose.lowest_rate,
        "below": loose.below,
    }


@effect
def fresh_threshold(read: Read) -> Numbers:
    """Compare thresholds from training images with those from fresh images."""
    kept = read("front").set_index(["score", "kind"])
    rejected = {
        f"{score}_rejects": Interval(*(100 * (1 - kept.loc[score, "kept"].iloc[[0, 2, 1]])))
        for score in ("msp", "energy")
    }
    errors = read("pretrained/human_centric", metric="der99", data_set="cifar10",
                  test_set=["test", "average"], variant=list(THRESHOLDS.values()))  # fmt: skip
    errors = errors[~errors["backbone"].str.contains("+", regex=False)]
    means = errors.pivot_table("value", "method", ["test_set", "variant"])
    places = means.rank().loc["msp"]
    numbers: Numbers = {"scores": len(means), "networks": errors["backbone"].nunique()}
    for test_set in ("test", "average"):
        for threshold, variant in THRESHOLDS.items():
            numbers[f"{test_set}_{threshold}"] = places[test_set, variant]
    nominal = 100 * (1 - front.KEEP)
    beyond = Interval(*(end - nominal for end in rejected["msp_rejects"]))
    return numbers | rejected | {"nominal": nominal, "beyond": beyond}


def trained(read: Read, test_set: str, metric: str) -> pd.DataFrame:
    """Return the rows of the trained methods of unknown detection."""
    return read("small/unknown_detection", test_set=test_set, metric=metric)


def against_baseline(rows: pd.DataFrame, method: str) -> Interval:
    """Return what a method changes in the baseline, in per cent, for other images and trainings.

    A method on the baseline's networks is compared run by run; an ensemble of these networks, with
    and without each of them.
    """
    primary = by_method(rows[rows["variant"] == "primary"])
    mine = primary[method].set_index("run")
    baseline = primary["baseline"].set_index("run")
    without = rows[(rows["variant"] == WITHOUT_RUN) & (rows["method"] == method)].set_index("run")
    if len(without):
        gains = without["value"] - leave_out(baseline["value"])
    else:
        gains = leave_out(mine["value"] - baseline["value"])
    variance = jackknife(gains.to_numpy())
    change = mine["value"].mean() - baseline["value"].mean()
    draws = replicates_of(mine) - replicates_of(baseline)
    return over_both(100 * change, 100**2 * variance, len(baseline), 100 * draws)


@effect
def own_mistakes(read: Read) -> Numbers:
    """Compare an ensemble and two detectors with the baseline."""
    rows = trained(read, "test", "aurc")
    numbers: Numbers = {
        name: against_baseline(rows, name) for name in ("ensemble", "odin", "openmax")
    }
    means = rows[rows["variant"] == "primary"].groupby("method")["value"].mean()
    numbers |= {f"area_{name}": 100 * means[name] for name in ("baseline", *numbers)}
    numbers["accuracy"] = against_baseline(trained(read, "test", "accuracy"), "ensemble")
    return numbers | {"near": against_baseline(trained(read, "near", "auroc"), "ensemble")}


#: By how many nats a network that learned little is behind the best one.
LATE = 1.0
#: The measures of `improvements`: our test set, the paper's, and the metric.
COMPARED = {
    "union": ("paper_union", "union", "aurc"),
    "mistakes": ("test", "test", "aurc"),
    "near": ("near", "near", "auroc"),
}


def improvements(read: Read) -> pd.DataFrame:
    """Return by how much of the baseline's error each method lowers it, here and in the paper.

    The error is the AURC, and 1 minus the AUROC of near images.
    """
    printed = printed_numbers.load("unknown_detection").query("data_set == 'CIFAR-40'")
    columns = {}
    for kind, (ours, printed_set, metric) in COMPARED.items():
        rows = trained(read, ours, metric).query("variant == 'primary'")
        paper = printed[(printed["metric"] == metric) & (printed["test_set"] == printed_set)]
        for source, table in (("here", rows), ("paper", paper)):
            errors = table.groupby("method", sort=False)["value"].mean()
            errors = 1 - errors if metric == "auroc" else errors
            columns[kind, source] = 100 * (1 - errors / errors["baseline"])
    return pd.DataFrame(columns).dropna().drop("baseline")


@effect
def as_in_the_paper(read: Read) -> Numbers:
    """Correlate the methods' improvements over the baseline, here and in the paper."""
    table = improvements(read)
    numbers: Numbers = {"methods": len(table)}
    for kind in COMPARED:
        numbers[kind] = rank_correlation(table[kind, "paper"], table[kind, "here"])
    return numbers


@effect
def temperature(read: Read) -> Numbers:
    """Compare how much of the calibration error temperature scaling removes."""
    rows = read("small/openset_calibration", metric="ece", variant="primary")
    errors = rows.pivot_table("value", ["method", "calibration"], "run")  # means over architectures
    numbers: Numbers = {"networks": rows.groupby(["backbone", "run"]).ngroups}
    share = read("small/openset_calibration", metric="unknown", variant="primary")["value"]
    numbers["unknown"] = 100 * share.mean()
    removed = {}
    for name in ("closed-set", "open-set"):
        before, after = (errors.loc[(name, when)] for when in ("before", "after"))
        removed[name] = 1 - after / before
        part = name.removesuffix("-set")
        numbers[part] = over_runs(100 * removed[name])
        numbers |= {f"{part}_before": 100 * before.mean(), f"{part}_after": 100 * after.mean()}
    return numbers | {"gap": over_runs(100 * (removed["closed-set"] - removed["open-set"]))}


@effect
def averaged_trials(read: Read) -> Numbers:
    """Compare the best trial of a search with the mean of all trials, before and after scaling."""
    numbers: Numbers = {}
    measures = {"ece": ("test", "erm"), "auroc": ("out", "erm/entropy")}
    for metric, (test_set, method) in measures.items():
        chosen = read("small/uimnet", backbone="resnet20", variant=["primary", "ensemble"],
                      metric=metric, test_set=test_set, method=method)  # fmt: skip
        values = 100 * chosen.pivot(index="run", columns=["variant", "calibration"], values="value")
        for calibration in ("before", "after"):
            raised = values["ensemble", calibration] - values["primary", calibration]
            numbers[f"{metric}_{calibration}"] = over_runs(raised)
    trials = read("small/uimnet", backbone="resnet20", metric="nll", test_set="validation",
                  method="erm")  # fmt: skip
    losses = trials.groupby("variant")["value"].mean()
    weak = int((losses > losses.min() + LATE).sum())
    return numbers | {"weak": weak, "nll_best": losses.min(), "nll_worst": losses.max()}


@effect
def one_quantile(read: Read) -> Numbers:
    """Compare the errors of FPR95, predicted from one quantile and from the Gscore."""
    rows = read("pretrained/gscore", metric="rmse_fpr95", data_set="cifar10",
                variant=["primary", "mixed"])  # fmt: skip
    rows = rows.join(rows["method"].str.split("/", expand=True).set_axis(["score", "by"], axis=1))
    cell = ["backbone", "score", "variant"]
    errors = 100 * rows.pivot_table("value", cell, "by")[["statistic_share", "ude_wasserstein"]]
    errors = errors.set_axis(["share", "gscore"], axis=1).dropna()
    fixed = errors.xs("primary", level="variant")
    less = (fixed["share"] - fixed["gscore"]).unstack("score")
    numbers: Numbers = {"networks": len(less), "detectors": less.shape[1]}
    for name in errors:
        numbers[name] = over_runs(fixed[name].xs("msp", level="score"))
        numbers[f"{name}_mixed"] = over_runs(errors[name].xs(("msp", "mixed"), level=cell[1:]))
    return numbers | {"less": over_runs(less["msp"]), "all": over_runs(less.mean(axis=1))}


@effect
def resize_artefact(read: Read) -> Numbers:
    """Compare Outlier Exposure and the baseline on images resized with and without artefacts."""
    numbers: Numbers = {}
    sets = {name: trained(read, name, "auroc").query("variant == 'primary'")
            for name in ("aliased", "fixed")}  # fmt: skip
    for method in ("outlier_exposure", "baseline"):
        aliased, fixed = (by_method(rows)[method] for rows in sets.values())
        numbers |= {f"{method}_aliased": mean_over(aliased), f"{method}_fixed": mean_over(fixed)}
        numbers[f"{method}_gain"] = difference(aliased, fixed)
    return numbers


def without_sign(numbers: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Return the named effects whose interval includes zero."""
    return [name for name in names if not numbers[name].has_a_sign]
