"""The code in README, CONTRIBUTING and the book is executed here, in a copy of the packages."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers import data

ROOT = Path(__file__).resolve().parent.parent
HERE = os.environ | {"PYTHONPATH": str(ROOT)}


def blocks(file: str, heading: str, language: str = "python") -> list[str]:
    """Return the code blocks below a heading of a Markdown file."""
    text = (ROOT / file).read_text(encoding="utf-8")
    section = re.split(rf"^#+ {re.escape(heading)}$", text, flags=re.M)[1]
    section = re.split(r"^#+ (?=[A-Z])", section, flags=re.M)[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", section, flags=re.M | re.S)


@pytest.fixture(scope="module")
def extended(tmp_path_factory) -> Path:
    """Return a folder with a copy of the packages, extended by the files in CONTRIBUTING."""
    folder = tmp_path_factory.mktemp("extended")
    ignored = shutil.ignore_patterns("*.pyc.*", ".*")
    for name in ("helpers", "known_unknowns", "params"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for heading in ("A metric", "A score"):
        for block in blocks("CONTRIBUTING.md", heading):
            if header := re.match(r"# (\w+\.py) in (helpers/\S+)\n", block):
                file = folder / header[2] / header[1]
                assert not file.exists()
                file.write_text(block, encoding="utf-8")
    (claim,) = blocks("CONTRIBUTING.md", "A claim", "yaml")
    file = re.match(r"# to the end of (\S+)\n", claim)[1]
    with (folder / file).open("a", encoding="utf-8") as claims:
        claims.write("\n" + claim)
    return folder


def run(folder: Path, code: str) -> None:
    """Execute code in a new process that imports `helpers` from a folder."""
    paths = os.pathsep.join([str(folder), str(ROOT / "workflow")])
    variables = os.environ | {"PYTHONPATH": paths}
    subprocess.run([sys.executable, "-c", code], check=True, env=variables, cwd=folder)


def test_a_score_is_one_file(extended):
    """The score is found by name, has a section in the book, is ranked in an audit, and passes."""
    (check,) = (code for code in blocks("CONTRIBUTING.md", "A score") if "check_score" in code)
    run(
        extended,
        check
        + """
import numpy as np, pages
from helpers import scores
from known_unknowns import auditing
from helpers.outputs import Outputs

logits = np.array([[4.0, 1.0, 2.0], [0.0, 0.0, 3.0]])
outputs = Outputs(logits, np.zeros((2, 0)), np.array([0, 2]))
assert scores.create("median_gap").score_samples(outputs).tolist() == [2.0, 3.0]
assert "### Gap to the median" in pages.render("methods.md", **pages.infos())
labels = np.arange(200) % 3
logits = 2 * np.eye(3)[labels] + np.random.default_rng(0).normal(size=(200, 3))
inputs = auditing.Inputs("a toy", Outputs(logits, np.zeros((200, 0)), labels), ("a", "b", "c"))
assert "median_gap" in set(auditing.audit(inputs, replicates=10).ranking["score"])
""",
    )


def test_a_metric_is_a_function(extended):
    """The examples of the metric hold, it passes the checks, and it rejects bad arrays."""
    (check,) = (code for code in blocks("CONTRIBUTING.md", "A metric") if "check_metric" in code)
    run(
        extended,
        check
        + """
import doctest
from helpers.metrics import coverage

assert doctest.testmod(coverage) == (0, 2)
for confidence, correct in ([], []), ([0.5], [True, False]), ([float("nan")], [True]):
    try:
        coverage.coverage_at_risk(confidence, correct)
    except ValueError:
        continue
    raise AssertionError
""",
    )


def test_a_claim_is_an_entry_of_a_file(extended):
    """The claim is read with the effect that its line states."""
    run(
        extended,
        """
import pandas as pd
from helpers.papers.openset_calibration.claims import CLAIMS

(claim,) = (claim for claim in CLAIMS.claims if claim.id == "openmax-brier")
(effect,) = claim.effects
signs = [(term.sign, term.method, term.metric, term.calibration) for term in effect.terms]
assert signs == [(1, "open-set", "brier", "after"), (-1, "open-set + OpenMax", "brier", "after")]
assert (effect.relation, effect.margin) == (">", 0)
""",
    )


def test_arrays_become_a_data_set(tmp_path, monkeypatch):
    """The written data set is loaded by its name."""
    monkeypatch.setenv("DATA_ROOT", str(tmp_path))
    images = np.random.default_rng(0).integers(256, size=(3, 8, 8, 3), dtype=np.uint8)
    (block,) = (code for code in blocks("CONTRIBUTING.md", "A data set") if "write_pack" in code)
    exec(block, {"images": images, "labels": [0, 1, 1]})
    loaded = data.load("pets", "test")
    assert np.array_equal(loaded.images, images) and loaded.class_names == ("cat", "dog")


def test_the_audit_of_the_readme(tmp_path, monkeypatch):
    """From arrays to a report and a rejector, which accepts known images and rejects noise."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    labels = generator.integers(5, size=600)
    features = generator.normal(size=(600, 8)) + 4 * np.eye(5, 8)[labels]
    names = {"features": features, "logits": features[:, :5], "labels": labels}
    write, apply = blocks("README.md", "Audit your own model")
    exec(write, names)
    (commands,) = blocks("README.md", "Audit your own model", "console")
    tool = f"{shlex.quote(sys.executable)} -m known_unknowns"
    commands = re.sub("^known-unknowns", tool, commands, flags=re.M)
    for command in commands.splitlines():
        subprocess.run(command, shell=True, check=True, capture_output=True, env=HERE)
    assert "<html" in (tmp_path / "my_audit" / "report.html").read_text(encoding="utf-8")
    assert len((tmp_path / "answers.csv").read_text(encoding="utf-8").splitlines()) == 601
    names["features"] = np.concatenate([features[:50], generator.normal(size=(50, 8))])
    names["logits"] = names["features"][:, :5]
    exec(apply, names)
    assert names["accepted"][:50].mean() > 0.8 > names["accepted"][50:].mean()


def test_the_audit_of_the_book(tmp_path, monkeypatch):
    """The notebook on a file, and the page that is made from it."""
    monkeypatch.chdir(tmp_path)
    labels = np.arange(400) % 4
    logits = 3 * np.eye(4)[labels] + np.random.default_rng(0).normal(size=(400, 4))
    np.savez("my_outputs.npz", logits=logits, labels=labels)
    commands = blocks("book/how_to_run.md", "Your own model", "console")[-1]
    # the commands are for the repository's folder; the results belong in another one
    commands = commands.replace("$ .venv/bin", shlex.quote(str(Path(sys.executable).parent)))
    commands = re.sub(r"(?<= )(notebooks|workflow)/", rf"{shlex.quote(str(ROOT))}/\1/", commands)
    commands = commands.replace("my_audit", f"{tmp_path}/my_audit")
    subprocess.run(f"set -e\n{commands}", shell=True, check=True, capture_output=True, env=HERE)
    assert "<html" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<html" in (tmp_path / "my_audit" / "report.html").read_text(encoding="utf-8")


def test_which_tool_for_which_question():
    """The code blocks of the page run one after the other and answer its questions."""
    page = ROOT / "book" / "which_tool.md"
    names: dict = {}
    for block in re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S):
        exec(compile(block, str(page), "exec"), names)
    assert names["suspect"][200:].mean() > 2 * names["suspect"][:200].mean()
    assert names["suspects"].chosen.any() and 0 < names["lower_bound"] < 1 / 3
    assert (names["scores"] >= names["for_coverage"]).mean() >= 0.9
    assert names["for_risk"].bound <= 0.05 and 0 <= names["open_set"] <= 1
    assert names["predicted"]["auroc"].value > 0.7 and 0 <= names["aurc"] < 0.1
