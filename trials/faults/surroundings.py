"""What goes wrong around a run: disks, rights, clocks, other runs, hands in the cache."""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from helpers.files import atomic_folder
from helpers.outputs import Outputs
from trials.faults import children
from trials.faults.kinds import KINDS, OURS, leftovers, make_all, place

OLD, NEW = 0, 1  # seeds
SEEDS = range(2)


def row(fault: str, file: str, outcome: str, words: str = "") -> dict:
    return {"fault": fault, "file": file, "outcome": outcome, "cases": 1, "words": words[:200]}


def replaced(path: Path, name: str) -> list[str]:
    """Try to put another file in the place of a whole one where that cannot work; in a child."""
    kind = OURS[name]
    before = path.read_bytes()
    try:
        kind.write(path, NEW)
    except OSError as error:
        said = "refused" if path.name in str(error) else "vague"
        words = "" if said == "refused" else str(error)
    except BaseException as error:
        said, words = "crash", f"{type(error).__name__}: {error}"
    else:
        said, words = "taken", "nothing was refused"
    if not path.exists() or path.read_bytes() != before:
        said, words = "lost", "the old file is gone"
    elif leftovers(path.parent):
        said, words = "left over", ", ".join(leftovers(path.parent))
    return [said, words]


def full_disk(folder: Path, name: str, share: float) -> list[str]:
    """Replace a file on a disk that has room for a share of it."""
    path = place(folder, name, OLD)
    OURS[name].write(path, OLD)
    children.limit_files(int(share * path.stat().st_size))
    return _kept(path, name)


def read_only(folder: Path, name: str) -> list[str]:
    """Replace a file in a folder that cannot be written to."""
    path = place(folder, name, OLD)
    OURS[name].write(path, OLD)
    path.chmod(0o644)
    folder.chmod(0o555)
    children.be_nobody()
    return _kept(path, name)


def _kept(path: Path, name: str) -> list[str]:
    """As `replaced`; of an array in the cache, which nothing replaces, another is written."""
    if name != "array in the cache":
        return replaced(path, name)
    other = place(path.parent, name, NEW)
    try:
        OURS[name].write(other, NEW)
    except OSError as error:
        return ["refused" if other.name in str(error) else "vague", str(error)]
    return ["taken", "nothing was refused"]


def _disks(root: Path, seed: int, count: int):
    generator = random.Random(seed)
    for number, name in enumerate(OURS):
        for case in range(count):
            folder = root / f"disk_{number}_{case}"
            folder.mkdir()
            found = children.run(partial(full_disk, folder, name, generator.uniform(0, 0.95)))
            yield row("the disk is full", name, *(found.result or ["crash", str(found)]))
        folder = root / f"read_only_{number}"
        folder.mkdir(mode=0o755)
        found = children.run(partial(read_only, folder, name))
        folder.chmod(0o755)
        yield row("the folder is read-only", name, *(found.result or ["crash", str(found)]))


def _altered_cache(root: Path, seed: int, count: int):
    """Delete or spoil some of what is kept, and run again."""
    whole = children.run(partial(_make, root / "whole")).result
    for case in range(count):
        generator = np.random.default_rng([seed, case])
        for fault, change in CHANGES.items():
            folder = root / f"{fault.replace(' ', '_')}_{case}"
            shutil.copytree(root / "whole", folder)
            change(folder, generator)
            damaged = "are altered" in fault
            found = children.run(partial(_make, folder)).result
            said = "the same" if found == whole else "taken" if found else "crash"
            if damaged and said == "the same":
                said = "made anew" if list(folder.glob("*.damaged")) else said
            yield row(fault, "every kind", said)


def _delete_some(folder: Path, generator: np.random.Generator) -> None:
    for file in folder.iterdir():
        if generator.random() < 0.5:
            file.unlink()


def _delete_all(folder: Path, generator: np.random.Generator) -> None:
    shutil.rmtree(folder)


def _alter_some(folder: Path, generator: np.random.Generator) -> None:
    for file in generator.choice(sorted(folder.iterdir()), 4, replace=False):
        data = bytearray(file.read_bytes())
        for place_ in generator.integers(len(data), size=20):
            data[place_] ^= 255
        file.write_bytes(data)


def _turn_back_the_clock(folder: Path, generator: np.random.Generator) -> None:
    """Date each file up to ten years away from now."""
    for file in folder.iterdir():
        moment = time.time() + generator.uniform(-1, 1) * 10 * 365 * 86400
        os.utime(file, (moment, moment))


CHANGES: dict[str, Callable] = {
    "files in the cache are deleted": _delete_some,
    "the whole cache is deleted": _delete_all,
    "files in the cache are altered": _alter_some,
    "the clock goes back, or ahead": _turn_back_the_clock,
}


def _make(folder: Path) -> dict[str, str]:
    folder.mkdir(exist_ok=True)
    return make_all(folder, SEEDS)


def _at_once(root: Path, count: int, runs: int = 4):
    """Let several runs make the same files in one folder at the same time."""
    whole = children.run(partial(_make, root / "alone")).result
    for case in range(count):
        folder = root / f"at_once_{case}"
        folder.mkdir()
        found = children.run(partial(_together, folder, runs)).result
        same = found is not None and all(one == whole for one in found)
        said = "the same" if same else "taken" if found and all(found) else "crash"
        if leftovers(folder):
            said = "left over"
        yield row(f"{runs} runs at once in one folder", "every kind", said)


def _together(folder: Path, runs: int) -> list:
    from concurrent.futures import ThreadPoolExecutor

    def one(_):
        return children.run(partial(_make, folder)).result

    with ThreadPoolExecutor(runs) as pool:
        return list(pool.map(one, range(runs)))


def _under_a_reader(root: Path):
    """Delete or replace a file of outputs that is mapped into memory, and look at it afterwards."""

    def look(change: Callable[[Path], None], folder: Path) -> list[str]:
        folder.mkdir()
        path = place(folder, "stored outputs", OLD)
        KINDS["stored outputs"].write(path, OLD)
        found = Outputs.load(path)
        before = found.logits.copy()
        change(path)
        return ["as before" if np.array_equal(found.logits, before) else "taken", ""]

    def replace(path: Path) -> None:
        KINDS["stored outputs"].write(path, NEW)

    for fault, change in (("deleted", Path.unlink), ("replaced", replace)):
        found = children.run(partial(look, change, root / f"reader_{fault}"))
        said = found.result or ["crash", f"signal {found.signal}"]
        yield row(f"{fault} while it is looked at", "stored outputs", *said)


def _in_a_folder(root: Path, count: int, seed: int):
    """Kill while a folder takes the place of an older one: one of the two is there, whole."""

    def replace(folder: Path, text: str) -> None:
        with atomic_folder(folder, replaces={f"{n}.txt" for n in range(20)}) as made:
            for number in range(20):
                (made / f"{number}.txt").write_text(text * 1000)

    def again(folder: Path) -> None:
        for number in range(1000):
            replace(folder, "ba"[number % 2])

    generator = random.Random(seed)
    for case in range(count):
        folder = root / f"folder_{case}" / "report"
        folder.parent.mkdir()
        children.run(partial(replace, folder, "a"))
        children.run(partial(again, folder), kill_after=generator.uniform(0.01, 0.2))
        yield row("killed while a folder is replaced", "folder of an audit", *_state(folder))


def _state(folder: Path) -> tuple[str, str]:
    """Return what is left of the old or the new folder."""
    beside = sorted(folder.parent.glob(f".{folder.name}.*/*"))
    for place_ in (folder, *beside):
        texts = {one.read_text() for one in place_.iterdir()} if place_.is_dir() else set()
        if len(texts) == 1 and len(list(place_.iterdir())) == 20:
            return ("as before" if place_ == folder else "beside", "")
    return "lost", "no folder is whole"


def rows(root: Path, *, seed: int, count: int):
    """Yield the rows of all these faults, so many cases of each."""
    yield from _disks(root, seed, count)
    yield from _altered_cache(root, seed, count)
    yield from _at_once(root, count)
    yield from _under_a_reader(root)
    yield from _in_a_folder(root, 4 * count, seed)
