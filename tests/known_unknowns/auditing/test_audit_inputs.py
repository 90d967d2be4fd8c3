from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from scipy.special import log_softmax, softmax

from known_unknowns.auditing import read_outputs
from known_unknowns.auditing.checked import looks_like


def test_a_whole_file_is_read_as_it_was_written(arrays, inputs):
    """The name of an OOD set may hold underscores; what is unlabelled gets the label −1."""
    assert np.array_equal(inputs.validation.logits, arrays["logits"].astype(np.float32))
    assert np.array_equal(inputs.train.labels, arrays["train_labels"])
    assert list(inputs.ood) == ["pets_and_toys"] and (inputs.production.labels == -1).all()
    assert np.array_equal(inputs.head.weight, arrays["head_weight"])
    assert inputs.class_names == ("ant", "bee", "cow", "dog") and inputs.files[7] == "7.png"
    assert inputs.level and inputs.validation.features.shape == (300, 6)


def test_logits_that_stand_on_their_side_are_named(arrays, write):
    with pytest.raises(ValueError, match=r"labels: .* the 4 rows of logits .*write logits\.T"):
        read_outputs(write({"logits": arrays["logits"].T, "labels": arrays["labels"]}))


def test_logits_and_labels_are_enough(arrays, write):
    inputs = read_outputs(write({name: arrays[name] for name in ("logits", "labels")}))
    assert inputs.class_names == ("0", "1", "2", "3") and inputs.files == ()
    assert inputs.validation.features.shape == (300, 0)
    assert inputs.train is inputs.head is inputs.production is None and not inputs.ood


def test_half_precision_and_compression_are_welcome(arrays, tmp_path):
    small = {"logits": arrays["logits"].astype(np.float16), "labels": arrays["labels"].astype("u1")}
    np.savez_compressed(tmp_path / "small.npz", **small)
    assert read_outputs(tmp_path / "small.npz").validation.logits.dtype == np.float32


def test_probabilities_are_detected_and_may_be_treated_as_such(arrays, write):
    """Their logarithms give the same probabilities; only the level of the logits is lost."""
    names = [name for name in arrays if name.endswith("logits")]
    changed = arrays | {name: softmax(arrays[name], axis=1) for name in names}
    with pytest.raises(
        ValueError, match=r'^logits \(300, 4\): .*probabilities.*treat_as="probabilities"'
    ):
        read_outputs(write(changed))
    inputs = read_outputs(write(changed), treat_as="probabilities")
    assert inputs.validation.probabilities == pytest.approx(changed["logits"], abs=1e-6)
    assert not inputs.level and inputs.head is not None
    with pytest.raises(ValueError, match="logits: probabilities expected, as treat_as says"):
        read_outputs(write(arrays), treat_as="probabilities")
    with pytest.raises(ValueError, match="unknown way to treat_as 'logit'; did you mean 'logits'"):
        read_outputs(write(arrays), treat_as="logit")


@pytest.mark.parametrize(
    ("kind", "make", "mended"),
    [
        ("percentages", lambda p: 100 * p, lambda x: x / x.sum(axis=1, keepdims=True)),
        ("of few digits", lambda p: p.round(2), lambda x: x / x.sum(axis=1, keepdims=True)),
        ("sigmoids", lambda p: 0.9 * p + 0.05, None),
    ],
)
def test_what_was_made_of_probabilities_is_named(arrays, write, kind, make, mended):
    """And the line that is named mends it; logits that are all positive are none of these."""
    few = {"logits": softmax(arrays["logits"], axis=1), "labels": arrays["labels"]}
    few["logits"] = make(few["logits"])
    with pytest.raises(ValueError, match=rf"^logits \(300, 4\): .*{kind}"):
        read_outputs(write(few))
    if mended is not None:
        read_outputs(write(few | {"logits": mended(few["logits"])}), treat_as="probabilities")
    else:
        inputs = read_outputs(
            write(few | {"logits": np.log(few["logits"]) - np.log1p(-few["logits"])})
        )
        assert inputs.level
    assert read_outputs(write(few | {"logits": arrays["logits"] + 20})).level


def test_many_classes_may_add_up_to_nearly_one():
    """No rounding explains what is missing, nor are they probabilities."""
    values = np.random.default_rng(0).dirichlet(np.ones(3000), 4)
    assert looks_like(values) == "probabilities"
    assert looks_like(1.0012 * values) == "sigmoids"


def test_an_answer_of_probability_zero_is_no_infinity(arrays, write):
    few = {"logits": np.eye(4)[arrays["labels"]], "labels": arrays["labels"]}
    inputs = read_outputs(write(few), treat_as="probabilities")
    assert np.isfinite(inputs.validation.logits).all() and inputs.validation.correct.all()


def test_logarithms_of_probabilities_are_known_for_what_they_are(arrays, write):
    logs = log_softmax(arrays["logits"], axis=1)
    assert not read_outputs(write({"logits": logs, "labels": arrays["labels"]})).level


def nan(values):
    values = values.copy()
    values[3, 1] = np.nan
    return values


WRONG = [
    ({"logit": lambda a: a["logits"]}, "unknown array 'logit'; did you mean 'logits'"),
    ({"ood_x_logit": lambda a: a["logits"]}, "unknown array 'ood_x_logit'; .*'ood_x_logits'"),
    ({"ood_logits": lambda a: a["logits"]}, "ood_logits: without the set's name"),
    ({"ood_x_features": lambda a: a["features"]}, "ood_x_logits: missing, though there is"),
    ({"ood_x_logits": lambda a: a["logits"]}, "ood_x_features: missing, though other group"),
    ({"labels": None}, "labels: missing; the file holds logits, features"),
    ({"labels": lambda a: a["labels"] + 1}, "0 to 3 expected, got 1 to 4; .* subtract 1"),
    ({"labels": lambda a: a["labels"] * 2}, "labels: 0 to 3 expected, got 0 to 6"),
    ({"labels": lambda a: a["labels"] - 1}, "labels: 0 to 3 expected, got -1 to 2"),
    ({"labels": lambda a: a["labels"] / 1}, r"labels: whole numbers .*astype\(int\)"),
    ({"labels": lambda a: np.eye(4, dtype=int)[a["labels"]]}, r"argmax\(axis=1\)"),
    ({"labels": lambda a: a["labels"][:9]}, "labels: one for each of the 300 rows .* one loop"),
    ({"logits": lambda a: nan(a["logits"])}, "logits: NaN or infinite values in 1 of 300 rows"),
    ({"features": lambda a: a["features"][:9]}, r"features: numbers of shape \[300, 6\] expected"),
    ({"features": lambda a: a["features"][:9]}, r"float64 \(9, 6\); write all arrays in one loop"),
    ({"features": lambda a: a["features"].T}, r"write features.T, a row for each image"),
    (
        {"features": lambda a: a["features"][:, :, None]},
        r"features.reshape\(len\(features\), -1",
    ),
    ({"features": lambda a: a["features"].astype(str)}, r"write features.astype\(np.float32\)"),
    ({"logits": lambda a: a["logits"][:, 0]}, r"float64 \(300,\); of one logit for two classes"),
    ({"train_labels": None}, "train_labels: missing, though there is train_logits"),
    ({"train_logits": lambda a: a["train_logits"][:, :3]}, r"train_logits: .*\[N, 4\] expected"),
    ({"production_logits": lambda a: np.zeros((0, 4))}, "production_logits: no image"),
    ({"head_bias": None}, "head_bias: missing, though there is head_weight"),
    ({"head_weight": lambda a: a["head_weight"].T}, r"head_weight: .*\[4, 6\] expected"),
    ({"head_bias": lambda a: a["head_bias"] + 1}, "head_bias differs from the logits"),
    ({"class_names": lambda a: a["class_names"][:3]}, "class_names: 4 texts expected"),
    ({"class_names": lambda a: a["class_names"].astype(object)}, "dtype=str"),
]


@pytest.mark.parametrize(("change", "message"), WRONG, ids=[message for _, message in WRONG])
def test_what_is_wrong_is_said(arrays, write, change, message):
    for name, value in change.items():
        if value is None:
            del arrays[name]
        else:
            arrays[name] = value(arrays)
    with pytest.raises(ValueError, match=message):
        read_outputs(write(arrays))


def test_one_class_is_no_question(arrays, write):
    with pytest.raises(ValueError, match=r"logits: at least 2 classes expected, got .*\(300, 1\)"):
        read_outputs(write({"logits": arrays["logits"][:, :1], "labels": 0 * arrays["labels"]}))


def test_inputs_of_ones_own_are_looked_at_too(inputs):
    unlabelled = replace(inputs.validation, labels=np.full(300, -1))
    with pytest.raises(ValueError, match="validation: a label for each image expected"):
        replace(inputs, validation=unlabelled)
    with pytest.raises(ValueError, match=r"groups: one for each of 300 images expected, got .*4,"):
        replace(inputs, groups=np.arange(4))


def test_too_few_images_are_refused(arrays, write):
    with pytest.raises(ValueError, match="at least 20 images expected, got 9"):
        read_outputs(write({"logits": arrays["logits"][:9], "labels": arrays["labels"][:9]}))


def test_a_file_that_is_none(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"outputs: no file .*nowhere\.npz"):
        read_outputs(tmp_path / "nowhere.npz")
    for name, content in (("text.npz", b"hello"), ("empty.npz", b""), ("zip.npz", b"PK\3\4rest")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=name):
            read_outputs(tmp_path / name)
    np.save(tmp_path / "logits.npy", np.ones((20, 2)))
    with pytest.raises(ValueError, match=r"logits\.npy is of numpy\.save; .* numpy\.savez"):
        read_outputs(tmp_path / "logits.npy")


@pytest.mark.parametrize("name", ["validation", "production", "all"])
def test_a_set_cannot_take_the_name_of_another_group(arrays, write, name):
    """Its scores would stand for those of the validation images, and set the threshold."""
    few = {"logits": arrays["logits"], "labels": arrays["labels"]}
    with pytest.raises(ValueError, match=f"ood: a set cannot be called '{name}'"):
        read_outputs(write(few | {f"ood_{name}_logits": arrays["logits"]}))


def test_a_truncated_file(arrays, write):
    path = write(arrays)
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(ValueError, match=r"not a whole \.npz file"):
        read_outputs(path)


def test_pictures_come_from_files_that_are_there(arrays, write, tmp_path):
    assert read_outputs(write(arrays)).pictures([0, 1]) is None
    path = tmp_path / "red.png"
    Image.new("RGB", (20, 10), "red").save(path)
    inputs = read_outputs(write(arrays | {"files": np.array([str(path)] * 300)}))
    assert inputs.pictures([5, 7], size=8)[:, 0, 0].tolist() == [[255, 0, 0]] * 2
