"""What the README, CONTRIBUTING and the book show works: their very lines are executed here."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from helpers.papers.parameters import overlay

ROOT = Path(__file__).resolve().parent.parent
HERE = os.environ | {"PYTHONPATH": str(ROOT)}


def blocks(file: str, heading: str, language: str = "python") -> list[str]:
    """Return the blocks of code below a heading of a Markdown file."""
    text = (ROOT / file).read_text(encoding="utf-8")
    section = re.split(rf"^#+ {re.escape(heading)}$", text, flags=re.M)[1]
    section = re.split(r"^#+ (?=[A-Z])", section, flags=re.M)[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", section, flags=re.M | re.S)


@pytest.fixture(scope="module")
def extended(tmp_path_factory) -> Path:
    """Return a folder with a copy of the package to which CONTRIBUTING's files are added."""
    folder = tmp_path_factory.mktemp("extended")
    # byte code comes along, but for what another process may be writing
    ignored = shutil.ignore_patterns("*.pyc.*", "syntax.json", ".*")
    for name in ("helpers", "known_unknowns", "params", "pictures"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for heading in ("A data set", "A metric", "A method", "A training objective"):
        for block in blocks("CONTRIBUTING.md", heading):
            if place := re.match(r"# (\w+\.py) in (helpers/\S+|pictures)\n", block):
                path = folder / place[2] / place[1]
                assert not path.exists()
                path.write_text(block, encoding="utf-8")
    return folder


def run(folder: Path, code: str) -> None:
    """Execute code in a process of its own that takes `helpers` from a folder."""
    paths = os.pathsep.join([str(folder), str(ROOT / "workflow")])
    variables = os.environ | {"PYTHONPATH": paths}
    subprocess.run([sys.executable, "-c", code], check=True, env=variables, cwd=folder)


def test_a_score_is_one_file(extended):
    """It is found by its name, has a section in the book, and is ranked in an audit."""
    run(
        extended,
        """
import numpy as np, pages
from helpers import scores
from known_unknowns import auditing
from helpers.outputs import Outputs

logits = np.array([[4.0, 1.0, 2.0], [0.0, 0.0, 3.0]])
outputs = Outputs(logits, np.zeros((2, 0)), np.array([0, 2]))
assert scores.create("median_gap").score_samples(outputs).tolist() == [2.0, 3.0]
assert "### Gap to the median" in pages.methods()
labels = np.arange(200) % 3
logits = 2 * np.eye(3)[labels] + np.random.default_rng(0).normal(size=(200, 3))
inputs = auditing.Inputs("a toy", Outputs(logits, np.zeros((200, 0)), labels), ("a", "b", "c"))
assert "median_gap" in set(auditing.audit(inputs, replicates=10).ranking["score"])
""",
    )


def add_record(extended: Path, record: str, end: str) -> None:
    """Add a block "# to RECORDS in FILE" to the records that end with a text."""
    place, record = re.fullmatch(r"# to RECORDS in (\S+)\n(.*\n)", record, flags=re.S).groups()
    before, end, after = (extended / place).read_text(encoding="utf-8").partition(end)
    (extended / place).write_text(before + record + end + after, encoding="utf-8")


def test_a_method_of_a_chapter_is_a_record(extended):
    """It is chosen by its name, trains by its recipe and answers; the paper's nine stay nine."""
    record, function = blocks("CONTRIBUTING.md", "A method of unknown detection")
    add_record(extended, record, '}  # fmt: skip\n"""All methods')
    place, function = re.fullmatch(r"# to the end of (\S+)\n(.*)", function, flags=re.S).groups()
    with (extended / place).open("a", encoding="utf-8") as file:
        file.write(function)
    run(
        extended,
        """
from types import SimpleNamespace

import numpy as np
from helpers.outputs import Outputs
from helpers.papers.parameters import load
from helpers.papers.unknown_detection import detectors, experiment
from helpers.papers.unknown_detection.claims import CLAIMS
from helpers.papers.unknown_detection.methods import title
from helpers.papers.unknown_detection.parameters import METHODS

parameters = load("unknown_detection", "mini", methods=["baseline", "mixup_margin"])
assert "0/mixup_margin" in [part.name for part in experiment.parts(parameters)]
recipe = parameters.method_recipe("mixup_margin+knn")
assert (recipe.objective, recipe.objective_arguments) == ("mixup", {"alpha": 0.2})
assert title("mixup_margin") == "Mixup, by margin"
assert len(METHODS) == 9 and not any("ixup" in str(one) for one in CLAIMS.claims)
outputs = Outputs(np.log([[0.7, 0.2, 0.1], [0.5, 0.5, 1e-9]]), np.zeros((2, 0)), np.array([0, 2]))
model = SimpleNamespace(name="mixup_margin", outputs=lambda images: outputs)
answer = detectors.make(parameters, None, model).answer(None)
assert np.allclose(answer.confidence, [0.5, 0]) and answer.correct.tolist() == [True, False]
""",
    )


def test_a_training_objective_is_one_file(extended):
    """A recipe names it, training minimises it, and any score is asked of what it trained."""
    run(
        extended,
        """
from types import SimpleNamespace

import numpy as np, torch
from helpers.papers.parameters import load
from helpers.training import objectives

batch = SimpleNamespace(inputs=torch.tensor([[0.5, 0.5]]).log(), labels=torch.tensor([0]))
loss, _ = objectives.create("focal")(torch.nn.Flatten(), batch)
assert np.isclose(loss, 0.5**2 * np.log(2))
assert load("unknown_detection", "mini").method_recipe("focal+knn").objective == "focal"
""",
    )


def test_an_algorithm_and_a_measure_of_the_test_bed(extended):
    """An objective, a record and lines of parameters; a measure is a score's name."""
    heading = "An algorithm or a measure of the test-bed"
    (record,), (changes,) = (blocks("CONTRIBUTING.md", heading, one) for one in ("python", "yaml"))
    add_record(extended, record, '}\n"""The paper')
    place = extended / re.match(r"# in (\S+)\n", changes)[1]
    values = overlay(yaml.safe_load(place.read_text("utf-8")), yaml.safe_load(changes))
    place.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")
    run(
        extended,
        """
from helpers.papers import run
from helpers.papers.parameters import load

parameters = load("uimnet", "mini", measures=["entropy", "native", "median_gap"])
assert "focal" in parameters.groups["plain"] and "median_gap" in parameters.measures
assert any("focal" in part.name for part in run.parts(parameters))
""",
    )


def test_a_metric_is_a_function(extended):
    """Its examples hold, and it refuses what all metrics refuse."""
    run(
        extended,
        """
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


def test_a_score_and_a_metric_are_checked_in_a_few_lines(extended):
    score, metric, tests = blocks("CONTRIBUTING.md", "Checks of a score or metric")
    each = "for check in test_my_score.pytestmark[0].args[1][:5]:\n    test_my_score(check)\n"
    run(extended, score + metric + tests + each)


def test_a_generated_family_is_one_file(extended):
    """It is loaded by its name, has a section in the book, and its images are of two colours."""
    run(
        extended,
        """
import numpy as np, pages
from helpers import data

images = data.load("targets", "test").images
assert images.shape == (500, 32, 32, 3)
assert all(len(np.unique(image.reshape(-1, 3), axis=0)) == 2 for image in images)
assert "## Targets" in pages.data_sets()
""",
    )


def test_the_audit_of_the_readme(tmp_path, monkeypatch):
    """From logits, labels and features to a report and a rejector, which new images pass or not."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    labels = generator.integers(5, size=600)
    features = generator.normal(size=(600, 8)) + 4 * np.eye(5, 8)[labels]
    names = {"features": features, "logits": features[:, :5], "labels": labels}
    write, apply = blocks("README.md", "Audit your own model")
    exec(write, names)
    (commands,) = blocks("README.md", "Audit your own model", "console")
    commands = re.sub(
        "^known-unknowns", f"{sys.executable} -m known_unknowns", commands, flags=re.M
    )
    for command in commands.splitlines():
        subprocess.run(command, shell=True, check=True, capture_output=True, env=HERE)
    assert "<html" in (tmp_path / "my_audit" / "report.html").read_text(encoding="utf-8")
    assert len((tmp_path / "answers.csv").read_text(encoding="utf-8").splitlines()) == 601
    names["features"] = np.concatenate([features[:50], generator.normal(size=(50, 8))])
    names["logits"] = names["features"][:, :5]
    exec(apply, names)
    assert names["accepted"][:50].mean() > 0.8 > names["accepted"][50:].mean()


def test_the_score_of_the_readme(tmp_path):
    """The example of a new score, from its file to its place among all others."""
    (score,) = (one for one in blocks("CONTRIBUTING.md", "A method") if "MedianGap" in one)
    (tmp_path / "my_score.py").write_text(score, encoding="utf-8")
    (command,) = blocks("README.md", "A score of your own", "console")
    command = command.replace("known-unknowns", f"{sys.executable} -m known_unknowns", 1)
    done = subprocess.run(
        command, shell=True, check=True, capture_output=True, text=True, env=HERE, cwd=tmp_path
    )
    assert "median_gap, near images: AUROC " in done.stdout
    table = (tmp_path / "my_score_bench" / "table.csv").read_text(encoding="utf-8")
    assert "median_gap" in table and "mahalanobis" in table


def test_which_tool_for_which_question():
    """The page's lines, one block after the other."""
    page = ROOT / "book" / "which_tool.md"
    names: dict = {}
    for block in re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S):
        exec(compile(block, str(page), "exec"), names)
    assert names["suspect"][200:].mean() > 2 * names["suspect"][:200].mean()
    assert names["listed"].chosen.any() and 0 < names["at_least"] < 1 / 3
    assert (names["scores"] >= names["accepted_always"]).mean() >= 0.9
    assert names["promised"].bound <= 0.05 and 0 <= names["open_set"] <= 1
    assert names["foretold"]["auroc"].value > 0.7 and 0 <= names["aurc"] < 0.1
