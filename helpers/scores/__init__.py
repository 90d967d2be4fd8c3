"""Scores of how likely an image is known; one small class per score, in the file of its name.

A score has the methods of `Score`, an `info` record and the decorator `register`.  All files of
this folder are imported, so a new file registers its scores.

>>> import helpers.scores
>>> helpers.scores.create("openmax", tail=10).info.title
'OpenMax'
"""

import importlib
import pkgutil

from helpers.scores.base import Score, create, create_as_published, names, register, score

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
