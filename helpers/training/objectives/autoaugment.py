"""AutoAugment: images are changed by a policy that was searched for."""

from __future__ import annotations

import torch

from helpers.networks.heads import whole
from helpers.training.objectives.erm import ERM


class AutoAugment(ERM):
    """Cross-entropy of images that the policy found for CIFAR-10 has changed.

    Notes
    -----
    Cubuk et al. 2019, by torchvision, after crop and flip and without the Cutout that follows
    there.  They draw a sub-policy for each image; torchvision draws once a call, and a call for
    each image would take many times longer.  A part is a run of the batch, whose order is random.
    What comes in from outside is black, where it is grey in their code.

    torchvision draws from the global random state of the CPU, which is seeded from the generator
    for the time of the call and then put back.  On a GPU this waits for the device once a batch.
    """

    def __init__(self, groups: int = 8):
        from torchvision.transforms import v2  # here: half of what each notebook imported was it

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
            parts = images.tensor_split(min(self.groups, len(images)))
            changed = torch.cat([self.policy(part) for part in parts])
        return changed.contiguous(memory_format=torch.channels_last)
