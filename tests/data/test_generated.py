"""Generated families and glyphs: the same everywhere, unlike each other, drawn once and kept."""

import subprocess
import sys

import numpy as np
import pytest

import pictures
from helpers import cache
from helpers.data import load, locate, names
from helpers.data.cards import find
from pictures import FAMILIES, draw, family
from pictures.font import SCRIPTS, atlas

FAMILY = pytest.mark.parametrize("name", sorted(FAMILIES))


@FAMILY
def test_a_family_is_a_pure_function_of_generator_and_number(name):
    """The state of the generator decides; n images come as bytes, none of one colour only."""
    generators = map(np.random.default_rng, (3, 3, 4))
    first, again, other = (FAMILIES[name].draw(generator, 40) for generator in generators)
    assert first.dtype == np.uint8
    assert first.shape == (40, 32, 32, 3)
    assert (first == again).all()
    assert (first != other).any()
    assert (np.ptp(first, axis=(1, 2)).max(axis=1) > 10).all()


@pytest.mark.parametrize("most", [200, pytest.param(10**6, marks=pytest.mark.exhaustive)])
@FAMILY
def test_a_family_is_loaded_by_name_with_the_fields_of_its_card(name, most, root, monkeypatch):
    """`load`, `names`, `locate` and the card know it; no image is drawn twice, in either split."""
    # nobody finds the shortened splits, since the cache is another one
    for split, count in FAMILIES[name].splits.items():  # of which all are drawn in the next test
        monkeypatch.setitem(FAMILIES[name].splits, split, min(count, most))
    card = find(name)
    everything = []
    assert name in names()
    assert locate(name) is None
    for split, count in card.splits.items():
        images = load(name, split)
        assert images.images.shape == (count, card.size, card.size, 3)
        assert (images.class_names, images.origin) == ((name,), card.record)
        assert not images.labels.any()
        everything += [image.tobytes() for image in images.images]
    assert len(set(everything)) == len(everything)


def test_a_split_begins_as_a_shorter_one_and_is_drawn_once_for_its_code(root, monkeypatch):
    """Batch after batch from one generator; another state of the code draws again."""
    whole = draw("mazes", "train")
    assert whole.shape == (2000, 32, 32, 3)
    assert find("mazes").splits["train"] == 2000
    assert len({image.tobytes() for image in whole}) == 2000
    monkeypatch.setitem(FAMILIES["mazes"].splits, "train", 500)
    np.testing.assert_array_equal(draw("mazes", "train"), whole[:500])
    first = load("mazes", "test")
    with monkeypatch.context() as patch:
        patch.setattr(pictures, "draw", None)
        assert load("mazes", "test").sha256 == first.sha256
    (kept,) = (drawn := root.with_name("cache") / "drawn").iterdir()
    monkeypatch.setattr(cache, "code", lambda *names: "of another state")
    assert load("mazes", "test").sha256 == first.sha256
    assert len(list(drawn.iterdir())) == 2
    assert kept.exists()


def test_the_same_images_in_every_process():
    """No seed depends on the process, as Python's hash of a string would."""
    code = "from helpers.data import load; print(load('julia', 'test').sha256)"
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert printed.strip() == load("julia", "test").sha256


def test_gaussian_noise_has_the_published_moments():
    """N(0.5, 1) clipped to [0, 1]: 30.85 % black, as many white, and even in between."""
    images = load("gaussian", "test").images
    assert len(images) == 10000
    for extreme in (0, 255):  # rounding adds half a step of the density 0.35 at the ends
        assert (images == extreme).mean() == pytest.approx(0.3085 + 0.5 / 255 * 0.35, abs=5e-4)
    assert images.mean() / 255 == pytest.approx(0.5, abs=1e-3)


def test_a_name_is_given_once():
    with pytest.raises(ValueError, match="'mazes' is registered already"):
        family("Other mazes")(FAMILIES["mazes"].draw)
    assert pictures.FAMILIES["mazes"].title == "Mazes"


def test_a_family_without_a_description_is_refused():
    def dots(generator, n): ...

    with pytest.raises(ValueError, match="'dots': a docstring expected"):
        family("Dots")(dots)
    assert "dots" not in FAMILIES


@pytest.mark.parametrize("script", sorted(SCRIPTS))
def test_glyphs_are_drawn_inside_a_free_margin_and_differ(script):
    """Each has ink, no ink is within two pixels of the edge, and all glyphs differ."""
    glyphs = atlas(script)
    assert glyphs.min() >= 0
    assert glyphs.max() <= 1
    assert (glyphs.max(axis=(1, 2)) > 0.5).all()
    assert len(np.unique(glyphs, axis=0)) == len(glyphs)
    assert np.count_nonzero(glyphs) == np.count_nonzero(glyphs[:, 2:-2, 2:-2])
