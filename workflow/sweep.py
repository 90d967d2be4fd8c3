"""Make a results table without notebooks: what the evaluation notebook would, part by part.

python workflow/sweep.py small unknown_detection --processes 2

Needs no Jupyter, papermill or Snakemake.  Interrupted, it goes on where it stopped when started
again: networks and outputs are kept in the cache as soon as they are whole.
"""

import argparse
import os
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import pandas as pd
import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
PAPERS = (  # those in parts: runs, models, ...
    "gscore", "human_centric", "synthesis", "uimnet", "unknown_detection",
)  # fmt: skip


def main() -> None:
    """Run what the command line asks for, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tier")
    parser.add_argument("paper", choices=PAPERS)
    parser.add_argument("--processes", type=int, default=1, help="parts that go on side by side")
    parser.add_argument("--network", help="of the grid; by default the one that is evaluated")
    parser.add_argument("--device", help="cpu or cuda; by default a GPU if there is one")
    parser.add_argument("--out", type=Path, help="by default results/TIER/PAPER[-NETWORK].parquet")
    arguments = parser.parse_args()
    from helpers.report import results

    parameters = parameters_of(arguments.tier, arguments.paper, arguments.network)
    name = "-".join(filter(None, [arguments.paper, arguments.network]))
    out = arguments.out or ROOT / "results" / arguments.tier / f"{name}.parquet"
    # read by numpy when it is loaded, in the processes that are started here
    os.environ.setdefault("OMP_NUM_THREADS", str(parameters["training"].get("threads", 1)))
    parts = import_module(f"helpers.papers.{arguments.paper}.experiment").parts(parameters)
    start, tables = time.monotonic(), {}
    with ProcessPoolExecutor(
        arguments.processes, mp_context=get_context("spawn"), initializer=end_with_parent
    ) as pool:
        waiting = {
            pool.submit(one_part, arguments.paper, parameters, part, arguments.device): part
            for part in parts
        }
        for done in as_completed(waiting):
            part = waiting[done]
            try:
                tables[part] = done.result()
            except Exception:
                print(f"{part} failed; what the others have finished is kept", flush=True)
                pool.shutdown(cancel_futures=True)
                raise
            minutes = (time.monotonic() - start) / 60
            print(
                f"{part} done, {len(tables[part])} rows, {len(tables)} of {len(parts)} parts, "
                f"{minutes:.1f} minutes",
                flush=True,
            )
    table = pd.concat([tables[part] for part in parts], ignore_index=True)
    results.write(table, out)
    print(out)
    if (table["metric"] == "failed").all():
        sys.exit("nothing could be evaluated: the column notes of that table says why")


def parameters_of(tier: str, paper: str, network: str | None) -> dict:
    """Return the section ``evaluation`` of a parameter file, with a network of its grid."""
    from plan import check

    from helpers.checks import known_name

    folder = ROOT / "params"
    known_name("tier", tier, [path.name for path in folder.iterdir()])
    known_name("paper", paper, [path.stem for path in (folder / tier).iterdir()])
    sections = yaml.safe_load((folder / tier / f"{paper}.yaml").read_text(encoding="utf-8"))
    parameters = sections["evaluation"]
    if network:
        networks = sections["grid"]["networks"]
        chosen = networks[known_name("network", network, networks)]
        if "train" in chosen:  # several models at once
            parameters["names"] = chosen["train"]
        elif "networks" in parameters:  # several, of which it is one
            parameters["networks"] = {network: chosen}
        else:
            parameters["network"] = network
            parameters["training"] |= chosen
    check(f"notebooks/{paper}/evaluation.ipynb", parameters, f"params/{tier}/{paper}.yaml")
    return parameters


def end_with_parent() -> None:
    """Let a process end when the command that started it is gone, even if that was killed."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def one_part(paper: str, parameters: dict, part: str, device: str | None) -> pd.DataFrame:
    """Return the rows of one part."""
    return import_module(f"helpers.papers.{paper}.experiment").sweep(
        parameters, part, device=device
    )


if __name__ == "__main__":
    main()
