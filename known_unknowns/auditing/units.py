"""The noun for one row of data in sentences: image, text, transaction."""

from __future__ import annotations

import re

#: The noun in the templates.
IMAGE = "image"


def check_unit(unit: str) -> str:
    """Return a noun for one row of data; refuse other text."""
    if not isinstance(unit, str) or not re.fullmatch(r"[^\W\d_]+([ -][^\W\d_]+)*", unit):
        raise ValueError(f"unit: a noun in the singular expected, such as text, got {unit!r}")
    return unit


def of_unit(text: str, unit: str) -> str:
    """Return text about images as text about another kind of data.

    >>> of_unit("An image of 20 images", "query"), of_unit("a new image of images", "analysis")
    ('A query of 20 queries', 'a new analysis of analyses')
    """
    if unit == IMAGE:
        return text
    many = f"{unit}s"
    if re.search("([sxz]|[cs]h)$", unit):
        many = f"{unit.removesuffix('is')}es"
    elif re.search("[^aeiou]y$", unit):
        many = f"{unit[:-1]}ies"
    if unit[0] not in "aeiou":
        text = re.sub(r"\b(A|a)n(\s+)(?=image\b)", r"\1\2", text)
    for noun, new in (("image", unit), ("images", many)):
        text = re.sub(rf"\b{noun}\b", new, text)
        text = re.sub(rf"\b{noun.capitalize()}\b", new[0].upper() + new[1:], text)
    return text
