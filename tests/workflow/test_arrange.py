"""Each streamed data set from a small archive in its makers' layout, and refused archives."""

import io
import shutil

import archives
import arrange
import pytest
from archives import KIT, TRUTH, V2, Archive, validation, wnids
from PIL import Image

from helpers.data import cards, class_lists, locate, open_stream


@pytest.fixture
def places(tmp_path, monkeypatch, request):
    """Return the folders of the archive and of the data, both empty."""
    made = tmp_path / "archive", tmp_path / "data"
    for place in made:
        place.mkdir()
    monkeypatch.setenv("DATA_ROOT", str(made[1]))
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "cache"))
    if getattr(request.node, "callspec", None) and "imagenet_r" not in request.node.name:
        # twelve classes of ImageNet: 10 comes before 2
        known = dict(list(class_lists.wnids_of("imagenet").items())[:12])
        monkeypatch.setattr(class_lists, "wnids_of", lambda data_set: known)
    return made


def jpeg():
    buffer = io.BytesIO()
    Image.new("RGB", (4, 3)).save(buffer, "jpeg")
    return buffer.getvalue()


JPEG = jpeg()


def imagenet_of_kaggle():
    above = "ILSVRC/Data/CLS-LOC/"
    files = {f"{above}val/{validation(30 - k)}": name for k, name in enumerate(wnids())}
    rows = [f"{file[len(above) + 4 : -5]},{name} 85 1 499 272 {name} 1 2 3 4 \n"
            for file, name in reversed(files.items())]  # fmt: skip
    others = {"LOC_val_solution.csv": "ImageId,PredictionString\n" + "".join(rows)}
    unread = {f"{above}test/ILSVRC2012_test_00000001.JPEG": "test"}
    return Archive({"train": archives.imagenet_training(above), "val": files}, others, unread)


def imagenet_sorted():
    files = {f"val/{name}/{validation(k)}": name for k, name in enumerate(wnids(), 1)}
    return Archive({"train": archives.imagenet_training(), "val": files})


def places365_sorted():
    above, names = "places365_standard", class_lists.names_of("places365")
    files = {
        f"{above}/val/{name.replace('/', '-')}/Places365_val_00000435.jpg": name.replace("/", "_")
        for name in names
    }
    return Archive({"test": files}, unread={f"{above}/train/abbey/1.jpg": "abbey"})


ARCHIVES = archives.ARCHIVES | {
    "imagenet of Kaggle": imagenet_of_kaggle,
    "imagenet, sorted": imagenet_sorted,
    "places365, sorted": places365_sorted,
}


def name_of(kind):
    return kind.replace(",", "").split(" ")[0]


def make(kind, folder):
    return archives.write(folder, ARCHIVES[kind](), lambda label, name: JPEG).splits


def state(folder):
    """Return times and kinds of all files, which a change of the folder would change."""
    return {
        file.relative_to(folder).as_posix(): (file.lstat().st_mtime_ns, file.is_symlink())
        for file in (folder, *folder.rglob("*"))
    }


def read(name, split, archive):
    """Return the class of each file of the archive that is read."""
    stream = open_stream(name, split)
    return {
        (stream.root / file).resolve().relative_to(archive).as_posix(): stream.class_names[label]
        for file, label in zip(stream.files, stream.labels, strict=True)
    }


def test_every_streamed_data_set_has_a_layout():
    streamed = {card.name for card in cards() if card.streamed and not card.as_it_comes}
    assert set(arrange.LAYOUTS) == streamed == {name_of(kind) for kind in ARCHIVES}


@pytest.mark.parametrize("kind", ARCHIVES)
def test_an_official_archive_is_read_once_it_is_arranged(kind, places, capsys):
    """All files with their classes and no others; the archive does not change."""
    archive, root = places
    name, expected = name_of(kind), make(kind, archive)
    before = state(archive)
    arrange.main([name, str(archive)])
    assert state(archive) == before and [path.name for path in root.iterdir()] == [name]
    line = capsys.readouterr().out
    for split, files in expected.items():
        assert read(name, split, archive) == files
        assert f"{split} {len(files)} of " in line


def drop(file):
    return lambda archive: (archive / file).unlink()


def rename(old, new):
    return lambda archive: (archive / old).rename(archive / new)


def add(file, content=JPEG):
    def change(archive):
        (archive / file).parent.mkdir(exist_ok=True)
        (archive / file).write_bytes(content)

    return change


def empty(folder):
    return lambda archive: [shutil.rmtree(archive / folder), (archive / folder).mkdir()]


def line(file, number, text):
    def change(archive):
        lines = (archive / file).read_text().splitlines()
        lines[number - 1] = text
        (archive / file).write_text("\n".join(lines))

    return change


@pytest.mark.parametrize(
    ("kind", "mistake", "message"),
    [
        # a list is missing or cannot be read
        ("imagenet", drop(TRUTH), r"ground_truth\.txt"),
        ("imagenet", add(f"{KIT}/meta.mat", b"no table"), r"meta\.mat: no table of synsets"),
        ("imagenet", rename(KIT, "kit"), r"LOC_val_solution\.csv .* or the development kit"),
        ("places365", drop("categories_places365.txt"), r"categories_places365\.txt"),
        # an image without a line, a line without an image, an unknown class
        ("imagenet", add("val/ILSVRC2012_val_00000099.JPEG"),
         r"val_00000099\.JPEG: in no list, like 1 images"),
        ("imagenet", drop("val/ILSVRC2012_val_00000005.JPEG"),
         r"val_00000005\.JPEG: in a list, and absent, like 1"),
        ("imagenet of Kaggle", drop("ILSVRC/Data/CLS-LOC/val/ILSVRC2012_val_00000030.JPEG"),
         r"val_00000030\.JPEG: in a list, and absent"),
        ("imagenet", line(TRUTH, 2, "77"), "its lists name '77', which is no class"),
        ("places365", line("categories_places365.txt", 3, "/a/airport 2"), "'airport', which is"),
        ("imagenet, sorted", rename("val/n01443537", "val/goldfish"),
         "val/goldfish: the name of no class"),
        ("imagenet_v2", rename(f"{V2}/3", f"{V2}/1000"), "1000: the name of no class"),
        ("food101", rename("food-101/images/sushi", "food-101/images/soup"), "soup: the name of"),
        # a class is missing or empty
        ("imagenet_c", empty("fog/3"), r"fog/3: 12 classes are absent, n01440764 is one"),
        ("imagenet_v2", empty(f"{V2}/3"), "val/3: no images in"),
        ("textures", lambda archive: shutil.rmtree(archive / "dtd/images/t00ed"),
         "dtd/images: 47 folders of classes expected, got 46"),
        # another layout
        ("imagenet", rename("val", "validation"), "a folder val expected in it"),
        ("imagenet", add("train/1.JPEG"), "image .*train/1.JPEG: in the folder of no class"),
        ("imagenet_c", rename("snow", "snows"), "a folder snow or weather/snow exp"),
        ("sun", add("SUN/images/beach/1.jpg"), "images/beach: only images expected"),
        ("sun", empty("SUN/images"), "archive: no images in it"),
    ],
)  # fmt: skip
def test_a_broken_archive_is_refused_and_leaves_nothing(kind, mistake, message, places):
    archive, root = places
    make(kind, archive)
    mistake(archive)
    before = state(archive)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        arrange.main([name_of(kind), str(archive)])
    assert not list(root.iterdir()) and state(archive) == before


def test_an_existing_folder_stays(places):
    archive, root = places
    with pytest.raises(FileNotFoundError, match=r"no folder .*sun\. .*workflow/arrange\.py"):
        locate("sun")
    (root / "sun").symlink_to(root / "gone")
    with pytest.raises(FileExistsError, match="sun is there; move it away"):
        arrange.main(["sun", str(archive)])
