"""The common table: laid out without loss; the agreement of its measures is as defined."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from helpers.files import project_root
from helpers.papers import PAPERS
from helpers.report.ledger import ledger, tally
from known_unknowns.across import tables as synthesis
from known_unknowns.across.measures import MEASURES


@pytest.fixture(scope="module")
def noisy(table_of_measures):
    """Scores of which AUROCs rank alike but for noise, and AURCs the other way round."""

    def build(runs=2, noise=0.1, replicates=0):
        rng, values, drawn = np.random.default_rng(0), {}, {}
        for number, score in enumerate(["msp", "energy", "vim", "knn", "gap", "gen"]):
            for run in range(runs):
                for name in ("aurc", "auroc_near", "auroc_far"):
                    sign = 1 if MEASURES[name].higher else -1
                    key = (run, f"baseline/{score}", name)
                    values[key] = 0.5 + sign * 0.05 * number + noise * rng.normal()
                    drawn[key] = values[key] + 0.05 * rng.normal(size=replicates)
        return table_of_measures(values, drawn)

    return build


def test_the_headline_counts_the_claims_of_all_papers(monkeypatch, tmp_path):
    """By the printed numbers, and by what is committed: here the results of one paper."""
    committed = project_root() / "results" / "small_cpu" / "openset_calibration.parquet"
    (tmp_path / "results" / "small_cpu").mkdir(parents=True)
    (tmp_path / "results" / "small_cpu" / committed.name).symlink_to(committed)
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "cache"))
    monkeypatch.setattr(synthesis, "project_root", lambda: tmp_path)
    counts = synthesis.headline().data.pivot(index="tier", columns="verdict", values="claims")
    claims = sum(len(one.claims.CLAIMS.claims) for one in PAPERS.values() if one.main_claim)
    assert counts.sum(axis=1).tolist() == [claims] * 2
    printed = tally(ledger(PAPERS, {}, [])).sum()
    assert counts.loc["the papers' own numbers"].to_dict() == printed.to_dict()
    own = len(PAPERS["openset_calibration"].claims.CLAIMS.claims)
    assert counts.loc["small_cpu", "no data"] == claims - own


def test_cells_are_means_over_runs_and_repeat_what_the_algorithm_decides(table_of_measures):
    """Scores down, measures across; accuracy for every score, passes only a score's own."""
    values = {
        (run, method, name): value + run
        for run in (0, 1)
        for method, name, value in [
            ("mixup/vim", "aurc", 0.3), ("mixup/msp", "aurc", 0.1), ("mixup/msp", "passes", 4),
            ("baseline/msp", "aurc", 0.2), ("mixup", "accuracy", 0.8), ("mixup", "passes", 1),
        ]
    }  # fmt: skip
    cells = synthesis.cells(table_of_measures(values))
    assert cells.index.tolist() == [("baseline", "msp"), ("mixup", "vim"), ("mixup", "msp")]
    assert list(cells) == ["accuracy", "passes", "aurc"]
    assert cells["aurc"].tolist() == pytest.approx([0.7, 0.8, 0.6])
    assert cells["accuracy"].fillna(0).tolist() == pytest.approx([0, 1.3, 1.3])
    assert cells["passes"].fillna(0).tolist() == [0, 0, 4.5]


def test_other_rows_are_left_out_and_mixed_tables_refused(noisy):
    """A number of one far set is none of the measures; two networks or variants cannot be mixed."""
    table = noisy(runs=1)
    other = table[table["test_set"] == "far"].assign(test_set="digits")
    together = synthesis.cells(pd.concat([table, other]))
    pd.testing.assert_frame_equal(together, synthesis.cells(table))
    for column in ("backbone", "variant", "tier"):
        with pytest.raises(ValueError, match=f"table: several of {column}"):
            synthesis.cells(pd.concat([table, table.assign(**{column: "small"})]))
    with pytest.raises(ValueError, match="is there twice"):
        synthesis.agreement(pd.concat([table, table.assign(calibration="after")]))
    with pytest.raises(ValueError, match="no number of a score"):
        synthesis.cells(table.head(1).assign(method="baseline"))
    with pytest.raises(ValueError, match="unknown algorithm 'baselin'"):
        synthesis.cells(table.head(1).assign(method="baselin/msp"))


@pytest.mark.parametrize("correlation", ["spearman", "kendall"])
def test_agreement_is_the_rank_correlation_of_oriented_means(noisy, correlation):
    """As SciPy has it of the means over runs, errors turned round; symmetric, 1 with itself."""
    table = noisy()
    pairs = synthesis.agreement(table, among="scores", correlation=correlation)
    square = pairs.pivot(index="first", columns="second", values="correlation")
    cells = synthesis.cells(table)
    reference = {"spearman": stats.spearmanr, "kendall": stats.kendalltau}[correlation]
    for first in square:
        for second in square:
            sign = -1 if ("aurc" in (first, second)) and first != second else 1
            wanted = sign * reference(cells[first], cells[second]).statistic
            assert square.loc[first, second] == pytest.approx(wanted)
    assert (pairs["ranked"] == 6).all() and (pairs["runs"] == 2).all()


def test_intervals_hold_the_value_and_widen_with_noise(noisy):
    """Two runs or replicates give an interval about the value; one run alone gives none."""

    def width(**options):
        pairs = synthesis.agreement(noisy(**options), draws=100)
        pairs = pairs[pairs["first"] != pairs["second"]]
        assert (pairs["low"] <= pairs["correlation"]).all()
        assert (pairs["correlation"] <= pairs["high"]).all()
        return (pairs["high"] - pairs["low"]).mean()

    for alone in (
        synthesis.agreement(noisy(runs=1)), synthesis.agreement(noisy(), draws=0)
    ):  # fmt: skip
        assert alone["low"].isna().all() and alone["high"].isna().all()
    assert width(noise=0.01) < width(noise=0.1)
    assert width(runs=1, replicates=50) > 0
    assert width(noise=0.0) == pytest.approx(0)
    first, second = (synthesis.agreement(noisy(), draws=20) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)


def test_what_cannot_be_ranked_is_left_out_or_named(noisy):
    """A rare or constant measure goes, and so does a cell that lacks one of the others."""
    table = noisy()
    rare = table[(table["test_set"] != "far") | (table["method"] == "baseline/msp")]
    assert set(synthesis.agreement(rare)["first"]) == {"aurc", "auroc_near"}
    lacking = table[(table["test_set"] != "far") | (table["method"] != "baseline/msp")]
    assert set(synthesis.agreement(lacking)["ranked"]) == {5}
    # the same for all scores of a run, as an algorithm's accuracy is, but not in all runs
    constant = table.assign(value=table["value"].where(table["test_set"] != "far", table["run"]))
    assert "auroc_far" not in set(synthesis.agreement(constant)["first"])
    with pytest.raises(ValueError, match="algorithms with MSP, 0 measures of 1 can be ranked"):
        synthesis.agreement(table, among="algorithms")
    with pytest.raises(ValueError, match="did you mean 'scores'"):
        synthesis.agreement(table, among="score")


def test_pareto_front_holds_what_nothing_beats():
    """On random numbers, by definition: nothing on the front is beaten, all else is."""
    rng = np.random.default_rng(0)
    names = ["accuracy", "aurc", "ece"]
    means = pd.DataFrame(rng.integers(0, 5, (60, 3)), columns=names)
    front = synthesis.pareto(means, names)
    good = means.to_numpy() * [1, -1, -1]
    for place, own in enumerate(good):
        beaten = any((one >= own).all() and (one > own).any() for one in good)
        assert front[place] != beaten
    assert not synthesis.pareto(means.assign(ece=np.nan), names).any()
    with pytest.raises(ValueError, match="measures: empty"):
        synthesis.pareto(means, [])
