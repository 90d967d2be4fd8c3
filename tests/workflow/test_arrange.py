"""Each streamed data set from a small archive in its makers' layout, and refused archives."""

import dataclasses

import arrange
import pytest

from helpers.data import cards, class_lists, corruptions, locate, open_stream
from tests.data.test_packs import jpeg
from tests.mistakes import beside

WNIDS = list(class_lists.wnids_of("imagenet"))[:12]  # 10 comes before 2
V2 = "imagenetv2-matched-frequency-format-val"
BROKEN = beside(__file__, "broken_archives.yaml")
PLACES = class_lists.names_of("places365")


def in_folders(above, names, *files):
    """Return an archive with a folder for each class: the class of each image by its path."""
    return {f"{above}/{name}/{file}": name for name in names for file in files}


#: The class of each image, by split and path, of each archive.
ARCHIVES = {
    "imagenet": {"train": in_folders("train", WNIDS, "18.JPEG", "7.JPEG"),
                 "val": in_folders("val", WNIDS, "1.JPEG")},
    "imagenet of Kaggle": {split: in_folders(f"ILSVRC/Data/CLS-LOC/{split}", WNIDS, "1.JPEG")
                           for split in ("train", "val")},
    "imagenet_c": {"test": {f"{'blur/' * (group == 'blur')}{kind}/{level}/{wnid}/1.JPEG": wnid
                            for kind, group in corruptions.NAMES.items()
                            for level in corruptions.SEVERITIES for wnid in WNIDS}},
    "imagenet_v2": {"test": {f"{V2}/{k}/{n}.jpeg": w for k, w in enumerate(WNIDS) for n in "ab"}},
    "imagenet_r": {"test": in_folders("imagenet-r", WNIDS[:4], "art_0.jpg", "toy_0.jpg")},
    "food101": {"test": in_folders("food-101/images", class_lists.names_of("food101"), "7.jpg")},
    "caltech256": {"test": in_folders("256_ObjectCategories", class_lists.names_of("caltech256"),
                                      "1.jpg")},
    "places365": {"test": {f"val/{name.replace('/', '-')}/1.jpg": name.replace("/", "_")
                                   for name in PLACES}},
    "textures": {"test": in_folders("dtd/images", [f"t{k:02d}" for k in range(47)], "2.jpg")},
    **{name: {"test": {f"{title}/images/{k}.jpg": name for k in range(4)}}
       for name, title in (("inaturalist", "iNaturalist"), ("places", "Places"), ("sun", "SUN"))},
}  # fmt: skip
#: Other files of an archive, which are not read as images.
OTHERS = {"caltech256": ["256_ObjectCategories/257.clutter/1.jpg"],
          "imagenet_c": [f"speckle_noise/1/{WNIDS[0]}/2.JPEG"],
          "textures": ["dtd/labels/test1.txt"]}  # fmt: skip


@pytest.fixture
def places(root, tmp_path, monkeypatch):
    """Return the folders of the archive and of the data; ImageNet has twelve classes."""
    (tmp_path / "archive").mkdir()
    monkeypatch.setattr(class_lists, "wnids_of", lambda data_set: dict.fromkeys(WNIDS))
    of_name = {card.name: card for card in cards()}
    few = dataclasses.replace(of_name["imagenet_r"], classes=4)
    monkeypatch.setattr(arrange, "card_of", lambda name: (of_name | {few.name: few})[name])
    return tmp_path / "archive", root


def make(kind, folder):
    files = [file for split in ARCHIVES[kind].values() for file in split]
    for file in files + OTHERS.get(kind, []):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(jpeg(4, "black"))


def state(folder):
    """Return times and kinds of all files, which a change of the folder would change."""
    files = (folder, *folder.rglob("*"))
    return {str(file): (file.lstat().st_mtime_ns, file.is_symlink()) for file in files}


def test_every_streamed_data_set_has_a_layout():
    streamed = {card.name for card in cards() if card.streamed and not card.as_it_comes}
    assert set(arrange.LAYOUTS) == streamed == {kind.split(" ")[0] for kind in ARCHIVES}


@pytest.mark.parametrize("kind", ARCHIVES)
def test_an_official_archive_is_read_once_it_is_arranged(kind, places, capsys):
    """All files with their classes and no others; the archive does not change."""
    archive, root = places
    name = kind.split(" ")[0]
    make(kind, archive)
    before = state(archive)
    arrange.main([name, str(archive)])
    assert state(archive) == before and [path.name for path in root.iterdir()] == [name]
    line = capsys.readouterr().out
    for split, files in ARCHIVES[kind].items():
        stream = open_stream(name, split)
        paths = [(stream.root / file).resolve().relative_to(archive) for file in stream.files]
        classes = [stream.class_names[label] for label in stream.labels]
        assert dict(zip(map(str, paths), classes, strict=True)) == files
        assert f"{split} {len(files)} of " in line


@pytest.mark.parametrize("message", BROKEN)
def test_a_broken_archive_is_refused_and_leaves_nothing(message, places):
    """A folder has another name, or is empty."""
    (archive, root), (kind, folder, name) = places, BROKEN[message]
    make(kind, archive)
    (archive / folder).rename(archive / name if name else root.parent / "its files")
    if not name:
        (archive / folder).mkdir()
    before = state(archive)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        arrange.main([kind.split(" ")[0], str(archive)])
    assert not list(root.iterdir()) and state(archive) == before


def test_an_existing_folder_stays(places):
    archive, root = places
    with pytest.raises(FileNotFoundError, match=r"no folder .*sun\. .*workflow/arrange\.py"):
        locate("sun")
    (root / "sun").symlink_to(root / "gone")
    with pytest.raises(FileExistsError, match="sun exists already; move the folder"):
        arrange.main(["sun", str(archive)])
