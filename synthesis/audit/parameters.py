"""The parameters of the notebook of the audit."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from helpers.networks import zoo_records
from helpers.papers import parameters
from helpers.papers.parameters import Changes, Count, DataSet, Share, one_of

Published = Annotated[str, one_of("published network", zoo_records.records)]


class Parameters(parameters.Parameters):
    """Parameters of an audit; a user's own files and networks are off by default.

    The example is a published network with given (`example_ood`) and later (`example_met`) sets of
    unknown images, see `known_unknowns.auditing.networks.example`.  A user brings a file of
    `outputs`, or a network (`model` of timm; `checkpoint` holds its weights if they are
    elsewhere) and folders or data sets. `known_unknowns.auditing.audit` describes the targets.
    """

    paper: ClassVar[str] = "audit"

    training: Changes = Field({})
    example: Published
    example_images: DataSet
    example_ood: list[DataSet]
    example_met: list[DataSet] = Field(min_length=1)
    outputs: str = ""
    model: str = ""
    checkpoint: str = ""
    class_names: list[str] = Field([])
    validation: str = ""
    train: str = ""
    production: str = ""
    ood: list[str] = Field([])
    generated: Count
    target: Literal["risk", "coverage"]
    fallback: Literal["", "smallest", "average"] = ""
    risk: Share
    coverage: Share
    confidence: Share
