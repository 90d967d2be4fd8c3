"""The front page and the README: the picture's predictions, and three findings as pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from helpers.tables.figures.style import BLUE, GREEN, GREY, RED, method_styles
from synthesis import front
from synthesis.findings import committed, find, in_words, short_title
from synthesis.findings.effects import improvements
from synthesis.rendering import render

FOLDER = front.PICTURE.parent
NO_METADATA = dict.fromkeys(["Creator", "Date", "Format", "Type"])
#: What makes a file small, and equal on every machine.
_LOOK: Any = {
    "svg.hashsalt": "findings",
    "svg.fonttype": "none",
    "font.size": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "savefig.bbox": "standard",
}


def half_accepted(ax: Axes, shares: pd.DataFrame) -> None:
    """Draw the share of each kind of error that each score accepts."""
    styles = method_styles(front.SCORES)
    last = {}
    for index, score in enumerate(front.SCORES):
        colour = styles[score]["color"]
        kinds = shares[shares["score"] == score].set_index("kind").loc[list(front.KINDS)]
        x = np.arange(len(kinds)) + 0.05 * (index - 1.5)
        middle = 100 * kinds["value"]
        ends = [middle - 100 * kinds["low"], 100 * kinds["high"] - middle]
        width = 3 if score == "fdbd" else 1.5
        ax.errorbar(x, middle, ends, fmt="o-", elinewidth=1.5, color=colour, linewidth=width)
        last[score] = middle.iloc[-1]
    order = sorted(last, key=last.__getitem__)
    apart = 6 * np.arange(len(order))  # so that labels of near values do not overlap
    heights = np.maximum.accumulate([last[score] for score in order] - apart) + apart
    for score, height in zip(order, heights, strict=True):
        text = f"{front.SCORES[score]} {last[score]:.0f} %"
        ax.text(2.15, height, text, color=styles[score]["color"], va="center")
    ax.set_xticks(
        range(len(front.KINDS)), [words.replace(" ", "\n") for words in front.WORDS.values()]
    )
    ax.set(xlim=(-0.2, 3.2), ylim=(0, 85), yticks=[0, 25, 50, 75], ylabel="accepted (%)")


def as_in_the_paper(ax: Axes, gains: pd.DataFrame) -> None:
    """Draw each method's gain here and in the paper."""
    gains = gains.sort_values(gains.columns[-1])
    rows = np.arange(len(gains))
    here, paper = gains["here"], gains["paper"]
    ax.hlines(rows, np.minimum(here, paper), np.maximum(here, paper), color="#cccccc", zorder=1)
    ax.plot(here, rows, "o", color=BLUE, markersize=9, label="here")
    ax.plot(paper, rows, "D", color=RED, markersize=8, fillstyle="none", label="in the paper")
    ax.axvline(0, color=GREY, linewidth=1, linestyle=":")
    ax.set_yticks(rows, [short_title(name) for name in gains.index])
    ax.set_xlabel("fall of the AURC (% of the baseline)")
    ax.legend(loc="lower center", bbox_to_anchor=(0.4, 1), ncols=2, frameon=False)


def fresh_threshold(ax: Axes, shares: pd.DataFrame) -> None:
    """Draw how many correct answers a threshold from training images rejects."""
    kept = shares[shares["kind"] == "kept"].set_index("score").drop(columns="kind")
    rejected = 100 * (1 - kept)
    nominal = 100 * (1 - front.KEEP)
    rows = np.arange(len(kept))[::-1]
    ends = [rejected["value"] - rejected["high"], rejected["low"] - rejected["value"]]
    ax.errorbar(rejected["value"], rows, xerr=ends, fmt="o", color=RED, markersize=9)
    for row, share in zip(rows, rejected["value"], strict=True):
        ax.text(share, row + 0.2, f"{share:.1f} %", color=RED, ha="center")
    ax.axvline(nominal, color=GREEN, linewidth=2)
    ax.text(nominal + 0.15, len(kept) - 0.55, f"target: {nominal:.0f} %", color=GREEN)
    ax.set_yticks(rows, [front.SCORES[score] for score in kept.index])
    ax.set(xlim=(0, 16), ylim=(-0.5, len(kept) - 0.1), xlabel="correct test answers rejected (%)")


#: The pictures of the front page: what draws each, and its data.
PICTURES: Mapping[str, tuple[Callable, Callable[[], pd.DataFrame]]] = {
    "half_accepted": (half_accepted, front.table),
    "as_in_the_paper": (as_in_the_paper, lambda: improvements(committed)["union"]),
    "fresh_threshold": (fresh_threshold, front.table),
}


def write(folder: Path = FOLDER) -> None:
    """Draw the pictures of the findings."""
    for name, (draw, data) in PICTURES.items():
        with plt.style.context(["default", _LOOK]):  # whatever was set before
            figure, ax = plt.subplots(figsize=(4.4, 3.2), layout="constrained")
            draw(ax, data())
            figure.savefig(folder / f"{name}.svg", metadata=NO_METADATA)
            plt.close(figure)


def parts() -> dict[str, str]:
    """Return the parts of pages with these numbers: the front page's pictures, and a table."""
    numbers = front.stored()
    shown = {"findings": [find(name) for name in PICTURES], "describe": front.describe(numbers)}
    names = {"kinds": front.KINDS, "scores": front.SCORES, "percent": percent}
    names |= {"ranked": find("all_rounders").numbers, "in_words": in_words}
    return {
        "front": render("front.md", picture=front.PICTURE.name, **shown, **numbers),
        "accepted": render("accepted.md", keep=front.KEEP, **names, **numbers),
    }


def percent(share: list[float]) -> str:
    """Return a share with its interval in per cent, as in ``50 % [40, 62]``."""
    return "{:.0f} % [{:.0f}, {:.0f}]".format(*(100 * number for number in share))
