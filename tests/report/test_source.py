import pytest

from helpers.report.source import show_source
from helpers.scores.calibration import softmax


class Example:
    """Not shown."""

    def inner(self):
        """Nor is this.

        In several lines.
        """
        # a comment
        return "shown"

    def named(self):
        """All that there is."""


def test_lines_are_those_of_the_file_without_docstrings():
    shown = show_source(Example)
    assert shown.splitlines() == [
        f"# {__name__}", "class Example:", "    def inner(self):", "        # a comment",
        '        return "shown"', "", "    def named(self):", '        """All that there is."""',
    ]  # fmt: skip


def test_several_things_stand_below_one_another_and_are_highlighted():
    shown = show_source(Example.inner, softmax)
    first, second = shown.split("\n\n", 1)
    assert first.splitlines()[1] == "def inner(self):"  # not indented
    assert second.startswith("# helpers.scores.calibration\ndef softmax(logits")
    assert shown._repr_markdown_() == f"```python\n{shown}\n```"
    assert repr(shown) == str(shown)


def test_what_has_no_lines_is_refused():
    for nothing in (len, 3):
        with pytest.raises(ValueError, match="has no lines in a file"):
            show_source(nothing)
    with pytest.raises(ValueError, match="a function or a class expected"):
        show_source()
