"""The front picture, from committed results and packs; its metadata hold its numbers.

README, front page and the page on scores and tools read these numbers, so the text agrees with the
picture.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from PIL import Image

from helpers import data, scores
from helpers.metrics.bootstrap import REPLICATES, resample_weights
from helpers.modules import ROOT
from helpers.papers import content_of
from helpers.tables.figures.style import BLUE, GREEN, GREY, LIGHT, RED
from known_unknowns.bench import FeaturePack, values_on
from synthesis.effects import Verdict
from synthesis.rendering import render

PICTURE = ROOT / "book" / "_static" / "front.png"
SETS, SCORES, KINDS, _PARTS, _NOTE = content_of(__file__, "front").values()
KEEP = 0.95
_KEY = "numbers"  # of the picture's metadata
_COLOURS = {"msp": "#1a1a1a", "knn": GREEN}
_BARS = dict(zip(map(str, Verdict), (BLUE, RED, GREY, LIGHT, "#dddddd"), strict=True))
_FONT: Any = {"font.family": "DejaVu Sans", "font.size": 13, "savefig.bbox": "standard"}


def accepted_shares(packs: Iterable[FeaturePack]) -> dict:
    """Return the shares of incorrect predictions that each score accepts, means over the packs.

    Each share has a 95 % interval: images are resampled within each pack, equally for all scores.
    """
    packs = list(packs)
    accepted = {}
    for score in SCORES:
        shares = [resample_shares(pack, score) for pack in packs]
        means = {kind: np.mean([each[kind] for each in shares], axis=0) for kind in KINDS}
        ends = {kind: np.quantile(mean[1:], [0.025, 0.975]) for kind, mean in means.items()}
        accepted[score] = {kind: [means[kind][0], *ends[kind]] for kind in KINDS}
    sets = {name for pack in packs for name in (*pack.near, *pack.far)}
    return {"networks": len(packs), "sets": len(sets), "accepted": accepted}


def resample_shares(pack: FeaturePack, score: str) -> dict[str, np.ndarray]:
    """Return the accepted shares of a pack's errors, near and far images, with replicates.

    The threshold is the largest that accepts 95 % of the correct predictions, in each replicate.
    Near and far shares are means over sets.  Shapes are [1 + REPLICATES]; the share is first.
    """
    values = values_on(pack, scores.create_as_published(score, pack.id_set))
    test = values.pop("test")
    correct = pack.test.correct
    weights = weigh(len(pack.test))
    order = np.argsort(-test[correct], kind="stable")
    kept = np.cumsum(weights[:, correct][:, order], axis=1, dtype=float)
    enough = kept >= KEEP * kept[:, -1:] - 1e-9
    thresholds = test[correct][order][enough.argmax(axis=1)][:, None]

    def accept(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return (weights * (values >= thresholds)).sum(axis=1) / weights.sum(axis=1)

    shares = {"mistakes": accept(test[~correct], weights[:, ~correct])}
    for side in ("near", "far"):
        sets = [each for name, each in values.items() if name.startswith(f"{side}/")]
        shares[side] = np.mean([accept(each, weigh(len(each))) for each in sets], axis=0)
    return shares


def weigh(count: int) -> np.ndarray:
    """Return the weight of each image: first 1, then its count in each replicate."""
    return np.vstack([np.ones(count), resample_weights(count, replicates=REPLICATES, seed=0)])


def count_verdicts(claims: pd.DataFrame) -> dict[str, int]:
    """Return the number of claims of `openings.largest` with each verdict that occurs."""
    counts = claims["verdict"].value_counts()
    return {str(verdict): int(counts[verdict]) for verdict in Verdict if verdict in counts}


def stored(path: Path = PICTURE) -> dict:
    """Return the numbers of a picture."""
    with Image.open(path) as picture:
        return json.loads(picture.info[_KEY])


def write(numbers: Mapping, path: Path = PICTURE) -> None:
    """Draw predictions, accepted shares and verdicts, with the numbers in the file's metadata."""
    with plt.rc_context(_FONT):
        figure = plt.figure(figsize=(9.6, 7.9), facecolor="white")
        for column, prediction in enumerate(numbers["predictions"]):
            ax = figure.add_axes((0.02 + 0.1625 * column, 0.69, 0.15, 0.182))
            draw_prediction(ax, prediction)
        draw_accepted(figure.add_axes((0.075, 0.125, 0.43, 0.345)), numbers["accepted"])
        draw_verdicts(figure.add_axes((0.665, 0.07, 0.32, 0.41)), numbers["verdicts"])
        shares = {"accuracy": 100 * numbers["accuracy"], "keep": 100 * KEEP}
        values = {**numbers, **shares, "claims": sum(numbers["verdicts"].values())}
        for x, y, title, text in _PARTS:
            text = text.format_map(values)
            figure.text(x, y, title.format_map(values), fontsize=18, weight="bold", va="center")
            figure.text(x, y - 0.046, text, color="#595959", va="center")
        note = _NOTE.format_map(values)
        figure.text(0.02, 0.016, note, fontsize=10.5, color="#595959", va="center")
        figure.savefig(path, dpi=150, metadata={_KEY: json.dumps(numbers), "Software": None})
    plt.close(figure)


def draw_prediction(ax: Axes, prediction: Mapping) -> None:
    """Draw an image in a frame, with the predicted class and the confidence below."""
    images = data.load(prediction["set"], "test")
    ax.imshow(images.images[prediction["image"]], interpolation="bicubic")
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set(edgecolor=RED, linewidth=2.5)
    style: dict[str, Any] = {"transform": ax.transAxes, "ha": "center", "va": "top", "color": RED}
    ax.text(0.5, -0.06, f"“{prediction['label']}”", fontsize=14.5, weight="bold", **style)
    ax.text(0.5, -0.22, f"{100 * prediction['confidence']:.0f} % sure", **style)


def draw_accepted(ax: Axes, accepted: Mapping) -> None:
    """Draw the accepted shares of each score as a line with intervals."""
    for index, (score, kinds) in enumerate(accepted.items()):
        middle, low, high = 100 * np.array([kinds[kind] for kind in KINDS]).T
        bold = score in _COLOURS
        colour = _COLOURS.get(score, GREY)
        shape = {"lw": 3, "ms": 8, "zorder": 3} if bold else {"lw": 1.5, "ms": 5, "alpha": 0.6}
        x = np.arange(len(KINDS)) + 0.07 * (index - 1.5)
        ax.errorbar(x, middle, [middle - low, high - middle], fmt="o-" if bold else "s--",
                    elinewidth=2, color=colour, **shape)  # fmt: skip
        style: dict[str, Any] = {"color": colour, "weight": "bold" if bold else "normal"}
        ax.text(2.2, middle[-1], f"{SCORES[score]} {middle[-1]:.0f} %", va="center", **style)
        if bold:
            y = low[0] - 7 if score == "msp" else high[0] + 2
            ax.text(x[0], y, f"{middle[0]:.0f} %", ha="center", **style)
    ax.set_xticks(range(len(KINDS)), ["mistakes", "near-OOD\n(similar)", "far-OOD\n(other)"])
    ax.set(xlim=(-0.5, 2.15), ylim=(0, 92), yticks=[0, 25, 50, 75])
    ax.tick_params(length=0)
    ax.grid(axis="y", color="#e5e5e5")
    ax.spines[:].set_visible(False)


def draw_verdicts(ax: Axes, verdicts: Mapping) -> None:
    """Draw a bar for each verdict, with its name and the number of claims."""
    for row, (verdict, count) in enumerate(verdicts.items()):
        bar = ax.barh(-row, count, color=_BARS[verdict], height=0.5)
        ax.bar_label(bar, padding=5, fontsize=16, weight="bold")
        ax.text(0, -row + 0.42, verdict, va="center")
    ax.set(xlim=(0, 1.2 * max(verdicts.values())), ylim=(0.35 - len(verdicts), 0.62))
    ax.axis("off")


def text(name: str, numbers: Mapping) -> str:
    """Return the text ``describe``, ``tally`` or ``quote`` about these numbers."""
    names = {"titles": SETS, "scores": SCORES, "percent": percent}
    return render("numbers.md", name=name, keep=KEEP, **names, **numbers)


def percent(share: list[float]) -> str:
    """Return a share with its interval in per cent, as in ``50 % [40, 62]``."""
    return "{:.0f} % [{:.0f}, {:.0f}]".format(*(100 * number for number in share))


def parts() -> dict[str, str]:
    """Return the parts of pages that show these numbers: picture, sentence and table."""
    numbers = stored()
    texts = {name: text(name, numbers) for name in ("describe", "tally", "quote")}
    names = {"kinds": KINDS, "scores": SCORES, "percent": percent}
    return {
        "front": render("front.md", picture=PICTURE.name, **numbers, **texts),
        "trade_off": texts["quote"],
        "accepted": render("accepted.md", keep=KEEP, **names, **numbers),
    }
