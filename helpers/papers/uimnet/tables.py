"""Tables of algorithms and measures, in the layout of Belghazi and Lopez-Paz (2021)."""

import pandas as pd

from helpers.files import project_root
from helpers.papers.uimnet.names import ALGORITHMS, FREE, TEXTS, split_columns, titles
from helpers.tables import results
from helpers.tables.table import Table, categories, numbers, single

HEADINGS = TEXTS["metrics"]
NOTHING_PRINTED = TEXTS["printed"]
#: Columns that say that two numbers are of the same network, on a slice and on the whole set.
_SAME = ["backbone", "run", "method", "calibration", "variant", "metric"]


def domain_means(table: pd.DataFrame) -> pd.DataFrame:
    """Return means and standard deviations over the data seeds of one tier, one row per number.

    The columns are from `split_columns` and `results.summary`.
    """
    single("table", table, "tier")
    shown = table[~table["variant"].str.startswith("trial") & table["metric"].isin(HEADINGS)]
    if shown.empty:
        raise ValueError(f"table: no number of {', '.join(HEADINGS)}")
    means = split_columns(results.summary(shown)).drop(columns=["paper", "test_set", "method"])
    orders = {
        "data_set": (),
        "backbone": (),
        "measure": ["", *titles(means["measure"])],
        "algorithm": ALGORITHMS,
        "spectral": (),
        "calibration": ["before", "after"],
        "variant": ["primary", "ensemble"],
        "metric": list(HEADINGS),
    }
    ranks = {name: categories(means[name], order) for name, order in orders.items()}
    order = pd.DataFrame(ranks).sort_values(list(orders), kind="stable").index
    return means.loc[order].reset_index(drop=True)


def main_table(table: pd.DataFrame, parameters) -> Table:
    """Return in-domain and out-domain metrics of the algorithms, single and as ensembles.

    RND has the network of ERM, so they share a line.
    """
    columns = TEXTS["main"]["columns"]
    trained = {*table["backbone"]}
    network = [name for name in parameters.sizes if name in trained][-1]
    means = domain_means(table)
    means = means[(means["backbone"] == network) & (means["spectral"] == FREE)]
    means = means.query("algorithm != 'rnd' and variant in ['primary', 'ensemble']")
    heads = means["metric"].str.cat(means["measure"], " ").str.strip()
    heads = heads.mask(means["calibration"] == "after", heads + " after")
    shown = heads.isin(columns)
    means = means[shown]
    caption = TEXTS["main"]["caption"].format(
        data_set=parameters.data_set,
        tier=parameters.tier,
        trials=parameters.trials,
        runs=parameters.runs,
        network=network,
        epochs=parameters.training["epochs"],
        printed=NOTHING_PRINTED,
    )
    cells = means.assign(
        text=numbers(means, 100, ".1f"),
        algorithm=categories(means["algorithm"], ALGORITHMS | {"erm": "ERM, RND"}),
        head=categories(heads[shown], columns),
    )
    return Table(
        cells,
        ["algorithm"],
        ["head"],
        name=f"uimnet-{parameters.tier}-main",
        caption=caption.rstrip(),
        data=means,
        separator="; ",
    )


def whole_sets(parameters) -> pd.DataFrame | None:
    """Return the committed table of the tier `finished`; None if the build has the whole sets."""
    if parameters.finished is None:
        return None
    return results.read(project_root() / "results" / parameters.finished / "uimnet.parquet")


def side_by_side(table: pd.DataFrame, whole: pd.DataFrame | None) -> Table:
    """Return the main numbers of a build, each next to the committed one of the same networks.

    The numbers are of the chosen trials of the largest network in `table`, without spectral
    normalisation or temperature, in per cent; those of the build have 95 % intervals over the test
    images.  `whole` is None if there is nothing to compare.
    """
    chosen = split_columns(table)
    chosen = chosen[(chosen["variant"] == "primary") & (chosen["spectral"] == FREE)]
    chosen = chosen[chosen["calibration"] == "before"]
    chosen = chosen[chosen["backbone"] == chosen["backbone"].iloc[-1]]
    heads = chosen["metric"].str.cat(chosen["measure"], " ").str.strip()
    titles_of = {name: TEXTS["main"]["columns"][name] for name in TEXTS["beside"]["columns"]}
    chosen = chosen.assign(head=heads.map(titles_of)).dropna(subset="head")
    cells = []
    for (algorithm, head), rows in chosen.groupby(["algorithm", "head"], sort=False):
        low, high = results.interval_of_mean(rows)
        text = f"{100 * rows['value'].mean():.1f} ({100 * low:.1f} to {100 * high:.1f})"
        cell = {"algorithm": algorithm, "head": head}
        cells.append(cell | {"of": "this build", "text": text, "rows": " ".join(rows["row"])})
        if whole is not None:
            same = whole.merge(rows[_SAME], on=_SAME)
            text = f"{100 * same['value'].mean():.1f}"
            cells.append(cell | {"of": "committed", "text": text, "rows": " ".join(same["row"])})
    frame = pd.DataFrame(cells)
    frame = frame.assign(
        algorithm=categories(frame["algorithm"], ALGORITHMS),
        head=categories(frame["head"], list(titles_of.values())),
    )
    head = chosen.iloc[0]
    caption = TEXTS["beside"]["caption"].format(
        network=head["backbone"], seeds=chosen["run"].nunique(), printed=NOTHING_PRINTED
    )
    return Table(
        frame, ["algorithm"], ["head", "of"], name="uimnet-build", caption=caption, data=chosen
    )
