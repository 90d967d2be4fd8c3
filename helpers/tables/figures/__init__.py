"""Figures that several pages share: arrays or tables in, Axes out.

A figure of one page is in the cell that draws it. Captions are left to the page, and every
difference is visible without colour.
"""

from helpers.tables.figures.plots import (
    contact_sheet,
    critical_difference,
    reliability_grid,
    risk_coverage_curves,
    score_histograms,
)
from helpers.tables.figures.style import use_style
from helpers.tables.figures.training_curves import first_epochs
