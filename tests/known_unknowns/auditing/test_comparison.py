"""A new model compared with an old one: image by image, and only on the same images."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.outputs import Outputs
from known_unknowns.auditing.command import FAILS, HOLDS, REFUSED, main
from known_unknowns.auditing.comparison import BETTER, OPEN, WORSE, compare


def blurred(inputs, noise):
    """Return the same images seen by a model that is worse by noise."""
    generator = np.random.default_rng(0)

    def shown(part):
        logits = part.logits + noise * generator.normal(size=part.logits.shape)
        return Outputs(logits, part.features[:, :0], part.labels)

    ood = {name: shown(one) for name, one in inputs.ood.items()}
    return replace(
        inputs, validation=shown(inputs.validation), ood=ood, head=None, train=None, source="other"
    )


def verdicts(found):
    return dict(zip(found.rows["metric"], found.rows["verdict"], strict=True))


def test_worse_and_better_are_the_same_seen_from_the_other_side(inputs):
    sharp, dull = blurred(inputs, 0), blurred(inputs, 6)
    there, back = compare(sharp, dull, risk=0.3), compare(dull, sharp, risk=0.3)
    assert set(verdicts(there).values()) == {WORSE} and there.worse
    assert set(verdicts(back).values()) == {BETTER} and not back.worse
    assert np.allclose(there.rows["difference"], -back.rows["difference"])
    assert "worse in 4 of 4 respects, and better in none" in there.sentences()[0]


def test_the_same_model_is_neither(inputs):
    found = compare(inputs, inputs, replicates=20)
    assert set(verdicts(found).values()) == {OPEN} and not found.worse
    assert (found.rows[["difference", "low", "high"]] == 0).all(axis=None)
    assert found.sentences()[0].endswith("neither better nor worse in any respect.")


def test_intervals_of_equal_models_hold_zero_as_often_as_they_say():
    """Two sides: of models that err by the same chance, about one in twenty looks different."""
    generator, differ, draws = np.random.default_rng(0), 0, 120
    labels = np.arange(200) % 2
    for _ in range(draws):
        parts = [
            Outputs(
                np.eye(2)[np.where(generator.random(200) < 0.8, labels, 1 - labels)]
                * generator.random((200, 1)), np.empty((200, 0)), labels,
            )
            for _ in range(2)
        ]  # fmt: skip
        old, new = (_inputs(part) for part in parts)
        differ += verdicts(compare(old, new, replicates=200))["accuracy"] != OPEN
    assert 1 <= differ <= 16  # 6 expected; 16 is four standard deviations above


def _inputs(part):
    from known_unknowns.auditing.inputs import Inputs

    return Inputs("a toy", part, ("ant", "bee"))


def test_other_images_are_refused_by_name(inputs):
    part = inputs.validation
    labels = part.labels.copy()
    labels[7] = (labels[7] + 1) % 4
    others = {
        "logits: 300 images in the old file and 200": replace(
            inputs, validation=part.subset(slice(0, 200)), files=()
        ),
        r"labels: different in 1 of 300 rows, the first one 7 \('3'": replace(
            inputs, validation=Outputs(part.logits, part.features, labels)
        ),
        "files: different in 300 of 300": replace(inputs, files=tuple(map(str, range(300)))),
        "class_names: different in 1 of 4": replace(inputs, class_names=("a", "bee", "cow", "dog")),
        "groups: in one of the two files only": replace(inputs, groups=np.arange(300)),
        "ood: in one of the two files only: pets_and_toys": replace(inputs, ood={}),
        "ood_pets_and_toys_logits: 120 images": replace(
            inputs, ood={"pets_and_toys": part.subset(slice(0, 9))}
        ),
    }
    for message, other in others.items():
        with pytest.raises(ValueError, match=message):
            compare(inputs, other, replicates=5)
    with pytest.raises(ValueError, match=r"score: .* does not allow 'odin'"):
        compare(inputs, inputs, score="odin", replicates=5)


def test_the_command_writes_a_page_and_says_how_it_ends(arrays, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    few = {name: arrays[name] for name in ("logits", "labels")}
    np.savez("old.npz", **few)
    np.savez("new.npz", **few | {"logits": -few["logits"]})
    np.savez("other.npz", **few | {"labels": few["labels"][::-1]})
    assert main(["compare", "old.npz", "new.npz", "--out", "a"]) == FAILS
    assert main(["compare", "new.npz", "old.npz", "--out", "b"]) == HOLDS
    assert sorted(one.name for one in (tmp_path / "a").iterdir()) == [
        "comparison.json", "report.html",
    ]  # fmt: skip
    html = (tmp_path / "a" / "report.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in html and "Keep the old model" in html
    capsys.readouterr()
    assert main(["compare", "old.npz", "other.npz"]) == REFUSED
    assert "labels: different in" in capsys.readouterr().err
