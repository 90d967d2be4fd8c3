"""Whatever is stored comes back bit by bit: outputs, packs, rejectors."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import helpers.scores
from helpers.data.packs import pack_splits, read_pack, write_pack
from helpers.outputs import Head, Outputs
from known_unknowns.auditing.rejector import Rejector

NUMBERS = st.floats(-(2.0**60), 2.0**60, width=32)
STORED = ("msp", "entropy", "energy", "gap", "knn", "mahalanobis", "react", "vim", "gradnorm")


@st.composite
def outputs(draw, least=1, classes=None):
    """Return outputs of any size, with or without members and a score of their own."""
    images, width = draw(st.integers(least, 8)), draw(st.integers(0, 4))
    classes = classes or draw(st.integers(1, 4))
    labels = draw(arrays.arrays(np.int64, images, elements=st.integers(-1, classes - 1)))
    more = {}
    if draw(st.booleans()):
        more["native"] = draw(arrays.arrays(np.float32, images, elements=NUMBERS))
    if draw(st.booleans()):
        shares = st.floats(0, 1, width=32)
        more["members"] = draw(arrays.arrays(np.float32, (2, images, classes), elements=shares))
    logits = draw(arrays.arrays(np.float32, (images, classes), elements=NUMBERS))
    features = draw(arrays.arrays(np.float32, (images, width), elements=NUMBERS))
    return Outputs(logits, features, labels, **more)


@given(outputs())
@example(Outputs(np.float32([[-0.0]]), np.empty((1, 0), np.float32), np.int64([-1])))
def test_outputs_come_back(tmp_path, some):
    some.save(tmp_path / "a.safetensors")
    found = Outputs.load(tmp_path / "a.safetensors")
    for name in ("logits", "features", "labels", "members", "native"):
        before, after = getattr(some, name), getattr(found, name)
        assert (before is None) == (after is None)
        if before is not None:
            assert before.dtype == after.dtype and before.tobytes() == after.tobytes()


@given(
    st.lists(
        st.tuples(
            st.text("abcxyz_019", min_size=1, max_size=8).filter(lambda text: text[0].islower()),
            st.integers(1, 25), st.integers(1, 9), st.integers(0, 2**32 - 1),
        ),
        min_size=1, max_size=3, unique_by=lambda one: one[0],
    ),
    st.lists(st.text(max_size=6), min_size=1, max_size=4, unique=True),
)  # fmt: skip
@example([("test", 21, 1, 0)], ["", "é", "‮"])
@settings(max_examples=25)
def test_packs_come_back(tmp_path, splits, names):
    given_ = {}
    for split, images, size, seed in splits:
        generator = np.random.default_rng(seed)
        pixels = generator.integers(256, size=(images, size, size, 3), dtype=np.uint8)
        given_[split] = (pixels, generator.integers(-1, len(names), images))
    path = tmp_path / "toy.zip"
    digest = write_pack(path, name="toy", class_names=names, splits=given_, origin={"title": "T"})
    assert digest == write_pack(
        path, name="toy", class_names=names, splits=given_, origin={"title": "T"}
    )
    assert sorted(pack_splits(path)) == sorted(given_)
    for split, (pixels, labels) in given_.items():
        found = read_pack(path, split)
        assert np.array_equal(found.images, pixels) and np.array_equal(found.labels, labels)
        assert list(found.class_names) == names


@given(
    st.sampled_from(STORED), st.integers(0, 2**32 - 1), st.floats(allow_nan=False),
    st.dictionaries(st.text(max_size=4), st.integers()),
)  # fmt: skip
@settings(max_examples=25)
def test_rejectors_come_back(tmp_path, name, seed, threshold, provenance):
    generator = np.random.default_rng(seed)
    labels = np.arange(80) % 4
    weight = generator.normal(size=(4, 6)).astype(np.float32)
    features = generator.normal(size=(80, 6)).astype(np.float32) + 2 * weight[labels]
    some, head = Outputs(features @ weight.T, features, labels), Head(weight, np.zeros(4, "f4"))
    score = helpers.scores.create(name).fit(some, head)
    rule = Rejector(score, threshold, 4, 6, provenance=provenance)
    rule.save(tmp_path / "a.safetensors")
    found = Rejector.load(tmp_path / "a.safetensors")
    assert (found.threshold, found.provenance) == (threshold, provenance)
    assert np.array_equal(found.score_samples(some), rule.score_samples(some))
    assert np.array_equal(found.accepts(some), rule.score_samples(some) >= threshold)


@given(st.binary(max_size=400))
@example(b"")
@example(b"PK\5\6" + bytes(18))
@example((2**62).to_bytes(8, "little") + b"{}")
def test_bytes_that_are_no_file_are_refused(tmp_path, data):
    path = tmp_path / "a.zip"
    path.write_bytes(data)
    for read in (Outputs.load, Rejector.load, lambda path: read_pack(path, "test")):
        with pytest.raises(ValueError, match=r"a\.zip"):
            read(path)
