"""Seven scores on six data sets, network included, against pytorch-ood's own benchmark.

Here a network sees each data set once, and its outputs are kept; all scores are computed from
them.  pytorch-ood's `Benchmark.evaluate` gets the same network, images and batch size, Pillow
images and torchvision's transforms as its data sets have them, and its detectors in two ways: one
after the other, as its first example does, and all in one call, which shares logits and features
among them.  It puts the known images before each of the six sets.

    python -m benchmarks.extraction
"""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from pytorch_ood import detector
from pytorch_ood.benchmark import Benchmark
from torch.utils.data import DataLoader

import helpers.scores
from benchmarks.comparing import Comparison, agree, seconds
from benchmarks.training import PillowImages, pillow_transform
from helpers import data, metrics
from helpers.networks.recipe import Recipe
from helpers.training.fitted import Fitted, fit

UNKNOWN = ("plasma", "terrain", "voronoi", "gratings", "bubbles", "mazes")
SCORES = ("msp", "max_logit", "energy", "entropy", "mahalanobis", "vim", "knn")
IMAGES, BATCH, DIMENSIONS, NEIGHBOURS = 1000, 128, 32, 50
RECIPE = Recipe(depth=8, width=16, stem_stride=2, epochs=3, batch_size=32, threads=1)


class SixDataSets(Benchmark):
    """The data sets as pytorch-ood's own benchmarks hold theirs."""

    def __init__(self, known: data.Images, unknown: dict[str, data.Images], transform: Callable):
        self.known = PillowImages(known, transform)
        self.unknown = [PillowImages(images, transform) for images in unknown.values()]
        self.ood_names = list(unknown)

    def train_set(self):
        """Return none: detectors are fitted before."""
        raise NotImplementedError

    def test_sets(self, known=True, unknown=True):
        """Return the known images together with each set of unknown ones."""
        return [self.known + other for other in self.unknown]


def detectors(trained: Fitted) -> dict[str, detector.Detector]:
    """Return pytorch-ood's detectors by the names that the scores have here."""
    network = trained.classifier.backbone
    last = network.get_classifier()

    def encoder(images: torch.Tensor) -> torch.Tensor:  # one for all, or its cache is of no use
        with torch.no_grad():
            return network.forward_head(network.forward_features(images), pre_logits=True)

    return {
        "msp": detector.MaxSoftmax(network),
        "max_logit": detector.MaxLogit(network),
        "energy": detector.EnergyBased(network),
        "entropy": detector.Entropy(network),
        "mahalanobis": detector.Mahalanobis(encoder),
        "vim": detector.ViM(encoder, DIMENSIONS, last.weight, last.bias),
        "knn": detector.KNN(encoder, k=NEIGHBOURS),
    }


def fitted(trained: Fitted, train: data.Images, names: tuple[str, ...] = SCORES) -> dict:
    """Return scores fitted on the outputs of the training images."""
    outputs = trained.outputs(replace(train))
    arguments = {"vim": {"dim": DIMENSIONS}, "knn": {"k": NEIGHBOURS}}
    scores = {}
    for name in names:
        score = helpers.scores.create(name, **arguments.get(name, {}))
        scores[name] = score.fit(outputs, trained.classifier.head)
    return scores


def evaluated(trained: Fitted, known: data.Images, unknown: dict, scores: dict) -> dict:
    """Return each score's metrics on each data set."""
    found = {}
    # `replace` makes images whose digest is not known yet
    asked = trained.outputs(replace(known))
    of_known = {name: score.score_samples(asked) for name, score in scores.items()}
    for other, images in unknown.items():
        outputs = trained.outputs(replace(images))
        correct = np.concatenate([asked.correct, outputs.correct])
        is_known = np.arange(len(correct)) < len(asked)
        for name, score in scores.items():
            both = np.concatenate([of_known[name], score.score_samples(outputs)])
            found[name, other] = metrics.detection_metrics(both, correct, is_known)
    return found


def check(found: dict, said: list[dict]) -> None:
    """Refuse to compare where the AUROCs differ by more than single precision explains."""
    said = iter(said)
    for other in UNKNOWN:
        for name in SCORES:
            agree(found[name, other].auroc, next(said)["AUROC"], within=1e-4)


def images_shown(network: torch.nn.Module, function: Callable) -> int:
    """Return how many images pass through a network while a function runs."""
    counts = []
    hook = network.conv1.register_forward_hook(lambda _, __, found: counts.append(len(found)))
    function()
    hook.remove()
    return sum(counts)


def main() -> None:
    """Measure everything, and keep it."""
    before = os.environ.get("CACHE_ROOT")
    with tempfile.TemporaryDirectory() as folder:
        try:
            measure(Path(folder))
        finally:
            os.environ.pop("CACHE_ROOT")
            if before is not None:
                os.environ["CACHE_ROOT"] = before


def measure(folder: Path) -> None:
    """Measure everything with empty caches below a folder, and keep it."""
    numbers = itertools.count()

    def empty_cache() -> None:
        os.environ["CACHE_ROOT"] = str(folder / str(next(numbers)))

    torch.set_num_threads(RECIPE.threads)
    train = data.load("cifar10_mini", "train")
    known = data.load("cifar10_mini", "test").subset(slice(0, IMAGES))
    unknown = {  # of none of the network's classes
        name: data.load(name, "train").subset(slice(0, IMAGES)).renumber(known.class_names)
        for name in UNKNOWN
    }
    empty_cache()
    trained = fit(train, RECIPE, device="cpu", progress=False)
    network = trained.classifier.backbone.requires_grad_(False)
    scores = fitted(trained, train)
    found = evaluated(trained, known, unknown, scores)
    benchmark = SixDataSets(known, unknown, pillow_transform(train))
    examples = PillowImages(train, pillow_transform(train))
    peers, loader = detectors(trained), {"batch_size": BATCH, "num_workers": 0}
    threads = RECIPE.threads  # theirs; ours are the recipe's

    @contextlib.contextmanager
    def on_threads() -> Iterator[None]:
        torch.set_num_threads(threads)
        yield
        torch.set_num_threads(RECIPE.threads)

    @on_threads()
    def fit_theirs() -> None:
        for one in peers.values():
            one.to("cpu").fit(DataLoader(examples, **loader))

    @on_threads()
    def together() -> list[dict]:
        return benchmark.evaluate(list(peers.values()), loader_kwargs=loader)

    @on_threads()
    def one_by_one() -> None:
        for one in peers.values():
            benchmark.evaluate(one, loader_kwargs=loader)

    def fit_theirs_and_evaluate() -> None:
        fit_theirs()
        together()

    def ours(names: tuple[str, ...] = SCORES) -> None:
        empty_cache()
        evaluated(trained, known, unknown, {name: scores[name] for name in names})

    def fit_ours_and_evaluate() -> None:
        empty_cache()
        evaluated(trained, known, unknown, fitted(trained, train))

    fit_theirs()
    check(found, together())
    times, cores = {}, os.cpu_count() or 1
    for workers, threads in itertools.product((0, 2), {1, cores}):
        loader["num_workers"] = workers
        times[workers, threads] = seconds(together)
    loader["num_workers"], threads = min(times, key=times.get)
    comparison = Comparison("extraction")
    size = f"{len(SCORES)} scores × {len(unknown)} data sets of {IMAGES:,} images, ResNet-8"
    for work, peer, own, theirs, rounds in (
        ("outputs and scores", "one after the other", ours, one_by_one, 2),
        ("outputs and scores", "all in one call", ours, together, 3),
        ("the same, and fitting on 3,000", "all in one call", fit_ours_and_evaluate,
         fit_theirs_and_evaluate, 3),
    ):  # fmt: skip
        shown = [images_shown(network, function) for function in (own, theirs)]
        comparison.add(
            work, size, f"pytorch-ood, {peer}", own, theirs, wanted=5, rounds=rounds,
            note=f"the network sees {shown[0]:,} images here, {shown[1]:,} there, where the "
            f"DataLoader has {loader['num_workers']} workers and the network {threads} threads, "
            "the fastest of four ways",
            limit=f"the network's own time: {shown[1] / shown[0]:.1f} times as many images there, "
            f"on {threads} cores; the network runs on one here, as the recipe says",
        )  # fmt: skip
    comparison.add(
        "outputs and scores, seven against one", size, "ours with MSP alone", ours,
        lambda: ours(SCORES[:1]), wanted=0.5,
    )  # fmt: skip
    comparison.write()


if __name__ == "__main__":
    main()
