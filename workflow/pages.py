"""The reference pages of the book: templates filled from the package's records."""

from __future__ import annotations

import base64
import gzip
import io
import json
import pkgutil
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pyarrow import csv

import helpers
import helpers.data
import helpers.metrics
import helpers.report.results
import helpers.scores
import known_unknowns
from helpers.report.table import markdown_table
from helpers.scores import calibration, openset
from helpers.scores.info import Info
from known_unknowns.chapters import CHAPTERS

if TYPE_CHECKING:
    from helpers.networks.published import Published

ROOT = Path(__file__).resolve().parent.parent
LEVEL = 6  # of compression: 9 takes twice the time for a few hundredths of the size
TABS = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
TEMPLATES = Environment(
    loader=FileSystemLoader(ROOT / "workflow" / "templates"),
    trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined,
)  # fmt: skip


def render(template: str, **values) -> str:
    """Return a template of ``workflow/templates``, filled."""
    return TEMPLATES.get_template(template).render(values)


def reference(runs: Path, tier: str, downloads: Path) -> dict[str, str]:
    """Return every generated page, as Markdown, by its name; write downloads into a folder."""
    return {
        "methods": methods(),
        "metrics": metrics(),
        "data_sets": data_sets(),
        "networks": networks(),
        "reproducibility": reproducibility(runs, tier, downloads),
        **api(),
        "speed": speed(),
    }


def infos() -> list[Info]:
    """Return the records of all methods: the scores, then calibration and open-set answers."""
    values = [value for module in (calibration, openset) for value in vars(module).values()]
    scores = [helpers.scores.create(name).info for name in helpers.scores.names()]
    return scores + [value for value in values if isinstance(value, Info)]


def methods() -> str:
    """Return the page of scores, calibration and open-set answers."""
    count = len(helpers.scores.names())
    return render("methods.md", scores=infos()[:count], others=infos()[count:])


def reported_for(metric: str) -> list[str]:
    """Return the papers that report a metric, as code."""
    return [f"`{name}`" for name, paper in CHAPTERS.items() if metric in paper.metrics]


def metrics() -> str:
    """Return the page of metrics."""
    return render("metrics.md", records=helpers.metrics.RECORDS, reported_for=reported_for)


def data_sets() -> str:
    """Return the page of data sets."""
    return render("data_sets.md", cards=helpers.data.cards())


def networks() -> str:
    """Return the page of published networks."""
    from helpers.networks import published

    groups = groupby(published.records().values(), key=lambda record: record.author)
    return render("networks.md", groups=[(author, [*records]) for author, records in groups])


def normalisation(record: Published) -> str:
    """Return mean and standard deviation of the pixels of a network's images, in words."""
    mean, std = (", ".join(f"{x:.4f}" for x in values) for values in (record.mean, record.std))
    return f"{record.data_set}: mean {mean}, standard deviation {std}"


TEMPLATES.filters["normalisation"] = normalisation


def speed() -> str:
    """Return the page of the benchmarks, from ``benchmarks/results``."""
    stored = ROOT / "benchmarks" / "results"
    tables = [pd.read_parquet(stored / f"{name}.parquet") for name in ("peers", "training")]
    rows = pd.concat(tables, ignore_index=True)
    rows["times as fast"] = [
        f"{row.ratio:.2f} ({row.low:.2f}–{row.high:.2f})" for row in rows.itertuples()
    ]
    shown = rows[["work", "size", "peer", "times as fast"]]
    table = markdown_table(shown.columns, shown.itertuples(index=False))
    machine, versions = rows["machine"].iloc[0], rows["versions"].iloc[0]
    return render("speed.md", table=table, machine=machine, versions=versions)


ON_A_PAGE = ("networks", "papers", "report", "training")
"""The packages of `helpers` on a second page: one page would be too heavy."""


def api() -> dict[str, str]:
    """Return the API reference in three pages: every public module, in alphabetical order."""
    names = {
        package.__name__: [
            module.name
            for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
            if "._" not in module.name and not module.name.endswith("__main__")
        ]
        for package in (helpers, known_unknowns)
    }
    apart = [name for name in names["helpers"] if name.split(".")[1] in ON_A_PAGE]
    core = [name for name in names["helpers"] if name not in apart]
    packages = ", ".join(f"`helpers.{package}`" for package in ON_A_PAGE)
    first = (
        "Each function and class is described in the module that defines it; packages such as "
        "`helpers.metrics` offer their modules' functions directly. The packages behind the "
        f"chapters ({packages}) are on {{doc}}`a separate page <api_chapters>`, and the tool is on "
        "{doc}`its own page <api_tool>`."
    )
    second = "The packages behind the chapters; {doc}`the other page <api>` has the rest."
    third = "The tool for your model, and analyses that go beyond the five papers."
    tool = ["known_unknowns", *names["known_unknowns"]]
    return {
        "api": render("api.md", title="API reference", note=first, names=core),
        "api_chapters": render("api.md", title="API of the chapters", note=second, names=apart),
        "api_tool": render("api.md", title="API of the tool", note=third, names=tool),
    }


def all_rows(results: pd.DataFrame, folder: Path) -> str:
    """Return a form that searches the rows, and write the compressed rows into `folder`.

    A browser loads the script of a tier and paper when it is chosen: in the page, hundreds of
    thousands of rows would be larger than the rest of the book.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shown = ["row", *helpers.report.results.IDENTITY[2:], "value", "images", "seconds"]
    tables = []
    for (tier, paper), rows in results.groupby(["tier", "paper"], sort=False):
        numbers = {key: [f"{number:.6g}" for number in rows[key]] for key in ("value", "seconds")}
        table = pa.Table.from_pandas(rows[shown].assign(**numbers), preserve_index=False)
        csv.write_csv(table, lines := io.BytesIO(), TABS)
        packed = base64.b64encode(gzip.compress(lines.getvalue().strip(), LEVEL, mtime=0)).decode()
        name = f"{tier}-{paper}"
        (folder / f"{name}.js").write_text(f'packedRows["{name}"] = "{packed}"\n', "utf-8")
        tables.append((name, f"{tier}, {CHAPTERS[paper].heading}: {len(rows):,}"))
    form = render("rows.html", tables=tables, columns=shown)
    return f"```{{raw}} html\n{form}\n```\n"


def stages(folders: Iterable[Path]) -> str:
    """Return the table of the executed notebooks in `folders`, with their times."""
    records = []
    for folder in folders:
        for path in sorted(folder.rglob("*.ipynb")):
            metadata = json.loads(path.read_text(encoding="utf-8"))["metadata"]
            seconds = metadata.get("papermill", {}).get("duration")
            # neither stored notebooks nor those of an earlier, failed attempt
            if seconds and not path.name.endswith(".failed.ipynb"):
                notebook = path.relative_to(folder).parts[0].removesuffix(".ipynb")
                records.append((f"{folder.name}/{notebook}", float(seconds)))
    times = pd.DataFrame(records, columns=["stage", "seconds"]).groupby("stage")["seconds"]
    rows = [
        [f"`{stage}`", len(each), f"{each.median():.1f}", f"{each.sum():.1f}"]
        for stage, each in times
    ]
    return markdown_table(["notebook", "executions", "median, s", "total, s"], rows)


def reproducibility(runs: Path, tier: str, downloads: Path) -> str:
    """Return the page of provenance, and write the results tables that it offers."""
    files = sorted(runs.rglob("results.parquet"))
    if not files and runs.resolve() != ROOT / "notebooks":
        raise FileNotFoundError(
            f"{runs}: no results.parquet in it; make them: make run TIER={tier}"
        )
    committed = sorted((ROOT / "results").rglob("*.parquet"))
    others = [file for file in committed if file.parent.name != tier]
    results = helpers.report.results.read([*files, *others])
    if files:
        helpers.report.results.join(files, downloads / f"results_{tier}.parquet")
    numbers = pa.Table.from_pandas(results.drop(columns="bootstrap"), preserve_index=False)
    # without the time of day: the same numbers give the same file
    with gzip.GzipFile(downloads / f"results_{tier}.csv.gz", "wb", LEVEL, mtime=0) as file:
        csv.write_csv(numbers, file)  # pandas takes six times as long
    origins = results.groupby(["tier", "code", "device", "versions"], sort=False)["row"].count()
    versions = []
    for (name, code, device, packages), count in origins.items():
        listing = ", ".join(f"{key} {version}" for key, version in json.loads(packages).items())
        versions.append([name, f"`{code}`", device, listing, count])
    groups = results.groupby(["tier", "paper", "data_set", "backbone"], sort=False, as_index=False)
    experiments = groups.agg(runs=("run", "nunique"), rows=("row", "count"))
    experiments["backbone"] = "`" + experiments["backbone"] + "`"  # code may wrap
    return render(
        "reproducibility.md",
        tier=tier,
        count=len(results),
        has_tables=bool(files),
        versions=markdown_table(["tier", "code", "device", "versions", "rows"], versions),
        experiments=markdown_table(experiments.columns, experiments.itertuples(index=False)),
        stages=stages(runs / paper for paper in results["paper"].unique()),
        rows=all_rows(results, downloads.parent / "_static" / "rows"),
    )
