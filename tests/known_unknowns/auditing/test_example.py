"""The example of each tier keeps its condition, and does not become that of another."""

import pytest

from helpers.data.class_lists import shared_classes
from helpers.files import project_root
from helpers.networks import published
from known_unknowns import auditing as audit
from known_unknowns import chapters

TIERS = sorted(path.parent.name for path in project_root().glob("params/*/audit.yaml"))


@pytest.fixture(scope="module")
def inputs():
    """Of the example that a fresh clone has, with few families."""
    return audit.gather(chapters.load("audit", "mini", generated=3))


def test_validation_and_later_images_are_two_halves(inputs):
    new = inputs.held_back["new"]
    assert len(inputs.validation) == len(new) == 500 == len(inputs.files)
    assert inputs.validation.correct.mean() > 0.88 < new.correct.mean()
    given = {tuple(one) for one in inputs.validation.logits}
    assert not given & {tuple(one) for one in new.logits}
    assert len(inputs.images) == 500
    assert (inputs.images.labels == inputs.validation.labels).all()


@pytest.mark.parametrize("tier", TIERS)
def test_no_set_shows_a_class_of_the_network(tier):
    given = chapters.load("audit", tier)
    shared = shared_classes(published.find(given.example).data_set)
    sets = {*given.example_ood, *given.example_met}
    assert not sets & shared.keys()
    assert len(sets) == len(given.example_ood) + len(given.example_met)
    assert {given.example_images, *sets} <= set(given.data_sets_used())


def test_a_missing_network_is_not_replaced_by_another(tmp_path, monkeypatch):
    monkeypatch.setenv("NETWORK_ROOT", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"densenet100.*NETWORK_ROOT.*Get the file from"):
        audit.gather(chapters.load("audit", "mini", example="densenet100.dice_cifar10"))
