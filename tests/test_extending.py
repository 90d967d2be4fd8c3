"""The code in README, CONTRIBUTING and the book is executed here, in a copy of the packages."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
from nbconvert.nbconvertapp import NbConvertApp

from helpers import data
from helpers.modules import ROOT
from known_unknowns.auditing.command import main
from lint.reading import cells


def blocks(file: str, heading: str, language: str = "python") -> list[str]:
    """Return the code blocks below a heading of a Markdown file."""
    text = (ROOT / file).read_text(encoding="utf-8")
    section = re.split(rf"^#+ {re.escape(heading)}$", text, flags=re.M)[1]
    section = re.split(r"^#+ (?=[A-Z])", section, flags=re.M)[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", section, flags=re.M | re.S)


ADDED = """
import doctest, pages
from helpers import scores
from helpers.metrics import coverage
from synthesis.claims.openset_calibration import CLAIMS
from known_unknowns.auditing import Inputs, audit
from tests.test_findings import OUTPUTS

assert scores.create("median_gap").score_samples(OUTPUTS).min() >= 0
assert "{dropdown} Gap to the median" in pages.render("methods.md", **pages.infos(), measured={})
ranked = audit(Inputs("a toy", OUTPUTS, tuple("abcd")), replicates=10).ranking
assert "median_gap" in set(ranked["score"])
assert doctest.testmod(coverage) == (0, 2)
(claim,) = (claim for claim in CLAIMS.claims if claim.id == "openmax-brier")
keys = [(key.method, key.calibration) for key in claim.effects[0].number.keys]
assert keys == [("open-set", "after"), ("open-set + OpenMax", "after")]
"""


def test_an_added_score_metric_or_claim_is_available_by_its_name(tmp_path):
    """In a copy of the packages, extended by the files of the page.

    A score and a metric pass the checks of the page; the book and an audit have the score.
    """
    ignored = shutil.ignore_patterns("*.pyc.*", ".*")
    for name in ("helpers", "known_unknowns", "params", "synthesis"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    every = [*blocks("CONTRIBUTING.md", "A score"), *blocks("CONTRIBUTING.md", "A metric")]
    for block in every:
        if header := re.match(r"# (\w+\.py) in (helpers/\S+)\n", block):
            file = tmp_path / header[2] / header[1]
            assert not file.exists()
            file.write_text(block, encoding="utf-8")
    (claim,) = blocks("CONTRIBUTING.md", "A claim")
    claims = tmp_path / re.match(r"# to the end of (\S+)\n", claim)[1]
    claims.write_text(f"{claims.read_text('utf-8')}\n\n{claim}", encoding="utf-8")
    checks = [block for block in every if "import check_" in block]
    assert len(checks) == 2
    paths = os.pathsep.join(map(str, (tmp_path, ROOT / "workflow", ROOT)))
    options = {"env": os.environ | {"PYTHONPATH": paths}, "cwd": tmp_path, "check": True}
    subprocess.run([sys.executable, "-c", "\n".join([*checks, ADDED])], **options)


def test_arrays_become_a_data_set(root):
    """The written data set is loaded by its name."""
    images = np.random.default_rng(0).integers(256, size=(3, 8, 8, 3), dtype=np.uint8)
    (block,) = (code for code in blocks("CONTRIBUTING.md", "A data set") if "write_pack" in code)
    exec(block, {"images": images, "labels": [0, 1, 1]})
    loaded = data.load("pets", "test")
    assert np.array_equal(loaded.images, images)
    assert loaded.class_names == ("cat", "dog")


def test_the_audit_of_the_readme(here):
    """From arrays to a report and a rejector, which accepts known images and rejects noise."""
    generator = np.random.default_rng(0)
    labels = generator.integers(5, size=600)
    features = generator.normal(size=(600, 8)) + 3 * np.eye(5, 8)[labels]
    names = {"features": features, "logits": features[:, :5], "labels": labels}
    (write,) = blocks("README.md", "Audit your own model")
    (apply,) = blocks("book/audit.md", "Use the threshold")
    exec(write, names)
    (shown,) = blocks("README.md", "Audit your own model", "console")
    # the test of the audit page runs the other commands
    _, program, *words = shlex.split(shown.splitlines()[0])
    assert program == "known-unknowns"
    assert not main(words)
    assert "<html" in (here / "my_audit" / "report.html").read_text(encoding="utf-8")
    names["features"] = np.concatenate([features[:50], generator.normal(size=(50, 8))])
    names["logits"] = names["features"][:, :5]
    exec(apply, names)
    assert names["accepted"][:50].mean() > 0.8 > names["accepted"][50:].mean()


def test_the_audit_of_the_book(here):
    """The notebook on a file, and the page that is made from it."""
    labels = np.arange(400) % 4
    logits = 3 * np.eye(4)[labels] + np.random.default_rng(0).normal(size=(400, 4))
    np.savez("my_outputs.npz", logits=logits, labels=labels)
    execute, convert = blocks("book/how_to_run.md", "Your own model", "console")[-1].splitlines()
    _, program, notebook, copy, *options = shlex.split(execute)
    code = [cell["source"] for cell in cells(ROOT / notebook, "code")]
    given = dict(zip(options[1::3], options[2::3], strict=True))
    assert (program, *options[::3]) == (".venv/bin/papermill", "-p", "-p")
    assert given.keys() <= set(re.findall(r"^(\w+) = ", code[1], re.M))
    given["output"] = f"{here}/{given['output']}"  # and not in the repository
    code.insert(2, "\n".join(f"{name} = {value!r}" for name, value in given.items()))
    exec("\n".join(code), {})
    assert "<html" in Path(given["output"], "report.html").read_text(encoding="utf-8")
    nbformat.write(nbformat.v4.new_notebook(), here / copy)
    program, command, *words = shlex.split(convert.removeprefix("$ "))
    assert (program, command) == (".venv/bin/jupyter", "nbconvert")
    NbConvertApp.launch_instance(words)
    assert "<html" in (here / "report.html").read_text(encoding="utf-8")


def test_which_tool_for_which_question():
    """The code blocks of the page run in order and answer its questions."""
    page = ROOT / "book" / "which_tool.md"
    names: dict = {}
    for block in re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S):
        exec(compile(block, str(page), "exec"), names)
    assert names["suspect"][200:].mean() > 2 * names["suspect"][:200].mean()
    assert names["suspects"].chosen.any()
    assert 0 < names["lower_bound"] < 1 / 3
    assert (names["scores"] >= names["for_coverage"]).mean() >= 0.9
    assert names["for_risk"].bound <= 0.05
    assert 0 <= names["open_set"] <= 1
    assert names["predicted"]["auroc"].value > 0.7
    assert 0 <= names["aurc"] < 0.1
