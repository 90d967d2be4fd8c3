import numpy as np
import pytest

from helpers.checks import float_array, has_type, known_name


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([], {}, "scores: empty"),
        ([1.0, np.nan], {}, r"scores: contains NaN \(1 of 2\)"),
        ([1.0, np.inf], {}, "scores: contains infinite"),
        ([[1.0]], {}, "scores: 1 dimension"),
        ([1.0], {"length": 2}, "scores: length 2 expected, got 1"),
        (["a"], {}, "scores: numbers expected"),
    ],
)
def test_float_array_says_what_is_wrong(values, options, message):
    with pytest.raises(ValueError, match=message):
        float_array("scores", values, **options)


def test_float_array_takes_booleans_and_infinities_where_allowed():
    assert float_array("correct", [True, False]).tolist() == [1.0, 0.0]
    assert float_array("scores", [np.inf], finite=False).tolist() == [np.inf]


def test_known_name_without_a_near_one():
    with pytest.raises(ValueError, match="unknown tier 'xyz'; There are: mini, paper"):
        known_name("tier", "xyz", ["paper", "mini"])


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (1, float, True),
        (True, int, False),
        (1.5, int, False),
        ("1", int, False),
        ((1, 2), list[int], True),
        ([1, "2"], list[int], False),
        ({"a": "b"}, dict[str, int], False),
        ({"a": {"b": "c"}}, dict[str, dict], True),
        (None, int | None, True),
        ("1", int | float, False),
    ],
)
def test_has_type(value, kind, expected):
    assert has_type(value, kind) is expected
