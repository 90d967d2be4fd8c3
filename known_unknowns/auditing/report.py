"""What an audit has found: its numbers, its rejector, and the files that it leaves."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from helpers import __version__
from helpers.files import atomic_path
from helpers.outputs import Outputs
from helpers.scores import Score
from helpers.scores.calibration import confidences
from known_unknowns.auditing import gates, moving
from known_unknowns.auditing.by_class import OfAnswer, OfClass, by_answer, by_class
from known_unknowns.auditing.doubts import Doubt
from known_unknowns.auditing.drift import Drift
from known_unknowns.auditing.inputs import Inputs
from known_unknowns.auditing.label_errors import likely_label_errors
from known_unknowns.auditing.prediction import Prediction, Unlabelled, predict_by_score
from known_unknowns.auditing.rejector import Rejector
from known_unknowns.auditing.sets import Sets
from known_unknowns.auditing.thresholds import (
    Threshold,
    draw_mixture,
)
from known_unknowns.auditing.weak_groups import WeakGroup

WRITTEN = ("report.html", "audit.json", "rejector.safetensors")
KNOWN = 10_000
"""Scores of known images that a rejector keeps for its p-values, at the most."""
"""What an audit leaves in its folder."""


@dataclass(frozen=True)
class Audit:
    """What an audit found.

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
    prediction : Prediction, optional
        Where there are unlabelled images.
    unlabelled : Unlabelled, optional
        Likewise: how many of them are unknown, which, and how often the model is right on them.
    drift : Drift, optional
        Likewise: whether they are drawn from what the validation images are.
    weak_groups : (int, tuple of WeakGroup)
        How many groups of images were looked at, and on which the model is wrong more often.
    sure : ndarray of float64
        The largest probability of each validation image after temperature scaling.
    wrong : ndarray of int64
        Places of the wrongly classified validation images, the surest first.
    notes : tuple of str
        What was odd, in sentences.
    settings : dict
        Arguments of `audit`.
    sets : Sets, optional
        Answers of several classes, where they were asked for.
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
    prediction: Prediction | None
    unlabelled: Unlabelled | None
    drift: Drift | None
    weak_groups: tuple[int, tuple[WeakGroup, ...]]
    sure: np.ndarray
    wrong: np.ndarray
    notes: tuple[str, ...]
    settings: dict
    sets: Sets | None = None

    @property
    def measured(self) -> Outputs:
        """The outputs of the measuring half."""
        return self.inputs.validation.subset(self.measuring)

    @cached_property
    def correct(self) -> np.ndarray:
        """Whether each image of the measuring half is classified correctly."""
        return self.inputs.validation.correct[self.measuring]

    def confidence(self, part: Outputs) -> np.ndarray:
        """Return the largest probabilities after temperature scaling."""
        return confidences(part.logits, self.temperature)

    @cached_property
    def claimed(self) -> np.ndarray:
        """The largest probabilities of all validation images, as the model gives them."""
        return confidences(self.inputs.validation.logits)

    @cached_property
    def promised_on(self) -> tuple[np.ndarray, np.ndarray]:
        """The scores that the promise of a risk is made on, and which of the images are right."""
        unknown = {name: self.samples[name] for name in self.inputs.ood}
        settings = self.settings
        return draw_mixture(
            self.samples["validation"], self.correct, unknown, settings["unknown_share"],
            seed=settings["seed"],
        )  # fmt: skip

    @cached_property
    def by_class(self) -> tuple[OfClass, ...]:
        """What is true of the images of each class; without a rejector nothing is accepted."""
        deployed = self.thresholds.get(self.deployed)
        accepted = np.zeros(len(self.measuring), bool)
        if deployed is not None:
            accepted = self.samples["validation"] >= deployed.value
        promised = deployed.wished if self.deployed == "risk" else 1.0
        validation, names = self.inputs.validation, self.inputs.class_names
        return by_class(validation, names, self.measuring, accepted, promised)

    @cached_property
    def by_answer(self) -> tuple[int, tuple[OfAnswer, ...]]:
        """What can be promised of each answer by itself, and how many images that takes."""
        settings = self.settings
        return by_answer(
            self.samples["validation"], self.inputs.validation.predictions[self.measuring],
            self.correct, self.inputs.class_names, settings["risk"], settings["confidence"],
        )  # fmt: skip

    @cached_property
    def by_stratum(self) -> tuple[int, tuple[OfAnswer, ...]]:
        """What can be promised of each stratum by itself, and how many images that takes."""
        if self.inputs.strata is None:
            return 0, ()
        names, numbers = np.unique(np.asarray(self.inputs.strata), return_inverse=True)
        settings = self.settings
        return by_answer(
            self.samples["validation"], numbers[self.measuring], self.correct,
            tuple(map(str, names)), settings["risk"], settings["confidence"],
        )  # fmt: skip

    @cached_property
    def suspected_labels(self) -> np.ndarray:
        """Places of the validation images whose labels are probably wrong, the surest first."""
        return likely_label_errors(self.inputs.validation, self.temperature)

    @property
    def requirements(self) -> list[gates.Judged]:
        """What became of the requirements, in their order."""
        return gates.judge(self, self.settings["require"])

    @property
    def rejector(self) -> Rejector | None:
        """The chosen score with the threshold that is deployed."""
        if not self.deployed:
            return None
        chosen, settings = self.thresholds[self.deployed], self.settings
        width = self.inputs.validation.features.shape[1]
        return Rejector(
            self.score,
            threshold=chosen.value,
            classes=self.inputs.validation.num_classes,
            width=width if "features" in self.score.info.needs else None,
            given="logits" if self.inputs.level else "probabilities",
            known=np.sort(self.samples["validation"][:KNOWN]),  # in random order before
            provenance={
                "model": self.inputs.source,
                "logits": "as the model gives them" if self.inputs.level else "log-probabilities",
                "promise": chosen.promise,
                chosen.wish: chosen.wished,
                "confidence": settings["confidence"],
                "images": {"choosing": len(self.choosing), "measuring": len(self.measuring)},
                "sha256": dict(self.inputs.sha256),
                "version": __version__,
                # for the answers that `Rejector.judge` writes beside its verdicts
                "temperature": self.temperature,
                "class_names": list(self.inputs.class_names),
                **self._set_rule(),
            },
        )

    def _set_rule(self) -> dict:
        """Return the rule of answers of several classes, where there is one, as JSON holds it."""
        if self.sets is None or self.sets.problem:
            return {}
        return {"sets": {name: getattr(self.sets, name) for name in ("most", "penalty", "free")}}

    def predict(self, unlabelled: Outputs) -> Prediction:
        """Return what is predicted of other unlabelled images than those of production."""
        half = self.inputs.validation.subset(self.choosing)
        chosen, scores = (self.score.score_samples(one) for one in (half, unlabelled))
        return predict_by_score(
            self.inputs, self.score, chosen, self.samples, scores, self.settings["seed"]
        )

    def as_dict(self) -> dict:
        """Return what was found as JSON holds it: no arrays by image but the most wrong ones.

        Every number of the report is in it.
        """
        from known_unknowns.auditing import sections, summary  # which are about audits

        inputs, names = self.inputs, self.inputs.class_names
        sure, predictions = self.sure, inputs.validation.predictions
        prediction = None
        if self.prediction is not None:
            prediction = asdict(replace(self.prediction, regressions={}))
            del prediction["regressions"]
        return _plain(
            {
                "version": __version__,
                "model": inputs.source,
                "doubts": [asdict(one) for one in self.doubts],
                "summary": summary.summary(self),
                "requirements": [one._asdict() for one in self.requirements],
                "settings": self.settings,
                "sha256": dict(inputs.sha256),
                "images": {
                    "validation": len(inputs.validation),
                    "choosing": len(self.choosing),
                    "measuring": len(self.measuring),
                    "grouped": inputs.grouped,
                    "train": 0 if inputs.train is None else len(inputs.train),
                    "production": 0 if inputs.production is None else len(inputs.production),
                    "ood": {name: len(one) for name, one in inputs.ood.items()},
                    "families": {name: len(one) for name, one in inputs.families.items()},
                },
                "unreadable": {role: list(files) for role, files in inputs.unreadable.items()},
                "accuracy": self.accuracy,
                "temperature": self.temperature,
                "sureness": summary.measure_sureness(self)._asdict(),
                "calibration": self.calibration.to_dict("index"),
                "ranking": self.ranking.to_dict("records"),
                "left_out": self.left_out,
                "recommended": self.best[0],
                "as_good": self.best[1:],
                "confirmed": self.confirmed.to_dict("records"),
                "thresholds": {wish: asdict(one) for wish, one in self.thresholds.items()},
                "deployed": self.deployed,
                "classes": [asdict(one) for one in self.by_class],
                "answers": [asdict(one) for one in self.by_answer[1]],
                "images_needed_by_answer": self.by_answer[0],
                "strata": [asdict(one) for one in self.by_stratum[1]],
                "images_needed_by_stratum": self.by_stratum[0],
                "sets": None if self.sets is None else asdict(self.sets),
                "curve": [asdict(one) for one in moving.places(self)],
                "picture": [asdict(one) for one in summary.bars(self)],
                "prediction": prediction,
                "unlabelled": None if self.unlabelled is None else asdict(self.unlabelled),
                "drift": None
                if self.drift is None
                else asdict(self.drift)
                | {
                    "found": self.drift.found(),
                    "accepted": sections.accepted_unlabelled(self),
                },
                "weak_groups": {
                    "looked_at": self.weak_groups[0],
                    "groups": [asdict(one) for one in sections.describe_groups(self)],
                },
                "most_wrongly_sure": [
                    {
                        "image": inputs.files[place] if inputs.files else int(place),
                        "label": names[inputs.validation.labels[place]],
                        "predicted": names[predictions[place]],
                        "confidence": float(sure[place]),
                    }
                    for place in self.wrong[:100]
                ],
                "suspected_labels": [
                    inputs.files[place] if inputs.files else int(place)
                    for place in self.suspected_labels
                ],
                "findings": [asdict(one) for one in summary.findings(self)],
                "notes": self.notes,
            }
        )

    def save(self, folder: str | os.PathLike) -> list[Path]:
        """Write `WRITTEN`: report, findings, and a rejector if there is a threshold.

        The rejector of an audit that was saved there before is removed, before this ``audit.json``
        takes its name: a kill at any time leaves no rejector of which ``audit.json`` does not
        speak.

        Returns
        -------
        list of Path
            What was written.
        """
        from known_unknowns.auditing.page import write_page  # which is about audits, and draws

        said = self.as_dict()
        page, findings, place = (Path(folder) / name for name in WRITTEN)
        written = [page, findings]
        with atomic_path(findings) as temporary:
            text = json.dumps(said, indent=1, ensure_ascii=False, allow_nan=False)
            temporary.write_text(text + "\n", encoding="utf-8")
            write_page(page, self, said)
            place.unlink(missing_ok=True)
        if (rejector := self.rejector) is not None:
            written.append(place)
            rejector.save(place)
        return written


def _plain(value):
    """Return a value with plain numbers and lists; what is not a number becomes None."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
