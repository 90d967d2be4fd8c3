"""A sixth paper is a folder of its own: whatever goes through all papers takes it up.

It is added to a copy of the repository, by new files alone, and trains nothing.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
EMPTY = '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
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
    "helpers/papers/toy/tables.py": "",
    "helpers/papers/toy/printed.csv": """# arXiv:0000.00000
table,data_set,test_set,backbone,method,calibration,metric,value,std,unit
1,MNIST,test,LeNet,a,,accuracy,90.5,,100
1,MNIST,test,LeNet,b,,accuracy,91.5,,100
""",
    "notebooks/toy/evaluation.ipynb": EMPTY,
    "notebooks/toy/figures.ipynb": EMPTY,
    "params/mini/toy.yaml": "tier: mini\n",
    "book/toy.md": "# Toy\n",
}
TABLE = """
from helpers.papers import PAPERS
from helpers.report import results

made = results.provenance({}, seed=0, device="cpu", seconds=1.0)
place = {"tier": "mini", "paper": "toy", "data_set": "digits", "backbone": "resnet8", "images": 100}
table = results.tidy(
    [
        {**place, "method": method, "metric": "accuracy", "run": run, "value": value + run / 100}
        for method, value in {"a": 0.75, "b": 0.875}.items() for run in range(3)
    ],
    made,
)
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a copy of the repository, without results, to which the paper's files are added."""
    folder = tmp_path_factory.mktemp("repository")
    for name in ("benchmarks", "book", "helpers", "notebooks", "params", "workflow"):
        ignored = shutil.ignore_patterns("__pycache__")
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

assert [*PAPERS][-2:] == ["toy", "synthesis"]
assert not {"numpy", "torch", "helpers.papers.toy.claims"} & set(sys.modules)
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
assert own["effect"].round(3).to_dict() == {{"mini": 0.125, "published": 0.01}}
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
assert "| [Toy](notebooks/toy) | B is more accurate than A. | supported |" in readme.block()
(part,) = (one for one in book.contents()["parts"] if one["caption"] == "The papers")
assert part["chapters"][-1] == {{
    "file": "book/toy",
    "sections": [{{"file": "notebooks/toy/evaluation"}}, {{"file": "notebooks/toy/figures"}}],
}}
assert "`toy`" in pages.reported_for("accuracy")
""",
    )
