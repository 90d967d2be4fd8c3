"""Means and scatter of training features: taken once, though several scores are fitted to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from helpers.scores.base import class_means, parts, unit_rows

if TYPE_CHECKING:
    from helpers.outputs import Outputs


@dataclass(frozen=True)
class Moments:
    """Features by class, and how they vary within classes.

    Attributes
    ----------
    means : ndarray of float64, shape [K + 1, D]
        Of each class and, last, of the images without label; 0 where there is no image.
    counts : ndarray of int64, shape [K + 1]
        How many images each mean is taken over.
    within : ndarray of float64, shape [D, D]
        Sum of the squares and products of the features about the mean of each image's class.
    """

    means: np.ndarray
    counts: np.ndarray
    within: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """Mean of all images' features, float64 [D]."""
        return self.counts @ self.means / self.counts.sum()

    def about(self, point: np.ndarray) -> np.ndarray:
        """Return the sum of the squares and products about one point, float64 [D, D].

        That within classes and that between them add up to it, without cancellation.
        """
        between = self.means - point
        return self.within + (self.counts[:, None] * between).T @ between


def moments(outputs: Outputs, *, normalised: bool = False) -> Moments:
    """Return the moments of the features, kept with the outputs once they are taken.

    The features are read twice, since a scatter about means that are known loses no digits, and
    are not copied.  Where `normalised`, each image's are divided by their Euclidean norm first.

    Examples
    --------
    >>> from helpers.outputs import Outputs
    >>> features = np.array([[0.0], [2.0], [5.0]])
    >>> found = moments(Outputs(np.zeros((3, 1)), features, np.array([0, 0, -1])))
    >>> found.means.ravel(), found.within.item(), found.about(np.zeros(1)).item()
    (array([1., 5.]), 2.0, 29.0)
    """

    def rows(part):
        return unit_rows(part.features) if normalised else part.features

    name = "moments, normalised" if normalised else "moments"
    if name not in outputs.derived:
        classes = outputs.num_classes
        means, counts = class_means(
            outputs, lambda part: (rows(part), part.labels % (classes + 1)), classes + 1
        )
        within = 0.0
        for part in parts(outputs):
            centred = rows(part) - means[part.labels]
            within = within + centred.T @ centred
        outputs.derived[name] = Moments(means, counts, within)
    return outputs.derived[name]
