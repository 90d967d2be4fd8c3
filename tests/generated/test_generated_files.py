"""Stored outputs and rejectors are read back or refused."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from helpers.data.packs import read_pack
from helpers.outputs import Outputs
from known_unknowns.auditing.rejector import Rejector

NUMBERS = st.floats(-(2.0**60), 2.0**60, width=32)


@st.composite
def outputs(draw):
    """Return outputs of any size, with or without members and a native score."""
    images, width, classes = (draw(st.integers(*ends)) for ends in ((1, 8), (0, 4), (1, 4)))
    labels = draw(arrays.arrays(np.int64, images, elements=st.integers(-1, classes - 1)))
    numbers = [
        arrays.arrays(np.float32, shape, elements=NUMBERS)
        for shape in ((images, classes), (images, width), images)
    ]
    shares = arrays.arrays(np.float32, (2, images, classes), elements=st.floats(0, 1, width=32))
    logits, features = map(draw, numbers[:2])
    members = draw(st.none() | shares)
    native = draw(st.none() | numbers[2])
    return Outputs(logits, features, labels, members, native)


@given(outputs())
@example(Outputs(np.float32([[-0.0]]), np.empty((1, 0), np.float32), np.int64([-1])))
def test_outputs_come_back(tmp_path, some):
    some.save(tmp_path / "a.safetensors")
    read = Outputs.load(tmp_path / "a.safetensors")
    for name in ("logits", "features", "labels", "members", "native"):
        arrays = (getattr(each, name) for each in (some, read))
        before, after = ((a.dtype, a.tobytes()) if a is not None else None for a in arrays)
        assert before == after


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
