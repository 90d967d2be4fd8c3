"""Run every benchmark, each in a separate process: ``python -m benchmarks``."""

import subprocess
import sys

BENCHMARKS = ("peers", "training")

failed = [
    name
    for name in BENCHMARKS
    if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"]).returncode
]
if failed:
    sys.exit(f"failed, see above: {', '.join(failed)}")
