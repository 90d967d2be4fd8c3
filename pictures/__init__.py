"""Generated families: images that are drawn by a formula and chance, in any number.

A family is a pure function from a random generator and a number n to n images.  The decorator
`family` registers it under the function's name.  One file contains the families of one theme, and
a new file in this folder is found automatically.

>>> import pictures
>>> "voronoi" in pictures.FAMILIES
True
>>> pictures.draw("voronoi", "test").shape
(500, 32, 32, 3)
"""

import importlib
import pkgutil

from pictures.base import FAMILIES, SIZE, Family, draw, family

__all__ = ["FAMILIES", "SIZE", "Family", "draw", "family"]

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
