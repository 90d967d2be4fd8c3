"""Answers of several classes: how many they name, and what is promised of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helpers.metrics.guarantees import conditional_coverage
from helpers.metrics.prediction_sets import (
    SetRule,
    choose_penalty,
    prediction_sets,
    set_rule,
)
from helpers.outputs import Outputs
from helpers.scores.calibration import softmax
from known_unknowns.auditing.thresholds import share


@dataclass(frozen=True)
class Sets:
    """The rule of which classes an answer names, and what it does on the measuring half.

    Attributes
    ----------
    wished : float
        The probability with which the true class is among them, at least, on average over draws of
        validation images.
    problem : str
        Why there is no rule; else empty, and NaN or 0 below.
    most, penalty, free : float, float and int
        `helpers.metrics.prediction_sets.SetRule`, of probabilities at the audit's temperature.
    conditional : float
        What this draw of validation images promises with the wished confidence.
    size : float
        Classes in a set, on average.
    single, covered : (float, float, float)
        Share of the sets with one class, and of those with the true one, with the ends of exact
        95 % intervals that take the rule for given.
    """

    wished: float
    problem: str = ""
    most: float = np.nan
    penalty: float = 0.0
    free: int = 1
    conditional: float = np.nan
    size: float = np.nan
    single: tuple[float, float, float] = (np.nan,) * 3
    covered: tuple[float, float, float] = (np.nan,) * 3


def find_sets(
    validation: Outputs,
    choosing: np.ndarray,
    measuring: np.ndarray,
    temperature: float,
    coverage: float,
    confidence: float,
) -> Sets:
    """Return the rule: the choosing half chooses the penalty, the measuring half sets the rest."""

    def part(places):
        return softmax(validation.logits[places], temperature), validation.labels[places]

    try:
        penalty, free = choose_penalty(*part(choosing), coverage=coverage)
        probabilities, labels = part(measuring)
        rule = set_rule(probabilities, labels, coverage=coverage, penalty=penalty, free=free)
    except ValueError as error:
        return Sets(coverage, str(error).partition(": ")[2])
    named = prediction_sets(probabilities, rule)
    sizes = named.sum(axis=1)
    return Sets(
        coverage, "", *rule,
        conditional=conditional_coverage(len(labels), coverage=coverage, confidence=confidence),
        size=float(sizes.mean()),
        single=share(sizes == 1),
        covered=share(named[np.arange(len(labels)), labels]),
    )  # fmt: skip


def name_sets(logits: np.ndarray, names, temperature: float, rule: SetRule) -> list[str]:
    """Return the classes that each answer names, the most probable first, with bars between."""
    probabilities = softmax(logits, temperature)
    named = prediction_sets(probabilities, rule)
    order = np.argsort(-probabilities, axis=1, kind="stable")
    return [
        "|".join(str(names[one]) for one in ranked if own[one])
        for ranked, own in zip(order, named, strict=True)
    ]
