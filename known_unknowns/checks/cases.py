"""Made-up data of any size on which metrics and scores are checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from helpers.outputs import Head, Outputs

#: Made-up scores and probabilities: mostly correct, always correct, always incorrect, constant.
#:
#: A constant probability is the probability of a guess; a constant answer is class 0.
QUALITIES = ("usual", "perfect", "reversed", "constant")


@dataclass(frozen=True)
class MetricCase:
    """The size of the data that a metric is checked on: N images of each group, K classes."""

    images: int = 120
    classes: int = 5
    seed: int = 0

    def in_words(self) -> str:
        """Return the lengths of the arrays, and the seed."""
        return f"{self.images} images (of each group), {self.classes} classes, seed {self.seed}"

    def arguments(self, takes: Mapping[str, str], quality: str = "usual") -> dict:
        """Return the arguments of a metric, arrays that are exact in single precision."""
        generator = np.random.default_rng(self.seed)
        right = generator.permutation(self.images) % 3 > 0
        noise = generator.normal(size=(3, self.images))
        scores = _scores(noise[0], right, quality)
        known = np.ones_like(right)
        unknown = np.zeros_like(right)
        groups = [_scores(noise[1], known, quality), _scores(noise[2], unknown, quality)]
        vectors, truth = self._vectors(generator, quality, "rows" in takes.values())
        answers = vectors.argmax(axis=1)
        values = {
            "scores": scores,
            "shares": np.round(64 / (1 + np.exp(-2 * scores))) / 64,
            "correct": right,
            "probabilities": vectors,
            "rows": vectors[:, : self.classes],
            "unknown": vectors[:, -1],
            "labels": truth,
            "open labels": np.where(truth == self.classes, -1, truth),
            "answers": np.where(answers == self.classes, -1, answers),
            "number": 0.5,
        }
        return {
            name: groups.pop(0) if kind == "group" else values[kind] for name, kind in takes.items()
        }

    def _vectors(self, generator, quality, is_open) -> tuple[np.ndarray, np.ndarray]:
        """Return probabilities in steps of 1/256, above 0 in the usual case, and true classes."""
        columns = self.classes + is_open
        truth = generator.permutation(self.images) % columns
        if quality in ("perfect", "reversed"):
            return np.eye(columns)[(truth + (quality == "reversed")) % columns], truth
        logits = generator.normal(size=(self.images, columns)) + 2 * np.eye(columns)[truth]
        powers = np.exp(logits * (quality == "usual"))
        steps = np.floor(powers / powers.sum(axis=1, keepdims=True) * (256 - columns)) + 1
        steps[np.arange(self.images), steps.argmax(axis=1)] += 256 - steps.sum(axis=1)
        return steps / 256, truth


def _scores(noise: np.ndarray, right: np.ndarray, quality: str) -> np.ndarray:
    """Return scores; with the usual `quality`, they are higher for correct or known images."""
    if quality in ("perfect", "reversed"):
        return np.where(right == (quality == "perfect"), 8.0, -8.0)
    return np.round(4 * (noise + 1.5 * right)) / 4 * (quality == "usual")


@dataclass(frozen=True)
class ScoreCase:
    """The size of the data that a score is checked on: N images, K classes, D features.

    `train` is the number of images of the fit.
    """

    images: int = 600
    classes: int = 20
    width: int = 40
    train: int = 300
    seed: int = 0

    def in_words(self) -> str:
        """Return the shapes of the arrays, and the seed."""
        return (
            f"logits [{self.images}, {self.classes}] and features [{self.images}, {self.width}], "
            f"fitted to {self.train} images, with seed {self.seed}"
        )

    def head(self) -> Head:
        """Return the last layer of the model: random weights."""
        weight = np.random.default_rng(1).normal(size=(self.classes, self.width))
        bias = np.random.default_rng(2).normal(size=self.classes)
        return Head(weight.astype(np.float32), bias.astype(np.float32))

    def outputs(
        self, needs: Sequence[str] = (), *, train: bool = False, known: bool = True
    ) -> Outputs:
        """Return the model's outputs for images to score, or for images of the fit.

        The features of a known image are the weights of its class plus noise; the features of an
        unknown image are only noise.  Classes occur in turn, and most images are correct.
        """
        generator = np.random.default_rng([self.seed, train, known])
        head = self.head()
        count = self.train if train else self.images
        labels = np.arange(count) % self.classes if known else np.full(count, -1)
        features = generator.normal(size=(count, self.width)).astype(np.float32)
        if known:
            features += head.weight[labels]
        logits = features @ head.weight.T + head.bias
        more = {}
        if "members" in needs:
            noisy = logits + generator.normal(size=(3, *logits.shape))
            powers = np.exp(noisy - noisy.max(axis=2, keepdims=True))
            more["members"] = powers / powers.sum(axis=2, keepdims=True)
        if "native" in needs:
            more["native"] = generator.normal(size=count) + 3 * known
        return Outputs(logits, features, labels, **more)
