"""What unlabelled images say: share of unknown ones, how well they are detected, drift."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import kolmogorov

from helpers import labelfree
from helpers.labelfree import TAUS, Regression, gscores
from helpers.metrics.correlation import pearson
from helpers.scores import Score
from known_unknowns import without_labels
from known_unknowns.auditing.inputs import Inputs
from known_unknowns.auditing.sentences import render
from known_unknowns.without_labels.estimates import FEWEST

Interval = tuple[float, float, float]
"""A value and the ends of its interval."""
EVALUATOR = "ude_wasserstein"
PREDICTED = ("auroc", "fpr95")
"""Metrics of `helpers.labelfree.METRICS` that are predicted."""
LEVEL = 0.9  # of the intervals
RATE = 0.1
"""Largest expected share of known images among those listed as unknown."""
FEW = 20  # smallest number of images of each kind in a mixture
SETS = 9  # smallest number of sets for an interval
ESTIMATED_BY = {
    "curve_regression": "a regression on the P–P curve",
    "prior_corrected": "the prior-corrected ROC at an estimated share",
}
"""Estimators by priority, and their names in the report."""
KEPT = 0.95  # of the known images, by the threshold above which accuracy is estimated
DIRECTIONS = 16
"""Largest number of directions in which drift is tested."""
_MORE = 8  # extra directions of the sketch, for precision
DRIFT_LEVEL = 0.05
"""Probability that a drift is named where there is none."""


@dataclass(frozen=True)
class Prediction:
    """Detection of unknown images among unlabelled ones, predicted from scores.

    Attributes
    ----------
    gscore : float
        Gscore of the unlabelled images; without a line, by 2-means.
    unknown : float
        Lower bound of the share of unknown images; NaN where there is none.
    values, estimates : dict
        Predictions of the line by metric, and of `ESTIMATED_BY` by estimator and metric, with 90 %
        intervals; NaN with fewer than nine sets or 50 images.
    regressions, correlations : dict
        Line, and Pearson's correlation over the sets, by metric.
    limits : tuple of str
        Limits of the line, in sentences.
    """

    images: int
    sets: int
    gscore: float
    unknown: float = np.nan
    values: dict[str, Interval] = field(default_factory=dict)
    estimates: dict[str, dict[str, Interval]] = field(default_factory=dict)
    regressions: dict[str, Regression] = field(default_factory=dict)
    correlations: dict[str, float] = field(default_factory=dict)
    limits: tuple[str, ...] = ()

    @property
    def _by(self) -> str:
        return next((name for name in ESTIMATED_BY if name in self.estimates), "")

    @property
    def told(self) -> dict[str, tuple[str, float, float, float]]:
        """Name of the estimator in words and its prediction, by metric; else the line's."""
        title = ESTIMATED_BY.get(self._by, "the Gscore's line")
        values = self.estimates.get(self._by, self.values)
        return {metric: (title, *value) for metric, value in values.items()}

    @property
    def not_for(self) -> str:
        """When not to use the prediction, in a sentence."""
        return render(f"not_for_{self._by}")[0] if self._by else ""


def predict(
    validation: np.ndarray,
    known: np.ndarray,
    unknown: Mapping[str, np.ndarray],
    production: np.ndarray,
    *,
    generated: int = 0,
    seed: int = 0,
) -> Prediction:
    """Return the predicted AUROC and FPR95 of one score on unlabelled images, `production`.

    Each set of unknown images is mixed with `known` images at a random ratio, and a line is fitted
    from the Gscores of these mixtures to the metric (see `helpers.labelfree`); `validation` holds
    other ID scores for density estimation.  With fewer than three sets there is no line.
    """
    mixture, sets = labelfree.SortedScores.of(production), len(unknown)
    bare = Prediction(
        len(production), sets, np.nan, without_labels.share_bound(known, production),
        estimates=_estimates(validation, known, unknown, production),
    )  # fmt: skip
    if sets < 3:
        alone, validated = (
            float(gscores(part, ["kmeans_l2"], taus=[0.5])["kmeans_l2"][0])
            for part in (mixture, known)
        )
        limits = render("without_line", sets=sets, alone=alone, validated=validated)
        return replace(bare, gscore=alone, limits=tuple(limits))
    pairs = _mixtures(known, unknown, seed)
    curves = [
        gscores(part, [EVALUATOR], validation=validation)[EVALUATOR]
        for part in (*map(np.concatenate, pairs), mixture)
    ]
    truths = [labelfree.true_metrics(*pair) for pair in pairs]
    values, lines, positions, correlations, guesses = {}, {}, {}, {}, []
    sure = sets >= SETS and len(production) >= FEWEST  # enough for an interval
    for metric in PREDICTED:
        truth = np.array([row[metric] for row in truths])
        line = lines[metric] = labelfree.fit_regression(curves[:-1], truth, TAUS)
        gscore = curves[-1][[int(np.argmin(np.abs(line.tau - TAUS)))]]
        value, ends = float(np.clip(line.predict(gscore)[0], 0, 1)), (np.nan, np.nan)
        if sure:
            ends = tuple(float(end[0]) for end in line.interval(gscore, LEVEL))
        values[metric], positions[metric] = (value, *ends), float(gscore[0])
        varied = np.ptp(truth) > 0
        correlations[metric] = float(pearson(line.gscores, truth)) if varied else np.nan
        if varied and _left_out_skill(line, truth) != "better than guessing":
            guesses.append(metric.upper())
    beyond = any(
        not line.gscores.min() <= positions[metric] <= line.gscores.max()
        for metric, line in lines.items()
    )
    limits = render(
        "about_line", sets=sets, generated=generated, beyond=beyond, sure=sure,
        guesses=guesses, correlations=correlations, images=len(production), fewest=FEWEST,
    )  # fmt: skip
    return replace(
        bare, gscore=positions["auroc"], values=values, regressions=lines,
        correlations=correlations, limits=tuple(limits),
    )  # fmt: skip


def _estimates(validation, known, unknown: Mapping, production) -> dict[str, dict[str, Interval]]:
    """Return the predictions of `ESTIMATED_BY` with intervals; the regression needs nine sets."""
    estimators, fitted = without_labels.ESTIMATORS, {}
    if len(production) >= FEWEST:
        fitted["prior_corrected"] = estimators["prior_corrected"](known)
        if len(unknown) >= SETS:
            sets = without_labels.MetaSets(known, unknown)
            fitted["curve_regression"] = estimators["curve_regression"](validation, sets)
    return {
        name: {
            metric: tuple(estimate)
            for metric, estimate in estimator.estimate(production, level=LEVEL).items()
        }
        for name, estimator in fitted.items()
    }


def _mixtures(known, unknown: Mapping, seed: int) -> list[list[np.ndarray]]:
    """Return ID and OOD scores for each set, both drawn in a random number."""
    generator, pairs = np.random.default_rng(seed), []
    for ood in unknown.values():
        counts = [
            int(generator.integers(min(FEW, len(group)), len(group), endpoint=True))
            for group in (known, ood)
        ]
        pairs.append([generator.choice(known, counts[0], replace=False)])
        pairs[-1].append(generator.choice(ood, counts[1], replace=False))
    return pairs


def _left_out_skill(line: Regression, truths: np.ndarray) -> str:
    """Return in words the skill of the line for sets that are left out of it in turn."""
    sets, centred = len(truths), line.gscores - line.gscores.mean()
    leverages = 1 / sets + centred**2 / (centred @ centred)
    missed = line.residuals / np.maximum(1 - leverages, 1e-9)
    guessed = (truths - truths.mean()) * sets / (sets - 1)
    return labelfree.describe_skill(labelfree.skill_of_errors(missed**2, guessed**2))


def predict_by_score(
    inputs: Inputs,
    score: Score,
    chosen: np.ndarray,
    samples: Mapping[str, np.ndarray],
    production: np.ndarray,
    seed: int,
) -> Prediction:
    """Return the prediction from the scores of unlabelled images, or why there is none."""
    families = {name: score.score_samples(part) for name, part in inputs.families.items()}
    unknown = {name: samples[name] for name in inputs.ood} | families
    known, generated = samples["validation"], len(families)
    try:
        return predict(chosen, known, unknown, production, generated=generated, seed=seed)
    except ValueError as error:  # one image, or a constant score
        problem = f"No prediction can be made from the unlabelled images: {error}."
        return Prediction(len(production), 0, np.nan, limits=(problem,))


def look_at_unlabelled(
    known: np.ndarray,
    production: np.ndarray,
    probabilities: np.ndarray,
    production_probabilities: np.ndarray,
    correct: np.ndarray,
    chosen: np.ndarray,
) -> dict:
    """Return estimates for unlabelled images by `known_unknowns.without_labels`.

    `least` and `share` are a 95 % lower bound and an estimate of the share of unknown images;
    `listed` holds the indices of suspected ones, of which a tenth is expected to be known, and
    `fewest` the smallest number for a list.  `accuracy` and `accepted` are accuracies with 90 %
    intervals on all images and on those with a high score, by estimator; `against` is the evidence
    against them.
    """
    suspected = without_labels.suspected_unknown(known, production, rate=RATE)
    least = without_labels.share_bound(known, production)
    share = without_labels.estimate_share(known, production)
    accuracy, against, accepted = {}, (), {}
    if len(production) >= FEWEST:
        parts = probabilities, production_probabilities
        here, there = map(without_labels.Answers, parts)
        accuracy = without_labels.estimate_accuracy(here, correct, there, level=LEVEL)
        against = without_labels.assumptions(here, correct, there)
        threshold = np.quantile(chosen, 1 - KEPT)
        keep = known >= threshold, production >= threshold
        if keep[0].any() and keep[1].sum() >= FEWEST:
            accepted = without_labels.accuracy_of_accepted(
                here, correct, there, keep, share=max(least, share), least=least, level=LEVEL
            )
    accuracy, accepted = (
        {name: (part.value, part.low, part.high) for name, part in estimates.items()}
        for estimates in (accuracy, accepted)
    )
    order = np.argsort(production, kind="stable")
    return {
        "least": least,
        "share": share,
        "listed": [int(place) for place in order if suspected.chosen[place]],
        "fewest": suspected.fewest,
        "accuracy": accuracy,
        "against": against,
        "accepted": accepted,
    }


def find_drift(scores, other_scores, values, other_values) -> dict:
    """Return tests of whether two groups of images have the same scores and features.

    For ``score`` and ``features``: the largest difference between the distribution functions, over
    all ``directions``, and the corrected p-value; ``found`` lists what differs.
    Kolmogorov–Smirnov tests of the score and of each direction (Rabanser, Günnemann and Lipton
    2019) with Bonferroni's correction: one half for the score, the other for all directions.
    P-values are asymptotic: too large for few images and for ties.
    """
    size = len(scores) * len(other_scores) / (len(scores) + len(other_scores))
    columns = list(zip(np.asarray(values).T, np.asarray(other_values).T, strict=True))
    drift = {"directions": len(columns)}
    for name, pairs in (("score", [(scores, other_scores)]), ("features", columns)):
        difference = max(distance(*pair) for pair in pairs)
        p_value = min(1, 2 * len(pairs) * kolmogorov(np.sqrt(size) * difference))
        drift[name] = difference, float(p_value)
    names = ("score", "features")
    return drift | {"found": tuple(name for name in names if drift[name][1] <= DRIFT_LEVEL)}


def distance(first, second) -> float:
    """Return the largest difference between two empirical distribution functions.

    >>> distance([1, 2, 3, 4], [3, 4, 5, 6])
    0.5
    """
    first, second = np.sort(first), np.sort(second)
    both = np.concatenate([first, second])
    below = [np.searchsorted(group, both, side="right") / len(group) for group in (first, second)]
    return float(np.abs(below[0] - below[1]).max())


def principal_directions(values, *, seed: int = 0) -> np.ndarray:
    """Return the directions of the largest variance, the largest first, shape [D, at most 16].

    A random sketch with one power iteration (Halko, Martinsson and Tropp 2011).

    >>> values = np.random.default_rng(0).normal(size=(100, 3)) * [1, 5, 2]
    >>> np.abs(principal_directions(values)).argmax(axis=0)
    array([1, 2, 0])
    """
    values = np.asarray(values, np.float32)
    values = values - values.mean(axis=0)
    width = min(DIRECTIONS + _MORE, *values.shape)
    drawn = np.random.default_rng(seed).standard_normal((values.shape[1], width), dtype=np.float32)
    for _ in range(2):
        basis = np.linalg.qr(values @ drawn)[0]
        drawn = values.T @ basis
    directions = np.linalg.svd(drawn, full_matrices=False)[0]
    return directions[:, : min(DIRECTIONS, *values.shape)]
