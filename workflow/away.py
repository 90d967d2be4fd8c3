"""Train the networks of the background queue on another machine, which needs no network.

python workflow/away.py pack FOLDER
python3 FOLDER/code/workflow/away.py run FOLDER --processes 15 --minutes 9 --results RESULTS
python workflow/away.py collect RESULTS

``pack`` writes the code of the current commit, and the images and checkpoints of the networks that
``workflow/background.py`` has not finished.  ``run`` trains several networks at a time.  Each
minute it writes new networks and checkpoints into at most four files below 16 MiB.  After the
stated minutes it stops.  ``collect`` adds these files to CACHE_ROOT, from which the queue or
another parcel continues.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from background import Entry, commit_of, entries_of, listed, status, train_all
from step import ROOT, VISIBLE, end_with_parent, gpus
from sweep import positive, values_of

from helpers.cache import MissingError
from helpers.files import cache_root
from helpers.modules import PACKAGES
from helpers.papers import run
from helpers.training import parcels
from synthesis.chapters import load

#: What travels of the repository: no images, no results.
CODE = (
    *PACKAGES,
    "params",
    "workflow",
    "pyproject.toml",
    ":(exclude)helpers/data/embedded",
    ":(exclude)known_unknowns/bench/packs",
)
SECONDS = 60.0  # between two writings of the results
#: Seconds between the starts of two queues: the memory of a machine may grow as it is used.
_BETWEEN = 0.5
#: A line that ends with an error if PyTorch cannot use the GPU.
_CHECK = "import torch; print(torch.__version__, torch.ones(1).cuda().device)"
STATE = "state"
RESULTS = "results"


def pack(folder: Path, only: Sequence[str]) -> None:
    """Write a parcel of the unfinished entries whose names begin with one of `only`."""
    from helpers.networks import zoo_records

    if folder.exists():
        sys.exit(f"{folder}: a new folder expected, and it exists; choose another, or remove it")
    writer = parcels.Writer()
    commit = commit_of("HEAD")
    networks: set[str] = set()
    needed = []  # the networks that a training extends
    for entry, parameters, part, roles in unfinished(only):
        writer.add(entry.values, roles)
        backbone = part.identity["backbone"]
        networks.add(backbone.partition("+")[0])
        networks.update(filter(None, [getattr(parameters, "teachers", {}).get(backbone)]))
        if part.after:
            stem = part.after.replace("/", "-")
            needed.append(f"exports/*/networks/{parameters.paper}/{stem}-*.safetensors")
        print(f"{entry.name}: {-(-len(writer.pixels) // parcels.IMAGES)} packs", flush=True)
    if not writer.entries:
        sys.exit(f"--only: no network to train has a name that begins with {' or '.join(only)}")
    writer.write(folder, commit)
    (folder / "networks").mkdir()
    for name in networks & zoo_records.records().keys():
        shutil.copy(zoo_records.find(name).locate(), folder / "networks")
    patterns = dict.fromkeys([*needed, "networks/*.partial", "diverged/*.json"])
    parcels.write_shards(cache_root(), folder, STATE, patterns=patterns)
    write_code(folder, commit)
    for file in sorted(folder.glob("*.*")):
        print(f"{file} {file.stat().st_size / 1e6:.1f} MB")


def write_code(folder: Path, commit: str) -> None:
    """Write the code of a commit that trains into the folder ``code`` of a parcel."""
    archive = folder / "code.tar"
    subprocess.run(["git", "archive", "--output", archive, commit, *CODE], cwd=ROOT, check=True)
    with tarfile.open(archive) as files:
        files.extractall(folder / "code", filter="data")
    archive.unlink()


def unfinished(only: Sequence[str]) -> Iterator[tuple[Entry, Any, run.Part, Any]]:
    """Yield the entries without networks, each with parameters, part and roles of its images.

    An entry that a queue trains here is left out.
    """
    known = None
    roles = None
    for entry in listed():
        lock = entry.try_lock()
        if not (lock and entry.name.startswith(tuple(only))):
            continue
        lock.close()
        paper, tier, name, *changes = entry.values
        try:
            parameters = load(paper, tier, root=ROOT, **values_of(changes))
            (part,) = run.parts(parameters, name)
            needed = paper, tier, changes, part.roles or name
            if needed != known:
                known = None
                roles = None
                roles = run.experiment_of(parameters).roles(parameters, part)
                known = needed
            if not is_trained(parameters, part, roles):
                yield entry, parameters, part, roles
        except (OSError, ValueError) as error:
            print(f"{entry.name}: left out, {error}", flush=True)


def is_trained(parameters, part: run.Part, roles) -> bool:
    """Return whether all networks of a part exist."""
    try:
        with patch.dict(os.environ, TRAINING="refused"):
            run.experiment_of(parameters).models(parameters, part, roles)
        return True
    except MissingError:
        return False


def train(folder: Path, processes: int, minutes: float, results: Path) -> None:
    """Train the networks of a parcel until all are finished or the minutes are over."""
    os.environ["PARCEL"] = str(folder.resolve())
    os.environ["NETWORK_ROOT"] = str(folder.resolve() / "networks")
    try:
        entries = packed()
    except (OSError, ValueError) as error:
        sys.exit(f"{folder}: a parcel expected, which `pack` writes ({error})")
    if [*results.glob(f"{RESULTS}_*")]:
        sys.exit(f"{results}: an empty folder expected; collect its results, or choose another")
    start = time.time()
    root = cache_root()
    for shard in sorted(folder.glob(f"{STATE}_*.tar")):
        parcels.unpack(shard, root)
    script = ROOT / "workflow" / "away.py"
    mark = root / "queue" / f"written-{folder.resolve().name}"
    open(mark, "a").close()  # the time of an existing file stays
    since = mark.stat().st_mtime  # so files that an earlier call has not written are included

    def write() -> None:
        begun = time.time() - 1  # a file's time may be a little early
        parcels.write_shards(root, results, RESULTS, since=since)
        os.utime(mark, (begun, begun))

    environment = os.environ | {"QUEUE": str(os.getpid())}
    cards = gpus()
    print(f"GPUs that nvidia-smi lists: {len(cards)}", flush=True)
    if cards and subprocess.run([sys.executable, "-c", _CHECK]).returncode:
        sys.exit("PyTorch cannot use the GPU; nothing is trained")
    queues = []
    written = start
    try:
        for number in range(processes):
            if cards:  # without nvidia-smi, PyTorch may find a GPU
                environment[VISIBLE] = cards[number % len(cards)]
            queues.append(
                subprocess.Popen([sys.executable, script, "queue", folder], env=environment)
            )
            time.sleep(_BETWEEN)
        while any(queue.poll() is None for queue in queues) and time.time() < start + 60 * minutes:
            time.sleep(1)
            if time.time() >= written + SECONDS:
                write()
                written = time.time()
    finally:
        for queue in queues:
            queue.kill()
        ended = time.time()
        # a training ends a second after its queue
        while "running: " in status(entries) and time.time() < ended + 10:
            time.sleep(0.5)
        write()
    print(status(entries))


def packed() -> list[Entry]:
    """Return the entries of the parcel."""
    parcel = parcels.Parcel.current()
    assert parcel is not None
    return entries_of(values for values, _ in parcel.entries)


def collect(results: Path) -> None:
    """Add results to CACHE_ROOT, and print the number of files that are new there."""
    shards = sorted(results.glob(f"{RESULTS}_*.tar"))
    if not shards:
        sys.exit(f"{results}: {RESULTS}_0.tar expected, which `run` writes there; no such file")
    count = 0
    for shard in shards:
        try:
            count += parcels.unpack(shard, cache_root())
        except tarfile.TarError as error:
            sys.exit(f"{shard}: a whole file of `run` expected, got {error}; copy it again")
    print(f"{count} files are new in {cache_root()}")


def main() -> None:
    """Pack, train or collect."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    # `queue` is a process of `run`
    parser.add_argument("command", choices=["pack", "run", "collect", "queue"])
    parser.add_argument("folder", type=Path, help="the parcel; for `collect` the results of `run`")
    parser.add_argument("--only", nargs="+", default=[""], help="beginnings of names to pack")
    parser.add_argument("--processes", type=positive, default=1, help="networks at a time")
    parser.add_argument("--minutes", type=positive, default=60, help="after which `run` stops")
    parser.add_argument("--results", type=Path, default=Path("results"), help="a folder for `run`")
    given = parser.parse_args()
    if given.command == "pack":
        pack(given.folder, given.only)
    elif given.command == "run":
        # as at the end of the minutes: write the results, end the trainings
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
        minutes = given.minutes - time.process_time() / 60  # the imports count
        train(given.folder, given.processes, minutes, given.results)
    elif given.command == "collect":
        collect(given.folder)
    else:
        end_with_parent(int(os.environ["QUEUE"]))
        train_all(packed(), ROOT)


if __name__ == "__main__":
    main()
