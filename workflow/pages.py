"""The reference pages of the book: templates filled from the package's records."""

import json
import pkgutil
from pathlib import Path

import pandas as pd

import helpers
import known_unknowns
import synthesis
from helpers import data, metrics, scores
from helpers.networks import zoo_records
from helpers.scores import calibration, openset
from helpers.scores.info import Info
from helpers.tables import results
from synthesis.chapters import CHAPTERS
from synthesis.rendering import read_templates

ROOT = Path(__file__).resolve().parent.parent
TEMPLATES = read_templates(ROOT / "workflow" / "templates")


def render(template: str, **values) -> str:
    """Return a template of ``workflow/templates`` with these values."""
    return TEMPLATES.get_template(template).render(values)


def reference() -> dict[str, str]:
    """Return every generated page, as Markdown, by its name."""
    records = zoo_records.records().values()
    return {
        "methods": render("methods.md", **infos()),
        "metrics": render("metrics.md", records=metrics.RECORDS, papers=CHAPTERS.values()),
        "data_sets": render("data_sets.md", cards=data.cards(), records=records),
        "api": api(),
    }


def infos() -> dict[str, list[Info]]:
    """Return the records of the scores, and of calibration and open-set answers."""
    values = [value for module in (calibration, openset) for value in vars(module).values()]
    return {
        "scores": [scores.create(name).info for name in scores.names()],
        "others": [value for value in values if isinstance(value, Info)],
    }


def speed() -> str:
    """Return the tables of the benchmarks, from ``benchmarks/results``, for the page on quality."""
    stored = ROOT / "benchmarks" / "results"
    tables = [pd.read_parquet(stored / f"{name}.parquet") for name in ("peers", "training")]
    budgets = pd.read_parquet(stored / "pipeline.parquet")["seconds"].round().astype(int)
    return render("speed.md", rows=pd.concat(tables).to_dict("records"), budgets=budgets.to_dict())


def api() -> str:
    """Return the API reference: every public module, in alphabetical order."""
    names = [
        module.name
        for package in (helpers, known_unknowns, synthesis)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if "._" not in module.name and not module.name.endswith("__main__")
    ]
    return render("api.md", names=sorted([*names, "known_unknowns", "synthesis"]))


def reproducibility(runs: Path, tier: str, downloads: Path) -> str:
    """Return the provenance, for the page on quality, and write the results table it offers."""
    files = sorted(runs.rglob("results.parquet"))
    if not files and runs.resolve() != ROOT / "notebooks":
        raise FileNotFoundError(f"{runs}: no results.parquet in it; first: make run TIER={tier}")
    others = [file for file in (ROOT / "results").glob("*/*.parquet") if file.parent.name != tier]
    wanted = ["tier", "code", "device", "versions"]
    table = pd.concat(pd.read_parquet(file, columns=wanted) for file in [*files, *sorted(others)])
    if files:
        results.join(files, downloads / f"results_{tier}.parquet")
    origins = table.groupby(wanted, sort=False).size()
    values = {"origins": origins.items(), "has_tables": bool(files), "loads": json.loads}
    values |= {"tier": tier, "count": len(table)}
    return render("reproducibility.md", **values)
