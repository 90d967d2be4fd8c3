"""All algorithms, scores and metrics of the five papers on the same networks and images.

`experiment` trains the networks and computes the rows, and `tables` compares the measures.  The
folder `leaderboard` has the rows that OpenOOD publishes.
"""

from helpers.papers import Paper

PAPER = Paper(
    name="synthesis",
    order=100,  # after the papers that it compares
    title="The five papers together",
    heading="Synthesis",
    networks_of="unknown_detection",
    package=__name__,
)
