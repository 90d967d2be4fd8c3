"""Convert a ResNet-50 that timm does not have, from the file of its authors.

    python workflow/checkpoints.py resnet50+adversarial_1 ~/Downloads/resnet50_l2_eps1.ckpt

Writes DATA_ROOT/weights/NETWORK.safetensors with timm's names of tensors.  *How to run* lists the
networks with their files.  Nothing is downloaded, and no code in a file is executed.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path

from helpers.checks import known_name
from helpers.files import atomic_path, data_root
from helpers.papers import load

ARCHITECTURE = "resnet50"
CONTAINERS = ("state_dict", "model_state_dict", "model")
"""The keys under which checkpoints store their tensors."""
PREFIXES = ("module.model.", "module.", "")
"""Prefixes of the names: of the library robustness, of networks on several GPUs, and none."""


def shapes_of(architecture: str) -> dict[str, tuple[int, ...]]:
    """Return names and shapes of the tensors of timm's network, without allocating them."""
    import timm
    import torch

    with torch.device("meta"):
        model = timm.create_model(architecture)
    return {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}


def take_over(network: str, path: Path) -> Path:
    """Write a network's weights to the chapter's folder, and return the path."""
    import torch
    from safetensors.torch import save_file

    known_name("network", network, load("human_centric", "paper").pretrained)
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file raises almost anything
        raise ValueError(f"{path} cannot be read as tensors alone ({error})") from error
    for key in CONTAINERS:
        content = content[key] if isinstance(content, Mapping) and key in content else content
    names = content if isinstance(content, Mapping) else {}
    prefix = next(prefix for prefix in PREFIXES if any(name.startswith(prefix) for name in names))
    tensors = {name.removeprefix(prefix): names[name] for name in names if name.startswith(prefix)}
    shapes = shapes_of(ARCHITECTURE)
    for name in shapes:
        if name.endswith("num_batches_tracked"):  # absent in older files, and without effect
            tensors.setdefault(name, torch.tensor(0))
    given = {name: tuple(getattr(tensor, "shape", ())) for name, tensor in tensors.items()}
    if odd := sorted({*shapes.items()} ^ {*given.items()}):
        raise ValueError(
            f"{path}: not the tensors of {ARCHITECTURE}: {len({name for name, _ in odd})} are "
            f"missing, additional or of another shape, {odd[0][0]} for one"
        )
    place = data_root() / "weights" / f"{network}.safetensors"
    with atomic_path(place) as temporary:
        save_file({name: tensors[name].contiguous() for name in shapes}, temporary)
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
