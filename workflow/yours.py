"""Put your own network's answers into the main table of unknown detection: paper, ours, yours.

    python workflow/yours.py manifest mini my_images
    python workflow/yours.py table mini my_outputs.npz --name my_network

The first writes which images are asked about, in which order, and the images where memory holds
them; the second reads the answers and writes results and table.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from helpers.files import atomic_path  # noqa: E402
from helpers.papers import load  # noqa: E402
from helpers.papers.unknown_detection import tables, yours  # noqa: E402
from helpers.papers.unknown_detection.roles import roles  # noqa: E402
from helpers.report import results  # noqa: E402

PAPER = "unknown_detection"


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("manifest", help="write which images are asked about")
    other = commands.add_parser("table", help="write the table with the answers in it")
    for command in (one, other):
        command.add_argument("tier")
    one.add_argument("folder", type=Path)
    other.add_argument("files", type=Path, nargs="+", metavar="FILE", help="one for each run")
    other.add_argument("--name", default="yours", help="what the table calls them")
    other.add_argument("--score", default="msp", help="what is asked of logits")
    other.add_argument("--results", type=Path, help="ours; by default the tier's, if there are any")
    other.add_argument("--out", type=Path, default=Path("yours"), metavar="FOLDER")
    for command in (one, other):
        command.add_argument(
            "--set", nargs="+", action="extend", default=[], metavar="NAME=VALUE",
            help="parameters instead of the file's",
        )  # fmt: skip
    arguments = parser.parse_args()
    given = dict(one.partition("=")[::2] for one in arguments.set)
    try:
        parameters = load(
            PAPER, arguments.tier, **{name: yaml.safe_load(value) for name, value in given.items()}
        )
        written = (write_manifest if arguments.command == "manifest" else write_table)(
            parameters, arguments
        )
    except (OSError, ValueError) as error:
        sys.exit(f"yours.py: {error}")
    print("\n".join(written))


def write_manifest(parameters, arguments: argparse.Namespace) -> list[str]:
    """Write the manifest, and the images that are held in memory; return what was written."""
    benchmark, folder = roles(parameters), arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_path(folder / "manifest.csv") as temporary:
        yours.manifest(benchmark).to_csv(temporary, index=False)
    written = [str(folder / "manifest.csv")]
    if pixels := yours.pixels(benchmark):
        with atomic_path(folder / "images.npz") as temporary, open(temporary, "wb") as file:
            np.savez(file, **pixels)
        written.append(str(folder / "images.npz"))
    return written


def write_table(parameters, arguments: argparse.Namespace) -> list[str]:
    """Write results and main table; return the table, and what was written."""
    own = yours.rows(
        parameters, roles(parameters), arguments.files, name=arguments.name, score=arguments.score
    )
    places = [ROOT / "results" / arguments.tier / f"{PAPER}.parquet",
              ROOT / "runs" / arguments.tier / PAPER / "results.parquet"]  # fmt: skip
    found = arguments.results or next((one for one in places if one.exists()), None)
    both = own
    if found:
        ours = results.read(found)
        ours = ours[ours["backbone"] == parameters.network]
        both = pd.concat([ours, own], ignore_index=True)
    shown = tables.main_table(both, parameters)
    results.write(own, arguments.out / "results.parquet")
    shown.write(arguments.out / "table.html")
    place = f"ours of {found}" if found else f"no results of ours of the tier {arguments.tier}"
    return [shown.markdown(), "", place, str(arguments.out / "table.html")]


if __name__ == "__main__":
    main()
