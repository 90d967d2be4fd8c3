"""Parameters: what a file and a caller may say, and what is refused in which words."""

from pathlib import Path
from typing import Annotated, Literal

import pytest
import yaml

from helpers.papers import REHEARSAL, parameters
from helpers.papers.parameters import (
    Count,
    DataSet,
    Only,
    Score,
    Seed,
    load,
    read,
    tiers,
    values_of,
)

ROOT = Path(__file__).resolve().parents[2]
PAPER = "openset_calibration"
FILE = f"params/mini/{PAPER}.yaml"


@pytest.fixture
def altered(tmp_path):
    """Return a function that loads the mini tier from a file in which some values are others."""
    (tmp_path / FILE).parent.mkdir(parents=True)

    def changed(text=None, **values):
        whole = yaml.safe_load((ROOT / FILE).read_text()) | values
        (tmp_path / FILE).write_text(yaml.safe_dump(whole) if text is None else text)
        return load(PAPER, "mini", root=tmp_path)

    return changed


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"binz": 3}, "unknown parameter 'binz'; did you mean 'bins'"),
        ({"runs": "2"}, "runs: a whole number expected, got '2'"),
        ({"runs": 2.5}, "runs: a whole number expected, got 2.5"),
        ({"runs": 0}, "runs: at least 1 expected, got 0"),
        ({"keep": 9.0}, "keep: less than 1 expected, got 9.0"),
        ({"keep": float("nan")}, "keep: a finite number expected, got nan"),
        ({"alpha": 7}, r"alpha: at most known \(6\) expected, got 7"),
        ({"known": 99, "alpha": 0}, "known: fewer than the 10 classes of cifar10_mini expected"),
        ({"distance": "euclid"}, "distance: unknown distance 'euclid'; did you mean 'euclidean'"),
        ({"data_sets": ["digist"]}, "data_sets.0: unknown data set 'digist'; did you mean 'digits"),
        ({"data_sets": []}, r"data_sets: at least 1 value\(s\) expected"),
        ({"larger_tiers": ["smal"]}, "unknown tier 'smal'"),
        ({"networks": None}, "networks: names with values expected, got None"),
        ({"networks": {"a": {"dept": 8}}}, "unknown training parameter 'dept'; did you mean 'dept"),
        ({"runs": 1_000_000_000}, "runs: at most 1000 expected, got 1000000000"),
        ({"training": {"batch_size": "3"}}, "batch_size: a whole number expected, got '3'"),
        ({"training": {"milestones": [2.0]}}, r"milestones: shares up to 1 expected, got \[2.0"),
        ({"tier": "small"}, "tier: the name of the folder says it"),
        ({"text": ""}, "names with values expected, got None"),
        ({"text": "seed: 1\nruns: 2\nseed: 3\n"}, "line 3: 'seed' a second time"),
        ({"text": "networks:\n  a: {depth: 8, depth: 14}\n"}, "line 2: 'depth' a second time"),
        ({"text": "seed: 1\n\truns: 2\n"}, "line 2: found character '\\\\t'"),
        ({"text": "seed: !!python/name:os.system ''\n"}, "line 1: could not determine"),
        ({"text": "seed: 1\n"}, "replicates: missing"),
        ({"text": "a: \0"}, "no text in YAML"),
    ],
)
def test_a_mistake_in_a_file_is_refused_with_its_name(altered, values, message):
    with pytest.raises(ValueError, match=f"^{FILE}: .*{message}") as refused:
        altered(**values)
    assert "\n" not in str(refused.value)


@pytest.fixture
def stacked(tmp_path):
    """Return a function that loads a tier whose file extends another one's."""

    def made(text, base=None):
        for tier, content in (("mini", base or (ROOT / FILE).read_text()), ("tiny", text)):
            (tmp_path / "params" / tier).mkdir(parents=True, exist_ok=True)
            (tmp_path / "params" / tier / f"{PAPER}.yaml").write_text(content)
        return load(PAPER, "tiny", root=tmp_path)

    return made


def test_a_file_that_extends_another_tier_says_what_is_otherwise(stacked):
    """Names within names are changed one by one, all else is taken as a whole."""
    whole = load(PAPER, "mini")
    name = next(iter(whole.networks))
    changed = stacked(
        f"extends: mini\nruns: 7\ndata_sets: [digits]\nnetworks: {{{name}: {{depth: 14}}}}"
    )
    assert changed.tier == "tiny" and changed.runs == 7 and changed.data_sets == ["digits"]
    assert changed.networks == whole.networks | {name: whole.networks[name] | {"depth": 14}}
    same = changed.model_dump(exclude={"tier", "runs", "data_sets", "networks"})
    assert same == whole.model_dump(exclude={"tier", "runs", "data_sets", "networks"})


@pytest.mark.parametrize(
    ("text", "base", "message"),
    [
        ("extends: mni", None, "unknown tier to extend 'mni'; did you mean 'mini'"),
        ("extends: mini", "extends: tiny", "unknown tier to extend 'tiny'"),  # in a circle
        ("extends: mini\nrnus: 7", None, "unknown parameter 'rnus'; did you mean 'runs'"),
    ],
)
def test_a_mistake_in_what_is_extended_is_refused(stacked, text, base, message):
    with pytest.raises(ValueError, match=rf"^params/tiny/{PAPER}\.yaml: .*{message}"):
        stacked(text, base)


def test_a_mapping_may_replace_the_mapping_of_the_extended_tier(stacked):
    changed = stacked("extends: mini\nnetworks: !only {a: {depth: 14}}\ntraining: {epochs: 3}")
    assert changed.networks == {"a": {"depth": 14}}
    assert changed.training == load(PAPER, "mini").training | {"epochs": 3}


def test_a_caller_overlays_the_file_and_is_answered_without_its_name():
    plain = load(PAPER, "mini")
    assert load(PAPER, "mini", keep=None) == plain
    assert load(PAPER, "mini", keep=0.5).keep == 0.5
    for given, message in {
        "kepe": "^unknown parameter 'kepe'; did you mean 'keep'",
        "epoch": "^unknown parameter 'epoch'; did you mean 'epochs'",
        "runs": "^runs: a whole number expected, got 'x'",
        "epochs": "^epochs: .* expected, got 'x'",
    }.items():
        with pytest.raises(ValueError, match=message):
            load(PAPER, "mini", **{given: "x"})
    with pytest.raises(ValueError, match="unknown tier 'mni'; did you mean 'mini'"):
        load(PAPER, "mni")
    with pytest.raises(ValueError, match=r"unknown paper .*; did you mean 'openset_calibration'"):
        load("openset", "mini")


def test_fields_of_a_recipe_win_over_those_of_any_network():
    plain = load(PAPER, "mini")
    own = plain.networks["efficientnet_eighth"]
    assert plain.recipe(own).learning_rate == own["learning_rate"] != 0.3
    knobs = load(PAPER, "mini", learning_rate=0.3, augmentation=["flip"]).replace(epochs=3)
    recipe = knobs.recipe(own)
    assert (recipe.learning_rate, recipe.augmentation, recipe.epochs) == (0.3, ("flip",), 3)
    assert recipe.backbone == "efficientnet"


def test_what_only_names_the_parts_decides_no_rows():
    plain = load(PAPER, "mini")
    more = plain.replace(
        runs=9, networks=plain.networks | {"a": {}}, larger_tiers=[], download=True
    )
    assert more.decisive() == plain.decisive() != plain.replace(tail=9).decisive()


class Made(parameters.Parameters):
    """Parameters with names of data sets in every place in which they can stand."""

    one: DataSet
    perhaps: DataSet | Literal[""]
    several: Annotated[list[DataSet], "a note"]
    by_name: dict[str, list[DataSet]]
    named: dict[DataSet, str]
    score: Score
    count: Count | None = None
    other: Seed = 0


def test_all_data_sets_that_are_used_are_found():
    made = Made(
        tier="mini", seed=0, replicates=1, training={}, one="digits", perhaps="",
        several=["mazes", "digits"], by_name={"far": ["plaid"], "near": []},
        named={"folder:/a": "x"}, score="knn",
    )  # fmt: skip
    assert made.data_sets_used() == ["digits", "mazes", "plaid", "folder:/a"]
    assert made.replace(perhaps="clocks").data_sets_used()[1] == "clocks"
    with pytest.raises(ValueError, match="score: unknown score 'kn'; did you mean 'knn'"):
        made.replace(score="kn")
    with pytest.raises(ValueError, match=r"by_name\.far\.1: unknown data set 'plad'"):
        made.replace(by_name={"far": ["digits", "plad"]})


@pytest.mark.parametrize("tier", tiers())
def test_every_file_of_a_tier_is_right(tier):
    for file in sorted((ROOT / "params" / tier).glob("*.yaml")):
        if (ROOT / "helpers" / "papers" / file.stem / "parameters.py").exists():
            assert load(file.stem, tier).tier == tier


@pytest.mark.parametrize("file", sorted(ROOT.glob("params/*/*.yaml")), ids=str)
def test_every_tier_but_mini_lists_only_differences(file):
    """No value, and none within a mapping, is that of the tier that is extended."""
    values = read(file)
    below = values.pop("extends", "")
    assert bool(below) == (file.parent.name != "mini")
    base = values_of(file.parent.parent / below / file.name) if below else {}
    for name, value in values.items():
        assert value != base.get(name), name
        if isinstance(value, dict) and not isinstance(value, Only):
            same = [key for key in value if key in base.get(name, {})]
            assert all(value[key] != base[name][key] for key in same), name


SIZES = set(
    "epochs batch_size image_size threads depth width learning_rate tier download replicates runs "
    "names examples shown members passes trials temperatures epsilons alphas tails tta_copies "
    "jacobian_images repeats sizes validations least_images validation_images set_images "
    "far_images external_validation train_per_class held_out_per_class threshold_per_class "
    "input_shifted_images label_shifted_images".split()
)


def changed(before, after, name=""):
    """Yield the names whose values differ, also within names."""
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() <= after.keys():
        for key in after:
            yield from changed(before.get(key), after[key], key)
    elif before != after:
        yield name


def test_the_rehearsal_is_the_papers_tier_except_for_sizes():
    """No method, data set or network is left out, except published networks."""
    names = sorted(file.stem for file in (ROOT / "params" / "paper").glob("*.yaml"))
    assert names == sorted(file.stem for file in (ROOT / "params" / REHEARSAL).glob("*.yaml"))
    for name in names:
        paper, small = (load(name, tier).model_dump() for tier in ("paper", REHEARSAL))
        assert set(changed(paper, small)) <= SIZES
        assert set(small.get("names", ())) <= set(paper.get("names", ()))
