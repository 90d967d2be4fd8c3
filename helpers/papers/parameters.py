"""The parameters of a paper at a tier: one flat file, every value typed and checked.

``params/<tier>/<paper>.yaml`` gives each value once; its keys are the fields of the paper's own
class `helpers.papers.<paper>.parameters.Parameters`, a subclass of the one here.  A file that
begins with ``extends: TIER`` says only what is otherwise than at that tier, as all but ``mini`` do.
Importing this module costs nothing, so that parameters are refused before work starts.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from helpers.checks import known_name
from helpers.data import class_lists
from helpers.files import project_root
from helpers.networks import head_recipe, published, timm_weights
from helpers.networks.recipe import Recipe
from helpers.papers import PAPERS
from helpers.training import search

DISTANCES = ("euclidean", "euclidean_cosine")
"""Of `helpers.scores.openset.OpenMax`."""


def one_of(kind: str, options: Iterable[str] | Callable[[], Iterable[str]]) -> AfterValidator:
    """Return the check that a text is one of some names, or of those that a function lists."""
    return AfterValidator(
        lambda name: known_name(kind, name, options() if callable(options) else options)
    )


def check_network(kind: str, name: str, others: Iterable[str] = ()) -> None:
    """Refuse a network that is no published network, no network of timm, and none of the others."""
    options = {*published.records(), *timm_weights.names(), *others}
    if not timm_weights.names() or name in options:  # timm may not be installed
        return
    base, dot, _ = name.partition(".")
    if not dot or base not in timm_weights.names():  # which weights there are, timm alone knows
        near = difflib.get_close_matches(name, sorted(options), n=1, cutoff=0.4)
        hint = f"; did you mean '{near[0]}'" if near else ""
        raise ValueError(f"unknown {kind} '{name}'{hint}? See timm.list_models()")


def check_classes(kind: str, data_set: str, names: Iterable[str]) -> None:
    """Refuse names that are no classes of a data set, if its class list is stored here."""
    base = data_set.removesuffix("_mini")
    if base in ("cifar10", "cifar100"):  # the others have other names in each archive
        for name in names:
            known_name(f"class in {kind}", name, class_lists.names_of(base))


def tiers(root: Path | None = None) -> list[str]:
    """Return the tiers that have parameters; below `root`, by default the project's."""
    folder = (root or project_root()) / "params"
    return sorted(path.name for path in folder.iterdir() if path.is_dir())


def _data_set(name: str) -> str:
    from helpers import data

    return name if name.startswith("folder:") else known_name("data set", name, data.names())


def _scores() -> list[str]:
    from helpers import scores

    return scores.names()


Seed = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
Repeats = Annotated[int, Field(ge=1, le=1000)]
"""How often something is done anew: more than anyone computes is a slip, and would not end."""
Share = Annotated[float, Field(gt=0, lt=1)]
DataSet = Annotated[str, AfterValidator(_data_set)]
"""One of `helpers.data.names`, or ``folder:PATH``; see `Parameters.data_sets_used`."""
Score = Annotated[str, one_of("score", _scores)]
Distance = Annotated[str, one_of("distance", DISTANCES)]
Tier = Annotated[str, one_of("tier", tiers)]
Changes = dict[str, Any]
"""Fields of a `Recipe` and their values: what somebody changes in it."""


class Frozen(BaseModel):
    """A frozen network whose features a head sees; as `helpers.data.features.Backbone` has it."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, protected_namespaces=())

    network: str
    size: Count
    top: Annotated[float, Field(gt=0)] = 6.0
    weights: str = ""


class Parameters(BaseModel):
    """What the experiments of all papers have; each paper adds its own fields.

    No value is converted: what is not of a field's type is refused, and so is a field that does
    not exist, NaN and infinity.  Only what is off by default has a default; all else is in the
    files.

    Attributes
    ----------
    tier : str
        Goes into the results table.
    seed : int
        All random numbers descend from it.
    replicates : int
        Bootstrap replicates over the test images.
    training : dict
        What the recipes of all networks share, fields of `helpers.networks.recipe.Recipe`.
    training_knobs : dict
        Further ones, given by a notebook or on a command line: they win over any network's own.
    download : bool
        Let torchvision and timm fetch what is missing.
    larger_tiers : list of str
        Tiers whose committed results are shown as well.
    device : str, optional
        Where networks are trained and asked; by default a GPU if there is one.
    features : dict of str to dict
        By network, whose features it sees in the place of images, as `Frozen` has it; a network
        that is not there sees the images.

    Raises
    ------
    ValueError
        In one line: the field, what is expected of it, and what it has; or the nearest right name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
    grid: ClassVar[tuple[str, ...]] = ()
    """Fields that only say which parts an experiment has: other rows do not depend on them."""

    tier: str
    seed: Seed
    replicates: Annotated[int, Field(ge=1, le=100_000)]
    training: Changes
    training_knobs: Changes = {}
    download: bool = False
    larger_tiers: list[Tier] = []
    device: str | None = None
    features: dict[str, Frozen] = {}

    def __init__(self, **given):
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise ValueError(_in_words(error, type(self))) from None

    @model_validator(mode="after")
    def _check_training(self):
        self.recipe()
        return self

    @property
    def paper(self) -> str:
        """The paper's name: that of the folder in which the class lies."""
        return type(self).__module__.split(".")[-2]

    def recipe(self, *changes: Changes) -> Recipe:
        """Return the recipe of a network: `training`, changed in turn, the knobs last."""
        merged: Changes = {}
        for one in (self.training, *changes, self.training_knobs):
            merged |= one
        recipe = head_recipe.check(Recipe.from_parameters(merged))
        search.check_arguments(recipe)
        return recipe

    def seen_by(self, network: str, roles):
        """Return roles as a network sees their images: as features, where `features` says so.

        Parameters
        ----------
        network : str
            Its name in the tables; what follows a "+" there does not matter.
        roles
            Data classes, mappings and sequences of images and others.

        Raises
        ------
        ValueError
            Features are missing or of something else, see `helpers.data.features.Packs`.
        """
        frozen = self.features.get(network.partition("+")[0])
        if frozen is None:
            return roles
        from helpers.data import features

        remedy = f"python workflow/features.py {self.tier} {self.paper}"
        return features.seen_by(roles, features.Backbone(**frozen.model_dump()), remedy)

    def replace(self, **given) -> Parameters:
        """Return the same parameters with other values, checked; a `Recipe`'s become knobs.

        Raises
        ------
        ValueError
            As for the class.
        """
        own, knobs = type(self).model_fields, Recipe.__dataclass_fields__
        for name in given:
            known_name("parameter", name, own.keys() | knobs.keys())
        new = {name: value for name, value in given.items() if name in own}
        new["training_knobs"] = {
            **new.get("training_knobs", self.training_knobs),
            **{name: value for name, value in given.items() if name not in own},
        }
        return type(self)(**self.model_dump() | new)

    def decisive(self) -> dict[str, Any]:
        """Return the values that a part's rows depend on, beside its images and weights."""
        # what `features` are of is in the images
        others = {"download", "larger_tiers", "device", "features"}
        return self.model_dump(exclude={*self.grid, *others})

    def trainings(self) -> dict[str, dict]:
        """Return what each execution of the training notebook is told beside the tier, by its name.

        The first is the book's page.
        """
        return {}

    def data_sets_used(self) -> list[str]:
        """Return the names of all data sets: the values of fields made of `DataSet`."""
        kinds = get_type_hints(type(self), include_extras=True)
        fields = type(self).model_fields
        found = [name for one in fields for name in _data_sets(kinds[one], getattr(self, one))]
        return list(dict.fromkeys(filter(None, found)))

    def data_sets_needed(self) -> list[str]:
        """Return those of `data_sets_used` without which nothing runs; each other may be missing.

        One that is missing is then a row of the results table that says so.
        """
        return self.data_sets_used()


def load(paper: str, tier: str, *, root: Path | None = None, **given) -> Parameters:
    """Return the parameters of a paper at a tier.

    Parameters
    ----------
    paper, tier : str
        They name the file: ``params/<tier>/<paper>.yaml``.
    root : Path, optional
        The folder in which ``params`` lies; by default the project's.
    **given
        What takes the place of the file's values: fields of the paper's parameters, or fields of
        a `Recipe`, which then hold for all networks.  None leaves the file's value.

    Raises
    ------
    ValueError
        A name that does not exist, with the nearest right one; a value of the wrong type or out
        of range; a key twice; not YAML.  What the file has wrong begins with its name.

    Examples
    --------
    >>> load("openset_calibration", "mini", keep=0.9, epochs=None).keep
    0.9
    >>> load("openset_calibration", "mini", epoch=3)
    Traceback (most recent call last):
        ...
    ValueError: unknown parameter 'epoch'; did you mean 'epochs'? There are: ...
    """
    kind = PAPERS[known_name("paper", paper, PAPERS)].parameters.Parameters
    return load_as(kind, paper, tier, root=root, **given)


def load_as(
    kind: type[Parameters], name: str, tier: str, *, root: Path | None = None, **given
) -> Parameters:
    """Return the parameters of a chapter at a tier, as a class has them; else as `load`."""
    root = root or project_root()
    known_name("tier", tier, tiers(root))
    folder = root / "params" / tier
    known_name("paper", name, [file.stem for file in folder.glob("*.yaml")])
    file = folder / f"{name}.yaml"
    try:
        values = values_of(file)
        if "tier" in values:
            raise ValueError("tier: the name of the folder says it; remove the line")
        parameters = kind(tier=tier, **values)
    except ValueError as error:
        raise ValueError(f"{file.relative_to(root)}: {error}") from None
    given = {name: value for name, value in given.items() if value is not None}
    return parameters.replace(**given) if given else parameters


def values_of(file: Path, above: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the names and values of a tier's file, with those of the tiers that it extends.

    `above` are the tiers that extend it.

    Raises
    ------
    ValueError
        As `read`; this paper has no such tier to extend, or it is among those `above`.
    """
    values = read(file)
    below = values.pop("extends", None)
    if below is None:
        return values
    above = (*above, file.parent.name)
    others = {path.parent.name for path in file.parent.parent.glob(f"*/{file.name}")}
    known_name("tier to extend", below, sorted(others - {*above}))
    return overlay(values_of(file.parent.parent / below / file.name, above), values)


class Only(dict):
    """A mapping that replaces the one of the tier that is extended: ``!only`` in a file."""


def overlay(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return names and values with changes; within a mapping, only the named ones change.

    Examples
    --------
    >>> overlay({"runs": 5, "networks": {"a": {"depth": 18, "width": 64}, "b": {}}},
    ...         {"networks": {"a": {"depth": 8}}})
    {'runs': 5, 'networks': {'a': {'depth': 8, 'width': 64}, 'b': {}}}
    >>> overlay({"networks": {"a": {}, "b": {}}}, {"networks": Only(c={})})
    {'networks': {'c': {}}}
    """
    return base | {
        name: overlay({} if isinstance(value, Only) else base.get(name) or {}, value)
        if isinstance(value, dict)
        else value
        for name, value in changes.items()
    }


class _Loader(yaml.SafeLoader):
    """Refuses a key that a mapping has twice, of which YAML would take the last."""

    def compose_mapping_node(self, anchor):
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if str(key.value) in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"'{key.value}' a second time", problem_mark=key.start_mark
                )
            seen.add(str(key.value))
        return node


_Loader.add_constructor(
    "!only", lambda loader, node: Only(loader.construct_mapping(node, deep=True))
)


# the last ones come of a tag on a value that it does not fit, such as `!!bool maybe`
_NO_YAML = (
    yaml.YAMLError, UnicodeDecodeError, RecursionError, ArithmeticError, AttributeError,
    LookupError, TypeError, ValueError,
)  # fmt: skip


def read(file: Path) -> dict[str, Any]:
    """Return the names and values of a YAML file.

    Raises
    ------
    ValueError
        Not YAML, with the line; a name twice; or no names with values.
    """
    try:
        found = yaml.load(file.read_text(encoding="utf-8"), _Loader)
    except yaml.MarkedYAMLError as error:
        raise ValueError(f"line {error.problem_mark.line + 1}: {error.problem}") from None
    except _NO_YAML as error:
        raise ValueError(f"no text in YAML ({str(error).partition(chr(10))[0]})") from None
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise ValueError(f"names with values expected, got {found!r}")
    return found


_EXPECTED = {
    "bool_type": "true or false",
    "dict_type": "names with values",
    "finite_number": "a finite number",
    "float_type": "a number",
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "at least {ge:g}",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "less_than": "less than {lt:g}",
    "less_than_equal": "at most {le:g}",
    "list_type": "a list",
    "string_type": "a text",
    "too_long": "at most {max_length} values",
    "too_short": "at least {min_length} value(s)",
}


def _in_words(error: ValidationError, kind: type[Parameters]) -> str:
    """Say what is wrong in one line: first of all a name that is none."""
    errors = sorted(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    first, place = errors[0], ".".join(map(str, errors[0]["loc"]))
    context = first.get("ctx", {})
    if first["type"] == "extra_forbidden":
        try:
            known_name("parameter", place, kind.model_fields)
        except ValueError as unknown:
            return str(unknown)
    if first["type"] == "missing":
        return f"{place}: missing"
    if first["type"] in _EXPECTED:
        said = f"{_EXPECTED[first['type']].format(**context)} expected, got {first['input']!r}"
    else:
        said = str(context.get("error", first["msg"]))
    return f"{place}: {said}" if place else said


def _data_sets(kind, value) -> list[str]:
    """Return the values within `value` whose type, within `kind`, is `DataSet`."""
    if kind == DataSet:
        return [value]
    inner, origin = get_args(kind), get_origin(kind)
    if origin is Annotated:
        return _data_sets(inner[0], value)
    if origin is dict:
        pairs = value.items() if isinstance(value, dict) else ()
        found = [_data_sets(inner[0], name) + _data_sets(inner[1], one) for name, one in pairs]
    elif origin is list:
        found = [_data_sets(inner[0], one) for one in value if isinstance(value, list)]
    else:  # one of several types
        found = [_data_sets(one, value) for one in inner]
    return [name for names in found for name in names]
