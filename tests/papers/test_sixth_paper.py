"""A sixth paper is a separate folder, and all pages about the papers include it.

New files alone add it to a copy of the repository, without a training.
"""

import os
import shutil
import subprocess
import sys

import nbformat

from helpers.modules import ROOT

PAPER = ROOT / "tests/papers/sixth_paper"
SOURCE = 'tier = "mini"\noutput = "runs"\noverrides = {}'
PARAMETERS = nbformat.v4.new_code_cell(SOURCE, metadata={"tags": ["parameters"]})
NOTEBOOK = nbformat.v4.new_notebook(cells=[PARAMETERS])
CHECKS = """
import sys
from helpers import papers
from helpers.papers import PAPERS

assert [*PAPERS][-1] == "toy"
assert not {"numpy", "torch", "synthesis.claims.toy"} & set(sys.modules)

import book, plan
from helpers.papers import run
from helpers.tables import results
from synthesis import ledger, openings, readme
from synthesis.counterparts import counterparts

table = run.rows(papers.load("toy", "mini"), progress=False)
assert len(table) == 6 and set(table["bootstrap"].map(len)) == {20}
assert table.groupby("method")["value"].mean().round(2).to_dict() == {"a": 0.75, "b": 0.88}
steps = plan.plan("mini")
toys = [step for name, step in steps.items() if name.startswith("toy")]
assert [step.name for step in toys if step.notebook] == ["toy/evaluation", "toy/figures"]
assert steps["toy/figures"].needs == ("toy/evaluation",)
assert "toy/evaluation" in steps["synthesis/ledger"].needs
ready = plan.for_snakemake({step.name: step for step in toys})
assert "helpers/papers/toy/parameters.py" in ready["toy/evaluation"].reads
results.write(table, readme.RESULTS / "mini" / "toy.parquet")
ledger.write()
found = openings.judge("results", "mini").query("verdict != 'no data'")
toy = found[found["paper"] == "toy"].set_index("tier")
assert toy["verdict"].map(str).to_dict() == {"mini": "not testable", "printed": "supported"}
assert toy["effect"].round(2).to_dict() == {"mini": 0.12, "printed": 0.01}
beside = counterparts(PAPERS, {("mini", "toy"): table})
assert beside["stand_ins"].unique().tolist() == ["digits for MNIST, resnet8 for LeNet"]
text = readme.details()
assert "| a | 0.75" in text and "B is more accurate than A." in text
(part,) = (part for part in book.contents()["parts"] if part["caption"] == "The papers")
files = ["notebooks/toy/evaluation", "notebooks/toy/figures", "book/fidelity_toy"]
sections = [{"file": file} for file in files]
assert part["chapters"][-1] == {"file": "book/toy", "sections": sections}
"""


def test_a_sixth_paper_needs_no_change_elsewhere(tmp_path):
    # byte code comes along, but not what another process may be writing
    ignored = shutil.ignore_patterns("*.pyc.*", ".*")
    folders = "benchmarks book helpers known_unknowns notebooks params pictures synthesis workflow"
    for name in folders.split():
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    names = {path.relative_to(PAPER) for path in PAPER.rglob("*") if path.is_file()}
    assert not [name for name in names if (tmp_path / name).exists()]
    shutil.copytree(PAPER, tmp_path, ignore=ignored, dirs_exist_ok=True)
    (tmp_path / "notebooks" / "toy").mkdir()
    for name in ("evaluation", "figures"):
        nbformat.write(NOTEBOOK, tmp_path / "notebooks" / "toy" / f"{name}.ipynb")
    paths = os.pathsep.join([str(tmp_path), f"{tmp_path}/workflow"])
    variables = os.environ | {"PYTHONPATH": paths, "CACHE_ROOT": f"{tmp_path}/cache"}
    done = subprocess.run(
        [sys.executable, "-c", CHECKS], env=variables, cwd=tmp_path, capture_output=True, text=True
    )
    assert not done.returncode, done.stderr[-2000:]
