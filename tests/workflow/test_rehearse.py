"""The rehearsal of tier `paper`: which data it makes, of which steps, and what it lets pass."""

import made_up
import numpy as np
import pytest
import rehearse
from step import Step

from helpers import data
from helpers.data.cards import find
from helpers.papers import REHEARSAL
from known_unknowns.chapters import load


def test_everything_that_the_papers_tier_reads_from_folders_can_be_made():
    streamed = set()
    for paper in ("gscore", "human_centric", "uimnet", "unknown_detection"):
        of_paper, of_rehearsal = (load(paper, tier) for tier in ("paper", REHEARSAL))
        assert of_rehearsal.data_sets_used() == of_paper.data_sets_used()
        streamed |= {name for name in of_paper.data_sets_used() if find(name).streamed}
    assert streamed == set(made_up.WRITERS)


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Return DATA_ROOT and the folder of archives."""
    monkeypatch.setenv("DATA_ROOT", str(tmp_path / "data"))
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "cache"))
    monkeypatch.setattr(rehearse, "DATA", tmp_path / "data")
    monkeypatch.setattr(rehearse, "ARCHIVES", tmp_path / "archives")
    return tmp_path / "data", tmp_path / "archives"


def test_data_of_the_steps_alone_are_made_and_what_is_there_stays(places, capsys):
    root, _ = places
    root.mkdir()
    steps = [Step("b/dataset", "b.ipynb", {}, data_sets=("sun", "mazes", "textures"))]
    rehearse.make_data(steps)
    assert {one.name for one in root.iterdir()} == {"sun", "textures"}
    stream = data.open_stream("textures", "test")
    assert len(stream.class_names) == 47 and len(stream) == 94 and not stream.skipped
    assert stream.pictures([0]).std() > 5  # there is something on it
    before = (root / "sun").stat().st_mtime_ns
    rehearse.make_data(steps)
    assert (root / "sun").stat().st_mtime_ns == before
    assert capsys.readouterr().out.count("sun: ") == 1


@pytest.mark.parametrize("name", ["cifar10", "cifar100", "svhn"])
def test_packs_have_the_classes_of_the_data_set(places, name):
    root, _ = places
    root.mkdir()
    made_up.pack(name, root)
    for split, count in zip(("train", "test"), made_up.PACKS[name], strict=True):
        images = data.load(name, split)
        assert (np.bincount(images.labels) == count).all()
        assert len(images.class_names) == find(name).classes
        assert images.images.shape[1:] == (32, 32, 3)
    if name == "cifar100":
        assert "maple_tree" in images.class_names or "maple tree" in images.class_names


def test_a_head_answers_what_is_near_to_what_it_was_fitted_to():
    features = np.random.default_rng(0).normal(5, 1, (6, 40))
    weight, bias = made_up.nearest_mean(features, range(0, 18, 3), 18)
    near = features + np.random.default_rng(1).normal(0, 0.2, features.shape)
    for seen in (features, near):
        assert ((seen @ weight.T + bias).argmax(axis=1) == np.arange(0, 18, 3)).all()
