"""The common table: its layout, and the agreement of its measures."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from helpers.files import project_root
from helpers.papers import PAPERS
from synthesis.across import tables
from synthesis.across.measures import MEASURES
from synthesis.claims import load_claims
from synthesis.ledger import ledger, tally, write
from tests.mistakes import beside

GIVEN = beside(__file__, "mistakes.yaml")


@pytest.fixture(scope="module")
def noisy(table_of):
    """Return a table of scores: AUROCs in the same order but for noise, AURCs the other way."""

    def build(runs=2, noise=0.1, replicates=0):
        rng, records, names = np.random.default_rng(0), [], ("aurc", "auroc_near", "auroc_far")
        scores = enumerate(["msp", "energy", "vim", "knn", "gap", "gen"])
        for (number, score), run, name in product(scores, range(runs), names):
            measure, cell = MEASURES[name], {"run": run, "method": f"baseline/{score}"}
            value = 0.5 + (0.05 if measure.higher else -0.05) * number + noise * rng.normal()
            cell |= {"metric": measure.metric, "test_set": measure.test_set, "value": value}
            records.append(cell | {"bootstrap": value + 0.05 * rng.normal(size=replicates)})
        return table_of(records, paper="synthesis", calibration="before")

    return build


def test_the_headline_counts_the_claims_of_all_papers(monkeypatch, tmp_path, root):
    """By the printed numbers, and by what is committed: here the results of one paper."""
    committed = project_root() / "results" / "small" / "openset_calibration.parquet"
    (folder := tmp_path / "results" / "small").mkdir(parents=True)
    (folder / committed.name).symlink_to(committed)
    monkeypatch.setattr("synthesis.ledger.project_root", lambda: tmp_path)
    write()
    counts = tables.headline().cells.pivot(index="tier", columns="verdict", values="claims")
    claims = {name: len(load_claims(p.name).claims) for name, p in PAPERS.items()}
    assert counts.sum(axis=1).tolist() == [sum(claims.values())] * 2
    printed = tally(ledger(PAPERS, {}, [])).sum()
    assert counts.loc["the papers' own numbers"].to_dict() == printed.to_dict()
    no_data = counts.loc["small", "no data"]
    assert no_data == sum(claims.values()) - claims["openset_calibration"]


def test_cells_are_means_over_runs_and_repeat_what_the_algorithm_decides(table_of):
    """Scores down, measures across; the accuracy of an algorithm for each of its scores."""
    records = [
        {"run": run, "method": method, "value": value + run}
        | {part: getattr(MEASURES[name], part) for part in ("metric", "test_set")}
        for run, (method, name, value) in product((0, 1), GIVEN["measured"])
    ]
    cells = tables.cells(table_of(records, paper="synthesis"))
    assert cells.index.tolist() == [("baseline", "msp"), ("mixup", "vim"), ("mixup", "msp")]
    assert list(cells) == ["accuracy", "aurc"]
    assert cells["aurc"].tolist() == pytest.approx([0.7, 0.8, 0.6])
    assert cells["accuracy"].fillna(0).tolist() == pytest.approx([0, 1.3, 1.3])


def test_agreement_is_the_rank_correlation_of_oriented_means(noisy):
    """As in SciPy for the means over runs, with errors turned round."""
    table = noisy()
    pairs = tables.agreement(table, among="scores")
    square, cells = pairs.pivot(index="first", columns="second"), tables.cells(table)
    for first, second in square["correlation"].stack().index:
        sign = -1 if ("aurc" in (first, second)) and first != second else 1
        wanted = sign * stats.spearmanr(cells[first], cells[second]).statistic
        assert square["correlation"].loc[first, second] == pytest.approx(wanted)
    assert tables.rankable(table) == ["cells", "scores"]


def test_intervals_hold_the_value_and_widen_with_noise(noisy):
    """Two runs or replicates give an interval about the value; one run alone gives none."""

    def width(**options):
        pairs = tables.agreement(noisy(**options)).query("first != second")
        assert (pairs["low"] <= pairs["correlation"]).all()
        assert (pairs["correlation"] <= pairs["high"]).all()
        return (pairs["high"] - pairs["low"]).mean()

    assert tables.agreement(noisy(runs=1))["low"].isna().all()
    assert width(noise=0.01) < width(noise=0.1) and width(runs=1, replicates=50) > 0


def test_what_cannot_be_ranked_is_left_out(noisy):
    """A rare or constant measure goes, and so does a cell that lacks one of the measures."""
    table = noisy()
    far, first = table["test_set"] == "far", table["method"] == "baseline/msp"
    rare = tables.agreement(table[~far | first])
    assert set(rare["first"]) == {"aurc", "auroc_near"}
    lacking = tables.agreement(table[~far | ~first])
    pd.testing.assert_frame_equal(lacking, tables.agreement(table[~first]))
    # the same for all scores of a run, as an algorithm's accuracy is, but not in all runs
    constant = table.assign(value=table["value"].where(~far, table["run"]))
    assert "auroc_far" not in set(tables.agreement(constant)["first"])
    one_set = pd.concat([table, table[far].assign(test_set="digits")])  # is none of the measures
    pd.testing.assert_frame_equal(tables.cells(one_set), tables.cells(table))


@pytest.mark.parametrize("message", GIVEN["tables"])
def test_other_tables_are_refused(noisy, message):
    """All rows are there again, changed; or a row of another method is alone."""
    function, change, *options = GIVEN["tables"][message]
    table = noisy()
    changed = table.assign(**change)
    if "method" in change:
        given = changed.head(1)
    else:
        given = pd.concat([table, changed]) if change else table
    with pytest.raises(ValueError, match=message):
        getattr(tables, function)(given, **dict(options))
