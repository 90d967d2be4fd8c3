"""What the papers are compared on: names, measures, and sets to learn a prediction from."""

import numpy as np
import pytest

from helpers import data, metrics
from helpers.data import class_lists, overlaps
from helpers.papers import PAPERS
from helpers.papers.run import parts
from known_unknowns.across.measures import MEASURES
from known_unknowns.across.roles import load_families, roles
from known_unknowns.chapters import load

PARAMETERS = load("synthesis", "mini")


def test_measures_agree_with_the_records_of_metrics():
    """Whether higher is better is said in two places, and no two measures are the same number."""
    better = {one.name: one.better for one in metrics.RECORDS}
    for one in MEASURES.values():
        assert one.paper in (*PAPERS, "")
        if one.metric in better:
            assert one.higher == (better[one.metric] == "higher"), one
    assert len({(one.metric, one.test_set) for one in MEASURES.values()}) == len(MEASURES)
    assert len({one.title for one in MEASURES.values()}) == len(MEASURES)


def test_images_and_networks_are_those_of_the_benchmark():
    """So that a network that it has trained is found in the cache."""
    lender = load("unknown_detection", "mini")
    for field in set(PARAMETERS.decisive()) & set(lender.decisive()) - {"aside", "resized"}:
        assert getattr(PARAMETERS, field) == getattr(lender, field), field
    for name, changed in lender.method_recipes.items():
        assert PARAMETERS.algorithms[name].items() >= changed.items()


@pytest.fixture(scope="module")
def taken():
    return {
        role: data.load(name, "test").unknown()
        for role, name in {"external": "mazes", "plaid": "plaid", "gaussian": "gaussian"}.items()
    }


def test_families_are_as_many_images_as_there_are_to_mix_them_with(taken):
    """All unknown, at most as many as are asked for, and the same each time."""
    names = ["clocks", "trees", "stars"]
    found, again = (load_families(PARAMETERS, order, taken, 20) for order in (names, names[::-1]))
    assert list(found) == names and {len(one) for one in found.values()} == {20}
    assert all((one.labels == -1).all() for one in found.values())
    assert all(found[name].sha256 == again[name].sha256 for name in names)


@pytest.mark.parametrize(
    ("name", "role"), [("mazes", "external"), ("plaid", "plaid"), ("gaussian", "gaussian")]
)
def test_families_are_none_of_the_sets_that_are_used_otherwise(taken, name, role):
    """What is predicted must not be what the prediction was learnt from."""
    with pytest.raises(ValueError, match=f"'{name}' shares the class {name} .* '{role}'"):
        load_families(PARAMETERS, ["clocks", "trees", name], taken, 20)


NETWORK = "resnet20.akamaster_cifar10"


def of_published(**changed):
    parameters = PARAMETERS.replace(**changed)
    return roles(parameters, parts(parameters, NETWORK)[0])


def test_halves_of_the_test_images_are_held_out_and_tested():
    """No image is in both, of each class half is in either, and none has been learnt."""
    found, few = of_published(), of_published(published_images=100)
    whole = data.load("cifar10_mini", "test")
    seen = [{one.tobytes() for one in part.images} for part in (found.validation, found.test)]
    assert not seen[0] & seen[1] and not (seen[0] | seen[1]) & {
        one.tobytes() for one in found.train.images
    }
    assert len(seen[0] | seen[1]) == len({one.tobytes() for one in whole.images})
    for part in (found.validation, found.test):
        assert (np.bincount(part.labels) * 2 == np.bincount(whole.labels)).all()
    assert [len(one) for one in (few.validation, few.test, few.thresholds)] == [100] * 3
    assert few.train.sha256 == found.train.sha256  # scores learn from all of them
    assert found.external is None and (found.external_validation.labels == -1).all()


def test_near_and_far_sets_have_no_class_in_common_with_the_id_set(tmp_path, monkeypatch):
    """What is known to show one is left out; of near sets, the classes that WordNet relates."""
    monkeypatch.setenv("DATA_ROOT", str(tmp_path))
    cifar100, pixels = class_lists.names_of("cifar100"), np.zeros((100, 32, 32, 3), np.uint8)
    pixels += np.arange(100, dtype=np.uint8)[:, None, None, None]
    for name, classes in (("cifar100", cifar100), ("pacs_photo", ("dog",)), ("moss", ("moss",))):
        labels = np.arange(100) % len(classes)
        written = {"name": name, "class_names": classes, "splits": {"test": (pixels, labels)}}
        data.write_pack(tmp_path / f"{name}.zip", **written, origin={"title": name})
    found = of_published(near=["cifar10", "cifar100"], far=["digits", "pacs_photo", "moss"])
    assert list(found.near) == ["cifar100"] and list(found.far) == ["digits", "moss"]
    shown = set(found.near["cifar100"].class_names)
    assert shown == set(cifar100) - set(
        overlaps.find_related(data.load("cifar100", "test"), "cifar10_mini")
    )
    assert "pickup_truck" not in shown and "leopard" in shown
    with pytest.raises(ValueError, match="external set: overlaps the test set 'moss'"):
        of_published(far=["moss"], external=["moss"])
