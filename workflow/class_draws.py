"""Choose a draw of the known classes of *Unknown detection* that is neither easy nor hard.

    DATA_ROOT=... NETWORK_ROOT=... python workflow/class_draws.py

The difficulty of a draw is the accuracy of a published network of all classes, restricted to the
drawn classes, on their test images.  The chosen draw has the lowest seed whose accuracy is between
the quantiles 0.49 and 0.51 of all draws.  No network is trained.
"""

import argparse
from collections.abc import Sequence

import numpy as np
from step import ROOT

from helpers import data
from helpers.networks import zoo
from helpers.papers.unknown_detection.parameters import Parameters
from helpers.papers.unknown_detection.roles import draw_known, superclasses_of

NETWORK = "densenet100.dice_cifar100"
DRAWS = 4000
#: The quantiles of the accuracies between which a draw is of median difficulty.
MIDDLE = (0.49, 0.51)


def restricted_accuracy(logits: np.ndarray, labels: np.ndarray, classes: Sequence[int]) -> float:
    """Return the accuracy on the images of some classes, if an answer is one of these classes.

    >>> logits = np.array([[1, 3, 2], [3, 0, 1], [0, 0, 5]])
    >>> restricted_accuracy(logits, np.array([0, 0, 1]), [0, 2])
    0.5
    """
    shown = np.isin(labels, classes)
    columns = np.asarray(classes)
    answers = columns[logits[shown][:, columns].argmax(axis=1)]
    return float((answers == labels[shown]).mean())


def median_draw(accuracies: np.ndarray) -> int:
    """Return the lowest seed whose accuracy is in the `MIDDLE`; `accuracies` are by seed.

    >>> median_draw(np.array([0.9, 0.7, 0.8, 0.6, 1.0]))
    2
    """
    low, high = np.quantile(accuracies, MIDDLE)
    return int(np.flatnonzero((low <= accuracies) & (accuracies <= high))[0])


def main() -> None:
    """Print the chosen seed, and the seeds of the committed draws with their quantiles."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    parameters = Parameters.at_tier("unknown_detection", "small", root=ROOT)
    images = data.load(parameters.data_set, "test")
    logits = zoo.load(NETWORK).outputs(images).logits
    number = {name: label for label, name in enumerate(images.class_names)}
    families = superclasses_of(images)
    share = parameters.known_share
    given = parameters.known_classes
    accuracies = np.empty(DRAWS)
    for seed in range(DRAWS):
        known = draw_known(families, share, given=given, seed=seed)
        accuracies[seed] = restricted_accuracy(logits, images.labels, [number[c] for c in known])
    mean = accuracies.mean()
    spread = accuracies.std()
    print(f"{DRAWS} draws: accuracy {mean:.4f}, standard deviation {spread:.4f}")
    for seed in (*range(4), median_draw(accuracies)):
        quantile = (accuracies <= accuracies[seed]).mean()
        print(f"seed {seed}: accuracy {accuracies[seed]:.4f}, quantile {quantile:.3f}")


if __name__ == "__main__":
    main()
