"""The parameters of a paper at a tier: one flat file, every value typed and checked.

The keys of ``params/<tier>/<paper>.yaml`` are the fields of the class `Parameters` in
`helpers.papers.<paper>.parameters`, a subclass of the class here.  A file that begins with
``extends: TIER`` lists only the differences from that tier; all tiers of a paper but one do.
Importing this module is cheap, so that wrong parameters are refused before work starts.
"""

import copy
import difflib
import functools
import re
from collections import ChainMap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, get_args, get_origin, get_type_hints

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from helpers.checks import file_name, known_name
from helpers.data import class_lists
from helpers.files import content_of, project_root
from helpers.networks import timm_weights, zoo_records
from helpers.networks.recipe import Recipe
from helpers.papers import PAPERS
from helpers.training import search

_EXPECTED = content_of(__file__, "messages")


def one_of(kind: str, options: Iterable[str] | Callable[[], Iterable[str]]) -> AfterValidator:
    """Return the check that a text is one of some names, or of the names that a function lists."""

    def check(name: str) -> str:
        return known_name(kind, name, options() if callable(options) else options)

    return AfterValidator(check)


def check_network(kind: str, name: str, others: Iterable[str] = ()) -> None:
    """Refuse a name that is no published network, no network of timm, and not among `others`."""
    options = {*zoo_records.records(), *timm_weights.names(), *others}
    if not timm_weights.names() or name in options:  # timm may not be installed
        return
    base, dot, _ = name.partition(".")
    if dot and base in timm_weights.names():  # timm alone knows its weights
        return
    near = difflib.get_close_matches(name, sorted(options), n=1, cutoff=0.4)
    hint = f"; did you mean '{near[0]}'" if near else ""
    raise ValueError(f"unknown {kind} '{name}'{hint}? See timm.list_models()")


def check_scores(kind: str, arguments: dict[str, dict]) -> dict[str, Any]:
    """Return scores by name; refuse arguments and values that a score does not take."""
    from helpers import scores

    created = {}
    for name, values in arguments.items():
        try:
            created[name] = scores.create(name, **values)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{kind}.{name}: {error}") from None
    return created


def check_classes(kind: str, data_set: str, names: Iterable[str]) -> None:
    """Refuse names that are not classes of a data set, if its class list is stored here."""
    base = data_set.removesuffix("_mini")
    if base in ("cifar10", "cifar100"):  # other data sets have other names in each archive
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


#: Tags of pydantic for the possible types of a field.
_TAG = re.compile("dict|list|str|function-.*")
#: A number that YAML 1.1 reads as a text.
_EXPONENT = r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+"
#: A name that a file gives to a network, a size or a group: part of the names of steps and files.
Name = Annotated[str, AfterValidator(lambda name: file_name("name", name))]
Seed = Annotated[int, Field(ge=0, le=4_000_000_000)]
Count = Annotated[int, Field(ge=1)]
#: A number of repetitions; more than 1,000 is a slip.
Repeats = Annotated[int, Field(ge=1, le=1000)]
Share = Annotated[float, Field(gt=0, lt=1)]
#: One of `helpers.data.names`, or ``folder:PATH``; see `Parameters.data_sets_used`.
DataSet = Annotated[str, AfterValidator(_data_set)]
Score = Annotated[str, one_of("score", _scores)]
Distance = Annotated[str, one_of("distance", ("euclidean", "euclidean_cosine"))]  # of OpenMax
Tier = Annotated[str, one_of("tier", tiers)]
#: Fields of a `Recipe` and their new values.
Changes = dict[str, Any]


class Parameters(BaseModel):
    """The parameters of all papers; each paper adds its fields.

    No value is converted: a wrong type, an unknown field, NaN and infinity raise an error in one
    line that names the field.  Only features off by default have defaults; files set all others.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
    #: Fields that only select the parts of an experiment: no row depends on them.
    grid: ClassVar[tuple[str, ...]] = ()
    #: The paper whose finished networks are loaded, if it is another one.
    networks_of: ClassVar[str] = ""

    tier: Name
    seed: Seed  # of all random numbers
    replicates: Annotated[int, Field(ge=1, le=100_000)]  # of the bootstrap over the test images
    training: Changes  # fields of `helpers.networks.recipe.Recipe` that all networks share
    training_knobs: Changes = {}  # given by a caller: they override every network's
    download: bool = False  # let torchvision and timm download missing data and weights
    larger_tiers: list[Tier] = []  # whose committed results are shown as well
    device: str | None = None  # of the networks; by default a GPU if there is one
    # the tier whose finished networks are loaded where their recipe, classes and seed are these
    finished: Tier | None = None

    def __init__(self, **values):
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ValueError(_in_words(error, type(self))) from None

    @model_validator(mode="after")
    def _check_lists(self):
        for name in type(self).model_fields:
            values = getattr(self, name)
            if not isinstance(values, list):
                continue
            for number, value in enumerate(values):
                if value in values[:number]:
                    raise ValueError(f"{name}: each value once expected, got {value!r} twice")
        return self

    @model_validator(mode="after")
    def _check_training(self):
        self.recipe()
        return self

    @classmethod
    def at_tier(cls, name: str, tier: str, *, root: Path | None = None, **given) -> Self:
        """Return the parameters in ``params/<tier>/<name>.yaml``; else as `load`."""
        root = root or project_root()
        known_name("tier", tier, tiers(root))
        folder = root / "params" / tier
        known_name(f"paper of tier {tier}", name, [file.stem for file in folder.glob("*.yaml")])
        file = folder / f"{name}.yaml"
        try:
            values = values_of(file)
            if "tier" in values:
                raise ValueError("tier: the name of the folder is the tier; remove the line")
            parameters = cls(tier=tier, **values)
        except ValueError as error:
            raise ValueError(f"{file.relative_to(root)}: {error}") from None
        changes = {name: _numbers(value) for name, value in given.items() if value is not None}
        # as in a file that extends a tier: within a mapping, only these names change
        merged = overlay(parameters.model_dump(), changes)
        return parameters.replace(**{name: merged[name] for name in changes})

    @property
    def paper(self) -> str:
        """The paper's name: the name of the folder of the class."""
        return type(self).__module__.split(".")[-2]

    @property
    def finished_networks(self) -> Path | None:
        """The folder of the networks of the tier `finished`."""
        if self.finished is None:
            return None
        networks = project_root() / "results" / self.finished / "networks"
        return networks / (self.networks_of or self.paper)

    def committed(self):
        """Return the committed table of the tier `finished`, on the whole sets.

        None without such a tier: its table has the whole sets itself.  The table must exist.
        """
        from helpers.tables import results

        if self.finished is None:
            return None
        return results.read(project_root() / "results" / self.finished / f"{self.paper}.parquet")

    def recipe(self, *changes: Changes) -> Recipe:
        """Return the recipe of a network: `training`, then changes in turn, the knobs last."""
        merged = ChainMap(self.training_knobs, *reversed(changes), self.training)
        recipe = Recipe.from_parameters(dict(merged))
        search.check_arguments(recipe)
        return recipe

    def replace(self, **given) -> Self:
        """Return the same parameters with other values, checked; fields of a `Recipe` are knobs."""
        fields = type(self).model_fields
        names = fields.keys() | Recipe.__dataclass_fields__.keys()
        values = self.model_dump()
        for name, value in given.items():
            if known_name("parameter", name, names) in fields:
                values[name] = value
        knobs = {name: value for name, value in given.items() if name not in fields}
        values["training_knobs"] = values["training_knobs"] | knobs
        return type(self)(**values)

    def decisive(self) -> dict[str, Any]:
        """Return the values that a part's rows depend on, in addition to its images and weights."""
        others = {"download", "larger_tiers", "device", "finished"}
        return self.model_dump(exclude={*self.grid, *others})

    def trainings(self) -> dict[str, dict]:
        """Return the arguments of each run of the training notebook; the first is the page."""
        return {}

    def data_sets_used(self) -> list[str]:
        """Return the names of all data sets: the values of the fields with the type `DataSet`."""
        kinds = get_type_hints(type(self), include_extras=True)
        names: list[str] = []
        for field in type(self).model_fields:
            names += _data_sets(kinds[field], getattr(self, field))
        return list(dict.fromkeys(filter(None, names)))

    def data_sets_needed(self) -> list[str]:
        """Return the data sets that every part needs; others may become rows ``failed``."""
        return self.data_sets_used()


def load(paper: str, tier: str, *, root: Path | None = None, **given) -> Parameters:
    """Return the parameters of a paper at a tier, from ``params/<tier>/<paper>.yaml``.

    `root` is the folder of ``params``, by default the project's.  `given` changes values of the
    file as a file that extends it does (see `overlay`): fields of the paper's parameters, or of a
    `Recipe` for all networks; None changes nothing.
    Errors in the file begin with its name.

    >>> load("openset_calibration", "mini", keep=0.9, epochs=None).keep
    0.9
    >>> load("openset_calibration", "mini", epoch=3)
    Traceback (most recent call last):
        ...
    ValueError: unknown parameter 'epoch'; did you mean 'epochs'? There are: ...
    """
    kind = PAPERS[known_name("paper", paper, PAPERS)].parameters.Parameters
    return kind.at_tier(paper, tier, root=root, **given)


def values_of(file: Path, above: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the values of a tier's file over the values of the tiers that it extends.

    `above` are the tiers that extend it.
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
    """A mapping that replaces the mapping of the extended tier: ``!only`` in a file."""


def overlay(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return names and values with changes; within a mapping, only the named values change.

    >>> overlay({"runs": 5, "networks": {"a": {"depth": 18, "width": 64}, "b": {}}},
    ...         {"networks": {"a": {"depth": 8}}})
    {'runs': 5, 'networks': {'a': {'depth': 8, 'width': 64}, 'b': {}}}
    >>> overlay({"networks": {"a": {}, "b": {}}}, {"networks": Only(c={})})
    {'networks': {'c': {}}}
    """
    merged = dict(base)
    for name, value in changes.items():
        if isinstance(value, dict):
            before = {} if isinstance(value, Only) else base.get(name)
            value = overlay(before if isinstance(before, dict) else {}, value)
        merged[name] = value
    return merged


class _Loader(yaml.SafeLoader):
    """A loader that refuses what YAML 1.1 reads in another way than its author means it.

    A key twice in a mapping would have the last value, 010 would be eight, 1:30 ninety, and yes
    true.  The number 1e-3 would be a text.
    """

    yaml_implicit_resolvers: ClassVar = {
        first: list(pairs) for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

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


def _plain(kind: str, expected: str, pattern: str) -> None:
    """Let the loader read values of a kind only in their usual form."""
    usual = getattr(yaml.SafeLoader, f"construct_yaml_{kind}")

    def construct(loader: _Loader, node: yaml.ScalarNode):
        if not re.fullmatch(pattern, str(node.value)):
            problem = f"{expected} expected, got {node.value}; put quotation marks round a text"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
        return usual(loader, node)

    _Loader.add_constructor(f"tag:yaml.org,2002:{kind}", construct)


_plain("bool", "true or false", "true|false")
_plain("int", "a whole number in decimal digits", "[-+]?(0|[1-9][0-9]*)")
_plain("float", "a number", r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?\.(inf|nan)")
_plain("timestamp", "no date", "")
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(f"{_EXPONENT}$"),
    [*"-+.0123456789"],
)
_Loader.add_constructor(
    "!only", lambda loader, node: Only(loader.construct_mapping(node, deep=True))
)


def value_of(text: str) -> Any:
    """Return the value of a text in YAML, as in a parameter file; ``!only`` replaces a mapping.

    >>> value_of("1e-3")
    0.001
    """
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        raise ValueError(error.problem) from None


def _numbers(value: Any) -> Any:
    """Return a caller's value as in a parameter file: ``-y '{rate: 1e-3}'`` gives a number.

    Papermill reads YAML 1.1, in which 1e-3 is a text.

    >>> _numbers({"rate": "1e-3", "names": ["1e-3", "e3", "10"]})
    {'rate': 0.001, 'names': [0.001, 'e3', '10']}
    """
    if isinstance(value, dict):
        return type(value)({name: _numbers(inner) for name, inner in value.items()})
    if isinstance(value, list | tuple):
        return type(value)(map(_numbers, value))
    if isinstance(value, str) and re.fullmatch(_EXPONENT, value):
        return float(value)
    return value


def read(file: Path) -> dict[str, Any]:
    """Return the names and values of a YAML file; an error names the line."""
    try:
        values = copy.deepcopy(_parsed(file.read_text(encoding="utf-8")))
    except yaml.MarkedYAMLError as error:
        raise ValueError(f"line {error.problem_mark.line + 1}: {error.problem}") from None
    except Exception as error:  # also of a tag that does not fit its value: `!!bool maybe`
        reason = str(error).splitlines()[0]
        raise ValueError(f"no text in YAML ({reason})") from None
    if not isinstance(values, dict) or not all(isinstance(name, str) for name in values):
        raise ValueError(f"names with values expected, got {values!r}")
    return values


# a plan reads each file several times
_parsed = functools.cache(lambda text: yaml.load(text, _Loader))


def _in_words(error: ValidationError, model: type[BaseModel]) -> str:
    """Return the error in one line; an unknown name precedes all other errors."""
    first = min(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
    kind = first["type"]
    location = first["loc"]
    if location[-1:] == ("[key]",):  # the message shows the key, which may be any text
        location = location[:-2]
    name = ".".join(step for step in map(str, location) if not _TAG.fullmatch(step))
    if kind == "extra_forbidden" and len(location) == 1:
        try:
            known_name("parameter", str(location[0]), model.model_fields)
        except ValueError as unknown:
            return str(unknown)
    context = first.get("ctx", {})
    if kind == "missing":
        message = "missing"
    elif kind == "extra_forbidden":
        message = "unknown name; correct or remove it"
    elif kind in _EXPECTED:
        expected = _EXPECTED[kind].format(**context)
        value = first["input"]
        message = f"{expected} expected, got {value!r}{_hint(value)}"
    else:
        message = str(context.get("error", first["msg"]))
    return f"{name}: {message}" if name else message


def _hint(value: object) -> str:
    """Return the option of papermill that gives lists and the like, if a text looks like one."""
    if not isinstance(value, str):
        return ""
    try:
        meant = yaml.load(value, _Loader)
    except yaml.YAMLError:
        return ""
    if isinstance(meant, str) or meant is None:
        return ""
    return "; papermill takes such a value with -y '{NAME: VALUE}', and -p makes a text of it"


def _data_sets(kind, value) -> list[str]:
    """Return the values within `value` whose type, within `kind`, is `DataSet`."""
    if kind == DataSet:
        return [value]
    inner = get_args(kind)
    origin = get_origin(kind)
    pairs: list[tuple[Any, Any]] = []  # types within the type, with the values within the value
    if origin is Annotated:
        pairs = [(inner[0], value)]
    elif origin is dict:
        if isinstance(value, dict):
            for item in value.items():
                pairs += zip(inner, item, strict=True)
    elif origin is list:
        if isinstance(value, list):
            pairs = [(inner[0], item) for item in value]
    else:  # any of several types
        pairs = [(option, value) for option in inner]
    names: list[str] = []
    for inner_kind, inner_value in pairs:
        names += _data_sets(inner_kind, inner_value)
    return names
