"""The page of dependencies: each pinned package with its licence, as its own metadata states it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
LONGEST = 60
"""Characters of a licence in the table; some packages put the whole text there."""


def pinned(lock: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return version and environment marker of each package that a lock file pins.

    >>> pinned(["# made by uv", "numpy==2.4.6", "appnope==1.0.0 ; sys_platform == 'darwin'"])
    {'numpy': ('2.4.6', ''), 'appnope': ('1.0.0', "sys_platform == 'darwin'")}
    """
    found = {}
    for line in lock:
        if match := re.match(r"([\w.-]+)==([^\s;]+)\s*(?:;\s*(.*))?$", line.strip()):
            found[match[1]] = (match[2], match[3] or "")
    return found


def licence(fields: Mapping[str, str], classifiers: Iterable[str] = ()) -> str:
    """Return the licence of a package's metadata: the expression, else classifiers, else a name.

    >>> licence({"License-Expression": "BSD-3-Clause"})
    'BSD-3-Clause'
    >>> licence({"License": "MIT License"}, ["License :: OSI Approved :: MIT License"])
    'MIT License'
    >>> licence({"License": "Copyright (c) all of us" + 99 * " and more"})
    'see its own text'
    >>> licence({})
    'not stated'
    """
    if stated := fields.get("License-Expression"):
        return stated
    named = [one.rpartition(" :: ")[2] for one in classifiers if one.startswith("License ::")]
    if named := [one for one in named if one != "OSI Approved"]:
        return ", ".join(named)
    stated = (fields.get("License") or "").strip()
    if "\n" in stated or len(stated) > LONGEST:
        return "see its own text"
    return stated if stated not in ("", "UNKNOWN") else "not stated"


def page() -> str:
    """Return the page, as Markdown, from the lock file and the packages that are installed."""
    rows = []
    for name, (version, marker) in pinned(LOCK.read_text(encoding="utf-8").splitlines()).items():
        try:
            fields = metadata(name)
        except PackageNotFoundError:
            stated, where = "not installed here", f"`{marker}`" if marker else ""
        else:
            own = {key: fields[key] for key in ("License-Expression", "License") if key in fields}
            stated, where = licence(own, fields.get_all("Classifier") or ()), ""
            if fields["Version"] != version:
                where = f"installed: {fields['Version']}"
        rows.append(f"| {name} | {version} | {stated.replace('|', '/')} | {where} |")
    return "\n".join(
        [
            "# Dependencies and licences\n",
            "What `requirements.lock` pins, with the licence that each package states in its own "
            "metadata; read from the packages that were installed when this page was made.\n",
            "| package | version | licence | |",
            "| --- | --- | --- | --- |",
            *rows,
            "",
        ]
    )
