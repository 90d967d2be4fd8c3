"""Augmented views of images, whose pixels are made when somebody asks for them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from helpers.data.images import Images

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False, repr=False)
class View(Images):
    """Images as an augmentation changes them; `images` are those that it changes.

    What becomes of an image depends on its content, the augmentation and the view's number alone,
    so that its features are found whatever set it is in, and without its pixels being made again.

    Attributes
    ----------
    made_by : str
        The augmentation, its code and the view's number: stands beside the image's content.
    change : callable
        From a byte image, a Tensor [3, H, W], and a generator to the changed one.
    """

    made_by: str = ""  # the fields before it have defaults
    change: Callable[[torch.Tensor, torch.Generator], torch.Tensor] | None = None

    @cached_property
    def sha256(self) -> str:
        """Hexadecimal SHA-256 of the images, the labels and what changes the images."""
        return hashlib.sha256(f"{super().sha256} {self.made_by}".encode()).hexdigest()

    def in_order(self, *, batch_size: int) -> Iterator[torch.Tensor]:
        """Yield all images in their order, changed: Tensor of uint8, [B, 3, H, W]."""
        import torch

        generators = (torch.Generator().manual_seed(int(one) >> 1) for one in digests(self))
        for batch in super().in_order(batch_size=batch_size):
            threads = torch.get_num_threads()
            # an image is too little work for two: they wait for each other, ten times as long
            torch.set_num_threads(1)
            try:
                changed = [self.change(one, next(generators)) for one in batch]
            finally:
                torch.set_num_threads(threads)
            yield torch.stack(changed)


def digests(images: Images) -> np.ndarray:
    """Return what stands for each image, uint64 [N]: 64 bits of the BLAKE2b of size and bytes.

    Of a view, what has made it counts too.  That two of a million images share one has a
    probability of about 3e-8.
    """
    said = repr(images.images.shape[1:]) + getattr(images, "made_by", "")
    first = hashlib.blake2b(said.encode(), digest_size=8)
    found = bytearray()
    for image in np.ascontiguousarray(images.images):
        one = first.copy()
        one.update(image)
        found += one.digest()
    return np.frombuffer(bytes(found), "<u8")
