"""Bad input to functions of data is refused in words that name the argument (mistakes.yaml)."""

from pathlib import Path

import numpy as np
from PIL import Image

from helpers.data import Images, ImageStream
from helpers.data.hypernyms import Hypernyms
from helpers.data.packs import LARGEST_TILE
from tests.mistakes import refusals

BLACK = np.zeros((6, 8, 8, 3), np.uint8)
NUMBERS = np.zeros(6, np.int64)
ZOO = ("a", "bee", "c"), "zoo", "test"
OBJECTS = {
    "black": BLACK,
    "shares": BLACK / 255,
    "one black": BLACK[0],
    "no images": BLACK[:0],
    "channels first": BLACK.transpose(0, 3, 1, 2),
    "two pixels high": BLACK[:, :2],
    "seven pixels high": BLACK[:, :7],
    "an image of 16 bits": Image.new("I;16", (4, 4), 1000),
    "one too large": np.zeros((1, LARGEST_TILE + 1, LARGEST_TILE + 1, 3), np.uint8),
    "six zeros": NUMBERS,
    "five zeros": NUMBERS[:5],
    "six fractions": NUMBERS / 2,
    "six threes": NUMBERS + 3,
    "six times minus two": NUMBERS - 2,
    "a zoo": Images(BLACK, NUMBERS, *ZOO),
    "a small zoo": Images(BLACK[:, :4, :4], NUMBERS, *ZOO),
    "a stream of two": ImageStream(Path(), ("1.png", "2.png"), NUMBERS[:2], *ZOO, {}, None, None),
    "a graph": Hypernyms({"thing": (), "hammer": ("thing",), "ant": ("thing",)}),
}


test_bad_input_is_named_and_nothing_is_written = refusals(__file__, OBJECTS)
