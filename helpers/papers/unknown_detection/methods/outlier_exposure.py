"""Outlier Exposure: the same probability of all classes on external images."""

from helpers.papers.unknown_detection.method import Method

METHOD = Method(
    "Outlier Exposure", key="hendrycks2019", place=8, recipe={"objective": "outlier_exposure"}
)
