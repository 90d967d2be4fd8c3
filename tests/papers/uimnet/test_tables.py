import itertools
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from helpers.papers.uimnet import tables

IN = {"accuracy": 0.7, "accuracy_top5": 1.0, "ece": 0.1, "nll": 1.0}
OUT = {"auroc": 0.8, "in_as_in": 0.95, "in_as_out": 0.05, "out_as_in": 0.7, "out_as_out": 0.3}


@pytest.fixture(scope="module")
def table(table_of):
    """Two algorithms, Mixup with a Native measure; three trials, one diverged on one data seed."""
    records = []

    def add(cell, method, numbers, gain=0.0):
        records.extend(
            cell | {"method": method, "metric": metric, "value": value + gain}
            for metric, value in numbers.items()
        )

    grid = itertools.product(enumerate(["mixup", "erm"]), ("", "+weights"), range(2))
    for (better, algorithm), suffix, run in grid:
        cell = {"run": run, "backbone": "resnet8" + suffix}
        for variant, when in itertools.product(("primary", "ensemble"), ("after", "before")):
            gain = 0.02 * better + 0.02 * run + 0.01 * (variant == "ensemble")
            cell |= {"variant": variant, "calibration": when}
            add(cell, algorithm, IN, gain)
            for measure in ("energy", "entropy", "gap"):
                add(cell, f"{algorithm}/{measure}", OUT, gain)
            if algorithm == "mixup" and when == "before":
                add(cell, "mixup/native", OUT, -0.3)
        for trial in range(2 if run else 3):
            cell |= {"variant": f"trial {trial}", "test_set": "validation"}
            add(cell, algorithm, {"nll": 1.0})
    return table_of(records, paper="uimnet")


@pytest.fixture(scope="module")
def means(table):
    return tables.domain_means(table)


def test_means_are_over_data_seeds_in_the_papers_order(table, means):
    """One row per number, ERM before Mixup; an ensemble has the trials that did not diverge."""
    assert list(dict.fromkeys(means["algorithm"])) == ["erm", "mixup"]
    assert list(dict.fromkeys(means["measure"])) == ["", "gap", "entropy", "native", "energy"]
    numbers = table[~table["variant"].str.startswith("trial")]
    assert len(means) == len(numbers) / 2
    networks = dict(zip(means["variant"], means["networks"], strict=True))
    assert networks == {"primary": "1", "ensemble": "2 to 3"}
    first = means.iloc[0]
    assert (first["metric"], first["spectral"]) == ("accuracy", "none")
    expected = [0.73, np.std([0.72, 0.74], ddof=1)]
    assert first[["mean", "std"]].tolist() == pytest.approx(expected)
    rows = table.set_index("row").loc[first["rows"].split()]
    assert rows["value"].tolist() == pytest.approx([0.72, 0.74])
    both = pd.concat([table, table.assign(tier="small")])
    with pytest.raises(ValueError, match=r"table: several of tier \(mini, small\)"):
        tables.domain_means(both)
    with pytest.raises(ValueError, match="table: no number of accuracy"):
        tables.domain_means(table[table["test_set"] == "validation"])


def test_measures_are_shown_with_the_best_bold(means):
    """AUC and OutAsOut of every measure and algorithm; an absent number is a dash."""
    own = means.query("variant == 'primary' and calibration == 'before' and spectral == 'none'")
    shown = tables.measures(own)
    frame = shown.frame()
    assert frame.columns.tolist() == ["ERM", "Mixup"]
    names = ("AUC ↑ (%)", "OutAsOut ↑ (%)"), ("Gap", "Entropy", "Native", "Energy")
    assert frame.index.tolist() == list(itertools.product(*names))
    assert frame.loc[("AUC ↑ (%)", "Native")].tolist() == ["–", "50.0 ± 0.0"]
    bold = shown.frame("html").map(lambda cell: cell.startswith("<b>"))
    assert bold["Mixup"].tolist() == [True, True, False, True] * 2
    assert not bold["ERM"].any()  # all are equal
    cells = tables.cells(means[means["measure"] == ""], ["metric"])
    lowest = cells[cells["bold"] & (cells["metric"] == "NLL ↓")]
    assert set(lowest["algorithm"]) == {"Mixup"}
    with pytest.raises(ValueError, match=r"part: several of spectral \(none, weights\)"):
        tables.measures(means)


def test_the_main_table_has_the_chosen_trial_and_the_ensemble(table):
    given = dict(tier="mini", data_set="cifar10_mini", side=32, sizes={"resnet8": {}}, trials=3)
    parameters = SimpleNamespace(**given, runs=2, training={"epochs": 5})
    shown = tables.main_table(table, parameters)
    assert shown.frame().loc["ERM"].tolist() == [
        "73.0 ± 1.4; 74.0 ± 1.4", "13.0 ± 1.4; 14.0 ± 1.4", "83.0 ± 1.4; 84.0 ± 1.4",
        "33.0 ± 1.4; 34.0 ± 1.4",
    ]  # fmt: skip
