"""Known Unknowns: does an image classifier know what it does not know?

The package behind the notebooks.  Data flows one way::

    images -> model -> Outputs -> score -> metric -> results table -> figure, table, claim

Subpackages are imported on demand, so that ``import helpers`` costs nothing.
"""

__version__ = "0.1.0"
