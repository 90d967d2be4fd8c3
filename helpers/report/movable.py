"""Figures with one thing to move, by pointer or keys, that need nothing beside their page.

All positions are drawn beforehand; a few lines of script show the one that is chosen.  Where no
script runs, and on paper, the first position stands there as a picture with its sentence.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np

from helpers.checks import float_array
from helpers.report.figures.style import BLUE, GREEN, GREY, ORANGE, RED

_WIDTH, _HEIGHT = 600, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 78, 588, 12, 326
_LOOKS = ((BLUE, ""), (RED, "7 4"), (GREEN, "2 3"), (ORANGE, "9 3 2 3"), (GREY, "4 4"))
_TICKS = 5
_CIRCLE = "a5 5 0 1 0 10 0a5 5 0 1 0 -10 0"


@dataclass(frozen=True)
class Axis:
    """What an axis is called, and from where to where it goes."""

    title: str
    low: float
    high: float
    percent: bool = False

    def share(self, values) -> np.ndarray:
        """Return where numbers lie between the axis's ends, as shares; what lies beyond is cut."""
        return np.clip((np.asarray(values, float) - self.low) / (self.high - self.low), 0, 1)

    def ticks(self) -> list[tuple[float, str]]:
        """Return round numbers on the axis, each as it is written."""
        raw = (self.high - self.low) / _TICKS
        power = 10.0 ** np.floor(np.log10(raw))
        step = power * min((1, 2, 2.5, 5, 10), key=lambda one: abs(np.log(one * power / raw)))
        first, last = np.ceil(self.low / step - 1e-9), np.floor(self.high / step + 1e-9)
        factor, unit = (100, " %") if self.percent else (1, "")
        return [
            (one * step, f"{one * step * factor:.6g}{unit}".replace("-", "\N{MINUS SIGN}"))
            for one in np.arange(first, last + 1) + 0.0  # which has no sign
        ]


@dataclass(frozen=True)
class Position:
    """One place of what is moved.

    Attributes
    ----------
    value : str
        What stands beside the slider.
    said : str
        What is to be seen there, in a sentence.
    lines, points : mapping of str to (x, y), each array_like, shape [N]
        By name, the same ones in all positions.
    bars : mapping of str to (left, right, height), each array_like, shape [N]
        Likewise; bars stand on the lower end of the axis.
    at : float, optional
        Where on the x axis the pointer takes hold of it; by default positions are spread evenly.
    """

    value: str
    said: str
    lines: Mapping[str, tuple] = field(default_factory=dict)
    points: Mapping[str, tuple] = field(default_factory=dict)
    bars: Mapping[str, tuple] = field(default_factory=dict)
    at: float | None = None


def movable(
    positions: Sequence[Position],
    *,
    name: str,
    what: str,
    alt: str,
    axes: tuple[Axis, Axis],
    still: Mapping[str, tuple] | None = None,
    start: int = 0,
) -> str:
    """Return a figure whose positions a reader goes through, as HTML.

    Parameters
    ----------
    positions : sequence of Position
        At least two.
    name : str
        Letters, digits and underscores; of the figure, by which the page knows it.
    what : str
        What the slider moves, such as "threshold".
    alt : str
        The picture in words.
    axes : (Axis, Axis)
    still : mapping of str to (x, y), optional
        Lines that are the same at all positions, by name.
    start : int
        The position that is shown first, and on paper.

    Raises
    ------
    ValueError
        Fewer than two positions, one with other parts than the first, a part with NaN, or a name
        of other letters.

    Examples
    --------
    >>> line = Position("1", "One.", lines={"a": ([0, 1], [0, 1])})
    >>> flat = Position("2", "Two.", lines={"a": ([0, 1], [1, 1])})
    >>> axes = Axis("x", 0, 1), Axis("y", 0, 1)
    >>> page = movable([line, flat], name="toy", what="slope", alt="A line.", axes=axes)
    >>> page.count('role="img"')
    1
    """
    if not re.fullmatch(r"\w+", name):
        raise ValueError(f"name: letters, digits and underscores expected, got {name!r}")
    if len(positions) < 2:
        raise ValueError(f"positions: at least two expected, got {len(positions)}")
    parts = [_parts(one) for one in positions]
    for number, one in enumerate(parts):
        if [*one] != [*parts[0]]:
            raise ValueError(f"positions: number {number} has other parts than the first")
    drawn = [{part: _path(*axes, *part, *data) for part, data in one.items()} for one in parts]
    still = {("lines", one): data for one, data in (still or {}).items()}
    fixed = {part: _path(*axes, *part, *data) for part, data in still.items()}
    names = [one for _, one in [*fixed, *drawn[0]]]
    looks = {one: _LOOKS[place % len(_LOOKS)] for place, one in enumerate(dict.fromkeys(names))}
    shapes = [_shape(part, path, looks, "") for part, path in fixed.items()]
    shapes += [
        _shape(part, path, looks, f' data-part="{place}"')
        for place, (part, path) in enumerate(drawn[start].items())
    ]
    first, last = positions[start], len(positions) - 1
    places = [one.at for one in positions]
    spread = np.linspace(0, 1, len(positions))
    held = axes[0].share(places) if None not in places else spread
    data = {
        "said": [one.said for one in positions],
        "value": [one.value for one in positions],
        "at": np.round((_LEFT + held * (_RIGHT - _LEFT)) / _WIDTH, 4).tolist(),
        "parts": [list(one.values()) for one in drawn],
    }
    # no "<" of a sentence may end the script
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<figure class="movable" id="movable-{name}">\n{_STYLE}'
        f"<p>{''.join(_key(part, looks) for part in [*fixed, *drawn[0]])}</p>\n"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(alt)}">\n'
        f"{_frame(*axes)}{''.join(shapes)}</svg>\n"
        f'<label hidden>{escape(what)} <input type="range" min="0" max="{last}" value="{start}"> '
        f"<output>{escape(first.value)}</output></label>\n"
        f'<figcaption aria-live="polite">{escape(first.said)}</figcaption>\n'
        f'<script type="application/json">{text}</script>\n<script>{_SCRIPT}</script>\n</figure>'
    )


def policy() -> str:
    """Return what a page's policy of scripts has to name so that these figures move.

    It is the digest of the one script that they have, and lets no other run.
    """
    digest = hashlib.sha256(_SCRIPT.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _parts(position: Position) -> dict[tuple[str, str], tuple]:
    return {
        (kind, name): data
        for kind in ("bars", "lines", "points")
        for name, data in getattr(position, kind).items()
    }


def _path(x: Axis, y: Axis, kind: str, name: str, *data) -> str:
    """Return a part as the path of an SVG."""
    arrays = [float_array(f"{kind} {name!r}", one) for one in data]
    if len({len(one) for one in arrays}) > 1:
        raise ValueError(f"{kind} {name!r}: arrays of one length expected")
    across = [np.round(_LEFT + x.share(one) * (_RIGHT - _LEFT), 1) for one in arrays[:-1]]
    up = np.round(_BOTTOM - y.share(arrays[-1]) * (_BOTTOM - _TOP), 1)
    if kind == "bars":
        return "".join(
            f"M{left:g} {_BOTTOM}V{top:g}H{right:g}V{_BOTTOM}Z"
            for left, right, top in zip(*across, up, strict=True)
        )
    if kind == "points":
        return "".join(
            f"M{one - 5:g} {top:g}{_CIRCLE}" for one, top in zip(*across, up, strict=True)
        )
    return "M" + "L".join(f"{one:g} {top:g}" for one, top in zip(*across, up, strict=True))


def _shape(part: tuple[str, str], path: str, looks: Mapping, more: str) -> str:
    kind, name = part
    colour, dashes = looks[name]
    if kind == "lines":
        dashes = f' stroke-dasharray="{dashes}"' if dashes else ""
        look = f'fill="none" stroke="{colour}" stroke-width="2.2"{dashes}'
    else:
        opacity = "0.45" if kind == "bars" else "0.9"
        look = f'fill="{colour}" fill-opacity="{opacity}" stroke="{colour}"'
    return f'<path d="{path}" {look}{more}/>\n'


def _key(part: tuple[str, str], looks: Mapping) -> str:
    """Return a part's entry in the legend: how it looks, and its name."""
    kind, name = part
    drawn = {"lines": "M0 7H30", "bars": "M6 14V2H24V14Z", "points": f"M10 7{_CIRCLE}"}
    shape = _shape(part, drawn[kind], looks, "")
    return f'<span><svg viewBox="0 0 30 14" aria-hidden="true">{shape}</svg>{escape(name)}</span> '


def _frame(x: Axis, y: Axis) -> str:
    """Return the axes with their ticks and titles."""

    def text(words: str, place: str, side: str) -> str:
        return f'<text {place} class="{side}">{escape(words)}</text>\n'

    middle, half = (_LEFT + _RIGHT) / 2, (_TOP + _BOTTOM) / 2
    edge = f"M{_LEFT} {_TOP}V{_BOTTOM}H{_RIGHT}"
    shown = [
        text(x.title, f'x="{middle}" y="{_HEIGHT - 10}"', "middle"),
        text(y.title, f'transform="translate(14 {half}) rotate(-90)"', "middle"),
    ]
    for value, written in x.ticks():
        across = _LEFT + x.share(value) * (_RIGHT - _LEFT)
        edge += f"M{across:.1f} {_BOTTOM}v5"
        shown.append(text(written, f'x="{across:.1f}" y="{_BOTTOM + 21}"', "middle"))
    for value, written in y.ticks():
        up = _BOTTOM - y.share(value) * (_BOTTOM - _TOP)
        edge += f"M{_LEFT} {up:.1f}h-5"
        shown.append(text(written, f'x="{_LEFT - 9}" y="{up + 5:.1f}"', "end"))
    return "".join([f'<path d="{edge}" class="frame"/>\n', *shown])


_STYLE = """<style>
.movable > svg { width: 100%; max-width: 40rem; height: auto; overflow: visible; }
.movable > svg { touch-action: pan-y; }
.movable text { font-size: 15px; fill: currentColor; }
.movable .middle { text-anchor: middle; }
.movable .end { text-anchor: end; }
.movable .frame { fill: none; stroke: currentColor; }
.movable p span { display: inline-block; margin-right: 1em; }
.movable p svg { width: 2em; height: 1em; vertical-align: -0.1em; margin-right: 0.3em; }
.movable label { display: block; }
.movable label[hidden] { display: none; }
.movable input { width: 60%; max-width: 24rem; vertical-align: middle; }
@media (max-width: 30rem) { .movable text { font-size: 19px; } }
@media print { .movable label { display: none; } }
</style>
"""
_SCRIPT = """{
  const figure = document.currentScript.parentElement;
  const data = JSON.parse(figure.querySelector("script").textContent);
  const picture = figure.querySelector(":scope > svg"), slider = figure.querySelector("input");
  const show = () => {
    data.parts[slider.value].forEach((path, part) =>
      figure.querySelector(`[data-part="${part}"]`).setAttribute("d", path));
    figure.querySelector("output").textContent = data.value[slider.value];
    figure.querySelector("figcaption").textContent = data.said[slider.value];
  };
  const follow = (event) => {
    if (event.type === "pointermove" && !event.buttons) return;
    const box = picture.getBoundingClientRect();
    const away = data.at.map((one) => Math.abs(one - (event.clientX - box.left) / box.width));
    slider.value = away.indexOf(Math.min(...away));
    show();
  };
  slider.addEventListener("input", show);
  picture.addEventListener("pointerdown", follow);
  picture.addEventListener("pointermove", follow);
  figure.querySelector("label").hidden = false;
  show();
}"""
