"""Folders of images, streamed or loaded: listed, skipped and decoded files."""

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from PIL import ExifTags, Image, ImageOps

from helpers.data import corruptions, load, open_stream
from helpers.data.directories import list_images
from helpers.data.listing import Listing
from helpers.data.pixels import random_crop, rgb
from helpers.data.stream import ImageStream
from tests.data.test_images import left_half


@pytest.fixture
def folder(root, tmp_path):
    """Four images of each of three classes, of several sizes, kinds and colours."""
    generator = np.random.default_rng(0)
    for label, name in enumerate(("ant", "bee", "cow")):
        (tmp_path / "zoo" / name).mkdir(parents=True)
        for index, suffix in enumerate(("jpg", "png", "jpg", "png")):
            pixels = generator.integers(0, 256, (40 + 5 * index, 50 - 3 * label, 3), np.uint8)
            Image.fromarray(pixels).save(tmp_path / "zoo" / name / f"{index}.{suffix}")
    return tmp_path / "zoo"


def read(stream, indices=None, **options):
    indices = np.arange(len(stream)) if indices is None else indices
    options = {"batch_size": 5, "size": 16, "workers": 0} | options
    return [*map(np.concatenate, zip(*stream.batches(indices, **options), strict=True))]


def test_a_stream_lists_what_load_reads(folder):
    """The same images, labels and names as in memory, and no pixels."""
    stream = ImageStream.scan(folder)
    images = load(f"folder:{folder}", "test", size=16)
    assert stream.labels.tolist() == images.labels.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    for field in ("class_names", "name", "split", "origin"):
        assert getattr(stream, field) == getattr(images, field)
    assert stream.sizes[0] == (folder / stream.files[0]).stat().st_size
    assert repr(stream) == "ImageStream(zoo/test: 12 images, 3 classes, 0 files skipped)"
    pictures = stream.pictures([7, 2], size=16)
    assert np.array_equal(pictures, read(stream, [7, 2])[1].transpose(0, 2, 3, 1))
    assert np.array_equal(images.pictures([7, 2]), images.images[[7, 2]])
    assert images.pictures([7], size=8).shape == (1, 8, 8, 3)


def test_hidden_folders_are_left_out_and_a_pipe_is_refused(folder):
    """Before, thumbnails of a file manager were images of the class, and a pipe hung for ever."""
    for name in ("ant/.thumbnails", ".git", "bee/.cache/deep"):
        (folder / name).mkdir(parents=True)
        shutil.copy(folder / "ant/0.jpg", folder / name / "0.jpg")
    shutil.copy(folder / "ant/0.jpg", folder / "ant/4.JFIF")
    stream = ImageStream.scan(folder)
    assert len(stream) == 13
    assert stream.class_names == ("ant", "bee", "cow")
    os.mkfifo(folder / "cow" / "camera.png")
    for read_all in (ImageStream.scan, lambda path: load(f"folder:{path}", "test", size=16)):
        with pytest.raises(ValueError, match=r"camera\.png: a file expected, got a pipe"):
            read_all(folder)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_only_the_orientation_of_exif_is_read(tmp_path, monkeypatch, orientation):
    """Pillow writes all fields again when it turns an image, and fails at an odd one."""
    pixels = np.random.default_rng(0).integers(0, 256, (4, 6, 3), np.uint8)
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = orientation
    Image.fromarray(pixels).save(tmp_path / "0.png", exif=exif)
    with Image.open(tmp_path / "0.png") as opened:
        expected = np.asarray(ImageOps.exif_transpose(opened))
    fails = Mock(side_effect=struct.error("short format requires -32768 <= number <= 32767"))
    monkeypatch.setattr(Image.Exif, "tobytes", fails)
    with Image.open(tmp_path / "0.png") as opened:
        assert np.array_equal(np.asarray(rgb(opened)), expected)


def test_images_are_listed_by_the_parts_of_their_paths_and_links_are_followed_once(tmp_path):
    """The order of `sorted`: "b" is before "b-c"; deeper links might lead back."""
    names = ("ant/0.jpg", "ant/b/1.png", "ant/b-c/2.png", "bee/10.png", "bee/9.png", "top.gif")
    for name in (*names, "ant/notes.txt", "bee/.hidden.png", "bee/no_suffix"):
        (tmp_path / "zoo" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "zoo" / name).touch()
    assert list_images(tmp_path / "zoo") == list(names)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "bee").symlink_to(tmp_path / "zoo" / "bee")
    (tmp_path / "zoo" / "ant" / "loop").symlink_to(tmp_path / "zoo")
    assert list_images(tmp_path / "linked") == ["bee/10.png", "bee/9.png"]
    assert "ant/loop/ant/0.jpg" not in list_images(tmp_path / "zoo")


def test_images_are_chosen_before_files_are_opened(folder, monkeypatch):
    """Broken files that are not chosen are not opened."""
    for name in ("ant/1.png", "ant/2.jpg", "bee/0.jpg"):
        (folder / name).write_bytes(b"")
    listed = Listing.scan(folder)
    assert listed.class_names == ("ant", "bee", "cow")
    monkeypatch.setattr(Image, "open", opened := Mock(side_effect=Image.open))
    few = ImageStream.open(listed.subset([0, 7]))
    assert [Path(file).name for (file,), _ in opened.call_args_list] == ["0.jpg", "3.png"]
    assert few.skipped == ()
    assert few.sha256 == ImageStream.scan(folder).subset([0, 4]).sha256
    assert len(ImageStream.open(listed.subset([]))) == 0
    with pytest.raises(ValueError, match="none of its 3 images can be read"):
        ImageStream.open(listed.subset([1, 2, 4]))
    (folder / "top.gif").touch()
    with pytest.raises(ValueError, match="1 of 13 images are in none of the subfolders"):
        Listing.scan(folder)


def test_splits_share_their_class_numbers(folder, tmp_path):
    root = tmp_path / "all"
    (root / "val").mkdir(parents=True)
    folder.rename(root / "train")
    (root / "train" / "bee").rename(root / "val" / "bee")
    train = ImageStream.scan(root, split="train")
    assert train.class_names == ("ant", "bee", "cow")
    assert set(train.labels) == {0, 2}
    assert set(ImageStream.scan(root, split="val").labels) == {1}
    assert load(f"folder:{root}", "val", size=8).labels.tolist() == [1] * 4
    (tmp_path / "empty").mkdir()
    for path, split, error, message in (
        (root, "trian", ValueError, "did you mean 'train'"),
        (tmp_path / "nowhere", "test", FileNotFoundError, "nowhere"),
        (tmp_path / "empty", "test", ValueError, "empty: no images"),
    ):
        for call, name in ((ImageStream.scan, path), (load, f"folder:{path}")):
            with pytest.raises(error, match=message):
                call(name, split=split)
    with pytest.raises(ValueError, match="pass size="):
        load(f"folder:{root}", "val")


def test_broken_files_are_skipped_counted_and_listed(folder, caplog):
    """Truncated, empty or of another kind: the sound images stay, in their order."""
    (cut := folder / "ant" / "2.jpg").write_bytes(cut.read_bytes()[:-200])  # its header is sound
    (folder / "bee" / "1.png").write_bytes(b"")
    (folder / "cow" / "0.jpg").write_text("not found")
    stream = ImageStream.scan(folder)
    assert stream.skipped == ("ant/2.jpg", "bee/1.png", "cow/0.jpg")
    sound = [file for file in list_images(folder) if file not in stream.skipped]
    assert [*stream.files] == sound
    assert stream.labels.tolist() == [0] * 3 + [1] * 3 + [2] * 3
    assert "3 of 12 images cannot be read" in caplog.text
    assert "ant/2.jpg" in caplog.text
    assert len(read(stream)[1]) == 9
    assert stream.subset([0]).skipped == stream.skipped


def test_what_verification_found_is_kept_until_a_file_changes(folder, monkeypatch):
    """A second scan decodes no file; a file with a new time is checked again."""
    (folder / "ant" / "0.jpg").write_bytes(bytes(100))
    assert ImageStream.scan(folder).skipped == ("ant/0.jpg",)
    with monkeypatch.context() as patch:
        patch.setattr(Image, "open", Mock(side_effect=AssertionError("decoded again")))
        assert ImageStream.scan(folder).skipped == ("ant/0.jpg",)
    Image.new("RGB", (20, 20)).save(folder / "ant" / "0.jpg")
    assert ImageStream.scan(folder).skipped == ()


def test_another_folder_is_verified_although_names_sizes_and_times_are_equal(folder, tmp_path):
    """As after two archives with fixed times."""
    ImageStream.scan(folder)
    other = shutil.copytree(folder, tmp_path / "other")
    file = other / "cow" / "1.png"
    status = file.stat()
    file.write_bytes(bytes(status.st_size))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert ImageStream.scan(other).skipped == ("cow/1.png",)


def test_a_class_may_be_called_train(folder):
    """Beside other classes and without subfolders, it is no split."""
    (folder / "ant").rename(folder / "train")
    (folder / "train" / ".thumbnails").mkdir()
    assert [*ImageStream.scan(folder).class_names] == ["bee", "cow", "train"]


@pytest.mark.parametrize(
    "error", [OSError(5, "no disk or memory"), MemoryError("no disk or memory")]
)
def test_a_failing_machine_is_not_a_broken_image(folder, tmp_path, monkeypatch, error):
    """An error of the system ends the scan, and no result is stored."""
    monkeypatch.setattr(Image, "open", Mock(side_effect=error))
    with pytest.raises(type(error), match="no disk or memory"):
        ImageStream.scan(folder)
    assert not list((tmp_path / "cache" / "verified").glob("*"))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_file_that_breaks_later_is_named(folder, workers):
    stream = ImageStream.scan(folder)
    (folder / "bee" / "2.jpg").write_bytes(b"")
    assert len(read(stream, [0, 1])[1]) == 2
    with pytest.raises(ValueError, match=r"bee/2\.jpg cannot be read"):
        read(stream, workers=workers)
    with pytest.raises(ValueError, match=r"2\.jpg'? cannot be read"):
        load(f"folder:{folder}", "test", size=8)


def test_workers_pass_batches_if_the_temporary_folder_has_a_long_path(folder, tmp_path):
    """In another process with a time limit: the first batch never arrived.

    Sockets are in /tmp, and then nowhere.
    """
    long = tmp_path / ("x" * 110)
    long.mkdir()
    program = "from helpers.data import stream\nzoo = stream.ImageStream.scan('zoo')\n"
    program += "for folder in (stream.socket_folder, lambda name: None):\n"
    program += "    stream.socket_folder = folder\n"
    program += "    print(sum(map(len, zoo.in_order(batch_size=5, size=16, workers=2))))"
    environment = os.environ | {"TMPDIR": str(long), "PYTHONPATH": os.getcwd()}
    given = {"cwd": tmp_path, "env": environment, "timeout": 100, "text": True}
    printed = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, **given)
    assert printed.stdout.split() == ["12", "12"]


def test_images_that_are_left_out_and_empty_classes_are_named(folder, caplog):
    (folder / "bee" / "photo.HEIC").touch()
    (folder / "dog").mkdir()
    (folder / "__MACOSX" / "bee").mkdir(parents=True)
    assert load(f"folder:{folder}", "test", size=8).class_names == ("ant", "bee", "cow", "dog")
    assert "zoo: 1 images are left out, the first is bee/photo.HEIC; convert" in caplog.text
    assert "zoo: 1 of 4 classes have no image: dog" in caplog.text


def test_subsets_keep_files_sizes_and_labels_together(folder, tmp_path):
    """The digest is of paths, contents and labels, wherever the folder is."""
    stream = ImageStream.scan(folder)
    picked = stream.subset([7, 0])
    chosen = stream.select(["cow", "ant"])
    assert picked.files == ("bee/3.png", "ant/0.jpg")
    assert picked.labels.tolist() == [1, 0]
    assert picked.sizes.tolist() == [stream.sizes[7], stream.sizes[0]]
    assert chosen.files == stream.files[:4] + stream.files[8:]
    assert chosen.labels.tolist() == [1] * 4 + [0] * 4
    assert len(stream.unknown().select(["ant"])) == 0
    others = stream.subset([1, 0]), stream.select(["bee"]), stream.unknown()
    assert len({each.sha256 for each in (stream, *others)}) == 4
    elsewhere = folder.rename(tmp_path / "elsewhere")
    assert ImageStream.scan(elsewhere).sha256 == stream.sha256
    Image.new("RGB", (20, 20)).save(elsewhere / "ant" / "0.jpg")
    assert ImageStream.scan(elsewhere).sha256 != stream.sha256


@pytest.mark.parametrize("augment", [False, True])
def test_batches_do_not_depend_on_workers_or_batch_size(folder, augment):
    """Only the seed and the position in the order decide."""
    stream = ImageStream.scan(folder)
    order = [3, 11, 0, 3, 5, 7, 1]
    indices, images = read(stream, order, augment=augment, seed=1)
    assert indices.tolist() == order
    assert indices.dtype == np.int64
    assert images.shape == (7, 3, 16, 16)
    assert images.dtype == np.uint8
    for options in ({"workers": 2}, {"workers": 2, "batch_size": 2}, {"batch_size": 100}):
        again = read(stream, order, augment=augment, seed=1, **options)
        assert np.array_equal(again[0], indices)
        assert np.array_equal(again[1], images)
    # the same image in another place is cropped otherwise, and so it is with another seed
    assert (images[0] != images[3]).any() == augment
    assert (read(stream, order, augment=augment, seed=2)[1] != images).any() == augment


def test_in_order_is_the_evaluation_of_all_images(folder):
    """A transform gives the same arrays as for images in memory."""
    stream = ImageStream.scan(folder)
    batches = list(stream.in_order(batch_size=8, size=16, workers=0))
    assert batches[0].is_contiguous(memory_format=torch.channels_last)
    assert [*map(len, batches)] == [8, 4]
    np.testing.assert_array_equal(np.concatenate(batches), read(stream)[1])
    (large,) = stream.subset([0]).in_order(batch_size=8, workers=0)
    assert tuple(large.shape) == (1, 3, 224, 224)
    for workers in (0, 2):
        batches = list(stream.in_order(batch_size=5, transform=left_half, workers=workers))
        assert [*map(len, batches)] == [5, 5, 2]
        expected = [left_half(Image.open(folder / file)) for file in stream.files]
        np.testing.assert_array_equal(np.concatenate(batches), expected)


def test_training_crops_have_the_area_ratio_and_places_that_they_should():
    """All inside, 8 to 100 % of the area, 3:4 to 4:3, and reaching every border."""
    generator = np.random.default_rng(0)
    boxes = np.array([random_crop(100, 80, generator) for _ in range(2000)])
    assert boxes.min() == 0
    assert boxes.max(axis=0)[2:].tolist() == [100, 80]
    wide, high = (boxes[:, 2:] - boxes[:, :2]).T
    share = wide * high / 8000
    ratio = wide / high
    ends = [*np.quantile(share, [0, 1]), *np.quantile(ratio, [0, 0.5, 1])]
    np.testing.assert_allclose(ends, [0.085, 0.98, 3 / 4, 1, 4 / 3], rtol=0.05)
    assert random_crop(3, 1000, generator) == (0, 498, 3, 502)


def test_half_of_the_training_images_are_flipped(tmp_path):
    """Red grows to the right, and green downwards: never upside down."""
    down, right = np.indices((64, 64), np.uint8)
    Image.fromarray(np.stack([right, down, 0 * down], axis=2)).save(tmp_path / "1.png")
    stream = ImageStream.scan(tmp_path)
    images = read(stream, [0] * 200, augment=True)[1].astype(int)
    assert 70 < (images[:, 0, 8, -1] > images[:, 0, 8, 0]).sum() < 130
    assert (images[:, 1, -1, 8] > images[:, 1, 0, 8]).all()


def test_joined_listings_are_read_as_one(folder, tmp_path):
    """Classes are joined by name, and broken files of all folders are listed."""
    other = tmp_path / "more" / "yard"
    (other / "ape").mkdir(parents=True)
    (folder / "bee").rename(other / "bee")
    Image.new("RGB", (9, 9)).save(other / "ape" / "1.png")
    (other / "ape" / "2.png").write_bytes(b"")
    one_by_one = [read(ImageStream.scan(path))[1] for path in (folder, other)]
    both = ImageStream.open(Listing.join([Listing.scan(folder), Listing.scan(other)], "animals"))
    assert both.class_names == ("ant", "cow", "ape", "bee")
    assert both.name == "animals"
    assert both.labels.tolist() == [0] * 4 + [1] * 4 + [2] + [3] * 4
    assert both.files[0] == "zoo/ant/0.jpg"
    assert both.files[-1] == "more/yard/bee/3.png"
    assert both.skipped == ("more/yard/ape/2.png",)
    assert both.sizes.sum() > 0
    np.testing.assert_array_equal(read(both)[1], np.concatenate(one_by_one))


def test_imagenet_c_is_its_75_folders_together(root):
    """All fifteen corruptions at five severities and no other; one that is missing is named."""
    for kind in (*corruptions.NAMES, "speckle_noise"):
        for severity in corruptions.SEVERITIES:
            (path := root / f"imagenet_c/{kind}/{severity}/n{severity}").mkdir(parents=True)
            Image.new("RGB", (2, 2)).save(path / "1.png")
    stream = open_stream("imagenet_c", "test")
    assert len(stream) == 75
    assert len(stream.class_names) == 5
    assert stream.name == "imagenet_c"
    assert not [file for file in stream.files if "speckle" in file]
    shutil.rmtree(root / "imagenet_c" / "fog" / "3")
    with pytest.raises(FileNotFoundError, match=r"fog/3: no such folder"):
        open_stream("imagenet_c", "test")
