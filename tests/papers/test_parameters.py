"""Parameters from files and callers, and the messages of refused values."""

from typing import Annotated, Literal

import pytest

from helpers.modules import ROOT
from helpers.papers import PAPERS, REHEARSAL, parameters, run
from helpers.papers.parameters import DataSet, Only, Score, load, read, values_of
from synthesis import chapters
from tests.mistakes import beside, refusals

PAPER = "openset_calibration"
BASE_TEXT = (ROOT / f"params/small/{PAPER}.yaml").read_text()
TABLES = "bad_files.yaml", "sizes.yaml", "slips.yaml"
BAD_FILES, SIZES, SLIPS = (beside(__file__, name) for name in TABLES)
MISTAKES = {  # by paper, values in place of those of mini, and by message the values with a mistake
    file.parent.name: beside(file, file.name)
    for file in (ROOT / "tests/papers").glob("*/mistakes.yaml")
}


@pytest.mark.parametrize(
    ("paper", "message"),
    [(paper, message) for paper, given in MISTAKES.items() for message in given["mistakes"]],
)
def test_a_mistake_is_refused_in_one_line_before_anything_is_trained(paper, message):
    given = MISTAKES[paper]
    plain = load(paper, "mini").replace(**given["base"])
    with pytest.raises(ValueError, match=message) as refused:
        parameters = plain.replace(**given["mistakes"][message])
        PAPERS[paper].experiment.roles(parameters, run.parts(parameters)[0])
    assert "\n" not in str(refused.value)


test_bad_calls_are_refused = refusals(__file__, {"mini parameters": load(PAPER, "mini")})


@pytest.fixture
def altered(tmp_path):
    """Return a function that loads a tier from a file with this text; `mini` is our tier small."""

    def load_text(text, tier="tiny", base=None):
        for folder, content in (("mini", base or BASE_TEXT), (tier, text)):
            (tmp_path / "params" / folder).mkdir(parents=True, exist_ok=True)
            (tmp_path / "params" / folder / f"{PAPER}.yaml").write_text(content)
        return load(PAPER, tier, root=tmp_path)

    return load_text


@pytest.mark.parametrize("message", BAD_FILES)
def test_a_mistake_in_a_file_is_refused_with_its_name(altered, message):
    with pytest.raises(ValueError, match=rf"^params/tiny/{PAPER}\.yaml: .*{message}") as refused:
        altered(BAD_FILES[message])
    assert "\n" not in str(refused.value)


def test_tiers_that_extend_each_other_are_refused(altered):
    with pytest.raises(ValueError, match="unknown tier to extend 'tiny'"):
        altered("extends: mini", base="extends: tiny")


def test_a_file_that_extends_another_tier_lists_differences(altered):
    """Names within names change one by one, all else is replaced; a mapping too, after `!only`."""
    whole = load(PAPER, "small")
    name = next(iter(whole.networks))
    changed = altered(
        f"extends: mini\nruns: 7\ndata_sets: [digits]\nnetworks: {{{name}: {{depth: 14}}}}"
    )
    networks = whole.networks | {name: whole.networks[name] | {"depth": 14}}
    assert changed == whole.replace(runs=7, data_sets=["digits"], networks=networks, tier="tiny")
    changed = altered("extends: mini\nnetworks: !only {a: {depth: 14}}\ntraining: {epochs: 3}")
    assert changed.networks == {"a": {"depth": 14}}
    assert changed.training == whole.training | {"epochs": 3}


@pytest.mark.parametrize(
    ("text", "number"), [("1e-3", 0.001), ("1E-3", 0.001), ("1.e-3", 0.001), ("5e-1", 0.5)]
)
def test_a_number_with_an_exponent_is_a_number(altered, text, number):
    assert altered(f"extends: mini\nkeep: {text}").keep == number


def test_given_names_within_names_change_alone():
    """Before, the second network was lost, and the first one lost its depth and its schedule."""
    plain = load(PAPER, "mini")
    changed = load(PAPER, "mini", networks={"resnet20": {"epochs": 3}}, training={"epochs": 2})
    resnet20 = plain.networks["resnet20"] | {"epochs": 3}
    assert changed.networks == plain.networks | {"resnet20": resnet20}
    assert changed.training == plain.training | {"epochs": 2}
    assert load(PAPER, "mini", networks=Only(a={})).networks == {"a": {}}


@pytest.mark.parametrize(("chapter", "message", "given"), SLIPS)
def test_a_slip_that_ran_until_its_use_is_refused_in_the_plan(chapter, message, given):
    with pytest.raises(ValueError, match=message):
        chapters.load(chapter, "mini", **given)


def test_fields_of_a_recipe_replace_the_fields_of_any_network():
    network = load(PAPER, "small").networks["efficientnet_half"] | {"learning_rate": 0.2}
    assert load(PAPER, "mini").recipe(network).learning_rate == network["learning_rate"] != 0.3
    knobs = load(PAPER, "mini", learning_rate=0.3, augmentation=["flip"]).replace(epochs=3)
    recipe = knobs.recipe(network)
    assert (recipe.learning_rate, recipe.augmentation, recipe.epochs) == (0.3, ("flip",), 3)
    assert recipe.backbone == "efficientnet"


def test_names_of_parts_do_not_decide_rows():
    plain = load(PAPER, "mini")
    networks = plain.networks | {"a": {}}
    more = plain.replace(runs=9, networks=networks, larger_tiers=[], download=True)
    assert more.decisive() == plain.decisive() != plain.replace(tail=9).decisive()


class Made(parameters.Parameters):
    """Parameters with names of data sets in every kind of field."""

    first: DataSet
    perhaps: DataSet | Literal[""]
    several: Annotated[list[DataSet], "a note"]
    by_name: dict[str, list[DataSet]]
    named: dict[DataSet, str]
    score: Score


def test_all_data_sets_that_are_used_are_found():
    parameters = Made(
        tier="mini",
        seed=0,
        replicates=1,
        training={},
        first="digits",
        perhaps="",
        several=["mazes", "digits"],
        by_name={"far": ["plaid"], "near": []},
        named={"folder:/a": "x"},
        score="knn",
    )
    assert parameters.data_sets_used() == ["digits", "mazes", "plaid", "folder:/a"]
    assert parameters.replace(perhaps="clocks").data_sets_used()[1] == "clocks"
    with pytest.raises(ValueError, match="score: unknown score 'kn'; did you mean 'knn'"):
        parameters.replace(score="kn")
    with pytest.raises(ValueError, match=r"by_name\.far\.1: unknown data set 'plad'"):
        parameters.replace(by_name={"far": ["digits", "plad"]})


@pytest.mark.parametrize("file", sorted(ROOT.glob("params/*/*.yaml")), ids=str)
def test_every_file_is_right_and_every_tier_but_the_first_lists_only_differences(file):
    """No value, also within a mapping, repeats the value of the extended tier."""
    if file.stem in PAPERS:
        assert load(file.stem, file.parent.name).tier == file.parent.name
    values = read(file)
    below = values.pop("extends", "")
    files = ROOT.glob(f"params/*/{file.name}")
    assert sum("extends" not in read(each) for each in files) == 1
    base = values_of(file.parent.parent / below / file.name) if below else {}
    for name, value in values.items():
        assert value != base.get(name), name
        if isinstance(value, dict) and not isinstance(value, Only):
            assert all(each != base.get(name, {}).get(key) for key, each in value.items()), name


def changed(before, after, name=""):
    """Yield the names whose values differ, also within names."""
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() <= after.keys():
        for key in after:
            yield from changed(before.get(key), after[key], key)
    elif before != after:
        yield name


def test_the_rehearsal_is_the_papers_tier_except_for_sizes():
    """No method, data set or network is left out, except published networks."""
    for name in sorted(file.stem for file in (ROOT / "params" / "paper").glob("*.yaml")):
        paper, small = (load(name, tier).model_dump() for tier in ("paper", REHEARSAL))
        assert set(changed(paper, small)) <= {*SIZES}
        assert set(small.get("names", ())) <= set(paper.get("names", ()))
