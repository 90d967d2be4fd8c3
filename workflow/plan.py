"""From `params/<tier>/<paper>.yaml` to steps: which notebook runs with which parameters.

What is wrong with the parameters is found here, before anything runs.  Only the ranges of an
objective's own arguments are checked later, when its training begins: that needs torch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import yaml
from step import ROOT, Step

from helpers import data
from helpers.checks import known_name
from helpers.data.features import Backbone
from helpers.networks import published, timm_weights
from helpers.papers.parameters import Parameters, tiers
from helpers.syntax import Package
from known_unknowns.chapters import CHAPTERS, PARAMETERS_OF, load, package_of
from pictures import FAMILIES

CHAPTER = ("dataset", "training", "evaluation", "figures")
"""The notebooks of a chapter, in order; others stand on their own, or are about all chapters."""
_BEFORE = {
    "evaluation": "training",
    "figures": "evaluation",
}  # what leaves in the cache what a notebook takes from it
BEYOND = "beyond"
"""The folder of notebooks that go beyond the papers and take the parameters of one."""
ABOUT_ALL = tuple(kind for paper in CHAPTERS.values() for kind in paper.about_all)
"""Notebooks that read the results of all papers."""
NETWORKS_OF = {paper.name: paper.networks_of for paper in CHAPTERS.values() if paper.networks_of}
"""Whose networks a paper takes from the cache, rather than training them a second time."""


def papers(tier: str) -> list[str]:
    """Return the papers that have parameters at a tier."""
    known_name("tier", tier, tiers(ROOT))
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


def tables_of(step: Step) -> list[str]:
    """Return the committed results tables that a step may show: of all papers that it is about."""
    names = [name.split("/") for name in (step.name, *step.needs)]
    read = dict.fromkeys([paper for paper, *_ in names])
    read |= dict.fromkeys([kind for _, kind, *_ in names if kind in PARAMETERS_OF])
    if any(paper in CHAPTERS and not CHAPTERS[paper].main_claim for paper in read):
        read |= CHAPTERS | PARAMETERS_OF
    files = [file for paper in read for file in sorted(ROOT.glob(f"results/*/{paper}.parquet"))]
    return [str(file.relative_to(ROOT)) for file in files]


def packs_of(step: Step) -> list[str]:
    """Return the packs that a step reads, and the files that draw its families.

    Raises
    ------
    FileNotFoundError
        One that it cannot do without is missing, or there are neither features nor weights of a
        frozen network; the message says where it was looked for, and the remedy.
    """
    for frozen in step.settings.get("features", {}).values():
        backbone = Backbone(**frozen)
        if not [*backbone.folder.glob("*.safetensors")]:
            if backbone.network in published.records():
                published.find(backbone.network).locate()
            else:
                timm_weights.locate(backbone.network, None, download=False)
    download, missing = step.settings.get("download", False), missing_of(step)
    found = [data.locate(name, download=download) for name in step.data_sets if name not in missing]
    drawn = {FAMILIES[name].draw.__module__ for name in step.data_sets if name in FAMILIES}
    modules = sorted(drawn | {"pictures.base"}) if drawn else []
    return [
        *(str(pack) for pack in found if pack is not None),
        *(f"{module.replace('.', '/')}.py" for module in modules),
    ]


def missing_of(step: Step) -> dict[str, str]:
    """Return the data sets that are not at hand, of those that a step can do without, and why.

    Raises
    ------
    ValueError
        There is no data set of that name.
    """
    download, found = step.settings.get("download", False), {}
    for name in step.spared:
        try:
            data.locate(name, download=download)
        except FileNotFoundError as error:
            found[name] = str(error)
    return found


def steps_of(tier: str, paper: str) -> list[Step]:
    """Return the steps of one paper at one tier, checked.

    A notebook is told the tier, where its results go if it asks for ``output``, and, if it trains,
    one of the parameters' `trainings`; all else it reads from the parameter file.
    """
    parameters = load(paper, tier, root=ROOT)
    used, needed = tuple(parameters.data_sets_used()), parameters.data_sets_needed()
    settings, spared = parameters.model_dump(), tuple(one for one in used if one not in needed)
    found = {notebook.stem for notebook in (ROOT / "notebooks" / paper).glob("*.ipynb")}
    steps: dict[str, list[Step]] = {}
    for kind in [*(kind for kind in CHAPTER if kind in found), *sorted(found - set(CHAPTER))]:
        notebook, trains = f"notebooks/{paper}/{kind}.ipynb", kind == "training"
        knobs = parameters.trainings() if trains else {"": {}}
        before = _BEFORE.get(kind, "")
        steps[kind] = [
            Step(
                name="/".join([paper, kind, *([point] if place else [])]),
                notebook=notebook,
                parameters=_told(notebook, parameters, own),
                needs=tuple(step.name for step in steps.get(before, [])),
                makes=(f"{paper}/results.parquet",) if kind == "evaluation" else (),
                threads=parameters.training.get("threads", 1) if trains else 1,
                settings=settings,
                data_sets=used,
                spared=spared,
            )
            for place, (point, own) in enumerate(knobs.items())
        ]
    for name in [name for name, lender in PARAMETERS_OF.items() if lender == paper]:
        notebook = f"notebooks/{BEYOND}/{name}.ipynb"
        steps[name] = [
            Step(
                name=f"{BEYOND}/{name}",
                notebook=notebook,
                parameters=_told(notebook, parameters, {}),
                needs=tuple(step.name for step in steps.get("evaluation", [])),
                settings=settings,
                data_sets=used,
                spared=spared,
            )
        ]
    return [step for kind in steps for step in steps[kind]]


def _told(notebook: str, parameters: Parameters, knobs: Mapping[str, object]) -> dict:
    """Return what papermill injects, after a look at whether the notebook knows it."""
    names = declared(notebook)
    told = {"tier": parameters.tier, **knobs}
    for name in told:
        known_name(f"parameter of {notebook}", name, names)
    output = {"output": f"runs/{parameters.tier}/{parameters.paper}"}
    return told | (output if "output" in names else {})


def plan(tier: str) -> dict[str, Step]:
    """Return all steps of a tier by name, each after those of other papers that it builds on."""
    steps = {step.name: step for paper in papers(tier) for step in steps_of(tier, paper)}
    return {
        name: replace(step, needs=(*step.needs, *_of_others(step, steps.values())))
        for name, step in steps.items()
    }


def with_needs(steps: Mapping[str, Step], names: Collection[str]) -> dict[str, Step]:
    """Return some steps of a plan and all that they need, in the plan's order."""
    found, asked = set(), [known_name("step", name, steps) for name in names]
    while asked:  # a step may stand before those of another paper that it needs
        if (name := asked.pop()) not in found:
            found.add(name)
            asked += steps[name].needs
    return {name: step for name, step in steps.items() if name in found}


def priorities(steps: Mapping[str, Step]) -> dict[str, int]:
    """Return of each step how many come after it, one by one, on the longest way to the end.

    Those with the longest way go first, so that none of them runs alone on one core at the end.
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
            # a folder is none of the files that it reads: it runs again when one comes or goes
            settings=step.settings
            | ({"missing": [*missing]} if (missing := missing_of(step)) else {}),
            priority=priority[name],
            resources=resources_of(step),
        )
        for name, step in steps.items()
    }


def resources_of(step: Step) -> dict[str, int]:
    """Return what a step asks a cluster for, by the names that Snakemake's executors know.

    Raises
    ------
    ValueError
        `workflow/resources.yaml` has no such tier.
    """
    tiers_of = yaml.safe_load((ROOT / "workflow" / "resources.yaml").read_text(encoding="utf-8"))
    tier, paper = step.parameters["tier"], step.name.partition("/")[0]
    own = tiers_of[known_name("tier of workflow/resources.yaml", tier, tiers_of)]
    own |= own.get(paper, {})
    threads = step.settings.get("training", {}).get("threads", 1)
    return {
        "gpu": own["gpu"] if step.asks else 0,
        "cpus_per_task": max(own["cpus"], threads),
        "mem_mb": own["mem_mb"],
        "runtime": own["runtime"],
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
    # a paper's record finds its modules by their names, so that no tree shows who uses them
    modules = {"parameters"} | (
        {"experiment"} if re.search(r"papers(\.| import )run\b", source) else set()
    )
    folder, stem = Path(notebook).parent.name, Path(notebook).stem
    of_papers = [PARAMETERS_OF[stem], stem] if folder == BEYOND else [folder]
    if Path(notebook).stem in ABOUT_ALL:
        modules, of_papers = {"parameters", "claims", "tables"}, list(CHAPTERS)
    names = (f"{package_of(paper)}.{module}" for paper in of_papers for module in modules)
    files = _package(ROOT).files(source, *names)
    return sorted(str(file.relative_to(ROOT)) for file in files)


@cache
def _package(root: Path) -> Package:
    return Package(root / "helpers", root / "known_unknowns")
