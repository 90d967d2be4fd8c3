"""The device and the versions of packages with which networks compute, reproducibly."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from helpers.data import Images, ImageStream
    from helpers.networks.backbones import Classifier

#: Versions that decide a network's numbers in addition to our code, for the keys of the cache.
VERSIONS = {"torch": torch.__version__} | {name: version(name) for name in ("timm", "torchvision")}


def default_device() -> str:
    """Return ``cuda`` where there is one, else ``cpu``."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def device_name(device: str, threads: int) -> str:
    """Return a device in words, as the results table names it.

    Examples
    --------
    >>> device_name("cpu", 1)
    'cpu, 1 thread'
    """
    if torch.device(device).type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"cpu, {threads} thread{'s' if threads > 1 else ''}"


def computes_bfloat16() -> bool:
    """Return whether this processor has instructions for bfloat16."""
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


def precision_on(device: str, precision: str) -> str:
    """Return the precision of a training's forward pass: bfloat16 or float32.

    Examples
    --------
    >>> precision_on("cpu", "auto"), precision_on("cuda", "auto")
    ('float32', 'bfloat16')
    """
    on_cpu = torch.device(device).type == "cpu"
    if precision == "auto":
        return "float32" if on_cpu else "bfloat16"
    if precision == "bfloat16" and on_cpu and not computes_bfloat16():
        raise ValueError(
            "precision: bfloat16 needs a GPU, or a processor with avx512_bf16 or amx; this "
            f"processor ({processor()}) has neither; choose float32 or auto"
        )
    return precision


def processor() -> str:
    """Return the model of this machine's processor, as its operating system names it."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


@contextlib.contextmanager
def reproducible(device: str, threads: int) -> Iterator[None]:
    """Fix the number of CPU threads and deterministic kernels; restore the settings at the end.

    The caller's random state does not change either.
    """
    on_cpu = torch.device(device).type == "cpu"
    settings: Any = torch.utils.deterministic  # its attributes have no hints
    cudnn = torch.backends.cudnn
    before = (
        torch.get_num_threads(),
        torch.are_deterministic_algorithms_enabled(),
        settings.fill_uninitialized_memory,
        cudnn.benchmark,
    )
    torch.set_num_threads(threads)
    if on_cpu:
        torch.use_deterministic_algorithms(True)
        settings.fill_uninitialized_memory = False  # only code that reads such memory needs it
    else:  # on a GPU determinism takes time and is not guaranteed
        cudnn.benchmark = True
    current = contextlib.nullcontext() if on_cpu else torch.cuda.device(device)
    try:
        # on a GPU other than the first, steps would be recorded on the first without `current`
        with current, torch.random.fork_rng(devices=[] if on_cpu else [torch.device(device)]):
            yield
    finally:
        cudnn.benchmark = before[3]
        torch.set_num_threads(before[0])
        torch.use_deterministic_algorithms(before[1])
        settings.fill_uninitialized_memory = before[2]


#: Bytes that the largest activation of a batch may have on a CPU: about the size of its caches.
ACTIVATIONS = 2**24
#: Pixels of all images of a batch on a GPU, whose memory holds more small images than it can use.
PIXELS_ON_GPU = 2**23
#: Least and greatest number of images in a batch.
FEWEST = 8
MOST = 128
MOST_ON_GPU = 500


def batch_size(network: Classifier, images: Images | ImageStream, **view) -> int:
    """Return how many images to show a network at once, from one pass of a blank image.

    On a CPU a batch whose activations do not fit in the caches may take four times as long per
    image; a DenseNet, which concatenates all its layers, does so from a batch of a hundred on.
    On a CPU the batch size is a power of two.  On a GPU it depends on the pixels of an image alone.
    The outputs do not depend on it, up to rounding.
    """
    device = network.mean.device
    image = torch.zeros_like(next(images.subset([0]).in_order(batch_size=1, **view)), device=device)
    if device.type != "cpu":
        return max(1, min(PIXELS_ON_GPU // image[0, 0].numel(), MOST_ON_GPU))
    largest = 1

    def look(module, inputs, output) -> None:
        nonlocal largest
        if isinstance(output, torch.Tensor):
            largest = max(largest, output.numel() * output.element_size())

    hooks = [module.register_forward_hook(look) for module in network.modules()]
    try:
        with torch.inference_mode():
            network(image)
    finally:
        for hook in hooks:
            hook.remove()
    fitting = ACTIVATIONS // largest
    return min(max(1 << max(fitting.bit_length() - 1, 0), FEWEST), MOST)
