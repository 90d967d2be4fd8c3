"""The parameters of an audit."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from helpers.networks import published
from helpers.papers import parameters
from helpers.papers.parameters import Changes, Count, DataSet, Share, one_of

Published = Annotated[str, one_of("published network", published.records)]


class Parameters(parameters.Parameters):
    """Parameters of an audit; everything that a user brings is off by default.

    Attributes
    ----------
    example, example_images, example_ood, example_met : str, list of str
        Published network, its data set, given and later sets of unknown images, if a user brings
        nothing; see `known_unknowns.auditing.networks.example`.
    outputs, treat_as : str
        File of outputs, and what it holds; see `known_unknowns.auditing.read_outputs`.
    model, checkpoint, training : str, dict
        Or a network: its name in timm, its weights, the recipe of a network of this project.
    class_names : list of str
        Names of the head's classes, in its order.
    validation, train, production, ood : str, list of str
        Folders or names of data sets for a network.
    generated : int
        Number of generated families for the prediction without labels.
    wish, fallback, risk, coverage, confidence
        As of `known_unknowns.auditing.audit`.
    """

    paper: ClassVar[str] = "audit"

    training: Changes = Field({})
    example: Published
    example_images: DataSet
    example_ood: list[DataSet]
    example_met: list[DataSet] = Field(min_length=1)
    outputs: str = ""
    treat_as: str
    model: str = ""
    checkpoint: str = ""
    class_names: list[str] = Field([])
    validation: str = ""
    train: str = ""
    production: str = ""
    ood: list[str] = Field([])
    generated: Count
    wish: str
    fallback: bool = False
    risk: Share
    coverage: Share
    confidence: Share
