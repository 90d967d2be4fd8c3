"""The parameters of the Gscore paper; we use its networks, mixtures and results table."""

from typing import ClassVar

from helpers.papers.gscore import parameters


class Parameters(parameters.Parameters):
    """The parameters of the Gscore paper, for the experiment of this package."""

    paper: ClassVar[str] = "gscore"
