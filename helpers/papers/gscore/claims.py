"""The claims of *Unsupervised Evaluation of Out-of-distribution Detection*.

Zhang, Deng and Zheng (2023) speak of means over detectors and of the least of several correlations,
while an effect of `helpers.report.claims` is a sum of numbers of one.  So `derive` first computes
those, run by run and replicate by replicate.

A correlation is taken with the sign that the claim expects: Gscore falls with FPR95 and rises with
AUROC.  Where it has both signs over the runs, each of them clearly, their mean describes nothing,
and what is made of it decides nothing: the search of tau then has two optima, and which of them is
found hangs on the sets.

Runs are splits of one suite of OOD sets by one network, and share most of their meta-training
sets; how far a correlation would move with other sets is what its replicates say, which are taken
over resampled sets at the tau of run 0.  RMSEs have none: their intervals are over splits alone, as
are those of the variants, and know nothing of other suites.

A correlation is no forecast, so that the sentence of every claim about Gscores ends with the skill
of the predictions behind it, which decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.papers.gscore.parameters import DETECTORS
from helpers.papers.gscore.skills import METRIC_TITLES, pooled_skill, set_errors
from helpers.report.claim_files import read_claims
from helpers.report.paper_claims import Claims, refuse_duplicates

__all__ = ["CLAIMS", "derive"]

ALL_NETWORKS = "all networks"
"""What `backbone` says in the rows of `derive` that are over several networks."""

_PROPOSED = "ude_wasserstein"
_TITLES = {"fpr95": "FPR95", "auroc": "AUROC"}
_OTHERS = {  # with what the RMSE of the proposed evaluator is compared
    "kmeans_l2": "k-means",
    "gmm_wasserstein": "GMM + Wasserstein",
    "confidence": "confidence",
    "auto_evaluation": "auto-evaluation",
    "gmm_kl": "GMM + KL",
    "ude_kl": "UDE + KL",
}
_FEWEST = 4  # networks for a rank correlation; of three, one order in six is perfect by chance
_REPLICATES = 1000
_SMALLEST, _WIDEST = 50, 10
_CLEAR = 0.3  # below it a line explains less than a tenth of the variance: no sign to speak of
_TURNS = "the sign is not stable over divisions"


def derive(table: pd.DataFrame) -> pd.DataFrame:
    """Compute the numbers that the claims speak of.

    Each is computed within one data set, network (but for those over networks) and run, and so is
    each of its replicates.  Means over detectors are over those of the paper that are there; a run
    that lacks one of those that other runs have has no such number.

    * ``correlation_METRIC`` of DETECTOR/ude_wasserstein: Pearson's correlation of Gscore and
      metric, negated for FPR95.  A detector whose Gscores at the tau of run 0, or whose metric,
      are the same for all sets has none: nothing would vary with the sets.  Of ude_wasserstein,
      its mean over detectors, and ``correlation_gain``, that with FPR95 minus that with AUROC.
    * ``excess_METRIC`` of an evaluator: its RMSE minus that of UDE + Wasserstein, mean over the
      detectors that have both.
    * ``least_of_networks``, ``least_of_sizes``, ``least_of_ratios``: the least correlation with
      FPR95 over networks and over variants.
    * ``accuracy_correlation``: Spearman's correlation over networks of accuracy and FPR95, the
      latter a mean over the sets that all of them have.
    """
    refuse_duplicates(table, [*_PLACE, "method", "metric", "test_set", "variant"])
    table = table.assign(
        detector=table["method"].str.replace(r"/.*", "", regex=True),
        evaluator=table["method"].str.replace(r"^[^/]*/?", "", regex=True),
    )
    rows = []
    for _, own in table.groupby("data_set", sort=False):
        for method, metric, numbers, turning in _quantities(own):
            for place, values in zip(numbers.index, numbers.to_numpy(), strict=True):
                doubt = _TURNS if place[1] in turning else ""
                rows.append((*place, method, metric, values[0], values[1:], doubt))
    columns = [*_PLACE, "method", "metric", "value", "bootstrap", "doubt"]
    found = pd.DataFrame(rows, columns=columns).assign(calibration="", test_set="all", limit="")
    about = found["metric"] != "accuracy_correlation"
    return found.assign(evidence=about.map({True: _skill_in_words(table), False: ""}))


def _skill_in_words(table: pd.DataFrame) -> str:
    """Return the skill of UDE + Wasserstein over all detectors, networks and divisions, if any."""
    said = table["metric"].str.startswith("predicted_").any()
    if not (said and table["variant"].eq("meta").any()):  # the printed numbers have no single sets
        return ""
    own = table[table["evaluator"].isin(["", _PROPOSED])]
    errors = set_errors(own, tuple(_TITLES))
    errors = errors[(errors["variant"] == "primary") & (errors["evaluator"] == _PROPOSED)]
    found = {metric: pooled_skill(one) for metric, one in errors.groupby("metric", sort=False)}
    words = [f"{found[one]} for {METRIC_TITLES[one]}" for one in _TITLES if found.get(one)]
    return f"predictions whose skill is {' and '.join(words)}" if words else ""


_PLACE = ["data_set", "backbone", "run"]
# method, metric, numbers indexed by `_PLACE`, and networks whose numbers are of both signs
_Quantity = tuple[str, str, pd.DataFrame, set[str]]


def _quantities(table: pd.DataFrame) -> Iterator[_Quantity]:
    """Yield what is computed of one data set: values (column 0), and their replicates."""
    detectors = table.loc[table["method"].isin(list(DETECTORS)), "method"].nunique()
    networks = table.loc[table["method"] == "network", "backbone"].nunique()
    whole = table[table["test_set"] == "all"]
    primary = whole[whole["variant"] == "primary"]
    single = {metric: _correlations(primary, table, metric) for metric in _TITLES}
    turning = {metric: _turning(own, "detector") for metric, own in single.items()}
    for metric, own in single.items():
        for detector, one in own.groupby(level="detector", sort=False):
            networks_of = {network for network, name in turning[metric] if name == detector}
            one = one.droplevel("detector")
            yield f"{detector}/{_PROPOSED}", f"correlation_{metric}", one, networks_of
        networks_of = {network for network, _ in turning[metric]}
        mean = _over(own, "detector", detectors).mean()
        yield _PROPOSED, f"correlation_{metric}", mean, networks_of
    gain = (single["fpr95"] - single["auroc"]).dropna()
    networks_of = {network for found in turning.values() for network, _ in found}
    yield _PROPOSED, "correlation_gain", _over(gain, "detector", detectors).mean(), networks_of

    for metric in _TITLES:
        errors = primary[primary["metric"] == f"rmse_{metric}"]
        errors = errors.pivot(index=[*_PLACE, "detector"], columns="evaluator", values="value")
        tried = errors.index.get_level_values("detector").nunique()
        for evaluator in _OTHERS:
            if {evaluator, _PROPOSED} <= set(errors):
                excess = (errors[evaluator] - errors[_PROPOSED]).dropna().to_frame(0)
                yield evaluator, f"excess_{metric}", _over(excess, "detector", tried).mean(), set()

    method = f"msp/{_PROPOSED}"
    msp = single["fpr95"].query("detector == 'msp'").droplevel("detector")
    if networks > 1:
        least = _over(msp, "backbone", networks).min().assign(backbone=ALL_NETWORKS)
        least = least.set_index("backbone", append=True).reorder_levels(_PLACE)
        any_turns = any(name == "msp" for _, name in turning["fpr95"])
        yield method, "least_of_networks", least, {ALL_NETWORKS} if any_turns else set()
    variants = whole[(whole["method"] == method) & (whole["metric"] == "pearson_fpr95")]
    yield method, "least_of_sizes", *_least_of(variants, _size, {_SMALLEST})
    yield method, "least_of_ratios", *_least_of(variants, _ratio, {1 / _WIDEST, _WIDEST})
    yield "msp", "accuracy_correlation", _accuracy(table), set()


def _turning(correlations: pd.DataFrame, level: str) -> set[tuple[str, str]]:
    """Return of which network and other level the correlations of runs are of both signs."""
    runs = correlations[0].groupby(level=["backbone", level])
    return set(runs.min().index[(runs.min() < -_CLEAR) & (runs.max() > _CLEAR)])


def _correlations(primary: pd.DataFrame, table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return correlations of a metric, positive where they are as expected, with replicates."""
    own = primary[(primary["metric"] == f"pearson_{metric}") & (primary["evaluator"] == _PROPOSED)]
    own = own[own["detector"].isin(list(DETECTORS))].set_index([*_PLACE, "detector"])
    sign = 1 if metric == "auroc" else -1
    values = sign * own["value"].to_frame(0)
    sets = table[(table["variant"] == "meta") & (table["run"] == 0)]
    names = sorted(sets.loc[sets["metric"] == "gscore", "test_set"].unique())
    if not names or own.empty:
        return values
    columns = sets.groupby(["backbone", "method", "metric"])
    columns = {key: one.set_index("test_set")["value"].reindex(names) for key, one in columns}
    # the same draws for every detector and network: replicate b is over the same sets in all
    draws, replicates = _draws(len(names)), {}
    for network, detector in dict.fromkeys((place[1], place[3]) for place in own.index):
        pair = [(network, f"{detector}/{_PROPOSED}", "gscore"), (network, detector, metric)]
        for one in pair:
            if one not in columns:
                raise ValueError(f"table: no {one[2]} of {one[1]} on {network} by sets")
        pairs = np.stack([columns[one] for one in pair], axis=1)
        there = ~np.isnan(pairs).any(axis=1)
        if there.any() and np.ptp(pairs[there], axis=0).all():
            replicates[network, detector] = sign * _pearson(draws[:, there], pairs[there])
    pairs = [(place[1], place[3]) for place in own.index]
    varied = np.array([pair in replicates for pair in pairs])
    rows = np.reshape([replicates[pair] for pair in pairs if pair in replicates], (-1, _REPLICATES))
    rows = pd.DataFrame(rows, own.index[varied], columns=range(1, _REPLICATES + 1))
    return values[varied].join(rows)


def _least_of(
    variants: pd.DataFrame, step_of: Callable[[str], float | None], ends: set[float]
) -> tuple[pd.DataFrame, set[str]]:
    """Return the least correlation over variants, of the runs that have those at the ends.

    Beside it the networks whose correlations are of both signs in one of the variants.
    """
    own = variants.assign(step=variants["variant"].map(step_of)).dropna(subset="step")
    reach = own.groupby(_PLACE)["step"].agg(set)
    least = -own.groupby(_PLACE)["value"].max().to_frame(0)
    single = own.set_index([*_PLACE, "variant"])["value"].to_frame(0)
    turning = {network for network, _ in _turning(single, "variant")}
    return least[[ends <= steps for steps in reach]], turning


def _size(variant: str) -> float | None:
    kind, _, size = variant.partition(" ")
    return float(size) if kind == "size" and float(size) >= _SMALLEST else None


def _ratio(variant: str) -> float | None:
    kind, _, ratio = variant.replace("primary", "ratio 1:1").partition(" ")
    if kind != "ratio":
        return None
    known, unknown = map(float, ratio.split(":"))
    return known / unknown if 1 / _WIDEST <= known / unknown <= _WIDEST else None


def _accuracy(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rank correlation over networks, with replicates over sets if there are several."""
    accuracy = table[table["metric"].eq("accuracy") & table["method"].eq("network")]
    accuracy = accuracy.groupby("backbone")["value"].mean()
    rates = table[table["metric"].eq("fpr95") & table["method"].eq("msp")]
    rates = rates[rates["variant"].eq("test") & rates["backbone"].isin(accuracy.index)]
    rates = rates.pivot(index="test_set", columns="backbone", values="value").dropna()
    if rates.empty or rates.shape[1] < _FEWEST:
        return pd.DataFrame()
    from scipy.stats import rankdata  # here, since SciPy takes long to import

    draws = _draws(len(rates)) if len(rates) > 1 else np.empty((0, 1))
    means = np.concatenate([np.ones((1, len(rates))), draws]) @ rates.to_numpy()
    x, y = rankdata(accuracy[rates.columns]), rankdata(means, axis=1)
    x, y = x - x.mean(), y - y.mean(axis=1, keepdims=True)
    norm = np.linalg.norm(x) * np.linalg.norm(y, axis=1)  # 0 where all ranks are the same
    found = np.divide(y @ x, norm, out=np.zeros_like(norm), where=norm > 0)
    place = (table["data_set"].iloc[0], ALL_NETWORKS, 0)
    return pd.DataFrame([found], pd.MultiIndex.from_tuples([place], names=_PLACE))


def _draws(sets: int) -> np.ndarray:
    """Return how often each set is in each replicate, [replicates, sets]."""
    generator = np.random.default_rng(0)
    return generator.multinomial(sets, np.full(sets, 1 / sets), size=_REPLICATES)


def _pearson(weights: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the correlation of pairs [N, 2] under each of many weightings [B, N].

    It is 0 where a weighting leaves but one value of either.
    """
    weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1)
    x, y = (pairs - pairs.mean(axis=0)).T
    first, second = weights @ x, weights @ y
    spread = (weights @ x**2 - first**2) * (weights @ y**2 - second**2)
    norm = np.sqrt(np.maximum(spread, 0))
    least = 1e-9 * np.linalg.norm(x) * np.linalg.norm(y)  # below it, rounding alone
    shared = weights @ (x * y) - first * second
    return np.divide(shared, norm, out=np.zeros_like(norm), where=norm > least)


def _over(numbers: pd.DataFrame, level: str, expected: int):
    """Group numbers over a level of their index, leaving out groups that are not complete."""
    rest = [name for name in numbers.index.names if name != level]
    whole = numbers[0].groupby(rest).transform("size") == expected
    return numbers[whole].groupby(rest, sort=False)


def _as_variants(printed: pd.DataFrame) -> pd.DataFrame:
    """Return the printed numbers with the variants that they are numbers of.

    The paper's tables have correlations of MSP alone (Table 4).  Means over detectors, and the
    least over networks, are printed in its text, and take their place
    (`helpers.report.published.in_text`); numbers by size and by ratio are in figures only.
    """
    return printed.assign(variant=np.where(printed["metric"] == "fpr95", "test", "primary"))


CLAIMS = Claims(
    "gscore",
    read_claims(
        Path(__file__).with_name("claims.yaml"),
        metric=_TITLES, detector=DETECTORS, evaluator=_OTHERS,
    ),
    derive=derive,
    every_variant=True,
    resampled="sets",
    printed=_as_variants,
)  # fmt: skip
