"""Small networks trained several at a time against one at a time: models per minute.

As ``workflow/sweep.py --processes`` trains them: on the GPU if there is one, which a small network
does not fill, else one on each core.  Processes are started, and each has trained a network, before
the clock runs.

    python -m benchmarks.side_by_side
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from helpers import data, models
from helpers.training.loop import default_device, device_name, train
from helpers.training.recipe import Recipe

ROUNDS, MODELS = 3, 8
RECIPE = Recipe(depth=8, width=16, stem_stride=2, epochs=2, batch_size=64)


def trained(seed: int) -> int:
    """Train one network; return the process that did."""
    images = data.load("cifar10_mini", "train")
    classifier = models.create(RECIPE, len(images.class_names), seed=seed)
    train(classifier, images, RECIPE, seed=seed, device=default_device(), progress=False)
    return os.getpid()


def per_minute(pool: ProcessPoolExecutor) -> float:
    """Return models per minute of a pool that is warm."""
    start = time.perf_counter()
    list(pool.map(trained, range(MODELS)))
    return 60 * MODELS / (time.perf_counter() - start)


def warm(pool: ProcessPoolExecutor, processes: int) -> ProcessPoolExecutor:
    """Let every process of a pool train once."""
    seen: set[int] = set()
    while len(seen) < processes:
        seen |= set(pool.map(trained, range(processes)))
    return pool


def main() -> None:
    """Print models per minute, and the ratio to one at a time, the median over rounds."""
    device, cores = default_device(), os.cpu_count() or 1
    print(f"{platform.processor() or platform.machine()}, {device_name(device, 1)}, ResNet-8")
    most = 8 if device == "cuda" else min(cores, 8)
    counts = [one for one in (1, 2, 4, 8) if one <= most]
    pools = {
        count: warm(ProcessPoolExecutor(count, mp_context=get_context("spawn")), count)
        for count in counts
    }
    speeds = {count: [] for count in counts}
    for _ in range(ROUNDS):
        for count, pool in pools.items():
            speeds[count].append(per_minute(pool))
    for count, pool in pools.items():
        pool.shutdown()
        ratios = sorted(one / base for one, base in zip(speeds[count], speeds[1], strict=True))
        print(f"{count} at a time: {statistics.median(speeds[count]):,.1f} models per minute, "
              f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})",
              flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
