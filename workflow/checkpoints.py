"""Convert a ResNet-50 that timm does not have, from the file of its authors.

    python workflow/checkpoints.py resnet50+adversarial_1 ~/Downloads/resnet50_l2_eps1.ckpt

Writes DATA_ROOT/weights/NETWORK.safetensors with timm's names of tensors.  `checkpoints.csv` and
*How to run* list the networks with their files.  Nothing is downloaded, and no code in a file is
executed.
"""

import argparse
import csv
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from helpers.checks import known_name
from helpers.files import atomic_path, data_root

ARCHITECTURE = "resnet50"
CONTAINERS = ("state_dict", "model_state_dict", "model")
"""The keys under which checkpoints store their tensors."""
PREFIXES = ("module.model.", "module.", "")
"""Prefixes of the names: of the library robustness, of networks on several GPUs, and none."""
USUAL = {"new_mean": (0.485, 0.456, 0.406), "new_std": (0.229, 0.224, 0.225)}
with open(Path(__file__).with_suffix(".csv"), encoding="utf-8", newline="") as _file:
    FILES = {row["network"]: row["file"] for row in csv.DictReader(_file)}
"""The authors' file of each network, "" if it has no name."""


def rename(checkpoint: Mapping, shapes: Mapping[str, tuple[int, ...]], path: Path) -> dict:
    """Return a checkpoint's tensors under the names of the model with these shapes."""
    held = next((checkpoint[key] for key in CONTAINERS if key in checkpoint), checkpoint)
    if not isinstance(held, Mapping) or not all(hasattr(one, "shape") for one in held.values()):
        raise ValueError(f"{path}: no tensors by name, and none below {', '.join(CONTAINERS)}")
    for name, values in USUAL.items():
        tensor = held.get(f"module.normalizer.{name}")
        if tensor is not None and abs(tensor.flatten().double().numpy() - values).max() > 1e-3:
            raise ValueError(f"{path}: {name} is {tensor.flatten().tolist()}, not ImageNet's")
    prefix = next(one for one in PREFIXES if any(name.startswith(one) for name in held))
    tensors = {n.removeprefix(prefix): one for n, one in held.items() if n.startswith(prefix)}
    for name in shapes:
        if name.endswith("num_batches_tracked"):  # absent in older files, and without effect
            tensors.setdefault(name, next(iter(tensors.values())).new_zeros(()).long())
    odd = [name for name in {**shapes, **tensors} if name not in shapes or name not in tensors]
    odd = odd or [name for name, shape in shapes.items() if tuple(tensors[name].shape) != shape]
    if odd:
        raise ValueError(
            f"{path}: not the tensors of {ARCHITECTURE}: {len(odd)} are missing, additional or of "
            f"another shape, {odd[0]} for one"
        )
    return {name: tensors[name].contiguous() for name in shapes}


def read(path: Path, file: str) -> Mapping:
    """Return the content of a PyTorch file, only tensors and plain values.

    A hash in the official name of the file is compared with the file's SHA-256.
    """
    import torch

    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if (prefix := re.search(r"-([0-9a-f]{8})\.pth", file)) and not digest.startswith(prefix[1]):
        raise ValueError(f"{path}: SHA-256 begins with {digest[:8]}, {prefix[1]} expected: {file}")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file raises almost anything
        raise ValueError(f"{path} cannot be read as tensors alone ({error})") from error
    if not isinstance(content, Mapping):
        raise ValueError(f"{path}: no tensors by name")
    return content


def shapes_of(architecture: str) -> dict[str, tuple[int, ...]]:
    """Return names and shapes of the tensors of timm's network, without allocating them."""
    import timm
    import torch

    with torch.device("meta"):
        model = timm.create_model(architecture)
    return {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}


def take_over(network: str, path: Path) -> Path:
    """Write a network's weights to the chapter's folder, and return the path."""
    from safetensors.torch import save_file

    content = read(path, FILES[known_name("network", network, FILES)])
    tensors = rename(content, shapes_of(ARCHITECTURE), path)
    place = data_root() / "weights" / f"{network}.safetensors"
    with atomic_path(place) as temporary:
        save_file(tensors, temporary)
    return place


def main() -> None:
    """Convert the file that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("network")
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    try:
        print(take_over(arguments.network, arguments.file.expanduser()))
    except (OSError, ValueError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
