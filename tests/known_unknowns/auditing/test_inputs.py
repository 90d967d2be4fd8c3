"""A file is read as it was written, nothing in it is executed, and messages name the problem."""

import io
import json
import re
import tracemalloc
import warnings
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy.special import softmax

from known_unknowns.auditing import audit, read_outputs
from known_unknowns.auditing.inputs import read_arrays, read_new

PARTS = {"validation": "", "train": "train_", "pets_and_toys": "ood_pets_and_toys_",
         "production": "production_"}  # fmt: skip
KINDS = ("logit", "feature")


def as_table(arrays):
    """Return a table of the arrays of the fixture."""
    tables = []
    for name, prefix in PARTS.items():
        kinds = (pd.DataFrame(arrays[f"{prefix}{k}s"]).add_prefix(f"{k}_") for k in KINDS)
        labels = arrays.get(f"{prefix}labels", np.nan)
        tables.append(pd.concat(kinds, axis=1).assign(set=name, label=labels))
    files = {"file": arrays["files"], "group": [f"v{i // 3}" for i in range(300)]}
    return pd.concat([tables[0].assign(**files), *tables[1:]])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_table_holds_what_an_archive_holds(arrays, tmp_path, write, kind):
    path = tmp_path / f"outputs.{kind}"
    table = as_table(arrays)
    getattr(table, f"to_{kind}")(path, index=False)
    read = read_outputs(path)
    archive = read_outputs(write(arrays))
    for name in ("validation", "train", "production"):
        for array in ("logits", "features", "labels"):
            pair = (getattr(getattr(inputs, name), array) for inputs in (read, archive))
            assert np.array_equal(*pair)
    assert np.array_equal(archive.validation.logits, arrays["logits"].astype(np.float32))
    assert np.array_equal(archive.head.weight, arrays["head_weight"]) and archive.level
    assert archive.class_names == ("ant", "bee", "cow", "dog") and archive.files[7] == "7.png"
    assert list(read.ood) == ["pets_and_toys"] and read.files == archive.files
    assert read.groups.tolist()[:4] == ["v0", "v0", "v0", "v1"]
    assert len(read.one_of_each_group().validation) == 100
    bare = table.query("set == 'validation'")[[f"logit_{i}" for i in range(4)]]
    getattr(bare, f"to_{kind}")(path, index=False)
    logits, features, files = read_new(path)
    assert logits.shape == (300, 4) and features is None and files[1] == 1


def test_bad_tables(arrays, tmp_path, bad_table, message):
    options = {"table": "t", "index": False} | bad_table
    table = eval(options.pop("table"), {"np": np, "t": as_table(arrays)})
    table.to_csv(tmp_path / "outputs.csv", **options)
    with pytest.raises(ValueError, match=message):
        read_outputs(tmp_path / "outputs.csv")


def test_arrays_are_mapped_and_altered_ones_refused(arrays, write, tmp_path):
    arrays = {
        "logits": arrays["logits"].astype(np.float32),
        "features": np.asfortranarray(arrays["features"]),
        "class_names": arrays["class_names"],
    }
    read = read_arrays(write(arrays))
    for name, expected in arrays.items():
        assert isinstance(read[name].base, np.memmap) and not read[name].flags.writeable
        assert read[name].dtype == expected.dtype and np.array_equal(read[name], expected)
    assert read["features"].flags.f_contiguous
    for save in (np.savez, np.savez_compressed):
        save(path := tmp_path / "a.npz", logits=arrays["logits"])
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"a\.npz is not a whole \.npz file"):
            read_arrays(path)


def test_a_mapped_file_is_read_in_a_fraction_of_its_memory(write):
    """It has 32 MB of features, of which no copy is made."""
    generator = np.random.default_rng(0)
    labels = np.arange(40_000) % 4
    features = generator.normal(size=(len(labels), 200)).astype(np.float32)
    path = write({"logits": features[:, :4].copy(), "features": features, "labels": labels})
    tracemalloc.start()
    read = read_outputs(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.array_equal(read.validation.features, features) and peak < features.nbytes / 2


HUGE = "{'descr': '<f4', 'fortran_order': False, 'shape': (10000000000000,)}"


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("header", [HUGE, 9000 * "-", 9000 * "["])
def test_a_declared_size_takes_no_memory(tmp_path, header, method):
    """An array of 36 TiB in a file of a kilobyte, and headers that Python cannot parse."""
    text = header.encode() + b"\n"
    with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as archive:
        content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(99)
        archive.writestr("logits.npy", content)
    more = "does not have the size of its shape" if header == HUGE else ""
    with pytest.raises(ValueError, match=rf"a\.npz (is not a whole|holds something else).*{more}"):
        read_arrays(tmp_path / "a.npz")


class Trap(type(Path())):
    """A path that makes its file when it is unpickled."""

    def __reduce__(self):
        return Path.touch, (Path(self),)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_nothing_in_a_file_is_executed(tmp_path, save):
    sprung = tmp_path / "sprung"
    save(tmp_path / "a.npz", logits=np.array([Trap(sprung)], dtype=object))
    with pytest.raises(ValueError, match="something else than arrays of numbers and text"):
        read_arrays(tmp_path / "a.npz")
    assert not sprung.exists()
    np.load(tmp_path / "a.npz", allow_pickle=True)["logits"]
    assert sprung.exists()  # it was a trap


def members(*names, hidden=False):
    """Return an archive with members that are no arrays; the second may hide those behind it."""
    with zipfile.ZipFile(buffer := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            with warnings.catch_warnings(action="ignore"):  # of a name that is there already
                archive.writestr(name, "hello")
    content = bytearray(buffer.getvalue())
    if hidden:  # the length of its comment is a bit larger and swallows the entries
        start = content.index(b"PK\1\2", content.index(b"PK\1\2") + 1)
        following = content.index(b"PK\5\6") - start - 46 - len(names[1])
        content[start + 32 : start + 34] = following.to_bytes(2, "little")
    return content


def saved(array, save=np.save):
    """Return the bytes of a file with a single array."""
    save(buffer := io.BytesIO(), array)
    return buffer.getvalue()


def test_other_files_are_refused(tmp_path, bad_file, message):
    name, content = bad_file
    (tmp_path / name).write_bytes(eval(content))
    with pytest.raises(ValueError, match=message):
        read_outputs(tmp_path / name)


def test_probabilities_are_detected_and_may_be_treated_as_such(arrays, write):
    """Their logarithms give the same probabilities; only the level of the logits is lost."""
    names = [name for name in arrays if name.endswith("logits")]
    changed = arrays | {name: softmax(arrays[name], axis=1) for name in names}
    with pytest.raises(ValueError, match=r'^logits \(300, 4\): .*treat_as="probabilities"'):
        read_outputs(write(changed))
    inputs = read_outputs(write(changed), treat_as="probabilities")
    assert inputs.validation.probabilities == pytest.approx(changed["logits"], abs=1e-6)
    assert not inputs.level and inputs.head is not None


def test_bad_arrays(arrays, write, bad_array, message):
    ((name, value),) = bad_array.items()
    changed = {key: array for key, array in arrays.items() if key != name}
    if value:
        changed[name] = eval(value, {"np": np, "softmax": softmax, **arrays})
    with pytest.raises(ValueError, match=message):
        read_outputs(write(changed))


@pytest.mark.parametrize(
    "given",
    ["labels + 1", "labels - 1", "labels[:, None]", "labels[None]", "np.eye(4)[labels]",
     "np.eye(4, dtype=bool)[labels]", "labels.astype(float)", "labels.astype(str)",
     "np.where(labels == 0, 4, labels)"],
)  # fmt: skip
def test_the_line_in_a_message_gives_the_right_labels(arrays, write, given):
    changed = eval(given, {"np": np, "labels": arrays["labels"]})
    arrays = {name: arrays[name] for name in ("logits", "labels")}
    with pytest.raises(ValueError) as refused:
        read_outputs(write(arrays | {"labels": changed}))
    line = re.search(r"write (labels[^,;]*(?:\(axis=1\))?)", str(refused.value))[1]
    corrected = eval(line, {"np": np, "labels": changed})
    assert np.array_equal(corrected, arrays["labels"]), line


@pytest.mark.parametrize("number", [-100, -1, 100, 255])
def test_images_with_a_number_for_no_label_can_be_left_out(arrays, write, number):
    logits = arrays["logits"]
    labels = np.where(np.arange(300) % 5, arrays["labels"], number)
    with pytest.raises(ValueError, match=f"if {number} stands for images without .* 60") as refused:
        read_outputs(write({"logits": logits, "labels": labels}))
    line = re.search(r"keep = (.*), and the rows", str(refused.value))[1]
    keep = eval(line, {"labels": labels})
    read = read_outputs(write({"logits": logits[keep], "labels": labels[keep]}))
    assert len(read.validation) == 240


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_column_of_lists_is_split_by_the_line_in_the_message(arrays, tmp_path, kind):
    table = pd.DataFrame({"logits": arrays["logits"].tolist(), "label": arrays["labels"]})
    getattr(table, f"to_{kind}")(path := tmp_path / f"a.{kind}", index=False)
    with pytest.raises(ValueError, match="a column for each number expected") as refused:
        read_outputs(path)
    table = getattr(pd, f"read_{kind}")(path)
    names = {"table": table, "pandas": pd, "json": json}
    split = eval(str(refused.value).partition("In Python: ")[2], names)
    getattr(split, f"to_{kind}")(path, index=False)
    assert np.allclose(read_outputs(path).validation.logits, arrays["logits"])


@pytest.mark.parametrize(
    "options", [{"sep": ";"}, {"sep": "\t"}, {"encoding": "utf-16"}, {"encoding": "cp1252"}]
)
def test_the_line_that_rewrites_a_table_leaves_its_texts(arrays, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    columns = {f"logit_{i}": arrays["logits"][:, i] for i in range(4)}
    texts = {"label": arrays["labels"], "stratum": "NA", "file": 150 * ["01é", "1"]}
    pd.DataFrame(columns | texts).to_csv("a.csv", index=False, **options)
    with pytest.raises(ValueError, match="In Python: ") as refused:
        read_outputs("a.csv")
    line = str(refused.value).partition("In Python: ")[2].partition(", with decimal")[0]
    eval(line, {"pandas": pd})
    read = read_outputs("a.csv")
    assert read.files[:2] == ("01é", "1") and {*read.strata} == {"NA"}


def test_probabilities_give_the_numbers_of_their_logarithms(arrays, write):
    probable = softmax(arrays["logits"], axis=1)
    labels = arrays["labels"] % 2
    second = probable[:, [1]]
    by_name = read_outputs({"probabilities": probable, "labels": arrays["labels"]})
    stated = {"logits": probable, "labels": arrays["labels"]}
    as_stated = read_outputs(stated, treat_as="probabilities")
    assert np.array_equal(by_name.validation.logits, as_stated.validation.logits)
    both = np.c_[1 - second, second]
    two = read_outputs({"probabilities": both, "labels": labels})
    for single in (second, second[:, 0]):
        from_one_column = read_outputs(write({"probabilities": single, "labels": labels}))
        assert np.array_equal(from_one_column.validation.logits, two.validation.logits)
    assert audit({"probabilities": probable, "labels": arrays["labels"]}, risk=0.2).deployed


def test_bad_calls_from_python(arrays, write, bad_call, message):
    inputs = read_outputs(path := write(arrays))
    names = {"path": path, "i": inputs, "v": inputs.validation, "replace": replace, "audit": audit}
    with pytest.raises(ValueError, match=message):
        eval(bad_call, globals() | names)


def test_pictures_come_from_files(arrays, write, tmp_path):
    assert read_outputs(write(arrays)).pictures([0, 1]) is None
    path = tmp_path / "red.png"
    Image.new("RGB", (20, 10), "red").save(path)
    inputs = read_outputs(write(arrays | {"files": np.array([str(path)] * 300)}))
    assert inputs.pictures([5, 7], size=8)[:, 0, 0].tolist() == [[255, 0, 0]] * 2
