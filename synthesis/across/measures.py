"""The measures of all papers that compare methods, and the training algorithms."""

from pathlib import Path

import pandas as pd

from helpers.files import content_of

_TABLE = pd.read_csv(
    Path(__file__).with_name("measures.csv"), index_col="name", keep_default_na=False
)

#: Each measure as in a row of the results table, with its title and paper, by name.
MEASURES = {row.Index: row for row in _TABLE.itertuples(name="Measure")}

#: The measures that `synthesis.across.tables.agreement` compares.
COMPARED = [*_TABLE[_TABLE["compared"] > 0].sort_values("compared").index]

#: Titles of the training algorithms of all chapters, by name.
ALGORITHMS = content_of(__file__, "algorithms")
