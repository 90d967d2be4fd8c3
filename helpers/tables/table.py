"""One table, laid out once: for the page, and for Markdown."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

import pandas as pd
from pandas.io.formats.style import Styler

from helpers.files import atomic_path, content_of

PLUS_MINUS = "\N{PLUS-MINUS SIGN}"
MINUS = "\N{MINUS SIGN}"
ABSENT = "\N{EN DASH}"
#: The ``layout`` in CSS, and ``bold`` in each language.
_LOOK = content_of(__file__)
# Lines, identifiers and classes of cells: no rule needs them, and they would double the page.
_BULK = re.compile(r'\n\s+(?=<t[dh]\b)|(?<=<t[dh]) id="\S*"| class="(?:data|row_h)[^"]*" ?')
_CODE = re.compile(r"`([^`]+)`")  # of a caption, which is Markdown


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A table of numbers, with the rows of the results table behind each number.

    A notebook displays it; hovering over a cell with our numbers shows the names of their rows.
    `cells` has a row for each number: the columns `down` and `across`, ``text``, and optionally
    ``rows`` (the names of the rows behind it, separated by spaces) and the mark ``bold`` (bool).
    The numbers of one cell are joined by a bar.

    The values of `down` and `across` are the headings of lines and columns, in the order of
    `categories`.  `name` is the basis of ids, and text between backticks in `caption` is code.
    """

    cells: pd.DataFrame
    down: Sequence[str]
    across: Sequence[str]
    _: KW_ONLY
    name: str
    caption: str

    def frame(self, language: str = "text", write: Callable[[str], str] = str) -> pd.DataFrame:
        """Return the cells, bold in a language, and a dash in each empty cell."""
        text = self.cells["text"].map(write)
        if "bold" in self.cells:
            bold = self.cells["bold"].astype(bool)
            text = text.where(~bold, text.map(_LOOK["bold"][language].format))
        return self._lay_out(text, write(" | ")).fillna(write(ABSENT))

    def html(self) -> str:
        """Return HTML, equal for equal tables."""
        text = self.frame("html", _escape)
        caption = _CODE.sub(r"<code>\1</code>", _escape(self.caption))
        name = self.name.replace(" ", "-")
        shown = Styler(text, uuid=name, caption=caption).set_table_styles(_LOOK["layout"])
        for axis, index in enumerate((shown.index, shown.columns)):
            for level in range(index.nlevels):  # long names of data sets and networks may be broken
                shown = shown.format_index(_breakable, axis=axis, level=level)
        shown = shown.hide(names=True)
        if "rows" in self.cells:
            rows = self._lay_out(self.cells["rows"].fillna(""), " ").fillna("")
            titles = rows.map(lambda names: f"rows {names.strip()}" if names.strip() else "")
            shown = shown.set_tooltips(titles, as_title_attribute=True)
        return _BULK.sub("", shown.to_html())

    _repr_html_ = html

    def __repr__(self) -> str:
        return f"Table({self.name!r})"

    def markdown(self) -> str:
        """Return a Markdown table without its caption."""
        text = self.frame("markdown")
        heads = [" ".join(filter(None, _levels(head))) for head in text.columns]
        lines = []
        for line, cells in zip(text.index, text.to_numpy(), strict=True):
            lines.append([*_levels(line), *cells])
        return markdown_table([*[""] * text.index.nlevels, *heads], lines)

    def _lay_out(self, text: pd.Series, separator: str) -> pd.DataFrame:
        """Return the joined text of each cell, [lines, columns]; NaN without text."""
        keys = [*self.down, *self.across]
        cells = self.cells.assign(**{name: categories(self.cells[name]) for name in keys})
        lines = _axis(cells, list(self.down))
        columns = _axis(cells, list(self.across))
        heads = [self.cells[name].astype(object) for name in keys]
        joined = text.groupby(heads, sort=False).agg(separator.join)
        wide = joined.unstack(list(self.across)).reindex(index=lines, columns=columns)
        return wide.rename_axis(columns=[None] * columns.nlevels)


def categories(names: pd.Series, titles: Mapping[str, str] | Iterable[str] = ()) -> pd.Series:
    """Return names as their titles, in the order of `titles`: titles by name, or names.

    Other names come last in the order of their first appearance.  Ordered names stay as they are.

    >>> names = categories(pd.Series(["knn", "gen", "msp"]), {"msp": "MSP", "knn": "KNN"})
    >>> names.tolist(), names.cat.categories.tolist()
    (['KNN', 'gen', 'MSP'], ['MSP', 'KNN', 'gen'])
    """
    if isinstance(names.dtype, pd.CategoricalDtype):
        return names
    by_name = titles if isinstance(titles, Mapping) else {name: name for name in titles}
    shown = names.map(lambda name: by_name.get(name, name))
    order = dict.fromkeys([*by_name.values(), *shown])
    return shown.astype(pd.CategoricalDtype(list(order), ordered=True))


def mark_best(rank: pd.Series, *among: pd.Series) -> pd.Series:
    """Mark the highest of each group: several if they are equal, but none if all are.

    A group has one value of each of `among`.

    >>> mark_best(pd.Series([1, 2, 3, 3]), pd.Series(["a", "a", "b", "b"])).tolist()
    [False, True, False, False]
    """
    groups = rank.groupby(list(among))
    best = groups.transform("max")
    worst = groups.transform("min")
    return rank.eq(best) & worst.lt(best)


def number(value: float, pattern: str) -> str:
    """Return a number as text, a missing one as a dash.

    >>> number(-0.25, "+.1f"), number(float("nan"), "+.1f")
    ('−0.2', '–')
    """
    return ABSENT if pd.isna(value) else format(value, pattern).replace("-", MINUS)


def numbers(
    cells: pd.DataFrame, scale: float | pd.Series = 1.0, pattern: str | pd.Series = ".3f"
) -> list[str]:
    """Return mean ± standard deviation of each row, or the mean alone without a deviation.

    `scale` and `pattern` are for all rows, or one for each.

    >>> cells = pd.DataFrame({"mean": [0.8136, 0.5], "std": [0.0123, float("nan")]})
    >>> numbers(cells), numbers(cells, 100, pd.Series([".1f", ".0f"]))
    (['0.814 ± 0.012', '0.500'], ['81.4 ± 1.2', '50'])
    """
    patterns = pd.Series(pattern, cells.index)
    scaled = zip(cells["mean"] * scale, cells["std"] * scale, patterns, strict=True)
    texts = []
    for mean, std, form in scaled:
        text = number(mean, form)
        if not pd.isna(std):
            text += f" {PLUS_MINUS} {number(std, form)}"
        texts.append(text)
    return texts


def markdown_table(header: Iterable, rows: Iterable[Iterable]) -> str:
    r"""Return a Markdown table; the cells are Markdown themselves.

    >>> print(markdown_table(["name", "n"], [["a|b", 1]]))
    | name | n |
    | --- | --- |
    | a\|b | 1 |
    """
    heads = list(header)
    lines = []
    for line in [heads, ["---"] * len(heads), *rows]:
        cells = [str(cell).replace("|", "\\|").replace("\n", " ") for cell in line]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def write_csv(frame: pd.DataFrame, path: str | os.PathLike) -> None:
    """Write a frame without its index, unrounded."""
    with atomic_path(path) as temporary:
        frame.to_csv(temporary, index=False)


def single(name: str, table: pd.DataFrame, *columns: str) -> dict:
    """Return the first row of a table in which each of these columns has one value."""
    if table.empty:
        raise ValueError(f"{name}: empty")
    for column in columns:
        if table[column].nunique() > 1:
            several = ", ".join(map(str, sorted(table[column].unique())))
            raise ValueError(f"{name}: several of {column} ({several}); choose one")
    return table.iloc[0].to_dict()


def _axis(cells: pd.DataFrame, names: list[str]) -> pd.Index:
    """Return what heads the lines or the columns, in its order."""
    heads = cells[names].drop_duplicates().sort_values(names).astype(object)
    return pd.MultiIndex.from_frame(heads) if len(names) > 1 else pd.Index(heads[names[0]])


def _levels(head: str | tuple) -> list[str]:
    return list(head) if isinstance(head, tuple) else [head]


def _escape(text: str) -> str:
    # the line of a mean does not end before its deviation
    text = html.escape(text, quote=False)
    return text.replace(f"{PLUS_MINUS} ", f"{PLUS_MINUS}\N{NO-BREAK SPACE}")


def _breakable(head: str) -> str:
    return re.sub(r"([_.+](?=[a-z]))", r"\1<wbr>", _escape(head))
