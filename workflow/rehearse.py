"""Make all data and networks that a rehearsal of tier `paper` reads; existing files stay.

Tier `rehearsal` is tier `paper` with the sizes of `params/rehearsal` and these data.  Photographs
are small patches of colour in the folders that `arrange.py` makes of the archives.  Networks have
the published architectures, random weights, and a head fitted to a few images, so that some outputs
are correct.
"""

import tempfile
import zlib
from collections.abc import Collection, Iterable
from pathlib import Path

import make_packs
import numpy as np
from PIL import Image
from step import ASKING, Step

from helpers.data import ImageStream, corruptions, write_pack
from helpers.data.cards import card_of
from helpers.data.class_lists import names_of, wnids_of
from helpers.data.listing import Listing
from helpers.files import atomic_folder, atomic_path, content_of, data_root
from helpers.papers import REHEARSAL
from helpers.papers.human_centric.parameters import Parameters

SIZES = content_of(__file__)
#: The chapter with published networks.
JUDGED = "human_centric"


def make_data(steps: Collection[Step]) -> None:
    """Make the missing data and networks that some steps read."""
    (root := data_root()).mkdir(parents=True, exist_ok=True)
    names = dict.fromkeys(name for step in steps for name in step.data_sets)
    photographs([name for name in names if name in SIZES["streamed"]], root)
    if SIZES["packs"].keys() & names.keys():
        packs(root)
    if any(step.name.startswith(JUDGED) and Path(step.notebook).stem in ASKING for step in steps):
        networks(root)


def draw(label: str, name: str, size: tuple[int, int]) -> Image.Image:
    """Return soft patches; the colour depends mostly on the class, and partly on the name.

    A small network learns the colour in a few steps, from any crop of the picture.
    """
    of_class, of_name = (np.random.default_rng(zlib.crc32(word.encode())) for word in (label, name))
    colour = of_class.integers(32, 224, 3)
    patches = colour + of_class.normal(0, 25, (3, 4, 3)) + of_name.normal(0, 8, (3, 4, 3))
    image = Image.fromarray(patches.clip(0, 255).astype(np.uint8))
    return image.resize(size, Image.Resampling.BICUBIC)


def write_folder(folder: Path, title: str, labels: Iterable[str], count: int) -> None:
    """Write some photographs of each class, each class in a subfolder; file names have a title."""
    for label in labels:
        (folder / label).mkdir(parents=True, exist_ok=True)
        for number in range(count):
            name = f"{title} {number}.jpg"
            draw(label or title, name, (64, 48)).save(folder / label / name)


def classes_of(name: str) -> list[str]:
    """Return the names of the classes' folders of a streamed data set."""
    if name in ("inaturalist", "places", "sun"):
        return [""]
    if name == "textures":
        return [f"texture {number}" for number in range(47)]
    if name.startswith("imagenet"):
        return [*wnids_of("imagenet")][:: 5 if name == "imagenet_r" else 1]
    return [label.replace("/", "_") for label in names_of(name)]


def photographs(names: Iterable[str], root: Path) -> None:
    """Write the folders of the missing streamed data sets into `root`."""
    for name in names:
        if (root / name).exists():
            continue
        with atomic_folder(root / name) as folder:
            for split, count in SIZES["streamed"][name].items():
                write_folder(folder / split, Path(name, split).name, classes_of(name), count)
            if name == "imagenet_c":
                link_corruptions(folder)
        print(f"photographs of {name}: drawn", flush=True)


def link_corruptions(folder: Path) -> None:
    """Give each corruption at each severity the same photographs."""
    for kind in corruptions.NAMES:
        (folder / kind).mkdir(exist_ok=True)
        for level in map(str, corruptions.SEVERITIES):
            if not (folder / kind / level).exists():
                (folder / kind / level).symlink_to("../gaussian_noise/1")


def pack(name: str, root: Path) -> None:
    """Write the pack of a data set of small images."""
    names = [*map(str, range(10))] if name == "svhn" else names_of(name)
    splits: dict[str, tuple] = {}
    for split, count in SIZES["packs"][name].items():
        labels = enumerate(np.repeat(names, count))
        pictures = [draw(label, f"{name} {split} {k}", (32, 32)) for k, label in labels]
        splits[split] = np.stack([*map(np.asarray, pictures)]), np.arange(len(names)).repeat(count)
    origin = card_of(name).record
    write_pack(root / f"{name}.zip", name=name, class_names=names, splits=splits, origin=origin)


def packs(root: Path) -> None:
    """Make the packs that the tier reads."""
    for name in SIZES["packs"]:
        if not (root / f"{name}.zip").exists():
            pack(name, root)
    if not (root / "lsun_fix.zip").exists():
        with tempfile.TemporaryDirectory() as folder:
            write_folder(Path(folder), "lsun", names_of("lsun"), 6)
            make_packs.main(["from-folder", folder, "lsun_fix"])
    if not (root / "tiny_imagenet_fix.zip").exists() and (root / "imagenet").exists():
        make_packs.main(["tiny-imagenet-fix"])


def networks(root: Path) -> None:
    """Write the weights of the tier's pretrained networks to the chapter's folder."""
    parameters = Parameters.at_tier(JUDGED, REHEARSAL)
    for name in parameters.names:
        path = root / "weights" / f"{name}.safetensors"
        if not path.exists():
            with atomic_path(path) as temporary:
                write_weights(parameters.pretrained.get(name, name), root, temporary)


def write_weights(name: str, root: Path, path: Path) -> None:
    """Write random weights of timm's network, with a head fitted to one image per class.

    The head predicts the nearest mean of every fifth class.
    """
    import timm
    import torch
    from safetensors.torch import save_file

    from helpers.networks import zoo

    torch.manual_seed(0)
    model = timm.create_model(name.partition(".")[0])
    save_file(model.state_dict(), path)  # with a random head, to compute the features
    network = zoo.load(name, weights=path, device="cpu", progress=False)
    listing = Listing.scan(root / "imagenet", split="train")
    labels = np.flatnonzero(np.bincount(listing.labels))[::5]
    # the first image of each class
    stream = ImageStream.open(listing.subset(np.searchsorted(listing.labels, labels)))
    with torch.inference_mode():
        batches = stream.in_order(batch_size=50, transform=network.transform, workers=0)
        features = torch.cat([network.classifier.features(batch) for batch in batches]).double()
    weight, bias = nearest_mean(features.numpy(), labels, len(listing.class_names))
    tensors = model.state_dict()
    heads = model.default_cfg["classifier"]
    heads = [heads] if isinstance(heads, str) else heads
    # the output of two heads is their mean, and each head sees one part of the features
    for head, part in zip(heads, np.split(weight, len(heads), axis=1), strict=True):
        tensors[f"{head}.weight"] = torch.from_numpy(len(heads) * part).float()
        tensors[f"{head}.bias"] = torch.from_numpy(bias).float()
    save_file({key: tensor.contiguous() for key, tensor in tensors.items()}, path)


def nearest_mean(features: np.ndarray, labels: Collection[int], classes: int) -> tuple:
    """Return weight [K, D] and bias [K] with the largest logit for the nearest class mean.

    The other classes get small random weights and a lower bias.
    """
    # around the exact mean, the rows would add up to 0 and the weights would lose a rank: then the
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
