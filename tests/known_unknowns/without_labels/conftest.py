import numpy as np
import pytest

from known_unknowns.without_labels import MetaSets


class World:
    """Known images score normally, each set of unknown ones lower, by as much as chance says."""

    def __init__(self, seed: int):
        self.generator = np.random.default_rng(seed)

    def known(self, count):
        return self.generator.normal(size=count)

    def unknown(self, count):
        place, width = self.generator.uniform(0, 4), self.generator.uniform(0.5, 1.5)
        return self.generator.normal(-place, width, count)

    def sets(self, count, images=150, known=600):
        return MetaSets(self.known(known), {str(i): self.unknown(images) for i in range(count)})


@pytest.fixture
def world():
    """Return a function that makes a world of scores from a seed."""
    return World
