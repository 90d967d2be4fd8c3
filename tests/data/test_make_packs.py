"""The script that makes packs, on a tiny copy of the package that it reads."""

import json
import tarfile

import make_packs as script
import numpy as np
import pytest
from PIL import Image

from helpers.data import Images, class_lists, load


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of five batches and a test batch of 20 images each, and its checksums."""
    folder = tmp_path / "package"
    folder.mkdir()
    generator = np.random.default_rng(0)
    for split, (files, label_file) in script.FILES.items():
        labels = generator.permutation(np.arange(20 * len(files)) % 10)
        (folder / label_file).write_text(json.dumps(labels.tolist()))
        rows = []
        for file in files:
            rows.append(generator.integers(0, 256, (20, 1024, 3), dtype=np.uint8))
            Image.fromarray(rows[-1]).save(folder / file)
        pixels = np.concatenate(rows).reshape(-1, 32, 32, 3)
        digest = Images(pixels, labels, script.CLASS_NAMES, "cifar10", split).sha256
        monkeypatch.setitem(script.CIFAR10_SHA256, split, digest)
    return folder


def test_whole_and_mini_from_folder_and_archive(tmp_path, package, monkeypatch, capsys):
    monkeypatch.setattr(script, "MINI", {"train": 3, "test": 1})
    archive = tmp_path / "package.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(package, "package")
    script.main(["cifar10", "--source", str(package), "--root", str(tmp_path / "one")])
    script.main(["cifar10", "--source", str(archive), "--root", str(tmp_path / "two")])
    script.main(["cifar10-mini", "--source", str(package), "--root", str(tmp_path / "one")])
    printed = capsys.readouterr().out
    one, two = (tmp_path / place / "cifar10.zip" for place in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    assert "train 100, test 20" in printed and "train 30, test 10" in printed

    whole = load("cifar10", "train", root=tmp_path / "one")
    assert whole.sha256 == script.CIFAR10_SHA256["train"]
    assert whole.labels.tolist() == json.loads((package / "train_lables.json").read_text())
    mini = script.mini({"train": whole})["train"]
    for label in range(10):
        first = whole.images[whole.labels == label][:3]
        np.testing.assert_array_equal(mini.images[mini.labels == label], first)
    places = [(whole.images == image).all(axis=(1, 2, 3)).argmax() for image in mini.images]
    assert places == sorted(places)  # the order of the files is kept


def test_tiny_imagenet_is_drawn_anew_from_imagenet(tmp_path, monkeypatch):
    """Of its classes alone, as many of each as there are, with a filter."""
    wnids = list(class_lists.wnids_of("tiny_imagenet"))
    monkeypatch.setattr(script.class_lists, "wnids_of", lambda name: dict.fromkeys(wnids[:2]))
    monkeypatch.setattr(script, "FIXED", {"train": ("train", 3), "val": ("val", 1)})
    monkeypatch.setenv("DATA_ROOT", str(tmp_path))
    stripes = np.zeros((96, 128, 3), np.uint8)
    stripes[::2] = 255  # of which a filter makes grey, and leaving out rows black or white
    for part, count in (("train", 5), ("val", 2)):
        for wnid in (*wnids[:2], "n99999999"):
            folder = tmp_path / "imagenet" / part / wnid
            folder.mkdir(parents=True)
            for number in range(count):
                Image.fromarray(np.roll(stripes, number, axis=0)).save(folder / f"{number}.png")
    script.main(["tiny-imagenet-fix"])
    made = {split: load("tiny_imagenet_fix", split) for split in ("train", "val")}
    assert [len(one) for one in made.values()] == [6, 2]
    assert made["train"].class_names == tuple(wnids[:2])
    assert np.bincount(made["train"].labels).tolist() == [3, 3]
    assert made["train"].images.shape[1:] == (32, 32, 3)
    assert abs(made["train"].images.astype(int) - 128).max() < 40
    (tmp_path / "tiny_imagenet_fix.zip").unlink()
    (tmp_path / "imagenet/val" / wnids[0] / "0.png").write_bytes(b"no picture")
    with pytest.raises(OSError, match="cannot identify"):
        script.main(["tiny-imagenet-fix", "--force"])
    assert not (tmp_path / "tiny_imagenet_fix.zip").exists()


def test_an_altered_source_is_refused(tmp_path, package):
    labels = json.loads((package / "test_lables.json").read_text())
    labels[0] = (labels[0] + 1) % 10
    (package / "test_lables.json").write_text(json.dumps(labels))
    with pytest.raises(ValueError, match="split 'test' is not CIFAR-10"):
        script.main(["cifar10", "--source", str(package), "--root", str(tmp_path)])
    assert not (tmp_path / "cifar10.zip").exists()


@pytest.fixture
def pets(tmp_path):
    """A folder of two images, and the start of the command that packs it."""
    for name, colour in (("cat", "white"), ("dog", "black")):
        (tmp_path / "pets" / name).mkdir(parents=True)
        Image.new("RGB", (40, 20), colour).save(tmp_path / "pets" / name / "1.png")
    return ["from-folder", str(tmp_path / "pets")]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../escaped", "letters, digits"),
        ("a/b", "letters, digits"),
        (".hidden", "letters, digits"),
        ("folder:x", "letters, digits"),
        ("", "letters, digits"),
        ("digits", "taken by a data set of this project"),
        ("mazes", "taken by a data set of this project"),
        ("imagenet", "taken by a data set of this project"),
        ("cifar10", "which `python workflow/make_packs.py cifar10` makes"),
        ("cifar10_mini", "which `python workflow/make_packs.py cifar10-mini` makes"),
        ("svhn", "which `.* from-torchvision svhn --download` makes"),
    ],
)
def test_names_that_lead_elsewhere_or_are_taken_are_refused(tmp_path, pets, name, message):
    """Whatever --force says: `load` would read something else under that name."""
    for more in ([], ["--force"]):
        with pytest.raises(ValueError, match=f"^name '{name}': .*{message}"):
            script.main([*pets, name, "--root", str(tmp_path / "packs"), *more])
    assert not list(tmp_path.rglob("*.zip"))


def test_a_folder_is_packed_and_a_pack_replaced_only_by_force(tmp_path, pets):
    command = [*pets, "holiday", "--root", str(tmp_path)]
    script.main([*command, "--size", "16"])
    before = (tmp_path / "holiday.zip").read_bytes()
    with pytest.raises(FileExistsError, match=r"holiday\.zip is there; --force replaces it"):
        script.main(command)
    assert (tmp_path / "holiday.zip").read_bytes() == before
    script.main([*command, "--force"])
    images = load("holiday", "test", root=tmp_path)
    assert images.class_names == ("cat", "dog") and images.images.shape == (2, 32, 32, 3)
    assert images.images.mean(axis=(1, 2, 3)).tolist() == [255, 0]
