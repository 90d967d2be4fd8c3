"""The paper's class lists: its own examples, and counts that agree with the lists."""

import pytest

from helpers.data import class_roles


@pytest.fixture(scope="module")
def counts():
    return class_roles.counts()


@pytest.fixture(scope="module")
def imagenet():
    return class_roles.imagenet(seed=0).set_index("name")


def test_tiny_imagenet_without_what_cifar100_has():
    """42 are removed and 158 left; the paper names the bullet train and the school bus."""
    table = class_roles.tiny_imagenet().set_index("name")
    assert table["role"].value_counts().to_dict() == {"external": 158, "removed": 42}
    assert table.loc["bullet train", ["role", "by", "relation"]].tolist() == [
        "removed", "train", "descendant",
    ]  # fmt: skip
    assert table.loc["school bus", "by"] == "bus"
    assert table.loc["tractor", "relation"] == "same"
    assert table.loc["lemon", ["role", "by", "relation"]].tolist() == ["external", "", ""]


def test_roles_beside_imagenet_200(imagenet):
    """The paper's example: a can opener is near the plunger, both being hand tools."""
    assert imagenet.groupby("role").size().to_dict() == {
        "in-distribution": 200, "near": 200, "not drawn": 205, "external": 395,
    }  # fmt: skip
    assert imagenet.loc["plunger", "role"] == "in-distribution"
    assert imagenet.loc["can opener", "role"] in ("near", "not drawn")
    assert "hand tool" in imagenet.loc["can opener", "below"].split(", ")
    assert (imagenet["below"] != "").sum() == 405


def test_counts_stand_beside_the_papers(counts):
    """All of the paper's counts are there, and the default reading is the nearest of all."""
    assert set(counts["classes"]) == set(class_roles.PAPER)
    assert (counts["ours"] - counts["paper"] == counts["difference"]).all()
    first = counts.drop_duplicates("classes").set_index("classes")["difference"].to_dict()
    assert first["Tiny ImageNet, removed"] == first["Tiny ImageNet, external"] == 0
    assert first["ImageNet, external"] == -first["ImageNet, near candidates"] == 1
    far = counts[counts["classes"].str.endswith("left")]
    away = far["difference"].abs().groupby(far["reading"]).sum()
    assert away.idxmin() == next(iter(class_roles.READINGS))


def test_mistakes_are_refused():
    """Data sets and readings are named with the nearest right one."""
    with pytest.raises(ValueError, match="unknown data set 'food'; did you mean 'food101'"):
        class_roles.far("food")
    with pytest.raises(
        ValueError, match="unknown reading 'whole name'; did you mean 'whole names'"
    ):
        class_roles.far("food101", reading="whole name")
