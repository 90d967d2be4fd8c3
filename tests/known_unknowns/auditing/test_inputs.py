"""Files are read without executing code, and messages name the problem."""

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

PARTS = {
    "validation": "",
    "train": "train_",
    "pets_and_toys": "ood_pets_and_toys_",
    "production": "production_",
}
KINDS = ("logit", "feature")


def value_of_line(line, **names):
    """Return the value of a line of Python that a message advises, run as printed."""
    exec(f"value = {line}", names)
    return names["value"]


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
def test_a_table_gives_the_same_inputs_as_an_archive(arrays, tmp_path, write, kind):
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
    assert np.array_equal(archive.head.weight, arrays["head_weight"])
    assert archive.level
    assert archive.class_names == ("ant", "bee", "cow", "dog")
    assert archive.files[7] == "7.png"
    assert list(read.ood) == ["pets_and_toys"]
    assert read.files == archive.files
    assert read.groups.tolist()[:4] == ["v0", "v0", "v0", "v1"]
    assert read.grouped == 100
    bare = table.query("set == 'validation'")[[f"logit_{i}" for i in range(4)]]
    getattr(bare, f"to_{kind}")(path, index=False)
    logits, features, files, _ = read_new(path)
    assert logits.shape == (300, 4)
    assert features is None
    assert files[1] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda table: table.rename(columns={"label": "labels"}),
            "unknown column 'labels'; .*'label'",
        ),
        (
            lambda table: table.drop(columns="logit_1"),
            "logit_1: missing, though there are 3 columns",
        ),
        (lambda table: table[["label"]], "logit_0: missing, and with it all logits"),
        (
            lambda table: table[["label", "logit_1"]].rename(columns={"logit_1": "prob_1"}),
            "prob_1: a column for each class expected; .* the column proba",
        ),
        (lambda table: table.iloc[:0], "a row for each image expected, but the table is empty"),
        (
            lambda table: table.assign(set=[None, *table["set"][1:]]),
            "set: missing in 1 of 790 rows",
        ),
        (
            lambda table: table.assign(label=np.nan),
            "label: missing in 300 of 300 rows of the set valid",
        ),
        (
            lambda table: table.assign(logit_0=table["logit_0"].where(table["logit_0"] > 0)),
            "logit_0: missing in",
        ),
        (
            lambda table: table.rename_axis("a").assign(**{"Unnamed: 0": 0}),
            "is the name of an index",
        ),
        (lambda table: table.assign(logit_0="high"), r"logit_0: a number such as 0\.5 expected"),
        (
            lambda table: table.replace({"set": {"train": "Train "}}),
            "would be a set of unknown images; write 'train'",
        ),
        (
            lambda table: table.replace({"set": {"train": "val"}}),
            "empty or -1 expected in the set 'val', .*, got '0.0'; .* write 'validation'",
        ),
        (
            lambda table: table.rename(columns={"logit_0": "logit_4"}),
            "logit_0: missing, .* write logit_class[0-9] … as columns, and the names class",
        ),
    ],
)
def test_bad_tables_are_refused(arrays, tmp_path, change, message):
    change(as_table(arrays)).to_csv(tmp_path / "outputs.csv", index=False)
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
        assert isinstance(read[name].base, np.memmap)
        assert not read[name].flags.writeable
        assert read[name].dtype == expected.dtype
        assert np.array_equal(read[name], expected)
    assert read["features"].flags.f_contiguous
    for save in (np.savez, np.savez_compressed):
        save(path := tmp_path / "a.npz", logits=arrays["logits"])
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"a\.npz is not a whole \.npz file"):
            read_arrays(path)


def test_a_mapped_file_is_read_in_a_fraction_of_its_memory(write):
    """Its 32 MB of features are not copied."""
    generator = np.random.default_rng(0)
    labels = np.arange(40_000) % 4
    features = generator.normal(size=(len(labels), 200)).astype(np.float32)
    path = write({"logits": features[:, :4].copy(), "features": features, "labels": labels})
    tracemalloc.start()
    read = read_outputs(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.array_equal(read.validation.features, features)
    assert peak < features.nbytes / 2


HUGE = "{'descr': '<f4', 'fortran_order': False, 'shape': (10000000000000,)}"


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("header", [HUGE, 9000 * "-", 9000 * "["])
def test_a_large_declared_size_does_not_reserve_memory(tmp_path, header, method):
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
def test_code_in_a_file_is_never_executed(tmp_path, save):
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


def parquet(**columns):
    """Return the bytes of a file with a table."""
    return pd.DataFrame(columns).to_parquet()


def saved(array, save=np.save):
    """Return the bytes of a file with a single array."""
    save(buffer := io.BytesIO(), array)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.npz", b"hello", r"a\.npz holds something else"),
        ("b.npz", b"", r"b\.npz"),
        ("c.npz", b"PK\3\4rest", r"c\.npz"),
        ("e.csv", b"\x80\x81,\n", r"e\.csv"),
        ("f.parquet", b"hello", r"f\.parquet"),
        ("g.npz", members("logits"), r"g\.npz holds something else than ar"),
        ("h.npz", members("logits.npy"), r"h\.npz holds something else than arrays"),
        ("i.npz", members("a.npy", "b.npy", "c.npy", hidden=True), "2 members found, 3 expected"),
        (
            "k.npz",
            saved(np.zeros(10**7), np.savez_compressed),
            "80,000,000 bytes of memory; numpy.savez",
        ),
        ("j.npz", members("a.npy", "a.npy"), r"twice: a\.npy"),
        ("l.parquet", parquet(logit_0=np.zeros(10**7)), r"l\.parquet .*80,000,000 bytes of memory"),
        (
            "m.parquet",
            parquet(file=10**4 * ["a" * 10**4]),
            "with 'file', it has .*400,000,000 bytes of memory",
        ),
        (
            "n.csv",
            b"file\n" + 10**4 * b"a\n" + 10**4 * b"a",
            "with 'file', it has .*400,040,000 bytes of memory",
        ),
        ("logits.npy", saved(np.ones((20, 2))), r"logits\.npy is of numpy\.save; .* numpy\.savez"),
    ],
    ids=lambda value: "" if isinstance(value, bytes | bytearray) else value,
)
def test_other_files_are_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_outputs(tmp_path / name)


def test_an_array_that_is_missing_or_has_another_name_is_named(
    arrays, write, changed_arrays, message
):
    """A name without a source is left out, and any other array is added."""
    for name, source in changed_arrays.items():
        arrays[name] = arrays.get(source)
    given = {name: array for name, array in arrays.items() if array is not None}
    with pytest.raises(ValueError, match=message):
        read_outputs(write(given))


def test_probabilities_are_detected_and_may_be_named_so(arrays, write):
    """Their logarithms give the same probabilities; only the level of the logits is lost."""
    names = [name for name in arrays if name.endswith("logits")]
    changed = arrays | {name: softmax(arrays[name], axis=1) for name in names}
    with pytest.raises(ValueError, match=r"^logits \(300, 4\): .*name the array probabilities"):
        read_outputs(write(changed))
    renamed = {name.replace("logits", "probabilities"): changed[name] for name in changed}
    inputs = read_outputs(write(renamed))
    assert inputs.validation.probabilities == pytest.approx(changed["logits"], abs=1e-6)
    assert not inputs.level
    assert inputs.head is not None


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("labels", lambda labels: labels[:9], "labels: one for each of the 300 rows .* one loop"),
        ("labels", lambda labels: labels[:4], r"labels: one for each .* write logits\.T"),
        ("logits", lambda logits: np.where(logits < -3, np.nan, logits), "NaN or infinite values"),
        (
            "logits",
            lambda logits: np.where(np.arange(4) == 3, -np.inf, logits),
            r"300 of 300 rows; for a class that is left out, write np.maximum\(logits, -1e4\)",
        ),
        ("logits", lambda logits: 1e30 * logits, r"numbers up to 1e\+15 in size expected"),
        ("logits", lambda logits: 0 * logits, "all values are 0, so no class is predicted"),
        ("logits", lambda logits: logits[:, :1], r"write np\.c_\[0 \* logits, logits\]"),
        ("logits", lambda logits: logits[:, 0], r"float64 \(300,\); of one logit for two classes"),
        (
            "features",
            lambda features: features[:9],
            r"float64 \(9, 6\); write all arrays in one loop",
        ),
        ("features", lambda features: features.T, "write features.T, a row for each image"),
        (
            "features",
            lambda features: features[..., None],
            r"features.reshape\(len\(features\), -1",
        ),
        ("features", lambda features: features[:, :0], r"features: no number, shape \(300, 0\)"),
        ("features", lambda features: features.astype(str), r"write features.astype\(np.float32\)"),
        ("train_logits", lambda logits: logits[:, :3], r"train_logits: .*\[N, 4\] expected"),
        ("production_logits", lambda logits: logits[:0], "production_logits: no image"),
        (
            "logits",
            lambda logits: 100 * softmax(logits, axis=1),
            r"^logits \(300, 4\): .*percentages",
        ),
        ("logits", lambda logits: softmax(logits, axis=1).round(2), "probabilities of few digits"),
        ("logits", lambda logits: 0.9 * softmax(logits, axis=1) + 0.05, "probably sigmoids"),
        ("head_bias", lambda bias: bias + 1, "head_bias differs from the logits"),
        ("class_names", lambda names: names[:3], "class_names: 4 texts expected"),
        ("class_names", lambda names: names.astype(object), "dtype=str"),
        ("class_names", lambda names: names[[0, 1, 1, 2]], "each once expected, got bee twice"),
        ("groups", lambda _: np.zeros(30, int), "groups: 300 whole numbers or texts expected"),
    ],
)
def test_a_bad_array_is_refused_with_a_remedy(arrays, write, name, change, message):
    arrays[name] = change(arrays.get(name))
    with pytest.raises(ValueError, match=message):
        read_outputs(write(arrays))


@pytest.mark.parametrize(
    "change",
    [
        lambda labels: labels + 1,
        lambda labels: labels - 1,
        lambda labels: labels[:, None],
        lambda labels: labels[None],
        lambda labels: np.eye(4)[labels],
        lambda labels: np.eye(4, dtype=bool)[labels],
        lambda labels: labels.astype(float),
        lambda labels: np.where(labels == 0, 4, labels),
        lambda labels: np.array([-1, 0, 1, 9])[labels],  # names of classes
    ],
)
def test_the_line_in_a_message_corrects_the_labels(arrays, change):
    labels = arrays["labels"]
    changed = change(labels)
    given = {"logits": arrays["logits"], "labels": changed, "class_names": ["-1", "0", "1", "9"]}
    with pytest.raises(ValueError, match="write labels") as refused:
        read_outputs(given)
    line = re.search(r"write (labels[^,;]*(?:\(axis=1\))?)", str(refused.value))[1]
    given["labels"] = value_of_line(line, labels=changed, np=np)
    assert np.array_equal(read_outputs(given).validation.labels, labels), line


def test_labels_with_gaps_are_numbered(arrays):
    changed = np.array([0, 2, 5, 8])[arrays["labels"]]
    with pytest.raises(ValueError, match="4 different labels") as refused:
        read_outputs({"logits": arrays["logits"], "labels": changed})
    line = re.search(r"write (np.*), or class_names", str(refused.value))[1]
    assert np.array_equal(value_of_line(line, labels=changed, np=np), arrays["labels"])


@pytest.mark.parametrize("number", [-100, -1, 100, 255])
def test_images_with_a_number_for_no_label_can_be_left_out(arrays, write, number):
    logits = arrays["logits"]
    labels = np.where(np.arange(300) % 5, arrays["labels"], number)
    with pytest.raises(ValueError, match=f"if {number} stands .* 60 .*ood_NAME") as refused:
        read_outputs(write({"logits": logits, "labels": labels}))
    line = re.search(r"keep = (.*), and the rows", str(refused.value))[1]
    keep = value_of_line(line, labels=labels)
    read = read_outputs(write({"logits": logits[keep], "labels": labels[keep]}))
    assert len(read.validation) == 240


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_column_of_lists_is_split_by_the_line_in_the_message(arrays, tmp_path, kind):
    table = pd.DataFrame({"logits": arrays["logits"].tolist(), "label": arrays["labels"]})
    getattr(table, f"to_{kind}")(path := tmp_path / f"a.{kind}", index=False)
    with pytest.raises(ValueError, match="a column for each number expected") as refused:
        read_outputs(path)
    table = getattr(pd, f"read_{kind}")(path)
    line = str(refused.value).partition("In Python: ")[2]
    split = value_of_line(line, table=table, pandas=pd, json=json)
    getattr(split, f"to_{kind}")(path, index=False)
    assert np.allclose(read_outputs(path).validation.logits, arrays["logits"])


def test_the_line_that_rewrites_a_table_leaves_its_texts(arrays, here, rewritten, message):
    columns = {f"logit_{i}": arrays["logits"][:, i] for i in range(4)}
    texts = {"label": arrays["labels"], "stratum": "NA", "file": 150 * ["01é", "1"]}
    pd.DataFrame(columns | texts).to_csv("a.csv", index=False, **rewritten)
    with pytest.raises(ValueError, match=f"{message}.*In Python: ") as refused:
        read_outputs("a.csv")
    line = str(refused.value).partition("In Python: ")[2]
    value_of_line(line, pandas=pd)
    read = read_outputs("a.csv")
    assert read.files[:2] == ("01é", "1")
    assert {*read.strata} == {"NA"}


@pytest.mark.parametrize(("sep", "decimal"), [(";", ","), (";", "."), ("\t", ","), (",", ".")])
def test_a_spreadsheet_may_separate_columns_by_other_signs(arrays, tmp_path, sep, decimal):
    columns = {f"logit_{i}": arrays["logits"][:, i] for i in range(4)}
    table = pd.DataFrame(columns | {"label": arrays["labels"], "file": 150 * ["1,5", "é"]})
    table.to_csv(tmp_path / "a.csv", index=False, sep=sep, decimal=decimal)
    read = read_outputs(tmp_path / "a.csv")
    np.testing.assert_allclose(read.validation.logits, arrays["logits"], rtol=1e-6)
    assert read.files[:2] == ("1,5", "é")


def test_new_outputs_may_have_other_columns_and_another_order_of_classes(arrays, tmp_path):
    classes = ["bee", "ant", "cow", "dog"]
    probable = softmax(arrays["logits"], axis=1)
    columns = dict(zip([f"prob_{name}" for name in classes], probable.T, strict=True))
    table = pd.DataFrame({"id": range(300), "time": "10:00", "label": ""} | columns)
    table.to_csv(tmp_path / "new.csv", index=False)
    new = read_new(tmp_path / "new.csv", sorted(classes))
    np.testing.assert_allclose(new.logits[:, 0], columns["prob_ant"])
    assert not new.labelled
    table.assign(label="bee").to_csv(tmp_path / "new.csv", index=False)
    assert read_new(tmp_path / "new.csv", sorted(classes)).labelled
    table.rename(columns={"prob_ant": "logits_0"}).to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(ValueError, match="did you mean 'logit_0'"):
        read_new(tmp_path / "new.csv")


def test_whole_numbers_are_class_numbers_and_texts_are_names(arrays):
    """Also if names are other numbers, and whatever the labels of a day are."""
    arrays["class_names"] = ["1", "2", "3", "4"]
    for name in ("production_logits", "production_features"):
        arrays[name] = arrays[name][:3]

    def labels_of(*labels):
        return read_outputs(arrays | {"production_labels": labels}).production_labels.tolist()

    assert labels_of(2, -1, 1) == [2, -1, 1]
    assert labels_of("2", "-1", "1") == [1, -1, 0]
    with pytest.raises(ValueError, match="names of 4 classes expected, got '0'"):
        labels_of("2", "0", "1")
    with pytest.raises(ValueError, match="one for each of the 3 rows of production_logits"):
        labels_of(1, 2)


def test_probabilities_give_the_numbers_of_their_logarithms(arrays, write):
    probable = softmax(arrays["logits"], axis=1)
    labels = arrays["labels"] % 2
    second = probable[:, [1]]
    both = np.c_[1 - second, second]
    two = read_outputs({"probabilities": both, "labels": labels})
    for single in (second, second[:, 0]):
        from_one_column = read_outputs(write({"probabilities": single, "labels": labels}))
        assert np.array_equal(from_one_column.validation.logits, two.validation.logits)
    assert audit({"probabilities": probable, "labels": arrays["labels"]}, risk=0.2).deployed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda validation: {"validation": replace(validation, labels=np.full(300, -1))},
            "validation: a label for each image expected",
        ),
        (
            lambda _: {"groups": np.arange(4)},
            "groups: one for each of 300 images expected, got .*4,",
        ),
        # the scores of such a set would replace the scores of the other group
        (
            lambda validation: {"ood": {"validation": validation}},
            "ood: a set cannot be called 'validation'",
        ),
        (lambda validation: {"ood": {"all": validation}}, "ood: a set cannot be called 'all'"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(inputs, change, message):
    with pytest.raises(ValueError, match=message):
        replace(inputs, **change(inputs.validation))


def test_other_types_are_refused_with_a_remedy():
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r'a dict such as \{"logits": .* expected, got tuple'):
        audit((np.ones((20, 2)), np.ones(20)))
    with pytest.raises(ValueError, match=r"write logits\.float\(\)"):
        audit({"logits": torch.ones((20, 2), dtype=torch.bfloat16)})


def test_a_single_group_is_refused(inputs):
    with pytest.raises(ValueError, match="groups: at least 20 expected, got 1"):
        audit(replace(inputs, groups=np.zeros(300, int)))


def test_targets_that_make_no_sense_are_refused(inputs, targets, message):
    with pytest.raises(ValueError, match=message):
        audit(inputs, **targets)


def test_targets_about_unknown_images_need_some(inputs, targets_without_ood, message):
    with pytest.raises(ValueError, match=message):
        audit(replace(inputs, ood={}), **targets_without_ood)


def test_pictures_are_read_from_files(arrays, write, tmp_path):
    assert read_outputs(write(arrays)).pictures([0, 1]) is None
    path = tmp_path / "red.png"
    Image.new("RGB", (20, 10), "red").save(path)
    inputs = read_outputs(write(arrays | {"files": np.array([str(path)] * 300)}))
    assert inputs.pictures([5, 7], size=8)[:, 0, 0].tolist() == [[255, 0, 0]] * 2
    path.write_text("a text")  # the names of the files are enough
    assert inputs.pictures([5, 7]) is None
