"""The images and measures that the papers are compared on."""

import numpy as np
import pytest

from helpers import data
from helpers.data import class_lists, overlaps
from helpers.metrics import records
from helpers.papers import PAPERS
from helpers.papers.run import parts
from synthesis.across.measures import ALGORITHMS, COMPARED, MEASURES
from synthesis.across.roles import load_families, roles
from synthesis.chapters import load
from tests.papers.toys import pack

PARAMETERS = load("synthesis", "mini")
NETWORK = "resnet20.akamaster_cifar10"


def test_measures_and_parameters_agree_with_those_of_the_papers():
    """No two measures are the same number; networks of the benchmark are found in the cache."""
    better = {record.name: record.better for record in records.read()}
    for measure in MEASURES.values():
        assert measure.paper in PAPERS
        if measure.metric in better:
            assert measure.higher == (better[measure.metric] == "higher"), measure
    places = {(measure.metric, measure.test_set) for measure in MEASURES.values()}
    assert len(places) == len({measure.title for measure in MEASURES.values()}) == len(MEASURES)
    assert COMPARED[:2] == ["aurc", "aurc_test"] and len(COMPARED) == 12
    assert sorted(PARAMETERS.algorithms, key=[*ALGORITHMS].index) == [*PARAMETERS.algorithms]
    lender = load("unknown_detection", "mini")
    images = ("data_set", "superclasses", "known_share", "known_classes", "far", "far_images")
    for field in (*images, "seed", "passes", "finished"):
        assert getattr(PARAMETERS, field) == getattr(lender, field), field
    for name in PARAMETERS.algorithms:
        assert PARAMETERS.recipe_of(name) == lender.method_recipe(name)


def test_no_image_that_a_finished_network_has_learned_is_held_out():
    """Half of the ID test images of each class are for thresholds; the others are tested."""
    few = roles(PARAMETERS)
    held_out = few.test.subset(few.held_out)
    assert held_out.sha256 == few.validation.sha256
    counts = np.bincount(few.validation.labels)
    assert (2 * counts == np.bincount(few.test.labels)).all()
    learned = {image.tobytes() for image in few.train.images}
    assert not learned & {image.tobytes() for image in few.test.images}


def test_families_are_none_of_the_sets_that_are_used_otherwise():
    """All unknown, at most as many images as requested, and the same each time."""
    sets = {"external": "mazes", "plaid": "plaid", "gaussian": "gaussian"}
    taken = {role: data.load(name, "test").unknown() for role, name in sets.items()}
    names = ["clocks", "trees", "stars"]
    orders = names, names[::-1]
    families, again = (load_families(PARAMETERS, order, taken, 20) for order in orders)
    assert list(families) == names and {len(images) for images in families.values()} == {20}
    assert all((images.labels == -1).all() for images in families.values())
    assert all(families[name].sha256 == again[name].sha256 for name in names)
    for role, name in sets.items():
        with pytest.raises(ValueError, match=f"'{name}' shares the class {name} .* '{role}'"):
            load_families(PARAMETERS, ["clocks", "trees", name], taken, 20)


def of_published(**changed):
    parameters = PARAMETERS.replace(**changed)
    return roles(parameters, parts(parameters, NETWORK)[0])


def test_halves_of_the_test_images_are_held_out_and_tested():
    """No image is in both, half of each class is in either, and none was learned."""
    every, few = of_published(), of_published(published_images=100)
    whole = data.load("cifar10_mini", "test")
    groups = (every.validation, every.test, every.train)
    held, test, train = ({image.tobytes() for image in group.images} for group in groups)
    assert not held & test and not (held | test) & train
    assert len(held | test) == len({image.tobytes() for image in whole.images})
    for group in groups[:2]:
        assert (np.bincount(group.labels) * 2 == np.bincount(whole.labels)).all()
    assert [len(group) for group in (few.validation, few.test, few.thresholds)] == [100] * 3
    assert few.train.sha256 == every.train.sha256  # scores learn from all of them
    assert every.external is None and (every.external_validation.labels == -1).all()


def test_near_and_far_sets_have_no_class_in_common_with_the_id_set(tmp_path, monkeypatch):
    """Sets with shared classes are left out; near sets lose the classes that WordNet relates."""
    monkeypatch.setenv("DATA_ROOT", str(tmp_path))
    cifar100 = class_lists.names_of("cifar100")
    for name, classes in (("cifar100", cifar100), ("pacs_photo", ["dog"]), ("moss", ["moss"])):
        pack(tmp_path, name, classes, {"test": 2})
    every = of_published(near=["cifar10", "cifar100"], far=["digits", "pacs_photo", "moss"])
    assert list(every.near) == ["cifar100"] and list(every.far) == ["digits", "moss"]
    shown = set(every.near["cifar100"].class_names)
    related = overlaps.find_related(data.load("cifar100", "test"), "cifar10_mini")
    assert shown == set(cifar100) - set(related)
    assert "pickup_truck" not in shown and "leopard" in shown
    assert "truck" in overlaps.find_related(data.load("cifar10_mini", "test"), "cifar100")
    with pytest.raises(ValueError, match="external set: overlaps the test set 'moss'"):
        of_published(far=["moss"], external=["moss"])
