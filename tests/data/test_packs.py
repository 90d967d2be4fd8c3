"""Packs, and the script that makes them: damage is found, named and never half-used."""

import hashlib
import io
import json
import tarfile
import zipfile

import make_packs as script
import numpy as np
import pytest
from PIL import Image

from helpers.data import Images, class_lists, load, read_pack, write_pack
from helpers.data.packs import LARGEST_TILE
from helpers.files import sha256_file

ORIGIN = {"title": "Noise", "source": "a generator", "licence": "CC0"}


def noise(count, size=2, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (count, size, size, 3), dtype=np.uint8)


def write(path, **changes):
    fields = {
        "name": "noise",
        "class_names": ["a", "b", "ü"],
        "splits": {
            "train": (noise(1030), np.arange(1030) % 3),
            "test": (noise(7, size=4, seed=1), [0, 1, 2, -1, 0, 1, 2]),
        },
        "origin": ORIGIN,
    }
    return write_pack(path, **fields | changes)


@pytest.fixture
def pack(tmp_path):
    write(tmp_path / "noise.zip")
    return tmp_path / "noise.zip"


def rewrite(path, edit):
    """Write the pack again as a sound zip after `edit` has changed its {member: bytes}."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    edit(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def edit_meta(edit):
    """Return an edit of a pack's members that changes its meta.json."""

    def change(members):
        meta = json.loads(members["meta.json"])
        edit(meta)
        members["meta.json"] = json.dumps(meta).encode()

    return change


def jpeg(size, colour):
    buffer = io.BytesIO()
    Image.new("RGB", (size, size), colour).save(buffer, "JPEG")
    return buffer.getvalue()


def test_jpeg_files_are_kept_byte_for_byte(tmp_path):
    path = tmp_path / "noise.zip"
    files = [jpeg(16, "white"), jpeg(16, "black")]
    splits = {"test": (files, [0, 1], [1, 0])}
    write(path, splits=splits, coarse_class_names=["x", "y"])
    with zipfile.ZipFile(path) as archive:
        assert [archive.read(name) for name in archive.namelist()[:2]] == files
    images = read_pack(path, "test")
    assert images.images.mean(axis=(1, 2, 3)).tolist() == [255, 0]
    assert images.coarse_labels.tolist() == [1, 0] and images.coarse_class_names == ("x", "y")
    assert read_pack(path, "test", size=8).images.shape == (2, 8, 8, 3)
    write(path, splits={"test": ([jpeg(16, "white"), jpeg(12, "black")], [0, 1])})
    with pytest.raises(ValueError, match="differ in size"):
        read_pack(path, "test")
    assert read_pack(path, "test", size=8).images.shape == (2, 8, 8, 3)


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        ({"test": (noise(3), [0, 1])}, "labels"),
        ({"test": (noise(3), [0, 1, 3])}, "labels: values"),
        ({"test": (noise(3), [0.0, 1.0, 2.0])}, "labels: int64"),
        ({"test": (noise(3)[:, :1], [0, 1, 2])}, r"\[N, S, S, 3\]"),
        ({"test": (noise(1, size=LARGEST_TILE + 1), [0])}, "JPEG"),
        ({"test": (noise(3).astype(float), [0, 1, 2])}, "uint8"),
        ({"test": ([b"GIF89a"], [0])}, "image 0 of 'test' is not a JPEG"),
        ({"test": (noise(0), [])}, "no images"),
        ({"../test": (noise(1), [0])}, "name"),
    ],
)
def test_unfit_content_is_refused_and_nothing_is_written(tmp_path, splits, message):
    with pytest.raises(ValueError, match=message):
        write(tmp_path / "noise.zip", splits=splits)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_in_the_middle_leaves_the_old_pack(tmp_path, monkeypatch):
    path = tmp_path / "noise.zip"
    before = write(path)

    def full(*arguments, **options):
        raise OSError("no space left on device")

    monkeypatch.setattr(Image.Image, "save", full)
    with pytest.raises(OSError, match="no space left"):
        write(path, origin={})
    assert sha256_file(path) == before
    assert list(tmp_path.iterdir()) == [path]


def test_any_flipped_byte_is_found_or_without_effect(tmp_path):
    """Two hundred packs, each with one byte changed: never other images than those written."""
    path, other = tmp_path / "noise.zip", tmp_path / "noise2.zip"
    splits = {"test": (noise(20, seed=2), np.arange(20) % 3)}
    write(path, splits=splits)
    right, data = read_pack(path, "test"), path.read_bytes()
    generator = np.random.default_rng(3)
    found = 0
    for position in generator.choice(len(data), 200, replace=False):
        flipped = bytearray(data)
        flipped[position] ^= 1 << int(generator.integers(8))
        other.write_bytes(flipped)
        try:
            images = read_pack(other, "test")
        except ValueError as error:
            assert "noise2.zip" in str(error)
            found += 1
        else:  # a field without meaning here, such as the date
            assert images.sha256 == right.sha256
            assert images.class_names == right.class_names
    assert found > 100


def recode(members):
    buffer = io.BytesIO()
    black = Image.new("RGB", Image.open(io.BytesIO(members["test_0000.webp"])).size)
    black.save(buffer, "WEBP", lossless=True)
    members["test_0000.webp"] = buffer.getvalue()


def relabel(meta):
    meta["splits"]["test"]["labels"] = [1] * 7


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (recode, "member test_0000.webp is not what its SHA-256 says"),
        (edit_meta(relabel), "meta.json is not what its SHA-256 says"),
        (
            edit_meta(lambda meta: meta["sha256"].popitem()),
            "meta.json is not what its SHA-256 says",
        ),
        (lambda members: members.pop("test_0000.webp"), "1 members, but has 7 labels and 0"),
        (lambda members: members.pop("meta.json"), "member meta.json is missing"),
        (lambda members: members.update({"meta.json": b"{"}), "meta.json is not JSON"),
        (lambda members: members.update({"meta.json": b"[]"}), "cannot be read"),
        (lambda members: members.update({"test_0001.webp": b""}), "2 members"),
    ],
)
def test_altered_member(pack, edit, message):
    rewrite(pack, edit)
    with pytest.raises(ValueError, match=message) as caught:
        read_pack(pack, "test")
    assert str(pack) in str(caught.value)
    assert "python workflow/make_packs.py from-folder" in str(caught.value)


def test_only_the_split_asked_for_is_looked_at(tmp_path, pack):
    rewrite(pack, recode)
    assert len(read_pack(pack, "train")) == 1030
    with pytest.raises(ValueError, match="did you mean 'train'"):
        read_pack(pack, "trian")
    with pytest.raises(FileNotFoundError, match=r"svhn\.zip.*from-torchvision svhn --download"):
        read_pack(tmp_path / "svhn.zip", "train")


def strip_checksums(meta):
    """Turn into a pack that another program might have written, without checksums inside."""
    del meta["sha256"], meta["origin"]


def test_a_table_beside_the_pack_gives_origin_and_checksum(pack):
    rewrite(pack, edit_meta(strip_checksums))
    table = pack.with_name("DATASETS.md")

    def describe(digest):
        table.write_text(
            "| name | what | origin | licence | sha256 |\n|---|---|---|---|---|\n"
            f"| noise | Noise | a generator | CC0 | {digest} |\n"
        )

    describe(sha256_file(pack))
    assert read_pack(pack, "test").origin == ORIGIN
    describe(hashlib.sha256(b"another file").hexdigest())
    with pytest.raises(ValueError, match=r"noise\.zip.*DATASETS\.md"):
        read_pack(pack, "test")
    table.unlink()
    assert read_pack(pack, "test").origin == {"title": "noise"}


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


def test_whole_and_mini_from_folder_and_archive(tmp_path, package, monkeypatch):
    """The same bytes from both; the mini set has the first of each class; altered labels stop."""
    monkeypatch.setattr(script, "MINI", {"train": 3, "test": 1})
    archive = tmp_path / "package.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(package, "package")
    for source, root in ((package, "one"), (archive, "two")):
        script.main(["cifar10", "--source", str(source), "--root", str(tmp_path / root)])
    first, second = (tmp_path / root / "cifar10.zip" for root in ("one", "two"))
    assert first.read_bytes() == second.read_bytes()
    whole = load("cifar10", "train", root=tmp_path / "one")
    assert whole.sha256 == script.CIFAR10_SHA256["train"]
    assert whole.labels.tolist() == json.loads((package / "train_lables.json").read_text())
    mini = script.mini({"train": whole})["train"]
    for label in range(10):
        expected = whole.images[whole.labels == label][:3]
        np.testing.assert_array_equal(mini.images[mini.labels == label], expected)
    places = [(whole.images == image).all(axis=(1, 2, 3)).argmax() for image in mini.images]
    assert places == sorted(places)  # the order of the files is kept
    labels = json.loads((package / "test_lables.json").read_text())
    (package / "test_lables.json").write_text(json.dumps([*labels[:-1], (labels[-1] + 1) % 10]))
    with pytest.raises(ValueError, match="split 'test' is not CIFAR-10"):
        script.main(["cifar10", "--source", str(package), "--root", str(tmp_path / "three")])
    assert not (tmp_path / "three").exists()


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
    packed = {split: load("tiny_imagenet_fix", split) for split in ("train", "val")}
    assert [len(images) for images in packed.values()] == [6, 2]
    assert packed["train"].class_names == tuple(wnids[:2])
    assert np.bincount(packed["train"].labels).tolist() == [3, 3]
    assert packed["train"].images.shape[1:] == (32, 32, 3)
    assert abs(packed["train"].images.astype(int) - 128).max() < 40
    (tmp_path / "tiny_imagenet_fix.zip").unlink()
    (tmp_path / "imagenet/val" / wnids[0] / "0.png").write_bytes(b"no picture")
    with pytest.raises(OSError, match="cannot identify"):
        script.main(["tiny-imagenet-fix", "--force"])
    assert not (tmp_path / "tiny_imagenet_fix.zip").exists()


@pytest.fixture
def pets(tmp_path):
    """A folder of two images, and the start of the command that packs it."""
    for name, colour in (("cat", "white"), ("dog", "black")):
        (tmp_path / "pets" / name).mkdir(parents=True)
        Image.new("RGB", (40, 20), colour).save(tmp_path / "pets" / name / "1.png")
    return ["from-folder", str(tmp_path / "pets")]


@pytest.mark.parametrize(
    ("message", "names"),
    [
        ("letters, digits", ["../escaped", "a/b", ".hidden", "folder:x", ""]),
        ("taken by a data set of this project", ["digits", "mazes", "imagenet"]),
        ("which `python workflow/make_packs.py cifar10` makes", ["cifar10"]),
        ("which `python workflow/make_packs.py cifar10-mini` makes", ["cifar10_mini"]),
        ("which `.* from-torchvision svhn --download` makes", ["svhn"]),
    ],
)
def test_names_that_lead_elsewhere_or_are_taken_are_refused(tmp_path, pets, message, names):
    """With --force, too: `load` would read something else under that name."""
    for name in names:
        with pytest.raises(ValueError, match=f"^name '{name}': .*{message}"):
            script.main([*pets, name, "--root", str(tmp_path / "packs"), "--force"])
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
