"""Bad input, most of which was once accepted: each case is refused by name."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import helpers.scores
from helpers import data
from helpers.data.packs import read_pack
from helpers.outputs import Head, Outputs
from known_unknowns.auditing import Inputs
from known_unknowns.auditing.rejector import Rejector
from tests.data import test_packs
from tests.mistakes import refusals

CLASSES, WIDTH = 4, 6


class OnADevice:
    """Stands for a tensor that keeps track of gradients, or lies elsewhere."""

    def __array__(self, *arguments, **options):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


GENERATOR, LABELS = np.random.default_rng(0), np.arange(60) % CLASSES
WEIGHT = GENERATOR.normal(size=(CLASSES, WIDTH)).astype(np.float32)
FEATURES = GENERATOR.normal(size=(60, WIDTH)).astype(np.float32) + 2 * WEIGHT[LABELS]
OUTPUTS = Outputs(FEATURES @ WEIGHT.T, FEATURES, LABELS)
HEAD = Head(WEIGHT, np.zeros(CLASSES, np.float32))
BARE = Outputs(OUTPUTS.logits, np.empty((60, 0), np.float32), LABELS)
MSP = helpers.scores.create("msp")


def fit(name, head=HEAD, outputs=OUTPUTS, **arguments):
    return helpers.scores.create(name, **arguments).fit(outputs, head)


def score_bare(name):
    """Score outputs without features, which the score needs."""
    fit(name, Head(HEAD.weight[:, :0], HEAD.bias), BARE).score_samples(BARE)


def read_changed_pack(**changed):
    """Read a pack without checksums, which a stranger made; no memory is taken for its numbers."""

    def change(meta):
        meta["splits"]["test"].update(changed)
        for name in ("sha256", *changed):
            if meta.pop(name, None) is not None and changed.get(name) is not None:
                meta[name] = changed[name]

    splits = {"test": (np.zeros((4, 8, 8, 3), np.uint8), [0] * 4)}
    with TemporaryDirectory() as folder:
        test_packs.write(path := Path(folder) / "toy.zip", splits=splits)
        test_packs.rewrite(path, meta=change)
        return read_pack(path, "test")


OBJECTS = {
    "masked numbers": np.ma.array([1.0, 999.0], mask=[False, True]),
    "on a device": OnADevice(),
    "two numbers": np.array([1.0, 2.0]),
    "a pair": (HEAD.weight, HEAD.bias),
    "logits": OUTPUTS.logits,
    "complex logits": np.eye(2) * 1j,
    "complex numbers": np.ones(2) * 1j,
    "masked labels": np.ma.masked_array([0, 1], [False, True]),
    "masked features": np.ma.masked_array([[0], [1]], [[False], [True]]),
    "large labels": np.array([0, 2**64 - 1], np.uint64),
    "masked logits": np.ma.masked_less(np.eye(2), 1),
    "inputs": Inputs("a toy", OUTPUTS, tuple("abcd")),
    "msp": MSP,
    "a rule": Rejector(MSP, 0.5, 2),
    "unfitted": Rejector(helpers.scores.create("knn"), 0.5, 2, width=3),
    "digit images": data.load("digits", "test"),
}


test_it_is_refused_by_name = refusals(__file__, OBJECTS)


def test_directions_of_very_long_features_are_exact():
    large = Outputs(OUTPUTS.logits, FEATURES * np.float32(2**120), LABELS)
    same = [fit("knn", outputs=part, k=2).score_samples(part) for part in (OUTPUTS, large)]
    assert np.allclose(*same, rtol=1e-12)
