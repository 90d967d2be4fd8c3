"""Which images the algorithms, scores and metrics of all papers meet on.

They play the roles of the benchmark of unknown detection, whose networks are among those that are
compared; families that are none of its sets teach the regression that predicts an AUROC without
labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from helpers import data
from helpers.data import Images
from helpers.papers.unknown_detection import roles as unknown_detection
from helpers.papers.unknown_detection.roles import SIZE, Benchmark

if TYPE_CHECKING:
    from helpers.papers.run import Part
    from helpers.papers.synthesis.parameters import Parameters


@dataclass(frozen=True, kw_only=True)
class ComparisonRoles(Benchmark):
    """The roles of the benchmark, and of the families.

    Attributes
    ----------
    families : dict of str to Images
        Labels −1; as many of each as there are validation images, at most.
    """

    families: dict[str, Images]


def roles(parameters: Parameters, part: Part | None = None) -> ComparisonRoles:
    """Return the roles of the images, the same ones in all parts.

    Raises
    ------
    ValueError
        A family is one of the sets that networks or hyper-parameters learn from or that are tested.
    """
    base = unknown_detection.roles(parameters)
    return ComparisonRoles(**vars(base), families=load_families(parameters, base))


def load_families(parameters: Parameters, benchmark: Benchmark) -> dict[str, Images]:
    """Load the sets that the prediction of an AUROC learns from; see `ComparisonRoles`."""
    taken = {"external": benchmark.external} | benchmark.test_sets
    found = {}
    for name in parameters.families:
        images = data.load(name, "test", size=SIZE, download=parameters.download)
        for role, other in taken.items():
            if shared := set(images.class_names) & set(other.class_names):
                raise ValueError(
                    f"families: '{name}' shares the class {min(shared)} with the images that are "
                    f"'{role}'; take another set"
                )
        most = len(benchmark.validation)
        found[name] = data.subsample(images.unknown(), most, seed=parameters.seed)
    return found
