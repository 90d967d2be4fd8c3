"""What the functions of label-free estimation refuse, and in which words (mistakes.yaml)."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import yaml

from helpers import labelfree

FILE = Path(__file__).with_name("mistakes.yaml")
MISTAKES = [
    (function, message, arguments)
    for function, cases in yaml.safe_load(FILE.read_text("utf-8")).items()
    for message, calls in cases.items()
    for arguments in calls
]
LINE = labelfree.fit_regression([[0.0]] * 9 + [[1.0]], np.r_[:10] / 10, [0.5])
FUNCTIONS = vars(labelfree) | {
    "interval of ten sets": LINE.interval,
    "distance of two means": partial(labelfree.distance, labelfree.two_means([1, 2])),
}


@pytest.mark.parametrize(("function", "message", "arguments"), MISTAKES)
def test_bad_input(function, message, arguments):
    with pytest.raises(ValueError, match=message):
        FUNCTIONS[function](*arguments)
