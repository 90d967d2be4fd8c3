"""Another mixture of the known classes, which the answers of a classifier show without labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from helpers.checks import float_array, open_share
from helpers.metrics.inputs import label_array

#: Images of each class that the model answers correctly, in addition to the validation images.
_ADDED = 0.5
#: Largest number of steps, and the largest change of a share in the last one.
_STEPS = 200
_CLOSE = 1e-5
_REPLICATES = 100
