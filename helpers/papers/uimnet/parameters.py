"""The parameters of *What classifiers know what they don't?*."""

import itertools
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, model_validator

from helpers.papers import parameters
from helpers.papers.parameters import Changes, Count, DataSet, Name, Repeats, Score, Share, one_of
from helpers.papers.uimnet.names import ALGORITHMS, FORMS, checked
from helpers.training import search

#: The data set whose in-domain and out-domain classes are published.
PUBLISHED = "imagenet"

AlgorithmName = Annotated[str, one_of("algorithm", ALGORITHMS)]
SearchedName = Annotated[str, one_of("algorithm", ["all", *ALGORITHMS])]
Form = Annotated[str, one_of("form of spectral normalisation", FORMS)]


class Parameters(parameters.Parameters):
    """The free choices of the test-bed and its evaluation."""

    # their effect on rows is in the images and in the trials themselves
    grid: ClassVar = (
        "in_domain",
        "sizes",
        "algorithms",
        "groups",
        "defaults",
        "search",
        "trial_draws",
        "spectral",
        "trials",
        "runs",
    )

    data_set: DataSet  # ``imagenet``, whose photographs are streamed, or one that fits in memory
    # in-domain classes by name, or none where the paper has published them; as many of the first
    # other classes are out-domain
    in_domain: list[str]
    validation_share: Share  # of the in-domain training images
    sizes: Annotated[dict[Name, Changes], Field(min_length=1)]  # networks, from the smallest on
    algorithms: Annotated[dict[AlgorithmName, Changes], Field(min_length=1)]
    # the algorithms that a run of the training notebook trains
    groups: dict[Name, Annotated[list[AlgorithmName], Field(min_length=1)]]
    defaults: dict[SearchedName, dict[str, Any]]  # hyper-parameters of trial 0, the authors'
    search: dict[SearchedName, dict[str, Any]]  # laws of all other trials; ``all`` of any algorithm
    # "sequence": trial N draws in the order of the laws with NumPy's former seed N, as the authors
    trial_draws: Annotated[str, one_of("draws", search.DRAWS)] = "names"
    spectral: Annotated[list[Form], Field(min_length=1)]
    # with the defaults; also the networks of an ensemble; a data seed has 100 training seeds
    trials: Annotated[int, Field(ge=1, le=100)]
    runs: Repeats  # data seeds, which decide which images are held out
    measures: list[Annotated[str, AfterValidator(checked)]]
    score_arguments: dict[Score, Changes]
    passes: Count  # of MC-Dropout
    tta_copies: Count  # of an image, augmented
    tta_images: Annotated[int, Field(ge=2)] | None = None  # of each set, spread over it; else all
    jacobian_images: Annotated[int, Field(ge=2)]  # of each set with a Jacobian, spread over it
    keep: Share  # of the in-domain validation images
    bins: Count  # of the ECE

    @model_validator(mode="after")
    def _check_together(self):
        for size, name in itertools.product(self.sizes, self.algorithms):
            recipe = self.recipe(self.sizes[size], self.algorithms[name])
            defaults, space = self.searched(name)
            search.check_space(recipe, space, defaults, create=False)
        parameters.check_scores("score_arguments", self.score_arguments)
        for laws in self.search.values():  # also of algorithms that this tier leaves out
            for name, law in laws.items():
                search.check_law(name, law)
        grouped = {name for names in self.groups.values() for name in names}
        if missing := [name for name in self.algorithms if name not in grouped]:
            raise ValueError(f"groups: no group trains {', '.join(missing)}; add them to a group")
        streamed = self.data_set == PUBLISHED
        augmentation = self.recipe().augmentation
        if streamed and augmentation and "flip" not in augmentation:
            raise ValueError(
                "augmentation: 'flip' expected with streamed photographs, where it is a random "
                f"crop, too; got {', '.join(augmentation)} alone, which would not change them"
            )
        if not (self.in_domain or streamed):
            raise ValueError(
                f"in_domain: the paper divides no classes of '{self.data_set}'; list the classes"
            )
        return self

    def searched(self, algorithm: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the defaults and the laws of an algorithm, including those under "all"."""
        defaults = self.defaults.get("all", {}) | self.defaults.get(algorithm, {})
        laws = self.search.get("all", {}) | self.search.get(algorithm, {})
        return defaults, laws

    def trainings(self) -> dict[str, dict]:
        """Return the parameters of the training notebook for each group and data seed."""
        grid = itertools.product(self.groups, range(self.runs))
        return {f"{group}-{run}": {"group": group, "run": run} for group, run in grid}
