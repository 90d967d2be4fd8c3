"""Bad input to functions of data is refused, and the message names the argument."""

from functools import partial

import numpy as np
import pytest
from PIL import Image

from helpers.data import (
    Images,
    class_lists,
    class_roles,
    concatenate,
    load,
    smoothness,
    wordnet,
    wordnet_rules,
)
from helpers.data.corruptions import corrupt
from helpers.data.hypernyms import Hypernyms
from helpers.data.listing import Listing
from helpers.data.pixels import stack
from helpers.data.stream import ImageStream
from pictures import draw

BLACK = np.zeros((6, 8, 8, 3), np.uint8)
GRAPH = Hypernyms({"thing": (), "hammer": ("thing",), "ant": ("thing",)})


def images(**changes):
    fields = {"images": BLACK, "labels": np.arange(6) % 3, "class_names": ("a", "bee", "c")}
    return Images(**fields | {"name": "zoo", "split": "test"} | changes)


def stack_deep():
    """Stack an image of 16 bits."""
    return stack([("deep", Image.fromarray(np.full((4, 4), 1000, np.uint16)))], None, "test")


BAD = [
    *[(message, partial(images, **changes)) for message, changes in [
        ("images: uint8", {"images": np.zeros((6, 8, 8, 3))}),
        ("images: uint8", {"images": np.zeros((6, 3, 8, 8), np.uint8)}),
        (r"labels: int64 \[6\] expected, got int64 \[5\]", {"labels": np.zeros(5, np.int64)}),
        ("labels: int64", {"labels": np.zeros(6)}),
        ("labels: values -1 to 2", {"labels": np.full(6, 3)}),
        ("labels: values -1 to 2", {"labels": np.full(6, -2)}),
        ("coarse_labels: values", {"coarse_labels": np.zeros(6, np.int64)})]],
    ("unknown class of zoo 'be'; did you mean 'bee'", lambda: images().select(["be"])),
    *[("images: uint8", partial(smoothness, pixels)) for pixels in (BLACK[0], BLACK / 255)],
    ("images: at least 3 pixels a side expected, got 2", partial(smoothness, BLACK[:, :2])),
    ("sets: none", partial(concatenate, [], "empty")),
    (r"of 4x4.*differ in size",
     lambda: concatenate([images(), images(images=BLACK[:, :4, :4])], "mixed")),
    (r"test: image 'deep' cannot be read: mode I;16", stack_deep),
    *[(message, partial(corrupt, *arguments, seed=0)) for message, *arguments in [
        ("unknown corruption .* did you mean 'gaussian_noise'", BLACK, "gausian_noise", 1),
        ("severity: an integer from 1 to 5 expected, got 0", BLACK, "fog", 0),
        ("severity: .* got 6", BLACK, "fog", 6),
        ("severity: .* got 2.5", BLACK, "fog", 2.5),
        ("images: uint8 .* got float64", BLACK / 255, "fog", 1),
        (r"images: uint8 .* got uint8 \[8, 8, 3\]", BLACK[0], "fog", 1),
        ("images: at least 8 pixels .* got 7", BLACK[:, :7], "fog", 1)]],
    ("did you mean 'voronoi'", partial(draw, "voronoy", "test")),
    *[(f"split of {name}", partial(load, name, "val", size=16))
      for name in ("digits", "photographs", "mazes")],
    ("pass size=", partial(load, "photographs", "test")),
    ("parts: none given", partial(Listing.join, [], "nothing")),
    ("unknown class list 'food'; did you mean 'food101'", partial(class_lists.names_of, "food")),
    ("unknown senses 'extend'; did you mean 'extended'",
     partial(class_lists.wnids_of, "imagenet", senses="extend")),
    ("unknown data set 'food'; did you mean 'food101'", partial(class_roles.far, "food")),
    ("unknown reading 'whole name'; did you mean 'whole names'",
     partial(class_roles.far, "food101", reading="whole name")),
    *[(f"wnid: no noun of WordNet 3.0 is '{wnid}'", partial(wordnet.noun, wnid))
      for wnid in ("n02437137", "n00000000", "n99999999")],  # between, in the licence, behind
    ("no noun 'schol bus'; did you mean 'school bus'", partial(wordnet.nouns, "schol bus")),
    (r"no noun 'qqqq'$", partial(wordnet.nouns, "qqqq")),
    ("parents: 'tool', above 'hammer', is no node", partial(Hypernyms, {"hammer": ("tool",)})),
    ("parents: a cycle", partial(Hypernyms, {"a": ("b",), "b": ("a",)})),
    *[("node: 'saw' is none of the 3", partial(ask, "saw"))
      for ask in (GRAPH.ancestors, GRAPH.descendants, GRAPH.siblings, GRAPH.name)],
    ("node: 'saw'", partial(GRAPH.prune, ["hammer", "saw"])),
    ("node: 'wasp'", partial(wordnet_rules.find_covered, ["wasp"], ["ant"], GRAPH)),
    ("count: 0 to 1 candidates expected, got 2",
     partial(wordnet_rules.draw_near, ["ant"], 2, seed=0)),
    ("name: at least one word expected, got '_'", partial(wordnet_rules.keywords, "_")),
]  # fmt: skip


@pytest.mark.parametrize(("message", "call"), BAD)
def test_bad_input_is_named(message, call):
    with pytest.raises(ValueError, match=message):
        call()


def test_what_cannot_be_read_is_refused_at_once(tmp_path):
    (tmp_path / "a").mkdir()
    for name in ("1.png", "2.png"):
        (tmp_path / "a" / name).touch()
    stream = ImageStream.scan(tmp_path, verify=False)
    for message, indices, batch_size, size in (
        ("indices: 0 to 1 expected, got 0 to 2", [0, 2], 5, 16),
        ("indices: 0 to 1", [-1], 5, 16),
        (r"indices: integers \[M\]", [[0]], 5, 16),
        ("indices: integers", [0.5], 5, 16),
        ("batch_size: a positive", [0], 0, 16),
        ("size: a positive", [0], 5, 0),
    ):
        with pytest.raises(ValueError, match=message):
            list(stream.batches(indices, batch_size=batch_size, size=size, workers=0))
