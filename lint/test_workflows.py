"""The workflows of GitHub: their keys, jobs, expressions and commands.

`actionlint` needs a program that the package index does not have, so a schema and the checks below
find the mistakes that it finds in files as simple as ours.
"""

import copy
import re

import jsonschema
import pytest
import yaml

from lint.reading import ROOT, name_of

SCHEMA = yaml.safe_load((ROOT / "lint" / "workflow.yaml").read_text("utf-8"))
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
BOOK = "runs/mini/book/_build/html"


def read(path):
    """Return a workflow; YAML 1.1 reads the key ``on`` as true."""
    workflow = yaml.safe_load(path.read_text("utf-8"))
    workflow["on"] = workflow.pop(True)
    return workflow


def mistakes(workflow):
    """Return a line for each mistake of a workflow."""
    found_by_schema = jsonschema.Draft202012Validator(SCHEMA).iter_errors(workflow)
    lines = [f"{error.json_path}: {error.message}" for error in found_by_schema]
    for name, job in workflow["jobs"].items():
        if (needed := job.get("needs", name)) not in workflow["jobs"]:
            lines.append(f"{name} needs the unknown job {needed}")
        steps = {step.get("id") for step in job.get("steps", [])}
        matrix = job.get("strategy", {}).get("matrix", {})
        known = {*(f"matrix.{key}" for key in matrix), "github.workflow", "github.ref"}
        for expression in re.findall(r"\$\{\{\s*(.*?)\s*\}\}", yaml.safe_dump(job)):
            step = re.fullmatch(r"steps\.(\w+)\.outputs\.\w+", expression)
            if expression not in known and not (step and step[1] in steps):
                lines.append(f"{name}: unknown expression {expression}")
    return lines


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_workflow_has_no_mistake(path):
    assert not mistakes(read(path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda jobs: jobs["deploy"].update(need="build"), "'need' was unexpected"),
        (lambda jobs: jobs["deploy"].update(needs="biuld"), "unknown job biuld"),
        (lambda jobs: jobs["build"].pop("timeout-minutes"), "'timeout-minutes' is a required"),
        (lambda jobs: jobs["build"]["steps"][0].update(uses="actions/checkout@v4"), "not match"),
        (lambda jobs: jobs["deploy"]["steps"][0].update(id="other"), "unknown expression steps."),
    ],
)
def test_a_mistake_is_named(change, message):
    workflow = copy.deepcopy(read(ROOT / ".github" / "workflows" / "pages.yml"))
    change(workflow["jobs"])
    assert message in "\n".join(mistakes(workflow))


def test_the_site_is_the_preview_of_the_readme():
    """With the same command, from the folder that the command writes."""
    steps = read(ROOT / ".github" / "workflows" / "pages.yml")["jobs"]["build"]["steps"]
    assert [step["run"] for step in steps if "run" in step] == ["make preview"]
    assert steps[-1]["with"]["path"] == BOOK
    readme = (ROOT / "README.md").read_text("utf-8")
    assert "\nmake preview " in readme
    assert len(readme.split()) <= 900
    site = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["html"]["baseurl"]
    links = re.findall(rf"{re.escape(site)}/?([^)#]*)", readme)
    assert len(links) > 10
    for link in filter(None, links):
        page = ROOT / link.removesuffix(".html")
        assert page.with_suffix(".md").exists() or page.with_suffix(".ipynb").exists(), link
    assert site in readme[:500]
