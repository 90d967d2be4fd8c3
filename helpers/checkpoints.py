"""Tensors and a little JSON in one safetensors file that knows its own checksum.

Arrays of NumPy do in the place of tensors, and then nothing here needs torch.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from safetensors import SafetensorError, safe_open

from helpers.files import atomic_path, cache_root

if TYPE_CHECKING:
    import torch

    Tensor = torch.Tensor | np.ndarray


def digest(tensors: Mapping[str, Tensor]) -> str:
    """Return the SHA-256 of names, types, shapes and values: the identity of a set of weights.

    An array has the same one as the tensor with its values.
    """
    total = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        if isinstance(tensor, np.ndarray):
            kind = f"torch.{tensor.dtype}"
            content = np.ascontiguousarray(tensor).reshape(-1).view(np.uint8)
        else:
            import torch

            flat = tensor.detach().cpu().contiguous().reshape(-1)
            kind = str(tensor.dtype)
            content = flat.view(torch.uint8).numpy()
        total.update(f"{name} {kind} {tuple(tensor.shape)}\n".encode())
        total.update(content.data)
    return total.hexdigest()


def save(path: str | os.PathLike, tensors: Mapping[str, Tensor], **information) -> None:
    """Write tensors and JSON values, whole or not at all."""
    copies: dict[str, Any]
    save_file: Callable
    if all(isinstance(tensor, np.ndarray) for tensor in tensors.values()):
        import safetensors.numpy

        save_file = safetensors.numpy.save_file
        copies = {name: np.asarray(tensor, order="C") for name, tensor in tensors.items()}
    else:
        import safetensors.torch
        import torch

        save_file = safetensors.torch.save_file
        copies = {n: torch.as_tensor(t).detach().cpu().contiguous() for n, t in tensors.items()}
    text = json.dumps(information)
    metadata = {"information": text, "sha256": _checksum(copies, text)}
    with atomic_path(path) as temporary:
        try:
            save_file(copies, temporary, metadata=metadata)
        except SafetensorError as error:  # a full disk, for instance
            raise OSError(str(error)) from error


@overload
def load(
    path: str | os.PathLike, *, framework: Literal["pt"] = "pt"
) -> tuple[dict[str, torch.Tensor], dict]: ...
@overload
def load(
    path: str | os.PathLike, *, framework: Literal["np"]
) -> tuple[dict[str, np.ndarray], dict]: ...
def load(path, *, framework="pt"):
    """Read and verify a file of `save`. No code in the file is executed.

    Parameters
    ----------
    path : path
    framework : {"pt", "np"}
        Type of the tensors: tensors of torch, or arrays of NumPy.

    Returns
    -------
    tensors : dict of str to Tensor, or of str to ndarray
    information : dict
    """
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path}: no such file")
    try:
        with safe_open(path, framework=framework) as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}
    except (SafetensorError, ValueError) as error:
        raise _refusal(path, f"not a whole checkpoint ({error})") from error
    text = metadata.get("information", "")
    if metadata.get("sha256") != _checksum(tensors, text):
        raise _refusal(path, "its contents do not match its checksum")
    return tensors, json.loads(text)


def is_checkpoint(path: str | os.PathLike) -> bool:
    """Return whether a file begins like a file of `save`; the remainder may be damaged."""
    try:
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > os.path.getsize(path):
                return False
            metadata = json.loads(file.read(length))["__metadata__"]
        return {"information", "sha256"} <= metadata.keys()
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return False


def _refusal(path: str | os.PathLike, problem: str) -> ValueError:
    """Return the error for a file that `load` refuses; only files of the cache can be deleted."""
    if Path(path).resolve().is_relative_to(cache_root().resolve()):
        return ValueError(f"{path}: {problem}; delete it")
    if is_checkpoint(path):
        return ValueError(f"{path}: {problem}; write or copy it again")
    return ValueError(f"{path}: no file that this project wrote, or only the beginning of one")


def _checksum(tensors: Mapping[str, Tensor], information: str) -> str:
    return hashlib.sha256(f"{digest(tensors)} {information}".encode()).hexdigest()
