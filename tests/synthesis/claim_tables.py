"""Made-up results tables that agree with every claim of a paper, and changes of them.

`CASES` (claim_cases.yaml) has the changes that contradict a claim, or leave it undecided.
"""

import functools
from itertools import product

import numpy as np
import pandas as pd

from helpers.papers.gscore.parameters import DETECTORS
from helpers.papers.human_centric.parameters import KINDS, PAPER_METHODS
from helpers.papers.uimnet.names import ALGORITHMS, MEASURES
from helpers.papers.unknown_detection.composition import PAPER_UNION
from helpers.papers.unknown_detection.parameters import METHODS
from helpers.tables import results
from synthesis.claims import load_claims
from tests.mistakes import beside

AGREEING, CASES, DERIVED, PRINTED = beside(__file__, "claim_cases.yaml").values()
BASE = dict(tier="toy", data_set="cifar10_mini", backbone="resnet8", run=0, images=100)


def table_of(records, **shared):
    origin = results.provenance({}, seed=0, device="cpu", seconds=1.0)
    return results.tidy([BASE | shared | record for record in records], origin)


def by_number(values):
    """Return values by what tells their numbers, as a tuple if it has several parts."""
    parts = [tuple(name.split(" | ")) for name in values]
    return {p if p[1:] else p[0]: value for p, value in zip(parts, values.values(), strict=True)}


def verdicts(paper, table, checks=None):
    """Return the verdict on each claim of a paper, by its claims checked on a table."""
    claims = load_claims(paper)
    summed = claims.verdicts(claims.check(table) if checks is None else checks)
    return dict(zip(summed["claim"], map(str, summed["verdict"]), strict=True))


def noisy(paper, numbers, *, runs, spread, replicates=40, **shared):
    """Return a results table of (columns, value), with runs and replicates around the values."""
    generator, records = np.random.default_rng(0), []
    for run, (columns, value) in product(range(runs), numbers):
        drawn = value + spread * generator.standard_normal(replicates + 1)
        records.append({"run": run, "value": drawn[0], "bootstrap": drawn[1:]} | columns)
    return table_of(records, paper=paper, **shared)


def named(values, *names, **shared):
    """Return pairs of columns and a value, from values by the columns with these names."""
    return [(dict(zip(names, key, strict=True)) | shared, value) for key, value in values.items()]


EVERY_METHOD = by_number(AGREEING["every method"]).items()
DETECTION = {(method, *cell): value for cell, value in EVERY_METHOD for method in METHODS}
DETECTION |= by_number(AGREEING["cifar"])
FAR = {
    "cifar100": ("chars74k_natural", "LSUN-FIX", "dtd"),
    "imagenet": ("food101", "caltech256", "places365"),
}


def unknown_detection(changes=(), *, spread=0.001, data_set="cifar100", runs=5):
    """The union at the paper's shares and each far set are as ours together, unless changed."""
    numbers = DETECTION | by_number(AGREEING.get(data_set, {})) | dict(changes)
    for method, name in product(METHODS, FAR[data_set]):
        numbers.setdefault((method, "auroc", name), numbers[method, "auroc", "far"])
    pairs = named(numbers, "method", "metric", "test_set")
    table = noisy("unknown_detection", pairs, runs=runs, spread=spread, data_set=data_set)
    union = table[table["test_set"] == "union"].assign(test_set=PAPER_UNION)
    both = pd.concat([table, union], ignore_index=True)
    return both.drop_duplicates(list(results.IDENTITY), ignore_index=True)


MODELS = AGREEING["human_centric"]  # average DER99 of MSP, accuracy and number of parameters
BEHIND = dict(zip(PAPER_METHODS, 0.02 * np.arange(9), strict=True))  # MSP is the best, DICE worst
OTHERS = by_number(AGREEING["other_scores"])
# FPR at 95 % TPR of MSP and GradNorm, all ID images as known, and the correct ones alone
RANKINGS = AGREEING["rankings"]


def human_centric(changes=(), models=(), rankings=(), kinds=(), *, runs=5, **noise):
    """DER99 by (model, score), what `MODELS` has, FPR, and DER99 of a kind of sets may change."""
    changes, rankings, pairs = OTHERS | dict(changes), RANKINGS | dict(rankings), []
    for model, (msp, accuracy, size) in (MODELS | dict(models)).items():
        rates = {name: changes.get((model, name), msp + by) for name, by in BEHIND.items()}
        added = dict.fromkeys(["average", *KINDS], 0.0) | dict(kinds).get(model, {})
        numbers = {(n, "der99", sets): rates[n] + added[sets] for n, sets in product(rates, added)}
        numbers["network", "accuracy", "test"] = accuracy
        for metric in RANKINGS:
            pair = rankings.get(f"{model} | {metric}", rankings[metric])
            for name, rate in zip(("msp", "gradnorm"), pair, strict=True):
                numbers[name, metric, "label-shifted"] = rate
        pairs += named(numbers, "method", "metric", "test_set", backbone=model)
        counted = {"method": "network", "metric": "parameters", "bootstrap": ()}
        pairs.append((counted | {"backbone": model}, size))
    return noisy("human_centric", pairs, runs=runs, **{"spread": 0.001} | noise)


IN, OUT = AGREEING["uimnet"].values()
POOR = ("jacobian", "tta", "native")


def _agreeing(backbone, algorithm, measure, variant, calibration, metric):
    value = (IN | OUT)[metric] - 0.2 * (algorithm == "rbf")
    if algorithm not in ("erm", "rbf"):
        value += {"accuracy": -0.02 * (algorithm != "mimo"), "nll": 0.02}.get(metric, 0.0)
    if variant == "ensemble" and not (algorithm == "mimo" and measure):
        gains = {"accuracy": 0.002, "auroc": 0.01, "nll": -0.1, "ece": -0.03, "in_as_in": 0.0}
        value += gains.get(metric, 0.04)
    if algorithm == "mimo" and metric == "out_as_out":
        value += 0.05
    if calibration == "after":
        value += {"ece": -0.04}.get(metric, 0.0)
    if backbone.endswith("+weights"):
        value += {"auroc": -0.01, "out_as_out": -0.01}.get(metric, 0.0)
    value -= 0.1 * (measure in (*POOR, "gmm")) + 0.04 * (measure in ("msp", "gap"))
    return value + 0.1 * (metric == "out_as_out" and backbone.startswith("resnet20"))


def uimnet(*changes, spread=0.0005, runs=2, replicates=40):
    """``(0.1, {"metric": ["nll"]})`` raises every NLL by 0.1."""
    table, columns = _uimnet(spread, runs, replicates)
    gains = np.zeros(len(table))
    for gain, where in changes:
        gains += gain * columns[[*where]].isin(where).all(axis=1)
    drawn = [row + np.float32(by) for row, by in zip(table["bootstrap"], gains, strict=True)]
    return table.assign(value=table["value"] + gains, bootstrap=drawn)


@functools.cache
def _uimnet(spread, runs, replicates):
    """Return the table without changes, and what its rows are about."""
    names = ("backbone", "algorithm", "measure", "variant", "calibration", "metric")
    grid = product(
        ("resnet8", "resnet8+weights", "resnet20", "resnet20+weights"), ALGORITHMS,
        ("", *MEASURES), ("primary", "ensemble"), ("before", "after"), IN | OUT,
    )  # fmt: skip
    cells = [dict(zip(names, key, strict=True)) for key in grid]
    cells = [cell for cell in cells if (cell["metric"] in IN) != bool(cell["measure"])]
    pairs = []
    for columns in cells:
        columns, value = dict(columns), _agreeing(**columns)
        method = f"{columns.pop('algorithm')}/{columns['measure']}".rstrip("/")
        test_set = "out" if columns.pop("measure") else "test"
        pairs.append((columns | {"method": method, "test_set": test_set}, value))
    table = noisy("uimnet", pairs, runs=runs, spread=spread, replicates=replicates)
    return table, pd.DataFrame(cells * runs)


UDE, NETWORKS = "ude_wasserstein", "resnet8 resnet14 resnet20 densenet swin vgg vit mixer".split()
EVALUATORS, MIXED, VARIANTS, CORRELATIONS = AGREEING["gscore"].values()


def gscore(changes=(), *, runs=3, spread=0.001, noise=0.02, sets=60, data_set="cifar10_mini"):
    """Sets near a line; to numbers that match "NETWORK METHOD METRIC VARIANT" is added."""
    table, keys = _gscore(runs, spread, noise, sets)
    table = table.assign(data_set=data_set)
    added = pd.Series(0.0, keys.unique())
    for what, by in dict(changes).items():
        added += by * added.index.str.contains(what)
    return table.assign(value=table["value"] + keys.map(added))


@functools.cache
def _gscore(runs, spread, noise, sets):
    """Return the table without changes, and the keys of the rows that may have one, else ""."""
    names = "backbone", "method", "metric", "variant", "value", "test_set", "run"
    generator, records, keys = np.random.default_rng(0), [], []

    def add(*key, value=None, test_set="all", run=0):
        keys.append(" ".join(key) if value is None else "")
        if value is None:
            network, method, metric, variant = key
            value = CORRELATIONS.get(metric.removeprefix("pearson_"), 0.06)
            value -= 0.02 * (metric.startswith("rmse") and method.endswith(UDE))
            if metric == "accuracy":
                value = 0.7 + 0.02 * NETWORKS.index(network)
            # no claim is about these
            value = {"size 20": -0.3, "ratio 1:100": -0.3}.get(variant, value)
            value += spread * generator.standard_normal() * (test_set == "all")
        records.append(dict(zip(names, (*key, value, test_set, run), strict=True)))

    for index, network in enumerate(NETWORKS):
        add(network, "network", "accuracy", "primary", test_set="test")
        for run, metric in product(range(runs), CORRELATIONS):
            for method in map("/".join, product(DETECTORS, (UDE, *EVALUATORS))):
                add(network, method, f"rmse_{metric}", "primary", run=run)
                if method.partition("/")[2] in MIXED:
                    add(network, method, f"pearson_{metric}", "primary", run=run)
        for run, variant in product(range(runs), VARIANTS):
            for metric in ("pearson_fpr95", "rmse_fpr95"):
                add(network, f"msp/{UDE}", metric, variant, run=run)
        for run, (method, by) in product(range(runs), MIXED.items()):
            value = by - 1 + spread * generator.standard_normal()
            add(network, f"msp/{method}", "pearson_fpr95", "mixed", value=value, run=run)
            keys[-1] = f"mixed {method}"
        for (number, score), detector in product(enumerate(np.linspace(0, 1, sets)), DETECTORS):
            near, name = generator.standard_normal(2) * noise, f"set {number}"
            fpr95 = 0.8 - 0.6 * score - 0.02 * index + near[0]
            for run in range(runs) if detector == "msp" and number % 4 == 0 else ():
                guess = {"value": 0.8 - 0.6 * score - 0.02 * index, "test_set": name, "run": run}
                add(network, f"msp/{UDE}", "predicted_fpr95", "primary", **guess)
            truths = {"fpr95": fpr95, "auroc": 0.6 + 0.3 * score + near[1]}
            truths |= {"fpr80": 0.8 - 0.6 * score + 5 * near[1], "fpr60": 8 * near[1] - 0.6 * score}
            for variant, (metric, truth) in product(("meta", "test"), truths.items()):
                add(network, detector, metric, variant, value=truth, test_set=name)
            for evaluator in MIXED:
                method = f"{detector}/{evaluator}"
                add(network, method, "gscore", "meta", value=score, test_set=name)
    return table_of(records, paper="gscore"), pd.Series(keys)


OF_THREE_FAMILIES = tuple(
    ("cifar10_mini", name) for name in ("resnet8", "densenet16", "efficientnet_b0")
)


def openset_calibration(changes=(), *, spread=0.001, runs=3, cells=OF_THREE_FAMILIES):
    """Numbers by (method, calibration, metric) may change."""
    numbers, pairs = by_number(AGREEING["openset_calibration"]) | dict(changes), []
    for data_set, backbone in cells:
        shared = dict(data_set=data_set, backbone=backbone)
        pairs += named(numbers, "method", "calibration", "metric", **shared)
    for columns, _ in (pair for pair in pairs if pair[0]["metric"] == "ece_floor"):
        columns["bootstrap"] = ()
    return noisy("openset_calibration", pairs, runs=runs, spread=spread)


MAKERS = (unknown_detection, human_centric, uimnet, gscore, openset_calibration)
MAKE = {make.__name__: make for make in MAKERS}
