"""One training on several processes, each with its share of every batch.

They are started by torchrun, joined by `torch.distributed` (NCCL between GPUs, gloo between CPUs),
and all draw the same order and the same crops: together they see the batches that one process
would see.  Gradients are averaged, and batch normalisation takes the mean and variance of the whole
batch, so that the learning curve is that of one process up to rounding.  What an objective itself
draws, dropout, and the crops of photographs that are decoded while they are read are drawn by each
process for its share: other numbers than one process would draw, of the same law.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from datetime import timedelta

import torch
from torch import distributed
from torch.nn import functional
from torch.overrides import TorchFunctionMode

OWN_STATISTICS = "own"
"""What the environment variable BATCH_STATISTICS says where each process is to take its own."""
_PATIENCE = timedelta(minutes=30)  # one process decodes or saves, the others wait


def processes() -> int:
    """Return how many processes train together: 1 where this one is alone.

    Examples
    --------
    >>> processes()
    1
    """
    return distributed.get_world_size() if _joined() else 1


def rank() -> int:
    """Return which of the processes this is, from 0."""
    return distributed.get_rank() if _joined() else 0


def share(images: int) -> slice:
    """Return which images of a batch are this process's.

    Examples
    --------
    >>> share(128)
    slice(0, 128, None)
    """
    each, left = divmod(images, processes())
    if left:
        raise ValueError(
            f"batch_size: {images} images cannot be shared out evenly among {processes()} "
            "processes; choose a number of processes that divides them"
        )
    return slice(rank() * each, (rank() + 1) * each)


def average(tensors: Iterable[torch.Tensor | None]) -> None:
    """Put the mean over all processes in the place of each tensor; None is left out."""
    if processes() == 1:
        return
    tensors = [one for one in tensors if one is not None]
    flat = torch.cat([one.flatten() for one in tensors])
    distributed.all_reduce(flat)
    flat /= processes()
    start = 0
    for one in tensors:
        one.copy_(flat[start : start + one.numel()].view(one.shape))
        start += one.numel()


def wait() -> None:
    """Wait until all processes have come here."""
    if processes() > 1:
        distributed.barrier()


def words() -> str:
    """Return what is to be said of the processes beside the device, "" where there is one.

    Examples
    --------
    >>> words()
    ''
    """
    if processes() == 1:
        return ""
    own = ", batch statistics of each its own" if _own_statistics() else ""
    return f", {processes()} processes{own}"


def whole_batches() -> contextlib.AbstractContextManager:
    """Return a context in which batch normalisation is over the images of all processes.

    Without effect where there is one process, or where BATCH_STATISTICS is ``own``: each then takes
    the statistics of its share, which saves time and is another training.
    """
    if processes() == 1 or _own_statistics():
        return contextlib.nullcontext()
    return _WholeBatches()


@contextlib.contextmanager
def joined() -> Iterator[str | None]:
    """Join the processes that torchrun has started, if it has, and part from them at the end."""
    if "WORLD_SIZE" not in os.environ:
        yield None
        return
    on_gpu = torch.cuda.is_available()
    device = f"cuda:{os.environ['LOCAL_RANK']}" if on_gpu else "cpu"
    if on_gpu:
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if on_gpu else "gloo", timeout=_PATIENCE)
    try:
        yield device
    finally:
        distributed.destroy_process_group()


def _joined() -> bool:
    return distributed.is_available() and distributed.is_initialized()


def _own_statistics() -> bool:
    return os.environ.get("BATCH_STATISTICS") == OWN_STATISTICS


class _WholeBatches(TorchFunctionMode):
    """Takes the place of `functional.batch_norm`, whoever calls it.

    PyTorch's own module for this, SyncBatchNorm, is for GPUs alone, and would have to be put in the
    place of every layer, also of those that other layers keep within.
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is functional.batch_norm:
            return _batch_norm(*args, **kwargs or {})
        return func(*args, **kwargs or {})


def _batch_norm(
    x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5
) -> torch.Tensor:
    if not training:
        return functional.batch_norm(x, running_mean, running_var, weight, bias, False, eps=eps)
    shape = (1, -1, *(1,) * (x.ndim - 2))
    others = [dimension for dimension in range(x.ndim) if dimension != 1]
    count = x.numel() // x.shape[1] * processes()
    mean = _Total.apply(x.float().sum(others)) / count
    centred = x.float() - mean.view(shape)
    variance = _Total.apply(centred.square().sum(others)) / count
    if running_mean is not None:
        with torch.no_grad():
            running_mean.lerp_(mean, momentum)
            running_var.lerp_(variance * count / max(count - 1, 1), momentum)
    scaled = centred * (variance + eps).rsqrt().view(shape)
    if weight is not None:
        scaled = scaled * weight.view(shape) + bias.view(shape)
    return scaled.to(x.dtype)


class _Total(torch.autograd.Function):
    """The sum over all processes, through which gradients go back."""

    @staticmethod
    def forward(context, tensor: torch.Tensor) -> torch.Tensor:
        total = tensor.clone()
        distributed.all_reduce(total)
        return total

    @staticmethod
    def backward(context, gradient: torch.Tensor) -> torch.Tensor:
        total = gradient.contiguous().clone()
        distributed.all_reduce(total)
        return total
