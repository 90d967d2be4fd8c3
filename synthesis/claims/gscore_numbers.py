"""The numbers behind the claims of *Unsupervised Evaluation of Out-of-distribution Detection*.

Zhang, Deng and Zheng (2023) report means over detectors and the least of several correlations,
but an effect of `synthesis.effects` is a sum of numbers.  `derive` therefore computes those
numbers first, for each run and replicate.

A correlation has the sign that the claim expects: Gscore falls with FPR95 and rises with AUROC.  If
it has clearly one sign in some runs and clearly the other sign in others, the search of tau has two
optima, and the sets decide which is found.  Then the mean over runs is undecided.

Runs are divisions of one suite of OOD sets by one network, and share most meta-training sets.  The
replicates of a correlation resample the sets, at the tau of run 0.  Variants (sizes, ratios,
mixtures) come without replicates, and their correlations borrow those of the primary variant, of
the same network: Fisher's transform of a correlation varies with the sets by about the same amount,
whatever the correlation is.  RMSEs resample the sets that test the line; their other variants
borrow the relative spread of the primary variant.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from helpers.metrics.correlation import spearman
from helpers.papers.gscore.errors import CONSTANT, constant_errors, set_errors
from helpers.papers.gscore.parameters import DETECTORS
from synthesis.effects import REPLICATES, refuse_duplicates
from synthesis.reasons import Kind, Reason
from synthesis.spread import over_networks

#: The `backbone` of derived numbers over several networks.
ALL_NETWORKS = "all networks"

PROPOSED = "ude_wasserstein"
TITLES = {"fpr95": "FPR95", "auroc": "AUROC"}
#: Titles of the other evaluators of the paper's Table 1.
TABLE_1 = {
    "kmeans_l2": "k-means",
    "gmm_wasserstein": "GMM + Wasserstein",
    "confidence": "confidence",
    "auto_evaluation": "auto-evaluation",
}
#: GMM and its second reading, which the paper allows as well; the lower error counts.
_READINGS = ["gmm_wasserstein", "components_wasserstein"]
_READ = {PROPOSED, *TABLE_1, *_READINGS}
_FEWEST = 4  # networks for a rank correlation; of three, one order in six is perfect by chance
_CLEAR = 0.3  # below it a line explains less than a tenth of the variance: no clear sign
_TURNS = (Reason(Kind.DOUBT, "the sign is not stable over divisions"),)
_NEARLY_ONE = 1 - 1e-9  # Fisher's transform of 1 is infinite
#: Variants of which the least correlation counts: name, kind, smallest and largest step.
_KINDS = (
    ("sizes", "size", 50, np.inf),
    ("ratios", "ratio", 1 / 10, 10),
    ("validations", "validation", 100, np.inf),
)
_PLACE = ["data_set", "backbone", "run"]
_ERROR = [*_PLACE, "detector", "evaluator", "metric"]


def derive(table: pd.DataFrame) -> pd.DataFrame:
    """Compute the numbers of the claims, within each data set, network, run and replicate.

    Means over detectors are over the paper's detectors in the table; a run that lacks one of them
    also lacks the mean.

    * ``correlation_METRIC`` of DETECTOR/ude_wasserstein: Pearson's correlation of Gscore and an
      FPR, negated; undefined for a detector with equal Gscores or metrics on all sets.  For
      ude_wasserstein its mean over detectors, with FPR95 and with AUROC, and
      ``correlation_gain``, the mean with FPR95 minus the mean with AUROC.
    * ``excess_METRIC`` of an evaluator: its RMSE minus the RMSE of UDE + Wasserstein, mean over the
      detectors with both RMSEs.  GMM has two readings; the lower RMSE counts.
    * ``least_skill_of_sizes``: the least skill of the predicted FPR95 over sizes.
    * ``mixed_gain``: in mixtures of drawn shares, the difference of correlations with FPR95: UDE
      minus GMM, and GMM minus k-means.
    * ``least_of_networks``, ``least_of_sizes``, ``least_of_ratios``, ``least_of_validations``: the
      least correlation with FPR95 over networks and over variants.
    * ``accuracy_correlation``: Spearman's correlation over networks of accuracy and mean FPR95 over
      the sets that all networks have.
    """
    refuse_duplicates(table, [*_PLACE, "method", "metric", "test_set", "variant"])
    names = table["method"].str.extract("^([^/]*)/?(.*)$")
    table = table.assign(detector=names[0], evaluator=names[1])
    rows = [
        (*key, method, metric, values[0], values[1:], _TURNS if key[1] in turning else ())
        for _, data_set_rows in table.groupby("data_set", sort=False)
        for method, metric, numbers, turning in _quantities(data_set_rows)
        for key, values in zip(numbers.index, numbers.to_numpy(), strict=True)
    ]
    columns = [*_PLACE, "method", "metric", "value", "bootstrap", "reasons"]
    return pd.DataFrame(rows, columns=columns).assign(calibration="", test_set="all")


def _quantities(table: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame, set[str]]]:
    """Yield method, metric, numbers (column 0) with replicates, and networks with both signs."""
    detectors = table.loc[table["method"].isin(list(DETECTORS)), "method"].nunique()
    networks = table.loc[table["method"] == "network", "backbone"].nunique()
    whole = table[table["test_set"] == "all"]
    primary = whole[whole["variant"] == "primary"]
    sets = _sets(table)
    single = {name: _correlations(primary, *sets, name) for name in (*TITLES, "fpr80", "fpr60")}
    turning = {metric: _turning(values, "detector") for metric, values in single.items()}
    for metric in ("fpr95", "fpr80", "fpr60"):
        for detector, numbers in single[metric].groupby(level="detector", sort=False):
            doubted = {network for network, name in turning[metric] if name == detector}
            yield f"{detector}/{PROPOSED}", f"correlation_{metric}", numbers.droplevel(3), doubted
    for metric in TITLES:
        doubted = {network for network, _ in turning[metric]}
        yield PROPOSED, f"correlation_{metric}", _mean(single[metric], detectors), doubted
    gain = (single["fpr95"] - single["auroc"]).dropna()
    doubted = {network for metric in TITLES for network, _ in turning[metric]}
    yield PROPOSED, "correlation_gain", _mean(gain, detectors), doubted

    factors = _factors(table)
    for metric in TITLES:
        errors = _with_replicates(_errors(primary, metric), factors, metric)
        if {*_READINGS} <= {*errors}:
            pair = pd.concat([errors[name] for name in _READINGS])
            errors[_READINGS[0]] = pair.groupby(level=pair.index.names, sort=False).min()
        detectors_here = {name for each in errors.values() for name in each.index.unique(3)}
        for evaluator in TABLE_1:
            if {evaluator, PROPOSED} <= {*errors}:
                excess = (errors[evaluator] - errors[PROPOSED]).dropna()
                yield evaluator, f"excess_{metric}", _mean(excess, len(detectors_here)), set()

    method = f"msp/{PROPOSED}"
    correlations = single["fpr95"]
    of_sets = correlations[correlations.index.isin(["msp"], level="detector")].droplevel("detector")
    if networks > 1:
        msp = of_sets.groupby(level=["data_set", "run"])
        least = msp.min()[msp.size() == networks].assign(backbone=ALL_NETWORKS)
        least = least.set_index("backbone", append=True).reorder_levels(_PLACE)
        doubted = {ALL_NETWORKS for _, name in turning["fpr95"] if name == "msp"}
        yield method, "least_of_networks", least, doubted
    variants = whole[(whole["method"] == method) & (whole["metric"] == "pearson_fpr95")]
    for name, kind, low, high in _KINDS:
        least, doubted = _least_of(variants, kind, low, high)
        yield method, f"least_of_{name}", _borrowing(least, of_sets), doubted
    skills = _squared_errors(whole[whole["method"] == method], table)
    least_skill = _least_of(skills, "size", 50, np.inf)[0]
    yield method, "least_skill_of_sizes", _with_spread(least_skill, factors), set()
    mixed = whole[(whole["variant"] == "mixed") & (whole["metric"] == "pearson_fpr95")]
    mixed = mixed.pivot(index=_PLACE, columns="method", values="value")
    order = ["msp/kmeans_l2", "msp/gmm_wasserstein", method]
    if {*order} <= {*mixed}:
        msp_rows = primary[primary["detector"] == "msp"]
        spreads = {method: of_sets}
        for name in order[:-1]:
            of_other = _correlations(msp_rows, *sets, "fpr95", name.removeprefix("msp/"))
            spreads[name] = of_other.droplevel("detector")
        drawn = [_borrowing(-mixed[name].dropna().to_frame(0), spreads[name]) for name in order]
        for name, worse, better in zip(order, drawn, drawn[1:], strict=False):
            yield name.removeprefix("msp/"), "mixed_gain", (better - worse).dropna(), set()
    yield "msp", "accuracy_correlation", _accuracy(table), set()


def _squared_errors(variants: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Return the squared errors of FPR95 in parts of the constant's, minus 1: negated skills."""
    sizes = variants["variant"].str.startswith("size")
    rows = variants[sizes & variants["metric"].eq("rmse_fpr95")]
    if rows.empty:
        return rows
    msp_rows = table[(table["detector"] == "msp") & table["evaluator"].isin(["", PROPOSED])]
    constant = constant_errors(set_errors(msp_rows, ["fpr95"]), _PLACE).drop(columns="row")
    rows = rows.merge(constant, on=_PLACE)
    return rows.assign(value=(rows["value"] / rows["constant"]) ** 2 - 1)


def _factors(table: pd.DataFrame) -> pd.DataFrame:
    """Return by how much RMSEs change if the test sets are resampled, [errors, replicates].

    The index is `_ERROR`; all errors have the same draws of the sets.  Printed numbers have none.
    """
    predicted = table["metric"].str.startswith("predicted_").any()
    if not (predicted and table["variant"].eq("meta").any()):
        return pd.DataFrame(index=pd.MultiIndex.from_arrays([[]] * len(_ERROR), names=_ERROR))
    errors = set_errors(table[table["evaluator"].isin(["", *_READ])], tuple(TITLES))
    constant = errors.assign(evaluator=CONSTANT, error=errors["guessed"])
    constant = constant.drop_duplicates([*_ERROR, "test_set"])
    every = pd.concat([errors, constant])
    squares = every.assign(square=every["error"] ** 2)
    squares = squares.pivot(index=_ERROR, columns="test_set", values="square")
    tested = squares.notna().to_numpy(float)
    values = squares.fillna(0).to_numpy()
    draws = _draws(len(squares.columns)).T
    counts = np.maximum(tested @ draws, 1)
    whole = values.sum(axis=1) / tested.sum(axis=1)
    changes = (values @ draws / counts) / np.where(whole > 0, whole, 1)[:, None]
    return pd.DataFrame(np.sqrt(changes), squares.index, columns=range(1, REPLICATES + 1))


def _errors(primary: pd.DataFrame, metric: str) -> dict[str, pd.DataFrame]:
    """Return the RMSE of each evaluator by place and detector."""
    rows = primary[primary["metric"].eq(f"rmse_{metric}") & primary["evaluator"].isin(_READ)]
    groups = rows.set_index([*_PLACE, "detector"]).groupby("evaluator", sort=False)
    return {str(name): group["value"].to_frame(0) for name, group in groups}


def _with_replicates(
    errors: dict[str, pd.DataFrame], factors: pd.DataFrame, metric: str
) -> dict[str, pd.DataFrame]:
    """Return RMSEs with replicates over test sets, if all of them can have replicates.

    An evaluator whose predictions are not stored varies as the constant does, in per cent.
    """
    drawn = {}
    for name, values in errors.items():
        known = factors.index.isin([name], level="evaluator").any()
        evaluator = name if known else CONSTANT
        keys = [(*run_of_detector, evaluator, metric) for run_of_detector in values.index]
        ratios = factors.reindex(pd.MultiIndex.from_tuples(keys))
        replicates = ratios.set_axis(values.index).mul(values[0], axis=0)
        if replicates.empty or replicates.isna().any(axis=None):
            return errors
        drawn[name] = values.join(replicates)
    return drawn


def _with_spread(skills: pd.DataFrame, factors: pd.DataFrame) -> pd.DataFrame:
    """Return skills whose errors vary with the test sets as those of the primary variant do."""
    if skills.empty or factors.empty:
        return skills
    of_msp = factors.xs(("msp", "fpr95"), level=("detector", "metric"))
    shares = of_msp.xs(PROPOSED, level="evaluator") / of_msp.xs(CONSTANT, level="evaluator")
    drawn = (shares.reindex(skills.index) ** 2).mul(1 - skills[0], axis=0)
    return skills.join(1 - drawn)


def _turning(correlations: pd.DataFrame, level: str) -> set[tuple[str, str]]:
    """Return the network and other level of correlations with both signs over the runs."""
    runs = correlations[0].groupby(level=["backbone", level])
    return set(runs.min().index[(runs.min() < -_CLEAR) & (runs.max() > _CLEAR)])


def _mean(numbers: pd.DataFrame, detectors: int) -> pd.DataFrame:
    """Return means over detectors, of the runs that have all of them."""
    groups = numbers.groupby(level=_PLACE, sort=False)
    return groups.mean()[groups.size() == detectors]


def _sets(table: pd.DataFrame) -> tuple[dict[tuple, np.ndarray], np.ndarray]:
    # numbers [sets] by network, method and metric, and the draws of the sets
    sets = table[(table["variant"] == "meta") & (table["run"] == 0)]
    wide = sets.pivot(index="test_set", columns=["backbone", "method", "metric"], values="value")
    wide = wide.loc[sorted(sets.loc[sets["metric"] == "gscore", "test_set"].unique())]
    # the same draws for every detector and network: replicate b is over the same sets in all
    draws = _draws(len(wide)) if len(wide) else np.empty((0, 0))
    return dict(zip(wide.columns, wide.to_numpy().T, strict=True)), draws


def _correlations(
    primary, sets: dict, draws: np.ndarray, metric: str, evaluator: str = PROPOSED
) -> pd.DataFrame:
    """Return correlations of a metric, positive if they are as expected, with replicates."""
    methods = [f"{detector}/{evaluator}" for detector in DETECTORS]
    chosen = primary["metric"].eq(f"pearson_{metric}") & primary["method"].isin(methods)
    pearson = primary[chosen].set_index([*_PLACE, "detector"])
    sign = 1 if metric == "auroc" else -1
    replicates = {}
    values = sign * pearson["value"].to_frame(0)
    if not draws.size or pearson.empty:
        return values
    for network, detector in {(key[1], key[3]) for key in pearson.index}:
        names = (network, f"{detector}/{evaluator}", "gscore"), (network, detector, metric)
        pairs = np.stack([sets[name] for name in names], axis=1)
        there = ~np.isnan(pairs).any(axis=1)
        if there.any() and np.ptp(pairs[there], axis=0).all():
            replicates[network, detector] = sign * _pearson(draws[:, there], pairs[there])
    varied = values[[(key[1], key[3]) in replicates for key in values.index]]
    rows = np.reshape([replicates[key[1], key[3]] for key in varied.index], (-1, REPLICATES))
    return varied.join(pd.DataFrame(rows, varied.index, columns=range(1, REPLICATES + 1)))


def _least_of(
    variants: pd.DataFrame, kind: str, low: float, high: float
) -> tuple[pd.DataFrame, set[str]]:
    """Return the least correlation over sizes or ratios, for the runs that have both end values.

    The second value is the networks with correlations of both signs in one of the variants.
    """
    parts = variants["variant"].replace("primary", "ratio 1:1")
    parts = parts.str.extract(r"^(\w+) (\d+):?(\d*)$").fillna("")
    steps = pd.to_numeric(parts[1]) / pd.to_numeric(parts[2]).fillna(1)
    chosen = variants.assign(step=steps)[(parts[0] == kind) & steps.between(low, high)]
    runs = chosen.groupby(_PLACE)
    reached = runs["step"].agg(lambda steps: {low, high} - {np.inf} <= {*steps})
    single = chosen.set_index([*_PLACE, "variant"])["value"].to_frame(0)
    least = -runs["value"].max().to_frame(0)
    return least[reached.astype(bool)], {network for network, _ in _turning(single, "variant")}


def _borrowing(correlations: pd.DataFrame, of_sets: pd.DataFrame) -> pd.DataFrame:
    """Return correlations of other variants, with the spread over sets of the primary variant.

    `of_sets` are correlations of the same networks and runs with replicates over sets.
    """
    if of_sets.shape[1] == 1 or correlations.empty:
        return correlations
    moved = np.arctanh(of_sets.reindex(correlations.index).clip(-_NEARLY_ONE, _NEARLY_ONE))
    moved = moved.sub(moved.drop(columns=0).mean(axis=1), axis=0)
    moved[0] = 0.0
    values = np.arctanh(correlations[0].clip(-_NEARLY_ONE, _NEARLY_ONE))
    return np.tanh(moved.add(values, axis=0)).dropna()


def _accuracy(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rank correlation over networks; replicates are over sets and networks."""
    accuracy = table[table["metric"].eq("accuracy") & table["method"].eq("network")]
    accuracy = accuracy.groupby("backbone")["value"].mean()
    rates = table[table["metric"].eq("fpr95") & table["method"].eq("msp")]
    rates = rates[rates["variant"].eq("test") & rates["backbone"].isin(accuracy.index)]
    rates = rates.pivot(index="test_set", columns="backbone", values="value").dropna()
    if rates.empty or rates.shape[1] < _FEWEST:
        return pd.DataFrame()
    draws = _draws(len(rates)) if len(rates) > 1 else np.empty((0, len(rates)))
    means = np.concatenate([np.ones((1, len(rates))), draws]) @ rates.to_numpy()
    right = accuracy[rates.columns].to_numpy()
    values = spearman(np.broadcast_to(right, means.shape).T, means.T, constant=0)
    values = over_networks(values, len(right))  # each replicate draws sets and networks
    key = (table["data_set"].iloc[0], ALL_NETWORKS, 0)
    return pd.DataFrame([values], pd.MultiIndex.from_tuples([key], names=_PLACE))


def _draws(sets: int) -> np.ndarray:
    """Return how often each set is in each replicate, [replicates, sets]."""
    return np.random.default_rng(0).multinomial(sets, np.full(sets, 1 / sets), size=REPLICATES)


def _pearson(weights: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the correlation of pairs [N, 2] under weightings [B, N]; 0 if one is constant."""
    weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1)
    x, y = (pairs - pairs.mean(axis=0)).T
    first = weights @ x
    second = weights @ y
    norm = np.sqrt(np.maximum((weights @ x**2 - first**2) * (weights @ y**2 - second**2), 0))
    least = 1e-9 * np.linalg.norm(x) * np.linalg.norm(y)  # below it, rounding alone
    shared = weights @ (x * y) - first * second
    return np.divide(shared, norm, out=np.zeros_like(norm), where=norm > least)
