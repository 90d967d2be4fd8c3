"""A score against all others on features of well-trained networks: no training, no images.

>>> import helpers.benchmark
>>> [pack.name for pack in helpers.benchmark.packs()][:1]
['densenet100.dice_cifar10']
"""

from helpers.benchmark.contests import Contest, contest, entries_of, files_of, values_on
from helpers.benchmark.feature_packs import FeaturePack, packs

__all__ = ["Contest", "FeaturePack", "contest", "entries_of", "files_of", "packs", "values_on"]
