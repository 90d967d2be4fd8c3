"""Tensors and a little JSON in one safetensors file that knows its own checksum."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from helpers.files import atomic_path


def digest(tensors: Mapping[str, torch.Tensor]) -> str:
    """Return the SHA-256 of names, types, shapes and values: the identity of a set of weights."""
    total = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        total.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        total.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return total.hexdigest()


def save(path: str | os.PathLike, tensors: Mapping[str, torch.Tensor], **information) -> None:
    """Write tensors and JSON values, whole or not at all.

    Parameters
    ----------
    path : path
        Where to; an existing file is replaced.
    tensors : mapping of str to Tensor
        Copied to the CPU.
    **information
        Anything that JSON holds.
    """
    copies = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(information)
    metadata = {"information": text, "sha256": _checksum(copies, text)}
    with atomic_path(path) as temporary:
        try:
            save_file(copies, temporary, metadata=metadata)
        except SafetensorError as error:  # a full disk, for instance
            raise OSError(str(error)) from error


def load(path: str | os.PathLike) -> tuple[dict[str, torch.Tensor], dict]:
    """Read what `save` wrote, verified. Nothing in the file is executed.

    Returns
    -------
    tensors : dict of str to Tensor
    information : dict

    Raises
    ------
    FileNotFoundError
        There is no such file.
    ValueError
        The file is truncated or altered; the message names it and says what to do.
    """
    if not os.path.exists(path):
        raise FileNotFoundError(f"no checkpoint at {path}")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}
    except (SafetensorError, OSError, ValueError) as error:
        raise ValueError(f"{path}: not a whole checkpoint ({error}); delete it") from error
    text = metadata.get("information", "")
    if metadata.get("sha256") != _checksum(tensors, text):
        raise ValueError(f"{path}: its contents do not match its checksum; delete it")
    return tensors, json.loads(text)


def _checksum(tensors: Mapping[str, torch.Tensor], information: str) -> str:
    return hashlib.sha256(f"{digest(tensors)} {information}".encode()).hexdigest()
