"""Students of a trained network's features, which leave the network as it is: RND's and OC's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from helpers.networks.backbones import Classifier
from helpers.networks.inference import compute
from helpers.networks.recipe import Recipe
from helpers.training.loop import learning_rate, optimiser_of, set_rate

if TYPE_CHECKING:
    from helpers.data import Images, ImageStream


def teach(
    classifier: Classifier,
    images: Images | ImageStream,
    recipe: Recipe,
    error: Callable[[torch.Tensor], torch.Tensor],
    *,
    seed: int,
    device: str,
) -> list[float]:
    """Train the network's native measure, ``classifier.native``, on features of the images.

    The network computes the features of each training image once, without crop or flip.  Epochs,
    batches, optimiser and schedule are the recipe's.
    """
    if classifier.native is None:
        raise ValueError(
            f"classifier: a native measure for '{recipe.objective}' expected, got none"
        )
    outputs = compute(classifier, images, device=device, image_size=recipe.image_size)
    features = torch.tensor(outputs.features, device=device)
    native = classifier.native.train()
    optimiser = optimiser_of(native, recipe, device)
    size = min(recipe.batch_size, len(features))
    steps = len(features) // size
    errors = []
    for epoch in range(recipe.epochs):
        generator = torch.Generator(device).manual_seed(seed * 100_003 + epoch)
        order = torch.randperm(len(features), generator=generator, device=device)[: steps * size]
        total = torch.zeros((), dtype=torch.float64, device=device)
        for number, batch_indices in enumerate(order.split(size)):
            done = epoch * steps + number
            set_rate(optimiser, learning_rate(recipe, done, recipe.epochs * steps, steps))
            optimiser.zero_grad(set_to_none=True)
            loss = error(features[batch_indices])
            loss.backward()
            optimiser.step()
            total += loss.detach()
        errors.append((total / steps).item())
        if not total.isfinite():
            raise FloatingPointError(
                f"the error of the student of '{recipe.objective}' became {errors[-1]} in epoch "
                f"{epoch + 1}: try a lower learning_rate (now {recipe.learning_rate:g})"
            )
    return errors
