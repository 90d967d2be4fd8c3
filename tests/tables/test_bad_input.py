"""Bad input to functions of reports is refused with the problem (mistakes.yaml)."""

import numpy as np
import pandas as pd

from helpers.tables import results
from tests.mistakes import refusals
from tests.synthesis.claim_tables import table_of

NUMBERS = [{"metric": metric, "value": 0.5} for metric in ("ece", "brier")]
TABLE = table_of(NUMBERS, paper="openset_calibration", method="open-set")
OBJECTS = {
    "how it was made": results.provenance({}, seed=5, device="cpu, 1 thread", seconds=0.5),
    "a table": TABLE,
    "a table without seeds": TABLE.drop(columns="seed"),
    "no rows": TABLE.iloc[:0],
    "a table of changed runs": TABLE.assign(run=TABLE["run"] + 7),
    "a table twice": pd.concat([TABLE, TABLE]),
    "shares": np.zeros((6, 4, 4, 3)),
    "epochs alone": pd.DataFrame({"epoch": [1]}),
}


test_bad_input_is_refused_and_leaves_no_file = refusals(__file__, OBJECTS)
