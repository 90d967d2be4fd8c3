"""Each streamed data set from a small archive of its makers' layout, and what is refused of it."""

import io
import shutil

import arrange
import numpy as np
import pytest
from layouts import LAYOUTS
from PIL import Image
from scipy.io import savemat

from helpers.data import cards, class_lists, corruptions, locate, open_stream

WNIDS = tuple(class_lists.wnids_of("imagenet"))
KIT = "ILSVRC2012_devkit_t12/data"
V2 = "imagenetv2-matched-frequency-format-val"
TRUTH = f"{KIT}/ILSVRC2012_validation_ground_truth.txt"


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
    for file in files:
        (archive / file).parent.mkdir(parents=True, exist_ok=True)
        (archive / file).write_bytes(content.encode() if isinstance(content, str) else content)


def synsets(archive, wnids):
    """Write the development kit's table: the classes, numbered from 1, and a node above them."""
    fields = ("ILSVRC2012_ID", "WNID", "words", "gloss", "num_children", "wordnet_height",
              "num_train_images")  # fmt: skip
    rows = [(number, wnid, "a, b", "a thing", 0, 0, 1300) for number, wnid in enumerate(wnids, 1)]
    rows.append((len(rows) + 1, "n00001740", "entity", "all", len(rows), 9, 0))
    table = np.array(rows, [(field, object) for field in fields])[:, np.newaxis]
    (archive / KIT).mkdir(parents=True)
    savemat(archive / KIT / "meta.mat", {"synsets": table})


def validation(number):
    return f"ILSVRC2012_val_{number:08d}.JPEG"


# Each writes an archive and returns what is to be read: by split, the classes of its files.


def imagenet_training(archive, above):
    files = {f"{above}train/{one}/{one}_{k}.JPEG": one for one in WNIDS[:12] for k in (18, 7)}
    put(archive, files)
    return files


def imagenet(archive):
    """The numbers of the classes are not in the order of their wnids."""
    numbered = WNIDS[11::-1]
    synsets(archive, numbered)
    numbers = [3, 12, 1, *range(2, 12), 2]
    put(archive, [TRUTH], "".join(f"{number}\n" for number in numbers))
    files = {
        f"val/{validation(place)}": numbered[number - 1] for place, number in enumerate(numbers, 1)
    }
    put(archive, files)
    return {"train": imagenet_training(archive, ""), "val": files}


def imagenet_of_kaggle(archive):
    above = "ILSVRC/Data/CLS-LOC/"
    files = {f"{above}val/{validation(30 - k)}": one for k, one in enumerate(WNIDS[:12])}
    put(archive, files)
    rows = [f"{file[len(above) + 4 : -5]},{one} 85 1 499 272 {one} 1 2 3 4 \n"
            for file, one in reversed(files.items())]  # fmt: skip
    put(archive, ["LOC_val_solution.csv"], "ImageId,PredictionString\n" + "".join(rows))
    put(archive, [f"{above}test/ILSVRC2012_test_00000001.JPEG"])
    return {"train": imagenet_training(archive, above), "val": files}


def imagenet_sorted(archive):
    files = {f"val/{one}/{validation(k)}": one for k, one in enumerate(WNIDS[:12], 1)}
    put(archive, files)
    return {"train": imagenet_training(archive, ""), "val": files}


def imagenet_c(archive):
    """One of the tars was unpacked into a folder of its own."""
    files = {
        f"{'blur/' * (group == 'blur')}{kind}/{level}/{one}/{validation(1)}": one
        for kind, group in corruptions.NAMES.items()
        for level in corruptions.SEVERITIES
        for one in WNIDS[:12]
    }
    put(archive, files)
    put(archive, [f"speckle_noise/1/{WNIDS[0]}/{validation(1)}"])
    return {"test": files}


def imagenet_v2(archive):
    files = {f"{V2}/{k}/{k}ab{n}.jpeg": WNIDS[k] for k in range(12) for n in range(2)}
    put(archive, files)
    return {"test": files}


def imagenet_r(archive):
    files = {f"imagenet-r/{one}/{kind}_0.jpg": one for one in WNIDS[::5] for kind in ("art", "toy")}
    put(archive, files)
    put(archive, ["imagenet-r/README.txt"], "of renditions")
    return {"test": files}


def food101(archive):
    names = class_lists.names_of("food101")
    halves = {half: [f"{one}/{k}" for one in names] for half, k in (("train", 70), ("test", 8))}
    for half, lines in halves.items():
        put(archive, [f"food-101/meta/{half}.txt"], "\n".join(lines) + "\n")
        put(archive, [f"food-101/meta/{half}.json"], "{}")
    put(archive, ["food-101/meta/classes.txt"], "\n".join(names))
    files = {
        f"food-101/images/{one}.jpg": one.split("/")[0]
        for lines in halves.values()
        for one in lines
    }
    put(archive, files)
    return {"test": files}


def caltech256(archive):
    files = {
        f"256_ObjectCategories/{one}/{one[:3]}_0001.jpg": one
        for one in class_lists.names_of("caltech256")
    }
    put(archive, files)
    put(archive, ["256_ObjectCategories/257.clutter/257_0001.jpg"])
    put(archive, ["256_ObjectCategories/198.spider/RENAME2"], "not an image")
    (archive / "256_ObjectCategories/056.dog/greg/vision309").mkdir(parents=True)
    return {"test": files}


def places365(archive):
    """Two images a class, in another order than the classes."""
    names = class_lists.names_of("places365")
    rows = [f"/{name[0]}/{name} {number}\n" for number, name in enumerate(names)]
    put(archive, ["categories_places365.txt"], "".join(rows))
    numbers = [*reversed(range(365)), *range(365)]
    listing = [(f"Places365_val_{k:08d}.jpg", number) for k, number in enumerate(numbers, 1)]
    put(archive, ["places365_val.txt"], "".join(f"{file} {number}\n" for file, number in listing))
    put(archive, ["places365_test.txt"], "Places365_test_00000001.jpg\n")
    files = {f"val_256/{file}": names[number].replace("/", "_") for file, number in listing}
    put(archive, files)
    return {"test": files}


def places365_sorted(archive):
    names, above = class_lists.names_of("places365"), "places365_standard"
    files = {
        f"{above}/val/{one.replace('/', '-')}/Places365_val_00000435.jpg": one.replace("/", "_")
        for one in names
    }
    put(archive, [*files, *(file.replace("/val/", "/train/") for file in files)])
    put(archive, [f"{above}/val.txt"], "\n".join(file.removeprefix(above) for file in files))
    return {"test": files}


def textures(archive):
    files = {f"dtd/images/t{k:02d}ed/t{k:02d}ed_{n}.jpg": f"t{k:02d}ed"
             for k in range(47) for n in (2, 11)}  # fmt: skip
    put(archive, files)
    put(archive, ["dtd/images/t04ed/.directory", "dtd/labels/test1.txt"], "")
    return {"test": files}


def in_one_folder(folder, name):
    def make(archive):
        files = {f"{folder}/images/{k}a.jpg": name for k in range(4)}
        put(archive, files)
        return {"test": files}

    return make


ARCHIVES = {
    "imagenet": imagenet,
    "imagenet of Kaggle": imagenet_of_kaggle,
    "imagenet, sorted": imagenet_sorted,
    "imagenet_c": imagenet_c,
    "imagenet_v2": imagenet_v2,
    "food101": food101,
    "imagenet_r": imagenet_r,
    "caltech256": caltech256,
    "places365": places365,
    "places365, sorted": places365_sorted,
    "textures": textures,
    "inaturalist": in_one_folder("iNaturalist", "inaturalist"),
    "places": in_one_folder("Places", "places"),
    "sun": in_one_folder("SUN", "sun"),
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
    assert set(LAYOUTS) == streamed == {name_of(kind) for kind in ARCHIVES}


@pytest.mark.parametrize("kind", ARCHIVES)
def test_an_official_archive_is_read_once_it_is_arranged(kind, places, request, capsys):
    """All files with their classes and no others; the archive stays as it was."""
    archive, root = places
    name = name_of(kind)
    if name.startswith("imagenet") and name != "imagenet_r":
        request.getfixturevalue("few")
    expected = ARCHIVES[kind](archive)
    before = state(archive)
    arrange.main([name, str(archive)])
    assert state(archive) == before
    assert [one.name for one in root.iterdir()] == [name]
    line = capsys.readouterr().out
    for split, files in expected.items():
        assert read(name, split, archive) == files
        assert f"{split} {len(files)} images of " in line
    classes = {one for files in expected.values() for one in files.values()} - {name}
    assert line.endswith(f"; {len(classes) or 'no'} classes\n") and line.startswith(
        f"{root / name}:"
    )


def test_the_folder_may_be_the_one_in_the_archive_and_the_root_another(places, capsys):
    archive, root = places
    textures(archive)
    arrange.main(["textures", str(archive / "dtd"), "--root", str(root / "more" / "sets")])
    assert len(list((root / "more" / "sets" / "textures").iterdir())) == 47
    assert "textures: test 94 images of 5640; 47 classes" in capsys.readouterr().out


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


def renamed_class(archive):
    rename("food-101/images/sushi", "food-101/images/soup")(archive)
    for half, number in (("train", 70), ("test", 8)):
        line(f"food-101/meta/{half}.txt", 96, f"soup/{number}")(archive)


@pytest.mark.parametrize(
    ("kind", "mistake", "message"),
    [
        # a list, or what says which one, is not there or cannot be read
        ("imagenet", drop(TRUTH), r"list .*ground_truth\.txt: not there"),
        ("imagenet", drop(f"{KIT}/meta.mat"), r"list .*meta\.mat: not there"),
        ("imagenet", add(f"{KIT}/meta.mat", "no table"), r"meta\.mat: no table of synsets"),
        ("imagenet", rename(KIT, "kit"), r"neither LOC_val_solution\.csv .* nor the development"),
        ("imagenet of Kaggle", drop("LOC_val_solution.csv"), "neither LOC_val_solution"),
        ("food101", drop("food-101/meta/test.txt"), r"list .*meta/test\.txt: not there"),
        ("places365", drop("places365_val.txt"), r"list .*places365_val\.txt: not there"),
        ("places365", drop("categories_places365.txt"), r"list .*categories_places365\.txt: not"),
        # an image without a line, a line without an image
        ("imagenet", add("val/ILSVRC2012_val_00000099.JPEG"),
         r"image .*val_00000099\.JPEG: in no line of .*ground_truth\.txt, like 1 images"),
        ("imagenet", drop("val/ILSVRC2012_val_00000005.JPEG"),
         r"ground_truth\.txt, line 5: there is no image .*val_00000005\.JPEG; 1 images"),
        ("imagenet of Kaggle", drop("ILSVRC/Data/CLS-LOC/val/ILSVRC2012_val_00000030.JPEG"),
         r"solution\.csv, line 13: there is no image .*val_00000030\.JPEG"),
        ("food101", add("food-101/images/sushi/77.jpg"),
         r"image .*sushi/77\.jpg: in no line of .*train\.txt or .*test\.txt"),
        ("food101", drop("food-101/images/sushi/8.jpg"), r"test\.txt, line 96: .*sushi/8\.jpg"),
        ("places365", add("val_256/Places365_val_00036501.jpg"), "00036501.jpg: in no line of"),
        ("places365", add("places365_val.txt", ""), "jpg: in no line of its list"),
        ("places365", drop("val_256/Places365_val_00000365.jpg"), "line 365: there is no image"),
        # a line of another kind, a class that is none
        ("imagenet", line(TRUTH, 2, "n01440764"), "truth.txt, line 2: '490' or alike expected"),
        ("imagenet", line(TRUTH, 2, "13"), "truth.txt, line 2: 'n00001740' is none of the 12"),
        ("imagenet", line(TRUTH, 2, "77"), "truth.txt, line 2: '77' is none of the 12 classes"),
        ("imagenet of Kaggle", line("LOC_val_solution.csv", 3, "ILSVRC2012_val_00000020,cat 1"),
         r"solution\.csv, line 3: 'ILSVRC2012_val_00048981,n03995372 85 1 499 272' or alike"),
        ("food101", renamed_class, r"train\.txt, line 96: 'soup' is none of the 101 classes"),
        ("places365", line("categories_places365.txt", 3, "/a/airport 2"), "line 3: 'airport' is"),
        ("places365", line("places365_val.txt", 4, "Places365_val_00000004.jpg 365"),
         "line 4: '365' is none of the 365 classes"),
        ("imagenet, sorted", rename("val/n01443537", "val/goldfish"),
         r"val/goldfish: the name of no class; names like n01440764, "),
        ("imagenet", rename("train/n01443537", "train/n00000000"), "n00000000: the name of no"),
        ("imagenet_r", add("imagenet-r/n00000000/1.jpg"), "n00000000: the name of no class"),
        ("imagenet_v2", rename(f"{V2}/3", f"{V2}/1000"), "1000: the name of no class; .* 0, 1, 10"),
        ("caltech256", add("256_ObjectCategories/232.tshirt/1.jpg"), "232.tshirt: the name of no"),
        ("places365, sorted", add("places365_standard/val/sea/1.jpg"), "val/sea: the name of no"),
        # a class that is not there, or is empty
        ("imagenet_c", empty("fog/3"), r"fog/3: no folder n01440764 in it, and 12 of 12 absent"),
        ("imagenet_v2", empty(f"{V2}/3"), "val/3: no images in"),
        ("textures", lambda archive: shutil.rmtree(archive / "dtd/images/t00ed"),
         "dtd/images: 47 folders of classes expected, got 46"),
        # another layout
        ("imagenet", rename("val", "validation"), "none of the known layouts; a folder val exp"),
        ("imagenet, sorted", add("val/1.JPEG"), "neither LOC_val_solution"),
        ("imagenet", add("train/1.JPEG"), "image .*train/1.JPEG: lies beside the folders"),
        ("imagenet_c", rename("snow", "snows"), "none of .*; a folder snow or weather/snow exp"),
        ("places365", rename("val_256", "val"), "image .*/val/Places365_val_00000001.jpg: lies be"),
        ("places365", rename("val_256", "images"), "places365_standard/val or val or val_256 or"),
        ("food101", rename("food-101/images", "food-101/x"), "a folder images or food-101/images"),
        ("sun", rename("SUN", "SUN397"), "a folder images or SUN/images expected"),
        ("sun", add("SUN/images/beach/1.jpg"), "images/beach: images alone expected"),
        ("sun", empty("SUN/images"), "archive: no images in it"),
    ],
)  # fmt: skip
def test_what_is_none_of_it_is_refused_and_leaves_nothing(kind, mistake, message, places, request):
    archive, root = places
    name = name_of(kind)
    if name.startswith("imagenet") and name != "imagenet_r":
        request.getfixturevalue("few")
    ARCHIVES[kind](archive)
    mistake(archive)
    before = state(archive)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        arrange.main([name, str(archive)])
    assert not list(root.iterdir()) and state(archive) == before


def test_what_is_there_stays(places):
    archive, root = places
    in_one_folder("SUN", "sun")(archive)
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
