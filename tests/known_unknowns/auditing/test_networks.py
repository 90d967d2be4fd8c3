"""An audit of a network and folders of images, and of the example."""

import json
import sys

import numpy as np
import pytest
import timm
from PIL import Image
from safetensors.torch import save_file

from helpers.data import Images
from helpers.networks import zoo
from known_unknowns.auditing.command import main
from known_unknowns.auditing.commands.places import HOLDS, REFUSED
from known_unknowns.auditing.networks import gather, images_of, named_as, show_images
from synthesis import chapters

NAME = "resnet20.akamaster_cifar10"
pytestmark = pytest.mark.usefixtures("root")


def drawn(folder, count, seed=0):
    """Write small pictures into a folder."""
    generator = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    for number in range(count):
        pixels = generator.integers(256, size=(20, 24, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    return folder


@pytest.fixture
def pets(tmp_path):
    """A folder of two classes, one of whose files is broken."""
    for seed, name in enumerate(("cat", "dog")):
        drawn(tmp_path / "pets" / name, 12, seed)
    (tmp_path / "pets" / "dog" / "99.png").write_bytes(b"no image")
    (tmp_path / "pets" / "dog" / "lost.png").symlink_to("nowhere")
    return tmp_path / "pets"


@pytest.fixture(scope="module")
def network():
    """A published network, which knows cats and dogs."""
    return zoo.load(NAME, progress=False)


def test_the_outputs_of_a_folder_are_judged(pets, tmp_path, capsys):
    """A folder without subfolders is no validation set; a file of weights is no network."""
    new = str(tmp_path / "new.npz")
    assert main(["outputs", str(pets / "cat"), "--model", NAME, "--out", new]) == HOLDS
    assert "the outputs for 12 images" in capsys.readouterr().out
    arrays = np.load(new)
    assert len(arrays["files"]) == 12
    folder = drawn(tmp_path / "moved", 0)
    (pets / "cat" / "3.png").rename(folder / "picture.png")
    alone = str(tmp_path / "alone.npz")
    assert main(["outputs", str(folder), "--model", NAME, "--out", alone]) == HOLDS
    for name in ("logits", "features"):
        expected = arrays[name][arrays["files"] == "3.png"]
        assert np.load(alone)[name] == pytest.approx(expected, rel=1e-4)
    assert main(["outputs", str(pets), "--model", NAME, "--out", new]) == REFUSED
    audited = ["audit", "--model", NAME, "--validation", str(pets / "cat")]
    assert main(audited) == REFUSED
    assert "a subfolder for each class expected" in capsys.readouterr().err
    assert main(["audit", "--model", new, "--validation", str(pets)]) == REFUSED
    assert f"add --weights {new}" in capsys.readouterr().err


def test_folders_are_shown_and_what_cannot_be_read_is_listed(network, pets, tmp_path):
    """A folder without subfolders is a set too."""
    toys = drawn(tmp_path / "toys", 5, 5)
    street = drawn(tmp_path / "street", 6, 6)
    inputs = show_images(
        network,
        images_of(str(pets)),
        train=images_of(str(pets)),
        ood=[images_of(str(toys))],
        production=images_of(str(street)),
        families=2,
        family_images=3,
    )
    assert len(inputs.validation) == len(inputs.train) == 24
    lost = ("dog/99.png", "dog/lost.png")
    assert inputs.unreadable == dict.fromkeys(["validation", "train"], lost)
    assert inputs.class_names == network.class_names
    assert inputs.files[0] == "cat/0.png"
    assert inputs.validation.labels.tolist() == 12 * [3] + 12 * [5]
    assert list(inputs.ood) == ["toys"]
    assert inputs.ood["toys"].labels.tolist() == 5 * [-1]
    assert len(inputs.production) == 6
    assert inputs.source.startswith(NAME)
    assert [len(family) for family in inputs.families.values()] == [3, 3]
    assert inputs.pictures([3], size=8).shape == (1, 8, 8, 3)
    logits = inputs.validation.features @ inputs.head.weight.T + inputs.head.bias
    assert logits == pytest.approx(inputs.validation.logits, abs=1e-5)


def test_a_folder_may_have_the_words_of_a_class_but_not_of_two():
    """WordNet has two cranes."""
    titles = {"n01": "crane", "n02": "crane", "n03": "house finch"}
    images = np.zeros((2, 4, 4, 3), np.uint8), np.arange(2)
    birds = Images(*images, ("house_finch", "n01"), "birds", "test")
    assert named_as(birds, list(titles), titles).labels.tolist() == [2, 0]
    birds = Images(*images, ("house_finch", "crane"), "birds", "test")
    with pytest.raises(ValueError, match="1 of 2 classes are none of the head's 3: 'crane'"):
        named_as(birds, list(titles), titles)


def test_an_audit_reads_a_file_or_a_network_and_its_folders(network, pets, tmp_path, write):
    """The parameters decide; the default is the example."""
    logits = np.random.default_rng(0).normal(size=(30, 2))
    path = write({"logits": logits, "labels": np.arange(30) % 2})
    inputs = gather(chapters.load("audit", "mini", outputs=str(path)))
    assert inputs.source == "the model behind outputs.npz"
    assert len(inputs.validation) == 30
    street = str(drawn(tmp_path / "street", 6))
    folders = {"validation": str(pets), "ood": [street], "production": street}
    inputs = gather(chapters.load("audit", "mini", model=NAME, generated=2, **folders))
    assert inputs.train is None
    assert len(inputs.production) == 6
    assert list(inputs.ood) == ["street"]
    same = show_images(network, images_of(str(pets)))
    assert np.array_equal(inputs.validation.logits, same.validation.logits)
    assert len(inputs.families) == 2


def test_the_command_takes_a_network_of_timm(tmp_path, monkeypatch, capsys):
    """It needs the weights and torch; otherwise a line has the remedy."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    for seed, wnid in enumerate(("n01440764", "n01443537")):
        drawn(tmp_path / "fish" / wnid, 10, seed)
    given = ["audit", "--model", "test_resnet", "--validation", str(tmp_path / "fish")]
    given += ["--coverage", "0.5", "--out", str(tmp_path / "a"), "--train", given[-1]]
    given += ["--production", str(drawn(tmp_path / "street", 6))]
    given += ["--ood", str(drawn(tmp_path / "toys", 5))]
    assert main(given) == REFUSED
    assert "test_resnet" in (error := capsys.readouterr().err)
    assert "add --download" in error
    assert not (tmp_path / "a").exists()
    (tmp_path / "data" / "weights").mkdir()
    weights = timm.create_model("test_resnet").state_dict()
    save_file(weights, tmp_path / "data" / "weights" / "test_resnet.safetensors")
    assert main(given) == HOLDS
    report = json.loads((tmp_path / "a" / "audit.json").read_text(encoding="utf-8"))
    assert report["model"].startswith("test_resnet")
    counts = [report["images"][name] for name in ("validation", "train", "production", "ood")]
    assert counts == [20, 20, 6, {"toys": 5}]
    monkeypatch.setitem(sys.modules, "known_unknowns.auditing.networks", None)
    capsys.readouterr()
    assert main([*given, "--force"]) == REFUSED
    assert "pip install '.[torch]'" in capsys.readouterr().err


def test_a_set_with_known_classes_is_no_ood_set(network, pets):
    images = images_of(str(pets))
    with pytest.raises(ValueError, match="ood: pets has classes that the model"):
        show_images(network, images, ood=[images])


def test_validation_images_are_not_those_of_the_split_train():
    assert images_of("cifar10_mini").split == "test"


def test_a_checkpoint_needs_a_network():
    parameters = chapters.load("audit", "mini", checkpoint="a.pt")
    with pytest.raises(ValueError, match="model: the network expected"):
        gather(parameters)


def test_the_halves_of_the_example_share_no_image(monkeypatch):
    monkeypatch.undo()  # the cache of the project
    inputs = gather(chapters.load("audit", "mini", generated=3))
    new = inputs.held_back["new"]
    assert len(inputs.validation) == len(new) == 500 == len(inputs.files) == len(inputs.images)
    assert not {*map(tuple, inputs.validation.logits)} & {*map(tuple, new.logits)}
    assert (inputs.images.labels == inputs.validation.labels).all()


def test_class_names_that_do_not_fit_are_refused(network, pets, misfits, message):
    with pytest.raises(ValueError, match=message):
        show_images(network, images_of(str(pets)), class_names=misfits.split())


def test_unknown_images_are_refused(unknown_images, message):
    with pytest.raises((FileNotFoundError, ValueError), match=message):
        images_of(unknown_images)
