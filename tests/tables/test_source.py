import inspect

from helpers.scores.calibration import softmax
from helpers.tables.source import show_source


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


def test_the_source_is_shown_without_docstrings():
    lines = inspect.getsource(Example).splitlines()
    assert show_source(Example).splitlines() == [f"# {__name__}", lines[0], lines[3], *lines[8:]]
    shown = show_source(Example.inner, softmax)
    first, second = shown.split("\n\n", 1)
    assert first.splitlines()[1] == "def inner(self):"  # not indented
    assert second.startswith("# helpers.scores.calibration\ndef softmax(logits")
    assert shown._repr_markdown_() == f"```python\n{shown}\n```"
    assert repr(shown) == str(shown)
