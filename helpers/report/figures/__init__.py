"""Figures, one function per kind: arrays or tables in, Axes out.

Each function draws on the Axes that it is given, or on a figure of its own; captions are left to
the page.  Nothing is told by colour alone.
"""

from helpers.report.figures.agreement import (
    agreement_intervals,
    agreement_matrix,
    cell_heatmap,
    image_cards,
    pareto_panels,
)
from helpers.report.figures.audit import (
    predicted_on_line,
    score_ranking,
    scores_and_thresholds,
    selective_risk,
    surest_errors,
)
from helpers.report.figures.calibration import reliability_diagram, reliability_grid
from helpers.report.figures.claims import claim_effects, claim_intervals
from helpers.report.figures.evaluators import (
    gscore_scatter,
    gscore_scatters,
    predicted_against_true,
    score_parts,
)
from helpers.report.figures.images import contact_sheet, resize_pairs
from helpers.report.figures.measures import measure_heatmap, paired_change
from helpers.report.figures.models import (
    Decisions,
    distillation_heatmap,
    error_against_accuracy,
    error_against_strength,
    error_heatmap,
    kept_and_rejected,
    positives,
)
from helpers.report.figures.open_set import sweep
from helpers.report.figures.papers import improvement, published_scatter
from helpers.report.figures.ranks import critical_difference
from helpers.report.figures.scores import (
    confidence_densities,
    confidence_histograms,
    score_histograms,
)
from helpers.report.figures.selective import risk_coverage_curves
from helpers.report.figures.softmax import softmax_heatmaps
from helpers.report.figures.speed import growth_curves, growth_exponents, speed_ratios
from helpers.report.figures.style import use_style
from helpers.report.figures.suites import (
    correlation_curves,
    correlation_panels,
    difficulty_histogram,
    easiest_to_hardest,
    metric_histogram,
)
from helpers.report.figures.training import learning_curves
from helpers.report.figures.trees import class_dendrogram, wordnet_tree

__all__ = [
    "Decisions",
    "agreement_intervals",
    "agreement_matrix",
    "cell_heatmap",
    "claim_effects",
    "claim_intervals",
    "class_dendrogram",
    "confidence_densities",
    "confidence_histograms",
    "contact_sheet",
    "correlation_curves",
    "correlation_panels",
    "critical_difference",
    "difficulty_histogram",
    "distillation_heatmap",
    "easiest_to_hardest",
    "error_against_accuracy",
    "error_against_strength",
    "error_heatmap",
    "growth_curves",
    "growth_exponents",
    "gscore_scatter",
    "gscore_scatters",
    "image_cards",
    "improvement",
    "kept_and_rejected",
    "learning_curves",
    "measure_heatmap",
    "metric_histogram",
    "paired_change",
    "pareto_panels",
    "positives",
    "predicted_against_true",
    "predicted_on_line",
    "published_scatter",
    "reliability_diagram",
    "reliability_grid",
    "resize_pairs",
    "risk_coverage_curves",
    "score_histograms",
    "score_parts",
    "score_ranking",
    "scores_and_thresholds",
    "selective_risk",
    "softmax_heatmaps",
    "speed_ratios",
    "surest_errors",
    "sweep",
    "use_style",
    "wordnet_tree",
]
