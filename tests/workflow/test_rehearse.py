"""The rehearsal of tier `paper`: which data it makes, and of which steps."""

import numpy as np
import rehearse
from step import Step

from helpers import data
from helpers.data.cards import find
from helpers.papers import REHEARSAL
from synthesis.chapters import load


def test_everything_that_the_papers_tier_reads_from_folders_can_be_made():
    streamed = set()
    for paper in ("gscore", "human_centric", "uimnet", "unknown_detection"):
        of_paper, of_rehearsal = (load(paper, tier) for tier in ("paper", REHEARSAL))
        assert of_rehearsal.data_sets_used() == of_paper.data_sets_used()
        streamed |= {name for name in of_paper.data_sets_used() if find(name).streamed}
    assert streamed == set(rehearse.SIZES["streamed"])


def test_data_of_the_steps_alone_are_made_and_what_is_there_stays(root, capsys):
    for _ in range(2):
        rehearse.make_data([Step("b/dataset", "", {}, data_sets=("sun", "mazes", "textures"))])
    assert capsys.readouterr().out.count("sun: drawn") == 1
    assert {path.name for path in root.iterdir()} == {"sun", "textures"}
    stream = data.open_stream("textures", "test")
    assert len(stream.class_names) == 47 and len(stream) == 94 and not stream.skipped
    assert stream.pictures([0]).std() > 5  # there is something on it


def test_packs_have_the_classes_of_the_data_set(root):
    for name, counts in rehearse.SIZES["packs"].items():
        rehearse.pack(name, root)
        for split, count in counts.items():
            images = data.load(name, split)
            assert np.bincount(images.labels).tolist() == [count] * find(name).classes


def test_a_head_answers_what_is_near_to_what_it_was_fitted_to():
    features = np.random.default_rng(0).normal(5, 1, (6, 40))
    weight, bias = rehearse.nearest_mean(features, range(0, 18, 3), 18)
    near = features + np.random.default_rng(1).normal(0, 0.2, features.shape)
    assert ((near @ weight.T + bias).argmax(axis=1) == np.arange(0, 18, 3)).all()
