"""Figures of what lies below what."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from helpers.checks import known_name
from helpers.data.hypernyms import Hypernyms
from helpers.report.figures.style import BLUE, GREEN, GREY, ORANGE, RED

_INNER = "no class"
_MARKS = {  # marker, colour, whether it is filled
    "in-distribution": ("o", BLUE, True),
    "ID or near-OOD": ("o", BLUE, False),
    "near candidate": ("^", ORANGE, True),
    "external": ("s", GREEN, False),
    "removed": ("X", RED, True),
    _INNER: (".", GREY, True),
}
_INDENT, _ROW = 0.32, 0.27  # inches
_LETTER = 0.085  # inches, of the average letter at 11 points


def wordnet_tree(graph: Hypernyms, *, roles: Mapping[str, str]) -> Axes:
    """Draw a small graph of hypernyms, one node a row, what lies below it indented under it."""
    if not graph.parents:
        raise ValueError("graph: empty")
    for node, role in roles.items():
        known_name("role", role, [one for one in _MARKS if one != _INNER])
        graph.name(node)  # refuses what is no node
    rows = _rows(graph)
    places = {node: (depth * _INDENT, -row * _ROW) for row, (node, depth, _) in enumerate(rows)}
    labels = {node: _label(graph, node, parent) for node, _, parent in rows}
    right = max(places[node][0] + _LETTER * len(label) for node, label in labels.items()) + _INDENT
    ax = plt.subplots(figsize=(max(6, right), _ROW * len(rows) + 0.7), layout="constrained")[1]
    for node, _, parent in rows:
        x, y = places[node]
        if parent is not None:
            over, top = places[parent]
            ax.plot([over, over, x], [top, y, y], color=GREY, linewidth=0.8, zorder=1)
        ax.plot([x], [y], zorder=2, **_marker(roles.get(node, _INNER)))
        style = {} if node in roles else {"style": "italic", "color": GREY}
        ax.text(x + 0.4 * _INDENT, y, labels[node], va="center", **style)
    shown = {roles.get(node, _INNER) for node in graph.parents}
    handles = [Line2D([], [], label=role, **_marker(role)) for role in _MARKS if role in shown]
    ax.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
    ax.set(xlim=(-0.3 * _INDENT, max(right, 6)), ylim=(-len(rows) * _ROW + 0.1, 0.6 * _ROW))
    ax.set_axis_off()
    return ax


def _rows(graph: Hypernyms) -> list[tuple[str, int, str | None]]:
    """Return each node once, with its depth and the parent that it stands under, from above."""
    home = {
        node: max(parents, key=lambda one: len(graph.ancestors(one)), default=None)
        for node, parents in graph.parents.items()
    }
    rows = []
    waiting = [(node, 0) for node in reversed(home) if home[node] is None]
    while waiting:
        node, depth = waiting.pop()
        rows.append((node, depth, home[node]))
        children = [child for child in graph.children(node) if home[child] == node]
        # what has least below it comes first, or its line would run past all the rest
        children.sort(key=lambda child: (len(graph.descendants(child)), graph.name(child)))
        waiting += [(child, depth + 1) for child in reversed(children)]
    return rows


def _label(graph: Hypernyms, node: str, parent: str | None) -> str:
    others = [graph.name(other) for other in graph.parents[node] if other != parent]
    return graph.name(node) + (f" (also below {', '.join(others)})" if others else "")


def _marker(role: str) -> dict:
    marker, colour, filled = _MARKS[role]
    face = colour if filled else "white"
    style = {"color": colour, "markerfacecolor": face, "markeredgewidth": 1.5}
    return style | {"marker": marker, "markersize": 8, "linestyle": "none"}
