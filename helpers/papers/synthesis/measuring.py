"""How good what a model and a score say is, by the metrics of the five papers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from helpers import metrics
from helpers.labelfree import TAUS, Regression, draw_places, fit_regression, gscores
from helpers.metrics.thresholds import DETECTION_ERROR_RATES
from helpers.papers.synthesis.roles import Protocol
from helpers.papers.synthesis.seeing import Seen, cost
from helpers.papers.unknown_detection.detectors import Answer
from helpers.papers.unknown_detection.experiment import union
from helpers.report import results
from helpers.scores import Score, openset
from helpers.scores.calibration import scale_outputs
from helpers.scores.openset import OpenMax

EVALUATOR = "ude_wasserstein"
"""Makes a Gscore of unlabelled images: the paper's best."""


def of_algorithm(found: Seen, protocol: Protocol) -> Iterator[dict]:
    """Yield the rows of a model alone, whatever the score."""
    test = found.outputs["test"]
    chances, labels = test.probabilities, test.labels
    for metric, value in (
        ("accuracy", metrics.accuracy(chances, labels)),
        ("nll", metrics.nll(scale_outputs(test).probabilities, labels)),  # no logarithm of 0
        ("ece", metrics.ece(chances, labels, bins=protocol.bins)),
        ("brier", metrics.brier(chances, labels)),
        ("parameters", found.model.parameters),
        ("passes", found.model.cost),
    ):
        yield {"method": found.model.name} | results.row("test", metric, value, len(test))


def of_score(
    score: Score,
    found: Seen,
    values: Mapping[str, np.ndarray],
    protocol: Protocol,
    draw: Mapping[str, np.ndarray],
) -> Iterator[dict]:
    """Yield the rows of a model with a score.

    Parameters
    ----------
    score : Score
    found : Seen
    values : mapping of str to ndarray
        From `scored`.
    protocol : Protocol
    draw : mapping of str to ndarray
        Bootstrap weights of each test set.

    Yields
    ------
    dict
        The AURC and the AUROC of all test images have replicates, those of one far set none.
    """
    name = score.info.name
    answers = {key: Answer(values[key], correct) for key, correct in found.correct.items()}
    groups = {"near": ["near"], "far": list(found.far), "union": list(found.unknown)}
    rows = [
        *_areas(answers, groups | {key: [key] for key in found.far}, draw),
        *_errors(found, values),
        *_confusion(values, protocol),
        *_open_set(found, values, protocol),
        results.row("test", "passes", cost(score, found), len(values["test"])),
    ]
    prediction = gscore_line(values, found, protocol)
    if prediction is not None:
        line, gscore = prediction
        value = line.predict([gscore])[0]  # may lie outside [0, 1]
        rows.append(results.row("union", "predicted_auroc", value, 2 * len(values["test"])))
    rows += [{"variant": "paper"} | row for row in _open_set_as_printed(name, found, protocol)]
    for row in rows:
        yield {"method": f"{found.model.name}/{name}"} | row


def _areas(
    answers: Mapping[str, Answer],
    groups: Mapping[str, Sequence[str]],
    draw: Mapping[str, np.ndarray],
) -> Iterator[dict]:
    """Yield AURC, AUROC and false positive rate: of the ID test images and of each group."""
    test = answers["test"].confidence
    for name, others in ({"test": []} | groups).items():
        together = union(answers, ["test", *others])
        replicates = ()
        if name in ("test", "union"):
            weights = np.concatenate([draw[one] for one in ["test", *others]], axis=1)
            replicates = metrics.weighted_aurc(together.confidence, together.correct, weights)
        area = metrics.aurc(together.confidence, together.correct)
        yield results.row(name, "aurc", area, len(together.correct), replicates)
    for name, others in groups.items():
        unknown, replicates = union(answers, others).confidence, ()
        if name in ("near", "far"):
            weights = np.concatenate([draw[one] for one in others], axis=1)
            replicates = metrics.weighted_auroc(test, unknown, draw["test"], weights)
        images = len(test) + len(unknown)
        yield results.row(name, "auroc", metrics.auroc(test, unknown), images, replicates)
        yield results.row(name, "fpr_at_tpr", metrics.fpr_at_tpr(test, unknown), images)


def _errors(found: Seen, values: Mapping[str, np.ndarray]) -> Iterator[dict]:
    """Yield the detection error rates, means over the test sets."""
    right = values["train"][found.outputs["train"].correct]
    for metric, keep in DETECTION_ERROR_RATES.items():
        threshold = metrics.rejection_threshold(right, keep=keep)
        rates = [
            metrics.detection_error_rate(values[name], correct, threshold)
            for name, correct in found.correct.items()
        ]
        images = sum(len(correct) for correct in found.correct.values())
        yield results.row("average", metric, np.mean(rates), images)


def _confusion(values: Mapping[str, np.ndarray], protocol: Protocol) -> Iterator[dict]:
    """Yield what a threshold from validation images makes of the test images and the near ones."""
    threshold = metrics.rejection_threshold(values["validation"], keep=protocol.keep)
    shares = metrics.domain_confusion(values["test"], values["near"], threshold)
    yield results.row("near", "in_as_in", shares.InAsIn, len(values["test"]))
    yield results.row("near", "out_as_out", shares.OutAsOut, len(values["near"]))


def _open_set(found: Seen, values: Mapping[str, np.ndarray], protocol: Protocol) -> Iterator[dict]:
    """Yield how well K + 1 probabilities are calibrated, that of "unknown" by the score.

    The other classes of the data set are the unknown ones, about as many as the known ones.
    """
    held = values["validation"], values["external_validation"]
    unknown, chances, labels = (
        np.concatenate([part(name) for name in ("test", "near")])
        for part in (
            lambda name: unknown_probability(values[name], *held),
            lambda name: found.outputs[name].probabilities,
            lambda name: found.outputs[name].labels,
        )
    )
    whole = np.column_stack([chances * (1 - unknown)[:, None], unknown])
    yield from _open_set_rows(whole, labels, openset.openmax_answer(whole), protocol)


def _open_set_as_printed(name: str, found: Seen, protocol: Protocol) -> Iterator[dict]:
    """Yield the same by the two rules of the chapter on open sets, for the scores that they are."""
    if name not in ("msp", "openmax"):
        return
    labels = np.concatenate([found.outputs[key].labels for key in ("test", "near")])
    if name == "msp":
        held, *tested = (found.outputs[key].probabilities for key in ("validation", "test", "near"))
        threshold = metrics.rejection_threshold(held.max(axis=1), keep=protocol.keep)
        chances = np.concatenate(tested)
        answers = openset.open_set_answer(chances, threshold)
        whole = np.column_stack([chances, openset.unknown_probability(chances)])
    else:
        train = found.outputs["train"]
        model = OpenMax().fit(train.logits, train.labels)
        logits = [found.outputs[key].logits for key in ("test", "near")]
        whole = model.probabilities(np.concatenate(logits))
        answers = openset.openmax_answer(whole)
    yield from _open_set_rows(whole, labels, answers, protocol)


def _open_set_rows(
    whole: np.ndarray, labels: np.ndarray, answers: np.ndarray, protocol: Protocol
) -> Iterator[dict]:
    known, unknown = whole[:, :-1], whole[:, -1]
    error = metrics.open_set_brier(known, unknown, labels)
    yield results.row("near", "open_set_brier", error, len(labels))
    error = metrics.open_set_ece(known, unknown, labels, answers, bins=protocol.bins)
    yield results.row("near", "open_set_ece", error, len(labels))


def unknown_probability(values, known, unknown) -> np.ndarray:
    r"""Return the probability of "unknown" that a score stands for, by Platt's scaling.

    .. math:: p_{\mathrm{unknown}} = \frac{1}{1 + e^{a s + b}}, \quad a \ge 0,

    with a and b of the least cross-entropy on held-out images, known and unknown ones with the
    same weight in all: as many of both are expected.  A score that ranks the held-out unknown
    images above the known ones gets :math:`a = 0`: it says nothing, and the order of images is
    never turned round.

    Parameters
    ----------
    values : array_like, shape [N]
        Scores, higher = more likely known.
    known, unknown : array_like, shape [P] and [U]
        Scores of held-out images.

    Returns
    -------
    ndarray of float64, shape [N]

    Notes
    -----
    Platt 1999, with his targets: a little less than 1 and more than 0, so that a is finite
    where the score tells the held-out images apart without a mistake.

    Examples
    --------
    >>> unknown_probability([-9, 0, 9], [0, 1, 2], [0, -1, -2]).round(2)
    array([1. , 0.5, 0. ])
    >>> unknown_probability([-9, 9], [0, 1], [2, 3])  # the wrong way round
    array([0.5, 0.5])
    """
    known, unknown = (np.asarray(one, dtype=np.float64) for one in (known, unknown))
    both = np.concatenate([known, unknown])
    low, centre, high = np.quantile(both, [0.25, 0.5, 0.75])  # a distance may have far outliers
    scale = high - low or both.std() or 1.0
    standard = (both - centre) / scale
    counts = np.array([len(known), len(unknown)])
    wanted = np.repeat([(counts[0] + 1) / (counts[0] + 2), 1 / (counts[1] + 2)], counts)
    weights = np.repeat(0.5 / counts, counts)

    def loss(line: np.ndarray) -> tuple[float, np.ndarray]:
        exponent = line[0] * standard + line[1]
        value = -(weights * (wanted * log_expit(exponent) + (1 - wanted) * log_expit(-exponent)))
        slope = weights * (expit(exponent) - wanted)
        return value.sum(), np.array([slope @ standard, slope.sum()])

    found = minimize(loss, [1.0, 0.0], jac=True, bounds=[(0, None), (None, None)])
    slope, offset = found.x
    return expit(-(slope * (np.asarray(values, dtype=np.float64) - centre) / scale + offset))


def gscore_line(
    values: Mapping[str, np.ndarray], found: Seen, protocol: Protocol
) -> tuple[Regression, float] | None:
    """Return the line that predicts an AUROC without labels, and the Gscore of the test images.

    The line is learnt from the validation images mixed with those of each family.  What it is
    applied to are the ID test images mixed with as many unknown ones, drawn from all sets.

    Parameters
    ----------
    values : mapping of str to ndarray
        From `scored`.
    found : Seen
    protocol : Protocol

    Returns
    -------
    (Regression, float) or None
        None where there is no line: the score is the same for all images of a mixture, or its
        Gscore for all mixtures.

    Notes
    -----
    Zhang et al. 2023; the validation images are also those that the evaluator learns from.
    """
    known, unknown = values["validation"], np.concatenate([values[one] for one in found.unknown])
    count = min(len(values["test"]), len(unknown))
    chosen = unknown[draw_places("union", len(unknown), count, protocol.seed)]
    mixtures = [
        *(np.concatenate([known, values[name]]) for name in found.families),
        np.concatenate([values["test"], chosen]),
    ]
    if np.ptp(known) == 0 or any(np.ptp(one) == 0 for one in mixtures):
        return None
    *learnt, wanted = (gscores(one, [EVALUATOR], validation=known)[EVALUATOR] for one in mixtures)
    if not np.ptp(learnt, axis=0).any():
        return None
    truths = [metrics.auroc(known, values[name]) for name in found.families]
    line = fit_regression(learnt, truths, TAUS)
    return line, float(wanted[TAUS == line.tau][0])
