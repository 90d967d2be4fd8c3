"""What is wrong with the images themselves is found, and only then; groups count as one."""

import re
from dataclasses import replace

import numpy as np
import pytest

from helpers.outputs import Outputs
from known_unknowns.auditing import audit, read_outputs
from known_unknowns.auditing.doubts import find_doubts
from known_unknowns.auditing.inputs import Inputs
from known_unknowns.auditing.near_copies import find_near_copies
from known_unknowns.auditing.page import page
from known_unknowns.auditing.thresholds import promise_risk


def with_validation(inputs, **changes):
    part = inputs.validation
    arrays = {"logits": part.logits, "features": part.features, "labels": part.labels} | changes
    return replace(inputs, validation=Outputs(**arrays), files=())


def names(inputs):
    return [one.name for one in find_doubts(inputs)]


def test_of_good_images_there_is_no_doubt(inputs):
    assert names(inputs) == []


def test_labels_shifted_by_a_row_either_way(inputs):
    labels = np.random.default_rng(0).permutation(4)[np.arange(300) * 7 % 11 % 4]
    generator = np.random.default_rng(1)
    logits = 3 * np.eye(4)[labels] + generator.normal(size=(300, 4))
    assert "shifted" not in names(with_validation(inputs, logits=logits, labels=labels))
    for step, way in ((1, "before"), (-1, "after")):
        wrong = with_validation(inputs, logits=logits, labels=np.roll(labels, -step))
        (doubt,) = [one for one in find_doubts(wrong) if one.name == "shifted"]
        assert f"row {way}" in doubt.sentence


def drawn(n, classes, right=0.92, seed=0):
    """Return logits and labels of a model whose errors are drawn by chance."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(classes, size=n)
    answers = np.where(generator.random(n) < right, labels, generator.integers(classes, size=n))
    return 5 * np.eye(classes)[answers] + generator.normal(size=(n, classes)), labels


ORDER = np.array([3, 1, 4, 0, 5, 9, 2, 6, 8, 7])
SWAPPED = np.array([0, 1, 5, 3, 4, 2, 6, 7, 8, 9])
WAYS = {
    "a background logit": (lambda x, y: (np.c_[0 * y - 9, x], y), "renumbered", r"label \+ 1, 9"),
    "counted from 1": (lambda x, y: (np.c_[x, 0 * y - 9], y + 1), "renumbered", "label - 1, 9"),
    "rotated": (
        lambda x, y: (x, (y + 1) % 10), "renumbered", r"shifted by one: with \(label - 1\) % 10, 9"
    ),
    "rotated by 3": (
        lambda x, y: (x, (y - 3) % 10), "renumbered", r"shifted by 3: with \(label \+ 3\) % 10, 9"
    ),
    "permuted": (lambda x, y: (x, ORDER[y]), "reordered", "label 0 is logit 3, 2 is logit 6, .*…"),
    "two of ten swapped": (
        lambda x, y: (x, SWAPPED[y]), "reordered", "if label 2 is logit 5, 5 is logit 2, 9"
    ),
    "negated": (lambda x, y: (-x, y), "negated", "wrong sign: the smallest"),
}  # fmt: skip


@pytest.mark.parametrize("name", WAYS)
def test_how_labels_were_written_down_is_found(name):
    """Shifted or permuted labels are not taken for a wrong sign, nor the other way round."""
    change, expected, sentence = WAYS[name]
    logits, labels = change(*drawn(500, 10))
    part = Outputs(logits, np.empty((500, 0)), labels)
    first = find_doubts(Inputs("a toy", part, tuple(map(str, range(part.num_classes)))))[0]
    assert first.name == expected
    assert re.search(sentence, first.sentence)


def test_of_two_classes_a_wrong_sign_and_swapped_labels_are_one():
    logits, labels = drawn(500, 2)
    part = Outputs(logits, np.empty((500, 0)), 1 - labels)
    first = find_doubts(Inputs("a toy", part, ("ant", "bee")))[0]
    assert first.name == "negated" and "or the two labels are swapped" in first.sentence


def poor(kind, seed):
    """Return outputs of a model with much to be wished for, and nothing wrong with its labels."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(10, size=500)
    if kind == "one class alone":  # and it is not the most frequent one
        labels = np.where(generator.random(500) < 0.7, 0, labels)
        return np.eye(10)[np.full(500, 3)] + generator.normal(size=(500, 10)) / 9, labels
    if kind == "neighbours":  # every second class is usually taken for the next
        answers = np.where(labels % 2, labels, (labels + (generator.random(500) < 0.6)) % 10)
        return 3 * np.eye(10)[answers] + generator.normal(size=(500, 10)), labels
    return drawn(500, 10, {"by chance": 0.0, "nearly by chance": 0.15}[kind], seed)


@pytest.mark.parametrize("kind", ["by chance", "nearly by chance", "one class alone", "neighbours"])
def test_a_poor_model_is_not_accused_of_its_labels(kind):
    for seed in range(20):
        logits, labels = poor(kind, seed)
        part = Outputs(logits, np.empty((500, 0)), labels)
        said = {one.name for one in find_doubts(Inputs("a toy", part, tuple("abcdefghij")))}
        assert said <= {"chance"}, seed


def test_a_wrong_sign_and_answers_by_chance(inputs):
    assert "negated" in names(with_validation(inputs, logits=-inputs.validation.logits))
    shuffled = np.random.default_rng(0).permutation(inputs.validation.labels)
    assert names(with_validation(inputs, labels=shuffled)) == ["chance"]


def test_classes_without_an_image_are_named(inputs):
    kept = np.flatnonzero(inputs.validation.labels != 2)
    (doubt,) = find_doubts(replace(inputs, validation=inputs.validation.subset(kept), files=()))
    assert doubt.name == "absent" and "1 of 4 classes have no validation image: cow." in (
        doubt.sentence
    )


def test_copies_are_found_within_and_from_training(inputs):
    part = inputs.validation
    twice = part.subset(np.append(np.arange(300), [5, 7]))
    (doubt,) = find_doubts(replace(inputs, validation=twice, files=()))
    assert doubt.name == "copies" and "2 of 302" in doubt.sentence
    assert "(rows 300, 301)" in doubt.sentence
    (doubt,) = find_doubts(replace(inputs, train=part.subset([5, 6, 7])))
    assert doubt.name == "learnt" and "3 of 300" in doubt.sentence and "5.png" in doubt.sentence


def blurred(part, places, seed=0):
    """Return images with features that differ in the third digit."""
    noise = np.random.default_rng(seed).normal(size=(len(places), part.features.shape[1])) / 300
    features = part.features[places] + noise.astype(np.float32)
    return Outputs(part.logits[places] + noise[:, :4], features, part.labels[places])


def test_near_copies_are_found_within_and_from_training(inputs):
    part = inputs.validation
    near = blurred(part, np.array([5, 7]))
    both = [np.concatenate(pair) for pair in zip(parts(part), parts(near), strict=True)]
    (doubt,) = find_doubts(replace(inputs, validation=Outputs(*both), files=()))
    assert doubt.name == "near_copies" and "4 of 302" in doubt.sentence
    assert "(rows 5, 7, 300, 301)" in doubt.sentence
    near = blurred(part, np.arange(40))
    (doubt,) = find_doubts(replace(inputs, train=near))
    assert doubt.name == "near_learnt" and "40 of 300" in doubt.sentence
    assert "(0.png, 1.png, 2.png, 3.png, 4.png, …)" in doubt.sentence


def parts(outputs):
    return outputs.logits, outputs.features, outputs.labels


@pytest.mark.parametrize("few", [0.02, 1])
@pytest.mark.parametrize(("width", "classes"), [(3, 2), (16, 10), (64, 100), (200, 100)])
def test_images_of_one_class_are_no_copies(width, classes, few):
    """However dense a class is, and of however few images; but copies within it are found."""
    generator = np.random.default_rng(0)
    labels = np.arange(400) % classes
    spread = np.where(labels % 2, few, 1)[:, None] / 2
    features = 2 * generator.normal(size=(classes, width))[labels]
    features += spread * generator.normal(size=features.shape)
    assert not len(find_near_copies(features, labels)[0])
    train, theirs = features[200:], labels[200:]
    assert not len(find_near_copies(features[:200], labels[:200], train, theirs)[0])
    if classes != 10:  # two images are each other's farthest; in three dimensions all is near
        return
    twice = features[:200] + 1e-5 * generator.normal(size=(200, width))
    twice, classes = np.concatenate([features[:200], twice]), np.tile(labels[:200], 2)
    places, nearest = find_near_copies(twice, classes)
    assert np.array_equal(places % 200, nearest % 200)
    assert len(places) == 400


def test_where_nothing_is_near_nothing_is_found():
    """Few images, no features, features that are all zero or all the same."""
    for features in (np.eye(8), np.zeros((50, 0)), np.zeros((50, 3)), np.ones((50, 3))):
        assert not len(find_near_copies(features, np.zeros(len(features), int))[0])


def test_they_are_the_first_thing_on_the_page(inputs):
    found = audit(with_validation(inputs, logits=-inputs.validation.logits), replicates=5)
    said = found.as_dict()
    html = page(found, said)
    assert [one["name"] for one in said["doubts"]] == ["negated", "chance"]
    assert html.index("wrong sign") < html.index("class=summary")
    clean = audit(inputs, replicates=5)
    assert "class=doubts>" not in page(clean, clean.as_dict())


def test_groups_count_as_one(inputs, arrays, write):
    """Whatever their names are; and a file may name them."""
    ten = {name: np.repeat(arrays[name], 10, axis=0) for name in ("logits", "labels")}
    groups = np.repeat([f"video {i}" for i in range(300)], 10)
    found = audit(read_outputs(write({**ten, "groups": groups})), replicates=5)
    part = found.inputs.validation
    assert len(part) == 300 and found.inputs.grouped == 3000 and not found.doubts
    assert {tuple(row) for row in part.logits} == {
        tuple(row) for row in arrays["logits"].astype(np.float32)
    }
    assert "one of each group, drawn by chance from 3000 images" in found.as_dict()["summary"][0]
    assert audit(read_outputs(write(ten)), replicates=5).doubts[0].name == "copies"


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.zeros(300, int), "groups: at least 20 expected, got 1"),
        (np.zeros(30, int), "groups: 300 whole numbers or texts expected"),
        (np.zeros(300), "groups: 300 whole numbers or texts expected, got float64"),
    ],
)
def test_groups_that_cannot_be_are_refused(arrays, write, groups, message):
    few = {"logits": arrays["logits"], "labels": arrays["labels"], "groups": groups}
    with pytest.raises(ValueError, match=message):
        audit(read_outputs(write(few)), replicates=5)


def test_of_groups_the_promise_holds_and_of_their_images_it_does_not():
    """With every image ten times, and errors that make the worst case for a promise of 10 %.

    Both ways: as draws of their own the copies break it far too often; a group that counts as
    one breaks it no more often than allowed, and is hardly less often granted than without copies.
    """
    generator, draws, level, risk = np.random.default_rng(0), 300, 0.1, 0.1
    # the risk of whoever accepts down to s is just too large everywhere
    broken = {"images": 0, "groups": 0}
    for _ in range(draws):
        scores, correct = generator.random(200), generator.random(200) >= risk + 0.002
        groups = np.repeat(np.arange(200), 10)
        logits = np.where(correct[groups, None], [1.0, 0], [0, 1.0])
        part = Outputs(logits, scores[groups, None], np.zeros(2000, int))
        every = Inputs("a toy", part, ("ant", "bee"), groups=groups)
        for name, inputs in (("images", every), ("groups", every.one_of_each_group(3))):
            part = inputs.validation
            found = promise_risk(part.features[:, 0], part.correct, {}, risk, 1 - level)
            broken[name] += not found.problem
    allowed = level * draws + 3 * np.sqrt(level * (1 - level) * draws)
    assert broken["images"] > 3 * allowed
    assert 0.2 * level * draws < broken["groups"] <= allowed
