"""A fitted score and its threshold in one file, to deploy."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

import helpers.scores
from helpers import checkpoints
from helpers.checks import (
    float_array,
    known_name,
    number,
    plain_array,
    positive_number,
    whole_number,
)
from helpers.outputs import Outputs
from helpers.scores import Score, calibration
from helpers.scores.calibration import ROUNDING, are_probabilities
from known_unknowns.auditing.checked import OUTPUT_KINDS, looks_like
from known_unknowns.auditing.state import pack, unpack
from known_unknowns.auditing.units import IMAGE, check_unit
from known_unknowns.without_labels import conformal_p_values

if TYPE_CHECKING:
    import pandas as pd


#: Largest numbers of classes and of features; a file with a larger number is forged.
MOST = 1_000_000

_VERSION = 1  # of the files
_ARRAYS = ("known", "by_answer", "detector_known")
_SAVED = ("threshold", "classes", "width", "given", "provenance")


@dataclass(frozen=True, eq=False, repr=False)
class Rejector:
    """A rule that accepts an image if its score is at least the threshold.

    Attributes
    ----------
    score : Score
        Fitted score that is computed from outputs, not from images.
    threshold : float
    classes : int
        Number K of logits of an image.
    width : int, optional
        Number D of features; None if the score does not need features.
    given : {"logits", "probabilities"}
        Kind of inputs that the score and the threshold were made from.
    provenance : mapping
        Origin as plain JSON: sizes, checksums, the guarantee in words.
    known : ndarray of float64, shape [V], optional
        Scores of known images, sorted, for p-values.
    by_answer : ndarray of float64, shape [K], optional
        A threshold for each answer, infinite for an answer that is never accepted.
    detector : Score, optional
        Fitted score that `watch` uses for images unlike the validation images; by default `score`.
    detector_known : ndarray of float64, shape [V], optional
        Its scores of known images, sorted.

    Raises
    ------
    ValueError
        A score that needs the images, or needs features without `width`; a threshold that is not
        finite; class names or a temperature in the provenance that do not fit.

    Examples
    --------
    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/rejector.safetensors"
    >>> Rejector(helpers.scores.create("msp"), threshold=0.9, classes=2).save(path)
    >>> Rejector.load(path).accepts([[4.0, 0.0], [1.0, 0.0]])
    array([ True, False])
    """

    score: Score
    threshold: float
    classes: int
    width: int | None = None
    given: str = "logits"
    provenance: Mapping = field(default_factory=dict)
    known: np.ndarray | None = None
    by_answer: np.ndarray | None = None
    detector: Score | None = None
    detector_known: np.ndarray | None = None

    def __post_init__(self):
        known_name("kind of input that a rejector is given", self.given, OUTPUT_KINDS)
        for score in self.scores:
            info = score.info
            # ODIN without a step needs only the logits
            if "images" in info.needs and getattr(score, "epsilon", None) != 0:
                raise ValueError(
                    f"score: '{info.name}' needs the images, which a rejector does not have; "
                    "choose a score that is computed from outputs"
                )
            if "features" in info.needs and self.width is None:
                raise ValueError(
                    f"width: the number of features expected, which '{info.name}' needs"
                )
        if (self.detector is None) != (self.detector_known is None):
            raise ValueError("detector: a score and its scores of known images expected, got one")
        number("threshold", self.threshold)
        if not abs(self.threshold) < np.inf:
            raise ValueError(f"threshold: a finite number expected, got {self.threshold}")
        _check_size("classes", self.classes, least=1)
        if self.width is not None:
            _check_size("width", self.width, least=0)
        self._check_provenance()
        for name in ("known", "detector_known"):
            values = getattr(self, name)
            if values is not None and not (np.diff(float_array(name, values)) >= 0).all():
                raise ValueError(f"{name}: scores of known images in rising order expected")
        if self.by_answer is not None:
            shape = np.shape(self.by_answer)
            if shape != (self.classes,) or np.isnan(self.by_answer).any():
                raise ValueError(f"by_answer: {self.classes} thresholds expected, got {shape}")

    def _check_provenance(self) -> None:
        """Refuse a provenance that is no plain JSON, or does not fit the model."""
        if not isinstance(self.provenance, Mapping):
            raise ValueError(f"provenance: names with values expected, got {self.provenance!r}")
        try:
            json.dumps(self.provenance)
        except (RecursionError, TypeError, ValueError) as error:
            raise ValueError(f"provenance: plain JSON expected ({error})") from error
        names = self.provenance.get("class_names")
        if names is not None:
            texts = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
            if not texts or len(names) != self.classes:
                raise ValueError(f"class_names: {self.classes} texts expected, one for each class")
        check_unit(self.unit)
        temperature = positive_number("temperature", self.provenance.get("temperature", 1.0))
        if not 1e-9 <= temperature <= 1e9:
            raise ValueError(f"temperature: a number from 1e-9 to 1e9 expected, got {temperature}")

    def score_samples(
        self, outputs: Outputs | ArrayLike, features: ArrayLike | None = None
    ) -> np.ndarray:
        """Return the score of each image, higher = more likely known; float64 [N].

        Parameters
        ----------
        outputs : Outputs or array_like, shape [N, K]
            Outputs or logits of the model. A rejector made from probabilities expects
            probabilities, or their logarithms, instead of logits.
        features : array_like, shape [N, D], optional
            Inputs of the head, if `outputs` are logits and the score needs features.

        Raises
        ------
        ValueError
            Missing features, or a width that differs from the model's width. Arrays that are
            empty, NaN or infinite. Probabilities for logits, or the reverse.
        """
        return self._scored(self.score, outputs, features)

    def unlike_scores(
        self, outputs: Outputs | ArrayLike, features: ArrayLike | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the detector's scores of images, and of known images in rising order.

        Parameters and errors are as in `score_samples`.
        """
        if self.detector is None or self.detector_known is None:
            return self.score_samples(outputs, features), self.known_scores()
        return self._scored(self.detector, outputs, features), self.detector_known

    def _scored(
        self, score: Score, outputs: Outputs | ArrayLike, features: ArrayLike | None
    ) -> np.ndarray:
        """Return the values of one of the scores, see `score_samples`."""
        needed = "features" in score.info.needs
        if not isinstance(outputs, Outputs):
            logits = plain_array("logits", outputs)
            if logits.ndim != 2 or logits.dtype.kind not in "biuf":
                raise ValueError(
                    f"logits: numbers [N, K] expected, got {logits.dtype} of shape {logits.shape}"
                )
            if needed and features is None:
                raise ValueError(f"features: expected, since '{score.info.name}' needs them")
            # inputs that the score does not use may have any values
            used = plain_array("features", features) if needed else np.zeros((len(logits), 0))
            outputs = Outputs(logits, used, np.full(len(logits), -1))
        elif features is not None:
            raise ValueError("features: only logits need them, since `Outputs` contains features")
        for name, expected in (("logits", self.classes), ("features", self.width)):
            width = getattr(outputs, name).shape[1]
            if width != expected and (name == "logits" or needed):
                raise ValueError(
                    f"{name}: width {expected} expected, as of the model that the rejector was "
                    f"made for, got {width}"
                )
        if "logits" in score.info.needs:
            logits = self._as_made(outputs.logits)
            outputs = outputs if logits is outputs.logits else replace(outputs, logits=logits)
        return score.score_samples(outputs)

    def _as_made(self, logits: np.ndarray) -> np.ndarray:
        """Return logits of the kind that the score was fitted to; refuse the other kind."""
        if self.given == "probabilities":
            return _logarithms(logits)
        kind = looks_like(logits)
        if kind == "probabilities" and len(logits) == 1:
            # the logits of a single image can add up to about 1 by chance
            kind = kind if are_probabilities(logits, rounding=1e-6) else ""
        totals = {"probabilities": "1", "percentages": "100", "rounded probabilities": "about 1"}
        if kind in totals:
            raise ValueError(
                f"logits: no value is negative and every row sums to {totals[kind]}, so these are "
                f"{kind}, but the rejector was made from logits; give it the inputs of the softmax"
            )
        return logits

    def accepts(
        self, outputs: Outputs | ArrayLike, features: ArrayLike | None = None
    ) -> np.ndarray:
        """Return whether the score of each image is at least the threshold, bool [N].

        Parameters and errors are as in `score_samples`.
        """
        return self.score_samples(outputs, features) >= self.threshold

    def _thresholds(self, logits: np.ndarray, by_answer: bool) -> np.ndarray:
        """Return the threshold of each image."""
        if not by_answer:
            return np.full(len(logits), float(self.threshold))
        if self.by_answer is None:
            raise ValueError(
                "by_answer: this rejector has no threshold for single answers: none has enough "
                "validation images, or the guarantee is for no risk, or also for unknown or new "
                "images. Leave it out, or audit again with a risk, more images, a larger risk, or "
                "no share"
            )
        return self.by_answer[logits.argmax(axis=1)]

    def p_values(self, scores: ArrayLike) -> np.ndarray:
        """Return the share of known images with a score as low or lower, float64 [N].

        The value of a known image is at most t with a probability of at most t (Bates et al. 2023).

        >>> rule = Rejector(helpers.scores.create("msp"), 0.9, 2, known=np.array([0.5, 0.7, 0.9]))
        >>> rule.p_values([0.4, 0.7, 1.0])
        array([0.25, 0.75, 1.  ])
        """
        return conformal_p_values(self.known_scores(), scores)

    @property
    def scores(self) -> list[Score]:
        """Its fitted scores: of the threshold, and the detector if there is one."""
        return [self.score] if self.detector is None else [self.score, self.detector]

    @property
    def unit(self) -> str:
        """Noun for one row of data."""
        return self.provenance.get("unit", IMAGE)

    def known_scores(self) -> np.ndarray:
        """Return the sorted scores of known images; refuse a rejector without such scores."""
        if self.known is None:
            raise ValueError(
                "known: this rejector does not contain scores of known images; audit again"
            )
        return self.known

    def judge(
        self, logits: ArrayLike, features: ArrayLike | None = None, *, by_answer: bool = False
    ) -> pd.DataFrame:
        """Return the verdict on each image: accepted, label, confidence, score, p_value, reason.

        The confidence is the largest probability at the temperature of the audit.  `p_value`
        exists if the rejector has scores of known images.  Parameters and errors are as in
        `accepts`, without `Outputs`.
        """
        import pandas as pd  # scores alone do not need it

        scores = self.score_samples(logits, features)
        logits = self._as_made(np.asarray(logits, np.float32))
        names = self.provenance.get("class_names") or range(self.classes)
        thresholds = self._thresholds(logits, by_answer)
        accepted = scores >= thresholds
        title = self.score.info.title
        temperature = self.provenance.get("temperature", 1.0)
        judged = pd.DataFrame({"accepted": accepted})
        judged["label"] = [names[number] for number in logits.argmax(axis=1)]
        judged["confidence"] = calibration.softmax(logits, temperature).max(axis=1)
        judged["score"] = scores
        if self.known is not None:
            judged["p_value"] = self.p_values(scores)
        judged["reason"] = [
            f"{title} {score:.6g} is {'at least' if kept else 'below'} {threshold:.6g}"
            for score, kept, threshold in zip(scores, accepted, thresholds, strict=True)
        ]
        return judged

    def save(self, path: str | os.PathLike) -> None:
        """Write one safetensors file, whole or not at all: arrays, and other values as JSON."""
        for score in self.scores:
            if score.info.fits and getattr(score, "_shape", ()) is None:
                raise ValueError(f"score: '{score.info.name}' is not fitted yet, call fit first")
        tensors, information = self._packed()
        checkpoints.save(path, tensors, **information)

    def _packed(self) -> tuple[dict[str, np.ndarray], dict]:
        """Return the arrays of a file by name, and all other values in plain JSON."""
        name = self.score.info.name
        tensors: dict[str, np.ndarray] = {}
        information = {"rejector": _VERSION, "score": name}
        information["state"] = pack(vars(self.score), name, tensors)
        if self.detector is not None:
            information["detector"] = self.detector.info.name
            information["detector_state"] = pack(vars(self.detector), "detector", tensors)
        for array in _ARRAYS:
            information[array] = pack(getattr(self, array), array, tensors)
        for saved in _SAVED:
            information[saved] = getattr(self, saved)
        information["threshold"] = float(self.threshold)  # JSON has no numbers of NumPy
        return tensors, information

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rejector):
            return NotImplemented
        tensors, information = self._packed()
        other_tensors, other_information = other._packed()
        same = information == other_information and tensors.keys() == other_tensors.keys()
        return same and all(np.array_equal(tensors[name], other_tensors[name]) for name in tensors)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Rejector({self.score.info.title} >= {self.threshold:.6g}, {self.classes} classes)"

    @classmethod
    def load(cls, path: str | os.PathLike) -> Rejector:
        """Return the rejector of a file of `save`; code in the file is never executed.

        Raises
        ------
        FileNotFoundError
            The file does not exist.
        ValueError
            Damaged file, no rejector, other version of the format, score that cannot be used.
        """
        try:
            tensors, saved = checkpoints.load(path, framework="np")
        except RecursionError as error:
            raise ValueError(f"{path}: no rejector expected here, but nested lists") from error
        if not isinstance(saved, dict) or "rejector" not in saved:
            raise ValueError(f"{path}: no rejector expected here; give a file of `Rejector.save`")
        if saved["rejector"] != _VERSION:
            raise ValueError(
                f"{path}: version {_VERSION} of the format expected, got {saved['rejector']}; "
                "read it with the version of this package that wrote it"
            )
        try:
            detector = None
            if "detector" in saved:
                detector = _unpacked(saved["detector"], saved["detector_state"], tensors)
            rejector = cls(
                _unpacked(saved["score"], saved["state"], tensors),
                detector=detector,
                **{array: unpack(saved.get(array), tensors) for array in _ARRAYS},
                **{field: saved[field] for field in _SAVED},
            )
            for score in rejector.scores:
                if not {"members", "native"}.intersection(score.info.needs):
                    rejector._try_out(score)
            return rejector
        except KeyError as error:
            raise ValueError(f"{path}: {error} is missing; write the file again") from error
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        except (AttributeError, IndexError, MemoryError, OverflowError, RecursionError,
                TypeError) as error:  # fmt: skip
            raise ValueError(f"{path}: its score cannot be read ({error})") from error

    def _try_out(self, score: Score) -> None:
        """Refuse a score that fails on an image, or returns no finite number."""
        logits = np.zeros((1, self.classes))
        features = np.zeros((1, self.width or 0))
        with np.errstate(all="ignore"):
            scored = score.score_samples(Outputs(logits, features, np.zeros(1, int)))
        if not np.isfinite(scored).all():
            raise ValueError(f"of an image of zeros its score is {scored[0]}; write the file again")


def _unpacked(name: str, state, tensors: Mapping[str, np.ndarray]) -> Score:
    """Return a fitted score from its name and its state in a file."""
    score = helpers.scores.create(name)
    fields = unpack(state, tensors)
    if not isinstance(fields, dict):
        raise TypeError("names with values expected")
    vars(score).update(fields)
    return score


def _check_size(name: str, value: int, *, least: int) -> None:
    """Refuse a number of classes or features that no model has."""
    if whole_number(name, value, least=least) > MOST:
        raise ValueError(f"{name}: at most {MOST} expected, got {value}")


def _logarithms(probabilities: np.ndarray) -> np.ndarray:
    """Return the logarithms of probabilities; logarithms stay, and other numbers are refused."""
    if are_probabilities(probabilities, rounding=2 * ROUNDING):
        return calibration.log_probabilities(probabilities)
    for rows in calibration.row_blocks(probabilities.shape):
        # the exponential of a logit above 1 is always too large, and must not overflow
        probable = np.exp(np.minimum(probabilities[rows], 1, dtype=np.float64))
        if not are_probabilities(probable, rounding=2 * ROUNDING):
            raise ValueError(
                "logits: the rejector was made from probabilities, but these are not probabilities "
                "(no value negative, every row sums to 1) and not their logarithms; give it the "
                "softmax"
            )
    return probabilities
