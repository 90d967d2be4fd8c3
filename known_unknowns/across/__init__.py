"""All algorithms, scores and metrics of the five papers on the same networks and images.

`experiment` trains the networks and computes the rows, `model_outputs` applies scores, and
`predictions` computes the probability of "unknown" and an AUROC without labels.  The folder
`leaderboard` holds the rows that OpenOOD prints.
"""

from helpers.papers import Paper

PAPER = Paper(
    name="synthesis",
    order=100,  # after the papers that it is about
    title="The five papers together",
    heading="Synthesis",
    networks_of="unknown_detection",
    package=__name__,
    about_all=("ledger", "published"),
)
