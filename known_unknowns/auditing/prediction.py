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
from known_unknowns.auditing.sentences import render
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
                return {
                    metric: (title, *estimate) for metric, estimate in self.estimates[name].items()
                }
        return {
            metric: ("the Gscore's line", *estimate) for metric, estimate in self.values.items()
        }

    @property
    def not_for(self) -> str:
        """When not to use the answer, in a sentence; what the line's limits are, `limits` says."""
        answers = (name for name in ESTIMATED_BY if name in self.estimates)
        return next((render(f"not_for_{name}")[0] for name in answers), "")


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
                metric: tuple(estimate)
                for metric, estimate in estimator.estimate(production, level=LEVEL).items()
            }
            for name, estimator in fitted.items()
        }
    if len(unknown) < 3:
        alone, validated = (
            float(gscores(part, ["kmeans_l2"], taus=[0.5])["kmeans_l2"][0])
            for part in (mixture, known)
        )
        limits = render("without_line", sets=len(unknown), alone=alone, validated=validated)
        return Prediction(
            len(production), len(unknown), alone, share, estimates=estimates, limits=tuple(limits)
        )
    generator = np.random.default_rng(seed)
    learnt, truths = [], {metric: [] for metric in PREDICTED}
    for ood in unknown.values():
        counts = [
            int(generator.integers(min(FEW, len(group)), len(group), endpoint=True))
            for group in (known, ood)
        ]
        pair = [
            generator.choice(group, count, replace=False)
            for group, count in zip((known, ood), counts, strict=True)
        ]
        learnt.append(gscores(np.concatenate(pair), [EVALUATOR], validation=validation)[EVALUATOR])
        for metric, truth in true_metrics(*pair).items():
            if metric in truths:
                truths[metric].append(truth)
    curve = gscores(mixture, [EVALUATOR], validation=validation)[EVALUATOR]
    values, lines, correlations, guesses, beyond = {}, {}, {}, [], False
    sure = len(unknown) >= 9 and len(production) >= FEWEST  # enough for an interval
    for metric in PREDICTED:
        line, truth = fit_regression(learnt, truths[metric], TAUS), np.asarray(truths[metric])
        gscore = curve[[int(np.argmin(np.abs(line.tau - TAUS)))]]
        value, ends = float(np.clip(line.predict(gscore)[0], 0, 1)), (np.nan, np.nan)
        if sure:
            ends = tuple(float(end[0]) for end in line.interval(gscore, LEVEL))
        values[metric], lines[metric] = (value, *ends), (line, float(gscore[0]))
        beyond |= not line.gscores.min() <= gscore[0] <= line.gscores.max()
        varied = np.ptp(truth) > 0
        correlations[metric] = float(pearson(line.gscores, truth)) if varied else np.nan
        if varied and _left_out_skill(line, truth) != "better than guessing":
            guesses.append(metric.upper())
    limits = render(
        "about_line", sets=len(unknown), generated=generated, beyond=beyond, sure=sure,
        guesses=guesses, correlations=correlations, images=len(production), fewest=FEWEST,
    )  # fmt: skip
    return Prediction(
        len(production), len(unknown), lines["auroc"][1], share, values, estimates,
        {metric: line for metric, (line, _) in lines.items()}, correlations, tuple(limits),
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
    """Return how many unlabelled images are unknown, which, and how often the model is right."""
    suspected = suspected_unknown(known, production, rate=RATE)
    order = np.argsort(production, kind="stable")
    accuracy, against, accepted = {}, (), {}
    least, share = share_bound(known, production), estimate_share(known, production)
    if len(production) >= FEWEST:
        pair = Answers(probabilities), correct, Answers(theirs)
        accuracy, against = estimate_accuracy(*pair, level=LEVEL), assumptions(*pair)
        threshold = np.quantile(chosen, 1 - KEPT)
        keep = known >= threshold, production >= threshold
        if keep[0].any() and keep[1].sum() >= FEWEST:
            shares = {"share": max(least, share), "least": least}
            accepted = accuracy_of_accepted(*pair, keep, **shares, level=LEVEL)
    accuracy, accepted = (
        {
            name: (estimate.value, estimate.low, estimate.high)
            for name, estimate in estimates.items()
        }
        for estimates in (accuracy, accepted)
    )
    listed = tuple(int(place) for place in order if suspected.chosen[place])
    return Unlabelled(least, share, listed, suspected.fewest, accuracy, against, accepted)


def predict_by_score(
    inputs: Inputs,
    score: Score,
    chosen: np.ndarray,
    samples: Mapping[str, np.ndarray],
    production: np.ndarray,
    seed: int,
) -> Prediction:
    """Predict from the scores of unlabelled images, or say why that cannot be done."""
    families = {name: score.score_samples(part) for name, part in inputs.families.items()}
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
