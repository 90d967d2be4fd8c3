"""The audit of one model, from its outputs to a report."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from helpers import metrics
from helpers.checks import known_name, open_share, whole_number
from helpers.metrics.bootstrap import weighted_calibration_error
from helpers.outputs import Outputs
from helpers.scores.calibration import confidences, fit_temperature, softmax
from known_unknowns.auditing import doubts, findings, gates, prediction, ranking, report
from known_unknowns.auditing import thresholds as rules
from known_unknowns.auditing.inputs import Inputs
from known_unknowns.auditing.record import Measured
from known_unknowns.auditing.sentences import render

FITTED = 10_000
"""Largest number of images for temperature, directions and calibration: more change no number."""


class Audit(Measured):
    """Numbers of an audit, its sentences and its files; attributes as of `Measured`."""

    @property
    def requirements(self) -> list[gates.Judged]:
        """Verdicts on the requirements, in their order."""
        return gates.judge(self, self.settings["require"])

    def sentences(self, name: str) -> list[str]:
        """Return the sentences of one macro of the template."""
        return render(name, **findings.facts(self))

    def as_dict(self) -> dict:
        """Return every number of the report, as JSON holds it."""
        return report.as_dict(self)

    def save(self, folder: str | os.PathLike) -> list[Path]:
        """Write report, numbers, and a rejector if there is a threshold; return the paths."""
        return report.save(self, folder)


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
        Kind of threshold of the rejector.
    fallback : bool
        Whether the other threshold is deployed if the wished one does not exist.
    risk : float
        Largest share of wrong answers among accepted images, in (0, 1).
    coverage : float
        Smallest share of accepted ID images, in (0, 1).
    confidence : float
        Confidence of the guarantee of `risk`, in (0, 1).
    unknown_share : float
        Largest share of unknown images, like those of the OOD sets, for which the guarantee of a
        risk holds, in [0, 1); with 0 it covers ID images alone.
    replicates : int
        Number of bootstrap replicates.
    seed : int
        Seed of the halves, the bootstrap and the mixtures.
    require : sequence of str
        Requirements, such as ``accuracy>=0.9``; see `known_unknowns.auditing.gates`.
    tell : callable
        Function that receives the name of each step.

    Raises
    ------
    ValueError
        Unknown wish, a share outside (0, 1), no score that can be computed, a requirement for a
        set that is not there.
    """
    settings = {
        "wish": wish, "fallback": fallback, "risk": risk, "coverage": coverage,
        "confidence": confidence, "unknown_share": unknown_share,
        "replicates": replicates, "seed": seed, "require": list(require),
    }  # fmt: skip
    for requirement in require:
        gates.read_requirement(requirement, inputs.ood)
    known_name("wish", wish, rules.WISHES)
    for name in ("risk", "coverage", "confidence"):
        open_share(name, settings[name])
    rules.check_share(unknown_share, inputs.ood)
    whole_number("replicates", replicates)
    whole_number("seed", seed, least=0)
    inputs = inputs.one_of_each_group(seed)
    validation, correct = inputs.validation, inputs.validation.correct
    tell("looks for copies, and for labels that do not fit")
    against = doubts.find_doubts(inputs)

    generator = np.random.default_rng(seed)
    halves = {name: _halves(len(part), generator) for name, part in inputs.ood.items()}
    choosing, measuring = halves[ranking.ID] = _halves(len(validation), generator)
    groups = {ranking.ID: validation} | dict(inputs.ood)
    first, second = (
        {name: ranking.Half(part, halves[name][i][:end]) for name, part in groups.items()}
        for i, end in ((0, ranking.COMPARED), (1, None))
    )
    fit = choosing[:FITTED]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RuntimeWarning)
        temperature = fit_temperature(validation.logits[fit], validation.labels[fit])

    tell("fits the scores")
    usable, left_out = ranking.fitted(inputs)
    tell(f"compares {len(usable)} scores")
    wished = ranking.Wish(wish, settings[wish], unknown_share)
    chosen = ranking.score_halves(usable, first)
    groups = ranking.Groups.of(first, replicates, seed, wished)
    table, best = ranking.ranked(usable, chosen, groups)
    score = usable[best[0]]
    tell(f"measures the chosen one, {score.info.title}")
    samples = ranking.score_halves({best[0]: score}, second)[best[0]]
    groups = ranking.Groups.of(second, replicates, seed, wished)
    confirmed = pd.DataFrame([groups.wished(samples)[0], *groups.measured(samples)[0]])
    chosen = chosen[best[0]][ranking.ID]
    samples = {"validation": samples.pop(ranking.ID)} | samples
    scores, right = samples["validation"], correct[measuring]
    unknown = {name: samples[name] for name in inputs.ood}

    predicted = unlabelled = drift = None
    if inputs.production is not None:
        production = samples["production"] = score.score_samples(inputs.production)
        predicted = prediction.predict_by_score(inputs, score, chosen, samples, production, seed)
        unlabelled = prediction.look_at_unlabelled(
            scores,
            production,
            softmax(validation.logits[measuring], temperature),
            softmax(inputs.production.logits, temperature),
            right,
            chosen,
        )
        parts = validation, inputs.production
        here, there = (getattr(part, inputs.richest) for part in parts)
        axes = prediction.principal_directions(here[fit], seed=seed)
        drift = prediction.find_drift(scores, production, (here @ axes)[measuring], there @ axes)
        against += doubts.doubt_share(unlabelled.least, unknown_share)

    mixed = {"unknown": unknown_share, "seed": seed}
    thresholds = {
        "risk": rules.promise_risk(scores, right, unknown, risk, confidence, **mixed),
        "coverage": rules.promise_coverage(scores, right, unknown, coverage, confidence),
    }
    tried = (wish, *rules.WISHES) if fallback else (wish,)
    deployed = next((name for name in tried if not thresholds[name].problem), "")
    threshold = thresholds[deployed].value if deployed else np.inf
    promised = risk if deployed == "risk" else 1.0
    names, by_stratum = inputs.class_names, (0, ())
    if inputs.strata is not None:
        kinds, numbers = np.unique(np.asarray(inputs.strata), return_inverse=True)
        kinds = numbers[measuring], tuple(map(str, kinds))
        by_stratum = rules.by_answer(scores, right, *kinds, risk, confidence)
    answers = validation.predictions[measuring]
    sure, wrong = confidences(validation.logits, temperature), np.flatnonzero(~correct)
    return Audit(
        inputs=inputs,
        doubts=against,
        choosing=choosing,
        measuring=measuring,
        accuracy=rules.share(correct),
        temperature=temperature,
        calibration=_calibration(
            validation.subset(measuring[:FITTED]), temperature, replicates, seed
        ),
        ranking=table,
        best=tuple(best),
        score=score,
        confirmed=confirmed,
        left_out=left_out,
        samples=samples,
        thresholds=thresholds,
        deployed=deployed,
        promised_on=rules.draw_mixture(scores, right, unknown, unknown_share, seed=seed),
        by_class=rules.by_class(validation, names, measuring, scores >= threshold, promised),
        by_answer=rules.by_answer(scores, right, answers, names, risk, confidence),
        by_stratum=by_stratum,
        suspected_labels=doubts.likely_label_errors(validation, temperature),
        prediction=predicted,
        unlabelled=unlabelled,
        drift=drift,
        claimed=confidences(validation.logits),
        sure=sure,
        wrong=wrong[np.argsort(-sure[wrong], kind="stable")],
        notes=(*(str(warning.message) for warning in caught), *_left_aside(inputs)),
        settings=settings,
    )


def _left_aside(inputs: Inputs) -> list[str]:
    """Return what rests on a random subset of the images, in sentences."""
    validation = len(inputs.validation)
    return render(
        "left_aside", compared=ranking.COMPARED, fitted=FITTED, copied=doubts.COPIES_AMONG,
        largest=max(map(len, (inputs.validation, *inputs.ood.values()))) // 2,
        half=validation // 2, learnt_from=max(validation, len(inputs.train or ())),
    )  # fmt: skip


def _halves(count: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return two random halves, in random order; of a single image, twice that image."""
    order = generator.permutation(count)
    middle = count // 2
    return order[:middle] if middle else order, order[middle:]


def _calibration(part: Outputs, temperature: float, replicates: int, seed: int) -> pd.DataFrame:
    """Return calibration errors before and after temperature scaling."""
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
