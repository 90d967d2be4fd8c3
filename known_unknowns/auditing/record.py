"""What an audit measured: its numbers, its rejector, and the files that it leaves."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from helpers import __version__
from helpers.outputs import Outputs
from helpers.scores import Score
from helpers.scores.calibration import confidences
from known_unknowns.auditing import gates, report
from known_unknowns.auditing.doubts import Doubt
from known_unknowns.auditing.drift import Drift
from known_unknowns.auditing.inputs import Inputs
from known_unknowns.auditing.prediction import Prediction, Unlabelled, predict_by_score
from known_unknowns.auditing.rejector import Rejector
from known_unknowns.auditing.thresholds import OfAnswer, OfClass, Threshold

KNOWN = 10_000
"""Scores of known images that a rejector keeps for its p-values, at the most."""


@dataclass(frozen=True)
class Audit:
    """Numbers of an audit.

    The validation images, and those of each OOD set, are divided by chance into two halves.  The
    *choosing* half fits the temperature and ranks the scores; the *measuring* half has chosen
    nothing, and gives the calibration, the thresholds and the figures of the chosen score.

    Attributes
    ----------
    inputs : Inputs
        With one validation image of each group, where there are groups.
    doubts : tuple of Doubt
        What speaks against the validation images.
    choosing, measuring : ndarray of int64
        Places of the halves among the validation images.
    accuracy : (float, float, float)
        On all validation images, with the ends of its exact 95 % interval.
    temperature : float
    calibration : DataFrame
        Rows ``before`` and ``after`` temperature scaling; ``ece``, ``low`` and ``high`` of its 95 %
        interval, ``floor`` (the ECE that perfect calibration would show), ``nll`` and ``brier``.
        Replicates of the bootstrap have a larger ECE than the images, so that the interval lies
        rather high: what is required of it is required with some reserve.
    ranking : DataFrame
        From `known_unknowns.auditing.ranking.ranked`, on the choosing half.
    best : tuple of str
        The chosen score, and those that may be as good.
    score : Score
        The chosen one, fitted.
    confirmed : DataFrame
        The same rows for the chosen score on the measuring half.
    left_out : dict of str to str
        Why a score is not in the ranking.
    samples : dict of str to ndarray
        The chosen score of ``validation`` (the measuring half), each OOD set (its measuring half)
        and ``production``.
    thresholds : dict of str to Threshold
        By wish.
    deployed : str
        The wish whose threshold the rejector has; empty if it has none.
    promised_on : (ndarray, ndarray)
        The scores that the promise of a risk is made on, and which of the images are right.
    by_class : tuple of OfClass
        What is true of the images of each class; without a rejector nothing is accepted.
    by_answer, by_stratum : (int, tuple of OfAnswer)
        How many images a promise takes, and what can be promised of each answer, or stratum.
    suspected_labels : ndarray of int64
        Places of the validation images whose labels are probably wrong, the surest first.
    prediction : Prediction, optional
        Where there are unlabelled images.
    unlabelled : Unlabelled, optional
        Likewise: how many of them are unknown, which, and how often the model is right on them.
    drift : Drift, optional
        Likewise: whether they are drawn from what the validation images are.
    claimed, sure : ndarray of float64
        The largest probability of each validation image, before and after temperature scaling.
    wrong : ndarray of int64
        Places of the wrongly classified validation images, the surest first.
    notes : tuple of str
        What was odd, in sentences.
    settings : dict
        Arguments of `audit`.
    """

    inputs: Inputs
    doubts: tuple[Doubt, ...]
    choosing: np.ndarray
    measuring: np.ndarray
    accuracy: tuple[float, float, float]
    temperature: float
    calibration: pd.DataFrame
    ranking: pd.DataFrame
    best: tuple[str, ...]
    score: Score
    confirmed: pd.DataFrame
    left_out: dict[str, str]
    samples: dict[str, np.ndarray]
    thresholds: dict[str, Threshold]
    deployed: str
    promised_on: tuple[np.ndarray, np.ndarray]
    by_class: tuple[OfClass, ...]
    by_answer: tuple[int, tuple[OfAnswer, ...]]
    by_stratum: tuple[int, tuple[OfAnswer, ...]]
    suspected_labels: np.ndarray
    prediction: Prediction | None
    unlabelled: Unlabelled | None
    drift: Drift | None
    claimed: np.ndarray
    sure: np.ndarray
    wrong: np.ndarray
    notes: tuple[str, ...]
    settings: dict

    @property
    def measured(self) -> Outputs:
        """The outputs of the measuring half."""
        return self.inputs.validation.subset(self.measuring)

    @cached_property
    def correct(self) -> np.ndarray:
        """Whether each image of the measuring half is classified correctly."""
        return self.inputs.validation.correct[self.measuring]

    @property
    def requirements(self) -> list[gates.Judged]:
        """What became of the requirements, in their order."""
        return gates.judge(self, self.settings["require"])

    @property
    def rejector(self) -> Rejector | None:
        """The chosen score with the threshold that is deployed."""
        if not self.deployed:
            return None
        deployed, validation = self.thresholds[self.deployed], self.inputs.validation
        features = "features" in self.score.info.needs
        return Rejector(
            self.score,
            threshold=deployed.value,
            classes=validation.num_classes,
            width=validation.features.shape[1] if features else None,
            given="logits" if self.inputs.level else "probabilities",
            known=np.sort(self.samples["validation"][:KNOWN]),  # in random order before
            provenance={
                "model": self.inputs.source,
                "logits": "as the model gives them" if self.inputs.level else "log-probabilities",
                "promise": deployed.promise,
                deployed.wish: deployed.wished,
                "confidence": self.settings["confidence"],
                "images": {"choosing": len(self.choosing), "measuring": len(self.measuring)},
                "sha256": dict(self.inputs.sha256),
                "version": __version__,
                # for the answers that `Rejector.judge` writes beside its verdicts
                "temperature": self.temperature,
                "class_names": list(self.inputs.class_names),
            },
        )

    def confidence(self, outputs: Outputs) -> np.ndarray:
        """Return the largest probabilities after temperature scaling."""
        return confidences(outputs.logits, self.temperature)

    def predict(self, unlabelled: Outputs) -> Prediction:
        """Return what is predicted of other unlabelled images than those of production."""
        half = self.inputs.validation.subset(self.choosing)
        chosen, scores = (self.score.score_samples(part) for part in (half, unlabelled))
        return predict_by_score(
            self.inputs, self.score, chosen, self.samples, scores, self.settings["seed"]
        )

    def as_dict(self) -> dict:
        """Return every number of the report, as JSON holds it."""
        return report.as_dict(self)

    def save(self, folder: str | os.PathLike) -> list[Path]:
        """Write report, numbers, and a rejector if there is a threshold; return the files."""
        return report.save(self, folder)
