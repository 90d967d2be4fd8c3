"""Networks of others: which scores are best on them, and do the verdicts of toy networks transfer?

Toy networks are trained here, for minutes.  The question has two halves: whether scores come in the
same order on them as on well-trained networks, and whether a paper's claims get the same verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from helpers.metrics import ranks
from helpers.papers import TIERS
from helpers.papers.unknown_detection.parameters import METHODS
from helpers.report.claims import Verdict
from helpers.report.table import DOWN, UP
from known_unknowns.across.measures import MEASURES

DECIDED = (Verdict.SUPPORTED, Verdict.CONTRADICTED)


@dataclass(frozen=True)
class Chapter:
    """Where the numbers lie whose order is compared between tiers.

    Attributes
    ----------
    title : str
    measures : dict of str to (str, str)
        By title, metric and test set of the rows.
    prefix : str
        Of the methods that are scores; what follows is the score's name.
    methods : tuple of str
        Those that are compared; () for all.
    data_sets : tuple of str
        ID sets whose networks are compared.
    """

    title: str
    measures: Mapping[str, tuple[str, str]]
    prefix: str = ""
    methods: tuple[str, ...] = ()
    data_sets: tuple[str, ...] = ("cifar10", "cifar10_mini")


_SHOWN = ("auroc_near", "auroc_far", "fpr_near", "fpr_far", "aurc_test", "der99")
CHAPTERS = {
    "human_centric": Chapter(
        "Human-centric evaluation",
        {
            "AUROC": ("auroc", "label-shifted"),
            "FPR95": ("fpr_at_tpr", "label-shifted"),
            "DER99": ("der99", "average"),
        },
    ),
    "synthesis": Chapter(
        "Synthesis",
        {MEASURES[one].title: (MEASURES[one].metric, MEASURES[one].test_set) for one in _SHOWN},
        prefix="baseline/",
    ),
    "unknown_detection": Chapter(
        "Unknown detection",
        {
            "AURC, unknown detection": ("aurc", "union"),
            "AURC, misclassification": ("aurc", "test"),
            "AUROC, near": ("auroc", "near"),
            "AUROC, far": ("auroc", "far"),
            "accuracy": ("accuracy", "test"),
        },
        methods=tuple(METHODS),
        data_sets=("cifar100", "cifar10_mini"),
    ),
    "uimnet": Chapter(
        "Algorithms and measures",
        {"AUROC": ("auroc", "out"), "OutAsOut": ("out_as_out", "out")},
        data_sets=("cifar100", "cifar10_mini", "tiny_imagenet_64"),
    ),
    "openset_calibration": Chapter(
        "Open-set calibration",
        {"ECE": ("ece", "test"), "Brier": ("brier", "test"), "accuracy": ("accuracy", "test")},
    ),
}
"""The chapters that judge the same scores, or methods, at several tiers."""

TRAINED, GIVEN = "trained here", "published"


def numbers_of_scores(tables: Mapping[tuple[str, str], pd.DataFrame]) -> pd.DataFrame:
    """Return the numbers of all scores at all tiers, of networks of a chapter's ID sets.

    Parameters
    ----------
    tables : mapping of (tier, paper) to DataFrame
        Results tables, as `helpers.report.ledger.read` returns them; of other papers than
        `CHAPTERS` and what failed, nothing is taken.

    Returns
    -------
    DataFrame
        ``chapter``, ``tier`` ("mini, trained here", say: a tier may have networks of both kinds),
        ``measure``, ``network`` (with the run), ``score``, ``value``, ``bootstrap``.  Networks that
        were trained by a strategy against shift are left out, and so are those of other classes.
    """
    found = [pd.DataFrame(columns=_COLUMNS)]
    for (tier, paper), table in tables.items():
        if paper not in CHAPTERS:
            continue
        chapter = CHAPTERS[paper]
        keep = table["method"].str.startswith(chapter.prefix) & (table["variant"] == "primary")
        keep &= table["data_set"].isin(chapter.data_sets)
        keep &= table["calibration"].isin(("", "before"))
        if chapter.methods:
            keep &= table["method"].isin(chapter.methods)
        keep &= ~table["backbone"].str.contains("+", regex=False)
        own = table[keep]
        kind = own["backbone"].str.contains(".", regex=False).map({True: GIVEN, False: TRAINED})
        own = own.assign(
            chapter=paper,
            tier=tier + ", " + kind,
            network=own["backbone"] + "/" + own["run"].astype(str),
            score=own["method"].str.removeprefix(chapter.prefix),
        )
        for measure, (metric, test_set) in chapter.measures.items():
            rows = own[(own["metric"] == metric) & (own["test_set"] == test_set)]
            found.append(rows.assign(measure=measure)[list(_COLUMNS)])
    return pd.concat([one for one in found if len(one)] or found, ignore_index=True)


_COLUMNS = ("chapter", "tier", "measure", "network", "score", "value", "bootstrap")


def lacking(numbers: pd.DataFrame, tiers: Mapping[str, Sequence[str]]) -> list[str]:
    """Say of which tiers there are no numbers.

    Parameters
    ----------
    numbers : DataFrame
        From `numbers_of_scores`.
    tiers : mapping of str to sequence of str
        By chapter, the tiers that are asked for.

    Examples
    --------
    >>> lacking(numbers_of_scores({}), {"synthesis": ["mini"]})
    ['Synthesis: no results of tier mini']
    """
    there = set(
        zip(numbers["chapter"], (one.partition(",")[0] for one in numbers["tier"]), strict=True)
    )
    return [
        f"{CHAPTERS[chapter].title}: no results of tier {tier}"
        for chapter, wanted in tiers.items()
        for tier in wanted
        if (chapter, tier) not in there
    ]


def transfer(numbers: pd.DataFrame, *, draws: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Return how far two tiers put scores in the same order: Spearman's correlations.

    What is ranked are the means over a tier's networks, of the scores that both tiers have.  The
    95 % intervals are those of a bootstrap: in each tier on its own the networks are drawn with
    replacement, and of each one replicate over its test images, where there are any.

    Parameters
    ----------
    numbers : DataFrame
        From `numbers_of_scores`.
    draws : int
        Of the bootstrap, 1 or more.
    seed : int

    Returns
    -------
    DataFrame
        One row per chapter, measure and pair of tiers, in their order: ``chapter``, ``measure``,
        ``first``, ``second``, ``correlation`` (1 the same order, −1 the opposite one), ``low``,
        ``high``, ``scores`` (how many are ranked) and ``networks``, as in "9 and 5".  No row where
        a tier is missing, or fewer than three scores are in both.

    Notes
    -----
    Each draw adds noise to means that have it already, and noise makes orders less alike: the
    interval is that of the draws moved so that their mean is the value.  It speaks of other images
    and other networks of the same kinds, not of other scores.
    """
    rng, rows = np.random.default_rng(seed), []
    for (chapter, measure), own in numbers.groupby(["chapter", "measure"], sort=False):
        tiers = sorted(own["tier"].unique(), key=_place)
        for first, second in combinations(tiers, 2):
            pair = [own[own["tier"] == tier] for tier in (first, second)]
            both = [one for one in pair[0]["score"].unique() if one in set(pair[1]["score"])]
            arrays = [_by_network(one, both) for one in pair]
            if len(both) < 3 or not all(len(values) for values, _ in arrays):
                continue
            (found,) = _spearman(*(values.mean(axis=0)[None] for values, _ in arrays))
            drawn = _spearman(*(_draw(*one, draws, rng) for one in arrays))
            noise = np.quantile(drawn - drawn.mean(), [0.025, 0.975])
            low, high = np.clip(found + noise, -1, 1)
            counts = " and ".join(str(len(values)) for values, _ in arrays)
            columns = {"chapter": chapter, "measure": measure, "first": first, "second": second}
            columns |= {"correlation": found, "low": min(low, found), "high": max(high, found)}
            rows.append(columns | {"scores": len(both), "networks": counts})
    return pd.DataFrame(rows, columns=_PAIRS)


def _place(tier: str) -> tuple[int, bool]:
    """Return the place of a tier, smallest first, and of what is trained before what is given."""
    name, _, kind = tier.partition(", ")
    return TIERS.index(name), kind == GIVEN


_PAIRS = (
    "chapter", "measure", "first", "second", "correlation", "low", "high", "scores", "networks",
)  # fmt: skip


def _by_network(own: pd.DataFrame, scores: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return values [networks, scores] and noise [networks, scores, replicates], centred.

    A network that lacks one of the scores is left out.
    """
    wide = own.pivot(index="network", columns="score", values="value").reindex(columns=scores)
    whole = wide.dropna()
    drawn = own.pivot(index="network", columns="score", values="bootstrap")
    drawn = drawn.reindex(index=whole.index, columns=scores)
    least = min((len(one) for one in drawn.to_numpy().ravel()), default=0)
    noise = np.zeros((*whole.shape, max(least, 1)))
    if least:
        noise = np.array([[one[:least] for one in row] for row in drawn.to_numpy()])
        noise -= noise.mean(axis=-1, keepdims=True)
    return whole.to_numpy(np.float64), noise


def _draw(
    values: np.ndarray, noise: np.ndarray, draws: int, rng: np.random.Generator
) -> np.ndarray:
    """Return means over networks that are drawn, on images that are: [draws, scores]."""
    count = len(values)
    which, replicate = (
        rng.integers(0, count, (draws, count)),
        rng.integers(noise.shape[-1], size=draws),
    )
    # of as many networks as there are, drawn ones spread too little; a single one not at all
    means, spread = values.mean(axis=0), np.sqrt(count / max(1, count - 1))
    between = spread * (values[which].mean(axis=1) - means)
    return means + between + noise[which, :, replicate[:, None]].mean(axis=1)


def _spearman(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the rank correlation of each row of one [draws, scores] with that of the other."""
    from scipy.stats import rankdata  # here, since SciPy takes long to import

    places = [rankdata(one, axis=1) - (one.shape[1] + 1) / 2 for one in (first, second)]
    products = [(one * other).sum(axis=1) for one in places for other in places]
    return products[1] / np.sqrt(products[0] * products[3])


def changed_sides(found: pd.DataFrame, tiers: Sequence[str]) -> pd.DataFrame:
    """Return the claims that two tiers or more decide, and whether they do so in opposite ways.

    Parameters
    ----------
    found : DataFrame
        From `helpers.report.ledger.ledger`.
    tiers : sequence of str
        Those that are compared; one without verdicts has "no data".

    Returns
    -------
    DataFrame
        One row per claim, with the index ``paper``, ``claim``; ``text``, the verdict of each tier,
        and ``changes``: whether one supports what another contradicts.
    """
    own = found[found["tier"].isin(tiers)]
    order = own[["paper", "claim"]].drop_duplicates()
    wide = own.pivot(index=["paper", "claim"], columns="tier", values="verdict")
    wide = wide.reindex(pd.MultiIndex.from_frame(order)).reindex(columns=list(tiers))
    wide = wide.astype(object).where(wide.notna(), Verdict.NO_DATA).astype(str)
    wide = wide.rename_axis(columns=None)
    texts = own.drop_duplicates(["paper", "claim"]).set_index(["paper", "claim"])["text"]
    decided = wide.isin([str(one) for one in DECIDED])
    sides = [(wide == str(one)).any(axis=1) for one in DECIDED]
    wide = wide.assign(text=texts, changes=sides[0] & sides[1])
    return wide.loc[decided.sum(axis=1) >= 2, ["text", *tiers, "changes"]]


def of_networks(table: pd.DataFrame, networks: Sequence[str]) -> pd.DataFrame:
    """Return measures of all scores as means over the networks of an ID set, the best on top.

    Parameters
    ----------
    table : DataFrame
        A results table of the synthesis.
    networks : sequence of str
        Of its backbones.

    Returns
    -------
    DataFrame of float64
        Indexed by ID set and score, ordered by AUROC against all unknown images.  The columns are
        titles of measures, with an arrow that says which way is better; those of near images are
        missing where a network has none.

    Raises
    ------
    ValueError
        The table has no number of these networks.
    """
    own = table[table["backbone"].isin(networks) & (table["variant"] == "primary")]
    titles = {
        (one.metric, one.test_set): f"{one.title} {UP if one.higher else DOWN}"
        for one in (MEASURES[name] for name in _OF_NETWORKS)
    }
    keys = zip(own["metric"], own["test_set"], strict=True)
    own = own.assign(measure=[titles.get(one) for one in keys])
    scores = own["method"].map(lambda one: one.partition("/")[2])
    own = own.assign(score=scores)[scores != ""].dropna(subset="measure")
    if own.empty:
        raise ValueError(f"table: no score of {', '.join(networks)}")
    means = own.pivot_table("value", ["data_set", "score"], "measure", "mean", sort=False)
    means = means[[name for name in titles.values() if name in means]].dropna(axis=1)
    means = means.rename_axis(columns=None, index=["ID set", "score"])
    return means.sort_values(["ID set", means.columns[0]], ascending=[True, False])


_OF_NETWORKS = (
    "auroc", "auroc_near", "auroc_far", "fpr_near", "fpr_far", "aurc_test", "der99", "passes",
)  # fmt: skip


@dataclass(frozen=True)
class Ranking:
    """Scores in the order of their mean ranks over cases.

    Attributes
    ----------
    ranks : Series of float64
        By score, the best first; 1 is best.
    difference : float
        By how much two must differ to be told apart, by Nemenyi's test at 5 %.
    p_value : float
        Of Friedman's test, that all scores are equally good.
    cases : int
    """

    ranks: pd.Series
    difference: float
    p_value: float
    cases: int


def rank_scores(
    table: pd.DataFrame, networks: Sequence[str], sets: Sequence[str], metric: str = "auroc"
) -> Ranking:
    """Rank scores over networks and test sets: a case is one of each.

    Parameters
    ----------
    table : DataFrame
        A results table of the synthesis.
    networks, sets : sequence of str
        Backbones and test sets.
    metric : {"auroc", "fpr_at_tpr"}

    Raises
    ------
    ValueError
        There is no such case, or a score is missing in one.

    Notes
    -----
    Demšar 2006.  The test takes cases as independent.  Networks of one recipe on the same images
    are not, so that the difference is rather too small.
    """
    own = table[table["backbone"].isin(networks) & table["test_set"].isin(sets)]
    own = own[(own["metric"] == metric) & (own["variant"] == "primary")]
    if own.empty:
        raise ValueError(f"table: no {metric} of {', '.join(networks)} on {', '.join(sets)}")
    own = own.assign(score=own["method"].str.partition("/")[2])
    values = own.pivot(index=["backbone", "test_set"], columns="score", values="value")
    lower = metric == "fpr_at_tpr"
    return Ranking(
        ranks.mean_ranks(values, lower_is_better=lower).sort_values(kind="stable"),
        ranks.critical_difference(values.shape[1], len(values)),
        ranks.friedman(values, lower_is_better=lower).f_p_value,
        len(values),
    )
