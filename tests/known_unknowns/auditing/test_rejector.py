"""A rejector read from its file says what the one that was written said, and refuses the rest."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import helpers.scores
from helpers import checkpoints
from helpers.outputs import Head, Outputs
from helpers.scores.calibration import log_probabilities
from known_unknowns.auditing.rejector import Rejector

CLASSES, WIDTH = 20, 40


def trained(n=300, seed=0):
    """Return outputs whose every class occurs, and their head."""
    generator = np.random.default_rng(seed)
    weight = np.random.default_rng(1).normal(size=(CLASSES, WIDTH)).astype(np.float32)
    head = Head(weight, np.linspace(-1, 1, CLASSES, dtype=np.float32))
    labels = np.arange(n) % CLASSES
    features = generator.normal(size=(n, WIDTH)).astype(np.float32) + weight[labels]
    return Outputs(features @ weight.T + head.bias, features, labels), head


def rejector(name="knn", threshold=0.0, **more):
    score = helpers.scores.create(name).fit(*trained())
    return Rejector(score, threshold, classes=CLASSES, width=WIDTH, **more)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rejector.safetensors"


NEEDS = {name: {*helpers.scores.create(name).info.needs} for name in helpers.scores.names()}


@pytest.mark.parametrize(
    "name", [name for name in NEEDS if not NEEDS[name] & {"members", "native", "images"}]
)
def test_rejectors_come_back(path, name):
    rule = rejector(name, -0.0, provenance={"a": 1})
    rule.save(path)
    read = Rejector.load(path)
    assert (read.threshold, read.provenance) == (0.0, {"a": 1})
    outputs, _ = trained(80, seed=2)
    values = rule.score_samples(outputs)
    assert np.array_equal(read.score_samples(outputs), values)
    rule = replace(rule, threshold=np.median(values))
    rule.save(path)
    assert np.array_equal(Rejector.load(path).accepts(outputs), values >= np.median(values))


@pytest.mark.parametrize(
    ("logits", "features", "message"),
    [
        ((5, CLASSES), None, r"^features: expected, since 'knn' needs them"),
        ((5, CLASSES - 1), (5, WIDTH), r"^logits: width 20 expected, .* got 19"),
        ((5, CLASSES), (5, WIDTH + 1), r"^features: width 40 expected, .* got 41"),
        ((5, CLASSES), (4, WIDTH), r"^features: 5 images expected, got 4"),
        ((0, CLASSES), (0, WIDTH), r"^logits: empty"),
        ((CLASSES,), (5, WIDTH), r"^logits: numbers \[N, K\] expected"),
    ],
)
def test_outputs_of_another_model_are_refused(logits, features, message):
    """With the array that is wrong."""
    arrays = [None if shape is None else np.zeros(shape) for shape in (logits, features)]
    with pytest.raises(ValueError, match=message):
        rejector("knn").accepts(*arrays)


@pytest.mark.parametrize(
    ("score", "more", "message"),
    [
        (("jacobian", {}), {}, "^score: 'jacobian' goes back to the images"),
        (("tta", {}), {}, "^score: 'tta' goes back"),
        (("odin", {"epsilon": 0.01}), {}, "^score: 'odin' goes back"),
        (("knn", {}), {"width": None}, "^width: .* 'knn' needs"),
        (("msp", {}), {"threshold": np.nan}, "^threshold: a number expected, got nan"),
        (("msp", {}), {"provenance": {"images": np.int64(3)}}, "^provenance: plain JSON"),
    ],
)
def test_what_cannot_be_deployed_is_refused_when_made(score, more, message):
    """Not only when its file is written or applied."""
    arguments = {"threshold": 0.0, "classes": CLASSES, "width": WIDTH, **more}
    with pytest.raises(ValueError, match=message):
        Rejector(helpers.scores.create(score[0], **score[1]), **arguments)


NAN = "not a number"


def changed(path, tensors=None, **information):
    """Write the rejector's file again, with something else in it and a checksum that fits."""
    before, saved = checkpoints.load(path)
    if tensors == NAN:
        tensors = {k: v * np.nan if v.is_floating_point() else v for k, v in before.items()}
    checkpoints.save(path, before if tensors is None else tensors, **{**saved, **information})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rejector": 2}, "version 1 of the format expected, got 2"),
        ({"tensors": NAN}, r"rejector\.safetensors: of an image of zeros"),
        ({"tensors": {}}, "'knn.compared.exact.0' is missing"),
        ({"state": {"mapping": {"compared": {"Banc": {}}}}}, "did you mean 'Bank'"),
        ({"threshold": float("nan")}, "threshold: a number expected, got nan"),
        ({"state": 5}, "its score cannot be read"),
        ({"state": {"mapping": {}}}, "not fitted yet"),
        ({"width": WIDTH + 1}, "features"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(path, change, message):
    """With its path."""
    rejector("knn").save(path)
    changed(path, **change)
    with pytest.raises(ValueError, match=message) as caught:
        Rejector.load(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("name", ["msp", "vim", "knn"])
def test_the_kind_of_input_is_kept_and_the_other_kind_refused(name, path):
    """Probabilities are taken for their logarithms, if the rejector was made from these."""
    (train, head), (new, _) = trained(), trained(50, seed=3)
    logarithms = replace(new, logits=log_probabilities(new.probabilities))
    given = replace(new, logits=np.exp(logarithms.logits))
    rejector(name).save(path)
    made = Rejector.load(path)
    assert made.given == "logits"
    if name == "knn":  # which does not look at logits
        assert (made.score_samples(given) == made.score_samples(new)).all()
        return
    with pytest.raises(ValueError, match=r"^logits: .* probabilities, but .* made from logits"):
        made.accepts(given)

    train = replace(train, logits=log_probabilities(train.probabilities))
    score = helpers.scores.create(name).fit(train, head)
    Rejector(score, 0.0, classes=CLASSES, width=WIDTH, given="probabilities").save(path)
    made = Rejector.load(path)
    expected = score.score_samples(logarithms)
    assert (made.score_samples(logarithms) == expected).all()
    assert made.score_samples(given) == pytest.approx(expected, abs=1e-4)
    one = given.subset(slice(0, 1))
    assert made.score_samples(one)[0] == made.score_samples(given)[0]
    with pytest.raises(ValueError, match=r"^logits: the rejector was made from probabilities"):
        made.accepts(new)


def test_p_values_are_of_the_images_that_were_kept(path):
    """Of known images they are spread evenly, of unknown ones they are low; bit by bit as saved."""
    made = rejector("msp")
    new, _ = trained(400, seed=3)
    values = made.score_samples(new)
    made = replace(made, known=np.sort(values[:200]))
    made.save(path)
    found = Rejector.load(path)
    told = found.judge(new.logits)
    assert told["score"].tolist() == values.tolist()
    assert told["p_value"].tolist() == made.p_values(values).tolist()
    assert abs((told["p_value"][200:] <= 0.5).mean() - 0.5) < 0.15
    assert found.p_values([values.min() - 1, values.max() + 1]).tolist() == [1 / 201, 1.0]


def test_other_files_and_parts_are_refused(path):
    with pytest.raises(FileNotFoundError, match="nothing"):
        Rejector.load(path.with_name("nothing"))
    checkpoints.save(path, {"weight": torch.zeros(3)})
    with pytest.raises(ValueError, match="no rejector"):
        Rejector.load(path)
    rejector("knn").save(path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ValueError, match="not a whole"):
        Rejector.load(path)
    path.unlink()
    made = rejector("react")
    made.score.more = {"set": {1}}
    with pytest.raises(ValueError, match=r"^score: react\.more\.set is a set"):
        made.save(path)
    assert not path.exists()
