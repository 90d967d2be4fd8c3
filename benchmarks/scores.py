"""The scores against pytorch-ood and plain loops on the same arrays; their memory and growth.

What is compared is first checked to agree, up to the convention that is named.  Both sides use
all cores.  Where the other side is slow it gets fewer images, and times are per image.

    python -m benchmarks.scores           # some minutes
    python -m benchmarks.scores --full    # memory and growth at 50,000 images, 500,000 in training
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import os
import platform
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.stats
import torch

import helpers.scores
from helpers.outputs import Head, Outputs
from helpers.scores.vim import principal_dimensions

FEATURES, CLASSES = 2048, 1000
ROUNDS = 3


def head() -> Head:
    """Return a head whose classes share their features, as those of a network do."""
    generator = np.random.default_rng(0)
    weight = generator.normal(size=(CLASSES, FEATURES)) / np.sqrt(FEATURES)
    return Head(weight.astype(np.float32), generator.normal(size=CLASSES).astype(np.float32) / 10)


def outputs(folder: Path, count: int, seed: int) -> Outputs:
    """Return outputs that lie in memory-mapped files: features as a ReLU leaves them."""
    generator, last = np.random.default_rng(seed), head()
    arrays = [
        np.lib.format.open_memmap(folder / f"{name}_{seed}.npy", "w+", np.float32, (count, width))
        for name, width in (("logits", CLASSES), ("features", FEATURES))
    ]
    labels = np.arange(count) % CLASSES
    for start in range(0, count, 4096):
        rows = slice(start, start + 4096)
        noise = generator.standard_normal((len(labels[rows]), FEATURES), dtype=np.float32)
        arrays[1][rows] = np.maximum(noise + 10 * last.weight[labels[rows]], 0)
        arrays[0][rows] = arrays[1][rows] @ last.weight.T + last.bias
    paths = [array.filename for array in arrays]
    del arrays
    return Outputs(*(np.load(path, mmap_mode="r") for path in paths), labels)


def alternating(ours: Callable, theirs: Callable, rounds: int) -> tuple[list[float], list[float]]:
    """Return the seconds of both, taken in turn."""
    seconds = [], []
    for _ in range(rounds):
        for function, column in zip((ours, theirs), seconds, strict=True):
            start = time.perf_counter()
            function()
            column.append(time.perf_counter() - start)
    return seconds


def report(title: str, ours: list[float], theirs: list[float], share: float, note: str) -> None:
    """Print how many times as fast ours is, where theirs did `share` of the work."""
    ratios = sorted(b / share / a for a, b in zip(ours, theirs, strict=True))
    print(
        f"{title:32s} ours {1e3 * statistics.median(ours):10.1f} ms  "
        f"theirs {1e3 * statistics.median(theirs) / share:12.1f} ms  ratio "
        f"{statistics.median(ratios):8.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})  {note}",
        flush=True,
    )


def peers(train: Outputs, last: Head) -> dict[str, tuple]:
    """Return for each score: the other side's detector, what fits and asks it, how many images
    it gets of 1,024, our arguments, by what its scores are multiplied, and its convention."""
    from pytorch_ood import detector

    linear = torch.nn.Linear(FEATURES, CLASSES)
    linear.load_state_dict({n: torch.from_numpy(getattr(last, n)) for n in ("weight", "bias")})

    def flat(maps):
        return linear(maps.flatten(1))

    weight, bias = linear.weight.data, linear.bias.data
    n, everything, dim = len(train), 1024, principal_dimensions(FEATURES)
    whole = {"bank": n}
    single = "sums in single precision"
    return {
        "max_logit": (detector.MaxLogit(None), "logits", everything, {}, 1, ""),
        "energy": (detector.EnergyBased(None), "logits", everything, {}, 1, ""),
        "entropy": (detector.Entropy(None), "logits", everything, {}, 1, single),
        "gen": (detector.GEN(None, M=100), "logits", everything, {}, 100, "mean, p above 1e-7"),
        "kl_matching": (detector.KLMatching(None), "logits", everything, {}, 1, single),
        "react": (detector.ReAct(None, flat), "feature_maps", everything, {}, 1, "interpolates"),
        "ash": (detector.ASH(None, flat, percentile=0.9), "feature_maps", everything, {}, 1, ""),
        "scale": (detector.SCALE(None, flat, percentile=0.85), "feature_maps", everything, {}, 1,
                  "takes the logits anew"),
        "mahalanobis": (detector.Mahalanobis(None), "features", 64, {}, 2 * n,
                        "half, covariance not divided by N"),
        "rmds": (detector.RMD(None), "features", 64, {}, n, "covariances not divided by N"),
        "dice": (detector.DICE(None, weight, bias, p=0.9), "features", 64, {}, 1, ""),
        "knn": (detector.KNN(None), "features", everything, {}, 1, ""),
        "vim": (detector.ViM(None, dim, weight, bias), "features", everything, {}, 1, ""),
        "she": (detector.SHE(None, linear), "features", everything, {}, 1, "takes the logits anew"),
        "fdbd": (detector.fDBD(None, linear), "features", everything, {}, 1,
                 "takes the logits anew"),
        "nnguide": (detector.NNGuide(None, linear), "features", everything, whole, 1, ""),
        "gradnorm": (detector.GradNorm(linear, lambda name: name == "weight"), "", 128, {}, 1, ""),
    }  # fmt: skip


def tensors(some: Outputs, kind: str) -> torch.Tensor:
    """Return what detectors of this kind are shown, in memory."""
    array = torch.from_numpy(np.array(some.logits if kind == "logits" else some.features))
    return array[:, :, None, None] if kind == "feature_maps" else array


def against_pytorch_ood(train: Outputs, test: Outputs, last: Head) -> None:
    """Print how fast every score of pytorch-ood is fitted and asked, and how far it is off."""
    labels = torch.from_numpy(train.labels)
    in_memory = Outputs(np.array(train.logits), np.array(train.features), train.labels)
    for name, (peer, kind, images, arguments, factor, note) in peers(train, last).items():
        score = helpers.scores.create(name, **arguments)
        shown, learnt = tensors(test, kind)[:images], tensors(train, kind)
        ask = getattr(peer, f"predict_{kind}" if kind else "predict")
        fit = getattr(peer, f"fit_{kind}", None)
        slow = images < len(test)
        if fit is not None and "training outputs" in score.info.needs:
            rounds = 1 if slow else 3
            times = alternating(
                lambda s=score: s.fit(in_memory, last), lambda f=fit, x=learnt: f(x, labels), rounds
            )
            report(f"{name}, fit", *times, 1.0, f"{len(train):,} images")
        else:
            score.fit(in_memory, last)
        ours, theirs = score.score_samples(test), -factor * ask(shown).detach().double().numpy()
        off = np.abs(ours[:images] - theirs).max() / ours.std()
        times = alternating(
            lambda s=score: s.score_samples(test),
            lambda a=ask, x=shown: a(x),
            2 if slow else ROUNDS,
        )
        agrees = f"agree to {off:.1e} of their spread" + (f"; theirs: {note}" if note else "")
        report(name, *times, images / len(test), agrees + (f"; on {images}" if slow else ""))

    few = train.subset(train.labels < 50)
    logits, labels = torch.from_numpy(few.logits), torch.from_numpy(few.labels)
    from pytorch_ood.detector import OpenMax

    times = alternating(
        lambda: helpers.scores.create("openmax").fit(few, last),
        lambda: OpenMax(None, tailsize=20).fit_logits(logits, labels),
        1,
    )
    report("openmax, fit of 50 classes", *times, 1.0, "theirs: all images, three parameters")


def against_loops(train: Outputs, test: Outputs, last: Head) -> None:
    """Print the same for loops over the definitions, as other libraries have them."""
    score = helpers.scores.create("kl_matching").fit(train, last)
    templates = np.exp(score.log_templates.exact[0])
    few = test.subset(slice(0, 8))

    def divergences():
        return [-min(scipy.stats.entropy(p, d) for d in templates) for p in few.probabilities]

    assert np.allclose(score.score_samples(few), divergences(), atol=1e-9)
    times = alternating(lambda: score.score_samples(test), divergences, 2)
    report("kl_matching, loop", *times, len(few) / len(test), f"on {len(few)}")

    score, few = helpers.scores.create("gradnorm"), test.subset(slice(0, 64))
    linear = torch.nn.Linear(FEATURES, CLASSES)
    linear.load_state_dict({n: torch.from_numpy(getattr(last, n)) for n in ("weight", "bias")})
    uniform = torch.full((CLASSES,), 1 / CLASSES)

    def gradients():
        found = []
        for features in torch.from_numpy(few.features.copy()):
            loss = torch.nn.functional.cross_entropy(linear(features), uniform)
            found.append(float(torch.autograd.grad(loss, linear.weight)[0].abs().sum()))
        return found

    assert np.allclose(score.score_samples(few), gradients(), rtol=1e-3)
    times = alternating(lambda: score.score_samples(test), gradients, 2)
    report("gradnorm, loop", *times, len(few) / len(test), f"on {len(few)}")


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

    @property
    def mebibytes(self) -> float:
        return (self.most - self.before) / 2**20


def growth(train: Outputs, test: Outputs, last: Head) -> None:
    """Print memory and seconds of every score, and the power of N with which they grow."""
    # Banks of 1 % of the training images and OpenMax with 10 logits, as their authors have them.
    bank = {"k": 10, "bank": len(train) // 100}
    chosen = {"knn": bank, "nnguide": bank, "openmax": {"alpha": 10}}
    shares = (0.1, 0.2, 0.4, 0.8)
    kept, total = [], 0.0
    with Peak() as together:
        for name in helpers.scores.names():
            needs = helpers.scores.create(name).info.needs
            if needs == ("images",) or {"members", "native"} & {*needs}:
                continue  # what these read is not among the arrays
            seconds = {"fit": [], "score": []}
            for share in shares:
                part = train.subset(slice(0, int(share * len(train))))
                few = test.subset(slice(0, int(share * len(test))))
                score = helpers.scores.create(name, **chosen.get(name, {}))
                start = time.perf_counter()
                score.fit(part, last)
                seconds["fit"].append(time.perf_counter() - start)
                start = time.perf_counter()
                score.score_samples(few)
                seconds["score"].append(time.perf_counter() - start)
            with Peak() as alone:
                start = time.perf_counter()
                score = helpers.scores.create(name, **chosen.get(name, {})).fit(train, last)
                kept.append((score, score.score_samples(test)))
                whole = time.perf_counter() - start
            total += whole
            powers = {
                step: np.polyfit(np.log(shares), np.log(times), 1)[0]
                for step, times in seconds.items()
                if min(times) > 1e-3
            }
            print(
                f"{name:12s} {whole:8.2f} s, {alone.mebibytes:6.0f} MiB; grows with N to the power "
                + ", ".join(f"{power:.2f} ({step})" for step, power in powers.items()),
                flush=True,
            )
    print(f"all together {total:8.2f} s, {together.mebibytes:6.0f} MiB beyond the mapped files")


def main(arguments: list[str] | None = None) -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="50,000 images and 500,000 in training")
    full = parser.parse_args(arguments).full
    images = 50_000 if full else 5_000
    size = 11 * images * (FEATURES + CLASSES) * 4
    with tempfile.TemporaryDirectory() as folder:
        if (free := shutil.disk_usage(folder).free) < 1.2 * size:
            raise OSError(f"{folder}: {1.2 * size / 1e9:.1f} GB expected, {free / 1e9:.1f} GB free")
        last = head()
        train, test = outputs(Path(folder), 10 * images, 1), outputs(Path(folder), images, 2)
        print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, "
              f"{FEATURES:,} features, {CLASSES:,} classes")  # fmt: skip
        fitted, asked = train.subset(slice(0, 20_000)), test.subset(slice(0, 1024))
        if importlib.util.find_spec("pytorch_ood"):
            against_pytorch_ood(fitted, asked, last)
        else:
            print("pytorch-ood is not installed: pip install -e '.[bench]'")
        against_loops(fitted, asked, last)
        print(f"{images:,} images, {10 * images:,} in training, memory-mapped")
        growth(train, test, last)


if __name__ == "__main__":
    main()
