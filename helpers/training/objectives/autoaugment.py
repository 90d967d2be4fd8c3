"""AutoAugment: images are changed by a policy that was searched for."""

from __future__ import annotations

import torch

from helpers.networks.heads import whole
from helpers.training.objectives.erm import ERM


class AutoAugment(ERM):
    """Cross-entropy on images after the augmentation policy found for CIFAR-10.

    Notes
    -----
    Cubuk et al. 2019, by torchvision, after crop and flip and without their final Cutout.  They
    draw a sub-policy for each image.  Torchvision draws once per call, and a call for each image
    would take many times longer.  A part is a run of the batch, whose order is random.  Pixels
    from outside the image are black; they are grey in the authors' code.

    Torchvision has the 25 sub-policies and its own magnitudes, most of them stronger than in the
    authors' code, which has 95 sub-policies: shifts up to 14 pixels instead of 9, and colours that
    change in both directions.

    torchvision draws from the global random state of the CPU.  The code seeds this state from the
    generator for the call and then restores it, which on a GPU waits for the device once per batch.
    """

    def __init__(self, groups: int = 8):
        from torchvision.transforms import v2  # here: half of each notebook's imports came from it

        self.groups = whole("groups", groups)
        self.policy = v2.AutoAugment(v2.AutoAugmentPolicy.CIFAR10)

    def views(
        self, images: torch.Tensor, outliers: torch.Tensor | None, generator: torch.Generator
    ) -> torch.Tensor:
        """Return the changed images, in uint8."""
        seed = int(torch.randint(2**62, (), device=images.device, generator=generator))
        with torch.random.fork_rng(devices=[]):
            # not torch.manual_seed, which would seed the GPU's generator too
            torch.default_generator.manual_seed(seed)
            groups = images.tensor_split(min(self.groups, len(images)))
            changed = torch.cat([self.policy(group) for group in groups])
        return changed.contiguous(memory_format=torch.channels_last)
