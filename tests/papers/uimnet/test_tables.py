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
        own = {"run": run, "backbone": "resnet8" + suffix}
        for variant, when in itertools.product(("primary", "ensemble"), ("after", "before")):
            cell = own | {"variant": variant, "calibration": when}
            gain = 0.02 * better + 0.02 * run + 0.01 * (variant == "ensemble")
            add(cell, algorithm, IN, gain)
            for measure in ("entropy", "gap"):
                add(cell, f"{algorithm}/{measure}", OUT, gain)
            if algorithm == "mixup" and when == "before":
                add(cell, "mixup/native", OUT, -0.3)
        for trial, loss in enumerate((1.5, 1.2, 1.1)):
            cell = own | {"variant": f"trial {trial}", "test_set": "validation"}
            notes, numbers = f"learning_rate 0.{trial + 1}", {"nll": loss + 0.1 * run}
            if trial == 2 and run == 1:
                notes, numbers = "loss of epoch 3 is not finite", {"diverged": 1.0}
            add(cell | {"notes": notes}, algorithm, numbers)
    return table_of(records, paper="uimnet")


@pytest.fixture(scope="module")
def means(table):
    return tables.domain_means(table)


def chosen(means):
    return means.query("variant == 'primary' and calibration == 'before' and spectral == 'none'")


def bold(shown):
    """Where a cell of a table is bold."""
    return shown.frame("html").map(lambda cell: cell.startswith("<b>"))


def test_means_are_over_data_seeds_in_the_papers_order(table, means):
    """One row per number, ERM before Mixup; an ensemble has the trials that did not diverge."""
    assert list(dict.fromkeys(means["algorithm"])) == ["erm", "mixup"]
    assert list(dict.fromkeys(means["measure"])) == ["", "gap", "entropy", "native"]
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


def test_the_in_domain_table_has_every_ablation(means):
    """Algorithm, spectral normalisation, temperature and ensemble down, the metrics across."""
    styled = tables.domain(means[means["measure"] == ""])
    frame = styled.frame()
    assert frame.index.names == ["algorithm", "SN", "T", "k"]
    assert len(frame) == 16
    assert frame.columns.tolist() == ["ACC@1 ↑ (%)", "ACC@5 ↑ (%)", "ECE ↓ (%)", "NLL ↓"]
    cell = frame.loc[("ERM", "no", "learned", "2 to 3"), ["ACC@1 ↑ (%)", "NLL ↓"]]
    assert cell.tolist() == ["74.0 ± 1.4", "1.040 ± 0.014"]
    marks = bold(styled)
    most, least = marks["ACC@1 ↑ (%)"], marks["NLL ↓"]  # ERM has more of everything
    assert {line[::3] for line in frame.index[most]} == {("ERM", "2 to 3")}
    assert {line[::3] for line in frame.index[least]} == {("Mixup", "1")}
    assert f'title="rows {means["rows"].iloc[0]}"' in styled.html()
    assert "in-domain metrics, mean ± standard deviation over 2 runs" in styled.caption


def test_an_out_domain_table_shows_one_measure(means):
    """Native, which is measured at one temperature and which ERM does not have."""
    styled = tables.domain(means[means["measure"] == "native"])
    lines = styled.frame().index
    assert {line[::2] for line in lines} == {("Mixup", "1")}
    assert not bold(styled).any(axis=None)  # all are the same
    assert "out-domain metrics with Native" in styled.caption
    assert "Measured at the initial temperature only" in styled.caption
    entropy = tables.domain(means[means["measure"] == "entropy"])
    assert "Measured at" not in entropy.caption


def test_measures_are_set_beside_each_other(means):
    """AUC and OutAsOut of every measure and algorithm; what an algorithm lacks is a dash."""
    styled = tables.measures(chosen(means))
    frame = styled.frame()
    assert frame.columns.tolist() == ["ERM", "Mixup"]
    metrics, measures = ("AUC ↑ (%)", "OutAsOut ↑ (%)"), ("Gap", "Entropy", "Native")
    assert frame.index.tolist() == list(itertools.product(metrics, measures))
    assert frame.loc[("AUC ↑ (%)", "Native")].tolist() == ["–", "50.0 ± 0.0"]
    assert bold(styled)["Mixup"].tolist() == [True, True, False] * 2
    assert not bold(styled)["ERM"].any()  # both the same
    assert "the chosen trial, spectral normalisation none" in styled.caption


def test_any_score_stands_beside_the_papers_measures(table):
    """Under its own title, after them; what could not be had is in no table."""
    own = table[table["method"].str.endswith("/gap")]
    others = own.assign(method=own["method"].str.replace("/gap", "/energy"), value=own["value"] / 2)
    lost = others.assign(method="erm/vim", metric="failed")
    means = tables.domain_means(pd.concat([lost, others, table]))
    order = ["", "gap", "entropy", "native", "energy"]
    assert list(dict.fromkeys(means["measure"])) == order
    frame = tables.measures(chosen(means)).frame()
    assert [name for _, name in frame.index][:4] == ["Gap", "Entropy", "Native", "Energy"]
    assert frame.loc[("AUC ↑ (%)", "Energy")].tolist() == ["41.5 ± 0.7", "40.5 ± 0.7"]
    assert "with Energy" in tables.domain(means[means["measure"] == "energy"]).caption


def test_trials_say_what_was_chosen_and_what_diverged(table):
    """The lowest mean wins among those that never diverged, as `selected` has it."""
    styled = tables.trials(table)
    frame = styled.frame()
    first = [("no", "0"), ("no", "1"), ("no", "2"), ("weights", "0")]
    assert frame.index.tolist()[:4] == [("resnet8", "ERM", *one) for one in first]
    assert frame.iloc[1].tolist() == ["learning rate 0.2", "1.250 ± 0.071", "0 of 2"]
    assert frame.iloc[2].tolist() == ["learning rate 0.3", "1.100", "1 of 2"]
    marks = bold(styled)["validation NLL ↓"]
    assert set(frame.index[marks].get_level_values("trial")) == {"1"}
    everywhere = table[(table["variant"] != "trial 2") | (table["metric"] == "diverged")]
    lost = tables.trials(everywhere).frame().iloc[2]
    assert lost.tolist() == ["loss of epoch 3 is not finite", "–", "1 of 1"]


def test_the_main_table_has_the_chosen_trial_and_the_ensemble(table):
    given = dict(tier="mini", data_set="cifar10_mini", side=32, sizes={"resnet8": {}}, trials=3)
    parameters = SimpleNamespace(**given, runs=2, training={"epochs": 5})
    shown = tables.main_table(table, parameters)
    assert shown.frame().loc["ERM"].tolist() == [
        "73.0 ± 1.4; 74.0 ± 1.4", "13.0 ± 1.4; 14.0 ± 1.4", "83.0 ± 1.4; 84.0 ± 1.4",
        "33.0 ± 1.4; 34.0 ± 1.4",
    ]  # fmt: skip
    assert "tier `mini`, shortened (resnet8, 5 epochs, 3 trials)" in shown.caption


def test_bad_input(table, means):
    """What would mix numbers, or shows nothing, is refused by name."""
    numbers = table[~table["variant"].str.startswith("trial")]
    both, inside = pd.concat([table, table.assign(tier="small")]), chosen(means)["measure"] == ""
    for show, given, message in [
        (tables.domain_means, both, r"table: several of tier \(mini, small\)"),
        (tables.domain_means, table[table["metric"] == "diverged"], "table: no number of accuracy"),
        (tables.domain_means, numbers, "table: no trials of mixup on resnet8"),
        (tables.domain, means, "part: several of measure"),
        (tables.domain, means.iloc[:0], "part: empty"),
        (tables.measures, means, r"part: several of spectral \(none, weights\)"),
        (tables.measures, chosen(means)[inside], "part: no auroc"),
        (tables.trials, numbers, "table: no trials"),
    ]:
        with pytest.raises(ValueError, match=message):
            show(given)
