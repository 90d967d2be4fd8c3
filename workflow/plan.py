"""From `params/<tier>/<paper>.yaml` to steps: which notebook runs with which parameters.

All parameters are checked here, before the first step runs, except the ranges of an objective's
arguments: that check needs torch, and follows when the training begins.
"""

import argparse
import functools
import json
import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd
import yaml
from step import NETWORK, PART, ROOT, Step

from helpers import cache, data, modules
from helpers.checks import file_name, known_name
from helpers.data.directories import list_images
from helpers.papers import PAPERS, run
from helpers.papers.parameters import Parameters, tiers
from pictures import FAMILIES
from synthesis.chapters import ABOUT_ALL, CHAPTERS, PARAMETERS_OF, load, package_of

#: The notebooks of a chapter, in order; other notebooks are independent, or about all chapters.
CHAPTER = ("dataset", "training", "evaluation", "figures")
_BEFORE = {"training": PART, "evaluation": "training", "figures": "evaluation"}
#: The folder of notebooks that extend the papers and use the parameters of one paper.
BEYOND = "beyond"


def papers(tier: str) -> list[str]:
    """Return the papers that have parameters at a tier."""
    file_name("tier", known_name("tier", tier, tiers(ROOT)))
    return sorted(file.stem for file in (ROOT / "params" / tier).glob("*.yaml"))


def code_cells(notebook: str) -> list[tuple[str, list[str]]]:
    """Return source and tags of a notebook's code cells."""
    cells = json.loads((ROOT / notebook).read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    return [("".join(cell["source"]), cell["metadata"].get("tags", [])) for cell in code]


def declared(notebook: str) -> list[str]:
    """Return the names that a notebook's parameters cell assigns, if there is one."""
    sources = [source for source, tags in code_cells(notebook) if "parameters" in tags]
    if len(sources) > 1:
        raise ValueError(f"{notebook}: one cell tagged 'parameters' expected, got {len(sources)}")
    return re.findall(r"^(\w+)\b.*=", "".join(sources), re.M)


def notebooks_of(paper: str) -> list[str]:
    """Return the names of a paper's notebooks, in reading order."""
    stems = sorted(path.stem for path in (ROOT / "notebooks" / paper).glob("*.ipynb"))
    return sorted(stems, key=[*CHAPTER, *stems].index)


def tables_of(step: Step) -> list[str]:
    """Return the committed results tables that a step may show."""
    papers = {part for name in (step.name, *step.needs) for part in name.split("/")[:2]}
    if any(name in papers for name in CHAPTERS if name not in PAPERS):
        papers = {*CHAPTERS, *PARAMETERS_OF}
    files = [file for name in papers for file in ROOT.glob(f"results/*/{name}*.parquet")]
    return sorted(str(file.relative_to(ROOT)) for file in files)


def packs_of(step: Step) -> list[str]:
    """Return the packs that a step reads, and the files that draw its picture families.

    If a needed data set is missing, the FileNotFoundError names the folders that were searched and
    the remedy.
    """
    download = step.settings.get("download", False)
    missing = missing_of(step)
    needed = [name for name in step.data_sets if name not in missing]
    packs = list(filter(None, [data.locate(name, download=download) for name in needed]))
    drawn = {FAMILIES[name].draw.__module__ for name in step.data_sets if name in FAMILIES}
    files = [f"{name.replace('.', '/')}.py" for name in sorted(drawn | {"pictures.base"})]
    # relative within the repository: a moved clone has nothing to do
    names = [pack.relative_to(ROOT) if pack.is_relative_to(ROOT) else pack for pack in packs]
    return [*map(str, names), *(files if drawn else [])]


def missing_of(step: Step) -> dict[str, str]:
    """Return the missing data sets that a step does not require, with messages."""
    download = step.settings.get("download", False)
    messages = {}
    for name in step.spared:
        try:
            data.locate(name, download=download)
        except FileNotFoundError as error:
            messages[name] = str(error)
    return messages


@functools.cache
def images_of(name: str) -> str:
    """Return a key of the images in the folder of ``folder:PATH``: their names, sizes and times."""
    folder = Path(name.removeprefix("folder:")).expanduser()
    images = list_images(folder) if folder.is_dir() else []
    files = {image: (folder / image).stat() for image in images if (folder / image).exists()}
    return cache.key(**{image: [file.st_size, file.st_mtime_ns] for image, file in files.items()})


def steps_of(tier: str, paper: str) -> list[Step]:
    """Return the checked steps of one paper at one tier.

    A notebook gets the tier, the folder of its results if it has a parameter ``output``, and, if
    it trains, one of the parameters' `trainings`; it reads other values from the parameter file.
    """
    parameters = load(paper, tier, root=ROOT)
    used = tuple(parameters.data_sets_used())
    needed = parameters.data_sets_needed()
    spared = tuple(name for name in used if name not in needed)
    common: dict = {"settings": parameters.model_dump(), "data_sets": used, "spared": spared}
    beyond = [name for name, lender in PARAMETERS_OF.items() if lender == paper]
    before = _BEFORE | dict.fromkeys(beyond, "evaluation")
    steps: dict[str, list[Step]] = {}
    if parameters.finished is None and paper in CHAPTERS:
        steps = jobs_of(parameters, common)
        before["evaluation"] = PART
    for kind in [*notebooks_of(paper), *beyond]:
        folder = BEYOND if kind in beyond else paper
        trains = kind == "training"
        notebook = f"notebooks/{folder}/{kind}.ipynb"
        points = parameters.trainings() if trains else {"": {}}
        if parameters.finished is not None:
            # the networks are there already: the notebook only shows how they have learnt
            points = dict(list(points.items())[:1])
        for point in filter(None, points):
            file_name("training", point)
        steps[kind] = [
            Step(
                name=f"{folder}/{kind}/{point}" if number else f"{folder}/{kind}",
                notebook=notebook,
                parameters=_injected(notebook, parameters, values),
                needs=tuple(step.name for step in steps.get(before.get(kind, ""), [])),
                makes=(f"{paper}/results.parquet",) if kind == "evaluation" else (),
                threads=parameters.training.get("threads", 1) if trains else 1,
                **common,
            )
            for number, (point, values) in enumerate(points.items())
        ]
    return [step for kind in steps for step in steps[kind]]


def jobs_of(parameters: Parameters, common: Mapping) -> dict[str, list[Step]]:
    """Return the steps without notebook: the training of each network, the evaluation of each part.

    A part's evaluation may use any network of the chapter.
    """
    names: dict[tuple[str, str], str] = {}
    steps: dict[str, list[Step]] = {NETWORK: [], PART: []}

    def add(kind: str, needs: Iterable[str], part: str, *network: str) -> str:
        title = re.sub(r"[^\w.+]+", "-", "-".join([part, *network]))
        step = Step(
            name=f"{parameters.paper}/{kind}/{title}",
            notebook="",
            parameters={"tier": parameters.tier, "part": part, "network": "".join(network)},
            needs=tuple(needs),
            threads=parameters.training.get("threads", 1),
            **common,
        )
        steps[kind].append(step)
        return step.name

    parts = run.parts(parameters)
    for part in parts:
        for network in part.networks:
            first = names.get((part.after, network))
            names[part.name, network] = add(NETWORK, filter(None, [first]), part.name, network)
    for part in parts:
        add(PART, names.values(), part.name)
    return steps


def _injected(notebook: str, parameters: Parameters, knobs: Mapping[str, object]) -> dict:
    """Return the values that papermill injects, after a check that the notebook declares them."""
    names = declared(notebook)
    if not names:  # it shows committed results only
        return {}
    values = {"tier": parameters.tier, **knobs}
    for name in values:
        known_name(f"parameter of {notebook}", name, names)
    if "output" in names:
        values["output"] = f"runs/{parameters.tier}/{parameters.paper}"
    return values


def plan(tier: str) -> dict[str, Step]:
    """Return all steps of a tier by name; each names the steps of other papers that it needs."""
    steps = {step.name: step for paper in papers(tier) for step in steps_of(tier, paper)}
    return {
        name: replace(step, needs=(*step.needs, *_of_others(step, steps.values())))
        for name, step in steps.items()
    }


def with_needs(steps: Mapping[str, Step], names: Collection[str]) -> dict[str, Step]:
    """Return some steps of a plan and all steps that they need, in the plan's order."""
    needed = {known_name("step", name, steps) for name in names}
    while more := {need for name in needed for need in steps[name].needs} - needed:
        needed |= more
    return {name: step for name, step in steps.items() if name in needed}


def priorities(steps: Mapping[str, Step]) -> dict[str, int]:
    """Return for each step the length of the longest chain of steps after it.

    Long chains start first, so that no chain runs alone on one core at the end.
    """

    after: dict[str, list[str]] = {name: [] for name in steps}
    for step in steps.values():
        for need in step.needs:
            after[need].append(step.name)

    @functools.cache
    def longest(name: str) -> int:
        return max((1 + longest(name) for name in after[name]), default=0)

    return {name: longest(name) for name in steps}


def for_snakemake(steps: Mapping[str, Step]) -> dict[str, Step]:
    """Return the steps with the files that they read, their priority and their resources."""
    priority = priorities(steps)
    anew = os.environ.get("TRAINING") == "anew"
    ready = {}
    for name, step in steps.items():
        # the step runs again when a set appears or disappears, when images in a folder change, and
        # when networks are trained in spite of finished ones
        causes: dict = {"missing": [*missing_of(step)], "anew": anew}
        causes |= {name: images_of(name) for name in step.data_sets if name.startswith("folder:")}
        ready[name] = replace(
            step,
            reads=(*code_of(step), *packs_of(step), *tables_of(step)),
            settings=step.settings | causes,
            priority=priority[name],
            resources=resources_of(step),
        )
    return ready


def needs_of(step: Step) -> dict:
    """Return the values of ``resources.yaml`` for a step; `hours` is a number."""
    table = _resources()
    values = table[known_name("tier of workflow/resources.yaml", step.settings["tier"], table)]
    chapter = step.name.partition("/")[0]
    for name in (step.kind, chapter, f"{chapter}/{step.kind}"):
        values = values | values.get(name, {})
    hours = values["hours"]
    if isinstance(hours, dict):
        words = re.split("[/-]", step.name)
        hours = [hours[word] for word in hours if word in words][-1]
    return values | {"hours": hours}


@functools.cache
def _resources() -> dict[str, dict]:
    return yaml.safe_load((ROOT / "workflow" / "resources.yaml").read_text(encoding="utf-8"))


def resources_of(step: Step) -> dict[str, int]:
    """Return a step's cluster resources, by the names that Snakemake's executors know."""
    values = needs_of(step)
    cpus = max(values["cpus"], step.settings.get("training", {}).get("threads", 1))
    gpu = values["gpu"] if step.uses_networks else 0
    return {"gpu": gpu, "cpus_per_task": cpus} | {key: values[key] for key in ("mem_mb", "runtime")}


def overview(steps: Iterable[Step]) -> pd.DataFrame:
    """Return the number of jobs, their hours and their resources, by chapter and kind."""
    rows = []
    for step in steps:
        resources = resources_of(step)
        hours = needs_of(step)["hours"]
        rows.append(
            {
                "chapter": step.name.partition("/")[0],
                "kind": step.kind if step.kind in (NETWORK, PART) else "notebook",
                "jobs": 1,
                "longest, hours": hours,
                "GPU hours": hours * resources["gpu"],
                "requested hours": resources["runtime"] / 60,
                "CPUs": resources["cpus_per_task"],
                "memory, GB": resources["mem_mb"] / 1000,
            }
        )
    groups = pd.DataFrame(rows).groupby(["chapter", "kind"], sort=False)
    return groups.max().assign(**groups[["jobs", "GPU hours"]].sum())


def _of_others(step: Step, steps: Iterable[Step]) -> list[str]:
    """Return the names of the steps of other papers that a step waits for."""
    paper, kind = step.name.split("/")[:2]
    if kind in ABOUT_ALL:
        return [each.name for each in steps if each.makes and not each.name.startswith(f"{paper}/")]
    lender = CHAPTERS[paper].networks_of if paper in CHAPTERS else ""
    if step.needs or not lender:
        return []
    return [each.name for each in steps if each.trains and each.name.startswith(f"{lender}/")]


@functools.cache
def code_of_jobs(paper: str) -> list[str]:
    """Return the files of `helpers` that the jobs of a chapter need."""
    names = [f"{package_of(paper)}.{module}" for module in ("parameters", "experiment")]
    return sorted(str(file.relative_to(ROOT)) for file in modules.files("", *names))


def code_of(step: Step) -> list[str]:
    """Return the files of `helpers` that a step needs, directly or not, by its imports.

    A change of a module reruns only the steps that use it.
    """
    notebook = step.notebook
    if not notebook:
        return code_of_jobs(step.name.partition("/")[0])
    source = "\n".join(source for source, _ in code_cells(notebook))
    # a paper's record finds its modules by their names, so no import shows them
    uses_driver = re.search(r"papers(\.| import )run\b", source)
    parts = ["parameters", *(["experiment"] if uses_driver else [])]
    folder = Path(notebook).parent.name
    stem = Path(notebook).stem
    of_papers = [PARAMETERS_OF[stem], stem] if folder == BEYOND else [folder]
    if stem in ABOUT_ALL:
        parts = ["parameters", "tables"]
        of_papers = list(CHAPTERS)
    names = [f"{package_of(paper)}.{module}" for paper in of_papers for module in parts]
    if stem in ABOUT_ALL:
        names += [f"synthesis.claims.{paper}" for paper in PAPERS]
    return sorted(str(file.relative_to(ROOT)) for file in modules.files(source, *names))


def main() -> None:
    """Print the number of jobs of a tier, their hours and their resources on a cluster."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--tier", default="mini", choices=tiers(ROOT))
    table = overview(plan(parser.parse_args().tier).values())
    print(table.round(1).to_string())
    print(
        f"\n{table['jobs'].sum()} jobs, about {table['GPU hours'].sum():,.0f} GPU hours (estimates)"
    )


if __name__ == "__main__":
    main()
