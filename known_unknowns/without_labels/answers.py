"""Share of unknown images, lists and accuracy of mixtures, compared with labels.

Each set is mixed once with other known images, in a share that is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from helpers.papers.gscore.mixtures import DetectorScores, choose_images
from helpers.report import results
from known_unknowns import without_labels
from known_unknowns.without_labels.estimates import FEWEST
from known_unknowns.without_labels.protocols import MIXED
from known_unknowns.without_labels.skills import DRAWN

if TYPE_CHECKING:
    from helpers.outputs import Outputs
    from helpers.papers.gscore.parameters import Parameters

RATE = 0.1
"""Largest expected share of known images on a list."""
KEPT = 0.95
"""Share of the known images that the rejector accepts."""
LISTS = {"suspected": "Benjamini–Hochberg", "suspected_adaptive": "Storey"}
BOUNDS = {
    "share_bound": "exact at six ranks",
    "label_shift_share_bound": "under label shift, twice as frequent",
}


@dataclass(frozen=True)
class Classified:
    """Probabilities and labels of images, without features and logits."""

    probabilities: np.ndarray
    labels: np.ndarray
    correct: np.ndarray

    @classmethod
    def of(cls, outputs: Outputs) -> Classified:
        """Return the probabilities and labels of outputs."""
        return cls(outputs.probabilities, outputs.labels, outputs.correct)


def rows_of_answers(
    name: str, detector: DetectorScores, answers: Mapping[str, Classified], parameters: Parameters
) -> Iterator[dict]:
    """Yield rows that compare estimates on the mixtures with labels; the variant is `DRAWN`.

    On ``all`` sets, means over them:

    * DETECTOR/BOUND of `BOUNDS`: ``coverage_share``, how often it is at most the true share, and
      ``part_share``, the bounds' sum over that of the true shares.  DETECTOR/estimate_share:
      ``rmse_share``.
    * DETECTOR/LIST of `LISTS`: ``known_listed`` and ``power``, see `selection_outcome`; and so for
      each set.
    * ``accuracy/ESTIMATOR`` of all images, ``accepted/ESTIMATOR`` of those that a rejector accepts:
      ``rmse_``, ``bias_``, ``coverage_`` and ``width_accuracy``.

    Mixtures of fewer than 50 images are left out, and numbers that need more images than there are.
    """
    places = choose_images(detector, parameters, MIXED)["test"]
    threshold = np.quantile(detector.known["meta"], 1 - KEPT)
    told, images = {}, 0
    for one, (ours, theirs) in places.items():
        if len(ours) + len(theirs) < FEWEST:
            continue
        scores = np.concatenate([detector.known["test"][ours], detector.sets[one][theirs]])
        mixture = _Mixture(
            scores,
            np.concatenate(
                [answers["test"].probabilities[ours], answers[one].probabilities[theirs]]
            ),
            np.concatenate([answers["test"].correct[ours], np.zeros(len(theirs), bool)]),
            np.arange(len(scores)) >= len(ours),
        )
        images += len(scores)
        said = _ask(name, detector.validation, answers["validation"], mixture, threshold,
                    parameters)  # fmt: skip
        for key, value in said.items():
            told.setdefault(key, []).append(value)
        for method in LISTS:
            for metric in ("known_listed", "power"):
                value = said[f"{name}/{method}", metric]
                yield results.row(one, metric, value, len(scores), method=f"{name}/{method}",
                                  variant=DRAWN)  # fmt: skip
    for (method, metric), values in told.items():
        mean = np.mean(values, axis=0)
        if metric == "part_share":
            mean = mean[0] / mean[1]
        elif metric.startswith("rmse"):
            mean = np.sqrt(mean)
        yield results.row("all", metric, mean, images, method=method, variant=DRAWN)


@dataclass(frozen=True)
class _Mixture:
    scores: np.ndarray
    probabilities: np.ndarray
    right: np.ndarray
    unknown: np.ndarray


def _ask(
    name: str,
    held: np.ndarray,
    validation: Classified,
    mixture: _Mixture,
    threshold: float,
    parameters: Parameters,
) -> dict[tuple[str, str], float | tuple[float, float]]:
    """Return the numbers of one mixture by method and metric; errors are squared."""
    level, share, found = parameters.level, mixture.unknown.mean(), {}
    by_class = {"times": 2.0}
    for bound in BOUNDS:
        extra = (validation.labels,) if bound.startswith("label") else ()
        options = by_class if extra else {}
        least = getattr(without_labels, bound)(held, *extra, mixture.scores, level=level, **options)
        found[f"{name}/{bound}", "coverage_share"] = float(least <= share)
        found[f"{name}/{bound}", "part_share"] = (least, share)
    estimate = without_labels.estimate_share(held, mixture.scores)
    found[f"{name}/estimate_share", "rmse_share"] = (estimate - share) ** 2
    for method in LISTS:
        listed = without_labels.suspected_unknown(
            held, mixture.scores, rate=RATE, adaptive=method == "suspected_adaptive"
        )
        outcome = without_labels.selection_outcome(listed.chosen, mixture.unknown)
        for metric, value in zip(("known_listed", "power"), outcome, strict=True):
            found[f"{name}/{method}", metric] = value

    def keep(method, one, truth):
        numbers = {
            "rmse": (one.value - truth) ** 2, "bias": one.value - truth,
            "coverage": float(one.low <= truth <= one.high), "width": one.high - one.low,
        }  # fmt: skip
        for what, value in numbers.items():
            found[method, f"{what}_accuracy"] = value

    ours, theirs = (without_labels.Answers(one.probabilities) for one in (validation, mixture))
    pair = ours, validation.correct, theirs
    for method, one in without_labels.estimate_accuracy(*pair, level=level).items():
        keep(f"accuracy/{method}", one, mixture.right.mean())
    accepted = held >= threshold, mixture.scores >= threshold
    if accepted[0].any() and accepted[1].sum() >= FEWEST:
        least = without_labels.share_bound(held, mixture.scores, level=(1 + level) / 2)
        after = without_labels.accuracy_of_accepted(
            *pair, accepted, share=max(least, estimate), least=least, level=level
        )
        for method, one in after.items():
            keep(f"accepted/{method}", one, mixture.right[accepted[1]].mean())
    return found
