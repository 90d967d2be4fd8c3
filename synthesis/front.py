"""The front picture, from a published network; its metadata hold the shares that scores accept.

README, front page, findings and the page on scores and tools read these numbers.
"""

import functools
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from helpers import data, scores
from helpers.files import content_of, project_root
from helpers.metrics.bootstrap import resample_weights
from helpers.tables.figures.style import RED
from known_unknowns.bench import FeaturePack, values_on
from synthesis.effects import REPLICATES

PICTURE = project_root() / "book" / "_static" / "front.png"
SETS, SCORES, KINDS, WORDS, _TITLE, _TEXT = content_of(__file__).values()
KEEP = 0.95
_KEY = "numbers"  # of the picture's metadata
_FONT: Any = {"font.family": "DejaVu Sans", "font.size": 13, "savefig.bbox": "standard"}


def accepted_shares(packs: Iterable[FeaturePack]) -> dict:
    """Return the shares of incorrect predictions that each score accepts, means over the packs.

    Each share has a 95 % interval: images are resampled within each pack, equally for all scores.
    """
    packs = list(packs)
    of_packs = [{score: resample_shares(pack, score) for score in SCORES} for pack in packs]
    accepted = {}
    for score in SCORES:
        shares = [of_pack[score] for of_pack in of_packs]
        means = {kind: np.mean([each[kind] for each in shares], axis=0) for kind in shares[0]}
        ends = {kind: np.quantile(mean[1:], [0.025, 0.975]) for kind, mean in means.items()}
        accepted[score] = {kind: [means[kind][0], *ends[kind]] for kind in means}
    sets = {name for pack in packs for name in (*pack.near, *pack.far)}
    return {"networks": len(packs), "sets": len(sets), "accepted": accepted}


def resample_shares(pack: FeaturePack, score: str) -> dict[str, np.ndarray]:
    """Return the accepted shares of a pack's errors, near and far images, with replicates.

    The threshold is the largest that accepts 95 % of the correct predictions, in each replicate.
    Near and far shares are means over sets.  Shapes are [1 + REPLICATES]; the share is first.
    """
    scorer = scores.create_as_published(score, pack.id_set, len(pack.train))
    values = values_on(pack, scorer)
    test = values.pop("test")
    correct = pack.test.correct
    weights = weigh(len(pack.test))
    known = test[correct], weights[:, correct]
    fresh = thresholds_of(*known)
    train = pack.train.subset(pack.train.correct)
    trained = thresholds_of(scorer.score_samples(train), weigh(len(train)))
    shares = {
        "mistakes": accept(test[~correct], weights[:, ~correct], fresh),
        "kept": accept(*known, trained),
    }
    for side in ("near", "far"):
        sets = [each for name, each in values.items() if name.startswith(f"{side}/")]
        shares[side] = np.mean([accept(each, weigh(len(each)), fresh) for each in sets], axis=0)
    return shares


def thresholds_of(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the largest threshold of each replicate that accepts 95 % of the images."""
    order = np.argsort(-values, kind="stable")
    kept = np.cumsum(weights[:, order], axis=1, dtype=float)
    enough = kept >= KEEP * kept[:, -1:] - 1e-9
    return values[order][enough.argmax(axis=1)]


def accept(values: np.ndarray, weights: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return the share of images that each replicate accepts."""
    return (weights * (values >= thresholds[:, None])).sum(axis=1) / weights.sum(axis=1)


@functools.lru_cache(maxsize=3)  # a pack has three numbers of images
def weigh(count: int) -> np.ndarray:
    """Return the weight of each image: first 1, then its count in each replicate."""
    weights = resample_weights(count, replicates=REPLICATES, seed=0)
    return np.vstack([np.ones((1, count), weights.dtype), weights])


def stored(path: Path = PICTURE) -> dict:
    """Return the numbers of a picture."""
    with Image.open(path) as picture:
        return json.loads(picture.info[_KEY])


def write(numbers: Mapping, path: Path = PICTURE) -> None:
    """Draw the predictions, with all numbers in the file's metadata.

    A palette makes the file half as large.
    """
    with plt.rc_context(_FONT):
        figure = plt.figure(figsize=(9.6, 2.95), facecolor="white", layout="none")
        for column, prediction in enumerate(numbers["predictions"]):
            ax = figure.add_axes((0.02 + 0.1625 * column, 0.22, 0.15, 0.488))
            draw_prediction(ax, prediction)
        text = _TEXT.format(accuracy=100 * numbers["accuracy"])
        figure.text(0.02, 0.925, _TITLE, fontsize=18, weight="bold", va="center")
        figure.text(0.02, 0.8, text, color="#595959", va="center")
        figure.savefig(path, dpi=150)
    plt.close(figure)
    picture = Image.open(path).convert("RGB")
    about = PngInfo()
    about.add_text(_KEY, json.dumps(numbers))
    palette = picture.quantize(method=Image.Quantize.MAXCOVERAGE)  # white stays white
    picture.quantize(palette=palette).save(path, optimize=True, pnginfo=about)


def draw_prediction(ax: Axes, prediction: Mapping) -> None:
    """Draw an image in a frame, with the predicted class and the confidence below."""
    images = data.load(prediction["set"], "test")
    ax.imshow(images.images[prediction["image"]], interpolation="bicubic")
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set(edgecolor=RED, linewidth=2.5)
    style: dict[str, Any] = {"transform": ax.transAxes, "ha": "center", "va": "top", "color": RED}
    ax.text(0.5, -0.06, f"“{prediction['label']}”", fontsize=14.5, weight="bold", **style)
    ax.text(0.5, -0.22, f"{100 * prediction['confidence']:.0f} % sure", **style)


def describe(numbers: Mapping) -> str:
    """Return the predictions in words."""
    calls = [
        f"{SETS[each['set']]} “{each['label']}” ({100 * each['confidence']:.0f} %)"
        for each in numbers["predictions"]
    ]
    return f"A CIFAR-10 network calls {', '.join(calls)}."


def table() -> pd.DataFrame:
    """Return the stored shares as rows of score and kind, with the ends of the intervals."""
    rows = [
        {"score": score, "kind": kind, "value": share[0], "low": share[1], "high": share[2]}
        for score, kinds in stored()["accepted"].items()
        for kind, share in kinds.items()
    ]
    return pd.DataFrame(rows)
