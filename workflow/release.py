"""Hand out what a tier has learnt, and take it over: networks, their outputs, and rows.

    DATA_ROOT=... python workflow/release.py pack FOLDER small --paper gscore uimnet
    python workflow/release.py use FOLDER

`pack` goes once through all parts of a tier's papers and copies what they take from the cache;
what is not there yet is made, that is, trained.  Each network is one safetensors file with its
recipe and how it came about; `manifest.json` describes all files, with their hashes.  No image goes
with them.  `use` checks each file and puts it into the cache of this checkout, where every notebook
of the tier finds it and trains nothing.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from unittest import mock

import manifests

from helpers import __version__, cache, checkpoints, data, papers
from helpers.files import atomic_folder, atomic_path, cache_root
from helpers.networks.devices import VERSIONS
from helpers.papers import run
from helpers.training.fitted import COMPUTING, TRAINING, Fitted

KINDS = ("networks", "outputs", "odin", "jacobian", "tta", "rows", "diverged")
"""What is handed out, by the cache's folders; others hold images, or are made in no time."""
log = logging.getLogger(__name__)


def made_by() -> dict[str, str]:
    """Return what the keys of the cache are made of beside data and parameters: code, packages."""
    return {**VERSIONS, "code": cache.key(training=TRAINING, computing=COMPUTING)}


@contextmanager
def noted() -> Iterator[dict[Path, object]]:
    """Note which files the cache gives in this block, with what was loaded from each."""
    found: dict[Path, object] = {}
    load_or_make = cache.load_or_make

    def noting(path, load, make):
        found[path] = load_or_make(path, load, make)
        return found[path]

    with mock.patch.object(cache, "load_or_make", noting):
        yield found


def pack(folder: Path, tier: str, names: Sequence[str]) -> Path:
    """Write all that the papers' parts take from the cache, and return the manifest's path.

    A part that fails is left out, and the manifest says why.

    Raises
    ------
    ValueError
        Every part failed.
    """
    notes: dict[str, dict] = {}
    left_out: dict[str, str] = {}
    used: dict[str, str] = {}
    with atomic_folder(folder) as whole:
        for name in names:
            parameters = papers.load(name, tier)
            used |= {one: licence(one) for one in parameters.data_sets_used()}
            for part in run.parts(parameters):
                log.info("%s, %s", name, part.name)
                with noted() as found:
                    try:
                        run.ask(parameters, part)
                    except Exception as error:  # as in a run: the others go on
                        why = left_out[f"{name}/{part.name}"] = f"{type(error).__name__}: {error}"
                        log.warning("left out: %s", why)
                        continue
                    run.rows_of_part(parameters, part)
                for path, loaded in found.items():
                    if path.parent.name not in KINDS:
                        continue
                    place = f"{path.parent.name}/{path.name}"
                    note = notes.setdefault(place, {"parts": []})
                    note["parts"].append(f"{name}/{part.name}")
                    if len(note["parts"]) == 1:
                        note |= copy(path, whole / place, loaded)
        if not notes:
            raise ValueError(f"nothing to hand out: {next(iter(left_out.values()), 'no part')}")
        for path in (cache_root() / "diverged").glob("*.json"):  # trainings not to be tried again
            notes[f"diverged/{path.name}"] = copy(path, whole / "diverged" / path.name, None)
        about = {
            "tier": tier, "papers": [*names], "version": __version__, "made_by": made_by(),
            "data_sets": used, "left_out": left_out,
        }  # fmt: skip
        manifests.write(whole, about, notes)
    return folder / manifests.NAME


def copy(path: Path, target: Path, loaded: object) -> dict:
    """Copy a file of the cache; return what the manifest is to say of it.

    A network's copy holds the recipe too, with which `helpers.networks.models.create` builds it.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    if not isinstance(loaded, Fitted):
        shutil.copyfile(path, target)
        return {}
    tensors, information = checkpoints.load(path)
    about = {
        "recipe": loaded.recipe.as_dict(),
        "classes": loaded.num_classes,
        "begun_with": loaded.initial.name if loaded.initial else "",
    }
    checkpoints.save(target, tensors, **information, **about, made_by=made_by())
    last = loaded.history.iloc[-1].to_dict()
    made = {"seconds": loaded.seconds, "device": loaded.device_name, "last_epoch": last}
    return {**about, "weights": loaded.sha256, **made}


def licence(name: str) -> str:
    """Return the licence of a data set, as its card has it."""
    card = data.find(name)
    return card.licence if card else "see its pack"


def use(folder: Path) -> tuple[int, int]:
    """Put the files of a release into the cache; return how many were new, and how many there are.

    Raises
    ------
    FileNotFoundError, ValueError
        As `manifests.read`; or the manifest names what no release has.
    """
    said = manifests.read(folder)
    for name in said["files"]:
        if len(PurePosixPath(name).parts) != 2 or PurePosixPath(name).parts[0] not in KINDS:
            raise ValueError(f"{folder}: {name!r} is nothing that a release has")
    for what in differences(said.get("made_by", {})):
        log.warning("%s: what depends on it will be made anew", what)
    new = [name for name in said["files"] if not (cache_root() / name).exists()]
    for name in new:
        with atomic_path(cache_root() / name) as temporary:
            shutil.copyfile(folder / name, temporary)
    return len(new), len(said["files"])


def differences(theirs: Mapping[str, str]) -> list[str]:
    """Return in what the makers of a release had other code or packages than this checkout."""
    return [
        f"{name}: this is {ours}, the release is of {theirs.get(name, 'none')}"
        for name, ours in made_by().items()
        if theirs.get(name) != ours
    ]


def main(command_line: list[str] | None = None) -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    packs = commands.add_parser("pack", help="write a release")
    packs.add_argument("folder", type=Path)
    packs.add_argument("tier")
    packs.add_argument("--paper", nargs="+", choices=[*papers.PAPERS], help="by default all")
    uses = commands.add_parser("use", help="put a release into the cache")
    uses.add_argument("folder", type=Path)
    given = parser.parse_args(command_line)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        if given.command == "use":
            new, count = use(given.folder)
            log.info("%d of %d files are new in %s", new, count, cache_root())
            return
        here = Path(__file__).resolve().parent.parent / "params" / given.tier
        own = [name for name in papers.PAPERS if (here / f"{name}.yaml").exists()]
        log.info("%s", pack(given.folder, given.tier, given.paper or own))
    except (OSError, ValueError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
