"""Make all data and networks that a rehearsal of tier `paper` reads, from made-up images.

Archives in the layout of their makers go to DATA_ROOT by the commands of *How to run*
(`arrange.py`, `make_packs.py`); existing files stay.  Networks have the published architectures and
file formats, random weights, and a head fitted to a few images, so that some outputs are correct.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterable
from functools import partial
from pathlib import Path

import archives
import arrange
import make_packs
import numpy as np

from helpers.data import ImageStream, class_lists, write_pack
from helpers.data.cards import find
from helpers.data.listing import Listing
from helpers.files import atomic_path
from helpers.networks.timm_weights import TORCHVISION
from helpers.papers.human_centric.parameters import Parameters

WRITERS: dict[str, Callable] = archives.ARCHIVES | {
    "imagenet": partial(archives.imagenet, numbers=range(1, 4)),
    "imagenet_v2": partial(archives.imagenet_v2, images=1),
    **{
        name: partial(archives.ARCHIVES[name], images=40)
        for name in ("inaturalist", "places", "sun")
    },
}
SCENES = ("bedroom", "bridge", "church_outdoor", "classroom", "conference_room", "dining_room",
          "kitchen", "living_room", "restaurant", "tower")  # fmt: skip
PACKS = {"cifar10": (60, 20), "cifar100": (6, 2), "svhn": (6, 12)}
"""Training and test images of each class in the packs that are written directly."""
FITTED = 5
"""Every fifth class of ImageNet is one that made-up networks can predict."""


def photographs(names: Iterable[str], root: Path, folder: Path) -> None:
    """Write the archives of streamed data sets below `folder`, and arrange them in `root`."""
    for name in names:
        if (root / name).exists():
            continue
        shutil.rmtree(folder / name, ignore_errors=True)  # from a process that was killed
        (folder / name).mkdir(parents=True)
        archives.write(folder / name, WRITERS[name]())
        print(arrange.arrange(name, folder / name, root), flush=True)


def pack(name: str, root: Path) -> None:
    """Write the pack of a data set of small images."""
    card = find(name)
    names = [str(number) for number in range(card.classes)]
    if name == "cifar100":
        names = list(dict.fromkeys(row["class"] for row in class_lists.cifar100()))
    if name == "cifar10":
        names = list(make_packs.CLASS_NAMES)
    splits = {}
    for split, count in zip(("train", "test"), PACKS[name], strict=True):
        labels = np.arange(len(names)).repeat(count)
        pictures = [
            np.asarray(archives.pixels(names[label], f"{name} {split} {n}", (32, 32)))
            for n, label in enumerate(labels)
        ]
        splits[split] = np.stack(pictures), labels
    path = root / f"{name}.zip"
    write_pack(path, name=name, class_names=names, splits=splits, origin=card.record)


def packs(root: Path, folder: Path) -> None:
    """Make the packs that the tier reads."""
    for name in PACKS:
        if not (root / f"{name}.zip").exists():
            pack(name, root)
    if not (root / "lsun_fix.zip").exists():
        files = {f"{scene}/{k}.jpg": scene for scene in SCENES for k in range(6)}
        shutil.rmtree(folder / "lsun", ignore_errors=True)
        archives.write(folder / "lsun", archives.Archive({"test": files}))
        make_packs.main(["from-folder", str(folder / "lsun"), "lsun_fix", "--root", str(root)])
    if not (root / "tiny_imagenet_fix.zip").exists() and (root / "imagenet").exists():
        make_packs.main(["tiny-imagenet-fix", "--root", str(root)])


def networks(parameters: Parameters, root: Path, folder: Path) -> None:
    """Write the weights of a tier's pretrained networks to the chapter's folder."""
    import torch
    from safetensors.torch import save_file

    (root / "weights").mkdir(exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    for name in parameters.names:
        model = parameters.pretrained.get(name, name)
        paths = [root / "weights" / f"{name}{suffix}" for suffix in (".safetensors", ".pth")]
        if any(path.exists() for path in paths):
            continue
        tensors = drawn(model, folder / "drawn.safetensors", root)
        with atomic_path(paths[model in TORCHVISION]) as temporary:
            if model in TORCHVISION:
                torch.save(_as_torchvision(tensors), temporary)
            else:
                save_file(tensors, temporary)
        print(f"weights of {name}: drawn", flush=True)


def drawn(name: str, temporary: Path, root: Path) -> dict:
    """Return random weights of timm's network, with a head fitted to one image per class.

    The head predicts the nearest mean of every fifth class.
    """
    import timm
    import torch
    from safetensors.torch import save_file

    from helpers.networks import zoo

    torch.manual_seed(0)
    architecture = name.partition(".")[0]
    model = timm.create_model(architecture)
    save_file(model.state_dict(), temporary)
    called = architecture if name in TORCHVISION else name
    network = zoo.load(called, weights=temporary, device="cpu", progress=False)
    temporary.unlink()
    listing = Listing.scan(root / "imagenet", split="train")
    labels = np.flatnonzero(np.bincount(listing.labels))[::FITTED]
    first = np.searchsorted(listing.labels, labels)  # of each class
    stream = ImageStream.open(listing.subset(first))
    with torch.inference_mode():
        batches = stream.in_order(batch_size=50, transform=network.transform, workers=0)
        features = torch.cat([network.classifier.features(batch) for batch in batches]).double()
    weight, bias = nearest_mean(features.numpy(), labels, len(listing.class_names))
    tensors, heads = model.state_dict(), model.default_cfg["classifier"]
    heads = [heads] if isinstance(heads, str) else heads
    # the output of two heads is their mean, and each head sees one part of the features
    for head, part in zip(heads, np.split(weight, len(heads), axis=1), strict=True):
        tensors[f"{head}.weight"] = torch.from_numpy(len(heads) * part).float()
        tensors[f"{head}.bias"] = torch.from_numpy(bias).float()
    return {key: tensor.contiguous() for key, tensor in tensors.items()}


def nearest_mean(
    features: np.ndarray, labels: Collection[int], classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return weight [K, D] and bias [K] whose largest logit is the class of the nearest features.

    The other classes get small random weights and a lower bias.
    """
    # around the mean itself the rows would add up to 0 and the weights lose a rank: then the
    # origin of ViM, which the weights map to 0, would be very far away
    centre = 0.99 * features.mean(axis=0)
    away = features - centre
    scale = 20 / (away**2).sum(axis=1).mean()
    # not much smaller than the fitted rows: else all logits are equal far from any image
    weight = np.random.default_rng(0).normal(0, 0.2, (classes, features.shape[1])) * scale
    bias = np.full(classes, -1.0) - weight @ centre
    weight[labels] = scale * away
    bias[labels] = -scale * ((away**2).sum(axis=1) / 2 + away @ centre)
    return weight, bias


def _as_torchvision(tensors: dict) -> dict:
    """Return the tensors of a MobileNetV2 under torchvision's names, in their order."""
    import torchvision

    names = torchvision.models.mobilenet_v2().state_dict()
    return dict(zip(names, tensors.values(), strict=True))
