"""What a file may hold, and what is refused before anything of it is believed."""

import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy.special import softmax

from known_unknowns.auditing import read_outputs
from known_unknowns.auditing.inputs import read_arrays, read_new


def as_table(arrays):
    """Return a table of the arrays of the fixture."""
    rows = []
    for prefix, name in (
        ("", "validation"), ("train_", "train"), ("ood_pets_and_toys_", "pets_and_toys"),
        ("production_", "production"),
    ):  # fmt: skip
        kinds = (("logit", f"{prefix}logits"), ("feature", f"{prefix}features"))
        columns = {
            f"{kind}_{i}": column for kind, key in kinds for i, column in enumerate(arrays[key].T)
        }
        part = pd.DataFrame(columns)
        if f"{prefix}labels" in arrays:
            part["label"] = arrays[f"{prefix}labels"]
        if name == "validation":
            part["file"] = arrays["files"]
        rows.append(part.assign(set=name))
    return pd.concat(rows)


@pytest.fixture(params=["csv", "parquet"])
def write_table(request, tmp_path):
    def written(table):
        path = tmp_path / f"outputs.{request.param}"
        getattr(table, f"to_{request.param}")(path, index=False)
        return path

    return written


def test_a_table_holds_what_an_archive_holds(arrays, write_table, write):
    table, archive = read_outputs(write_table(as_table(arrays))), read_outputs(write(arrays))
    for name in ("validation", "train", "production"):
        ours, theirs = getattr(table, name), getattr(archive, name)
        assert np.array_equal(ours.labels, theirs.labels)
        assert np.array_equal(ours.logits, theirs.logits)
        assert np.array_equal(ours.features, theirs.features)
    assert list(table.ood) == ["pets_and_toys"] and table.files == archive.files


def test_a_table_of_logits_and_labels_is_enough(arrays, write_table):
    table = as_table(arrays).query("set == 'validation'")[[f"logit_{i}" for i in range(4)]]
    path = write_table(table.assign(label=arrays["labels"]))
    assert np.array_equal(read_outputs(path).validation.labels, arrays["labels"])
    logits, features, files = read_new(write_table(table))
    assert logits.shape == (300, 4) and features is None and files[:2] == ("0", "1")


def test_a_table_says_which_images_belong_together(arrays, write_table):
    table = as_table(arrays).query("set == 'validation'").reset_index(drop=True)
    inputs = read_outputs(write_table(table.assign(group=table.index // 3)))
    assert inputs.groups.tolist()[:4] == ["0", "0", "0", "1"]
    assert len(inputs.one_of_each_group().validation) == 100
    table["group"] = [None, *"a" * 299]
    with pytest.raises(ValueError, match="group: missing in 1 of 300 validation rows"):
        read_outputs(write_table(table))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.rename(columns={"label": "labels"}), "unknown column 'labels'; .*'label'"),
        (lambda t: t.drop(columns="logit_1"), "logit_1: missing, though there are 3 columns"),
        (lambda t: t[["label"]], "logit_0: missing, and with it all logits"),
        (lambda t: t.iloc[:0], "no row"),
        (lambda t: t.assign(set=[None, *t["set"][1:]]), "set: missing in 1 of 790 rows"),
        (lambda t: t.assign(label=np.nan), "label: missing in 300 of 300 rows of the set valid"),
        (lambda t: t.assign(label=t["label"] + 0.5), "labels: whole numbers"),
        (lambda t: t.assign(logit_2="a"), "logits: numbers of shape"),
        (
            lambda t: t.assign(logit_0=t["logit_0"].where(t["logit_0"] > 0)),
            "logit_0: a number is mi",
        ),
    ],
)
def test_what_is_wrong_with_a_table_is_said(arrays, write_table, change, message):
    with pytest.raises(ValueError, match=message):
        read_outputs(write_table(change(as_table(arrays))))


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.npz"])
def test_another_kind_of_file_than_the_name_says_is_refused(arrays, write, tmp_path, name):
    content = b"a,b\n1,2\n" if name == "a.npz" else write(arrays).read_bytes()
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=name):
        read_outputs(tmp_path / name)


def test_arrays_are_mapped_as_they_lie(arrays, write):
    """Neither order nor type is lost, and nobody can write into the file."""
    arrays = {
        "logits": arrays["logits"].astype(np.float32),
        "features": np.asfortranarray(arrays["features"]),
        "class_names": arrays["class_names"],
    }
    found = read_arrays(write(arrays))
    for name, expected in arrays.items():
        base = found[name].base
        assert isinstance(base, np.memmap) and not found[name].flags.writeable
        assert found[name].dtype == expected.dtype and np.array_equal(found[name], expected)
    assert found["features"].flags.f_contiguous


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_a_large_file_takes_no_memory(tmp_path):
    """One of 256 MB, of which a process of its own keeps no tenth in memory of its own."""
    np.savez(tmp_path / "a.npz", logits=np.ones((2**16, 2**10), np.float32))
    program = (
        "import pathlib, sys\n"
        "from known_unknowns.auditing.inputs import read_arrays\n"
        "own = lambda: int(open('/proc/self/status').read().split('RssAnon:')[1].split()[0])\n"
        "before = own()\n"
        "arrays = read_arrays(pathlib.Path(sys.argv[1]))\n"
        "print(own() - before)\n"
    )
    command = [sys.executable, "-c", program, tmp_path / "a.npz"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert int(told) < 25_000  # kilobytes


@pytest.mark.parametrize("compressed", [False, True])
def test_an_altered_file_is_refused(arrays, tmp_path, compressed):
    path = tmp_path / "a.npz"
    (np.savez_compressed if compressed else np.savez)(path, logits=arrays["logits"])
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.npz is not a whole \.npz file"):
        read_arrays(path)


def test_a_member_that_is_no_array_is_refused(tmp_path):
    for name in ("logits", "logits.npy"):
        with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, "hello")
        with pytest.raises(ValueError, match="something else than arrays"):
            read_arrays(tmp_path / "a.npz")


HUGE = "{'descr': '<f4', 'fortran_order': False, 'shape': (10000000000000,)}"


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize(
    ("header", "message"),
    [(HUGE, "has not the size that its shape"), (9000 * "-", ""), (9000 * "[", "")],
)
def test_what_a_header_declares_takes_no_memory(tmp_path, header, method, message):
    """An array of 36 TiB in a file of a kilobyte, and headers that Python cannot parse."""
    text = header.encode() + b"\n"
    with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as archive:
        content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(99)
        archive.writestr("logits.npy", content)
    with pytest.raises(
        ValueError, match=rf"a\.npz (is not a whole|holds something else).*{message}"
    ):
        read_arrays(tmp_path / "a.npz")


class Trap:
    """Pickled, it would make a file when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("compressed", [False, True])
def test_nothing_in_a_file_is_executed(tmp_path, compressed):
    sprung = tmp_path / "sprung"
    save = np.savez_compressed if compressed else np.savez
    save(tmp_path / "a.npz", logits=np.array([Trap(sprung)], dtype=object))
    with pytest.raises(ValueError, match="something else than arrays of numbers and text"):
        read_arrays(tmp_path / "a.npz")
    assert not sprung.exists()
    np.load(tmp_path / "a.npz", allow_pickle=True)["logits"]
    assert sprung.exists()  # it was a trap


def test_a_whole_file_is_read_as_it_was_written(arrays, inputs):
    """The name of an OOD set may hold underscores; what is unlabelled gets the label −1."""
    assert np.array_equal(inputs.validation.logits, arrays["logits"].astype(np.float32))
    assert np.array_equal(inputs.train.labels, arrays["train_labels"])
    assert list(inputs.ood) == ["pets_and_toys"] and (inputs.production.labels == -1).all()
    assert np.array_equal(inputs.head.weight, arrays["head_weight"])
    assert inputs.class_names == ("ant", "bee", "cow", "dog") and inputs.files[7] == "7.png"
    assert inputs.level and inputs.validation.features.shape == (300, 6)


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
    (
        {"logits": lambda a: 100 * softmax(a["logits"], axis=1)},
        r"^logits \(300, 4\): .*percentages",
    ),
    ({"logits": lambda a: softmax(a["logits"], axis=1).round(2)}, "probabilities of few digits"),
    ({"logits": lambda a: 0.9 * softmax(a["logits"], axis=1) + 0.05}, "probably sigmoids"),
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


def test_inputs_of_ones_own_are_looked_at_too(inputs):
    unlabelled = replace(inputs.validation, labels=np.full(300, -1))
    with pytest.raises(ValueError, match="validation: a label for each image expected"):
        replace(inputs, validation=unlabelled)
    with pytest.raises(ValueError, match=r"groups: one for each of 300 images expected, got .*4,"):
        replace(inputs, groups=np.arange(4))


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


def test_pictures_come_from_files_that_are_there(arrays, write, tmp_path):
    assert read_outputs(write(arrays)).pictures([0, 1]) is None
    path = tmp_path / "red.png"
    Image.new("RGB", (20, 10), "red").save(path)
    inputs = read_outputs(write(arrays | {"files": np.array([str(path)] * 300)}))
    assert inputs.pictures([5, 7], size=8)[:, 0, 0].tolist() == [[255, 0, 0]] * 2
