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


OF_SCORE = """
import pages
from helpers import scores
from known_unknowns.auditing import Inputs, audit
from tests.test_findings import OUTPUTS

assert scores.create("median_gap").score_samples(OUTPUTS).min() >= 0
assert "### Gap to the median" in pages.render("methods.md", **pages.infos())
ranked = audit(Inputs("a toy", OUTPUTS, tuple("abcd")), replicates=10).ranking
assert "median_gap" in set(ranked["score"])
"""
OF_METRIC = """
import doctest
from helpers.metrics import coverage

assert doctest.testmod(coverage) == (0, 2)
"""
OF_CLAIM = """
from helpers.papers.openset_calibration.claims import CLAIMS

(claim,) = (claim for claim in CLAIMS.claims if claim.id == "openmax-brier")
terms = [(term.sign, term.method, term.calibration) for term in claim.effects[0].terms]
assert terms == [(1, "open-set", "after"), (-1, "open-set + OpenMax", "after")]
"""


@pytest.mark.parametrize(
    ("heading", "code"), [("A score", OF_SCORE), ("A metric", OF_METRIC), ("A claim", OF_CLAIM)]
)
def test_what_is_added_is_found_by_its_name(extended, heading, code):
    """It passes the checks of the page, has a section in the book, and is ranked in an audit."""
    checks = [block for block in blocks("CONTRIBUTING.md", heading) if "import check_" in block]
    assert len(checks) == (heading != "A claim")
    paths = os.pathsep.join(map(str, (extended, ROOT / "workflow", ROOT)))
    variables = os.environ | {"PYTHONPATH": paths}
    program = "\n".join([*checks, code])
    subprocess.run([sys.executable, "-c", program], check=True, env=variables, cwd=extended)


def test_arrays_become_a_data_set(root):
    """The written data set is loaded by its name."""
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
    exec(write + '\nnp.savez("new_outputs.npz", logits=logits, features=features)', names)
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
