"""Run every benchmark of this folder, each in a process of its own: ``python -m benchmarks``."""

import subprocess
import sys
from importlib.util import find_spec

BENCHMARKS = (
    "checks", "metrics", "gscore", "labelfree", "jacobian", "extraction", "training",
    "training_gpu", "scores", "growth", "streaming", "auditing", "paper_cost", "pipeline",
)  # fmt: skip

if find_spec("torch_uncertainty") is None:
    sys.exit('the peers are missing: pip install -e ".[bench]"')
failed = []
for name in BENCHMARKS:
    print(f"— {name}", flush=True)
    if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"]).returncode:
        failed.append(name)
if failed:
    sys.exit(f"failed, see above: {', '.join(failed)}")
