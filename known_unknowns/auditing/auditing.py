"""The audit of one model, from its outputs to a report."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

from helpers import __version__, metrics, scores
from helpers.checks import known_name, open_share, whole_number
from helpers.metrics.bootstrap import weighted_calibration_error
from helpers.outputs import Outputs
from helpers.scores.calibration import confidences, fit_temperature, softmax
from known_unknowns.auditing import doubts, findings, prediction, ranking, report
from known_unknowns.auditing import thresholds as rules
from known_unknowns.auditing.inputs import Inputs, read_outputs
from known_unknowns.auditing.rejector import Rejector
from known_unknowns.auditing.sentences import render

#: Largest number of images for temperature, directions and calibration; more change no number.
FITTED = 10_000
#: Largest number of scores of known images that a rejector keeps for its p-values.
KNOWN = 10_000


class Audit(SimpleNamespace):
    """Numbers of an audit, its sentences and its files.

    The validation images and each OOD set are divided at random into two halves.  The *choosing*
    half fits the temperature and ranks the scores; the *measuring* half gives the calibration, the
    thresholds and the figures of the chosen score.

    Attributes
    ----------
    inputs : Inputs
        Inputs, with one image of each group.
    doubts : tuple of Doubt
        Evidence against the validation images, the worst first.
    choosing, measuring : ndarray of int64
        Indices of the halves among the validation images.
    accuracy : (float, float, float)
        Share of correct answers on all validation images, with its exact 95 % interval.
    calibration : DataFrame
        Rows ``before`` and ``after`` temperature scaling; ``floor`` is the ECE of perfect
        calibration.  Replicates have a larger ECE than the images, so the interval is a bit high.
    ranking, confirmed : DataFrame
        All scores on the choosing half, and the chosen score on the measuring half.
    best : list of str
        The chosen score, and other scores that may be as good.
    score : Score
        The chosen score, fitted.
    samples : dict of str to ndarray
        Scores of ``validation``, of each OOD set (measuring halves) and of ``production``.
    correct : ndarray of bool
        Whether each image of the measuring half is classified correctly.
    thresholds : dict of str to Threshold
        Thresholds by kind, ``risk`` or ``coverage``.
    deployed, threshold, rejector : str, Threshold, Rejector
        Kind and threshold of the rejector, and the rejector; empty and None without a threshold.
    hard : dict of str to ndarray
        The set that the chosen score tells worst from ID images, on the choosing halves, and its
        scores.  A guarantee for a share of unknown images is for this set.
    promised_on : (ndarray, ndarray)
        Scores and correctness of the images behind the guarantee of a risk.
    classes, answers, strata : list of dict
        Accuracy and risk of each class, and the guarantee of each answer and stratum.
    unlabelled, drift : dict
        Estimates for the unlabelled images; None without unlabelled images.
    claimed, sure : ndarray of float64
        Largest probability of each validation image, before and after temperature scaling.
    wrong : ndarray of int64
        Indices of the errors, the most confident first.
    requirements : list of dict
        Verdicts on the requirements, in their order.
    settings : dict
        Arguments of `audit`.
    """

    def sentences(self, name: str) -> list[str]:
        """Return the sentences of one macro of the template."""
        return render(name, **findings.facts(self))

    def as_dict(self) -> dict:
        """Return every number of the report, as plain JSON values."""
        return report.as_dict(self)

    def save(self, folder: str | os.PathLike) -> list[Path]:
        """Write report, numbers, and a rejector if there is a threshold; return the paths."""
        return report.save(self, folder)

    def look_at(self, production: Outputs, scores: np.ndarray | None = None) -> dict:
        """Return the estimates for unlabelled images, see `prediction.look_at_unlabelled`.

        `scores` are the scores of these images, if already computed.
        """
        inputs, score, names = self.inputs, self.score, self.inputs.ood
        parts = inputs.validation.logits[self.measuring], production.logits
        families = {name: score.score_samples(part) for name, part in inputs.families.items()}
        return prediction.look_at_unlabelled(
            self.samples["validation"],
            score.score_samples(production) if scores is None else scores,
            *(softmax(part, self.temperature) for part in parts), self.correct,
            self.chosen,
            {name: self.samples[name] for name in names} | families,
            self.threshold.value if self.threshold else np.inf, self.settings["seed"],
        )  # fmt: skip


def audit(
    inputs: Inputs | Mapping[str, np.ndarray] | str | os.PathLike,
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
    inputs : Inputs, mapping of str to array, or path
        Outputs of the model: see `read_outputs` for arrays, by name, and for files.
    wish : {"risk", "coverage"}
        Kind of threshold of the rejector.
    fallback : bool
        Whether the threshold of the other kind is deployed if `wish` has no threshold.
    risk : float
        Largest share of incorrect answers among accepted images, in (0, 1).
    coverage : float
        Smallest share of accepted ID images, in (0, 1).
    confidence : float
        Confidence of the guarantee of `risk`, in (0, 1).
    unknown_share : float
        Largest share of unknown images, like the images of the hardest OOD set, for which the
        guarantee of a risk holds, in [0, 1); with 0 it covers only ID images.
    replicates : int
        Number of bootstrap replicates.
    seed : int
        Seed of the halves, the bootstrap and the mixtures.
    require : sequence of str
        Requirements, such as ``accuracy>=0.9``; see `known_unknowns.auditing.findings`.
    tell : callable
        Function that receives the name of each step.

    Raises
    ------
    ValueError
        Unknown `wish`, a share outside (0, 1), no score that can be computed, a requirement for a
        missing set; and as in `read_outputs`.

    Examples
    --------
    >>> labels = np.arange(400) % 4
    >>> logits = 4 * np.eye(4)[labels] + np.random.default_rng(0).normal(size=(400, 4))
    >>> audited = audit({"logits": logits, "labels": labels}, risk=0.1)
    >>> low, high = audited.accuracy[1:]
    >>> low < 0.99 < high, audited.deployed
    (True, 'risk')
    """
    settings = locals() | {"require": list(require)}
    del settings["inputs"], settings["tell"]
    if not isinstance(inputs, Inputs):
        inputs = read_outputs(inputs)
    for requirement in require:
        findings.read_requirement(requirement, inputs.ood)
    known_name("wish", wish, rules.WISHES)
    for name in ("risk", "coverage", "confidence"):
        open_share(name, settings[name])
    rules.check_share(unknown_share, inputs.ood)
    whole_number("replicates", replicates)
    whole_number("seed", seed, least=0)
    inputs = inputs.one_of_each_group(seed)
    validation, names = inputs.validation, inputs.class_names
    audited = Audit(inputs=inputs, settings=settings, accuracy=rules.share(validation.correct))
    tell("looks for copies, and for labels that do not fit")
    audited.doubts = doubts.find_doubts(inputs)

    generator = np.random.default_rng(seed)
    halves = {name: _halves(len(part), generator) for name, part in inputs.ood.items()}
    choosing, measuring = halves[ranking.ID] = _halves(len(validation), generator)
    groups = {ranking.ID: validation} | dict(inputs.ood)
    first, second = (
        {name: ranking.Half(part, halves[name][i][:end]) for name, part in groups.items()}
        for i, end in ((0, ranking.COMPARED), (1, None))
    )
    audited.choosing, audited.measuring, fit = choosing, measuring, choosing[:FITTED]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RuntimeWarning)
        temperature = fit_temperature(validation.logits[fit], validation.labels[fit])
    audited.temperature, audited.claimed = temperature, confidences(validation.logits)
    audited.sure = confidences(validation.logits, temperature)
    wrong = np.flatnonzero(~validation.correct)
    audited.wrong = wrong[np.argsort(-audited.sure[wrong], kind="stable")]
    audited.suspected_labels = doubts.likely_label_errors(validation, temperature)
    part = validation.subset(measuring[:FITTED])
    audited.calibration = _calibration(part, temperature, replicates, seed)

    tell("fits the scores")
    usable, audited.left_out = ranking.fitted(inputs, scores.names())
    tell(f"compares {len(usable)} scores")
    drawing = replicates, seed, ranking.Wish(wish, settings[wish], unknown_share)
    chosen = ranking.score_halves(usable, first)
    groups = ranking.Groups(first, *drawing)
    audited.ranking, audited.best = ranking.ranked(usable, chosen, groups)
    score, chosen = usable[audited.best[0]], chosen[audited.best[0]]
    tell(f"measures the chosen one, {score.info.title}")
    samples = ranking.score_halves({"": score}, second)[""]
    audited.confirmed = pd.DataFrame(ranking.Groups(second, *drawing).measure(samples)[0])
    samples = {"validation": samples.pop(ranking.ID)} | samples
    known, correct = samples["validation"], validation.correct[measuring]
    audited.score, audited.samples, audited.correct = score, samples, correct
    audited.chosen = chosen.pop(ranking.ID)
    unknown = {name: samples[name] for name in inputs.ood}
    order = sorted(chosen, key=lambda name: metrics.auroc(audited.chosen, chosen[name]))
    audited.hard = {name: unknown[name] for name in order[:1]}

    audited.unlabelled = audited.drift = None
    if inputs.production is not None:
        production = samples["production"] = score.score_samples(inputs.production)
        here, there = (getattr(part, inputs.richest) for part in (validation, inputs.production))
        axes = prediction.principal_directions(here[fit], seed=seed)
        here, there = (here @ axes)[measuring], there @ axes
        audited.drift = prediction.find_drift(known, production, here, there)

    mixed, wished = {"unknown": unknown_share, "seed": seed}, (risk, confidence)
    audited.promised_on = rules.draw_mixture(known, correct, audited.hard, **mixed)
    audited.thresholds = {
        "risk": rules.promise_risk(known, correct, unknown, *wished, **mixed, hard=audited.hard),
        "coverage": rules.promise_coverage(known, correct, unknown, coverage, confidence),
    }
    tried = (wish, *rules.WISHES) if fallback else (wish,)
    kept = [name for name in tried if not audited.thresholds[name].problem]
    audited.deployed = deployed = kept[0] if kept else ""
    audited.threshold = audited.thresholds.get(deployed)
    accepted = known >= (audited.threshold.value if deployed else np.inf)
    if inputs.production is not None:
        audited.unlabelled = audited.look_at(inputs.production, production)
        audited.doubts += doubts.doubt_share(audited.unlabelled["least"], unknown_share)
    promised = risk if deployed == "risk" else 1.0
    audited.classes = rules.by_class(validation, names, measuring, accepted, promised)
    audited.strata, audited.images_needed_by_stratum = [], 0
    audited.images_needed_by_answer, audited.answers = rules.by_answer(
        known, correct, validation.predictions[measuring], names, *wished
    )
    if inputs.strata is not None:
        kinds, numbers = np.unique(np.asarray(inputs.strata), return_inverse=True)
        audited.images_needed_by_stratum, audited.strata = rules.by_answer(
            known, correct, numbers[measuring], list(map(str, kinds)), *wished
        )
    left_aside = render(
        "left_aside", compared=ranking.COMPARED, fitted=FITTED, half=len(validation) // 2,
        largest=max(map(len, (validation, *inputs.ood.values()))) // 2,
    )  # fmt: skip
    audited.notes = [*(str(warning.message) for warning in caught), *left_aside]
    audited.rejector = _rejector(audited) if deployed else None
    audited.requirements = findings.judge(audited, require)
    return audited


def _halves(count: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return two random halves, in random order; a single image is in both halves."""
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


def _rejector(audited: Audit) -> Rejector:
    """Return the chosen score with the deployed threshold."""
    inputs, deployed, settings = audited.inputs, audited.threshold, audited.settings
    validation, given = inputs.validation, "logits" if inputs.level else "probabilities"
    return Rejector(
        audited.score,
        threshold=deployed.value,
        classes=validation.num_classes,
        width=validation.features.shape[1] if "features" in audited.score.info.needs else None,
        given=given,
        known=np.sort(audited.samples["validation"][:KNOWN]),  # in random order before
        provenance={
            "model": inputs.source,
            "logits": "as the model gives them" if inputs.level else "log-probabilities",
            "promise": deployed.promise,
            deployed.wish: deployed.wished,
            "confidence": settings["confidence"],
            "images": {"choosing": len(audited.choosing), "measuring": len(audited.measuring)},
            "sha256": dict(inputs.sha256),
            "version": __version__,
            "temperature": audited.temperature,  # for the confidences of `Rejector.judge`
            "class_names": list(inputs.class_names),
        },
    )
