"""Parameter files in sections: one for each notebook, and ``grid`` and ``split``.

Of the papers that have no `Parameters` yet; this file, and the branch of `plan.steps_of` and of
`sweep.main` that calls it, go with the last of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import plan
import yaml
from step import Step

from helpers import data, scores
from helpers.checks import check_parameters, fields_of, known_name
from helpers.files import data_root
from helpers.labelfree import EVALUATORS
from helpers.networks.recipe import Recipe
from helpers.papers.parameters import home


def converted(paper: str) -> bool:
    """Tell whether a paper has `Parameters`."""
    return find_spec(f"{home(paper)}.parameters") is not None


def data_sets_of(parameters: dict) -> list[str]:
    """Return the names of the data sets that a notebook is told to use."""
    one = [parameters.get(name, "") for name in ("data_set", "resized")]
    lists = (
        "data_sets", "external", "far", "aside", "input_shifted", "corrupted", "label_shifted",
        "sets", "outliers", "other_data_sets", "families",
    )  # fmt: skip
    several = [name for role in lists for name in parameters.get(role, [])]
    if parameters.get("packs"):  # it takes every one that is there
        several += [name for name in data.names() if (data_root() / f"{name}.zip").is_file()]
    return list(dict.fromkeys([*filter(None, one), *several]))


def check(notebook: str, parameters: dict, where: str) -> None:
    """Refuse parameters that the notebook does not have, or of the wrong type or value."""
    try:
        check_parameters(plan.declared(notebook) | parameters)
        for name in data_sets_of(parameters):
            if not name.startswith("folder:"):
                known_name("data set", name, data.names())
        common = fields_of(Recipe, parameters) | parameters.get("training", {})
        kinds = ("networks", "method_recipes", "models", "sizes", "algorithms")
        tables = [parameters.get(kind, {}) for kind in kinds]
        variants = [  # in one paper `sizes` are networks, in another numbers of images
            changed for table in tables if isinstance(table, dict) for changed in table.values()
        ]
        for changed in ({}, *variants):
            Recipe.from_parameters(common | changed)
        folder = f"helpers.papers.{Path(notebook).parent.name}"
        benchmark = None  # of an audit
        if find_spec(folder):
            module = "protocol" if find_spec(f"{folder}.protocol") else "roles"
            benchmark = import_module(f"{folder}.{module}")
        if benchmark:
            benchmark.Protocol(**fields_of(benchmark.Protocol, parameters))
        for setting in parameters.get("settings", []):
            known_name("setting", setting, benchmark.SETTINGS)
        for method in [*parameters.get("methods", []), *parameters.get("method_recipes", {})]:
            known_name("method", method, benchmark.METHODS)
        for detector in parameters.get("detectors", []):
            known_name("detector", detector, scores.names())
        for evaluator in parameters.get("evaluators", []):
            known_name("evaluator", evaluator, EVALUATORS)
        for method, arguments in parameters.get("score_arguments", {}).items():
            scores.create(method, **arguments)
        if parameters.get("runs", 1) < 1:
            raise ValueError(f"runs: at least 1 expected, got {parameters['runs']}")
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def steps_of(tier: str, paper: str) -> list[Step]:
    """Return the steps of one paper at one tier, checked.

    The file has a section per notebook; where networks are trained also ``split``, what all of
    the training shares with other notebooks, and ``grid``: the product of its ``data_sets``,
    ``networks`` and ``runs``, as far as it has them, and what is the same for all of these.
    """
    file = plan.ROOT / "params" / tier / f"{paper}.yaml"
    sections = yaml.safe_load(file.read_text(encoding="utf-8"))
    found = {notebook.stem for notebook in (plan.ROOT / "notebooks" / paper).glob("*.ipynb")}
    known = [*(kind for kind in plan.CHAPTER if kind in found), *sorted(found - set(plan.CHAPTER))]
    wanted = [*known, "grid", "split"] if "training" in known else known
    for section in sections:
        known_name(f"section of {file.relative_to(plan.ROOT)}", section, wanted)
    missing = set(wanted) - set(sections)
    if missing:
        raise ValueError(f"{file.relative_to(plan.ROOT)}: no section {', '.join(sorted(missing))}")

    def step(kind: str, parameters: dict, needs: Iterable[str] = (), point: str = "") -> Step:
        notebook = f"notebooks/{paper}/{kind}.ipynb"
        name = "/".join(filter(None, [paper, kind, point]))
        check(notebook, parameters, f"params/{tier}/{paper}.yaml, {name}")
        threads = parameters.get("threads", plan.declared(notebook).get("threads", 1))
        makes = (f"{paper}/results.parquet",) if kind == "evaluation" else ()
        used = tuple(data_sets_of(parameters))
        return Step(name, notebook, parameters, tuple(needs), makes, threads, data_sets=used)

    points = _points(sections) if "training" in known else {}
    steps = {"training": [step("training", one, point=point) for point, one in points.items()]}
    before = {"evaluation": "training", "figures": "evaluation"}
    for kind in known:
        if kind != "training":
            needs = [one.name for one in steps.get(before.get(kind), [])]
            steps[kind] = [step(kind, sections[kind], needs)]
    return [one for kind in known for one in steps[kind]]


def _points(sections: dict) -> dict[str, dict]:
    """Return what each training is told, by its name; the first, the book's page, has none."""
    grid = dict(sections["grid"])
    data_sets = [{"data_set": name} for name in grid.pop("data_sets", [])]
    networks = [{"network": name} | recipe for name, recipe in grid.pop("networks").items()]
    runs = [{"run": run} for run in range(grid.pop("runs"))]
    found: dict[str, dict] = {}
    for data_set, network, run in itertools.product(data_sets or [{}], networks, runs):
        name = "-".join(map(str, [*data_set.values(), network["network"], run["run"]]))
        parameters = sections["training"] | network | sections["split"] | grid | data_set | run
        found[name if found else ""] = parameters
    return found
