"""Parameters: whatever stands in a file is taken as it is, or refused by its name."""

import shutil

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers import papers
from helpers.files import project_root

FIELDS = ("seed", "replicates", "runs", "known", "keep", "tail", "alpha", "distance", "bins",
          "data_sets", "networks", "stand_ins", "calibration_share", "larger_tiers")  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner,
                                                                max_size=2),
    max_leaves=3,
)  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Return a folder with the parameters of tier mini, to be spoilt."""
    folder = tmp_path_factory.mktemp("root")
    shutil.copytree(project_root() / "params" / "mini", folder / "params" / "mini")
    return folder


@given(st.sampled_from(FIELDS), VALUES)
@example("runs", "2")
@example("runs", 2.0)
@example("seed", -3)
@example("known", 99)
@example("keep", float("nan"))
@example("networks", {})
@example("larger_tiers", ["smal"])
def test_a_value_is_taken_as_it_is_or_refused_by_name(field, value):
    if value is None:
        return  # leaves the file's own
    try:
        found = papers.load("openset_calibration", "mini", **{field: value})
    except ValueError as error:
        assert field in str(error) or "known" in str(error) or "unknown" in str(error), error
    else:
        assert getattr(found, field) == value


@given(st.data())
@settings(max_examples=20)
def test_a_line_that_is_spoilt_is_refused_with_the_file(root, data):
    """A name with one letter left out is not taken for nothing."""
    file = root / "params" / "mini" / "gscore.yaml"
    whole = (project_root() / "params" / "mini" / "gscore.yaml").read_text(encoding="utf-8")
    values = yaml.safe_load(whole)
    name = data.draw(st.sampled_from(sorted(values)))
    place = data.draw(st.integers(0, len(name) - 1))
    spoilt = name[:place] + name[place + 1 :]
    values[spoilt] = values.pop(name)
    file.write_text(yaml.safe_dump(values), encoding="utf-8")
    with pytest.raises(ValueError, match=r"params.mini.gscore\.yaml"):
        papers.load("gscore", "mini", root=root)
