"""A score against all scores on features of well-trained networks: no training, no images.

>>> import known_unknowns.bench
>>> [pack.name for pack in known_unknowns.bench.packs()][:1]
['densenet100.dice_cifar10']
"""

from known_unknowns.bench.contests import Contest, contest, entries_of, files_of, values_on
from known_unknowns.bench.feature_packs import FeaturePack, packs

__all__ = ["Contest", "FeaturePack", "contest", "entries_of", "files_of", "packs", "values_on"]
