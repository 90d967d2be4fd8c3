"""How many images of each kind are ranked together, and numbers at the paper's composition.

The area under the risk–coverage curve grows with the share of unknown images.  The excess over the
least area of any ranking with as many correct answers (E-AURC) falls with it, though the scores
have equal distributions.  Unions of different composition are therefore compared by images that are
weighted to the paper's shares.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from helpers.metrics.selective import harmonic_numbers
from helpers.papers.unknown_detection import PAPER
from helpers.papers.unknown_detection.methods import TEXTS

SIZES = TEXTS["sizes"]
#: The test set that is our union with the paper's shares.
PAPER_UNION = "paper_union"

_FINE = 50  # weight of an image with the paper's weight; other weights are rounded


def sizes_of(data_set: str) -> dict[str, int]:
    """Return the paper's numbers of images by test set; none for a data set that it lacks.

    >>> sizes_of("cifar100") == SIZES[PAPER.data_sets["cifar100"]], sizes_of("mnist")
    (True, {})
    """
    return SIZES.get(PAPER.data_sets.get(data_set, data_set), {})


def counts(images: Mapping[str, int], data_set: str) -> dict[str, int] | None:
    """Return how often an image of each test set counts, so that the union has the paper's shares.

    `images` are the sizes of the test sets, all except "test" and "near" far-OOD.  If the far sets
    equal or replace different far sets of the paper, they have the paper's shares too; otherwise
    all far images count equally.  None for a data set that is not in the paper.

    >>> counts({"test": 2000, "near": 6000, "svhn": 4000, "mazes": 6000}, "cifar100")
    {'test': 100, 'near': 50, 'svhn': 68, 'mazes': 68}
    """
    paper = sizes_of(data_set)
    if not paper:
        return None
    far = [name for name in images if name not in ("test", "near")]
    titles = [PAPER.test_sets.get(name, name) for name in far]
    total = sum(paper.values()) - paper["test"] - paper["near"]
    if len({*titles} & {*paper}) == len(far):
        shares = [paper[title] for title in titles]
    else:
        shares = [images[name] for name in far]
    sizes: dict[str, float] = {"test": paper["test"], "near": paper["near"]}
    for name, share in zip(far, shares, strict=True):
        sizes[name] = total * share / sum(shares)
    return {name: max(1, round(_FINE * sizes[name] / size)) for name, size in images.items()}


def least_aurc(correct: np.ndarray, images: int) -> np.ndarray:
    r"""Return the AURC of the best ranking of N images, with R correct answers before all others.

    .. math:: \frac1N \sum_{k = R + 1}^{N} \frac{k - R}{k} = \frac{N - R - R (H_N - H_R)}{N}

    Geifman, Uziel and El-Yaniv 2019, section 3.

    >>> least_aurc(np.array([2, 3]), 3).round(4)
    array([0.1111, 0.    ])
    """
    correct = np.rint(correct).astype(np.int64)
    harmonic = harmonic_numbers(images)[0]
    return (images - correct - correct * (harmonic[images] - harmonic[correct])) / images


def with_excess(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with a row "eaurc" for each "aurc" of ID test images or at the paper's shares.

    The number of correct answers follows from the row "accuracy" of the same network and method.
    Replicates are the replicates of the area less the least areas; ``row`` names both rows.
    """
    cell = ["data_set", "backbone", "run", "method", "variant"]
    accuracies = table[table["metric"] == "accuracy"].set_index(cell)
    areas = table[(table["metric"] == "aurc") & table["images"].notna()]
    areas = areas[areas["test_set"].isin(["test", PAPER_UNION])]
    excesses = []
    for record in areas.to_dict("records"):
        key = tuple(record[name] for name in cell)
        if key not in accuracies.index:
            continue
        accuracy = accuracies.loc[key]
        known = accuracy["images"]
        total = record["images"]
        if record["test_set"] == PAPER_UNION:
            paper = sizes_of(record["data_set"])
            known = paper["test"]
            total = sum(paper.values())
        shares = np.append(accuracy["value"], accuracy["bootstrap"])
        least = least_aurc(known * shares, int(total))
        area = np.append(record["value"], record["bootstrap"])
        replicates = len(least) == len(area)
        excess = area - least if replicates else area[:1] - least[:1]
        record |= {"metric": "eaurc", "value": excess[0], "bootstrap": excess[1:]}
        if "row" in record:
            record["row"] = f"{record['row']} {accuracy['row']}"
        excesses.append(record)
    return pd.concat([table, pd.DataFrame(excesses, columns=table.columns)], ignore_index=True)


def printed(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return the paper's printed numbers, its union also as `PAPER_UNION`, with E-AURC."""
    columns = list(numbers.columns)
    unions = numbers["data_set"].map({name: sum(paper.values()) for name, paper in SIZES.items()})
    tests = numbers["data_set"].map({name: paper["test"] for name, paper in SIZES.items()})
    images = tests.where(numbers["test_set"] == "test", unions)
    images = images.where(numbers["test_set"].isin(["test", "union"]))
    numbers = numbers.assign(images=images, run=0, variant="", bootstrap=[()] * len(numbers))
    at_paper_shares = numbers[numbers["test_set"] == "union"].assign(test_set=PAPER_UNION)
    numbers = with_excess(pd.concat([numbers, at_paper_shares], ignore_index=True))
    numbers.loc[numbers["metric"] == "eaurc", "std"] = float("nan")  # unknown for a difference
    return numbers[columns]
