"""Every promise of the project, simulated: how often it is broken, of so many draws.

A promise says that something is false for at most a share α of all draws.  It is *kept* if no more
of them break it than chance explains; and it is not *wasteful* if, in a world that is hard for it,
they break it nearly as often as they may: a bound that is never wrong could have been better.

    python -m trials.promises          # a minute or two; --share 0.1 takes a tenth of the draws
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.special import expit

import trials
from helpers import labelfree, metrics
from helpers.metrics import guarantees, ranks
from known_unknowns.auditing.thresholds import promise_risk
from trials import audit_promises
from trials.simulating import WORLD, Promise, simulate


def interval_of_a_share(total: int, share: float) -> WORLD:
    def world(generator):
        low, high = guarantees.clopper_pearson(int(generator.binomial(total, share)), total)
        return not low <= share <= high

    return world


def selective_risk(wrong: Callable, images: int, risk: float, confidence: float) -> WORLD:
    """Draw scores in [0, 1], and errors by a law of the score; compare the true risk."""
    grid = np.linspace(0, 1, 4001)
    below = np.cumsum(wrong(grid)[::-1]) / np.arange(1, len(grid) + 1)  # risk from the top down

    def world(generator):
        scores = generator.random(images)
        correct = generator.random(images) >= wrong(scores)
        try:
            found = guarantees.risk_threshold(scores, correct, risk=risk, confidence=confidence)
        except ValueError:
            return False  # nothing is promised, and nothing broken
        return below[round((1 - found.threshold) * 4000)] > risk

    return world


def selective_risk_with_unknown(share: float, images: int) -> WORLD:
    """Known images are all right where they score above 0, unknown ones overlap them."""
    risk, confidence = 0.15, 0.8

    def world(generator):
        known, unknown = generator.normal(1.5, 1, images), generator.normal(0, 1, images)
        correct = generator.random(images) < expit(2 * known + 1)
        found = promise_risk(known, correct, {"unknown": unknown}, risk, confidence, unknown=share,
                             seed=int(generator.integers(2**31)))  # fmt: skip
        if found.problem:
            return False
        accepted = [np.mean(one >= found.value) for one in (LARGE + 1.5, LARGE)]
        wrong = np.mean((LARGE + 1.5 >= found.value) * (1 - expit(2 * (LARGE + 1.5) + 1)))
        bad = (1 - share) * wrong + share * accepted[1]
        return bad / ((1 - share) * accepted[0] + share * accepted[1]) > risk

    return world


LARGE = np.random.default_rng(5).normal(size=200_000)
"""So many images that what is found on them is the truth."""


def coverage(images: int, share: float, decimals: int = 15) -> WORLD:
    """The promise is one on average: a draw breaks it as far as it rejects new images."""

    def world(generator):
        scores = generator.random(images + 1).round(decimals)
        return scores[-1] < guarantees.coverage_threshold(scores[:-1], coverage=share)

    return world


def share_of_unknown(bound: Callable, known: int, images: int, share: float, shift: float) -> WORLD:
    def world(generator):
        mixture = generator.normal(size=images)
        mixture[: generator.binomial(images, share)] -= shift
        return bound(generator.normal(size=known), mixture, level=0.8) > share

    return world


def p_value(level: float, known: int) -> WORLD:
    def world(generator):
        found = labelfree.conformal_p_values(generator.random(known), generator.random(20))
        return float(np.mean(found <= level + 1e-12))

    return world


def false_discoveries(share: float, *, adaptive: bool) -> WORLD:
    """A draw breaks the promise by the share of its list that is known."""

    def world(generator):
        unknown = generator.random(400) < share
        known, mixture = generator.normal(size=500), generator.normal(size=400) - 3 * unknown
        chosen = labelfree.suspected_unknown(known, mixture, rate=0.2, adaptive=adaptive).chosen
        return labelfree.selection_outcome(chosen, unknown)[0] if unknown.any() else chosen.any()

    return world


def labelled(errors: Callable, images: int, budget: int, *, risk: bool = False) -> WORLD:
    """A few labels of many images, whose accuracy is known to who made them up."""

    def world(generator):
        confidence = generator.beta(4, 1, images)
        correct = generator.random(images) >= errors(confidence)
        plan = labelfree.choose_to_label(confidence, budget, seed=int(generator.integers(2**31)))
        given = plan, confidence, correct[plan.places]
        if risk:
            accepted = confidence > 0.7
            found = labelfree.labelled_risk(*given, accepted, level=0.9)
            return not found.low <= (~correct[accepted]).mean() <= found.high
        found = labelfree.labelled_accuracy(*given, level=0.9)
        return not found.low <= correct.mean() <= found.high

    return world


def accuracy_without_labels(name: str) -> WORLD:
    """The interval is about what the estimator says of infinitely many images."""

    def draw(generator, count, shift):
        logits = generator.normal(size=(count, 5)) * 2
        logits[:, 0] += 2 - shift
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        probabilities = powers / powers.sum(axis=1, keepdims=True)
        drawn = (probabilities.cumsum(axis=1) > generator.random((count, 1))).argmax(axis=1)
        return labelfree.Answers(probabilities), drawn == probabilities.argmax(axis=1)

    generator = np.random.default_rng(6)
    own, correct = draw(generator, 100_000, 0)
    truth = labelfree.estimate_accuracy(own, correct, draw(generator, 100_000, 1)[0])[name].value

    def world(generator):
        own, correct = draw(generator, 400, 0)
        found = labelfree.estimate_accuracy(own, correct, draw(generator, 400, 1)[0])[name]
        return not found.low <= truth <= found.high

    return world


def detector_without_labels(share: float, *, own: bool = False) -> WORLD:
    """The AUROC of images like those of the mixture, or of these very images."""
    of_more = metrics.auroc(LARGE + 1.5, LARGE)

    def world(generator):
        unknown = round(300 * share)
        groups = generator.normal(1.5, 1, 300 - unknown), generator.normal(0, 1, unknown)
        truth = metrics.auroc(*groups) if own else of_more
        fitted = labelfree.fit_prior_corrected(generator.normal(1.5, 1, 300), share=share)
        found = fitted.estimate(np.concatenate(groups), level=0.9)["auroc"]
        return not found.low <= truth <= found.high

    return world


def one_more_set(sets: int) -> WORLD:
    """A line through meta sets, and the metric of one more set that is drawn like them."""

    def world(generator):
        gscores = generator.random(sets + 1)
        truths = np.clip(0.25 + gscores / 2 + 0.05 * generator.normal(size=sets + 1), 0, 1)
        line = labelfree.fit_regression(gscores[:-1, None], truths[:-1], [0.5])
        low, high = line.interval(gscores[-1:], 0.8)
        return not low[0] <= truths[-1] <= high[0]

    return world


def skill_of_many_sets(sets: int) -> WORLD:
    def world(generator):
        errors, guessed = generator.exponential([[0.5], [1.0]], (2, sets))
        found = labelfree.skill_of_errors(errors, guessed, level=0.9)
        return not found.low <= 0.5 <= found.high

    return world


def equal_methods(cases: int, methods: int, *, pairs: bool) -> WORLD:
    """All methods are equally good: a test must not find a difference but by chance."""
    difference = ranks.critical_difference(methods, cases)

    def world(generator):
        values = pd.DataFrame(generator.random((cases, methods)))
        if pairs:
            means = ranks.mean_ranks(values, lower_is_better=True)
            return means.max() - means.min() >= difference
        return ranks.friedman(values, lower_is_better=True).f_p_value <= 0.05

    return world


def resampled_auroc(images: int) -> WORLD:
    truth = metrics.auroc(LARGE + 1, LARGE)

    def world(generator):
        groups = generator.normal(1, 1, images), generator.normal(0, 1, images)
        seeds = generator.integers(2**31, size=2)
        weights = [metrics.resample_weights(images, replicates=200, seed=int(s)) for s in seeds]
        low, high = np.quantile(metrics.weighted_auroc(*groups, *weights), [0.025, 0.975])
        return not low <= truth <= high

    return world


def promises() -> dict[str, Promise]:
    """Return all promises, in words."""
    bound, plain = labelfree.share_bound, labelfree.dkw_share_bound
    few = "with few images an interval of the central limit theorem is a little too short"
    guarded = "several ranks share what may be false; each is exact"
    return {
        "The exact 95 % interval holds a share": Promise(
            "metrics.guarantees.clopper_pearson", 0.05,
            {f"{share:g} of {total}": interval_of_a_share(total, share)
             for total, share in ((20, 0.1), (200, 0.03), (1000, 0.5))},
            4000, "0.5 of 1000",
        ),
        "At most 12 % of what is accepted is wrong, with confidence 80 %": Promise(
            "metrics.guarantees.risk_threshold", 0.2,
            {
                "honest scores": selective_risk(lambda s: 0.5 * (1 - s), 400, 0.12, 0.8),
                "surely wrong at the top": selective_risk(
                    lambda s: np.where(s > 0.97, 0.9, 0.2 * (1 - s)), 400, 0.12, 0.8
                ),
                "in waves": selective_risk(
                    lambda s: np.where(np.floor(s * 12) % 2 == 0, 0.25, 0.01), 400, 0.12, 0.8
                ),
                "just too risky everywhere": selective_risk(
                    lambda s: np.full(np.shape(s), 0.121), 30, 0.12, 0.8
                ),
            },
            1500, "just too risky everywhere",
        ),
        "The same of a mixture with unknown images, at most 15 %": Promise(
            "audit.thresholds.promise_risk", 0.2,
            {f"{share:.0%} unknown": selective_risk_with_unknown(share, 600)
             for share in (0.05, 0.2)},
            400, "20% unknown", least=0.05,
            why="several walks share what may be false, and the risk falls steeply with the score",
        ),
        "A new image is accepted with a probability of 90 %": Promise(
            "metrics.guarantees.coverage_threshold", 0.1,
            {"30 images": coverage(30, 0.9), "199 images": coverage(199, 0.9),
             "30 images with ties": coverage(30, 0.9, 1)},
            6000, "199 images", least=0.9,
        ),
        "The share of unknown images is at least the bound, with 80 %": Promise(
            "labelfree.share_bound", 0.2,
            {"20 %, all of it seen": share_of_unknown(bound, 150, 150, 0.2, 50),
             "none": share_of_unknown(bound, 200, 300, 0, 0),
             "half, hardly seen": share_of_unknown(bound, 100, 400, 0.5, 1)},
            1200, "20 %, all of it seen", least=0.1, why=guarded,
        ),
        "The same by bands of one width": Promise(
            "labelfree.dkw_share_bound", 0.2,
            {"20 %, all of it seen": share_of_unknown(plain, 150, 150, 0.2, 50),
             "none": share_of_unknown(plain, 200, 300, 0, 0)},
            1200, "20 %, all of it seen", least=0.0,
            why="it is here to be compared with, and is known to be wasteful",
        ),
        "The p-value of a known image is at most 10 % in 10 % of draws": Promise(
            "labelfree.conformal_p_values", 0.1,
            {"19 validation images": p_value(0.1, 19), "100": p_value(0.1, 100)},
            4000, "19 validation images", least=0.9,
        ),
        "Of suspected images 20 % are known, on average": Promise(
            "labelfree.suspected_unknown", 0.2,
            {"40 % unknown": false_discoveries(0.4, adaptive=False),
             "5 % unknown": false_discoveries(0.05, adaptive=False),
             "none unknown": false_discoveries(0, adaptive=False)},
            800, "5 % unknown", least=0.7,
        ),
        "The same, with the share of known images estimated": Promise(
            "labelfree.suspected_unknown, adaptive", 0.2,
            {"40 % unknown": false_discoveries(0.4, adaptive=True),
             "80 % unknown": false_discoveries(0.8, adaptive=True)},
            800, "80 % unknown", least=0.7,
        ),
        "A few labels: the 90 % interval of the accuracy of all": Promise(
            "labelfree.labelled_accuracy", 0.1,
            {"calibrated": labelled(lambda c: 1 - c, 1000, 60),
             "surely wrong": labelled(lambda c: np.where(c > 0.95, 0.3, 0.1), 1000, 60),
             "hardly an error": labelled(lambda c: np.full(len(c), 0.01), 1000, 60)},
            1200, "surely wrong", least=0.3, slack=0.02, why=few,
        ),
        "A few labels: that of the risk of what is accepted": Promise(
            "labelfree.labelled_risk", 0.1,
            {"calibrated": labelled(lambda c: 1 - c, 1000, 100, risk=True)},
            1200, "calibrated", least=0.2, slack=0.02, why=few,
        ),
        **{
            f"No labels: the 90 % interval of the estimate by {title}": Promise(
                "labelfree.estimate_accuracy", 0.1,
                {"400 and 400 images": accuracy_without_labels(name)},
                400, "400 and 400 images", slack=0.03,
                why=few + "; it is not about the accuracy",
            )
            for name, title in labelfree.ACCURACY_ESTIMATORS.items() if name != "agreement"
        },
        "No labels: the 90 % interval of the AUROC at a known share": Promise(
            "labelfree.fit_prior_corrected", 0.1,
            {
                "half unknown": detector_without_labels(0.5),
                "half unknown, these images": detector_without_labels(0.5, own=True),
            },
            200, "half unknown, these images", least=0.3, slack=0.03, why=few,
        ),
        "The metric of one more set lies in the 80 % interval of a line": Promise(
            "labelfree.Regression.interval", 0.2,
            {"20 sets": one_more_set(20)}, 1500, "20 sets",
        ),
        "The 90 % interval of a skill, by the bootstrap over sets": Promise(
            "labelfree.skill_of_errors", 0.1,
            {"100 sets": skill_of_many_sets(100)}, 1000, "100 sets", slack=0.03, why=few,
        ),
        "Equal methods are told apart in 5 % of experiments": Promise(
            "metrics.ranks.friedman", 0.05,
            {"12 cases of 6 methods": equal_methods(12, 6, pairs=False)},
            1000, "12 cases of 6 methods", slack=0.01,
            why="the law of F is that of many cases",
        ),
        "Any two of equal methods are told apart in 5 %": Promise(
            "metrics.ranks.critical_difference", 0.05,
            {"12 cases of 6 methods": equal_methods(12, 6, pairs=True)},
            1000, "12 cases of 6 methods", least=0.3, slack=0.01,
            why="the law of the studentized range is that of many cases",
        ),
        "The 95 % interval of an AUROC by resampled images": Promise(
            "metrics.weighted_auroc", 0.05,
            {"150 and 150 images": resampled_auroc(150)},
            400, "150 and 150 images", slack=0.02, why=few,
        ),
        **audit_promises.promises(),
    }  # fmt: skip


def main(command_line: list[str] | None = None) -> int:
    """Simulate all, write the table; 1 if a promise is broken or wasteful."""
    parser = argparse.ArgumentParser(prog="python -m trials.promises")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=1.0, help="of the draws")
    arguments = parser.parse_args(command_line)
    rows = []
    for name, promise in promises().items():
        rows += (new := simulate(name, promise, seed=arguments.seed, share=arguments.share))
        for row in new:
            print(f"{name} ({row['world']}): {row['broken']:.3f} of at most {row['allowed']:g}, "
                  f"{row['draws']} draws{'' if row['kept'] else ', BROKEN'}"
                  f"{', WASTEFUL' if row['wasteful'] == 'yes' else ''}", flush=True)  # fmt: skip
    if arguments.share == 1:
        trials.write("promises", [row | {"seed": arguments.seed} for row in rows])
    return 1 if any(not row["kept"] or row["wasteful"] == "yes" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
