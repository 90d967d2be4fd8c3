"""Tables to search, filter and sort on the page, without a network."""

from __future__ import annotations

import functools
import gzip
import hashlib
import html
import re
from base64 import b64encode
from pathlib import Path

import itables
import itables.options
import pandas as pd
from IPython.display import HTML

from helpers.files import content_of
from helpers.tables.table import ABSENT, MINUS

# Tables of `itables` wait for a module of this name. Each table of a page has the bundle of
# scripts (DataTables), and the first table that runs loads it.
_MODULE = f"_itables_{itables.__version__.replace('.', '_').replace('-', '_')}"
_LOADER = Path(__file__).with_suffix(".html").read_text(encoding="utf-8")
# the name of a script, where the loader needs its content
_UNPACKED = re.compile(r'unpacked\("(\.css|\.js)"\)')
_OPTIONS = content_of(__file__)


def interactive(
    frame: pd.DataFrame, *, caption: str = "", decimals: int = 3, rows: int = 10
) -> HTML:
    """Return a table that its reader can search, filter and sort, without a network.

    Columns of text have lists as filters, columns of numbers comparisons; `decimals` are shown,
    and `rows` on one page.  Without scripts, the page shows the first rows.

    Examples
    --------
    >>> shown = interactive(pd.DataFrame({"score": ["msp"], "AUROC": [0.9]}), caption="AUROC")
    >>> "https://www.unpkg.com" in shown.data
    False
    >>> "0.123457" in interactive(pd.DataFrame({"AUROC": [0.123456789]}), decimals=6).data
    True
    """
    frame = frame.reset_index(drop=True)
    floats = [column for column, kind in enumerate(frame.dtypes) if kind.kind == "f"]
    numbers = [column for column, kind in enumerate(frame.dtypes) if kind.kind in "fiu"]
    texts = sorted(set(range(frame.shape[1])) - set(numbers))
    number = itables.JavascriptFunction(
        "function (data, type) { return type !== 'display' ? data : Number.isNaN(data)"
        f" ? '{ABSENT}' : data.toFixed({decimals}).replace('-', '{MINUS}'); }}"
    )
    digest = hashlib.sha256((caption + frame.to_csv()).encode()).hexdigest()
    table = itables.to_html_datatable(
        frame.round(max(4, decimals)),  # the displayed decimals; of three, one more for sorting
        table_id=f"table-{digest[:8]}",  # the same numbers give the same HTML
        fixedColumns={"start": min(2, numbers[0] if numbers else 0)},  # the names of a line
        columnDefs=[
            {"targets": floats, "render": number},
            {"targets": numbers, "columnControl": ["order", ["search"]]},
            {"targets": texts, "columnControl": ["order", ["searchList"]]},
        ],
        pageLength=rows,
        lengthMenu=sorted({rows, 10, 25, 100}),
        **_OPTIONS,
    )
    loader = _LOADER.format(module=_MODULE, css=".css", js=".js")
    page = f"{loader}{table}<p>{html.escape(caption)}</p>"
    return HTML(with_scripts(page))


def with_scripts(page: str) -> str:
    """Return a page with the scripts of `itables`; `without_scripts` is the inverse."""
    return _UNPACKED.sub(lambda match: f'unpacked("{_packed(match[1])}")', page)


def without_scripts(page: str) -> str:
    """Return a page of `interactive` with the names of its scripts, which are equal for all.

    >>> shown = interactive(pd.DataFrame({"AUROC": [0.9]})).data
    >>> short = without_scripts(shown)
    >>> len(shown) > 20 * len(short), with_scripts(short) == shown
    (True, True)
    """
    for ending in (".css", ".js"):
        page = page.replace(_packed(ending), ending)
    return page


@functools.cache
def _packed(ending: str) -> str:
    """Return a file of `itables` as the loader in the page unpacks it."""
    content = Path(itables.options.dt_bundle).with_suffix(ending).read_bytes()
    return b64encode(gzip.compress(content, mtime=0)).decode("ascii")
