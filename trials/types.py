"""Whether the public surface keeps to its types: mypy, told in rows.

python -m trials.types             # wants the extra `trials`
"""

from __future__ import annotations

import re
import subprocess
import sys

import trials

CHECKED = ("known_unknowns", "helpers/checks.py", "helpers/files.py", "helpers/outputs.py",
           "helpers/metrics", "known_unknowns/auditing/rejector.py",
           "known_unknowns/auditing/inputs.py", "known_unknowns/auditing/auditing.py")  # fmt: skip
OPTIONS = ("--ignore-missing-imports", "--follow-imports=silent", "--no-error-summary",
           "--show-error-codes", "--python-version=3.11")  # fmt: skip


def rows(said: str) -> list[dict]:
    """Return a row for each thing that is checked: how many errors, and what they say.

    >>> rows("helpers/checks.py:3: error: No  [misc]")[1]
    {'checked': 'helpers/checks.py', 'errors': 1, 'words': '3: No  [misc]'}
    """
    found = re.findall(r"^(\S+?):(\d+): error: (.*)$", said, re.M)
    return [
        {
            "checked": name,
            "errors": len(own := [one for one in found if one[0].startswith(name)]),
            "words": " | ".join(f"{line}: {text}" for _, line, text in own),
        }
        for name in CHECKED
    ]


def main() -> int:
    """Check, write the table; 1 if there is an error."""
    command = [sys.executable, "-m", "mypy", *OPTIONS, *CHECKED]
    done = subprocess.run(command, cwd=trials.ROOT, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(done.stdout + done.stderr)
    table = trials.write("types", rows(done.stdout))
    print(done.stdout or "no error", end="")
    return int(table["errors"].sum() > 0)


if __name__ == "__main__":
    sys.exit(main())
