"""Networks on the data set that they were trained on: parts, near and far sets, fine-tuning."""

import numpy as np
import pandas as pd
import pytest

from helpers.data import load as load_images
from helpers.data import write_pack
from helpers.data.class_lists import names_of
from helpers.files import data_root, project_root
from helpers.networks import published
from helpers.papers import run
from helpers.papers.human_centric import experiment
from helpers.papers.human_centric.roles import roles
from helpers.papers.parameters import load
from helpers.report import results

RESNET = "resnet20.akamaster_cifar10"
DENSENET = "densenet100.dice_cifar100"
PACKS = {  # class names; CIFAR's are known by the name of the set, Tiny ImageNet's are wnids
    "cifar10": names_of("cifar10"),
    "cifar100": ("apple", "leopard", "pickup_truck"),
    "tiny_imagenet_64": ("n02123045", "n07749582", "n03977966"),  # tabby, lemon, police van
    "flowers5": ("rose",), "dtd_subset": ("dotted",), "emoji_one": ("smile",),
}  # fmt: skip


@pytest.fixture
def packs():
    """Six packs of three images a class; forty true ones of CIFAR-10, larger Tiny ImageNet."""
    data_root().mkdir()
    generator = np.random.default_rng(0)
    for name, classes in PACKS.items():
        side, labels = 64 if "tiny" in name else 32, np.repeat(range(len(classes)), 3)
        pixels = generator.integers(0, 256, (len(labels), side, side, 3)).astype(np.uint8)
        splits = dict.fromkeys(("train", "test"), (pixels, labels))
        if name == "cifar10":
            own = {split: load_images("cifar10_mini", split) for split in splits}
            splits = {split: (one.images[:40], one.labels[:40]) for split, one in own.items()}
        path = data_root() / f"{name}.zip"
        write_pack(path, name=name, class_names=classes, splits=splits, origin={})


def parameters(**given):
    return load("human_centric", "pretrained").replace(
        label_shifted=["cifar10", "cifar100", "tiny_imagenet_64", "flowers5"],
        near=["cifar10", "cifar100", "tiny_imagenet_64"],
        corruptions=["fog"], severities=[1], corrupted_images=30, teachers={}, **given,
    )  # fmt: skip


def roles_on(data_set):
    own = next(part for part in run.parts(parameters()) if part.identity["data_set"] == data_set)
    return roles(parameters(), own)


def shown(images):
    """Return the classes that a set has images of."""
    return {images.class_names[label] for label in images.labels}


def test_near_sets_have_no_class_of_the_id_set_in_either_direction(packs):
    """A class goes that is one of the ID set's, or lies below or above one; leopards are no cats.

    Brought to the size of the ID images, so that a network that was trained here can see them.
    """
    found = roles_on("cifar10")
    assert shown(found.label_shifted["cifar100"]) == {"apple", "leopard"}
    assert shown(found.label_shifted["tiny_imagenet_64"]) == {"n07749582"}
    assert found.label_shifted["tiny_imagenet_64"].images.shape[1:3] == (32, 32)
    assert found.near == ("cifar100", "tiny_imagenet_64")
    other = roles_on("cifar100")
    assert {*PACKS["cifar10"]} - shown(other.label_shifted["cifar10"]) == {"truck"}  # or a pickup
    assert shown(other.label_shifted["tiny_imagenet_64"]) == {*PACKS["tiny_imagenet_64"]}
    assert other.near == ("cifar10", "tiny_imagenet_64")


def test_far_sets_go_where_they_show_a_class_of_the_id_set(packs):
    """Flowers are among CIFAR-100's classes, emoji among those of both."""
    assert list(roles_on("cifar10").sets) == [
        "test", "corrupted", "cifar100", "tiny_imagenet_64", "flowers5", "dtd_subset",
    ]  # fmt: skip
    assert list(roles_on("cifar100").sets) == [
        "test", "corrupted", "cifar10", "tiny_imagenet_64", "dtd_subset",
    ]  # fmt: skip


def test_a_published_network_is_judged_on_the_set_of_its_record():
    """Whatever is trained here belongs to the main set, even if it begins with one of them."""
    names = [DENSENET, f"{RESNET}+finetuned", RESNET]
    own = {part.name: part.identity["data_set"] for part in run.parts(parameters(names=names))}
    assert own == {
        f"{RESNET}+finetuned/0": "cifar10", f"{RESNET}/0": "cifar10", f"{DENSENET}/0": "cifar100",
    }  # fmt: skip
    assert list(own)[-1] == f"{DENSENET}/0"  # parts of one set follow each other
    mini = load("human_centric", "mini", names=[RESNET])
    assert [part.identity["data_set"] for part in run.parts(mini)] == ["cifar10_mini"]
    with pytest.raises(ValueError, match=f"unknown data set of {DENSENET} 'cifar100'; .*cifar10"):
        run.parts(parameters(names=[DENSENET]).replace(other_data_sets=[], corrupted=[]))


def test_rows_of_a_published_network_and_of_the_one_fine_tuned_from_it(packs):
    """Through the driver, at toy scale: near and far means, and a variant of all far sets."""
    given = {"names": [RESNET, f"{RESNET}+finetuned"], "methods": ["msp"], "replicates": 3}
    small = parameters(**given).replace(batch_size=3, epochs=2)
    table = run.rows(small, progress=False)
    assert set(table["backbone"]) == set(given["names"]) and "failed" not in set(table["metric"])
    right = table.query("metric == 'accuracy' and test_set == 'test' and variant == 'primary'")
    weights = table[table["metric"] == "parameters"].groupby("backbone")["value"].first()
    assert len(right) == 2 and weights.nunique() == 1  # the same architecture, other weights
    own = table[(table["backbone"] == RESNET) & (table["metric"] == "der99")]
    values = own.set_index(["variant", "test_set"])["value"]
    near = values["primary"][["cifar100", "tiny_imagenet_64"]].mean()
    assert values["primary", "near"] == pytest.approx(near)
    assert values["primary", "far"] == values["primary", "flowers5"]
    every = values["every far set"]
    assert every["far"] == pytest.approx(every[["flowers5", "dtd_subset"]].mean())
    assert every["near"] == values["primary", "near"] and "dtd_subset" not in values["primary"]
    assert "dtd_subset" not in values["held-out threshold"]
    sets = ["test", "corrupted", "cifar100", "tiny_imagenet_64", "flowers5"]
    assert values["primary", "average"] == pytest.approx(values["primary"][sets].mean())


def test_fine_tuning_begins_with_the_published_weights(packs):
    """One step at a rate of nearly nothing leaves what the network says as it was."""
    slow = parameters(names=[f"{RESNET}+finetuned"]).replace(epochs=1, learning_rate=1e-9)
    (part,) = run.parts(slow)
    images = roles(slow, part)
    tuned = experiment.models(slow, part, images).outputs(images.test)
    (part,) = run.parts(slow.replace(names=[RESNET]))
    given = experiment.models(slow, part, images).outputs(images.test)
    # the statistics of batch normalisation move
    agree = np.corrcoef(tuned.logits.ravel(), given.logits.ravel())[0, 1]
    assert 0.8 < agree < 1 - 1e-9


MEASURED = {"densenet100.dice_cifar10": 94.54, DENSENET: 75.06}
"""Their authors print none; what another implementation found."""


def test_accuracies_of_the_committed_table_are_the_printed_ones():
    """Of every given network, to a hundredth of a point; ten thousand images each."""
    path = project_root() / "results" / "pretrained" / "human_centric.parquet"
    own = results.read(path).query(
        "metric == 'accuracy' and test_set == 'test' and variant == 'primary'"
    )
    found = own.set_index("backbone")
    records = published.records().items()
    printed = {name: one.accuracy for name, one in records} | MEASURED
    printed = {name: printed[name] for name in printed.keys() & {*found.index}}
    assert len(printed) >= 5 and all(printed.values())
    right = 100 * found.loc[list(printed), "value"]
    pd.testing.assert_series_equal(
        right, pd.Series(printed), check_names=False, atol=0.005 + 1e-9, rtol=0
    )
    assert set(found.loc[list(printed), "images"]) == {10_000}
