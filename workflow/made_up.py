"""Make, of made-up images, all that tier `paper` reads: what a rehearsal of it goes through.

Archives are written as the makers of the data sets lay them out, and go from there to DATA_ROOT
by the commands of *How to run*: `arrange.py`, `make_packs.py`, `checkpoints.py`.  What is there
stays.  Networks are of the published architectures and in the published forms of files, their
weights are drawn, and their heads fitted to a few images, so that some answers are right.
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

TRAINING = range(1, 4)
"""The numbers of ImageNet's training images, of each class."""
WRITERS: dict[str, Callable] = archives.ARCHIVES | {
    "imagenet": partial(archives.imagenet, numbers=TRAINING),
    "imagenet_v2": partial(archives.imagenet_v2, images=1),
    **{
        name: partial(archives.ARCHIVES[name], images=40)
        for name in ("inaturalist", "places", "sun")
    },
}
SCENES = ("bedroom", "bridge", "church_outdoor", "classroom", "conference_room", "dining_room",
          "kitchen", "living_room", "restaurant", "tower")  # fmt: skip
PACKS = {"cifar10": (60, 20), "cifar100": (6, 2), "svhn": (6, 12)}
"""Training and test images of a class, of the packs that are written as such."""
FORMS = ("resnet50+adversarial_1", "resnet50+augmix", "resnet50+adversarial_noise",
         "resnet50+distilled")  # fmt: skip
"""Of `checkpoints.SOURCES`, one of each form; a file with a published hash cannot be made up."""
FITTED = 5
"""Of ImageNet's classes every fifth is one that made-up networks can answer."""


def photographs(names: Iterable[str], root: Path, folder: Path) -> None:
    """Write the archives of streamed data sets below `folder`, and arrange them in `root`."""
    for name in names:
        if (root / name).exists():
            continue
        if (folder / name).exists():  # of a process that was ended
            shutil.rmtree(folder / name)
        (folder / name).mkdir(parents=True)
        WRITERS[name](folder / name)
        print(arrange.arrange(name, folder / name, root), flush=True)


def pack(name: str, root: Path) -> None:
    """Write the pack of a data set of small images."""
    card, rows = find(name), class_lists.cifar100() if name == "cifar100" else []
    names = list(dict.fromkeys(row["class"] for row in rows)) or [*map(str, range(card.classes))]
    if name == "cifar10":
        names = list(make_packs.CLASS_NAMES)
    splits = {}
    for split, count in zip(("train", "test"), PACKS[name], strict=True):
        labels = np.arange(len(names)).repeat(count)
        drawn = [
            np.asarray(archives.pixels(names[k], f"{name} {split} {n}", 32, 32))
            for n, k in enumerate(labels)
        ]
        splits[split] = np.stack(drawn), labels
    write_pack(
        root / f"{name}.zip", name=name, class_names=names, splits=splits, origin=card.record
    )


def packs(root: Path, folder: Path) -> None:
    """Make the packs that are there beside the folders of photographs."""
    for name in PACKS:
        if not (root / f"{name}.zip").exists():
            pack(name, root)
    if not (root / "lsun_fix.zip").exists():
        files = {f"{scene}/{k}.jpg": scene for scene in SCENES for k in range(6)}
        shutil.rmtree(folder / "lsun", ignore_errors=True)
        archives.put_images(folder / "lsun", files, archives.picture)
        make_packs.main(["from-folder", str(folder / "lsun"), "lsun_fix", "--root", str(root)])
    if not (root / "tiny_imagenet_fix.zip").exists() and (root / "imagenet").exists():
        make_packs.main(["tiny-imagenet-fix", "--root", str(root)])


def as_published(network: str, tensors: dict) -> dict:
    """Return what the authors' file of a network of `checkpoints.SOURCES` holds."""
    import torch

    on_gpus = {f"module.{name}": one for name, one in tensors.items()}
    strategy = network.partition("+")[2].partition("_")[0]
    if network.partition("+")[2] == "adversarial_noise":
        return {"model_state_dict": tensors}
    if strategy == "adversarial":
        robust = {
            f"module.{place}.{name}": one
            for place in ("model", "attacker.model")
            for name, one in tensors.items()
        }
        for name, values in {
            "new_mean": (0.485, 0.456, 0.406),
            "new_std": (0.229, 0.224, 0.225),
        }.items():
            robust[f"module.normalizer.{name}"] = torch.tensor(values)[:, None, None]
        return {"model": robust, "epoch": 89}
    if strategy in ("stylised", "augmix"):
        return {"state_dict": on_gpus, "epoch": 60, "arch": "resnet50"}
    return on_gpus if strategy == "distilled" else tensors


def networks(parameters: Parameters, root: Path, folder: Path) -> None:
    """Put the weights of a tier's pretrained networks where the chapter looks for them."""
    import torch
    from safetensors.torch import save_file

    (root / "weights").mkdir(exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    for name in parameters.names:
        called, place = parameters.pretrained.get(name, name), root / "weights" / name
        own = [place.with_name(f"{name}{suffix}") for suffix in (".safetensors", ".pth")]
        if any(one.exists() for one in own):
            continue
        tensors = drawn(called, folder / "drawn.safetensors", root)
        with atomic_path(own[called in TORCHVISION]) as temporary:
            if called in TORCHVISION:
                torch.save(_as_torchvision(tensors), temporary)
            else:
                save_file(tensors, temporary)
        print(f"weights of {name}: drawn", flush=True)


def checkpoint_forms(root: Path, folder: Path) -> None:
    """Take over a drawn ResNet-50 in each form in which authors publish theirs, and load it."""
    import checkpoints
    import timm
    import torch

    from helpers.networks import zoo

    there = {file.stem for file in (root / "weights").glob("*.safetensors")}
    if there >= set(FORMS):
        return
    torch.manual_seed(0)
    tensors = timm.create_model(checkpoints.ARCHITECTURE).state_dict()
    for name in FORMS:
        file = folder / (checkpoints.SOURCES[name].file or f"{name}.pth")
        torch.save(as_published(name, tensors), file)
        zoo.load(checkpoints.ARCHITECTURE, weights=checkpoints.take_over(name, file), device="cpu")
        file.unlink()
        print(f"{name}: taken over from the form of its authors", flush=True)


def drawn(called: str, temporary: Path, root: Path) -> dict:
    """Return drawn weights of timm's network of a name, with a head that is fitted to few images.

    The head knows the nearest mean of one image a class, of every fifth class.
    """
    import timm
    import torch
    from safetensors.torch import save_file

    from helpers.networks import zoo

    torch.manual_seed(0)
    model = timm.create_model(called.partition(".")[0])
    save_file(model.state_dict(), temporary)
    known = called.partition(".")[0] if called in TORCHVISION else called
    found = zoo.load(known, weights=temporary, device="cpu", progress=False)
    temporary.unlink()
    listed = Listing.scan(root / "imagenet", split="train")
    labels = np.flatnonzero(np.bincount(listed.labels))[::FITTED]
    chosen = np.searchsorted(listed.labels, labels)  # the first of each class
    stream = ImageStream.open(listed.subset(chosen))
    with torch.inference_mode():
        batches = stream.in_order(batch_size=50, transform=found.transform, workers=0)
        features = torch.cat([found.classifier.features(one) for one in batches]).double()
    weight, bias = nearest_mean(features.numpy(), labels, len(listed.class_names))
    tensors = model.state_dict()
    heads = model.default_cfg["classifier"]
    heads = [heads] if isinstance(heads, str) else heads
    # of two heads the mean is the answer, and each looks at a part of the features
    for head, part in zip(heads, np.split(weight, len(heads), axis=1), strict=True):
        tensors[f"{head}.weight"] = torch.from_numpy(len(heads) * part).float()
        tensors[f"{head}.bias"] = torch.from_numpy(bias).float()
    return {name: one.contiguous() for name, one in tensors.items()}


def nearest_mean(
    features: np.ndarray, labels: Collection[int], classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return weight [K, D] and bias [K] whose largest logit is the class of the nearest features.

    Other classes than `labels` have the mean of all for theirs, and less of it than any.

    Examples
    --------
    >>> weight, bias = nearest_mean(np.array([[0.0, 1], [4, 0]]), [2, 0], 3)
    >>> (np.array([[1.0, 1], [3, 0]]) @ weight.T + bias).argmax(axis=1)
    array([2, 0])
    """
    # any place will do; from the mean itself, what is away would add up to 0, and the weights be of
    # lower rank: what they make 0 (the origin of ViM) would then lie at the end of the world
    centre = 0.99 * features.mean(axis=0)
    away = features - centre
    scale = 20 / (away**2).sum(axis=1).mean()
    # not much smaller than the others: where all logits are the same would be far from any image
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
