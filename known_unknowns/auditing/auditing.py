"""The audit of one model: from its outputs to what may be said of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from helpers import metrics
from helpers.checks import known_name, open_share, whole_number
from helpers.metrics.bootstrap import weighted_calibration_error
from helpers.outputs import Outputs
from helpers.scores.calibration import confidences, fit_temperature, softmax
from known_unknowns.auditing import doubts, gates, ranking
from known_unknowns.auditing.doubts import likely_label_errors
from known_unknowns.auditing.drift import find_drift, principal_directions
from known_unknowns.auditing.inputs import Inputs
from known_unknowns.auditing.prediction import look_at_unlabelled, predict_by_score
from known_unknowns.auditing.ranking import Wish
from known_unknowns.auditing.record import Audit
from known_unknowns.auditing.sentences import render
from known_unknowns.auditing.thresholds import (
    WISHES,
    by_answer,
    by_class,
    check_share,
    draw_mixture,
    promise_coverage,
    promise_risk,
    share,
)

FITTED = 10_000
"""Images that temperature, directions and calibration are taken from, at the most: many more would
not be seen in a number of the report, and in memory."""


def audit(
    inputs: Inputs,
    *,
    wish: str = "risk",
    fallback: bool = False,
    risk: float = 0.05,
    coverage: float = 0.9,
    confidence: float = 0.95,
    unknown_share: float = 0.0,
    replicates: int = 200,
    seed: int = 0,
    require: Sequence[str] = (),
    tell: Callable[[str], object] = lambda line: None,
) -> Audit:
    """Audit a model.

    Parameters
    ----------
    inputs : Inputs
    wish : {"risk", "coverage"}
        Which threshold the rejector is to have.
    fallback : bool
        If that one cannot be had, take the other, which promises something else; without, there
        is no rejector then.
    risk : float
        Share of wrong answers among accepted images, at most; in (0, 1).
    coverage : float
        Share of ID images accepted, at least; in (0, 1).
    confidence : float
        With which `risk` is promised, in (0, 1).
    unknown_share : float
        Up to which share of unknown images, like those of the OOD sets, the promise of a risk is
        to hold, in [0, 1); with 0 it is about ID images alone.
    replicates : int
        Of the bootstrap.
    seed : int
        Of the halves, the bootstrap and the mixtures.
    require : sequence of str
        What has to hold of the numbers found, as in ``accuracy>=0.9``; see
        `known_unknowns.auditing.gates`, and `Audit.requirements` for what became of them.
    tell : callable
        Function that receives what is done now, in a few words.

    Raises
    ------
    ValueError
        An unknown wish, a share outside (0, 1), no score that can be computed, a requirement of
        something that there is not.
    """
    for part in require:
        gates.read_requirement(part, inputs.ood)
    known_name("wish", wish, WISHES)
    for name, value in (("risk", risk), ("coverage", coverage), ("confidence", confidence)):
        open_share(name, value)
    check_share(unknown_share, inputs.ood)
    whole_number("replicates", replicates)
    whole_number("seed", seed, least=0)
    inputs = inputs.one_of_each_group(seed)
    tell("looks for copies, and for labels that do not fit")
    speaks_against = doubts.find_doubts(inputs)
    generator = np.random.default_rng(seed)
    halves = {name: _halves(len(part), generator) for name, part in inputs.ood.items()}
    choosing, measuring = _halves(len(inputs.validation), generator)
    few, fit = choosing[: ranking.COMPARED], choosing[:FITTED]
    validation, correct = inputs.validation, inputs.validation.correct
    first, second = (
        {ranking.ID: ranking.Half(validation, part)}
        | {name: ranking.Half(part, halves[name][i][:end]) for name, part in inputs.ood.items()}
        for i, part, end in ((0, few, ranking.COMPARED), (1, measuring, None))
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RuntimeWarning)
        temperature = fit_temperature(validation.logits[fit], validation.labels[fit])
    tell("fits the scores")
    usable, left_out = ranking.fitted(inputs)
    tell(f"compares {len(usable)} scores")
    chosen = ranking.score_halves(usable, first)
    counts = [{name: len(part[name].places) for name in inputs.ood} for part in (first, second)]
    wished = Wish(wish, {"risk": risk, "coverage": coverage}[wish], unknown_share)
    groups = ranking.Groups(correct[few], counts[0], replicates, seed, wished)
    table, best = ranking.ranked(usable, chosen, groups)
    score = usable[best[0]]
    tell(f"measures the chosen one, {score.info.title}")
    samples = ranking.score_halves({best[0]: score}, second)[best[0]]
    groups = ranking.Groups(correct[measuring], counts[1], replicates, seed, wished)
    confirmed = pd.concat(
        [pd.DataFrame([groups.wished(samples)[0]]), groups.measured(samples)[0]], ignore_index=True
    )
    samples = {"validation": samples.pop(ranking.ID)} | samples
    along = _along(inputs, fit, seed)
    own_places = along(validation)
    prediction = unlabelled = drift = None
    if inputs.production is not None:
        samples["production"] = score.score_samples(inputs.production)
        arrays = chosen[best[0]][ranking.ID], samples, samples["production"]
        prediction = predict_by_score(inputs, score, *arrays, seed)
        unlabelled = look_at_unlabelled(
            samples["validation"],
            samples["production"],
            softmax(validation.logits[measuring], temperature),
            softmax(inputs.production.logits, temperature),
            correct[measuring],
            chosen[best[0]][ranking.ID],
        )
        drift = find_drift(
            samples["validation"], samples["production"],
            own_places[measuring], along(inputs.production),
        )  # fmt: skip
        speaks_against += doubts.doubt_share(unlabelled.least, unknown_share)
    unknown = {name: samples[name] for name in inputs.ood}
    scores, right = samples["validation"], correct[measuring]
    thresholds = {
        "risk": promise_risk(
            scores, right, unknown, risk, confidence, unknown=unknown_share, seed=seed
        ),
        "coverage": promise_coverage(scores, right, unknown, coverage, confidence),
    }
    tried = (wish, *WISHES) if fallback else (wish,)
    deployed = next((name for name in tried if not thresholds[name].problem), "")
    threshold = thresholds[deployed].value if deployed else np.inf
    promised = thresholds["risk"].wished if deployed == "risk" else 1.0
    names, strata = inputs.class_names, inputs.strata
    answers = validation.predictions[measuring], names
    kinds = None
    if strata is not None:
        kinds, numbers = np.unique(np.asarray(strata), return_inverse=True)
        kinds = numbers[measuring], tuple(map(str, kinds))
    sure, wrong = confidences(validation.logits, temperature), np.flatnonzero(~correct)
    calibration = _calibration(validation.subset(measuring[:FITTED]), temperature, replicates, seed)
    return Audit(
        inputs=inputs,
        doubts=speaks_against,
        choosing=choosing,
        measuring=measuring,
        accuracy=share(correct),
        temperature=temperature,
        calibration=calibration,
        ranking=table,
        best=tuple(best),
        score=score,
        confirmed=confirmed,
        left_out=left_out,
        samples=samples,
        thresholds=thresholds,
        deployed=deployed,
        promised_on=draw_mixture(scores, right, unknown, unknown_share, seed=seed),
        by_class=by_class(validation, names, measuring, scores >= threshold, promised),
        by_answer=by_answer(scores, right, *answers, risk, confidence),
        by_stratum=(0, ()) if kinds is None else by_answer(scores, right, *kinds, risk, confidence),
        suspected_labels=likely_label_errors(validation, temperature),
        prediction=prediction,
        unlabelled=unlabelled,
        drift=drift,
        claimed=confidences(validation.logits),
        sure=sure,
        wrong=wrong[np.argsort(-sure[wrong], kind="stable")],
        notes=(*(str(warning.message) for warning in caught), *_left_aside(inputs)),
        settings={
            "wish": wish, "fallback": fallback, "risk": risk, "coverage": coverage,
            "confidence": confidence, "unknown_share": unknown_share,
            "replicates": replicates, "seed": seed, "require": list(require),
        },
    )  # fmt: skip


def _left_aside(inputs: Inputs) -> list[str]:
    """Return what was looked at on some of the images alone, drawn by chance."""
    validation = len(inputs.validation)
    return render(
        "left_aside", compared=ranking.COMPARED, fitted=FITTED, copied=doubts.COPIES_AMONG,
        largest=max(map(len, (inputs.validation, *inputs.ood.values()))) // 2,
        half=validation // 2, learnt_from=max(validation, len(inputs.train or ())),
    )  # fmt: skip


def _halves(count: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Divide images by chance, in random order; of a single one, both halves are that."""
    order = generator.permutation(count)
    middle = count // 2
    return order[:middle] if middle else order, order[middle:]


def _along(inputs: Inputs, choosing: np.ndarray, seed: int) -> Callable[[Outputs], np.ndarray]:
    """Return what says where images lie along the directions in which the choosing half differs.

    Of the features; without any, of the logits.
    """
    kind = "features" if inputs.validation.features.shape[1] else "logits"
    axes = principal_directions(getattr(inputs.validation, kind)[choosing], seed=seed)
    return lambda outputs: getattr(outputs, kind) @ axes


def _calibration(part: Outputs, temperature: float, replicates: int, seed: int) -> pd.DataFrame:
    weights = metrics.resample_weights(len(part), replicates=replicates, seed=seed)
    rows = {}
    for when, value in (("before", 1.0), ("after", temperature)):
        probabilities = softmax(part.logits, value)
        sure = probabilities.max(axis=1)
        drawn = weighted_calibration_error(sure, part.correct, weights)
        low, high = np.quantile(drawn, [0.025, 0.975])
        rows[when] = {
            "ece": metrics.ece(probabilities, part.labels),
            "low": low,
            "high": high,
            "floor": metrics.calibration_error_floor(sure),
            "nll": metrics.nll(probabilities, part.labels),
            "brier": metrics.brier(probabilities, part.labels),
        }
    return pd.DataFrame.from_dict(rows, orient="index")
