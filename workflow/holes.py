"""Which pinned packages have known holes, by a database of advisories that is at hand, offline.

    python workflow/holes.py advisory-database/vulns   # a copy of github.com/pypa/advisory-database
    python workflow/holes.py all.zip                   # or osv.dev's archive of PyPI

Both hold records in the format OSV (https://ossf.github.io/osv-schema), a file each.  The exit
status is 1 if any pin has a known hole.
"""

from __future__ import annotations

import argparse
import json
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import yaml
from licences import LOCK, pinned
from packaging.utils import canonicalize_name
from packaging.version import Version

_SUFFIXES = (".json", ".yaml")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # nothing in a record is executed


def records(database: Path) -> Iterator[dict]:
    """Yield the records of a folder, or of a zip archive."""
    if database.is_dir():
        for file in sorted(database.rglob("*")):
            if file.suffix in _SUFFIXES:
                yield _read(file.name, file.read_bytes())
        return
    with zipfile.ZipFile(database) as archive:
        for name in archive.namelist():
            if name.endswith(_SUFFIXES):
                yield _read(name, archive.read(name))


def _read(name: str, content: bytes) -> dict:
    return json.loads(content) if name.endswith(".json") else yaml.load(content, _LOADER)


def affects(record: Mapping, name: str, version: str) -> bool:
    """Tell whether a record names a version of a package, one by one or by a range.

    >>> record = {"affected": [{"package": {"ecosystem": "PyPI", "name": "Pillow"}, "ranges": [
    ...     {"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "10.0.0"}]}]}]}
    >>> affects(record, "pillow", "9.5"), affects(record, "pillow", "10.0.0")
    (True, False)
    """
    for one in record.get("affected", ()):
        package = one.get("package", {})
        if package.get("ecosystem") != "PyPI" or canonicalize_name(package["name"]) != name:
            continue
        ranges = [part for part in one.get("ranges", ()) if part["type"] == "ECOSYSTEM"]
        if version in one.get("versions", ()) or any(
            _within(part["events"], Version(version)) for part in ranges
        ):
            return True
    return False


def _within(events: Iterable[Mapping[str, str]], version: Version) -> bool:
    """Tell whether a version lies in a range, whose events are in the order of versions."""
    inside = False
    for event in events:
        if "introduced" in event and version >= Version(event["introduced"]):
            inside = True
        if "fixed" in event and version >= Version(event["fixed"]):
            inside = False
        if "last_affected" in event and version > Version(event["last_affected"]):
            inside = False
    return inside


def main(command_line: list[str] | None = None) -> int:
    """Print a line for each hole of a pin, and how new the database is."""
    parser = argparse.ArgumentParser(prog="holes", description=__doc__.partition("\n")[0])
    parser.add_argument("database", type=Path, help="a folder or a zip archive of OSV records")
    parser.add_argument("--lock", type=Path, default=LOCK, help="what is compared with it")
    given = parser.parse_args(command_line)
    pins = {
        canonicalize_name(name): version
        for name, (version, _) in pinned(given.lock.read_text("utf-8").splitlines()).items()
    }
    count, newest, found = 0, "", []
    for record in records(given.database):
        count, newest = count + 1, max(newest, str(record.get("modified", ""))[:10])
        if "withdrawn" not in record:
            names = [record["id"], *record.get("aliases", ())]
            found += [f"{name} {version}: {', '.join(names)}" for name, version in pins.items()
                      if affects(record, name, version)]  # fmt: skip
    if not count:
        parser.error(f"{given.database} holds no record of the format OSV")
    print(*found, f"{len(pins)} pins and {count:,} records, the newest of {newest}: "
          f"{len(found) or 'no'} known holes", sep="\n")  # fmt: skip
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
