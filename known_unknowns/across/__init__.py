"""All algorithms, scores and metrics of the five papers on the same networks and images.

`experiment` trains what is compared and writes the rows, `model_outputs` applies scores, and
`predictions` says what a score foresees without labels.  `transfer` ranks scores on networks that
others have trained, and asks whether toy networks say the same.  `leaderboard` has what OpenOOD
prints of scores, and judges sentences by it.
"""

from helpers.papers import Paper

PAPER = Paper(
    name="synthesis",
    order=100,  # after the papers that it is about
    title="The five papers together",
    heading="Synthesis",
    networks_of="unknown_detection",
    package=__name__,
    about_all=("ledger", "published", "transfer", "leaderboard"),
)
