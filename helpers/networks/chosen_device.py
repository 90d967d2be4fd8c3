"""The choice of a device, apart from `devices`, on whose code the cache keys of networks depend."""

import re

import torch

from helpers.networks.devices import default_device


def chosen_device(device: str | None) -> str:
    """Return a device, by default ``cuda`` where there is one; ValueError if it cannot compute.

    Examples
    --------
    >>> chosen_device("gpu")
    Traceback (most recent call last):
        ...
    ValueError: device: 'cpu', 'cuda' or 'cuda:0', 'cuda:1' and so on expected, got 'gpu'
    """
    if device is None:
        return default_device()
    if not re.fullmatch(r"cpu|cuda(:\d+)?", str(device)):
        raise ValueError(
            f"device: 'cpu', 'cuda' or 'cuda:0', 'cuda:1' and so on expected, got '{device}'"
        )
    number = int(device.partition(":")[2] or 0)
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device != "cpu" and number >= count:
        raise ValueError(f"device: '{device}' is not here: PyTorch finds {count} GPUs; choose cpu")
    return device
