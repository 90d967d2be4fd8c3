"""Correctness ranking loss: who was right more often shall be surer."""

from helpers.papers.unknown_detection.method import Method

METHOD = Method("CRL", key="moon2020", place=2, recipe={"objective": "crl"})
