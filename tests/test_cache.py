import logging

import pytest

from helpers import cache


def read(path):
    text = path.read_text()
    if text != "good":
        raise ValueError(f"{path}: damaged")
    return text


def test_a_damaged_file_is_set_aside_named_and_made_anew(tmp_path, caplog):
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_text("goo")
    other.write_text("good")
    with caplog.at_level(logging.WARNING):
        kept = cache.load_or_make(path, read, lambda where: where.write_text("good"))
    assert kept == "good"
    assert (tmp_path / "a.damaged").read_text() == "goo"
    assert str(path) in caplog.text
    assert other.read_text() == "good"


def test_what_is_made_badly_is_not_loaded(tmp_path):
    with pytest.raises(ValueError, match="damaged"):
        cache.load_or_make(tmp_path / "a", read, lambda where: where.write_text("bad"))


def test_keys_differ_with_content_and_code():
    assert cache.key(a=1) != cache.key(a=1.5) != cache.key(b=1)
    one, two = "helpers.networks.models.create", "helpers.outputs"
    assert cache.code(one) != cache.code(two) != cache.code(one, two) == cache.code(two, one)


def test_a_value_is_computed_once_and_again_where_its_file_was_altered(tmp_path, monkeypatch):
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path))
    made = []

    def make():
        made.append(1)
        return {"a": [0.1, float("inf"), "é"], "n": len(made)}

    first = cache.value("kind", "key", make)
    assert cache.value("kind", "key", make) == first == {"a": [0.1, float("inf"), "é"], "n": 1}
    (path,) = (tmp_path / "kind").iterdir()
    path.write_text(path.read_text(encoding="utf-8").replace("0.1", "0.7"), encoding="utf-8")
    assert cache.value("kind", "key", make)["n"] == 2
    path.write_bytes(path.read_bytes()[:-1])
    assert cache.value("kind", "key", make)["n"] == 3
