"""Do the numbers of a build agree with the committed numbers of the larger tiers?

A build evaluates finished networks on slices of the test sets.  Its numbers differ from the
committed ones only because a slice has fewer images.  So a committed number should lie in the 95 %
interval of the number of the build.

About 5 % of the numbers miss even if all is well, because that is what an interval of 95 % means.
More may miss: a bootstrap interval of a few hundred images is a little too narrow, and numbers of
the same images miss together.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.files import atomic_path, project_root
from helpers.papers.parameters import Parameters
from helpers.tables import results
from helpers.tables.table import markdown_table
from synthesis.chapters import CHAPTERS, load
from synthesis.rendering import render

#: Columns that say that two rows are the same number, on a slice and on the whole set.
SAME = [name for name in results.IDENTITY if name != "tier"]
#: The end of the name of a slice.
SLICE = "_mini"
#: Shares of the replicates below the two ends of an interval.
ENDS = (0.025, 0.975)
#: The share of numbers that miss by chance.
CHANCE = 0.05
#: The file with the compared numbers, next to the results table.
FILE = "agreement.parquet"
#: Columns that make a group of exceptions, and the largest number of groups in a table.
GROUP = ["method", "metric", "test_set"]
MOST_GROUPS = 5


def agreement(
    build: pd.DataFrame, committed: pd.DataFrame, *, excluded: Collection[str] = ()
) -> pd.DataFrame:
    """Return the numbers that two results tables have in common, and whether they agree.

    Parameters
    ----------
    build : DataFrame
        Rows on slices, with bootstrap replicates.
    committed : DataFrame
        Rows on the whole sets.
    excluded : collection of str
        Test sets that have different images in the two tables, such as unions of other sets.

    Returns
    -------
    DataFrame
        The columns of `SAME`, with the names of the whole sets; ``value`` of the build with its
        95 % interval ``low`` and ``high``, from replicates that are centred on it, since the ECE of
        resampled images is too high; ``committed``; and ``agrees``: whether the interval
        contains the committed number.  A number without an interval is left out: it has no
        replicates, or all replicates are equal, as for an accuracy of 1.
    """
    names = {name: build[name].str.removesuffix(SLICE) for name in ("data_set", "test_set")}
    build = build.assign(**names)
    has_interval = build["bootstrap"].map(lambda replicates: len(set(replicates)) > 1)
    slices = build[has_interval & ~build["test_set"].isin(excluded)]
    ends = [np.quantile(drawn, ENDS) - np.mean(drawn) for drawn in slices["bootstrap"]]
    low, high = slices["value"].to_numpy() + np.reshape(ends, (-1, 2)).T
    slices = slices.assign(low=low, high=high)[[*SAME, "value", "low", "high"]]
    whole = committed[[*SAME, "value"]].rename(columns={"value": "committed"})
    common = slices.merge(whole, on=SAME, validate="one_to_one")
    return common.assign(agrees=common["committed"].between(common["low"], common["high"]))


def counted(agreeing: int, compared: int) -> str:
    """Return how many numbers agree, as one sentence."""
    return (
        f"{agreeing:,} of {compared:,} committed numbers lie in the 95 % intervals of your build."
    )


def report(
    parameters: Parameters,
    table: pd.DataFrame,
    folder: Path,
    *,
    excluded: Collection[str] = (),
    reasons: Mapping[str, str] | None = None,
) -> str:
    """Compare a results table with the committed tables of the larger tiers, in Markdown.

    The compared numbers are written to `FILE` in `folder`, for `whole_build`.

    Parameters
    ----------
    parameters : Parameters
        With ``finished``; else the build trains its networks, and there is nothing to compare.
    table : DataFrame
        The results table of the build.
    folder : Path
        The folder of the results table.
    excluded : collection of str
        As for `agreement`.
    reasons : mapping of str to str, optional
        A sentence for the exceptions of a method, a metric or a test set, by its name.

    Returns
    -------
    str
        How many numbers agree, which parameters were changed, a table of the exceptions, and what
        is not compared.
    """
    (folder / FILE).unlink(missing_ok=True)
    common = pd.DataFrame()
    if parameters.finished:
        common = agreement(table, committed_tables(parameters), excluded=excluded)
    if common.empty:
        return "No number of this build can be compared with a committed number."
    with atomic_path(folder / FILE) as temporary:
        common.to_parquet(temporary)
    tables = exceptions(common)
    shown = tables.head(MOST_GROUPS)
    names = {*shown[["method", "metric", "test set"]].to_numpy().ravel()}
    explained: dict[str, list[str]] = {}
    for name, reason in (reasons or {}).items():
        if name in names:
            explained.setdefault(reason, []).append(f"`{name}`")
    return render(
        "agreement.md",
        sentence=counted(int(common["agrees"].sum()), len(common)),
        changes=changes(parameters),
        chance=round(CHANCE * len(common)),
        groups=len(tables),
        exceptions=markdown_table([*shown.columns], shown.to_numpy()),
        reasons=explained,
        most=MOST_GROUPS,
        excluded=sorted(excluded),
    )


def changes(parameters: Parameters) -> list[str]:
    """Return the parameters that differ from the file of their tier, each with both values.

    >>> from helpers import papers
    >>> changes(papers.load("openset_calibration", "mini", keep=0.8))
    ['`keep` from 0.95 to 0.8']
    """
    usual = load(parameters.paper, parameters.tier).model_dump()
    values = parameters.model_dump()
    return [
        f"`{name}` from {usual[name]} to {value}"
        for name, value in values.items()
        if value != usual[name]
    ]


def committed_tables(parameters: Parameters) -> pd.DataFrame:
    """Return the committed rows of the tier `finished` and of the larger tiers of a chapter.

    A table ``PAPER-whole`` of a tier has numbers of whole test sets where the table of the tier has
    a draw from them.  A number that several tables have counts once, in the first of them.
    """
    columns = [*SAME, "value"]
    tables = [pd.DataFrame(columns=columns)]
    for tier in dict.fromkeys([parameters.finished, *parameters.larger_tiers]):
        for name in (f"{parameters.paper}-whole", parameters.paper):
            file = project_root() / "results" / str(tier) / f"{name}.parquet"
            if file.exists():
                tables.append(pd.read_parquet(file, columns=columns))
    return pd.concat(tables).drop_duplicates(SAME).astype({"value": float})


def exceptions(common: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers that do not agree, in groups; the largest group is first.

    ``distance`` is the largest distance of a committed number from the interval.
    """
    missed = common[~common["agrees"]]
    below = missed["low"] - missed["committed"]
    above = missed["committed"] - missed["high"]
    missed = missed.assign(distance=np.maximum(below, above))
    groups = missed.groupby(GROUP, sort=False)["distance"].agg(["size", "max"])
    groups = groups.sort_values(["size", "max"], ascending=False).reset_index()
    shown = groups.rename(
        columns={"test_set": "test set", "size": "numbers", "max": "largest distance"}
    )
    shown["largest distance"] = groups["max"].map("{:.2g}".format)
    return shown


def whole_build(runs: Path) -> dict[str, str]:
    """Return the texts of a book about its build: a sentence, and the numbers of each chapter.

    `runs` is the folder of the build; stored outputs have no compared numbers.
    """
    files = sorted(runs.glob(f"*/{FILE}"))
    agrees = {file.parent.name: pd.read_parquet(file, columns=["agrees"]) for file in files}
    counts = {name: (int(table["agrees"].sum()), len(table)) for name, table in agrees.items()}
    order = [name for name in CHAPTERS if name in counts]
    order += [name for name in counts if name not in CHAPTERS]
    titles = {name: chapter.heading for name, chapter in CHAPTERS.items()}
    lines = [
        [titles.get(name, name.replace("_", " ").capitalize()), *counts[name]] for name in order
    ]
    agreeing = sum(first for first, _ in counts.values())
    compared = sum(second for _, second in counts.values())
    values = {
        "sentence": counted(agreeing, compared),
        "compared": compared,
        "chance": round(CHANCE * compared),
        "chapters": markdown_table(["chapter", "reproduced", "compared"], lines),
    }
    return {
        name: render("whole_build.md", name=name, **values) for name in ("agreement", "agreements")
    }
