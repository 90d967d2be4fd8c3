"""Tables to search, filter and sort on the page, with all that they need in the page itself."""

from __future__ import annotations

import functools
import gzip
import hashlib
import html
from base64 import b64encode
from pathlib import Path

import itables
import itables.options
import pandas as pd
from IPython.display import HTML

from helpers.report.table import ABSENT

# The module's name is the one that the tables of `itables` wait for.  Several tables of one page
# each carry the bundle, so that each stands alone, and the first one that runs loads it.
_MODULE = f"_itables_{itables.__version__.replace('.', '_').replace('-', '_')}"
_LOADER = """<script>
window.{module} ??= (async () => {{
  const unpacked = (text) => new Response(
    new Blob([Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))])
      .stream().pipeThrough(new DecompressionStream("gzip"))).text();
  const style = document.head.appendChild(document.createElement("style"));
  style.textContent = await unpacked("{css}");
  const source = new Blob([await unpacked("{js}")], {{type: "text/javascript"}});
  const bundle = await import(URL.createObjectURL(source));
  const order = (sign) => (a, b) => isNaN(a) - isNaN(b) || sign * (a - b);  // NaN is always last
  bundle.jQuery.fn.dataTable.type("num", "order", {{
    pre: (number) => number, asc: order(1), desc: order(-1) }});
  bundle.set_or_remove_dark_class();
  return bundle;
}})();
</script>
"""
_NUMBER = itables.JavascriptFunction(
    "function (data, type) { return type !== 'display' ? data"
    f" : Number.isNaN(data) ? '{ABSENT}' : data.toFixed(3).replace('-', '\N{MINUS SIGN}'); }}"
)
_COLUMNS = 12  # a table of more takes the margin of the book's pages, too
_STYLE = "table-layout:auto;width:100%;margin:0;font-size:12px"


def interactive(frame: pd.DataFrame, *, caption: str = "") -> HTML:
    """Return a table that its reader can search, filter and sort, without a network.

    Columns of text are filtered by lists of what is in them, columns of numbers by comparisons;
    floats are shown with three decimals, NaN as a dash.  Where no script runs, its first ten rows
    stand there as a plain table.

    Notes
    -----
    DataTables, as the package itables bundles it.

    Examples
    --------
    >>> shown = interactive(pd.DataFrame({"score": ["msp"], "AUROC": [0.9]}), caption="AUROC")
    >>> "https://www.unpkg.com" in shown.data
    False
    """
    if frame.empty:
        raise ValueError("frame: empty")
    if not frame.columns.is_unique:
        raise ValueError(f"frame: column {frame.columns[frame.columns.duplicated()][0]} is twice")
    frame = frame.reset_index(drop=True)
    floats = [place for place, kind in enumerate(frame.dtypes) if kind.kind == "f"]
    numbers = [place for place, kind in enumerate(frame.dtypes) if kind.kind in "fiu"]
    texts = sorted(set(range(frame.shape[1])) - set(numbers))
    digest = hashlib.sha256((caption + frame.to_csv()).encode()).hexdigest()
    table = itables.to_html_datatable(
        frame.round(4),  # of the decimals shown, and one more to sort by
        connected=False,
        table_id=f"table-{digest[:8]}",  # a fixed id: the same numbers give the same HTML
        display_logo_when_loading=False,
        showIndex=False,
        maxBytes=0,
        maxColumns=0,
        scrollX=True,
        fixedColumns={"start": min(2, numbers[0] if numbers else 0)},  # what a line is about
        autoWidth=False,
        classes="display compact dataframe",  # which the book's dark theme leaves dark
        style=_STYLE,
        pageLength=10,
        lengthMenu=[10, 25, 100],
        ordering={"indicators": False},
        columnDefs=[
            {"targets": floats, "render": _NUMBER},
            {"targets": numbers, "columnControl": ["order", ["search"]]},
            {"targets": texts, "columnControl": ["order", ["searchList"]]},
        ],
    )
    page = f"{_loader()}{table}<p>{html.escape(caption)}</p>"
    wide = frame.shape[1] > _COLUMNS
    return HTML(f'<div class="full-width">{page}</div>' if wide else page)


@functools.cache
def _loader() -> str:
    """Return the script that unpacks and loads the bundle of itables."""
    script = Path(itables.options.dt_bundle)
    css, js = (
        b64encode(gzip.compress(path.read_bytes(), mtime=0)).decode("ascii")
        for path in (script.with_suffix(".css"), script)
    )
    return _LOADER.format(module=_MODULE, css=css, js=js)
