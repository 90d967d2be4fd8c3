"""All scores of the book over one memory-mapped cache: their seconds, their memory, their growth.

First every score is fitted and asked, one after another and all of them kept, as an evaluation
does.  Then each alone, on growing shares of the images: fitted anew on each share, and the fit on
all images asked for each share.  Written in long form to ``benchmarks/results/growth.parquet``:

======== ======================================================================================
score    name of the score
step     "fit" or "score"
images   how many
seconds
memory   the most that was taken up beyond mapped files, in MiB; NaN for a step of a whole run
run      "all" of one run after the other, or "alone"
======== ======================================================================================

In the row of the score "together" are the sums over the whole run, and its peak of memory.

    python -m benchmarks.growth           # 200,000 training images and 20,000 others
    python -m benchmarks.growth --full    # 500,000 and 50,000
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import shutil
import tempfile
import threading
from pathlib import Path

import numpy as np
import pandas as pd

import helpers.scores
from benchmarks.comparing import RESULTS, machine, seconds
from benchmarks.imagenet_sized import CLASSES, FEATURES, head, outputs
from helpers.outputs import Head, Outputs

SHARES = (0.1, 0.2, 0.4, 0.8)


def anonymous() -> int:
    """Return the bytes of memory that belong to no file, on Linux."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return 1024 * int(line.split()[1])
    raise OSError("/proc/self/status: no RssAnon; memory is measured on Linux alone")


class Peak:
    """The most memory, beyond mapped files, that is taken up while this is open."""

    def __enter__(self):
        gc.collect()
        # what the C library keeps for later would hide as much of what is asked for from here on
        ctypes.CDLL(None).malloc_trim(0)
        self.before = self.most = anonymous()
        self.over = threading.Event()
        self.watcher = threading.Thread(target=self._watch)
        self.watcher.start()
        return self

    def _watch(self):
        while not self.over.wait(0.01):
            self.most = max(self.most, anonymous())

    def __exit__(self, *_):
        self.over.set()
        self.watcher.join()
        self.mebibytes = (max(self.most, anonymous()) - self.before) / 2**20


def arguments_of(images: int) -> dict[str, dict]:
    """Return what scores are created with, by name: all those that read outputs alone.

    Banks of 1 % of the training images, and OpenMax with 10 logits, as their authors have them.
    """
    bank = {"k": 10, "bank": images // 100}
    chosen = {"knn": bank, "nnguide": bank, "relation": bank, "openmax": {"alpha": 10}}
    found = {}
    for name in helpers.scores.names():
        needs = helpers.scores.create(name).info.needs
        if needs != ("images",) and not {"members", "native"} & {*needs}:
            found[name] = chosen.get(name, {})
    return found


def fitted_to(name: str, train: Outputs, test: Outputs) -> Outputs:
    """Return what a score is fitted to: a mixture, as in its paper, to no more than is held out.

    As many directions as images were fitted to are compared with each image: with all training
    images the mixture alone would take hours.
    """
    return train.subset(slice(0, len(test))) if name == "gmm" else train


def measure(train: Outputs, test: Outputs, last: Head) -> list[dict]:
    """Return the rows of the table, and print them by score."""
    chosen, fitted, rows = arguments_of(len(train)), {}, []

    def keep(name, step, images, spent, memory=np.nan, run="alone"):
        rows.append({"score": name, "step": step, "images": images, "seconds": spent,
                     "memory": memory, "run": run})  # fmt: skip

    with Peak() as together:
        for name, arguments in chosen.items():
            fitted[name] = helpers.scores.create(name, **arguments)
            learnt = fitted_to(name, train, test)
            fit = seconds(lambda s=fitted[name], o=learnt: s.fit(o, last))
            score = seconds(lambda s=fitted[name]: s.score_samples(test))
            keep(name, "fit", len(learnt), fit, run="all")
            keep(name, "score", len(test), score, run="all")
            print(f"{name:12s} fit {fit:8.2f} s, score {score:8.2f} s", flush=True)
    for step, images in (("fit", len(train)), ("score", len(test))):
        spent = sum(row["seconds"] for row in rows if row["step"] == step)
        keep("together", step, images, spent, together.mebibytes, "all")
        print(f"together     {step} {spent:8.2f} s, {together.mebibytes:.0f} MiB", flush=True)

    for name, arguments in chosen.items():
        whole = fitted.pop(name)
        for share in SHARES:
            learnt, asked = (  # new outputs, which keep no moments of another fit
                some.subset(slice(0, int(share * len(some))))
                for some in (fitted_to(name, train, test), test)
            )
            with Peak() as fit:
                score = helpers.scores.create(name, **arguments)
                spent = seconds(lambda s=score, o=learnt: s.fit(o, last))
            keep(name, "fit", len(learnt), spent, fit.mebibytes)
            del score
            with Peak() as ask:
                spent = seconds(lambda s=whole, o=asked: s.score_samples(o))
            keep(name, "score", len(asked), spent, ask.mebibytes)
        own = [row for row in rows if row["score"] == name and row["run"] == "alone"]
        said = []
        for step in ("fit", "score"):
            part = [row for row in own if row["step"] == step]
            images, times = ([row[key] for row in part] for key in ("images", "seconds"))
            if min(times) > 1e-3:
                said.append(f"{np.polyfit(np.log(images), np.log(times), 1)[0]:.2f} ({step})")
        print(f"{name:12s} at most {max(row['memory'] for row in own):6.0f} MiB; grows with N to "
              f"the power {', '.join(said)}", flush=True)  # fmt: skip
    return rows


def main(arguments: list[str] | None = None) -> None:
    """Measure all of it, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="500,000 training images")
    images = 50_000 if parser.parse_args(arguments).full else 20_000
    size = 11 * images * (FEATURES + CLASSES) * 4
    with tempfile.TemporaryDirectory() as folder:
        if (free := shutil.disk_usage(folder).free) < 1.2 * size:
            raise OSError(f"{folder}: {1.2 * size / 1e9:.1f} GB expected, {free / 1e9:.1f} GB free")
        train, test = (outputs(count, seed, Path(folder))
                       for count, seed in ((10 * images, 1), (images, 2)))  # fmt: skip
        print(f"{machine()}, {FEATURES:,} features, {CLASSES:,} classes, {images:,} images, "
              f"{len(train):,} in training, {size / 1e9:.1f} GB mapped")  # fmt: skip
        table = pd.DataFrame(measure(train, test, head())).assign(machine=machine())
    RESULTS.mkdir(exist_ok=True)
    table.to_parquet(RESULTS / "growth.parquet", index=False)


if __name__ == "__main__":
    main()
