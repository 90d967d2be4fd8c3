"""The parameters of an audit: what is given to it, and what its report promises."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from helpers.networks import published
from helpers.papers import parameters
from helpers.papers.parameters import Changes, Count, DataSet, Share, one_of

Published = Annotated[str, one_of("published network", published.records)]


class Parameters(parameters.Parameters):
    """What is off by default is what a user brings.

    Attributes
    ----------
    example, example_images : str
        What is audited where nothing is brought: a published network, and its data set.
    example_ood, example_met : list of str
        Its data sets of unknown images: those that the audit is given, and those that turn up
        later; see `known_unknowns.auditing.networks.example`.
    outputs : str
        A file of outputs (.npz), from any framework; see `known_unknowns.auditing.read_outputs`.
    treat_as : str
        "logits", or "probabilities" if that is what the file holds.
    model, checkpoint : str
        Or a network: its name in timm; its weights, if they are elsewhere.  A checkpoint alone is
        a network of this project, and `training` what it was trained with.
    class_names : list of str
        Of the head, in its order, where folders are called otherwise.
    validation, train, production : str
        For a network: folders of images, or names of data sets; the last one unlabelled.
    ood : list of str
        Folders, or data sets, of unknown images.
    generated : int
        Generated families that the prediction without labels learns from.
    wish : str
        What the threshold promises: "risk" or "coverage".
    fallback : bool
        Take the other threshold where that one cannot be had.
    risk : float
        At most this share of the accepted images is wrong.
    coverage : float
        At least this share of the ID images is accepted.
    confidence : float
        Of the promise of a risk.
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
