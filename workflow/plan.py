"""From `params/<tier>/<paper>.yaml` to steps: which notebook runs with which parameters.

Everything that can be wrong with the parameters is found here, before anything runs.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import yaml
from step import ROOT, Step

from helpers import data, scores
from helpers.checks import check_parameters, fields_of, known_name
from helpers.files import data_root
from helpers.labelfree import EVALUATORS
from helpers.networks.recipe import Recipe
from helpers.papers.uimnet.experiment import algorithms_of
from helpers.syntax import Package

CHAPTER = ("dataset", "training", "evaluation", "figures")
"""The notebooks of a chapter, in order; others stand on their own, or are about all chapters."""
ABOUT_ALL = ("ledger", "published")
"""Notebooks that read the results of all papers."""
NETWORKS_OF = {"synthesis": "unknown_detection", "audit": "unknown_detection"}
"""Whose networks a paper takes from the cache, rather than training them a second time."""


def tiers() -> list[str]:
    """Return the tiers that have parameters."""
    return sorted(folder.name for folder in (ROOT / "params").iterdir() if folder.is_dir())


def papers(tier: str) -> list[str]:
    """Return the papers that have parameters at a tier."""
    known_name("tier", tier, tiers())
    return sorted(file.stem for file in (ROOT / "params" / tier).glob("*.yaml"))


def code_cells(notebook: str) -> list[tuple[str, list[str]]]:
    """Return source and tags of a notebook's code cells."""
    cells = json.loads((ROOT / notebook).read_text(encoding="utf-8"))["cells"]
    return [
        ("".join(cell["source"]), cell["metadata"].get("tags", []))
        for cell in cells
        if cell["cell_type"] == "code"
    ]


@cache
def declared(notebook: str) -> dict:
    """Return the namespace that a notebook's parameters cell makes: defaults and annotations."""
    sources = [source for source, tags in code_cells(notebook) if "parameters" in tags]
    if len(sources) != 1:
        raise ValueError(f"{notebook}: one cell tagged 'parameters' expected, got {len(sources)}")
    namespace: dict = {"__annotations__": {}}
    # our own notebook, and literals only; without this module's lazy annotations
    exec(compile(sources[0], notebook, "exec", dont_inherit=True), namespace)
    return {name: value for name, value in namespace.items() if name != "__builtins__"}


def data_sets_of(parameters: dict) -> list[str]:
    """Return the names of the data sets that a notebook is told to use."""
    one = [parameters.get(name, "") for name in ("data_set", "resized")]
    lists = (
        "data_sets", "external", "far", "aside", "input_shifted", "corrupted", "label_shifted",
        "sets", "outliers", "other_data_sets", "families",
    )  # fmt: skip
    several = [name for role in lists for name in parameters.get(role, [])]
    return list(dict.fromkeys([*filter(None, one), *several]))


def tables_of(step: Step) -> list[str]:
    """Return the committed results tables that a step shows: of all papers that it reads."""
    read = dict.fromkeys(name.partition("/")[0] for name in (step.name, *step.needs))
    tiers = step.parameters.get("larger_tiers", [])
    files = [ROOT / "results" / tier / f"{paper}.parquet" for tier in tiers for paper in read]
    return [str(file.relative_to(ROOT)) for file in files if file.exists()]


def packs_of(step: Step) -> list[str]:
    """Return the packs that a step reads.

    Raises
    ------
    FileNotFoundError
        One is missing; the message says where it was looked for and which command makes it.
    """
    download = step.parameters.get("download", False)
    names = data_sets_of(step.parameters)
    if step.parameters.get("packs"):  # it takes every one that is there
        names += [name for name in data.names() if (data_root() / f"{name}.zip").is_file()]
    found = [data.locate(name, download=download) for name in dict.fromkeys(names)]
    return [str(pack) for pack in found if pack is not None]


def check(notebook: str, parameters: dict, where: str) -> None:
    """Refuse parameters that the notebook does not have, or of the wrong type or value."""
    try:
        check_parameters(declared(notebook) | parameters)
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
        module = f"helpers.papers.{Path(notebook).parent.name}"
        benchmark = import_module(module) if find_spec(module) else None  # an audit has none
        if benchmark:
            benchmark.Protocol(**fields_of(benchmark.Protocol, parameters))
        for setting in parameters.get("settings", []):
            known_name("setting", setting, benchmark.SETTINGS)
        for method in [*parameters.get("methods", []), *parameters.get("method_recipes", {})]:
            known_name("method", method, benchmark.METHODS)
        for algorithm in parameters.get("algorithms", {}):
            known_name("algorithm", algorithm, benchmark.ALGORITHMS)
        for measure in parameters.get("measures", []):
            known_name("measure", measure, benchmark.MEASURES)
        for detector in parameters.get("detectors", []):
            known_name("detector", detector, scores.names())
        for evaluator in parameters.get("evaluators", []):
            known_name("evaluator", evaluator, EVALUATORS)
        if "search" in parameters:
            algorithms_of(declared(notebook) | parameters)
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
    file = ROOT / "params" / tier / f"{paper}.yaml"
    sections = yaml.safe_load(file.read_text(encoding="utf-8"))
    found = {notebook.stem for notebook in (ROOT / "notebooks" / paper).glob("*.ipynb")}
    known = [*(kind for kind in CHAPTER if kind in found), *sorted(found - set(CHAPTER))]
    wanted = [*known, "grid", "split"] if "training" in known else known
    for section in sections:
        known_name(f"section of {file.relative_to(ROOT)}", section, wanted)
    missing = set(wanted) - set(sections)
    if missing:
        raise ValueError(f"{file.relative_to(ROOT)}: no section {', '.join(sorted(missing))}")

    def step(kind: str, parameters: dict, needs: Iterable[str] = (), point: str = "") -> Step:
        notebook = f"notebooks/{paper}/{kind}.ipynb"
        name = "/".join(filter(None, [paper, kind, point]))
        check(notebook, parameters, f"params/{tier}/{paper}.yaml, {name}")
        threads = parameters.get("threads", declared(notebook).get("threads", 1))
        makes = (f"{paper}/results.parquet",) if kind == "evaluation" else ()
        return Step(name, notebook, parameters, tuple(needs), makes, threads)

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


def plan(tier: str) -> dict[str, Step]:
    """Return all steps of a tier by name, each after those of other papers that it builds on."""
    steps = {step.name: step for paper in papers(tier) for step in steps_of(tier, paper)}
    return {
        name: replace(step, needs=(*step.needs, *_of_others(step, steps.values())))
        for name, step in steps.items()
    }


def priorities(steps: Mapping[str, Step]) -> dict[str, int]:
    """Return of each step how many come after it, one by one, on the longest way to the end.

    Those with the longest way go first, lest the last of them run alone on one core.
    """
    found = dict.fromkeys(steps, 0)
    for _ in steps:  # no way has more steps than there are
        for step in steps.values():
            for name in step.needs:
                found[name] = max(found[name], found[step.name] + 1)
    return found


def for_snakemake(steps: Mapping[str, Step]) -> dict[str, Step]:
    """Return the steps with what decides when each runs: the files that it reads, its priority.

    Raises
    ------
    FileNotFoundError
        A pack is missing, as in `packs_of`.
    """
    priority = priorities(steps)
    return {
        name: replace(
            step,
            reads=(*code_of(step.notebook), *packs_of(step), *tables_of(step)),
            priority=priority[name],
        )
        for name, step in steps.items()
    }


def _of_others(step: Step, steps: Iterable[Step]) -> list[str]:
    """Return the names of the steps of other papers that a step waits for."""
    paper, kind = step.name.split("/")[:2]
    if kind in ABOUT_ALL:
        return [one.name for one in steps if one.makes and not one.name.startswith(f"{paper}/")]
    if not step.needs and paper in NETWORKS_OF:
        lender = f"{NETWORKS_OF[paper]}/"
        return [one.name for one in steps if one.trains and one.name.startswith(lender)]
    return []


def code_of(notebook: str) -> list[str]:
    """Return the files of `helpers` that a notebook needs, directly or not.

    Read from the names in their syntax trees, so that a change of a module reruns the notebooks
    that use it and no others.
    """
    source = "\n".join(source for source, _ in code_cells(notebook))
    return sorted(str(file.relative_to(ROOT)) for file in _package(ROOT).files(source))


@cache
def _package(root: Path) -> Package:
    return Package(root / "helpers")
