"""Rows of one measure, computed again from the committed networks alone."""

import pandas as pd
import pytest
import remeasure

from helpers.files import project_root
from helpers.papers.uimnet import experiment
from helpers.tables import results
from tests.papers import toys
from tests.papers.uimnet.test_experiment import TINY, split  # noqa: F401

SMALL = project_root() / "results/small"


def test_the_rows_equal_those_of_the_whole_search(split):  # noqa: F811
    parameters = TINY.replace(measures=["jacobian"])
    whole = toys.rows(experiment, {0: split}, parameters)
    of_measure = whole["method"].eq("erm/jacobian") & whole["variant"].eq("primary")
    expected = whole[of_measure].set_index("row")
    part = next(part for part in experiment.parts(parameters) if part.identity["method"] == "erm")
    models = experiment.models(parameters, part, {0: split})
    choice = experiment.outputs(parameters, part, {0: split}, models)
    again = remeasure.rows(parameters, part, 0, choice.variants[0, "primary"]).set_index("row")
    assert len(again) == 6  # three metrics before and after the scaling
    same = ["value", "images", "metric", "calibration"]
    pd.testing.assert_frame_equal(again[same], expected.loc[again.index, same])


def test_a_row_that_the_table_lacks_is_refused():
    table = pd.DataFrame({"row": ["a", "b"], "value": [0.1, 0.2]})
    with pytest.raises(ValueError, match="The table has no rows c to replace"):
        remeasure.replaced(table, pd.DataFrame({"row": ["b", "c"], "value": [0.3, 0.4]}))


def test_the_committed_rows_of_committed_networks_have_all_images():
    """RND has the network of ERM; rows of ensembles and other networks have 80 images a set."""
    table = results.read(SMALL / "uimnet.parquet")
    table = table[table["method"].str.endswith("/jacobian") & table["metric"].eq("out_as_out")]
    files = {path.stem for path in (SMALL / "networks/uimnet").glob("*.safetensors")}
    names = table["method"].str.replace("/jacobian", "").replace("rnd", "erm")
    stems = table["backbone"] + "-" + names + "-none-" + table["run"].astype(str)
    committed = stems.isin(files) & table["variant"].eq("primary")
    assert committed.sum() == 2 * (18 + 3)
    assert set(table["images"][committed]) == {2000}
    assert set(table["images"][~committed]) == {80}
    chosen = table[committed & table["calibration"].eq("before")]
    assert chosen["code"].nunique() == 1
