import numpy as np
import pytest
import torch
from torch import nn

from helpers.networks import models
from helpers.networks.heads import EQUIPPED
from helpers.networks.recipe import Recipe

SMALL = {
    "resnet": Recipe(depth=8, width=8),
    "densenet": Recipe(backbone="densenet", depth=16, width=8),
    "efficientnet": Recipe(backbone="efficientnet", depth=0.3, width=0.25),
}
PATCHED = {
    name: Recipe(backbone=name, depth=2, width=32, stem_stride=8, image_size=32)
    for name in ("resmlp", "vit")
}


@pytest.mark.parametrize("family", [*SMALL, *PATCHED])
def test_features_head_and_logits_agree(family):
    model = models.create((SMALL | PATCHED)[family], 5).eval()
    images = torch.randint(0, 256, (2, 3, 32, 32), dtype=torch.uint8)
    with torch.no_grad():
        features, logits = model.features(images), model(images)
    assert logits.shape == (2, 5)
    head = model.head
    assert head.weight.shape == (5, features.shape[1]) and head.bias.shape == (5,)
    np.testing.assert_allclose(features.numpy() @ head.weight.T + head.bias, logits, 1e-4, 1e-4)


@pytest.mark.parametrize(
    ("recipe", "layers"),
    [
        (Recipe(depth=8), 8),
        (Recipe(depth=20), 20),
        (Recipe(depth=18, width=8), 18),
        (Recipe(backbone="densenet", depth=22, width=4), 22),
        (Recipe(backbone="densenet", depth=121, width=4), 121),
    ],
)
def test_depth_counts_the_layers(recipe, layers):
    """Convolutions on the main path and the head; the shortcuts' projections do not count."""
    model = models.create(recipe, 3).backbone
    convolutions = [
        name
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Conv2d) and "downsample" not in name
    ]
    assert len(convolutions) + 1 == layers


def test_cifar_resnet20_has_the_published_number_of_parameters():
    """He et al. (2016), table 6: 0.27 M. (0.2697 M with parameter-free shortcuts, theirs.)"""
    model = models.create(Recipe(depth=20, width=16), 10).backbone
    shortcuts = sum(p.numel() for name, p in model.named_parameters() if "downsample" in name)
    total = sum(p.numel() for p in model.parameters())
    assert total - shortcuts == 269_722


def test_same_seed_same_weights_and_the_callers_random_state_is_untouched():
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    one, two, other = (models.create(SMALL["resnet"], 3, seed=seed) for seed in (7, 7, 8))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(one.backbone.conv1.weight, two.backbone.conv1.weight)
    assert not torch.equal(one.backbone.conv1.weight, other.backbone.conv1.weight)


def test_normalisation_is_exact():
    model = models.create(SMALL["resnet"], 3)
    images = np.random.default_rng(0).integers(0, 256, (9, 8, 8, 3), dtype=np.uint8)
    model.set_normalisation(images)
    np.testing.assert_allclose(model.mean.ravel(), images.mean(axis=(0, 1, 2)), rtol=1e-6)
    np.testing.assert_allclose(model.std.ravel(), images.std(axis=(0, 1, 2)), rtol=1e-5)
    assert "mean" in model.state_dict()


def test_dropout_comes_after_every_normalisation_of_a_block_and_before_the_head():
    """The same weights, so that dropout is all that is different."""
    plain = models.create(Recipe(depth=20), 4)
    dropped = models.create(Recipe(depth=20, dropout=0.2, block_dropout=0.1), 4)
    drops = [one for one in dropped.modules() if isinstance(one, nn.Dropout)]
    assert [one.p for one in drops].count(0.1) == 2 * 9 and drops[-1].p == 0.2
    deep = models.create(Recipe(depth=50, width=64, stem_stride=4, block_dropout=0.1), 4)
    places = [one for one in deep.modules() if isinstance(one, nn.Dropout) and one.p == 0.1]
    assert len(places) == 3 * 16  # a bottleneck has three convolutions
    images = torch.randint(0, 256, (2, 3, 32, 32), dtype=torch.uint8)
    weights = [list(one.parameters()) for one in (plain, dropped)]
    assert all(torch.equal(*pair) for pair in zip(*weights, strict=True))
    assert torch.equal(plain.eval()(images), dropped.eval()(images))
    dropped.sample_dropout()
    assert not torch.equal(dropped(images), dropped(images))
    assert not any(one.training for one in dropped.modules() if isinstance(one, nn.BatchNorm2d))
    order = []
    for name, one in dropped.backbone.layer1[0].named_modules():
        one.register_forward_hook(lambda *_, name=name: order.append(name))
    dropped(images)
    kept = [name for name in order if name and not name.startswith("aa")]
    assert kept == ["conv1", "bn1", "drop_block", "act1", "conv2", "bn2", "drop_path", "act2"]


@pytest.mark.parametrize("family", [*SMALL, *PATCHED])
@pytest.mark.parametrize("objective", EQUIPPED)
def test_every_family_takes_every_kind_of_head(family, objective):
    """Answers of a class each, and the backbone's weights as they are without."""
    plain = (SMALL | PATCHED)[family]
    recipe = Recipe.from_parameters(plain.as_dict(), objective=objective)
    model, erm = models.create(recipe, 5).eval(), models.create(plain, 5)
    images = torch.randint(0, 256, (2, 3, 32, 32), dtype=torch.uint8)
    assert model(images).shape == (2, 5)
    state = {name.replace("linear.", ""): value for name, value in model.state_dict().items()}
    other = {n for n, v in erm.state_dict().items() if not torch.equal(state[n], v)}
    if objective != "mimo":  # whose first convolution and heads are others
        assert not other
    if objective in ("mimo", "rbf"):
        with pytest.raises(ValueError, match="backbone: no linear head"):
            model.head  # noqa: B018
    else:
        assert model.head.weight.shape[0] == 5
    assert (model.native is None) == (objective in ("mimo", "rbf"))
