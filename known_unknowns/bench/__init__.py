"""A score against all scores on features of well-trained networks: no training, no images.

>>> import known_unknowns.bench
>>> [pack.name for pack in known_unknowns.bench.packs()][:1]
['densenet100.dice_cifar10']

The module can be called: ``known_unknowns.bench(score)`` is `bench`.
"""

import sys
from types import ModuleType

from known_unknowns.bench.contests import Contest, bench, contest, entries_of, files_of, values_on
from known_unknowns.bench.feature_packs import FeaturePack, packs

__all__ = ["Contest", "FeaturePack", "contest", "entries_of", "files_of", "packs", "values_on"]


class _Bench(ModuleType):
    """A module with the function `bench` as its call."""

    __call__ = staticmethod(bench)


sys.modules[__name__].__class__ = _Bench
