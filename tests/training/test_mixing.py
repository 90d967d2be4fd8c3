"""Augmentations that mix, compared with Pillow, and random search by seed."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps

from helpers.networks.recipe import Recipe
from helpers.papers import load
from helpers.training.mixing import OPERATIONS, apply, augmix
from helpers.training.search import applied, trials
from tests.mistakes import beside

GIVEN = beside(__file__, "by_hand.yaml")
SPACE = GIVEN["space"]
DEFAULTS = GIVEN["defaults"]
COARSE = np.random.default_rng(0).integers(0, 256, (6, 4, 4, 3), dtype=np.uint8)
SMOOTH = [Image.fromarray(colours).resize((32, 32)) for colours in COARSE]


def with_pillow(function):
    """Return smooth images, changed by a function of Pillow's: whole numbers, float32."""
    return torch.from_numpy(np.stack([*map(function, SMOOTH)])).permute(0, 3, 1, 2).float()


IMAGES = with_pillow(Image.Image.copy)


def ours(name, strength, sign, *centre):
    """Return the same images, changed by an operation of this project."""
    amounts = (torch.full((6, 1, 1, 1), value) for value in (strength, sign))
    return apply(name, IMAGES, *amounts, *centre)


@pytest.mark.parametrize(("name", "strength", "given", "within"), GIVEN["tones"])
def test_tones_change_as_pillow_changes_them(name, strength, given, within):
    expected = with_pillow(lambda image: getattr(ImageOps, name)(image, *given))
    assert (ours(name, strength, 1.0) - expected).abs().max() <= within


def test_translation_moves_by_whole_pixels_and_brings_in_black():
    moved = ours("translate_x", 0.3, 1.0)  # a third of 32, times 0.3: 3.2
    assert torch.allclose(moved[..., :29], IMAGES[..., 3:], atol=1e-3)
    assert (moved[..., 29:] == 0).all()
    moved = ours("translate_y", 0.3, -1.0)
    assert torch.allclose(moved[..., 3:, :], IMAGES[..., :29, :], atol=1e-3)


def test_a_rotation_by_a_right_angle_moves_whole_pixels():
    """Three times the highest strength, which is 30 degrees."""
    assert torch.allclose(ours("rotate", 3.0, 1.0), torch.rot90(IMAGES, 1, (2, 3)), atol=1e-2)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("name", ["shear_x", "shear_y"])
def test_about_the_corner_a_shear_is_pillows(name, sign):
    """`Image.transform` as the authors' code calls it; about the middle it is another picture."""
    size = 0.27 * sign
    rows = (1, size, 0, 0, 1, 0) if name == "shear_x" else (1, 0, 0, size, 1, 0)
    how = Image.Transform.AFFINE, rows, Image.Resampling.BILINEAR
    pillow = with_pillow(lambda image: image.transform((32, 32), *how))
    corner, middle = (ours(name, 0.9, sign, centre) for centre in (0.0, 0.5))
    near, far = ((sheared - pillow)[..., 2:30, 2:30].abs() for sheared in (corner, middle))
    assert near.median() <= 1
    assert near.mean() < 0.2 * far.mean()
    # what comes in from outside is black in the same places
    assert ((corner == 0).all(dim=1) == (pillow == 0).all(dim=1)).float().mean() > 0.95
    assert torch.equal(ours(name, 0.9, sign), middle)  # as usual
    moved = [(sheared - IMAGES)[..., 15:17, 15:17].abs().max() for sheared in (middle, corner)]
    assert moved[0] < moved[1]


def test_every_operation_is_drawn_equally_often(monkeypatch):
    """At a uniform level from 0.1 to 3 of 10, to either side."""
    counts = dict.fromkeys(OPERATIONS, 0)
    drawn = []

    def counted(name, images, strength, sign, shear_centre):
        counts[name] += len(images)
        drawn.append(torch.stack([strength.flatten(), sign.flatten()]))
        return images

    monkeypatch.setattr("helpers.training.mixing.apply", counted)
    images = IMAGES[..., :2, :2].repeat(300, 1, 1, 1)
    mixed = augmix(images, torch.Generator().manual_seed(0))
    assert set(counts.values()) == {1800 * 3 * 3 / 9}
    assert torch.allclose(mixed, images, atol=1e-3)  # weights of the chains sum to 1
    strength, sign = torch.cat(drawn, dim=1)
    quarters = torch.histc(strength, bins=4, min=0.01, max=0.3)
    assert quarters.sum() == strength.numel()
    assert quarters.std() < 0.02 * strength.numel()
    assert abs(sign.mean()) < 0.03
    assert {*sign.tolist()} == {-1.0, 1.0}


def test_chains_have_two_operations_on_average_and_half_of_the_weight(monkeypatch):
    monkeypatch.setattr("helpers.training.mixing.apply", lambda name, images, *_: images + 1)
    mixed = augmix(torch.zeros(60_000, 3, 1, 1), torch.Generator().manual_seed(0))
    assert mixed.mean().item() == pytest.approx(0.5 * 2, abs=0.02)
    # the variance of a length is 2/3; the squares of three Dirichlet weights sum to 1/2 on average
    assert mixed.square().mean().item() == pytest.approx((2**2 + 2 / 3 / 2) / 3, abs=0.02)


def test_trials_are_the_defaults_and_draws_by_seed_name_and_number():
    """Further trials, hyper-parameters and their order do not change a draw."""
    first, *others = trials(SPACE, DEFAULTS, 2001)
    assert first == DEFAULTS
    assert list(others[0]) == list(DEFAULTS)
    drawn = {name: np.array([trial[name] for trial in others]) for name in DEFAULTS}
    assert (drawn["copies"] == 2).all()
    logs = np.log(drawn["learning_rate"])
    shares = drawn["share"]
    for values, low, high in ((logs, np.log(0.01), np.log(0.5)), (shares, 0.2, 1)):
        quarters = np.histogram(values, bins=4, range=(low, high))[0]
        assert quarters.sum() == 2000
        assert np.abs(quarters - 500).max() < 100
    counts = Counter(drawn["momentum"])
    assert {*counts} == {0.5, 0.9, 0.99}
    assert min(counts.values()) > 2000 / 3 - 110
    assert abs(np.corrcoef(logs, shares)[0, 1]) < 0.08
    few = [first, *others[:2]]
    assert trials(dict(reversed(SPACE.items())), DEFAULTS, 3) == few
    alone = trials({"share": SPACE["share"]}, DEFAULTS, 3)
    assert [trial["share"] for trial in alone] == [trial["share"] for trial in few]
    other = trials(SPACE, DEFAULTS, 3, seed=1)
    assert other[0] == few[0]
    assert other[1] != few[1]


def test_trials_in_sequence_equal_the_trials_of_the_authors_code():
    """``numpy.random.seed(N)``, then the laws in their order: expected values are from that code.

    The weight decay is twice the authors' number, since their loss has the whole squared norm.
    """
    parameters = load("uimnet", "authors")
    for algorithm, values in GIVEN["sequence"].items():
        defaults, space = parameters.searched(algorithm)
        drawn = trials(space, defaults, 5, seed=3, draws=parameters.trial_draws)
        count = len(values[0])
        for number, value in zip((0, 1, 4), values, strict=True):
            tail = [drawn[number][name] for name in space][-count:]
            assert tail == pytest.approx(value, rel=0.02, abs=5e-6)
    with pytest.raises(ValueError, match="unknown draws 'sequenze'; did you mean 'sequence'"):
        trials(SPACE, DEFAULTS, 3, draws="sequenze")


def test_drawn_values_are_applied_to_a_recipe():
    """An argument of the objective has priority over a recipe's field of the same name."""
    arguments = {"weight": 1.0, "depth": 2}
    base = Recipe(width=8, objective="rnd", objective_arguments={"weight": 2.0})
    expected = replace(base, momentum=0.5, objective_arguments=arguments)
    assert applied(base, {"momentum": 0.5} | arguments) == expected
    assert applied(base, {}) == base
    assert applied(Recipe(), {"depth": 14}).depth == 14
