"""What the command ``known-unknowns audit`` costs: CPU seconds and memory, on files made up for it.

Each audit is a process of its own, with one thread for linear algebra, so that its CPU seconds
hardly depend on what else the machine does; the least of some rounds counts.

    python -m benchmarks.auditing
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.comparing import RESULTS, machine

CLASSES, BLOCK = 1000, 20_000
SIZES = {
    "10,000 images": {"images": 10_000, "features": 1280, "sets": 3, "train": 0, "rounds": 3},
    "and 20,000 training images": {
        "images": 10_000, "features": 1280, "sets": 3, "train": 20_000, "rounds": 1,
    },
    "1,000,000 images": {"images": 1_000_000, "features": 64, "sets": 1, "train": 0, "rounds": 1},
}  # fmt: skip
"""Files of a thousand classes; sets of unknown images are as large, 100,000 images at the most."""
WANTED = {"10,000 images": 5, "and 20,000 training images": 40}
"""CPU seconds, at the most."""


def make(path: Path, images: int, features: int, sets: int, train: int) -> None:
    """Write outputs of a model that is right on about every second image."""
    weight = np.random.default_rng(0).normal(size=(CLASSES, features)).astype(np.float32)
    noise = 2.2 if features < CLASSES else 7.5
    head = 0.9 * weight / np.sqrt(features)

    def draw(count: int, seed: int, known: bool) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        generator = np.random.default_rng(seed)
        for start in range(0, count, BLOCK):
            size = min(BLOCK, count - start)
            labels = generator.integers(CLASSES, size=size)
            values = noise * generator.standard_normal((size, features), dtype=np.float32)
            yield np.maximum(values + weight[labels] if known else values, 0), labels

    kinds = {
        "features": ((features,), np.float32, lambda values, labels: values),
        "logits": ((CLASSES,), np.float32, lambda values, labels: values @ head.T),
        "labels": ((), np.int64, lambda values, labels: labels),
    }
    parts = [("", images, True), ("train_", train, True)]
    parts += [(f"ood_{place}_", min(images, 100_000), False) for place in range(sets)]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for seed, (name, count, known) in enumerate(parts):
            for kind, (shape, dtype, pick) in kinds.items():
                if not count or (kind == "labels" and not known):
                    continue
                with archive.open(f"{name}{kind}.npy", "w", force_zip64=True) as file:
                    told = {"descr": np.dtype(dtype).str, "fortran_order": False}
                    np.lib.format.write_array_header_1_0(file, told | {"shape": (count, *shape)})
                    for part in draw(count, seed, known):
                        file.write(np.ascontiguousarray(pick(*part), dtype).tobytes())
        for name, array in (("weight", head), ("bias", np.zeros(CLASSES, np.float32))):
            with archive.open(f"head_{name}.npy", "w") as file:
                np.save(file, array)


def run(path: Path, folder: Path) -> dict[str, float]:
    """Audit a file; return CPU seconds, wall seconds and the most memory, mapped files included."""
    command = [sys.executable, "-m", "known_unknowns", "audit", str(path), "--force"]
    began = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--out", str(folder / "audit")], stdout=subprocess.DEVNULL,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{path.name}: the audit ended with {status}")
    return {
        "cpu": used.ru_utime + used.ru_stime,
        "wall": time.perf_counter() - began,
        "memory": used.ru_maxrss / 1024,
    }


def main() -> None:
    """Measure the audits, print what they cost, and write the table."""
    rows = []
    for name, size in SIZES.items():
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            make(folder / "outputs.npz", **{key: size[key] for key in size if key != "rounds"})
            bytes_of = (folder / "outputs.npz").stat().st_size
            found = [run(folder / "outputs.npz", folder) for _ in range(size["rounds"])]
        best = min(found, key=lambda one: one["cpu"])
        rows.append({"work": name, **size, "file": bytes_of / 2**20, **best,
                     "load": os.getloadavg()[0], "machine": machine()})  # fmt: skip
        print(rows[-1], flush=True)
    RESULTS.mkdir(exist_ok=True)
    pd.DataFrame(rows).to_parquet(RESULTS / "auditing.parquet", index=False)


if __name__ == "__main__":
    main()
