"""The font's glyphs: all there, each inside its square, and read where they stand."""

import numpy as np
import pytest

from pictures.font import SCRIPTS, atlas, ink

SCRIPT = pytest.mark.parametrize("script", sorted(SCRIPTS))


@SCRIPT
def test_glyphs_are_drawn_inside_a_free_margin_and_differ(script):
    """Each has ink, none of it within two pixels of the edge, and no two look the same."""
    glyphs = atlas(script)
    assert glyphs.min() >= 0 and glyphs.max() <= 1
    assert (glyphs.max(axis=(1, 2)) > 0.5).all()
    assert len(np.unique(glyphs, axis=0)) == len(glyphs)
    margin = np.pad(np.zeros((28, 28), bool), 2, constant_values=True)
    assert not glyphs[:, margin].any()


def test_ink_is_the_glyph_at_its_pixels_and_nothing_outside():
    """At the pixels' centres the atlas itself, half-way between two their mean, outside nothing."""
    glyphs = atlas("latin")
    y, x = np.indices((1, 32, 32), np.float32)[1:] - 15.5
    for which in (0, len(glyphs) - 1):
        chosen = np.full((1, 1, 1), which)
        np.testing.assert_allclose(ink(glyphs, chosen, x, y)[0], glyphs[which], atol=1e-6)
        between = ink(glyphs, chosen, x + 0.5, y)[0, :, :-1]
        np.testing.assert_allclose(
            between, (glyphs[which, :, 1:] + glyphs[which, :, :-1]) / 2, atol=1e-5
        )
        for away in ((40, 0), (-40, 0), (0, 1e6), (0, -1e6)):
            assert not ink(glyphs, chosen, x + away[0], y + away[1]).any()
