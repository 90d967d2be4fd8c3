"""Test-time augmentation, TTA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from helpers.checks import whole_number
from helpers.scores.base import recorded
from helpers.scores.images import ImageScore, log_probabilities

if TYPE_CHECKING:
    from helpers.data import Images, ImageStream
    from helpers.networks.backbones import Classifier
    from helpers.networks.model import Model


@recorded("tta")
class TestTimeAugmentation(ImageScore):
    """Largest mean probability over augmented copies of the image, in [1/K, 1].

    Parameters
    ----------
    copies : int
        At least 1.
    seed : int
        Seed of the augmentations.
    """

    __test__ = False  # or pytest would take it for a test, by its name

    def __init__(self, copies: int = 10, seed: int = 0):
        self.copies = whole_number("copies", copies)
        self.seed = whole_number("seed", seed, least=0)

    def passes(self, classes: int) -> int:
        """Return the number of copies."""
        return self.copies

    def at_temperatures(
        self, model: Model, images: Images | ImageStream, temperatures: Sequence[float]
    ) -> np.ndarray:
        """Return the largest mean probability of each image, float64 [T, N]."""

        def largest(*networks_and_images, **options) -> np.ndarray:
            return augmented_probabilities(*networks_and_images, **options).max(axis=2)

        settings = {"copies": self.copies, "seed": self.seed}
        at = list(map(float, temperatures))
        return self._kept(largest, model, images, **settings, temperatures=at)


def augmented_probabilities(
    classifiers: Sequence[Classifier],
    images: Images | ImageStream,
    *,
    copies: int = 10,
    seed: int = 0,
    temperatures: Sequence[float] = (1.0,),
    batch_size: int = 500,
    **view,
) -> np.ndarray:
    """Return mean probabilities over augmented copies, float64 [T, N, K], at T temperatures.

    A copy is a crop of 70 to 100 % of the area, flipped with probability 1/2, with brightness,
    contrast and saturation changed by up to 30 % and hue by up to 0.3, and grey with probability
    0.1.  All images share the random draws, so no image depends on others.  The global random state
    does not change.  Several networks, all in evaluation mode, are an ensemble.  `view` are
    arguments of ``images.in_order``.

    The authors' code changes pixels after their normalisation.
    """
    import torch
    from torchvision.transforms import v2

    device = classifiers[0].mean.device
    seeds = np.random.SeedSequence(seed).generate_state(copies)
    blocks = []
    for batch in images.in_order(batch_size=batch_size, **view):
        batch = batch.to(device)
        total = torch.zeros((), dtype=torch.float64, device=device)
        changed = v2.Compose(
            [
                v2.RandomResizedCrop(batch.shape[2:], scale=(0.7, 1.0)),
                v2.RandomHorizontalFlip(),
                v2.ColorJitter(brightness=0.3, contrast=0.3, saturation=0.3, hue=0.3),
                v2.RandomGrayscale(p=0.1),
            ]
        )
        for drawn_seed in seeds:
            with torch.random.fork_rng(devices=[]), torch.inference_mode():
                torch.manual_seed(int(drawn_seed))
                answers = log_probabilities(classifiers, changed(batch)).double()
                at = [(answers / temperature).softmax(dim=1) for temperature in temperatures]
                total = total + torch.stack(at)
        blocks.append((total / copies).cpu().numpy())
    return np.concatenate(blocks, axis=1)
