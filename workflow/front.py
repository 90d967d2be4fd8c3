"""The front picture, from committed results and packs; its metadata hold its numbers.

README, front page and the chapter on human-centric evaluation read these numbers, so that the text
agrees with the picture.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from pages import render
from PIL import Image
from step import ROOT

from helpers import data, scores
from helpers.metrics.bootstrap import resample_weights
from helpers.networks import published, zoo
from helpers.report import results
from helpers.report.claims import Verdict
from helpers.report.figures.style import BLUE, GREEN, GREY, LIGHT, RED
from helpers.report.table import markdown_table
from helpers.scores.calibration import softmax
from known_unknowns.bench import FeaturePack, values_on

PICTURE = ROOT / "book" / "_static" / "front.png"
NETWORK = "resnet20.akamaster_cifar10"
SETS = {
    "clocks": "a clock",
    "mazes": "a maze",
    "chess": "a chess board",
    "digits": "a digit",
    "road_signs": "a road sign",
    "leaves": "a leaf",
}
SCORES = {"msp": "MSP", "energy": "energy", "knn": "KNN", "fdbd": "fDBD"}
KINDS = {"mistakes": "mistakes", "near": "near-OOD", "far": "far-OOD"}
KEEP = 0.95
REPLICATES = 1000
_KEY = "numbers"  # of the picture's metadata
_COLOURS = {"msp": "#1a1a1a", "energy": GREY, "knn": GREEN, "fdbd": GREY}
_BARS = {
    Verdict.SUPPORTED: BLUE,
    Verdict.CONTRADICTED: RED,
    Verdict.UNDECIDED: GREY,
    Verdict.NOT_TESTABLE: LIGHT,
    Verdict.NO_DATA: "#dddddd",
}


def measure(claims: pd.DataFrame, packs: Iterable[FeaturePack]) -> dict:
    """Return all numbers of the picture; `claims` is from `glance.largest`."""
    return {
        "accuracy": accuracy(),
        "predictions": [predict_median(name) for name in SETS],
        **accepted_shares(packs),
        "verdicts": count_verdicts(claims),
    }


def accuracy() -> float:
    """Return the network's accuracy on the test images of CIFAR-10, of the committed results."""
    table = results.read(ROOT / "results" / "pretrained" / "human_centric.parquet")
    rows = table[(table["backbone"] == NETWORK) & (table["metric"] == "accuracy")]
    return rows.loc[rows["test_set"] == "test", "value"].iloc[0]


def class_names() -> tuple[str, ...]:
    """Return the names of the network's classes."""
    return published.find(NETWORK).class_names


def predict(name: str) -> np.ndarray:
    """Return the network's probabilities for the test images of a set, shape [N, K]."""
    network = zoo.load(NETWORK, progress=False, device="cpu")
    return softmax(network.outputs(data.load(name, "test").unknown()).logits.astype(float))


def predict_median(name: str) -> dict:
    """Return the image of a set with the median confidence, its class and its confidence."""
    probabilities = predict(name)
    largest = probabilities.max(axis=1)
    image = int(np.argsort(largest, kind="stable")[len(largest) // 2])
    label = class_names()[probabilities[image].argmax()]
    return {"set": name, "image": image, "label": label, "confidence": largest[image]}


def accepted_shares(packs: Iterable[FeaturePack]) -> dict:
    """Return the shares of incorrect predictions that each score accepts, means over the packs.

    Each share has a 95 % interval: images are resampled within each pack, the same for all scores.
    """
    packs, accepted = list(packs), {}
    for score in SCORES:
        shares = [resample_shares(pack, score) for pack in packs]
        means = {kind: np.mean([each[kind] for each in shares], axis=0) for kind in KINDS}
        accepted[score] = {
            kind: [mean[0], *np.quantile(mean[1:], [0.025, 0.975])] for kind, mean in means.items()
        }
    sets = {name for pack in packs for name in (*pack.near, *pack.far)}
    return {"networks": len(packs), "sets": len(sets), "accepted": accepted}


def resample_shares(pack: FeaturePack, score: str) -> dict[str, np.ndarray]:
    """Return the accepted shares of a pack's mistakes, near and far images, and replicates of each.

    The threshold is the largest that accepts 95 % of the correct predictions, in each replicate.
    Near and far shares are means over sets.  Shapes are [1 + REPLICATES], the share itself first.
    """
    values = values_on(pack, scores.create_as_published(score, pack.id_set))
    test, correct, weights = values.pop("test"), pack.test.correct, _weights(len(pack.test))
    order = np.argsort(-test[correct], kind="stable")
    kept = np.cumsum(weights[:, correct][:, order], axis=1, dtype=float)
    enough = kept >= KEEP * kept[:, -1:] - 1e-9
    thresholds = test[correct][order][enough.argmax(axis=1)]
    shares = {"mistakes": _accepted(test[~correct], weights[:, ~correct], thresholds)}
    for side in ("near", "far"):
        sets = [each for name, each in values.items() if name.startswith(f"{side}/")]
        accepted = [_accepted(each, _weights(len(each)), thresholds) for each in sets]
        shares[side] = np.mean(accepted, axis=0)
    return shares


def _weights(count: int) -> np.ndarray:
    """Return the weight of each image: first 1, then its count in each replicate."""
    return np.vstack([np.ones(count), resample_weights(count, replicates=REPLICATES, seed=0)])


def _accepted(values: np.ndarray, weights: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    return (weights * (values >= thresholds[:, None])).sum(axis=1) / weights.sum(axis=1)


def count_verdicts(claims: pd.DataFrame) -> dict[str, int]:
    """Return the number of claims with each verdict that occurs."""
    counts = claims["verdict"].value_counts()
    return {str(verdict): int(counts[verdict]) for verdict in Verdict if verdict in counts}


def stored(path: Path = PICTURE) -> dict:
    """Return the numbers of a picture."""
    with Image.open(path) as picture:
        return json.loads(picture.text[_KEY])


def write(numbers: Mapping, path: Path = PICTURE) -> None:
    """Draw the picture, with its numbers in its metadata."""
    numbers = json.loads(json.dumps(numbers))
    with style():
        figure = draw(numbers)
        figure.savefig(path, dpi=150, metadata={_KEY: json.dumps(numbers), "Software": None})
    plt.close(figure)


def style() -> AbstractContextManager:
    """Return the context in which the picture is drawn."""
    return plt.rc_context(
        {"font.family": "DejaVu Sans", "font.size": 13, "savefig.bbox": "standard"}
    )


def draw(numbers: Mapping) -> plt.Figure:
    """Return the figure: predictions on top, accepted shares and verdicts below."""
    figure = plt.figure(figsize=(9.6, 7.9), facecolor="white")
    total = sum(numbers["verdicts"].values())
    for x, y, title, text in (
        (0.02, 0.966, "It has an answer for everything",
         f"A network, {numbers['accuracy']:.0%} correct on its ten classes, sees other things:"),
        (0.02, 0.553, "No score stops every wrong answer",
         f"Wrong answers accepted when {KEEP:.0%} of the correct ones are:"),
        (0.665, 0.553, f"{total} claims, tested", "of five papers, by verdict:"),
    ):  # fmt: skip
        figure.text(x, y, title, fontsize=18, weight="bold", va="center")
        figure.text(x, y - 0.046, text.replace("%", " %"), color="#595959", va="center")
    for place, prediction in enumerate(numbers["predictions"]):
        _draw_prediction(figure.add_axes([0.02 + 0.1625 * place, 0.69, 0.15, 0.182]), prediction)
    _draw_accepted(figure.add_axes([0.075, 0.125, 0.43, 0.345]), numbers["accepted"])
    _draw_verdicts(figure.add_axes([0.665, 0.07, 0.32, 0.41]), numbers["verdicts"])
    note = (
        f"Images: median confidence of each set. Shares: means of {numbers['networks']} published "
        f"networks, {numbers['sets']} OOD sets, 95 % intervals."
    )
    figure.text(0.02, 0.016, note, fontsize=10.5, color="#595959", va="center")
    return figure


def _draw_prediction(ax: Axes, prediction: Mapping) -> None:
    images = data.load(prediction["set"], "test")
    ax.imshow(images.images[prediction["image"]], interpolation="bicubic")
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set(edgecolor=RED, linewidth=2.5)
    style = {"transform": ax.transAxes, "ha": "center", "va": "top", "color": RED}
    ax.text(0.5, -0.06, f"“{prediction['label']}”", fontsize=14.5, weight="bold", **style)
    ax.text(0.5, -0.22, f"{100 * prediction['confidence']:.0f} % sure", **style)


def _draw_accepted(ax: Axes, accepted: Mapping) -> None:
    ends = {score: 100 * kinds["far"][0] for score, kinds in accepted.items()}
    names = dict(zip(ends, _spread([*ends.values()], apart=8.5), strict=True))
    for place, (score, kinds) in enumerate(accepted.items()):
        middle, low, high = 100 * np.array([kinds[kind] for kind in KINDS]).T
        bold, colour = score in ("msp", "knn"), _COLOURS[score]
        x = np.arange(len(KINDS)) + 0.07 * (place - 1.5)
        style = {"color": colour, "zorder": 3 if bold else 2, "alpha": 1 if bold else 0.6}
        ax.errorbar(x, middle, [middle - low, high - middle], fmt="o-" if bold else "s--",
                    lw=3 if bold else 1.5, ms=8 if bold else 5, elinewidth=2, **style)  # fmt: skip
        ax.text(2.2, names[score], f"{SCORES[score]} {middle[-1]:.0f} %", color=colour, va="center",
                weight="bold" if bold else "normal")  # fmt: skip
        if bold:
            above = middle[0] == max(100 * one["mistakes"][0] for one in accepted.values())
            side, align = (high[0] + 2, "bottom") if above else (low[0] - 2, "top")
            ax.text(x[0], side, f"{middle[0]:.0f} %", color=colour, weight="bold", ha="center",
                    va=align)  # fmt: skip
    ax.set_xticks(range(len(KINDS)), ["its own\nmistakes", "similar\nobjects", "other\npictures"])
    ax.set_yticks([0, 25, 50, 75])
    ax.set(xlim=(-0.5, 2.15), ylim=(0, 92))
    ax.tick_params(length=0)
    ax.grid(axis="y", color="#e5e5e5")
    ax.spines[:].set_visible(False)


def _spread(heights: list[float], *, apart: float) -> np.ndarray:
    """Return heights of labels that are at least `apart`, near those of their points."""
    order, gaps = np.argsort(heights), apart * np.arange(len(heights))
    spread = np.maximum.accumulate(np.sort(heights) - gaps) + gaps
    spread -= np.mean(spread - np.sort(heights))
    return spread[np.argsort(order)]


def _draw_verdicts(ax: Axes, verdicts: Mapping) -> None:
    for place, (verdict, count) in enumerate(verdicts.items()):
        ax.barh(-place, count, color=_BARS[Verdict(verdict)], height=0.5)
        ax.text(count + 0.02 * max(verdicts.values()), -place, str(count), va="center",
                fontsize=16, weight="bold")  # fmt: skip
        ax.text(0, -place + 0.42, verdict, va="center", ha="left")
    ax.set(xlim=(0, 1.2 * max(verdicts.values())), ylim=(0.35 - len(verdicts), 0.62))
    ax.axis("off")


def describe(numbers: Mapping) -> str:
    """Return a description of the picture, for readers who cannot see it."""
    labels = ", ".join(
        f"{SETS[one['set']]} “{one['label']}” ({100 * one['confidence']:.0f} %)"
        for one in numbers["predictions"]
    )
    return f"A CIFAR-10 network calls {labels}. Below: accepted errors of four scores; verdicts."


def show(numbers: Mapping) -> str:
    """Return the picture for the front page, with its caption."""
    return render(
        "front.md", picture=PICTURE.name, description=describe(numbers), tally=tally(numbers),
        accuracy=100 * numbers["accuracy"],
    )  # fmt: skip


def tally(numbers: Mapping) -> str:
    """Return the counts of verdicts in a sentence."""
    verdicts = numbers["verdicts"]
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
    return f"{sum(verdicts.values())} claims, each by our largest experiment: {counts}."


def quote(numbers: Mapping) -> str:
    """Return the trade-off between MSP and KNN in a sentence, with intervals."""
    msp, knn = (numbers["accepted"][score] for score in ("msp", "knn"))
    return (
        f"At the threshold that keeps {100 * KEEP:.0f} % of the correct predictions, MSP accepts "
        f"{percent(msp['mistakes'])} of a network's mistakes and {percent(msp['far'])} of far-OOD "
        f"images. KNN accepts {percent(knn['mistakes'])} and {percent(knn['far'])} "
        f"(means over {numbers['networks']} published networks)."
    )


def percent(share: list[float]) -> str:
    """Return a share with its interval in per cent, as in ``50 % [40, 62]``."""
    middle, low, high = (f"{100 * one:.0f}" for one in share)
    return f"{middle} % [{low}, {high}]"


def tabulate(numbers: Mapping) -> str:
    """Return the accepted shares as a table, with how they were computed."""
    rows = [
        [SCORES[score], *(percent(kinds[kind]) for kind in KINDS)]
        for score, kinds in numbers["accepted"].items()
    ]
    values = {"networks": numbers["networks"], "sets": numbers["sets"], "keep": round(100 * KEEP)}
    table = markdown_table(["score", *KINDS.values()], rows)
    return render("accepted.md", table=table, **values)
