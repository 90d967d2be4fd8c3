"""Recipes, the networks that they describe, and models of several networks."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from helpers.data import Images
from helpers.networks import backbones
from helpers.networks.dropout import Dropout
from helpers.networks.heads import EQUIPPED
from helpers.networks.model import Model
from helpers.networks.recipe import Recipe
from helpers.outputs import Outputs
from tests.mistakes import refusals

SMALL = Recipe(depth=8, width=8)
PATCHED = Recipe(backbone="vit", depth=2, width=32, stem_stride=8, image_size=32)
FAMILIES = {
    "resnet": SMALL,
    "densenet": replace(SMALL, backbone="densenet", depth=16),
    "efficientnet": Recipe(backbone="efficientnet", depth=0.3, width=0.25),
    "vit": PATCHED,
}


PIXELS = torch.randint(0, 256, (2, 3, 32, 32), dtype=torch.uint8)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("objective", ["erm", *EQUIPPED])
def test_every_family_takes_every_kind_of_head(family, objective):
    """Features and head give the logits, and the backbone has equal weights."""
    plain = FAMILIES[family]
    recipe = Recipe.from_parameters(plain.as_dict(), objective=objective)
    model = backbones.create(recipe, 5).eval()
    erm = backbones.create(plain, 5)
    logits = model(PIXELS).detach()
    state = {name.replace("linear.", ""): value for name, value in model.state_dict().items()}
    if objective != "mimo":  # whose first convolution and heads are others
        assert all(torch.equal(state[n], value) for n, value in erm.state_dict().items())
    if objective in ("mimo", "rbf"):
        with pytest.raises(ValueError, match="backbone: a linear head expected"):
            model.head  # noqa: B018
    else:
        features = model.features(PIXELS).detach().numpy()
        head = model.head
        np.testing.assert_allclose(features @ head.weight.T + head.bias, logits, 1e-4, 1e-4)
    assert (model.native is None) == (objective in ("mimo", "rbf", "erm"))


DEPTHS = [("resnet", 8), ("resnet", 18), ("resnet", 20), ("densenet", 22), ("densenet", 121)]


@pytest.mark.parametrize(("backbone", "depth"), DEPTHS)
def test_depth_counts_the_layers(backbone, depth):
    """Convolutions on the main path and the head; the shortcuts' projections do not count."""
    modules = backbones.create(Recipe(backbone=backbone, depth=depth, width=4), 3).named_modules()
    convolutions = [name for name, module in modules if isinstance(module, nn.Conv2d)]
    assert sum("downsample" not in name for name in convolutions) + 1 == depth


def test_cifar_resnet20_has_the_published_number_of_parameters():
    """He et al. (2016), table 6: 0.27 M. (0.2697 M with parameter-free shortcuts, theirs.)"""
    weights = backbones.create(Recipe(depth=20, width=16), 10).backbone.named_parameters()
    assert sum(weight.numel() for name, weight in weights if "downsample" not in name) == 269_722


def test_normalisation_is_exact():
    model = backbones.create(SMALL, 3)
    images = np.random.default_rng(0).integers(0, 256, (9, 8, 8, 3), dtype=np.uint8)
    model.set_normalisation(images)
    np.testing.assert_allclose(model.mean.ravel(), images.mean(axis=(0, 1, 2)), rtol=1e-6)
    np.testing.assert_allclose(model.std.ravel(), images.std(axis=(0, 1, 2)), rtol=1e-5)
    assert "mean" in model.state_dict()


def test_dropout_comes_after_every_normalisation_of_a_block_and_before_the_head():
    """The same weights, so that dropout is all that is different."""
    plain = backbones.create(Recipe(depth=20), 4)
    dropped = backbones.create(Recipe(depth=20, dropout=0.2, block_dropout=0.1), 4)
    deep = backbones.create(Recipe(depth=50, width=64, stem_stride=4, block_dropout=0.1), 4)
    for model, count, last in ((dropped, 2 * 9, 0.2), (deep, 3 * 16, 0.0)):  # convolutions
        shares = [module.p for module in model.modules() if isinstance(module, nn.Dropout)]
        assert shares.count(0.1) == count
        assert shares[-1] == last
    assert torch.equal(plain.eval()(PIXELS), dropped.eval()(PIXELS))
    dropped.sample_dropout()
    assert not torch.equal(dropped(PIXELS), dropped(PIXELS))
    assert not any(each.training for each in dropped.modules() if isinstance(each, nn.BatchNorm2d))
    order = []
    for name, module in dropped.backbone.layer1[0].named_children():
        module.register_forward_hook(lambda *_, name=name: order.append(name))
    dropped(PIXELS)
    kept = [name for name in order if not name.startswith("aa")]
    assert kept == ["conv1", "bn1", "drop_block", "act1", "conv2", "bn2", "drop_path", "act2"]


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_dropout_drops_its_share_and_keeps_the_mean(precision):
    layer = Dropout(0.1)
    units = torch.ones(64, 16, 16, 16, dtype=precision).to(memory_format=torch.channels_last)
    units.requires_grad_()
    torch.manual_seed(0)
    dropped = layer(units)
    assert dropped.is_contiguous(memory_format=torch.channels_last)
    # four standard deviations of the share of 262,144 units
    assert (dropped == 0).float().mean().item() == pytest.approx(0.1, abs=0.0024)
    assert dropped.max().item() == torch.tensor(1 / 0.9, dtype=precision).item()
    dropped.float().sum().backward()
    assert torch.equal(units.grad, dropped)
    torch.manual_seed(0)
    assert torch.equal(layer(units), dropped)
    assert torch.equal(layer.eval()(units), units)


def stand_in(seed):
    """Return a network whose outputs its seed draws, with the labels that it is shown."""

    def outputs(images, *, passes=0):
        members = np.full((passes, 4, 2), 0.5) if passes else None
        logits = np.random.default_rng(seed).normal(size=(4, 2))
        return Outputs(logits, np.zeros((4, 3)), images.labels, members)

    known = {"sha256": f"{seed}", "preprocessing": {"size": None}, "device_name": "cpu"}
    classifier = backbones.create(Recipe(width=4), 2, seed=seed)
    return SimpleNamespace(outputs=outputs, classifier=classifier, seconds=1.5, **known)


IMAGES = Images(np.zeros((4, 8, 8, 3), np.uint8), np.arange(4) % 2, ("cat", "dog"), "few", "test")


def test_several_networks_answer_as_one():
    """Their probabilities are averaged, and dropout passes are members."""
    first = stand_in(0)
    second = stand_in(1)
    alone = Model("one", (first,))
    both = Model("both", (first, second))
    assert alone.outputs(IMAGES).members is None
    assert alone.head.weight.shape == (2, 16)
    expected = np.mean([each.outputs(IMAGES).probabilities for each in (first, second)], axis=0)
    np.testing.assert_allclose(both.outputs(IMAGES).probabilities, expected, rtol=1e-6)
    assert both.head is None
    assert both.seconds == 3
    assert both.parameters == 2 * alone.parameters > 0
    drawn = replace(alone, passes=3)
    assert drawn.outputs(IMAGES).members.shape == (3, 4, 2)
    assert len({each.sha256 for each in (alone, both, drawn)}) == 3
    known = Model("one", (first,), class_names=("dog", "ant"))  # images are numbered by name
    assert known.outputs(IMAGES).labels.tolist() == [-1, 0, -1, 0]


def test_recipes_survive_a_round_trip():
    """The usual precision is not named, so that older networks are found."""
    exact = Recipe(precision="float32", augmentation=("flip",), depth=20)
    assert Recipe.from_parameters(exact.as_dict()) == exact != Recipe()
    assert "precision" not in Recipe(precision="auto").as_dict()


test_bad_recipes_are_refused = refusals(__file__, {"a layer": nn.Sequential(nn.Linear(2, 2))})
