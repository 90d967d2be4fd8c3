"""Learning curves: the first epochs over a finished training."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

import helpers.tables.figures.style as style
from helpers.checks import known_name
from helpers.tables.figures.style import BLUE, LIGHT

_ABREAST = 3  # networks side by side
_EPOCHS = (1, 3, 10, 30, 100, 300)  # with a number on the axis


def first_epochs(
    begun: Mapping[str, pd.DataFrame], finished: Mapping[str, pd.DataFrame]
) -> np.ndarray:
    """Draw the first epochs of trainings over the curves of finished trainings.

    Each network has a column, loss above accuracy.  The epochs have a logarithmic axis, on which
    the first three of two hundred have room.

    Parameters
    ----------
    begun, finished : mapping
        Titles of networks and their histories; each title of `begun` is in `finished` too.
    """
    if not begun:
        raise ValueError("begun: at least one network expected, got none")
    columns = min(len(begun), _ABREAST)
    bands = -(-len(begun) // columns)
    axes = style.axes_grid(2 * bands, columns, 3.4 * bands, width=7)
    # one row of pairs for each band of columns
    pairs = axes.reshape(bands, 2, columns).swapaxes(1, 2).reshape(-1, 2)
    for pair in pairs[len(begun) :]:
        for ax in pair:
            ax.set_visible(False)
    for (name, start), pair in zip(begun.items(), pairs, strict=False):
        whole = finished[known_name("network in begun", name, finished)]
        for which, history in (("begun", start), ("finished", whole)):
            style.check_columns(f"{which}, {name}", history, ["epoch", "loss", "accuracy"])
        last = max(whole["epoch"].max(), start["epoch"].max())
        for ax, metric in zip(pair, ("loss", "accuracy"), strict=True):
            ax.plot(whole["epoch"], whole[metric], color=LIGHT, linewidth=2, label="full schedule")
            ax.plot(start["epoch"], start[metric], "o-", color=BLUE, label="first epochs, here")
            ax.set(xscale="log", ylabel=metric)
            ax.minorticks_off()
            ax.set_xticks([epoch for epoch in _EPOCHS if epoch <= last])
            ax.xaxis.set_major_formatter("{x:.0f}")
        pair[0].set(title=name)
        pair[0].tick_params(labelbottom=False)
        pair[1].set(xlabel="epoch")
    for ax in axes[:, 1:].flat:
        ax.set(ylabel="")
    style.legend_outside(axes, 2)
    return axes
