"""A monitor that may look at new images every day.

An image is *unlike* the validation images if its score is below the k-th smallest of the n scores
that a rejector keeps. A known image is unlike with a probability B that follows
:math:`\\operatorname{Beta}(k, n + 1 - k)`; half of the error probability is for an upper bound b of
B. If at most a share s of the images has changed or is of unknown classes, an image is unlike with
probability at most :math:`p = b + s (1 - b)`.

Against each share s, the evidence is that of `known_unknowns.few_labels.evidence` for some q above
p, with the weight 1 / (j (j + 1)) for a start at look j.  So it ever reaches 2 / α with probability
at most α / 2, as long as the share is at most s.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from helpers.files import atomic_path, check_no_device, locked, sha256_file
from known_unknowns import few_labels
from known_unknowns.auditing.inputs import New
from known_unknowns.auditing.rejector import Rejector

#: Share of the known images that are unlike by chance.
CHANCE = 0.05
#: Probability of any alarm, over all looks, without a reason.
FALSE_ALARMS = 0.05
#: Shares that the monitor tests.
SHARES = np.arange(200) / 200
#: Shares of unlike images, and the number of files, for the number of images until an alarm.
UNLIKE = (0.05, 0.1, 0.2, 0.5)
LOOKS = 100
#: Share of unlike images below the cut that is assumed if no set of unknown images was given.
FOUND = 0.5
_MORE = np.array([0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64])


def rank_of_cut(known: int) -> int:
    """Return the rank, among the scores of known images, of the score that unlike images miss."""
    return max(1, round(CHANCE * known))


def cut_of(known: np.ndarray) -> float:
    """Return the score that unlike images miss, from scores of known images in rising order."""
    return float(known[rank_of_cut(len(known)) - 1])


def evidence(unlike, images, known: int, shares=SHARES) -> np.ndarray:
    """Return the logarithm of the evidence against each share after each look, [T, ..., S].

    `unlike` and `images` have the numbers of each look, [T, ...]; `known` scores set the cut.

    >>> log = evidence([5] * 30 + [15] * 30, [100] * 60, 10_000, shares=[0.02])
    >>> [int(look) for look in np.flatnonzero(log[:, 0] > np.log(2 / FALSE_ALARMS))[:1]]
    [33]
    """
    rank = rank_of_cut(known)
    chance = betaincinv(rank, known + 1 - rank, 1 - FALSE_ALARMS / 2)
    least = (chance + (1 - chance) * np.asarray(shares))[:, None]
    most = least + (1 - least) * _MORE
    look = np.arange(1, len(unlike) + 1)
    return few_labels.evidence(unlike, images, least, most, 1 / (look * (look + 1)))


def look(
    rejector: str | os.PathLike,
    rule: Rejector,
    new: New,
    state: Path,
    *,
    most: float = 0.02,
    acknowledge: bool = False,
) -> dict:
    """Count the unlike images of new outputs, store the count, and return all counts and a bound.

    Equal outputs count once; ``counted`` is whether they were there before. ``bound`` is a share of
    images unlike the validation images that was exceeded at some time, with confidence
    1 − `FALSE_ALARMS` for all looks since the last acknowledged one. Looks of several processes at
    once are all counted.

    Parameters
    ----------
    rejector, state : path
        Rejector with scores of known images, and the stored counts.
    rule, new
        The loaded rejector, and the new outputs.
    most : float
        Share of unlike images without alarm.
    acknowledge : bool
        Whether the reason of an alarm is known: looks until now do not count after this look.

    Raises
    ------
    ValueError
        No scores of known images in the rejector, outputs of another model, no alarm to
        acknowledge, or a state that belongs to another rejector, is damaged or is no state. The
        state is unchanged.
    """
    scores, known = rule.unlike_scores(new.logits, new.features)
    cut = cut_of(known)
    digest = sha256_file(rejector)
    before = read_state(state, digest)  # a refused state does not get a lock
    # a new file must not be acknowledged before anybody has seen its alarm
    if acknowledge and _summary(before.looks, len(known))["bound"] < most:
        raise ValueError(
            f"--acknowledge: {state} does not contain an alarm; call without --acknowledge"
        )
    with changed(state, digest) as stored:
        found = [int((scores < cut).sum()), len(scores)]
        name = new.digest
        counted = name in {**stored.acknowledged, **stored.looks}
        counts = stored.acknowledged.get(name) or stored.looks.setdefault(name, found)
        seen = {"unlike": counts[0], "images": counts[1], "unit": rule.unit, "counted": counted}
        seen |= _summary(stored.looks, len(known))
        sets = rule.provenance.get("unlike_found", {})
        hardest = min(sets, key=sets.__getitem__, default="")
        seen["hardest"] = hardest
        seen["found"] = sets.get(hardest, FOUND)
        seen["title"] = (rule.detector or rule.score).info.title
        seen["until"] = images_until_alarm(len(known), seen["images"], seen["found"], most)
        if acknowledge:
            stored.acknowledged.update(stored.looks)
            stored.looks.clear()
    return seen


def images_until_alarm(
    known: int, images: int, found: float, most: float
) -> dict[float, int | None]:
    """Return after how many images an alarm is expected, for shares of unlike images.

    `images` is the size of a file, and `found` the share of unlike images below the cut.  None is
    for no alarm within `LOOKS` files.

    >>> images_until_alarm(1000, 100, 1.0, 0.02)
    {0.05: 4400, 0.1: 300, 0.2: 100, 0.5: 100}
    """
    rates = np.array([share * found + (1 - share) * CHANCE for share in UNLIKE])
    counts = np.diff(np.round(images * rates * np.arange(LOOKS + 1)[:, None]), axis=0)
    log = evidence(counts, np.full(counts.shape, images), known, [most])[..., 0]
    reached = log >= np.log(2 / FALSE_ALARMS)
    looks = np.where(reached.any(axis=0), reached.argmax(axis=0) + 1, 0).tolist()
    return {share: images * look or None for share, look in zip(UNLIKE, looks, strict=True)}


def _summary(looks: dict[str, list[int]], known: int) -> dict:
    """Return the numbers of looks and of images, and the bound of the share of unlike images."""
    if not looks:
        return {"looks": 0, "total": 0, "bound": 0.0}
    unlike, images = np.array([*looks.values()]).T
    reached = evidence(unlike, images, known).max(axis=0) >= np.log(2 / FALSE_ALARMS)
    bound = float(SHARES[reached].max(initial=0))
    return {"looks": len(looks), "total": int(images.sum()), "bound": bound}


class State(NamedTuple):
    """The content of a state: [unlike, images] by file, and by table [scores, wrong]."""

    looks: dict
    acknowledged: dict
    checked: dict


@contextmanager
def changed(path: Path, digest: str) -> Iterator[State]:
    """Lock and yield the state of the rejector with this checksum; write the changed state."""
    with locked(path.with_name(f".{path.name}.lock")):
        state = read_state(path, digest)
        yield state
        with atomic_path(path) as temporary:
            text = json.dumps({"rejector": digest} | state._asdict(), indent=1)
            temporary.write_text(text, encoding="utf-8")


def read_state(path: Path, digest: str) -> State:
    """Return the state of the rejector with this checksum, empty without a file."""
    check_no_device(path)
    if not path.exists():
        return State({}, {}, {})
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        owner = stored["rejector"]
        state = State(stored["looks"], stored.get("acknowledged", {}), stored.get("checked", {}))
        valid = all(map(_is_look, (*state.looks.values(), *state.acknowledged.values())))
        valid = valid and all(map(_is_table, state.checked.values()))
    except (AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is no state of a monitor; name another file") from error
    if owner != digest:
        raise ValueError(f"{path} belongs to another rejector; name another file")
    if not valid:
        raise ValueError(
            f"{path} is damaged: whole numbers expected, at most as many unlike images as images; "
            "restore a copy, or delete it to begin again"
        )
    return state


def _is_table(columns) -> bool:
    """Return whether a stored table has finite scores, and whether each answer is wrong."""
    scores, wrong = columns
    kinds = {*map(type, scores)} <= {float}, {*map(type, wrong)} <= {bool}
    return all(kinds) and len(scores) == len(wrong) and bool(np.isfinite(scores).all())


def _is_look(counts) -> bool:
    """Return whether counts are two whole numbers, and no more images are unlike than there are."""
    if not isinstance(counts, list) or [*map(type, counts)] != [int, int]:
        return False
    unlike, images = counts
    return 0 <= unlike <= images and 0 < images < 2**53
