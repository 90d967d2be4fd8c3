"""Bad input to claims and ledger is refused in words that say what is wrong (mistakes.yaml)."""

from helpers.papers import PAPERS
from tests.mistakes import refusals
from tests.synthesis.test_effects import CLAIM, NOISE, numbers

OBJECTS = {
    "claims": [CLAIM],
    "unequal replicates": numbers([0.5], [0.4], NOISE[:2], NOISE[:3]),
    "a run twice": numbers([0.5, 0.5], []).assign(run=0),
    "papers": PAPERS,
    "a table of gscor": {("mini", "gscor"): None},
    "a table of tier small": {("small", "gscore"): None},
}


test_bad_input_is_refused_and_leaves_no_file = refusals(__file__, OBJECTS)
