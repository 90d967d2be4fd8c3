"""All that is said without labels of 10,000 images, with 200 meta sets: seconds, memory, growth.

Everything of `helpers.labelfree` that a user's unlabelled images go through: the estimators, fitted
and asked; accuracy; bounds and estimates of the share; lists; a plan of labels.  On one core; the
goals are 20 CPU seconds, 1 GiB beyond what was there before, and growth with the number of images
to the power of 1.1 at most.

    OMP_NUM_THREADS=1 python -m benchmarks.labelfree
"""

from __future__ import annotations

import sys
from time import process_time

import numpy as np

from benchmarks.growth import Peak
from helpers import labelfree

IMAGES, SETS, VALIDATION, CLASSES = 10_000, 200, 2_000, 10
SECONDS, MEBIBYTES, EXPONENT = 20, 1024, 1.1
GROWING = (10_000, 20_000, 40_000, 80_000)


def world(images: int, sets: int = SETS, seed: int = 0):
    """Return validation scores, a mixture, meta sets, and the answers for the first two."""
    generator = np.random.default_rng(seed)
    unknown = {str(i): generator.normal(-generator.uniform(0, 4), 1, 400) for i in range(sets)}
    meta = labelfree.MetaSets(generator.normal(size=VALIDATION), unknown)
    scores = [generator.normal(size=VALIDATION),
              generator.normal(size=images) - 2 * (generator.random(images) < 0.3)]  # fmt: skip
    answers = []
    for one in scores:
        logits = generator.normal(size=(len(one), CLASSES))
        logits[:, 0] += 3 + one
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        answers.append(labelfree.Answers(shares / shares.sum(axis=1, keepdims=True)))
    return *scores, meta, *answers


def tasks(images: int, sets: int = SETS) -> dict:
    """Return functions of nothing, by name: what is asked once the estimators are fitted."""
    validation, mixture, meta, ours, theirs = world(images, sets)
    classes = np.arange(len(validation)) % CLASSES
    said = theirs.probabilities.argmax(axis=1)
    correct = ours.probabilities.argmax(axis=1) == 0
    sure = theirs.probabilities.max(axis=1)
    plan = labelfree.choose_to_label(sure, 200)
    fitted = {name: fit(validation, meta) for name, fit in labelfree.ESTIMATORS.items()}
    return {name: lambda one=one: one.estimate(mixture) for name, one in fitted.items()} | {
        "share_bound": lambda: labelfree.share_bound(validation, mixture),
        "dkw_share_bound": lambda: labelfree.dkw_share_bound(validation, mixture),
        "estimate_share": lambda: labelfree.estimate_share(validation, mixture),
        "label_shift_share_bound": lambda: labelfree.label_shift_share_bound(
            validation, classes, mixture
        ),
        "estimate_class_shares": lambda: labelfree.estimate_class_shares(
            validation, classes, classes, mixture, said
        ),
        "suspected_unknown": lambda: labelfree.suspected_unknown(
            validation, mixture, adaptive=True
        ),
        "estimate_accuracy": lambda: labelfree.estimate_accuracy(ours, correct, theirs),
        "accuracy_of_accepted": lambda: labelfree.accuracy_of_accepted(
            ours, correct, theirs, (validation > -2, mixture > -2), share=0.3
        ),
        "choose_to_label": lambda: labelfree.choose_to_label(sure, 200),
        "labelled_accuracy": lambda: labelfree.labelled_accuracy(plan, sure, np.ones(200)),
    }


def cpu_seconds(task, times: int = 3) -> float:
    """Return the least CPU time of a few calls."""
    spent = []
    for _ in range(times):
        start = process_time()
        task()
        spent.append(process_time() - start)
    return min(spent)


def exponent(images, seconds) -> float:
    """Return the power of N that seconds grow with, by least squares on logarithms.

    >>> round(exponent([10, 20, 40], [1, 4, 16]), 6)
    2.0
    """
    return float(np.polyfit(np.log(images), np.log(seconds), 1)[0])


def main() -> None:
    """Measure, print, and end with an error where a goal is missed."""
    with Peak() as peak:
        start = process_time()
        for task in tasks(IMAGES).values():
            task()
        spent = process_time() - start
    print(f"{IMAGES:,} images, {SETS} meta sets, all: {spent:.1f} CPU s, {peak.mebibytes:.0f} MiB")
    grown = {}
    for images in GROWING:
        for name, task in tasks(images, sets=20).items():
            grown.setdefault(name, []).append(cpu_seconds(task))
    powers = {name: exponent(GROWING, one) for name, one in grown.items()}
    for name, power in powers.items():
        print(f"{name:24s} {1e3 * grown[name][0]:8.1f} ms, grows with N to the power {power:.2f}")
    worst = max(powers.values())
    if spent > SECONDS or peak.mebibytes > MEBIBYTES or worst > EXPONENT:
        sys.exit(f"goals missed: {SECONDS} CPU s, {MEBIBYTES} MiB, power {EXPONENT}")


if __name__ == "__main__":
    main()
