"""AugMix: the same answer for an image and two mixtures of augmented versions of it."""

from helpers.papers.unknown_detection.method import Method

METHOD = Method("AugMix", key="hendrycks2020", place=6, recipe={"objective": "augmix"})
