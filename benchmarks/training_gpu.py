"""The training loop on a GPU: against a DataLoader, and against the best loop written by hand.

ResNet-18 for images of 32×32, on the embedded ones repeated up to CIFAR-10's number: how fast a
network learns them does not matter here, only that all loops learn them alike.  The loop by hand
has the images on the GPU, prepares an epoch at once, and replays its step as a CUDA graph, with
and without ``torch.compile``; the faster of both counts.  Its compilation is not timed.

    python -m benchmarks.training_gpu
"""

from __future__ import annotations

import math
import os
import statistics
import time

import numpy as np
import torch
import torchvision
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.comparing import RESULTS, Comparison, agree, seconds
from benchmarks.training import MEMBERS, RECIPE, LoaderLoop, optimiser_of, side_by_side
from helpers import data
from helpers.networks.models import Classifier
from helpers.networks.recipe import Recipe
from helpers.training.augmentation import crop_and_flip, pad
from helpers.training.loop import train

NAME, IMAGES, ROUNDS = "training_gpu", 50_000, 5
BATCHES, WORKERS = (128, 512), (4, 8, 16)
COMMAND = f"python -m benchmarks.{NAME}"
TOLERANCE = 0.2  # of the first epoch's loss: each loop draws its own crops and flips
PEAKS = {"H200": 989e12, "H100 80GB HBM3": 989e12, "A100": 312e12}
"""Dense bf16 operations per second by the vendor's data sheets, by a part of the GPU's name."""


class SmallResNet18(torchvision.models.ResNet):
    """torchvision's ResNet-18 with a stem for small images, as `Classifier` wants a backbone."""

    def __init__(self, num_classes: int):
        super().__init__(torchvision.models.resnet.BasicBlock, [2, 2, 2, 2], num_classes)
        self.num_classes = num_classes
        self.conv1 = torch.nn.Conv2d(3, 64, kernel_size=3, padding=1, bias=False)
        torch.nn.init.kaiming_normal_(self.conv1.weight, mode="fan_out", nonlinearity="relu")
        self.maxpool = torch.nn.Identity()

    def forward_features(self, x: torch.Tensor) -> torch.Tensor:
        """Return the last feature maps."""
        x = self.relu(self.bn1(self.conv1(x)))
        return self.layer4(self.layer3(self.layer2(self.layer1(x))))

    def forward_head(self, x: torch.Tensor, *, pre_logits: bool) -> torch.Tensor:
        """Return the mean over the pixels, which the last layer multiplies."""
        features = self.avgpool(x).flatten(1)
        return features if pre_logits else self.fc(features)

    def get_classifier(self) -> torch.nn.Linear:
        """Return the last layer."""
        return self.fc


def network(num_classes: int) -> SmallResNet18:
    """Return the network with the same first weights every time."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return SmallResNet18(num_classes)


def recipe_of(batch: int, epochs: int = 1) -> Recipe:
    """Return what all loops train with."""
    return Recipe.from_parameters(
        RECIPE.as_dict(), depth=18, width=64, batch_size=batch, epochs=epochs
    )


def repeated(count: int) -> data.Images:
    """Return the embedded images as often as it takes."""
    images = data.load("cifar10_mini", "train")
    return images.subset(np.arange(count) % len(images))


def ours(images: data.Images, batch: int, device: str) -> tuple[float, float]:
    """Train for three epochs; return the seconds of one, and the loss of the first.

    The first, in which kernels are chosen and the step is recorded, is not timed.
    """
    backbone = network(len(images.class_names))
    classifier = Classifier(backbone).to(memory_format=torch.channels_last)
    recipe = recipe_of(batch, epochs=3)
    history = train(classifier, images, recipe, device=device, progress=False)
    return history["seconds"].iloc[1:].mean(), history["loss"].iloc[0]


class HandTuned:
    """The fastest loop that we can write for this one network, without regard to anything else.

    Parameters
    ----------
    images : Images
    batch : int
    device : str
    compiled : bool
        By ``torch.compile``, which fuses what lies between convolutions.
    """

    def __init__(self, images: data.Images, batch: int, device: str, *, compiled: bool):
        self.kind, self.batch = torch.device(device).type, batch
        self.size, recipe = images.images.shape[1:3], recipe_of(batch)
        self.network = network(len(images.class_names)).to(
            device, memory_format=torch.channels_last
        )
        self.forward = self.network.train()
        if compiled:
            self.forward = torch.compile(self.network, mode="max-autotune-no-cudagraphs")
        self.optimiser = optimiser_of(self.network, recipe, fused=True)
        self.pixels = pad(torch.from_numpy(images.images).to(device))
        self.labels = torch.from_numpy(images.labels).to(device)
        self.type = torch.bfloat16 if self.kind == "cuda" else torch.float32
        channels = self.pixels.to(torch.float32).flatten(0, 2)
        self.mean, self.std = (
            one.view(3, 1, 1) for one in (channels.mean(dim=0), channels.std(dim=0))
        )
        self.generator = torch.Generator(device).manual_seed(0)
        self.inputs = torch.zeros(batch, 3, *self.size, device=device, dtype=self.type)
        self.inputs = self.inputs.contiguous(memory_format=torch.channels_last)
        self.targets = torch.zeros(batch, dtype=torch.int64, device=device)
        self.total, self.graph = torch.zeros((), device=device), None

    def step(self) -> None:
        """Do one step on the inputs and targets, and add its loss to the total."""
        self.optimiser.zero_grad(set_to_none=True)
        with torch.autocast(self.kind, torch.bfloat16, enabled=self.kind == "cuda"):
            loss = cross_entropy(self.forward(self.inputs), self.targets)
        loss.backward()
        self.optimiser.step()
        self.total += loss.detach()

    def record(self) -> None:
        """Record the step, after some that are undone."""
        state = {name: value.clone() for name, value in self.network.state_dict().items()}
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(5):
                self.step()
        torch.cuda.current_stream().wait_stream(stream)
        self.network.load_state_dict(state)
        for one in self.optimiser.state.values():
            one["momentum_buffer"].zero_()
        self.optimiser.zero_grad(set_to_none=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.step()

    def __call__(self) -> float:
        """Train for one epoch; return the mean loss."""
        if self.kind == "cuda" and self.graph is None:
            torch.backends.cudnn.benchmark = True
            self.record()
        steps = len(self.labels) // self.batch
        draw = {"device": self.labels.device, "generator": self.generator}
        order = torch.randperm(len(self.labels), **draw)[: steps * self.batch]
        epoch = crop_and_flip(self.pixels, order, self.size, ("crop", "flip"), self.generator)
        epoch = ((epoch - self.mean) / self.std).to(self.type)
        labels = self.labels[order]
        self.total.zero_()
        for start in range(0, len(order), self.batch):
            self.inputs.copy_(epoch[start : start + self.batch])
            self.targets.copy_(labels[start : start + self.batch])
            if self.graph is None:
                self.step()
            else:
                self.graph.replay()
        return self.total.item() / steps


def operations(size: tuple[int, int], num_classes: int) -> int:
    """Return the operations of a training step per image: forward and backward."""
    counter = FlopCounterMode(display=False)
    with counter:
        network(num_classes)(torch.zeros(2, 3, *size)).sum().backward()
    return counter.get_total_flops() // 2


def fastest(loops: dict) -> tuple[str, object, float]:
    """Return the loop whose second epoch is the shortest, its name, and the first epoch's loss."""
    losses = {name: loop() for name, loop in loops.items()}
    times = {name: seconds(loop) for name, loop in loops.items()}
    print({name: f"{1e3 * value:.0f} ms" for name, value in times.items()}, flush=True)
    name = min(times, key=times.get)
    return name, loops[name], losses[name]


def against_loops(comparison: Comparison, images: data.Images, batch: int, device: str) -> None:
    """An epoch of one network against both loops."""
    cores, classes = os.cpu_count() or 1, len(images.class_names)
    on_gpu = torch.device(device).type == "cuda"
    model = torch.cuda.get_device_name(device) if on_gpu else device
    size = f"ResNet-18, 32×32, batch {batch}, {len(images):,} images, {model}"
    shown = len(images) // batch * batch
    _, loss = ours(images, batch, device)
    workers = [one for one in WORKERS if one <= cores] if on_gpu else [0]
    loaders = {
        f"{number} workers": LoaderLoop(
            network(classes), images, recipe_of(batch), workers=number, device=device
        )
        for number in workers
    }
    tuned = {
        "compiled" if compiled else "not compiled": HandTuned(
            images, batch, device, compiled=compiled
        )
        for compiled in ((False, True) if on_gpu else (False,))
    }
    for work, loops, wanted, note in (
        ("DataLoader", loaders, 10, "theirs in the usual single precision"),
        ("loop by hand", tuned, 1 / 1.3, ""),
    ):
        name, loop, theirs = fastest(loops)
        agree(loss, theirs, within=TOLERANCE)
        pairs = [(ours(images, batch, device)[0], seconds(loop)) for _ in range(ROUNDS)]
        rates = [shown / statistics.median(side) for side in zip(*pairs, strict=True)]
        found = f"{rates[0]:,.0f} images/s against {rates[1]:,.0f}"
        peak = next((value for part, value in PEAKS.items() if part in model), None)
        if peak:
            share = rates[0] * operations(images.images.shape[1:3], classes) / peak
            found += f", {share:.0%} of the peak in bf16"
        comparison.keep(
            "training, crops and flips", size, f"{work}, {name}", pairs, wanted=wanted,
            note="; ".join(filter(None, [found, note])),
        )  # fmt: skip


def member(seed: int) -> int:
    """Train one member of an ensemble; return the process that did."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    images = repeated(IMAGES if device == "cuda" else 64)
    classifier = Classifier(network(len(images.class_names)))
    recipe = recipe_of(BATCHES[0] if device == "cuda" else 32, epochs=3)
    train(classifier.to(memory_format=torch.channels_last), images, recipe, seed=seed,
          device=device, progress=False)  # fmt: skip
    return os.getpid()


def members(comparison: Comparison, processes: int = MEMBERS) -> None:
    """Five members in processes of their own on one GPU, against one member five times."""
    size = f"ResNet-18, 32×32, batch {BATCHES[0]}, 3 epochs of {IMAGES:,} images"
    with side_by_side(member, processes) as several, side_by_side(member, 1) as one:
        comparison.add(
            "five ensemble members", size, "one member, times five",
            lambda: several(range(MEMBERS)), lambda: one([0]),
            wanted=1, rounds=2, share=1 / MEMBERS,
            note="time to load the images and record the step is part of both",
            limit="one network of this size may fill the GPU",
        )  # fmt: skip


def not_measured(comparison: Comparison) -> None:
    """Keep rows without numbers, that say how to get them."""
    sizes = [f"ResNet-18, 32×32, batch {batch}" for batch in BATCHES]
    rows = [
        ("training, crops and flips", size, peer, wanted)
        for size in sizes
        for peer, wanted in (("DataLoader", 10), ("loop by hand", 1 / 1.3))
    ]
    rows.append(("five ensemble members", sizes[0], "one member, times five", 1))
    note = f"`{COMMAND}` on a machine with a GPU measures it"
    for work, size, peer, wanted in rows:
        comparison.keep(work, size, peer, [(math.nan, math.nan)], wanted=wanted, note=note)


def main() -> None:
    """Measure everything on a GPU, and keep it; without one, say how it is done."""
    comparison = Comparison(NAME)
    if not torch.cuda.is_available():
        print(f"there is no GPU here: `{COMMAND}` on a machine with one measures training there")
        if not (RESULTS / f"{NAME}.parquet").exists():
            not_measured(comparison)
            comparison.write()
        return
    start, images = time.perf_counter(), repeated(IMAGES)
    for batch in BATCHES:
        against_loops(comparison, images, batch, "cuda")
        comparison.write()  # what is measured is kept, should the rest not be reached
        print(f"{time.perf_counter() - start:.0f} s", flush=True)
    members(comparison)
    comparison.write()


if __name__ == "__main__":
    main()
