"""Tables of algorithms and measures, in the layout of Belghazi and Lopez-Paz (2021)."""

import pandas as pd

from helpers.papers.uimnet.names import ALGORITHMS, FREE, TEXTS, split_columns, titles
from helpers.tables import results
from helpers.tables.table import Table, categories, numbers, single

METRICS = TEXTS["metrics"]
NOTHING_PRINTED = TEXTS["printed"]


def domain_means(table: pd.DataFrame) -> pd.DataFrame:
    """Return means and standard deviations over the data seeds of one tier, one row per number.

    The columns are from `split_columns` and `results.summary`.
    """
    single("table", table, "tier")
    shown = table[~table["variant"].str.startswith("trial") & table["metric"].isin(METRICS)]
    if shown.empty:
        raise ValueError(f"table: no number of {', '.join(METRICS)}")
    means = split_columns(results.summary(shown)).drop(columns=["paper", "test_set", "method"])
    orders = {
        "data_set": (),
        "backbone": (),
        "measure": ["", *titles(means["measure"])],
        "algorithm": ALGORITHMS,
        "spectral": (),
        "calibration": ["before", "after"],
        "variant": ["primary", "ensemble"],
        "metric": METRICS,
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
        networks=categories(means["variant"], {"primary": "chosen trial", "ensemble": "ensemble"}),
    )
    return Table(
        cells,
        ["algorithm", "networks"],
        ["head"],
        name=f"uimnet-{parameters.tier}-main",
        caption=caption.rstrip(),
    )
