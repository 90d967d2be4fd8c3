"""Tables of results beside the papers' own numbers, for the page, LaTeX and CSV."""

from helpers.tables.calibration import TITLES, caption, styler, to_latex
from helpers.tables.comparisons import comparison, printed_alone, to_csv
from helpers.tables.detection import detection_caption, detection_styler, detection_to_latex
from helpers.tables.human_centric import (
    error_rates_caption,
    error_rates_styler,
    error_rates_to_latex,
    zoo_caption,
    zoo_styler,
    zoo_to_latex,
)
from helpers.tables.summaries import overview
from helpers.tables.uimnet import (
    domain_caption,
    domain_means,
    domain_styler,
    domain_to_latex,
    measures_caption,
    measures_styler,
    measures_to_latex,
    trials_caption,
    trials_styler,
    trials_to_latex,
)

__all__ = [
    "TITLES",
    "caption",
    "comparison",
    "detection_caption",
    "detection_styler",
    "detection_to_latex",
    "domain_caption",
    "domain_means",
    "domain_styler",
    "domain_to_latex",
    "error_rates_caption",
    "error_rates_styler",
    "error_rates_to_latex",
    "measures_caption",
    "measures_styler",
    "measures_to_latex",
    "overview",
    "printed_alone",
    "styler",
    "to_csv",
    "to_latex",
    "trials_caption",
    "trials_styler",
    "trials_to_latex",
    "zoo_caption",
    "zoo_styler",
    "zoo_to_latex",
]
