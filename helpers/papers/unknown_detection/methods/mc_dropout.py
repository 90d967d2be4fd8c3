"""MC dropout: the mean probabilities of many passes, with dropout at work."""

from helpers.papers.unknown_detection.method import Method

METHOD = Method("MC dropout", key="gal2016", place=4, passes=True)
