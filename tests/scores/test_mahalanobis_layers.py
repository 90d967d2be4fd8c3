"""The Mahalanobis score of all stages, against the formulas of Lee et al. image by image."""

from unittest.mock import Mock

import pytest
import torch

from helpers import cache
from helpers.networks import backbones
from helpers.networks.recipe import Recipe
from helpers.scores.mahalanobis_layers import (
    StageDistances,
    fitted_stages,
    stage_means,
    stage_scores,
)
from tests.papers import toys

EPSILONS = [0.0, 0.002, 0.05]


@pytest.fixture(scope="module")
def network():
    recipe = Recipe(backbone="resnet", depth=8, width=8, stem_stride=1)
    classifier = backbones.create(recipe, 3, seed=4).eval()
    classifier.set_normalisation(toys.images(30, 1).images)
    return classifier


def maps(network, pixels):
    """Return the maps after the stem and after each of the three stages."""
    body = network.backbone
    x = (pixels - network.mean) / network.std
    stages = [body.act1(body.bn1(body.conv1(x)))]
    for layer in (body.layer1, body.layer2, body.layer3):
        stages.append(layer(stages[-1]))
    return stages


def pixels_of(images):
    return torch.from_numpy(images.images).permute(0, 3, 1, 2).float()


def test_every_stage_equals_the_formulas_image_by_image(network):
    """Means over positions, a shared covariance, the nearest class, one step towards it."""
    train, shown = toys.images(60, 2), toys.images(5, 3)
    scored = stage_scores(network, shown, fitted_stages(network, train), EPSILONS)
    assert scored.shape == (3, 5, 4)
    with torch.no_grad():
        features = [stage.mean(dim=(2, 3)).double() for stage in maps(network, pixels_of(train))]
    for stage, rows in enumerate(features):
        labels = torch.from_numpy(train.labels)
        means = torch.stack([rows[labels == k].mean(dim=0) for k in range(3)])
        centred = rows - means[labels]
        precision = torch.linalg.pinv(centred.T @ centred / 60, hermitian=True, rtol=1e-12)

        def distance(pixels, stage=stage, means=means, precision=precision):
            gaps = maps(network, pixels)[stage].mean(dim=(2, 3)).double() - means
            return torch.einsum("ki,ij,kj->k", gaps, precision, gaps).min()

        for number, pixels in enumerate(pixels_of(shown)):
            image = pixels[None].clone().requires_grad_()
            (gradient,) = torch.autograd.grad(distance(image), image)
            for step, epsilon in enumerate(EPSILONS):
                moved = image.detach() - 255 * epsilon * gradient.sign()
                expected = -distance(moved).item()
                assert scored[step, number, stage] == pytest.approx(expected, rel=2e-3)


def test_distances_are_kept_for_one_version_of_pillow(monkeypatch):
    monkeypatch.setattr(cache, "key", key := Mock(side_effect=InterruptedError))
    with pytest.raises(InterruptedError):
        StageDistances(Mock(networks=[1]), Mock()).scores(Mock(), [])
    assert "pillow" in key.call_args.kwargs


def test_an_ensemble_and_a_network_without_stages_are_refused(network):
    class Ensemble:
        networks = (network, network)

    with pytest.raises(ValueError, match="model: one network expected, got 2"):
        StageDistances(Ensemble, toys.images(6))
    bare = backbones.Classifier(torch.nn.Flatten())
    with pytest.raises(ValueError, match="a backbone with timm's forward_intermediates expected"):
        stage_means(bare, pixels_of(toys.images(6)))
