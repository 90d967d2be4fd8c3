import math

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps

from helpers.training.mixing import OPERATIONS, apply, augmix


def pictures(n=6, size=32):
    """Smooth random images of whole numbers, float32."""
    generator = np.random.default_rng(0)
    coarse = generator.integers(0, 256, (n, 4, 4, 3), dtype=np.uint8)
    large = [np.asarray(Image.fromarray(one).resize((size, size))) for one in coarse]
    return torch.from_numpy(np.stack(large)).permute(0, 3, 1, 2).float()


def of(n, value):
    return torch.full((n, 1, 1, 1), value)


def with_pillow(function, images):
    """Apply a function of Pillow's to each image."""
    arrays = images.permute(0, 2, 3, 1).numpy().astype(np.uint8)
    done = np.stack([np.asarray(function(Image.fromarray(one))) for one in arrays])
    return torch.from_numpy(done).permute(0, 3, 1, 2).float()


@pytest.mark.parametrize(
    ("name", "strength", "function"),
    [
        ("autocontrast", 0.3, ImageOps.autocontrast),
        ("equalize", 0.3, ImageOps.equalize),
        ("posterize", 0.3, lambda image: ImageOps.posterize(image, 3)),
        ("posterize", 0.2, lambda image: ImageOps.posterize(image, 4)),
        ("solarize", 0.3, lambda image: ImageOps.solarize(image, 256 - int(0.3 * 256))),
    ],
)
def test_tones_change_as_pillow_changes_them(name, strength, function):
    images = pictures()
    ours = apply(name, images, of(6, strength), of(6, 1.0))
    assert (ours - with_pillow(function, images)).abs().max() <= 1


def test_translation_moves_by_whole_pixels_and_brings_in_black():
    images = pictures()
    moved = apply("translate_x", images, of(6, 0.3), of(6, 1.0))  # a third of 32, times 0.3: 3.2
    assert torch.allclose(moved[..., :29], images[..., 3:], atol=1e-3)
    assert (moved[..., 29:] == 0).all()
    moved = apply("translate_y", images, of(6, 0.3), of(6, -1.0))
    assert torch.allclose(moved[..., 3:, :], images[..., :29, :], atol=1e-3)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    ("name", "rows"), [("shear_x", (1, 0.27, 0, 0, 1, 0)), ("shear_y", (1, 0, 0, 0.27, 1, 0))]
)
def test_about_the_corner_a_shear_is_pillows(name, rows, sign):
    """`Image.transform` as the authors' code calls it; about the middle it is another picture."""
    images = pictures()
    rows = tuple(one * sign if one == 0.27 else one for one in rows)
    pillow = with_pillow(
        lambda image: image.transform(
            (32, 32), Image.Transform.AFFINE, rows, resample=Image.Resampling.BILINEAR
        ),
        images,
    )
    corner, middle = (apply(name, images, of(6, 0.9), of(6, sign), centre) for centre in (0.0, 0.5))
    inside = (..., slice(2, 30), slice(2, 30))
    near, far = ((sheared - pillow)[inside].abs() for sheared in (corner, middle))
    assert near.median() <= 1 and near.mean() < 0.2 * far.mean()
    # what comes in from outside is black in the same places
    assert ((corner == 0).all(dim=1) == (pillow == 0).all(dim=1)).float().mean() > 0.95
    usual = apply(name, images, of(6, 0.9), of(6, sign))
    assert torch.equal(usual, middle)
    at_the_middle = (..., slice(15, 17), slice(15, 17))
    assert (middle - images)[at_the_middle].abs().max() < (corner - images)[
        at_the_middle
    ].abs().max()


def test_mixtures_stay_in_range_differ_and_repeat_themselves():
    images = pictures(20)
    mixed, again = (augmix(images, torch.Generator().manual_seed(1)) for _ in range(2))
    assert torch.equal(mixed, again)
    assert mixed.shape == images.shape
    assert mixed.min() >= -1e-3 and mixed.max() <= 255 + 1e-3
    assert (mixed - images).abs().flatten(1).mean(dim=1).max() > 1
    other = augmix(images, torch.Generator().manual_seed(2))
    assert not torch.allclose(mixed, other)


def test_every_operation_is_drawn_equally_often(monkeypatch):
    counts = dict.fromkeys(OPERATIONS, 0)

    def counted(name, images, strength, sign, shear_centre):
        counts[name] += len(images)
        assert (strength > 0).all() and (strength <= 0.3).all()
        return images

    monkeypatch.setattr("helpers.training.mixing.apply", counted)
    images = pictures(18)
    mixed = augmix(images, torch.Generator().manual_seed(0))
    assert set(counts.values()) == {18 * 3 * 3 / 9}
    assert torch.allclose(mixed, images, atol=1e-3)  # weights of the chains sum to 1


def test_uniform_share_of_the_image_itself(monkeypatch):
    monkeypatch.setattr("helpers.training.mixing.apply", lambda name, images, *_: images * 0)
    mixed = augmix(torch.full((4000, 3, 1, 1), 255.0), torch.Generator().manual_seed(0))
    share = mixed[:, 0, 0, 0] / 255
    assert share.mean().item() == pytest.approx(0.5, abs=0.02)
    assert share.std().item() == pytest.approx(math.sqrt(1 / 12), abs=0.02)
