"""The reference pages of the book: templates filled from the package's records."""

import functools
import io
import json
import pkgutil
from base64 import b64encode
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

import helpers
import known_unknowns
import pictures
import synthesis
from helpers import data, scores
from helpers.metrics import records as metric_records
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
    tiles = thumbnails()
    cards = sorted(data.cards(), key=lambda card: card.name not in tiles)
    sheet = {"thumbnails": tiles, "areas": areas_of_sets(), "cards": cards}
    return {
        "methods": render("methods.md", **infos(), measured=measured_scores()),
        "metrics": render("metrics.md", records=metric_records.read(), papers=CHAPTERS.values()),
        "data_sets": render("data_sets.md", records=records, **sheet),
        "api": api(),
    }


@functools.cache
def thumbnails() -> dict[str, str]:
    """Return four images of each set that needs no download, side by side, as data URIs.

    A whole set has the thumbnail of its embedded slice.
    """
    tiles = {}
    for card in data.cards():
        if card.name in pictures.FAMILIES:
            images = pictures.FAMILIES[card.name].draw(np.random.default_rng(0), 4)
        elif card.slice_of or card.name in ("digits", "photographs"):
            size = pictures.SIZE
            images = data.load(card.name, data.splits(card.name)[-1], size=size).images
        else:
            continue
        chosen = np.linspace(0, len(images) - 1, 4).astype(int)
        tile = Image.fromarray(np.concatenate([images[n] for n in chosen], axis=1))
        tile.save(packed := io.BytesIO(), format="WEBP", quality=80)
        address = f"data:image/webp;base64,{b64encode(packed.getvalue()).decode('ascii')}"
        tiles[card.name] = address
        if card.slice_of:
            tiles[card.slice_of] = address
    return tiles


@functools.cache
def areas_of_sets() -> dict[str, float]:
    """Return the AUROC of MSP on each set, a mean over the published CIFAR-10 networks.

    A slice has the value of its whole set.
    """
    table = results.read(ROOT / "results" / "pretrained" / "gscore.parquet")
    rows = table.query("data_set == 'cifar10' and variant == 'test'")
    rows = rows.query("metric == 'auroc' and method == 'msp'")
    areas = rows.groupby("test_set")["value"].mean().to_dict()
    slices = {card.name: card.slice_of for card in data.cards() if card.slice_of in areas}
    return areas | {name: areas[whole] for name, whole in slices.items()}


@functools.cache
def measured_scores() -> dict[str, dict[str, float]]:
    """Return three numbers of each score in per cent, means over the published CIFAR-10 networks.

    They are the AURC of the test images, and the AUROC of near and of far images.
    """
    table = results.read(ROOT / "results" / "pretrained" / "synthesis.parquet")
    table = table.query(
        "data_set == 'cifar10' and variant == 'primary' and calibration == 'before'"
    )
    numbers: dict[str, dict[str, float]] = {}
    for metric, test_set in (("aurc", "test"), ("auroc", "near"), ("auroc", "far")):
        rows = table[(table["metric"] == metric) & (table["test_set"] == test_set)]
        means = 100 * rows.groupby("method")["value"].mean()
        for method, value in means.items():
            numbers.setdefault(method.removeprefix("baseline/"), {})[test_set] = value
    return numbers


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
    peers = pd.read_parquet(stored / "peers.parquet")
    training = pd.read_parquet(stored / "training.parquet").iloc[0].to_dict()
    budgets = pd.read_parquet(stored / "pipeline.parquet")["seconds"].round().astype(int)
    rows = peers.to_dict("records")
    return render("speed.md", rows=rows, training=training, budgets=budgets.to_dict())


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
