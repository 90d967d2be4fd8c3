"""Run every benchmark, each in a separate process: ``python -m benchmarks``."""

import subprocess
import sys

failed = [
    name
    for name in ("peers", "training")
    if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"]).returncode
]
if failed:
    sys.exit(f"failed, see above: {', '.join(failed)}")
