"""The estimators of `helpers.labelfree` on the mixtures of the chapter.

The share of unknown images is one half and known, as in the paper's protocol; or it is drawn for
each set and nobody knows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from helpers.labelfree import ESTIMATORS, Estimate, MetaSets
from helpers.labelfree.estimates import FEWEST, PREDICTED
from helpers.papers.gscore.mixtures import (
    PRIMARY,
    DetectorScores,
    Variant,
    choose_images,
    metrics_by_confidence,
)
from helpers.papers.gscore.skills import DRAWN, ESTIMATED, KNOWN
from helpers.report import results

if TYPE_CHECKING:
    from helpers.papers.gscore.parameters import Parameters

_Told = dict[str, dict[str, np.ndarray]]  # by metric and by what of an estimate, one a tested set


def evaluate_estimators(
    detector: DetectorScores,
    confidence: DetectorScores,
    divisions: Sequence[tuple[np.ndarray, np.ndarray]],
    parameters: Parameters,
) -> dict[tuple[str, int, str], _Told | str]:
    """Let every estimator answer for the test sets of every division.

    Parameters
    ----------
    detector, confidence : DetectorScores
        Of the detector, and MSP of the same images.
    divisions : sequence of (ndarray, ndarray)
        Numbers of the sets that teach, and of those that test.
    parameters : Parameters

    Returns
    -------
    dict of (variant, run, estimator) to dict or str
        By metric, ``value``, ``low`` and ``high`` of each of the ``sets`` that test and whose
        mixtures have the 50 images that an estimate takes; or why there is none.  Where the share
        is drawn nobody is told it, but for ``prior_corrected``: with `ESTIMATED`, which estimates
        it, it shows what the knowledge is worth.

    Notes
    -----
    What needs no meta sets says the same of a set in all divisions, and is asked once.
    """
    level, found = parameters.level, {}
    sets, validation = list(detector.sets.values()), detector.validation
    for name, variant in ((KNOWN, PRIMARY), (DRAWN, Variant("mixed", drawn=True))):
        places = choose_images(detector, parameters, variant)["test"]
        shares = [len(theirs) / (len(ours) + len(theirs)) for ours, theirs in places.values()]
        mixed = [np.concatenate(pair) for pair in detector.mixtures("test", places)]
        guesses = metrics_by_confidence(detector, confidence, "test", places)
        usable = np.array([len(one) >= FEWEST for one in mixed])
        asked = np.unique(np.concatenate([tested for _, tested in divisions]))
        if not all(usable[tested].any() for _, tested in divisions):
            continue  # of fewer images than that nobody estimates anything
        corrected = {"prior_corrected": {}, ESTIMATED: {}}
        for number in asked[usable[asked]]:
            for own, share in zip(corrected, (shares[number], None), strict=True):
                fitted = ESTIMATORS["prior_corrected"](validation, share=share)
                corrected[own][number] = fitted.estimate(mixed[number], level=level)
        for run, (learnt, tested) in enumerate(divisions):
            tested = tested[usable[tested]]
            told = {own: [said[number] for number in tested] for own, said in corrected.items()}
            told["confidence"] = [
                {metric: Estimate(*[guesses[metric][number]] * 3) for metric in PREDICTED}
                for number in tested
            ]
            meta = MetaSets(detector.known["meta"], {str(i): sets[i] for i in learnt})
            for own in ("constant", "gscore", "curve_regression"):
                try:
                    fitted = ESTIMATORS[own](validation, meta, share=0.5 if name == KNOWN else None)
                    told[own] = [fitted.estimate(mixed[number], level=level) for number in tested]
                except ValueError as error:  # of this estimator; the others have their numbers
                    found[name, run, own] = f"{type(error).__name__}: {error}"
            for own, answers in told.items():
                found[name, run, own] = {
                    metric: dict(
                        zip(("value", "low", "high"),
                            np.transpose([one[metric] for one in answers]), strict=True)
                    ) | {"sets": tested, "images": np.array([len(mixed[i]) for i in tested])}
                    for metric in PREDICTED
                }  # fmt: skip
    return found


def rows_of_estimators(
    detector: str,
    said: Mapping[tuple[str, int, str], _Told | str],
    truths: Mapping[str, np.ndarray],
    divisions: Sequence[tuple[np.ndarray, np.ndarray]],
    names: Sequence[str],
) -> Iterator[dict]:
    """Yield what estimators say, the variants being `KNOWN` and `DRAWN`, a run a division.

    * ``predicted_METRIC`` of each set that tests.
    * On ``all`` sets ``rmse_``, ``coverage_`` and ``width_METRIC``, or ``failed``; coverage and
      width of all but ``confidence``, which has no intervals.
    """
    for (variant, run, estimator), metrics in said.items():
        place = {"method": f"{detector}/{estimator}", "variant": variant, "run": run}
        if isinstance(metrics, str):
            yield results.row("all", "failed", 1.0, 1, notes=metrics, **place)
            continue
        for metric, one in metrics.items():
            sets, images = one["sets"], one["images"]
            truth = truths[metric][sets]
            for number, value, count in zip(sets, one["value"], images, strict=True):
                yield results.row(names[number], f"predicted_{metric}", value, count, **place)
            numbers = {"rmse": np.sqrt(np.mean((one["value"] - truth) ** 2))}
            if estimator != "confidence":
                numbers["coverage"] = np.mean((one["low"] <= truth) & (truth <= one["high"]))
                numbers["width"] = np.mean(one["high"] - one["low"])
            for name, value in numbers.items():
                yield results.row("all", f"{name}_{metric}", value, images.sum(), **place)
