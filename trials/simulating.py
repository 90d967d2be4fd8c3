"""A promise put to the test: how often it is broken, of so many draws from worlds made up."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

SURE = 0.999  # of a verdict, so that a run of this file is wrong about one row in hundreds
WORLD = Callable[[np.random.Generator], object]


@dataclass(frozen=True)
class Promise:
    """What is promised, and worlds in which it is put to the test.

    Attributes
    ----------
    place : str
        The function that makes it.
    allowed : float
        α: the share of draws for which it may be false.
    worlds : mapping of str to callable
        By what they are like.  Each takes a generator and returns whether one draw breaks the
        promise: None where nothing was promised, a share where a draw breaks it in part.
    draws : int
        In each world.
    hard : str
        The world in which as much of α as `least` must be used up.
    least : float
    slack : float
        By which a promise that holds for many images only may miss α.
    why : str
        Why `least` is small, or there is a `slack`.
    """

    place: str
    allowed: float
    worlds: Mapping[str, WORLD]
    draws: int
    hard: str
    least: float = 0.5
    slack: float = 0.0
    why: str = ""


def simulate(name: str, promise: Promise, *, seed: int = 0, share: float = 1.0) -> list[dict]:
    """Return a row for each world of a promise.

    Parameters
    ----------
    name : str
    promise : Promise
    seed : int
    share : float
        Of the draws that are made.
    """
    rows, draws = [], max(20, round(share * promise.draws))
    for world, draw in promise.worlds.items():
        generator = np.random.default_rng([seed, zlib.crc32(f"{name}/{world}".encode())])
        broken = np.array([float(draw(generator)) for _ in range(draws)])
        # of shares in [0, 1] the variance is at most that of as many yes and no
        limit = binom.ppf(SURE, draws, promise.allowed + promise.slack) / draws
        found = {
            "promise": name, "place": promise.place, "world": world, "draws": draws,
            "allowed": promise.allowed, "broken": round(float(broken.mean()), 5),
            "kept": bool(broken.mean() <= limit), "wasteful": "", "why": promise.why,
        }  # fmt: skip
        if world == promise.hard:
            floor = binom.ppf(1 - SURE, draws, promise.least * promise.allowed) / draws
            found["wasteful"] = "no" if broken.mean() >= floor else "yes"
            if not promise.least:
                found["wasteful"] = "known"
        rows.append(found)
    return rows
