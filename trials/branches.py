"""Which statements and branches of the core the tests take: coverage.py, told in rows.

    python -m trials.branches          # minutes; runs the tests of these rooms

What is not taken is listed line by line in the rows, so that each can be looked at; what cannot be
taken here (another processor, a package that is not installed) is named in `EXCEPTIONS`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import trials

ROOMS = ("metrics", "scores", "labelfree", "audit", "testing")
TESTS = ("tests/metrics", "tests/scores", "tests/labelfree", "tests/audit", "tests/testing",
         "tests/generated", "tests/benchmark/test_contests.py", "tests/test_findings.py",
         "tests/test_outputs.py",
         *(f"helpers/{room}" for room in ROOMS))  # fmt: skip
CONFIGURATION = """
[run]
branch = true
source = {source}
parallel = true
patch = subprocess

[report]
exclude_also =
    if TYPE_CHECKING:
    raise NotImplementedError
    class .*Protocol
"""
_ON_A_GPU = "on a GPU alone, which no machine of the tests is promised"
EXCEPTIONS = {
    'helpers/scores/gradients.py: if device.type != "cpu":': _ON_A_GPU,
    "helpers/scores/gradients.py: size = -(-size // 4)  # the gradient needs that much more memory":
        _ON_A_GPU,
    "helpers/metrics/calibration.py: raise":
        "the line before it refuses all rows where some are refused; without it, a row that is "
        "refused within a block alone would be taken",
}  # fmt: skip
"""Why a line is not taken, by ``FILE: text of the line``."""


def measure(folder: Path) -> dict:
    """Run the tests, and return what coverage.py says, as its JSON."""
    source = "".join(f"\n    {trials.ROOT / 'helpers' / room}" for room in ROOMS)
    (folder / "coveragerc").write_text(CONFIGURATION.format(source=source))
    command = [sys.executable, "-m", "coverage"]
    options = ["--rcfile", folder / "coveragerc", "--data-file", folder / "data"]
    asked = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
    subprocess.run([*command, "run", *options, *asked], cwd=trials.ROOT, check=True)
    subprocess.run([*command, "combine", *options, folder], cwd=trials.ROOT, check=True)
    found = folder / "found.json"
    subprocess.run([*command, "json", *options, "-o", found], cwd=trials.ROOT, check=True)
    return json.loads(found.read_text())


def rows(found: dict) -> list[dict]:
    """Return a row for each file: how much there is, what of it is taken, and what is missing."""
    made = []
    for file, one in sorted(found["files"].items()):
        path = Path(file)
        path = path.relative_to(trials.ROOT) if path.is_absolute() else path
        lines = (trials.ROOT / path).read_text(encoding="utf-8").splitlines()
        missing = {*one["missing_lines"], *(start for start, _ in one["missing_branches"])}
        texts = [lines[abs(number) - 1].strip() for number in sorted(missing)]
        named = [text for text in texts if f"{path.as_posix()}: {text}" in EXCEPTIONS]
        made.append(
            {
                "room": path.parts[1], "file": path.as_posix(),
                "statements": one["summary"]["num_statements"],
                "statements_taken": one["summary"]["covered_lines"],
                "branches": one["summary"]["num_branches"],
                "branches_taken": one["summary"]["covered_branches"],
                "missing": " | ".join(text for text in texts if text not in named),
                "exceptions": " | ".join(named),
            }
        )  # fmt: skip
    return made


def main(command_line: list[str] | None = None) -> int:
    """Measure, write the table, print what is missing."""
    argparse.ArgumentParser(prog="python -m trials.branches").parse_args(command_line)
    with tempfile.TemporaryDirectory() as folder:
        table = trials.write("branches", rows(measure(Path(folder))))
    for row in table[table["missing"] != ""].itertuples():
        print(f"{row.file}: {row.missing}")
    taken, there = table["branches_taken"].sum(), table["branches"].sum()
    print(f"{taken:,} of {there:,} branches")
    return 0


if __name__ == "__main__":
    sys.exit(main())
