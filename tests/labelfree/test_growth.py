"""How long all that is said without labels takes, and how it grows with the number of images."""

import numpy as np
import pytest

from benchmarks.labelfree import cpu_seconds, exponent, tasks

SIZES = (10_000, 40_000)
MOST = 1.75
"""Between n log n and n²: what leaves the processor's caches on a busy machine was seen to grow by
1.5 for a while.  The goal of 1.1 is the benchmark's, on a quiet one."""


def fastest(makers, rounds):
    """CPU seconds of each task at each size, of a few calls the fastest.  The sizes take turns, so
    that a slow moment of the machine does not meet one of them alone."""
    runs = [[cpu_seconds(task, times=1) for task in makers] for _ in range(rounds)]
    return [min(one) for one in zip(*runs, strict=True)]


@pytest.fixture(scope="module")
def grown():
    made = [tasks(images, sets=12) for images in SIZES]
    return {name: fastest([one[name] for one in made], rounds=4) for name in made[0]}


def test_nothing_grows_faster_than_the_images(grown):
    slow = {
        name: round(exponent(SIZES, one), 2)
        for name, one in grown.items()
        if one[1] > 0.01 and exponent(SIZES, one) > MOST
    }
    assert not slow
    assert sum(one[0] for one in grown.values()) < 20  # the goal, here with fewer meta sets


def test_what_compares_all_pairs_is_seen_to():
    """The measure itself: a comparison of all images with each other grows with their square.
    In Python's own numbers, which no cache of the processor makes cheaper when they are few."""
    scores = np.random.default_rng(0).normal(size=1200).tolist()
    sizes = (300, 1200)
    makers = [lambda n=n: sum(a < b for a in scores[:n] for b in scores[:n]) for n in sizes]
    assert exponent(sizes, fastest(makers, rounds=20)) > MOST
