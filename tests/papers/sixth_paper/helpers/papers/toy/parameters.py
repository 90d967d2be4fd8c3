from typing import ClassVar

from helpers.papers import parameters
from helpers.papers.parameters import Count, DataSet


class Parameters(parameters.Parameters):
    grid: ClassVar = ("runs",)
    data_set: DataSet
    runs: Count
    gain: float
