"""How many images of each kind are ranked together, and numbers that this does not decide.

The area under the risk–coverage curve grows with the share of unknown images: of two unions of
other compositions, the network that is worse at everything may have the smaller one.  Two numbers
beside it can be compared: the excess over the least area that any ranking of as many right answers
has (E-AURC), and the area where every image counts so often that the kinds have the paper's shares.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from helpers.metrics.selective import harmonic_numbers
from helpers.papers.unknown_detection import PAPER

SIZES = {
    "CIFAR-40": {"test": 4000, "near": 6000, "SVHN": 4000, "LSUN-FIX": 4000, "DTD": 5640},
    "ImageNet-200": {
        "test": 10_000, "near": 10_000, "Food-32": 10_000, "Caltech-45": 4792, "Places-82": 10_000,
    },
}  # fmt: skip
"""Test images of each set in the paper's union, by the paper's benchmark: its Table 2."""

PAPER_UNION = "paper_union"
"""The test set that is the union of ours with the paper's shares."""

_FINE = 50  # times that an image counts which has the paper's weight; others to a whole number


def counts(images: Mapping[str, int], data_set: str) -> dict[str, int] | None:
    """Return how often an image of each test set counts, so that the union is the paper's.

    All far images together count as many as the paper's.  Where each far set is, or stands in for,
    another one of the paper's, their shares are those of these; else all far images count alike.

    Parameters
    ----------
    images : mapping of str to int
        Images of each test set of the union, "test" and "near" among them; the others are far.
    data_set : str
        What is in-distribution.

    Returns
    -------
    dict of str to int, or None
        None where the data set stands for none of the paper's.

    Examples
    --------
    >>> counts({"test": 2000, "near": 6000, "svhn": 4000, "mazes": 6000}, "cifar100")
    {'test': 100, 'near': 50, 'svhn': 68, 'mazes': 68}
    >>> small = {"test": 4000, "near": 6000, "svhn": 4000, "lsun_fix": 4000, "dtd": 1880}
    >>> counts(small, "cifar100")
    {'test': 50, 'near': 50, 'svhn': 50, 'lsun_fix': 50, 'dtd': 150}
    """
    wanted = SIZES.get(PAPER.data_sets.get(data_set, ""))
    if wanted is None:
        return None
    far = [name for name in images if name not in ("test", "near")]
    theirs = [PAPER.test_sets.get(name, name) for name in far]
    whole = sum(size for name, size in wanted.items() if name not in ("test", "near"))
    one_each = len({name for name in theirs if name in wanted}) == len(far)
    parts = [wanted[name] for name in theirs] if one_each else [images[name] for name in far]
    sizes = {name: whole * part / sum(parts) for name, part in zip(far, parts, strict=True)}
    sizes |= {name: wanted[name] for name in ("test", "near")}
    return {name: max(1, round(_FINE * sizes[name] / size)) for name, size in images.items()}


def least_aurc(right: np.ndarray, images: int) -> np.ndarray:
    r"""Return the AURC of the best ranking: all right answers before all others.

    .. math:: \frac1N \sum_{k = R + 1}^{N} \frac{k - R}{k} = \frac{N - R - R (H_N - H_R)}{N}

    Parameters
    ----------
    right : ndarray
        Right answers R among the images, whole numbers.
    images : int
        N.

    Notes
    -----
    Geifman, Uziel and El-Yaniv 2019, section 3.

    Examples
    --------
    >>> least_aurc(np.array([2, 3]), 3).round(4)
    array([0.1111, 0.    ])
    """
    right = np.rint(right).astype(np.int64)
    harmonic = harmonic_numbers(images)[0]
    return (images - right - right * (harmonic[images] - harmonic[right])) / images


def with_excess(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with a row "eaurc" after its rows for each "aurc" of a known composition.

    Right answers are those among the ID test images, by the row "accuracy" of the same network
    and method; so it can be computed of tables that were made before, and of printed numbers.

    Parameters
    ----------
    table : DataFrame
        A results table of this paper, or `printed`.

    Returns
    -------
    DataFrame
        Rows of excess have the replicates of their area, less those of the least one, and name
        both rows that they are computed from.
    """
    cell = ["data_set", "backbone", "run", "method", "variant"]
    accuracy = table[table["metric"] == "accuracy"].set_index(cell)
    areas = table[(table["metric"] == "aurc") & table["images"].notna()]
    found = []
    for record in areas.to_dict("records"):
        key = tuple(record[name] for name in cell)
        if key not in accuracy.index:
            continue
        of = accuracy.loc[key]
        known, total = of["images"], record["images"]
        if record["test_set"] == PAPER_UNION:
            wanted = SIZES[PAPER.data_sets.get(record["data_set"], record["data_set"])]
            known, total = wanted["test"], sum(wanted.values())
        shares = np.append(of["value"], of["bootstrap"])
        least = least_aurc(known * shares, int(total))
        areas_of = np.append(record["value"], record["bootstrap"])
        excess = areas_of - least if len(least) == len(areas_of) else areas_of[:1] - least[:1]
        record |= {"metric": "eaurc", "value": excess[0], "bootstrap": excess[1:]}
        if "row" in record:
            record["row"] = f"{record['row']} {of['row']}"
        found.append(record)
    return pd.concat([table, pd.DataFrame(found, columns=table.columns)], ignore_index=True)


def printed(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return the paper's printed numbers with the excess, and its union under both names.

    Parameters
    ----------
    numbers : DataFrame
        From `helpers.report.published.load`.
    """
    columns = list(numbers.columns)
    sizes = {name: sum(wanted.values()) for name, wanted in SIZES.items()}
    known = numbers["data_set"].map({name: wanted["test"] for name, wanted in SIZES.items()})
    images = known.where(numbers["test_set"] == "test", numbers["data_set"].map(sizes))
    images = images.where(numbers["test_set"].isin(["test", "union"]))
    numbers = numbers.assign(images=images, run=0, variant="", bootstrap=[()] * len(numbers))
    whole = with_excess(numbers)
    whole.loc[whole["metric"] == "eaurc", "std"] = float("nan")  # of a difference it is not known
    again = whole[whole["test_set"] == "union"].assign(test_set=PAPER_UNION)
    return pd.concat([whole, again], ignore_index=True)[columns]
