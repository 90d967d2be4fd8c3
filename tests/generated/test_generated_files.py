"""Whatever is stored comes back or is refused: outputs, rejectors, parameter files."""

import shutil

import numpy as np
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import helpers.scores
from helpers import papers
from helpers.data.packs import read_pack
from helpers.files import project_root
from helpers.outputs import Head, Outputs
from known_unknowns.auditing.rejector import Rejector

NUMBERS = st.floats(-(2.0**60), 2.0**60, width=32)
BARRED = {"members", "native", "images"}
STORED = [
    name
    for name in helpers.scores.names()
    if not BARRED & {*helpers.scores.create(name).info.needs}
]
FIELDS = ("seed", "replicates", "runs", "known", "keep", "tail", "alpha", "distance", "bins",
          "data_sets", "networks", "stand_ins", "calibration_share", "larger_tiers")  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner,
                                                                max_size=2),
    max_leaves=3,
)  # fmt: skip


@st.composite
def outputs(draw):
    """Return outputs of any size, with or without members and a native score."""
    images, width, classes = (draw(st.integers(*ends)) for ends in ((1, 8), (0, 4), (1, 4)))
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
    read = Outputs.load(tmp_path / "a.safetensors")
    for name in ("logits", "features", "labels", "members", "native"):
        before, after = getattr(some, name), getattr(read, name)
        assert (before is None) == (after is None)
        if before is not None:
            assert before.dtype == after.dtype and before.tobytes() == after.tobytes()


@pytest.mark.parametrize("name", STORED)
@given(
    st.integers(0, 2**32 - 1), st.floats(allow_nan=False),
    st.dictionaries(st.text(max_size=4), st.integers()),
)  # fmt: skip
@settings(max_examples=2)
def test_rejectors_come_back(tmp_path, name, seed, threshold, provenance):
    generator, labels = np.random.default_rng(seed), np.arange(80) % 4
    weight = generator.normal(size=(4, 6)).astype(np.float32)
    features = generator.normal(size=(80, 6)).astype(np.float32) + 2 * weight[labels]
    some, head = Outputs(features @ weight.T, features, labels), Head(weight, np.zeros(4, "f4"))
    score = helpers.scores.create(name).fit(some, head)
    rule = Rejector(score, threshold, 4, 6, provenance=provenance)
    rule.save(tmp_path / "a.safetensors")
    read = Rejector.load(tmp_path / "a.safetensors")
    assert (read.threshold, read.provenance) == (threshold, provenance)
    assert np.array_equal(read.score_samples(some), rule.score_samples(some))
    assert np.array_equal(read.accepts(some), rule.score_samples(some) >= threshold)


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


@given(st.sampled_from(FIELDS), VALUES)
@example("runs", "2")
@example("runs", 2.0)
@example("known", 99)
@example("keep", float("nan"))
@example("networks", {})
@example("larger_tiers", ["smal"])
def test_a_parameter_is_taken_as_it_is_or_refused_by_name(field, value):
    try:
        parameters = papers.load("openset_calibration", "mini", **{field: value})
    except ValueError as error:
        assert field in str(error) or "known" in str(error) or "unknown" in str(error), error
    else:
        assert value is None or getattr(parameters, field) == value  # None leaves the file's


@pytest.mark.parametrize("place", [0, -1])
def test_a_name_without_one_letter_is_refused_with_the_file(tmp_path, place):
    shutil.copytree(project_root() / "params" / "mini", tmp_path / "params" / "mini")
    file = tmp_path / "params" / "mini" / "gscore.yaml"
    values = yaml.safe_load(file.read_text(encoding="utf-8"))
    for name in (*values,):
        letters = [*name]
        del letters[place]
        spoilt = {"".join(letters) if other == name else other: values[other] for other in values}
        file.write_text(yaml.safe_dump(spoilt), encoding="utf-8")
        with pytest.raises(ValueError, match=r"params.mini.gscore\.yaml"):
            papers.load("gscore", "mini", root=tmp_path)
