"""A sixth paper is a folder of its own: whatever goes through all papers takes it up.

It is added to a copy of the repository, by new files alone, and trains nothing.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PARAMETERS = {
    "cell_type": "code", "execution_count": None, "metadata": {"tags": ["parameters"]},
    "outputs": [], "source": 'tier = "mini"\noutput = "runs"\noverrides = {}',
}  # fmt: skip
NOTEBOOK = json.dumps({"cells": [PARAMETERS], "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
FILES = {
    "helpers/papers/toy/__init__.py": """
from helpers.papers import Paper

PAPER = Paper(
    name="toy", order=6, title="On Toys", heading="Toy", main_claim="better",
    data_sets={"digits": "MNIST"}, networks={"resnet8": "LeNet"}, metrics=("accuracy",),
)
""",
    "helpers/papers/toy/claims.py": """
from helpers.report.claims import Claim, Effect, Term
from helpers.report.paper_claims import Claims

GAIN = Effect("accuracy, b minus a", (Term(1, "b", "accuracy"), Term(-1, "a", "accuracy")), ">", 0)
CLAIM = Claim("better", "B is more accurate than A.", "Table 1", "b minus a is > 0", (GAIN,))
CLAIMS = Claims("toy", (CLAIM,), printed=lambda numbers: numbers)
""",
    "helpers/papers/toy/parameters.py": """
from typing import ClassVar

from helpers.papers import parameters
from helpers.papers.parameters import Count, DataSet


class Parameters(parameters.Parameters):
    grid: ClassVar = ("runs",)
    data_set: DataSet
    runs: Count
    gain: float
""",
    "helpers/papers/toy/roles.py": """
from helpers import data


def roles(parameters):
    return {"test": data.load(parameters.data_set, "test")}
""",
    "helpers/papers/toy/experiment.py": """
import numpy as np

from helpers import metrics
from helpers.papers.run import Part
from helpers.papers.toy import roles as benchmark
from helpers.report import results


def parts(parameters):
    place = {"data_set": parameters.data_set, "backbone": "resnet8"}
    return [Part(f"run {run}", place | {"run": run}, roles="") for run in range(parameters.runs)]


def roles(parameters, part):
    return benchmark.roles(parameters)


def models(parameters, part, roles):
    return {"a": 0.75, "b": 0.75 + parameters.gain}


def outputs(parameters, part, roles, models):
    images = np.arange(len(roles["test"])) / len(roles["test"])
    return {method: images < share for method, share in models.items()}


def rows(parameters, part, outputs, draw):
    for method, right in outputs.items():
        drawn = metrics.weighted_mean(right, draw("test", len(right)))
        yield results.row("test", "accuracy", right.mean(), len(right), drawn, method=method)
""",
    "helpers/papers/toy/tables.py": """
import pandas as pd

from helpers.report.table import Table


def main_table(table, parameters):
    means = table.groupby("method")["value"].mean()
    cells = pd.DataFrame(
        {"method": means.index, "metric": "accuracy", "text": means.map("{:.3f}".format).to_numpy()}
    )
    return Table(cells, ["method"], ["metric"], name="toy", caption="Accuracy of toys.")
""",
    "helpers/papers/toy/printed.csv": """# arXiv:0000.00000
table,data_set,test_set,backbone,method,calibration,metric,value,std,unit
1,MNIST,test,LeNet,a,,accuracy,90.5,,100
1,MNIST,test,LeNet,b,,accuracy,91.5,,100
""",
    "notebooks/toy/evaluation.ipynb": NOTEBOOK,
    "notebooks/toy/figures.ipynb": NOTEBOOK,
    "params/mini/toy.yaml": """
seed: 0
replicates: 20
training: {}
data_set: digits
runs: 3
gain: 0.125
""",
    "book/toy.md": "# Toy\n",
}
TABLE = """
from helpers import papers
from helpers.papers import PAPERS, run
from helpers.report import results

table = run.rows(papers.load("toy", "mini"), progress=False)
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a copy of the repository, without results, to which the paper's files are added."""
    folder = tmp_path_factory.mktemp("repository")
    # byte code comes along, but for what another process may be writing
    ignored = shutil.ignore_patterns("*.pyc.*", "syntax.json", ".*")
    for name in (
        "benchmarks", "book", "helpers", "known_unknowns", "notebooks", "params", "pictures",
        "workflow",
    ):  # fmt: skip
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name, text in FILES.items():
        path = folder / name
        assert not path.exists()
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def run(folder: Path, code: str) -> None:
    """Execute code in a process of its own that takes `helpers` and the workflow from a folder."""
    variables = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), f"{folder}/workflow"])}
    done = subprocess.run(
        [sys.executable, "-c", code], env=variables, cwd=folder, capture_output=True, text=True
    )
    assert not done.returncode, done.stderr[-2000:]


def test_its_record_is_found_in_its_place_and_loads_nothing_else(copy):
    run(
        copy,
        """
import sys
from helpers.papers import PAPERS

assert [*PAPERS][-1] == "toy"
assert not {"numpy", "torch", "helpers.papers.toy.claims"} & set(sys.modules)
""",
    )


def test_the_plan_and_the_driver_take_it_up(copy):
    """And refuse a parameter that it does not have."""
    run(
        copy,
        f"""{TABLE}
import plan

assert len(table) == 6 and set(table["bootstrap"].map(len)) == {{20}}
steps = plan.for_snakemake(plan.plan("mini"))
assert [name for name in steps if name.startswith("toy")] == ["toy/evaluation", "toy/figures"]
assert steps["toy/figures"].needs == ("toy/evaluation",)
assert "toy/evaluation" in steps["synthesis/ledger"].needs
assert "helpers/papers/toy/parameters.py" in steps["toy/evaluation"].reads
assert "helpers/papers/toy/claims.py" in steps["synthesis/ledger"].reads
try:
    papers.load("toy", "mini", gian=0.5)
except ValueError as error:
    assert "did you mean 'gain'" in str(error)
else:
    raise AssertionError("taken")
""",
    )


def test_its_claim_is_in_the_ledger_and_its_numbers_beside_the_printed_ones(copy):
    run(
        copy,
        f"""{TABLE}
from helpers.report.ledger import ledger
from helpers.report.tables.published import counterparts

found = ledger(PAPERS, {{("mini", "toy"): table}}, ["mini"])
own = found[found["paper"] == "toy"].set_index("tier")
assert own["verdict"].map(str).to_dict() == {{"mini": "supported", "published": "supported"}}
assert own["effect"].round(2).to_dict() == {{"mini": 0.12, "published": 0.01}}
assert found["paper"].iloc[-1] == "toy" and found["paper"].nunique() == 6
beside = counterparts(PAPERS, {{("mini", "toy"): table}})
assert beside["stand_ins"].unique().tolist() == ["digits for MNIST, resnet8 for LeNet"]
""",
    )


def test_the_readme_and_the_book_have_its_chapter(copy):
    """The book's contents list its overview and those of its notebooks that there are."""
    run(
        copy,
        f"""{TABLE}
import book, pages, readme

results.write(table, readme.RESULTS / "mini" / "toy.parquet")
assert "| a | 0.75" in readme.details()
claim = "| B is more accurate than A. | **supported** |"
assert f"| [Toy](notebooks/toy) {{claim}}" in readme.block()
(part,) = (one for one in book.contents()["parts"] if one["caption"] == "The papers")
assert part["chapters"][-1] == {{
    "file": "book/toy",
    "sections": [{{"file": "notebooks/toy/evaluation"}}, {{"file": "notebooks/toy/figures"}}],
}}
assert "`toy`" in pages.reported_for("accuracy")
""",
    )
