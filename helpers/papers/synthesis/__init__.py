"""All algorithms, scores and metrics of the five papers on the same networks and images.

`networks` trains what is compared, `seeing` applies scores, `measuring` measures them,
`experiment` writes the rows.
"""

from helpers.papers import Paper

PAPER = Paper(
    name="synthesis",
    order=100,  # after the papers that it is about
    title="The five papers together",
    heading="Synthesis",
    networks_of="unknown_detection",
    about_all=("ledger", "published"),
)
