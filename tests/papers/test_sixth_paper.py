"""A sixth paper is a folder of its own: everything about all papers includes it.

It is added to a copy of the repository, by new files alone, and trains nothing.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

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
    "helpers/papers/toy/experiment.py": """
import numpy as np

from helpers import data, metrics
from helpers.papers.run import Part
from helpers.report import results


def parts(parameters):
    place = {"data_set": parameters.data_set, "backbone": "resnet8"}
    return [Part(f"run {run}", place | {"run": run}, roles="") for run in range(parameters.runs)]


def roles(parameters, part):
    return {"test": data.load(parameters.data_set, "test")}


def models(parameters, part, roles):
    return {"a": 0.75, "b": 0.75 + parameters.gain}


def outputs(parameters, part, roles, models):
    images = np.arange(len(roles["test"])) / len(roles["test"])
    return {method: images < share for method, share in models.items()}


def rows(parameters, part, outputs, draw):
    for method, correct in outputs.items():
        drawn = metrics.weighted_mean(correct, draw("test", len(correct)))
        yield results.row("test", "accuracy", correct.mean(), len(correct), drawn, method=method)
""",
    "helpers/papers/toy/tables.py": """
import pandas as pd

from helpers.report.table import Table


def main_table(table, parameters):
    means = table.groupby("method")["value"].mean()
    cells = {"method": means.index, "metric": "accuracy", "text": means.map("{:.3f}".format)}
    cells = pd.DataFrame(cells).reset_index(drop=True)
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
{seed: 0, replicates: 20, training: {}, data_set: digits, runs: 3, gain: 0.125}
""",
    "book/toy.md": "# Toy\n",
}
CHECKS = """
import sys
from helpers import papers
from helpers.papers import PAPERS

assert [*PAPERS][-1] == "toy"
assert not {"numpy", "torch", "helpers.papers.toy.claims"} & set(sys.modules)

import book, plan, readme
from helpers.papers import run
from helpers.report import results
from helpers.report.ledger import ledger
from helpers.report.tables.published import counterparts

table = run.rows(papers.load("toy", "mini"), progress=False)
assert len(table) == 6 and set(table["bootstrap"].map(len)) == {20}
assert table.groupby("method")["value"].mean().round(2).to_dict() == {"a": 0.75, "b": 0.88}
steps = plan.for_snakemake(plan.plan("mini"))
assert [name for name in steps if name.startswith("toy")] == ["toy/evaluation", "toy/figures"]
assert steps["toy/figures"].needs == ("toy/evaluation",)
assert "toy/evaluation" in steps["synthesis/ledger"].needs
assert "helpers/papers/toy/parameters.py" in steps["toy/evaluation"].reads
found = ledger(PAPERS, {("mini", "toy"): table}, ["mini"])
toy = found[found["paper"] == "toy"].set_index("tier")
assert toy["verdict"].map(str).to_dict() == {"mini": "supported", "published": "supported"}
assert toy["effect"].round(2).to_dict() == {"mini": 0.12, "published": 0.01}
beside = counterparts(PAPERS, {("mini", "toy"): table})
assert beside["stand_ins"].unique().tolist() == ["digits for MNIST, resnet8 for LeNet"]
results.write(table, readme.RESULTS / "mini" / "toy.parquet")
assert "| a | 0.75" in readme.details() and "B is more accurate than A." in readme.block()
(part,) = (part for part in book.contents()["parts"] if part["caption"] == "The papers")
sections = [{"file": "notebooks/toy/evaluation"}, {"file": "notebooks/toy/figures"}]
assert part["chapters"][-1] == {"file": "book/toy", "sections": sections}
"""


def test_a_sixth_paper_needs_no_change_elsewhere(tmp_path):
    # byte code comes along, but not what another process may be writing
    ignored = shutil.ignore_patterns("*.pyc.*", ".*")
    folders = "benchmarks book helpers known_unknowns notebooks params pictures workflow"
    for name in folders.split():
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name, text in FILES.items():
        path = tmp_path / name
        assert not path.exists()
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    paths = os.pathsep.join([str(tmp_path), f"{tmp_path}/workflow"])
    variables = os.environ | {"PYTHONPATH": paths, "CACHE_ROOT": f"{tmp_path}/cache"}
    done = subprocess.run(
        [sys.executable, "-c", CHECKS], env=variables, cwd=tmp_path, capture_output=True, text=True
    )
    assert not done.returncode, done.stderr[-2000:]
