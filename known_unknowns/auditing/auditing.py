"""The audit of one model, from its outputs to a report."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from helpers import __version__
from known_unknowns.auditing import findings, ranking, report, stages
from known_unknowns.auditing.inputs import Inputs, read_outputs
from known_unknowns.auditing.ranking import ID
from known_unknowns.auditing.rejector import Rejector
from known_unknowns.auditing.sentences import render, to_html
from known_unknowns.auditing.thresholds import check_share
from known_unknowns.auditing.watching import cut_of

#: Largest number of scores of known images that a rejector keeps for its p-values.
KNOWN = 10_000


@dataclass(frozen=True, kw_only=True, repr=False)
class Audit(stages.Estimates):
    """Numbers of an audit, its sentences and its files.

    The validation images and each OOD set are divided at random into two halves.  The *choosing*
    half fits the temperature and ranks the scores; the *measuring* half gives the calibration, the
    thresholds and the figures of the chosen score.  If the score is fixed in advance, all
    validation images give the thresholds and the figures, and the ranking is only for information.

    Attributes
    ----------
    inputs : Inputs
        Inputs.
    doubts : tuple of Doubt
        Evidence against the validation images, the worst first.
    choosing, held_out, measuring : ndarray of int64
        Indices of the halves among the validation images, and of the images that give the
        thresholds: the second half, or all images if the score is fixed in advance.
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
        Thresholds by kind: ``risk``, ``coverage``, and if there is none for the risk, perhaps
        ``smallest`` and ``average``; with enough labels of unlike new images, ``production``.
    deployed, threshold, rejector : str, Threshold, Rejector
        Kind and threshold of the rejector, and the rejector; empty and None without a threshold.
    hard : dict of str to ndarray
        The set that the chosen score separates worst from ID images, on the choosing halves, and
        its scores.  A guarantee for a share of unknown images is for this set.
    guaranteed_on : Sample
        Images behind the guarantee of a risk.
    classes, answers, strata : list of OfClass, list of Guaranteed, list of Guaranteed
        Accuracy and risk of each class, and the guarantee of each answer and stratum.
    unlabelled, drift : Unlabelled, Drift
        Estimates for the unlabelled images; None without unlabelled images.
    claimed, sure : ndarray of float64
        Largest probability of each validation image, before and after temperature scaling.
    wrong : ndarray of int64
        Indices of the errors, the most confident first.
    requirements : list of dict
        Verdicts on the requirements, in their order.
    settings : Settings
        Arguments of `audit`.
    folder, command : str
        Folder of the files, and the command line, in the sentences; the command sets them.
    """

    notes: list[str]
    requirements: list[dict]
    rejector: Rejector | None
    folder: str = ""
    command: str = ""

    def summary(self) -> list[str]:
        """Return the first sentences of the report."""
        return findings.summary(self)

    def __repr__(self) -> str:
        rejector = repr(self.rejector) if self.rejector else "no rejector"
        return f"Audit({len(self.inputs.validation)} images, {rejector})"

    def _repr_html_(self) -> str:
        return f"<ol>{''.join(f'<li>{to_html(each)}</li>' for each in self.summary())}</ol>"

    def sentences(self, name: str) -> list[str]:
        """Return the sentences of one macro of the template."""
        return render(name, **findings.facts(self))

    def as_dict(self) -> dict:
        """Return every number of the report, as plain JSON values."""
        return report.as_dict(self)

    def save(self, folder: str | os.PathLike) -> list[Path]:
        """Write report, numbers, and a rejector if there is a threshold; return the paths."""
        return report.save(self, folder)


def audit(
    inputs: Inputs | Mapping[str, np.ndarray] | str | os.PathLike,
    *,
    target: str = "risk",
    fallback: str = "",
    risk: float = 0.05,
    coverage: float = 0.9,
    confidence: float = 0.95,
    unknown_share: float = 0.0,
    replicates: int = 200,
    seed: int = 0,
    require: Sequence[str] = (),
    score: str = "",
    costs: tuple[float, float] | None = None,
    unit: str = "",
    tell: Callable[[str], object] = lambda line: None,
) -> Audit:
    """Audit a model.

    Parameters
    ----------
    inputs : Inputs, mapping of str to array, or path
        Outputs of the model: see `read_outputs` for arrays, by name, and for files.
    target : {"risk", "coverage"}
        Kind of threshold of the rejector.
    fallback : {"", "smallest", "average"}
        Threshold that is deployed if `risk` cannot be guaranteed: none, the one with the smallest
        risk that can be guaranteed, or the one with this risk on average.
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
    score : str
        Name of a score that is fixed in advance; by default, the audit chooses it, and takes
        ``msp`` for fewer than 1,000 images or groups of images.
    costs : (float, float), optional
        Costs of an accepted wrong answer and of a review.  The threshold with the lowest cost is
        deployed, with a guarantee of the cost.
    unit : str
        Noun for one row of data in the sentences, such as ``text``; by default ``image``.
    tell : callable
        Function that receives the name of each step.

    Raises
    ------
    ValueError
        Unknown `target`, a share outside (0, 1), no score that can be computed, a requirement for a
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
    settings = stages.Settings(
        target=target,
        fallback=fallback,
        risk=risk,
        coverage=coverage,
        confidence=confidence,
        unknown_share=unknown_share,
        replicates=replicates,
        seed=seed,
        score=score,
        costs=costs,
    )
    if not isinstance(inputs, Inputs):
        inputs = read_outputs(inputs)
    if unit:
        inputs = replace(inputs, unit=unit)
    for requirement in require:
        findings.read_requirement(requirement, inputs.ood)
    check_share(unknown_share, inputs.ood)
    choice = stages.choose(inputs, settings, tell)
    measured = stages.measure(choice)
    guaranteed = stages.guarantee(measured)
    estimated = stages.estimate(guaranteed)
    return Audit(
        **vars(estimated),
        notes=[*estimated.warned, *_left_aside(estimated.inputs)],
        requirements=findings.judge(estimated, require),
        rejector=_rejector(estimated),
    )


def _left_aside(inputs: Inputs) -> list[str]:
    """Return sentences about images that are left out of comparisons and fits."""
    sizes = [len(part) for part in (inputs.validation, *inputs.ood.values())]
    return render(
        "left_aside",
        inputs.unit,
        compared=ranking.COMPARED,
        fitted=stages.FITTED,
        half=sizes[0] // 2,
        largest=max(sizes) // 2,
    )


def _rejector(audited: stages.Estimates) -> Rejector | None:
    """Return the chosen score with the deployed threshold; None without a threshold."""
    deployed = audited.threshold
    if deployed is None:
        return None
    inputs = audited.inputs
    validation = inputs.validation
    watched = _watched(audited)
    needs = {*audited.score.info.needs}
    if audited.detector is not None:
        needs |= {*audited.detector.info.needs}
    before, after = audited.calibration["ece"]
    return Rejector(
        audited.score,
        threshold=deployed.value,
        classes=validation.num_classes,
        width=validation.features.shape[1] if "features" in needs else None,
        given="logits" if inputs.level else "probabilities",
        by_answer=_thresholds_by_answer(audited),
        known=np.sort(audited.samples["validation"][audited.watched][:KNOWN]),  # in random order
        detector=audited.detector,
        detector_known=None if audited.detector is None else watched[ID],
        provenance={
            "model": inputs.source,
            "logits": "as the model gives them" if inputs.level else "log-probabilities",
            "guarantee": deployed.guarantee,
            deployed.target: deployed.target_value,
            "risk_measured": deployed.risk[0] if deployed.coverage[0] else None,
            "confidence": audited.settings.confidence,
            "images": {"choosing": len(audited.choosing), "measuring": len(audited.measuring)},
            "sha256": dict(inputs.sha256),
            "version": __version__,
            # for the confidences of `Rejector.judge`
            "temperature": audited.temperature if after < before else 1.0,
            "class_names": list(inputs.class_names),
            "unit": inputs.unit,
            "unlike_found": {
                name: float((watched[name] < cut_of(watched[ID])).mean()) for name in inputs.ood
            },
        },
    )


def _watched(audited: stages.Estimates) -> dict[str, np.ndarray]:
    """Return the detector's scores of the measuring halves; scores of ID images in rising order."""
    if audited.detector is None:
        samples = audited.unknown | {ID: audited.samples["validation"][audited.watched][:KNOWN]}
    else:
        halves = audited.halves | {
            ID: ranking.Half(audited.inputs.validation, audited.measuring[audited.watched][:KNOWN])
        }
        samples = ranking.score_halves({"": audited.detector}, halves)[""]
    return samples | {ID: np.sort(samples[ID])}


def _thresholds_by_answer(audited: stages.Estimates) -> np.ndarray | None:
    """Return the guaranteed threshold of each answer, infinite without one; None without any.

    They guarantee a risk for images like the validation images alone: also None for another target,
    and for a rejector whose guarantee includes unknown or new images.
    """
    values = np.array([row.value for row in audited.answers])
    if audited.only_common or np.isnan(values).all():
        return None
    return np.where(np.isnan(values), np.inf, values)
