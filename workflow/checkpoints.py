"""Take over a ResNet-50 that timm does not have, from the file of its authors.

python workflow/checkpoints.py
python workflow/checkpoints.py resnet50+adversarial_1 ~/Downloads/resnet50_l2_eps1.ckpt

Without arguments it says which networks of the human-centric chapter are taken over, and where
their files are.  With a network and a file, DATA_ROOT/weights/NETWORK.safetensors comes of it,
under the names of tensors that timm has.  Nothing is downloaded, and nothing in a file is executed.
"""

import argparse
import csv
import hashlib
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from helpers.checks import known_name  # noqa: E402
from helpers.files import atomic_path, data_root  # noqa: E402

ARCHITECTURE = "resnet50"
CONTAINERS = ("state_dict", "model_state_dict", "model")
"""Under which names checkpoints keep the tensors: SIN's and AugMix's, ANT's, robustness'."""
PREFIXES = ("module.model.", "module.", "")
"""Before a tensor's name: of the library robustness, which keeps an attacker beside the model;
of networks on several GPUs; none."""


class Source(NamedTuple):
    """Where a network's file is.

    Attributes
    ----------
    by : str
        Whose it is.
    file : str
        Its authors' name of it; "" where they give it none.
    place : str
        The page that has it; "" where none was found.
    """

    by: str
    file: str
    place: str

    @property
    def prefix(self) -> str:
        """The first digits of the file's SHA-256, which some have in their name; or ""."""
        found = re.search(r"-([0-9a-f]{8})\.pth", self.file)
        return found[1] if found else ""


with open(Path(__file__).with_suffix(".csv"), encoding="utf-8", newline="") as _file:
    SOURCES = {row.pop("network"): Source(**row) for row in csv.DictReader(_file)}
"""The networks of tier ``paper`` whose weights timm does not have.

The paper does not say which of AutoAugment's ResNet-50 it used, and we found no official file for
PyTorch: any file with the names of ``resnet50`` will do.  The names of two files hold a hash.
"""


def rename(checkpoint: Mapping, shapes: Mapping[str, tuple[int, ...]], path: Path) -> dict:
    """Return a checkpoint's tensors under a model's own names.

    Parameters
    ----------
    checkpoint : mapping
        What a file of PyTorch holds: tensors by name, or beside other things below one of
        `CONTAINERS`.
    shapes : mapping of str to tuple of int
        The model's names and shapes.
    path : Path
        For messages.

    Raises
    ------
    ValueError
        No tensors, or those of another model; or images are normalised otherwise than ImageNet's.
    """
    held = next((checkpoint[one] for one in CONTAINERS if one in checkpoint), checkpoint)
    if not isinstance(held, Mapping) or not all(hasattr(one, "shape") for one in held.values()):
        raise ValueError(f"{path}: no tensors by name, and none below {', '.join(CONTAINERS)}")
    check_normalisation(held, path)
    prefix = next(one for one in PREFIXES if any(name.startswith(one) for name in held))
    found = {n.removeprefix(prefix): one for n, one in held.items() if n.startswith(prefix)}
    for name in shapes:
        if name.endswith("num_batches_tracked"):  # older files have none, and it decides nothing
            found.setdefault(name, next(iter(found.values())).new_zeros(()).long())
    odd = [name for name in {**shapes, **found} if name not in shapes or name not in found]
    odd = odd or [name for name, shape in shapes.items() if tuple(found[name].shape) != shape]
    if odd:
        raise ValueError(
            f"{path}: not the tensors of {ARCHITECTURE}: {len(odd)} are lacking, too many or of "
            f"another shape, {odd[0]} for one"
        )
    return {name: found[name].contiguous() for name in shapes}


def check_normalisation(held: Mapping, path: Path) -> None:
    """Refuse a file that says it normalises images otherwise than all networks of this table."""
    usual = {"new_mean": (0.485, 0.456, 0.406), "new_std": (0.229, 0.224, 0.225)}
    for name, values in usual.items():
        own = held.get(f"module.normalizer.{name}")
        if own is not None and abs(own.flatten().double().numpy() - values).max() > 1e-3:
            raise ValueError(f"{path}: {name} is {own.flatten().tolist()}, not ImageNet's")


def read(path: Path) -> Mapping:
    """Return what a file of PyTorch holds, tensors and plain values alone.

    Raises
    ------
    ValueError
        It cannot be read, or holds more.
    """
    import torch

    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file raises almost anything
        raise ValueError(f"{path} cannot be read as tensors alone ({error})") from error
    if not isinstance(found, Mapping):
        raise ValueError(f"{path}: no tensors by name")
    return found


def check_hash(path: Path, source: Source) -> None:
    """Raise a ValueError where a file has not the SHA-256 that its official name begins with."""
    if source.prefix:
        with open(path, "rb") as file:
            own = hashlib.file_digest(file, "sha256").hexdigest()
        if not own.startswith(source.prefix):
            raise ValueError(
                f"{path}: its SHA-256 begins with {own[:8]}, and that of {source.file} with "
                f"{source.prefix}"
            )


def shapes_of(architecture: str) -> dict[str, tuple[int, ...]]:
    """Return names and shapes of timm's tensors of a network, without making them."""
    import timm
    import torch

    with torch.device("meta"):
        model = timm.create_model(architecture)
    return {name: tuple(one.shape) for name, one in model.state_dict().items()}


def take_over(network: str, path: Path) -> Path:
    """Write a network's weights to where the chapter looks for them, and return that place.

    Raises
    ------
    ValueError
        No such network; another file than the official one; or tensors of another model.
    FileNotFoundError
        There is no file.
    """
    from safetensors.torch import save_file

    source = SOURCES[known_name("network", network, SOURCES)]
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no file")
    check_hash(path, source)
    tensors = rename(read(path), shapes_of(ARCHITECTURE), path)
    place = data_root() / "weights" / f"{network}.safetensors"
    with atomic_path(place) as temporary:
        save_file(tensors, temporary)
    return place


def table() -> str:
    """Return the networks with their files, as Markdown, for the screen and the book."""
    lines = [
        "| network | whose | file | where | SHA-256 begins |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, one in SOURCES.items():
        file = f"`{one.file}`" if one.file else "–"
        row = (f"`{name}`", one.by or "–", file, one.place or "none found", one.prefix or "–")
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def main() -> None:
    """Take over what the command line names, or say what can be."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("network", nargs="?")
    parser.add_argument("file", nargs="?", type=Path)
    arguments = parser.parse_args()
    if arguments.network is None:
        print(table())
    elif arguments.file is None:
        parser.error("a network and its file are wanted; without both, all networks are named")
    else:
        try:
            print(take_over(arguments.network, arguments.file.expanduser()))
        except (OSError, ValueError) as error:
            parser.error(str(error))


if __name__ == "__main__":
    main()
