"""Each streamed data set from a small archive of its makers' layout, and what is refused of it."""

import io
import shutil

import archives
import arrange
import pytest
from archives import KIT, TRUTH, V2, validation, wnids
from PIL import Image

from helpers.data import cards, class_lists, locate, open_stream


@pytest.fixture
def few(monkeypatch):
    """ImageNet with twelve classes: as many as it takes for 10 to come before 2."""
    known = dict(list(class_lists.wnids_of("imagenet").items())[:12])
    monkeypatch.setattr(class_lists, "wnids_of", lambda data_set: known)


@pytest.fixture
def places(tmp_path, monkeypatch):
    """The archive's folder, and the data folder, both empty."""
    made = tmp_path / "archive", tmp_path / "data"
    for place in made:
        place.mkdir()
    monkeypatch.setenv("DATA_ROOT", str(made[1]))
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "cache"))
    return made


def jpeg():
    buffer = io.BytesIO()
    Image.new("RGB", (4, 3)).save(buffer, "jpeg")
    return buffer.getvalue()


JPEG = jpeg()


def put(archive, files, content=JPEG):
    """Write files, images if nothing else is said."""
    archives.put(archive, files, content)


def blank(label, name):
    return JPEG


def imagenet_of_kaggle(archive, draw):
    above = "ILSVRC/Data/CLS-LOC/"
    files = {f"{above}val/{validation(30 - k)}": one for k, one in enumerate(wnids())}
    archives.put_images(archive, files, draw)
    rows = [f"{file[len(above) + 4 : -5]},{one} 85 1 499 272 {one} 1 2 3 4 \n"
            for file, one in reversed(files.items())]  # fmt: skip
    put(archive, ["LOC_val_solution.csv"], "ImageId,PredictionString\n" + "".join(rows))
    put(archive, [f"{above}test/ILSVRC2012_test_00000001.JPEG"])
    return {"train": archives.imagenet_training(archive, draw, above), "val": files}


def imagenet_sorted(archive, draw):
    files = {f"val/{one}/{validation(k)}": one for k, one in enumerate(wnids(), 1)}
    archives.put_images(archive, files, draw)
    return {"train": archives.imagenet_training(archive, draw), "val": files}


def places365_sorted(archive, draw):
    names, above = class_lists.names_of("places365"), "places365_standard"
    files = {
        f"{above}/val/{one.replace('/', '-')}/Places365_val_00000435.jpg": one.replace("/", "_")
        for one in names
    }
    put(archive, [*files, *(file.replace("/val/", "/train/") for file in files)])
    put(archive, [f"{above}/val.txt"], "\n".join(file.removeprefix(above) for file in files))
    return {"test": files}


ARCHIVES = archives.ARCHIVES | {
    "imagenet of Kaggle": imagenet_of_kaggle,
    "imagenet, sorted": imagenet_sorted,
    "places365, sorted": places365_sorted,
}


def name_of(kind):
    return kind.replace(",", "").split(" ")[0]


def state(folder):
    """What would tell that a folder has been changed."""
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
def test_an_official_archive_is_read_once_it_is_arranged(kind, places, request, capsys):
    """All files with their classes and no others; the archive stays as it was."""
    archive, root = places
    name = name_of(kind)
    if name.startswith("imagenet") and name != "imagenet_r":
        request.getfixturevalue("few")
    expected = ARCHIVES[kind](archive, blank)
    before = state(archive)
    arrange.main([name, str(archive)])
    assert state(archive) == before
    assert [one.name for one in root.iterdir()] == [name]
    line = capsys.readouterr().out
    for split, files in expected.items():
        assert read(name, split, archive) == files
        assert f"{split} {len(files)} of " in line
    classes = {one for files in expected.values() for one in files.values()} - {name}
    assert line.endswith(f"; {len(classes) or 'no'} classes\n") and line.startswith(
        f"{root / name}:"
    )


def test_the_folder_may_be_the_one_in_the_archive_and_the_root_another(places, capsys):
    archive, root = places
    archives.textures(archive)
    arrange.main(["textures", str(archive / "dtd"), "--root", str(root / "more" / "sets")])
    assert len(list((root / "more" / "sets" / "textures").iterdir())) == 47
    assert "textures: test 94 of 5640 images; 47 classes" in capsys.readouterr().out


def drop(file):
    return lambda archive: (archive / file).unlink()


def rename(old, new):
    return lambda archive: (archive / old).rename(archive / new)


def add(file, content=JPEG):
    return lambda archive: put(archive, [file], content)


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
        # a list is not there or cannot be read
        ("imagenet", drop(TRUTH), r"ground_truth\.txt"),
        ("imagenet", drop(f"{KIT}/meta.mat"), r"meta\.mat"),
        ("imagenet", add(f"{KIT}/meta.mat", "no table"), r"meta\.mat: no table of synsets"),
        ("imagenet", rename(KIT, "kit"), r"LOC_val_solution\.csv .* or the development kit"),
        ("imagenet of Kaggle", drop("LOC_val_solution.csv"), "LOC_val_solution"),
        ("places365", drop("places365_val.txt"), r"places365_val\.txt"),
        ("places365", drop("categories_places365.txt"), r"categories_places365\.txt"),
        # an image without a line, a line without an image, a class that is none
        ("imagenet", add("val/ILSVRC2012_val_00000099.JPEG"),
         r"val_00000099\.JPEG: in no list, like 1 images"),
        ("imagenet", drop("val/ILSVRC2012_val_00000005.JPEG"),
         r"val_00000005\.JPEG: in a list, and absent, like 1"),
        ("imagenet of Kaggle", drop("ILSVRC/Data/CLS-LOC/val/ILSVRC2012_val_00000030.JPEG"),
         r"val_00000030\.JPEG: in a list, and absent"),
        ("places365", drop("val_256/Places365_val_00000365.jpg"), "365.jpg: in a list, and absent"),
        ("imagenet", line(TRUTH, 2, "n01440764"), "invalid literal for int.*'n01440764'"),
        ("imagenet", line(TRUTH, 2, "77"), "its lists name '77', which is no class"),
        ("places365", line("categories_places365.txt", 3, "/a/airport 2"), "'airport', which is"),
        ("places365", line("places365_val.txt", 4, "Places365_val_00000004.jpg 365"), "name '?'"),
        ("imagenet, sorted", rename("val/n01443537", "val/goldfish"),
         "val/goldfish: the name of no class"),
        ("imagenet", rename("train/n01443537", "train/n00000000"), "n00000000: the name of no"),
        ("imagenet_r", add("imagenet-r/n00000000/1.jpg"), "imagenet-r: 200 folders with names"),
        ("imagenet_v2", rename(f"{V2}/3", f"{V2}/1000"), "1000: the name of no class"),
        ("caltech256", add("256_ObjectCategories/232.tshirt/1.jpg"), "232.tshirt: the name of no"),
        ("food101", rename("food-101/images/sushi", "food-101/images/soup"), "soup: the name of"),
        ("places365, sorted", add("places365_standard/val/sea/1.jpg"), "val/sea: the name of no"),
        # a class that is not there, or is empty
        ("imagenet_c", empty("fog/3"), r"fog/3: 12 classes are absent, n01440764 is one"),
        ("imagenet_v2", empty(f"{V2}/3"), "val/3: no images in"),
        ("textures", lambda archive: shutil.rmtree(archive / "dtd/images/t00ed"),
         "dtd/images: 47 folders of classes expected, got 46"),
        # another layout
        ("imagenet", rename("val", "validation"), "a folder val expected in it"),
        ("imagenet, sorted", add("val/1.JPEG"), "LOC_val_solution"),
        ("imagenet", add("train/1.JPEG"), "image .*train/1.JPEG: in the folder of no class"),
        ("imagenet_c", rename("snow", "snows"), "a folder snow or weather/snow exp"),
        ("places365", rename("val_256", "val"), "val/Places365_val_00000001.jpg: in the folder of"),
        ("places365", rename("val_256", "images"), "places365_standard/val or val or val_256 or"),
        ("food101", rename("food-101/images", "food-101/x"), "a folder images or food-101/images"),
        ("sun", rename("SUN", "SUN397"), "a folder images or SUN/images expected"),
        ("sun", add("SUN/images/beach/1.jpg"), "images/beach: only images expected"),
        ("sun", empty("SUN/images"), "archive: no images in it"),
    ],
)  # fmt: skip
def test_what_is_none_of_it_is_refused_and_leaves_nothing(kind, mistake, message, places, request):
    archive, root = places
    name = name_of(kind)
    if name.startswith("imagenet") and name != "imagenet_r":
        request.getfixturevalue("few")
    ARCHIVES[kind](archive, blank)
    mistake(archive)
    before = state(archive)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        arrange.main([name, str(archive)])
    assert not list(root.iterdir()) and state(archive) == before


def test_what_is_there_stays(places):
    archive, root = places
    archives.ARCHIVES["sun"](archive)
    put(root, ["sun/mine.jpg"])
    with pytest.raises(FileExistsError, match="sun is there; move it away"):
        arrange.main(["sun", str(archive)])
    assert [one.name for one in root.rglob("*")] == ["sun", "mine.jpg"]
    shutil.rmtree(root / "sun")
    (root / "sun").symlink_to(root / "gone")
    with pytest.raises(FileExistsError, match="sun is there"):
        arrange.main(["sun", str(archive)])


def test_names_and_folders_that_there_are_not(places):
    archive, root = places
    with pytest.raises(ValueError, match="unknown streamed data set 'sum'; did you mean 'sun'"):
        arrange.main(["sum", str(archive)])
    with pytest.raises(FileNotFoundError, match="nowhere: not there; give that of the unpacked"):
        arrange.main(["sun", str(archive / "nowhere")])
    assert not list(root.iterdir())


def test_who_misses_a_folder_is_told_the_command(places):
    with pytest.raises(
        FileNotFoundError, match=r"no folder .*sun\. .*`python workflow/arrange\.py"
    ):
        locate("sun")
