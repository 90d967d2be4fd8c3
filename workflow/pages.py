"""The reference pages of the book, written from the package's own records.

Methods, metrics, data sets, the API and the provenance of the results are described once, in
the code; these functions turn the records into pages, so that the two cannot drift apart.
"""

from __future__ import annotations

import base64
import gzip
import html
import io
import json
import pkgutil
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
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
GENERATED = "This page is generated from the records in the code that it describes.\n"


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


def definitions(pairs: Iterable[tuple]) -> str:
    """Return a Markdown definition list."""
    return "\n".join(f"{term}\n: {meaning}\n" for term, meaning in pairs)


def values(chosen: Mapping[str, float | str]) -> str:
    """Return hyper-parameters with their values in one line.

    >>> values({"tail": 20, "distance": "euclidean"})
    '`tail` 20, `distance` euclidean'
    """
    shown = {name: one if isinstance(one, str) else f"{one:,g}" for name, one in chosen.items()}
    return ", ".join(f"`{name}` {value}" for name, value in shown.items())


def information(info: Info) -> str:
    """Return the section of one method."""
    facts = [
        ("paper", f"{{cite:t}}`{info.key}`, *{info.paper}*"),
        ("needs", ", ".join(info.needs)),
        ("sign", info.sign),
        *((f"`{name}`", meaning) for name, meaning in info.hyper_parameters.items()),
        *(
            (f"authors' choice, {where}", values(chosen))
            for where, chosen in info.published.items()
        ),
    ]
    short = info.name.replace("_", " ")
    return (
        f"```{{index}} {short}\n```\n\n### {info.title}\n\n`{info.name}`. {info.summary}\n\n"
        f"$$\n{info.equation}\n$$\n\n" + definitions(facts)
    )


def infos() -> list[Info]:
    """Return the records of all methods: the scores, then calibration and open-set answers."""
    scores = [helpers.scores.create(name).info for name in helpers.scores.names()]
    others = [
        value
        for module in (calibration, openset)
        for value in vars(module).values()
        if isinstance(value, Info)
    ]
    return scores + others


def methods() -> str:
    """Return the page of methods: scores, and what turns outputs into open-set answers."""
    sections = [information(info) for info in infos()]
    sections.insert(len(helpers.scores.names()), "## Calibration and open-set answers\n")
    intro = (
        "`helpers.scores.create(name)` makes one; the higher a score, the more likely an image "
        "is known.\n"
    )
    return "\n".join(["# Methods\n", GENERATED, "## Scores\n", intro, *sections])


def reported_for(metric: str) -> list[str]:
    """Return the papers that report a metric, as code.

    >>> reported_for("domain_confusion")
    ['`uimnet`']
    """
    return [f"`{name}`" for name, paper in CHAPTERS.items() if metric in paper.metrics]


def metrics() -> str:
    """Return the page of metrics."""
    records = helpers.metrics.RECORDS
    overview = markdown_table(
        ["metric", "in code", "range", "better"],
        [
            [
                f"[{record.title}](#metric-{record.name})",
                f"`{record.name}`",
                record.range,
                record.better or "–",
            ]
            for record in records
        ],
    )
    sections = [
        f"(metric-{record.name})=\n## {record.title}\n\n`helpers.metrics.{record.name}`, "
        f"{{cite:t}}`{record.key}`\n\n$$\n{record.equation}\n$$\n\n{record.convention}\n\n"
        f"Reported for: {', '.join(reported_for(record.name))}.\n"
        for record in records
    ]
    note = (
        "Every metric is a function of arrays; empty input, NaN or a mismatch of lengths is an "
        "error that names the argument.\n"
    )
    return "\n".join(["# Metrics\n", GENERATED, note, overview + "\n", *sections])


def data_sets() -> str:
    """Return the page of data sets."""
    sections = []
    for card in helpers.data.cards():
        facts = [
            ("classes", card.classes),
            ("images", ", ".join(f"{count:,} {split}" for split, count in card.splits.items())),
            ("size", f"{card.size} × {card.size} pixels" if card.size else "differs"),
            ("origin", f"{card.origin} {{cite:p}}`{card.citation_key}`"),
            ("licence", card.licence),
        ]
        sections.append(f"## {card.title}\n\n`{card.name}`. {card.what}\n\n{definitions(facts)}")
    how = (
        "`helpers.data.load(name, split)` gives images, labels and class names, whatever the "
        "source: embedded in the repository, a pack in `DATA_ROOT`, a torchvision data set, or a "
        "folder of images. How a pack is laid out is told in the {doc}`API reference <api>`, "
        "under `helpers.data.packs`. The last ones are read while they are used, from folders "
        "that [one command](arranged-photographs) makes from each archive.\n"
    )
    return "\n\n".join(["# Data sets", GENERATED, how, *sections]) + "\n"


def networks() -> str:
    """Return the page of networks that others have published."""
    from helpers.networks import published

    sections = []
    for author, records in groupby(published.records().values(), key=lambda one: one.author):
        records = list(records)
        first = records[0]
        facts = [
            ("source", ", ".join(dict.fromkeys(f"<{one.source}>" for one in records))),
            ("licence", first.licence),
            *([("note", first.note)] if first.note else []),
            ("normalisation", "; ".join(dict.fromkeys(map(normalisation, records)))),
        ]
        table = markdown_table(
            ["network", "right, %", "file", "known by"],
            [[f"`{one.name}`", f"{one.accuracy:.2f}" if one.accuracy else "–",
              f"`{one.files[0]}`", known_by(one)] for one in records],
        )  # fmt: skip
        sections.append(f"## {author}\n\n{definitions(facts)}\n{table}")
    how = (
        "`helpers.networks.zoo.load(name)` makes one; where its file has to lie, what of it is "
        "checked, and how to add one, is told in [how to run](published-networks). The share of "
        "the test images that a network classifies correctly is that which its author prints. One "
        "network lies in the package, its licence beside it.\n"
    )
    return "\n\n".join(["# Published networks", GENERATED, how, *sections]) + "\n"


def normalisation(record: Published) -> str:
    """Return by what the pixels of a network's images are normalised, in words."""
    mean, std = (", ".join(f"{one:.4f}" for one in each) for each in (record.mean, record.std))
    return f"{record.data_set}: mean {mean}, standard deviation {std}"


def known_by(record: Published) -> str:
    """Return by what a network's file is recognised, in words."""
    return "its tensors" if record.digest else "nothing: not checked"


def speed() -> str:
    """Return the page of the benchmarks, from ``benchmarks/results``."""
    stored = ROOT / "benchmarks" / "results"
    tables = [pd.read_parquet(stored / f"{name}.parquet") for name in ("peers", "training")]
    rows = pd.concat(tables, ignore_index=True)
    rows["times as fast"] = [
        f"{row.ratio:.2f} ({row.low:.2f}–{row.high:.2f})" for row in rows.itertuples()
    ]
    shown = rows[["work", "size", "peer", "times as fast"]]
    return f"""# Speed

`make bench` compares this project with the functions of other libraries. Both sides get the same
arrays, in turn and in one process, and must give the same numbers. *Times as fast* is the seconds
of the peer divided by ours: the median of the rounds, with the lowest and the highest.
Measured on {rows["machine"].iloc[0]}, with {rows["versions"].iloc[0]}.

{markdown_table(shown.columns, shown.itertuples(index=False))}
"""


ON_A_PAGE = ("networks", "papers", "report", "training")
"""The packages of `helpers` whose reference is a page of its own: one page would be too heavy."""


def api() -> dict[str, str]:
    """Return the API reference in three pages: every public module, in alphabetical order."""
    names = {
        package.__name__: [
            module.name
            for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
            if "._" not in module.name
        ]
        for package in (helpers, known_unknowns)
    }
    apart = [name for name in names["helpers"] if name.split(".")[1] in ON_A_PAGE]
    first = (
        "Each function and class is described in the module that defines it; packages such as "
        "`helpers.metrics` offer their modules' functions directly. What the chapters are made of "
        f"({', '.join(f'`helpers.{package}`' for package in ON_A_PAGE)}) has "
        "{doc}`a page of its own <api_chapters>`, and so has {doc}`the tool <api_tool>`.\n"
    )
    second = "What is of use beyond the chapters is on {doc}`the other page <api>`.\n"
    third = "The tool for your own model, and what goes beyond the five papers.\n"
    core = [name for name in names["helpers"] if name not in apart]
    tool = [name for name in names["known_unknowns"] if not name.endswith("__main__")]
    return {
        "api": modules("API reference", first, core),
        "api_chapters": modules("API reference, of the chapters", second, apart),
        "api_tool": modules("API reference, of the tool", third, ["known_unknowns", *tool]),
    }


def modules(title: str, note: str, names: Iterable[str]) -> str:
    """Return a page with all that some modules document."""
    options = "   :members:\n   :ignore-module-all:\n"  # or packages would repeat their modules
    # which scikit-learn writes into its estimators, with references to its own pages
    options += "   :exclude-members: set_score_request, set_fit_request\n"
    sections = [
        f"## {name}\n\n```{{eval-rst}}\n.. automodule:: {name}\n{options}```\n" for name in names
    ]
    return "\n".join([f"# {title}\n", GENERATED, note, *sections])


LOOKUP = """<div class="all-rows">
<select aria-label="Table">{options}</select>
<input type="search" aria-label="Words of a row" placeholder="for instance: resnet ece before">
<span class="found"></span>
<table class="table"><thead><tr>{header}</tr></thead><tbody></tbody></table>
</div>
<script src="../../_static/rows.js"></script>"""


LEVEL = 6  # of compression: 9 takes more than twice the time for a few hundredths of the size
TABS = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")


def all_rows(results: pd.DataFrame, folder: Path) -> str:
    """Return a form that looks rows up, and write what it looks in, compressed, into `folder`.

    One script for each tier and paper, loaded when it is chosen: in the page itself, hundreds of
    thousands of rows would make it larger than all the rest of the book.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shown = ["row", *helpers.report.results.IDENTITY[2:], "value", "images", "seconds"]
    options = []
    for (tier, paper), own in results.groupby(["tier", "paper"], sort=False):
        numbers = {one: [f"{number:.6g}" for number in own[one]] for one in ("value", "seconds")}
        table = pa.Table.from_pandas(own[shown].assign(**numbers), preserve_index=False)
        csv.write_csv(table, lines := io.BytesIO(), TABS)
        packed = base64.b64encode(gzip.compress(lines.getvalue().strip(), LEVEL, mtime=0)).decode()
        name, said = f"{tier}-{paper}", f"{tier}, {CHAPTERS[paper].heading}: {len(own):,}"
        (folder / f"{name}.js").write_text(f'packedRows["{name}"] = "{packed}"\n', "utf-8")
        options.append(f'<option value="{name}">{said}</option>')
    header = "".join(f"<th>{html.escape(name)}</th>" for name in shown)
    form = LOOKUP.format(options="".join(options), header=header)
    return f"```{{raw}} html\n{form}\n```\n"


def stages(folders: Iterable[Path]) -> str:
    """Return the table of the executed notebooks in `folders`: how many, how long each took."""
    records = []
    for folder in folders:
        for path in sorted(folder.rglob("*.ipynb")):
            if path.name.endswith(".failed.ipynb"):  # kept by an earlier attempt
                continue
            notebook = path.relative_to(folder).parts[0].removesuffix(".ipynb")
            metadata = json.loads(path.read_text(encoding="utf-8"))["metadata"]
            seconds = metadata.get("papermill", {}).get("duration")
            records.append((f"{folder.name}/{notebook}", seconds))
    timed = pd.DataFrame(records, columns=["stage", "seconds"]).dropna()  # not what is stored
    seconds = timed.astype({"seconds": float}).groupby("stage")["seconds"]
    rows = [
        [f"`{stage}`", len(times), f"{times.median():.1f}", f"{times.sum():.1f}"]
        for stage, times in seconds
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
    replicates = "those of the other tiers are in the repository, below `results/`"
    if files:
        helpers.report.results.join(files, downloads / f"results_{tier}.parquet")
        own = f"those of this tier are here, as {{download}}`parquet <results_{tier}.parquet>`"
        replicates = f"{own}, {replicates}"
    numbers = pa.Table.from_pandas(results.drop(columns="bootstrap"), preserve_index=False)
    # without the time of day: the same numbers give the same file
    with gzip.GzipFile(downloads / f"results_{tier}.csv.gz", "wb", LEVEL, mtime=0) as file:
        csv.write_csv(numbers, file)  # pandas takes six times as long

    origins = results.groupby(["tier", "code", "device", "versions"], sort=False)["row"].count()
    versions = [
        [
            tier_,
            f"`{code}`",
            device,
            ", ".join(f"{name} {version}" for name, version in json.loads(packages).items()),
            count,
        ]
        for (tier_, code, device, packages), count in origins.items()
    ]
    groups = results.groupby(["tier", "paper", "data_set", "backbone"], sort=False, as_index=False)
    experiments = groups.agg(runs=("run", "nunique"), rows=("row", "count"))
    experiments["backbone"] = "`" + experiments["backbone"] + "`"  # code may wrap
    return f"""# Reproducibility

This book was rendered from the tier **{tier}**; the results of other tiers that it shows were
committed with the code. Together they are {len(results):,} numbers. {GENERATED}
Each number has a name of twelve hexadecimal digits, its *row*, made from what the number is: tier,
paper, data set, test set, backbone, run, method, calibration, variant and metric. Tables in the
notebooks are made of these rows, or of means over them.

The whole table: {{download}}`CSV <results_{tier}.csv.gz>` (compressed; pandas reads it as it is).
Tables with the bootstrap replicates: {replicates}.

## Made by

{markdown_table(["tier", "code", "device", "versions", "rows"], versions)}

The code's version ends in a hash of the package's sources. The same code, versions, parameters and
seeds give the same numbers bit for bit on the same CPU; elsewhere they agree closely.

## Experiments

{markdown_table(experiments.columns, experiments.itertuples(index=False))}

## Time

{stages(runs / paper for paper in results["paper"].unique())}

## All rows

{all_rows(results, downloads.parent / "_static" / "rows")}
"""
