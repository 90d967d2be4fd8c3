"""The baseline: cross-entropy, and the maximum class probability."""

from helpers.papers.unknown_detection.method import Method

METHOD = Method("Baseline", key="hendrycks2017", place=1)
