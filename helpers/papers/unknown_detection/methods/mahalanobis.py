"""The Mahalanobis score of the last features, which the paper tried and left out."""

from helpers.papers.unknown_detection.method import Method

METHOD = Method(
    "Mahalanobis", key="lee2018", networks_of="baseline", score="mahalanobis",
    aside=lambda parameters: bool(parameters.resized),  # there it is shown what a resize does
)  # fmt: skip
