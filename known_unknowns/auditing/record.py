"""The numbers of an audit, and the rejector made from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from helpers import __version__
from helpers.outputs import Outputs
from helpers.scores import Score
from helpers.scores.calibration import confidences
from known_unknowns.auditing.doubts import Doubt
from known_unknowns.auditing.inputs import Inputs
from known_unknowns.auditing.prediction import Drift, Prediction, Unlabelled, predict_by_score
from known_unknowns.auditing.rejector import Rejector
from known_unknowns.auditing.thresholds import OfAnswer, OfClass, Threshold

KNOWN = 10_000
"""Largest number of scores of known images that a rejector keeps for its p-values."""


@dataclass(frozen=True)
class Measured:
    """Numbers of an audit.

    The validation images and each OOD set are divided at random into two halves.  The *choosing*
    half fits the temperature and ranks the scores; the *measuring* half gives the calibration, the
    thresholds and the figures of the chosen score.

    Attributes
    ----------
    choosing, measuring : ndarray of int64
        Indices of the halves among the validation images.
    calibration : DataFrame
        Rows ``before`` and ``after`` temperature scaling; ``floor`` is the ECE of perfect
        calibration.  Replicates have a larger ECE than the images, so the interval is rather high.
    ranking, confirmed : DataFrame
        All scores on the choosing half, and the chosen score on the measuring half.
    best : tuple of str
        The chosen score, and those that may be as good.
    samples : dict of str to ndarray
        Scores of ``validation``, of each OOD set (measuring halves) and of ``production``.
    deployed : str
        Wish whose threshold the rejector has; empty if there is none.
    promised_on : (ndarray, ndarray)
        Scores and correctness of the images behind the guarantee of a risk.
    by_answer, by_stratum : (int, tuple of OfAnswer)
        Images that a guarantee needs, and the guarantees.
    claimed, sure : ndarray of float64
        Largest probability of each validation image, before and after temperature scaling.
    wrong : ndarray of int64
        Indices of the errors, the most confident first.
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
        """Outputs of the measuring half."""
        return self.inputs.validation.subset(self.measuring)

    @cached_property
    def correct(self) -> np.ndarray:
        """Whether each image of the measuring half is classified correctly."""
        return self.inputs.validation.correct[self.measuring]

    @property
    def threshold(self) -> Threshold | None:
        """Deployed threshold."""
        return self.thresholds.get(self.deployed)

    @property
    def rejector(self) -> Rejector | None:
        """The chosen score with the deployed threshold."""
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
                "temperature": self.temperature,  # for the confidences of `Rejector.judge`
                "class_names": list(self.inputs.class_names),
            },
        )

    def confidence(self, outputs: Outputs) -> np.ndarray:
        """Return the largest probabilities after temperature scaling."""
        return confidences(outputs.logits, self.temperature)

    def predict(self, unlabelled: Outputs) -> Prediction:
        """Return the prediction for other unlabelled images."""
        half = self.inputs.validation.subset(self.choosing)
        chosen, scores = (self.score.score_samples(part) for part in (half, unlabelled))
        return predict_by_score(
            self.inputs, self.score, chosen, self.samples, scores, self.settings["seed"]
        )
