"""A slider over the share of correct answers that a threshold accepts, on real outputs."""

from __future__ import annotations

import numpy as np
from IPython.display import HTML

from helpers import metrics
from helpers.tables.figures.style import method_styles
from known_unknowns.bench import FeaturePack, values_on
from synthesis import front
from synthesis.rendering import render

#: The scores that the slider compares: a baseline, and the score with the lowest rates.
NAMES = ("msp", "fdbd")
#: Shares of the correct answers, in per cent.
POSITIONS = range(50, 101)


def accepted(pack: FeaturePack, score: str) -> dict[str, list[int]]:
    """Return the share of each kind of error that a score accepts at each position, in per cent."""
    values = values_on(pack, score)
    test = values.pop("test")
    correct = pack.test.correct
    kept = [metrics.rejection_threshold(test[correct], keep=each / 100) for each in POSITIONS]
    thresholds = np.array(kept)
    errors = {"mistakes": [test[~correct]]}
    for side in ("near", "far"):
        errors[side] = [each for name, each in values.items() if name.startswith(side)]
    shares = {
        kind: np.mean([(each >= thresholds[:, None]).mean(axis=1) for each in sets], axis=0)
        for kind, sets in errors.items()
    }
    return {kind: np.rint(100 * share).astype(int).tolist() for kind, share in shares.items()}


def slider(pack: FeaturePack) -> HTML:
    """Return bars of the accepted errors, which follow a slider in the page without a server."""
    of_scores = {name: accepted(pack, name) for name in NAMES}
    styles = method_styles(NAMES)
    rows = [
        {"kind": title, "score": name, "title": front.SCORES[name], "first": name == NAMES[0],
         "shares": of_scores[name][kind], "colour": styles[name]["color"]}
        for kind, title in front.WORDS.items()
        for name in NAMES
    ]  # fmt: skip
    caption = (
        f"{len(pack.test):,} test images, {len(pack.near)} near and {len(pack.far)} far sets, "
    )
    page = render(
        "slider.html",
        rows=rows,
        positions=[*POSITIONS],
        start=POSITIONS.index(round(100 * front.KEEP)),
        caption=f"{caption}network {pack.name}.",
    )
    return HTML(page)
