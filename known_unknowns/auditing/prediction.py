"""What images say that nobody has labelled: how many are unknown, which, and how well told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from helpers.labelfree import (
    TAUS,
    Regression,
    SortedScores,
    describe_skill,
    fit_regression,
    gscores,
    skill_of_errors,
    true_metrics,
)
from helpers.metrics.correlation import pearson
from known_unknowns.without_labels import (
    ESTIMATORS,
    Answers,
    MetaSets,
    accuracy_of_accepted,
    assumptions,
    estimate_accuracy,
    estimate_share,
    share_bound,
    suspected_unknown,
)
from known_unknowns.without_labels.estimates import FEWEST

if TYPE_CHECKING:
    from helpers.scores import Score
    from known_unknowns.auditing.inputs import Inputs

EVALUATOR = "ude_wasserstein"
PREDICTED = ("auroc", "fpr95")
"""The metrics of `helpers.labelfree.METRICS` that are predicted."""
LEVEL = 0.9  # of the intervals
RATE = 0.1
"""Share of known images among those that are listed as unknown, on average at the most."""
FEW = 20  # images, at least, of each kind in a mixture that the line learns from
ESTIMATED_BY = {
    "curve_regression": "a regression on the P–P curve",
    "prior_corrected": "the prior-corrected ROC at an estimated share",
}
"""Estimators that answer, the first that can, and how the report calls them."""
NOT_FOR = {
    "curve_regression": "Do not use this where unknown images are of a kind that none of the sets "
    "is like, nor where known images have changed: the intervals cover neither.",
    "prior_corrected": "Do not use the value without its interval where unknown images are among "
    "the surest, of which it sees too few; known images that have changed count as unknown.",
}
"""When not to use what each of these answers."""
KEPT = 0.95  # of the known images, by the threshold that accuracy is estimated above


@dataclass(frozen=True)
class Prediction:
    """What the scores of unlabelled images say about the detection of unknown ones among them.

    Attributes
    ----------
    images, sets : int
        Unlabelled images, and mixtures that the line learnt from.
    gscore : float
        Of the unlabelled images; without a line, by 2-means.
    unknown : float
        At least this share of the unlabelled images is of no known class
        (`helpers.labelfree.share_bound`); NaN where they cannot be judged.
    values : dict of str to (float, float, float)
        By metric: predicted value, and the ends of its 90 % interval (NaN with fewer than nine
        sets or 50 images); empty without a line.
    estimates : dict of str to dict
        By estimator of `ESTIMATED_BY`, and by metric: value and interval; empty for fewer than 50
        images.  The regression on the curve takes nine sets for an interval.
    regressions : dict of str to Regression
        By metric.
    correlations : dict of str to float
        By metric: Pearson's, of Gscores and metric over the sets.
    limits : tuple of str
        What to bear in mind, in sentences.
    """

    images: int
    sets: int
    gscore: float
    unknown: float = np.nan
    values: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    estimates: dict[str, dict[str, tuple[float, float, float]]] = field(default_factory=dict)
    regressions: dict[str, Regression] = field(default_factory=dict)
    correlations: dict[str, float] = field(default_factory=dict)
    limits: tuple[str, ...] = ()

    @property
    def told(self) -> dict[str, tuple[str, float, float, float]]:
        """By metric: who answers, in words, and the answer; the Gscore's line if nobody else."""
        for name, title in ESTIMATED_BY.items():
            if name in self.estimates:
                return {metric: (title, *one) for metric, one in self.estimates[name].items()}
        return {metric: ("the Gscore's line", *one) for metric, one in self.values.items()}

    @property
    def not_for(self) -> str:
        """When not to use the answer, in a sentence; what the line's limits are, `limits` says."""
        return next((NOT_FOR[name] for name in ESTIMATED_BY if name in self.estimates), "")


def predict(
    validation: np.ndarray,
    known: np.ndarray,
    unknown: Mapping[str, np.ndarray],
    production: np.ndarray,
    *,
    generated: int = 0,
    seed: int = 0,
) -> Prediction:
    """Predict AUROC and FPR95 of one score on unlabelled images.

    Each set of unknown images is mixed with ID images, as many of either as chance says, since the
    mixture of the unlabelled images is not known; a line from the Gscores of these mixtures to
    the metric then says what the Gscore of the unlabelled ones means (see `helpers.labelfree`).

    Parameters
    ----------
    validation : ndarray, shape [V]
        Scores of ID images that one-sided density estimation learns from.
    known : ndarray, shape [N]
        Of other ID images, which are mixed with the sets.
    unknown : mapping of str to ndarray
        Of sets of unknown images; with fewer than three there is no line.
    production : ndarray, shape [M]
        Of the unlabelled images.
    generated : int
        How many of the sets are generated.
    seed : int
        Of the mixtures.

    Raises
    ------
    ValueError
        Fewer than two unlabelled images, or scores that are all the same.
    """
    mixture = SortedScores.of(production)
    share, estimates = share_bound(known, production), {}
    if len(production) >= FEWEST:
        fitted = {"prior_corrected": ESTIMATORS["prior_corrected"](known)}
        if len(unknown) >= 9:
            meta = MetaSets(known, unknown)
            fitted["curve_regression"] = ESTIMATORS["curve_regression"](validation, meta)
        estimates = {
            name: {
                metric: tuple(one)
                for metric, one in estimator.estimate(production, level=LEVEL).items()
            }
            for name, estimator in fitted.items()
        }
    if len(unknown) < 3:
        alone, own = (
            float(gscores(one, ["kmeans_l2"], taus=[0.5])["kmeans_l2"][0])
            for one in (mixture, known)
        )
        return Prediction(
            len(production), len(unknown), alone, share, estimates=estimates,
            limits=(
                "No prediction by a Gscore: a line takes at least three sets of unknown images, "
                f"and there are {len(unknown)}. The Gscore itself (2-means, ℓ2) is {alone:.3g}, "
                f"and that of validation images {own:.3g}: a number without a scale of its own.",
            ),
        )  # fmt: skip
    generator = np.random.default_rng(seed)
    learnt, truths = [], {metric: [] for metric in PREDICTED}
    for theirs in unknown.values():
        counts = [
            int(generator.integers(min(FEW, len(group)), len(group), endpoint=True))
            for group in (known, theirs)
        ]
        pair = [
            generator.choice(group, count, replace=False)
            for group, count in zip((known, theirs), counts, strict=True)
        ]
        learnt.append(gscores(np.concatenate(pair), [EVALUATOR], validation=validation)[EVALUATOR])
        told = true_metrics(*pair)
        for metric in PREDICTED:
            truths[metric].append(told[metric])
    own = gscores(mixture, [EVALUATOR], validation=validation)[EVALUATOR]
    values, lines, correlations, guesses = {}, {}, {}, []
    sure = len(unknown) >= 9 and len(production) >= FEWEST  # enough for an interval
    for metric in PREDICTED:
        line = fit_regression(learnt, truths[metric], TAUS)
        there = own[[int(np.argmin(np.abs(line.tau - TAUS)))]]
        value = float(np.clip(line.predict(there)[0], 0, 1))
        ends = (np.nan, np.nan)
        if sure:
            ends = tuple(float(end[0]) for end in line.interval(there, LEVEL))
        values[metric], lines[metric] = (value, *ends), line
        varied = np.ptp(truths[metric]) > 0
        correlations[metric] = (
            float(pearson(line.gscores, np.asarray(truths[metric]))) if varied else np.nan
        )
        if varied and _left_out_skill(line, np.asarray(truths[metric])) != "better than guessing":
            guesses.append(metric.upper())
    gscore = {
        metric: float(own[int(np.argmin(np.abs(line.tau - TAUS)))])
        for metric, line in lines.items()
    }
    limits = [
        f"The line learnt from {len(unknown)} sets, {generated} of them generated; it holds as far "
        "as what is unknown in production is like these."
    ]
    if any(not o.gscores.min() <= gscore[name] <= o.gscores.max() for name, o in lines.items()):
        limits.append(
            "The Gscore of the unlabelled images lies outside those of the sets: the line is "
            "continued beyond what it has seen"
            + (", and its interval is too narrow." if sure else ".")
        )
    if guesses:
        limits.append(
            f"Left out in turn, the sets are foretold by the line no better than by guessing their "
            f"mean: {' and '.join(guesses)}."
        )
    for metric, r in correlations.items():
        if np.isnan(r):
            limits.append(
                f"The {metric.upper()} is the same on all sets: the line cannot say anything else."
            )
        elif abs(r) < 0.7:
            limits.append(
                f"Over the sets, Gscore and {metric.upper()} correlate with r = {r:.2f} only: "
                "take the prediction for a guess."
            )
    if len(unknown) < 9:
        limits.append("An interval of 90 % takes at least nine sets, so there is none.")
    if len(production) < FEWEST:
        limits.append(
            f"{len(production)} images say too little for an interval, which takes {FEWEST}."
        )
    return Prediction(
        len(production), len(unknown), gscore["auroc"], share, values, estimates, lines,
        correlations, tuple(limits),
    )  # fmt: skip


def _left_out_skill(line: Regression, truths: np.ndarray) -> str:
    """Return in words what skill the line has for sets that it was not learnt from."""
    sets, centred = len(truths), line.gscores - line.gscores.mean()
    leverages = 1 / sets + centred**2 / (centred @ centred)
    missed = line.residuals / np.maximum(1 - leverages, 1e-9)
    guessed = (truths - truths.mean()) * sets / (sets - 1)
    return describe_skill(skill_of_errors(missed**2, guessed**2))


@dataclass(frozen=True)
class Unlabelled:
    """What unlabelled images say by the library's estimators.

    Attributes
    ----------
    least : float
        At least this share of them is unlike the validation images; false for at most 5 % of all
        draws (`helpers.labelfree.share_bound`).
    share : float
        The estimate of that share (`helpers.labelfree.estimate_share`).
    listed : tuple of int
        Places of those that are suspected to be unknown, the least likely known first; at most a
        tenth of them is expected to be known (`helpers.labelfree.suspected_unknown`).
    fewest : int
        With fewer unknown images than that none can be listed.
    accuracy : dict of str to (float, float, float)
        By estimator: the accuracy on them with its 90 % interval
        (`helpers.labelfree.estimate_accuracy`); empty for too few images.
    against : tuple of str
        What speaks against these estimates (`helpers.labelfree.assumptions`).
    accepted : dict of str to (float, float, float)
        The accuracy on those that score at least as high as 95 % of known images do, times the
        estimated share of known ones among them (`helpers.labelfree.accuracy_of_accepted`); empty
        for too few images.
    """

    least: float
    share: float
    listed: tuple[int, ...]
    fewest: int
    accuracy: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    against: tuple[str, ...] = ()
    accepted: dict[str, tuple[float, float, float]] = field(default_factory=dict)


def look_at_unlabelled(
    known: np.ndarray,
    production: np.ndarray,
    probabilities: np.ndarray,
    theirs: np.ndarray,
    correct: np.ndarray,
    chosen: np.ndarray,
) -> Unlabelled:
    """Return how many unlabelled images are unknown, which, and how often the model is right.

    Parameters
    ----------
    known, production : ndarray, shape [N] and [M]
        Scores of ID images that have chosen nothing, and of the unlabelled ones.
    probabilities, theirs : ndarray, shape [N, K] and [M, K]
        Calibrated, of the same images.
    correct : ndarray of bool, shape [N]
    chosen : ndarray, shape [C]
        Scores of other ID images, from which the threshold is that accuracy is estimated above.
    """
    found = suspected_unknown(known, production, rate=RATE)
    order = np.argsort(production, kind="stable")
    accuracy, against, accepted = {}, (), {}
    least, share = share_bound(known, production), estimate_share(known, production)
    if len(production) >= FEWEST:
        pair = Answers(probabilities), correct, Answers(theirs)
        estimates = estimate_accuracy(*pair, level=LEVEL)
        accuracy = {name: (one.value, one.low, one.high) for name, one in estimates.items()}
        against = assumptions(*pair)
        threshold = np.quantile(chosen, 1 - KEPT)
        keep = known >= threshold, production >= threshold
        if keep[0].any() and keep[1].sum() >= FEWEST:
            shares = {"share": max(least, share), "least": least}
            told = accuracy_of_accepted(*pair, keep, **shares, level=LEVEL)
            accepted = {name: (one.value, one.low, one.high) for name, one in told.items()}
    return Unlabelled(
        least,
        share,
        tuple(int(place) for place in order if found.chosen[place]),
        found.fewest,
        accuracy,
        against,
        accepted,
    )


def predict_by_score(
    inputs: Inputs,
    score: Score,
    chosen: np.ndarray,
    samples: Mapping[str, np.ndarray],
    production: np.ndarray,
    seed: int,
) -> Prediction:
    """Predict from the scores of unlabelled images, or say why that cannot be done."""
    families = {name: score.score_samples(one) for name, one in inputs.families.items()}
    try:
        return predict(
            chosen,
            samples["validation"],
            {name: samples[name] for name in inputs.ood} | families,
            production,
            generated=len(families),
            seed=seed,
        )
    except ValueError as error:  # one image, or scores that are all the same
        problem = f"No prediction can be made from the unlabelled images: {error}."
        return Prediction(len(production), 0, np.nan, limits=(problem,))
