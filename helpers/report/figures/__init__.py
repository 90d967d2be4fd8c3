"""Figures, one function per kind: arrays or tables in, Axes out.

Captions are left to the page, and nothing is told by colour alone.  Figures of one paper alone are
in its folder: `helpers.papers.gscore.figures`, say.
"""

from helpers.report.figures.claims import (
    claim_effects,
    claim_intervals,
    clearances,
    counterpart_scatters,
    decisive_effects,
    tally_bars,
)
from helpers.report.figures.heatmaps import softmax_heatmaps
from helpers.report.figures.images import contact_sheet, resize_pairs
from helpers.report.figures.labelfree import gscore_scatter
from helpers.report.figures.ranks import critical_difference
from helpers.report.figures.scores import (
    confidence_densities,
    confidence_histograms,
    reliability_diagram,
    reliability_grid,
    score_histograms,
)
from helpers.report.figures.selective import learning_curves, risk_coverage_curves
from helpers.report.figures.style import use_style
from helpers.report.figures.trees import wordnet_tree
