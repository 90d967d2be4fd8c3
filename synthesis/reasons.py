"""The reasons for verdicts: objects until they are printed, which is the last step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, groupby
from typing import Any

#: A data set and a backbone.
Cell = tuple[str, str]


class Kind(StrEnum):
    """Kinds of reasons: all except a remark prevent a verdict."""

    REMARK = "remark"
    DOUBT = "doubt"  # of a number
    WEAKNESS = "weakness"  # of the evidence for an effect
    UNTESTABLE = "untestable"


_HEADS = {Kind.REMARK: "", Kind.UNTESTABLE: "not testable: "}


@dataclass(frozen=True)
class Reason:
    """One reason, and the cells that it is about if they are not all cells of the effect."""

    kind: Kind
    text: str
    cells: tuple[Cell, ...] = ()

    def __str__(self) -> str:
        cells = "; ".join(map(", ".join, self.cells))
        return f"{self.text} {cells}" if cells else self.text


@dataclass(frozen=True)
class Note:
    """The reasons of one effect.

    >>> note = Note((Reason(Kind.REMARK, "one run"), Reason(Kind.WEAKNESS, "a short schedule")))
    >>> str(note), note.prevented
    ('one run; doubted: a short schedule', 'a short schedule')
    """

    reasons: tuple[Reason, ...] = ()

    def __str__(self) -> str:
        groups = groupby(self.reasons, lambda reason: _HEADS.get(reason.kind, "doubted: "))
        return join_texts(*(head + in_words(reasons) for head, reasons in groups))

    def __bool__(self) -> bool:
        return bool(self.reasons)

    @property
    def prevented(self) -> str:
        """The reasons that prevent a verdict, in words."""
        return in_words(reason for reason in self.reasons if reason.kind != Kind.REMARK)

    @classmethod
    def of_dict(cls, note: Mapping[str, Any]) -> Note:
        """Return a note from a dictionary of its fields, for example from JSON."""
        reasons = []
        for reason in note["reasons"]:
            cells = tuple((data_set, backbone) for data_set, backbone in reason["cells"])
            reasons.append(Reason(Kind(reason["kind"]), reason["text"], cells))
        return cls(tuple(reasons))

    def of(self, *kinds: Kind) -> tuple[Reason, ...]:
        """Return the reasons of these kinds."""
        return tuple(reason for reason in self.reasons if reason.kind in kinds)


def remark(text: str, *cells: Cell) -> Reason:
    """Return a reason that does not prevent a verdict."""
    return Reason(Kind.REMARK, text, cells)


def in_words(reasons: Iterable[Reason]) -> str:
    """Return reasons with semicolons between them."""
    return join_texts(*map(str, reasons))


def each_once(every: Iterable[tuple[Reason, ...]]) -> dict[Reason, None]:
    """Return the reasons of several numbers, each once, in the order of their words."""
    return dict.fromkeys(chain.from_iterable(sorted({*every}, key=in_words)))


def join_texts(*texts: str) -> str:
    """Return the texts that are not empty, with semicolons between them."""
    return "; ".join(filter(None, texts))
