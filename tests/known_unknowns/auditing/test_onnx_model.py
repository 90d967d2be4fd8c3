"""An ONNX file and folders of images are audited as a file of outputs is, without torch.

``make test-onnx`` installs the extra `onnx` and runs this file and ``test_export.py``.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

onnx = pytest.importorskip("onnx", reason="the extra onnx; make test-onnx has it")
pytest.importorskip("onnxruntime", reason="the extra onnx; make test-onnx has it")

from known_unknowns.auditing.command import HOLDS, REFUSED, main  # noqa: E402
from known_unknowns.auditing.onnx_model import open_model, show_folders  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
COLOURS = {"blue": (40, 40, 200), "green": (40, 200, 40), "red": (200, 40, 40)}
WEIGHT = np.array([[-2, -2, 4], [-2, 4, -2], [4, -2, -2]], np.float32)  # of red, green and blue


def drawn(place, colour, count, seed):
    generator = np.random.default_rng(seed)
    place.mkdir(parents=True)
    for number in range(count):
        pixels = np.clip(generator.normal(colour, 60, size=(20, 26, 3)), 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(place / f"{number}.png")


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Validation images of three colours, one of them broken, and unknown ones."""
    for seed, (name, colour) in enumerate(COLOURS.items()):
        drawn(tmp_path / "val" / name, colour, 20, seed)
    (tmp_path / "val" / "red" / "99.png").write_bytes(b"no image")
    drawn(tmp_path / "grey", (120, 120, 120), 20, 9)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path, last="Gemm", end="Softmax", first=True, kind="FLOAT"):
    """Write a model that tells colours: the mean of each channel, a linear layer, a softmax."""
    helper, types = onnx.helper, onnx.TensorProto
    axes = [2, 3] if first else [1, 2]
    nodes = [
        helper.make_node("Cast", ["pixels"], ["wide"], to=types.FLOAT),
        helper.make_node("ReduceMean", ["wide"], ["hidden"], axes=axes, keepdims=0),
    ]
    bias = np.array([0, 0.5, 0], np.float32)
    constants = [onnx.numpy_helper.from_array(bias, "bias")]
    if last == "Gemm":
        constants.append(onnx.numpy_helper.from_array(WEIGHT, "weight"))
        nodes.append(helper.make_node("Gemm", ["hidden", "weight", "bias"], ["z"], transB=1))
    else:
        constants.append(onnx.numpy_helper.from_array(WEIGHT.T.copy(), "weight"))
        nodes.append(helper.make_node("MatMul", ["hidden", "weight"], ["product"]))
        nodes.append(helper.make_node("Add", ["bias", "product"], ["z"]))
    if end:
        nodes.append(helper.make_node(end, ["z"], ["out"]))
    shape = ["N", 3, 16, 16] if first else ["N", 16, 16, 3]
    graph = helper.make_graph(
        nodes, "colours",
        [helper.make_tensor_value_info("pixels", getattr(types, kind), shape)],
        [helper.make_tensor_value_info("out" if end else "z", types.FLOAT, ["N", 3])],
        constants,
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("end", ["Softmax", None])
@pytest.mark.parametrize("last", ["Gemm", "MatMul"])
def test_logits_features_and_head_are_found(folders, last, end, first):
    """Behind a softmax, too; what a hand-made pass says is what is read."""
    model = open_model(write(folders / "m.onnx", last, end, first))
    assert (model.size, model.channels_first) == (16, first)
    inputs = show_folders(model, "val", ood=["grey"])
    assert inputs.class_names == ("blue", "green", "red") and inputs.level
    assert inputs.unreadable == {"validation": ("red/99.png",)}
    assert inputs.validation.correct.all() and len(inputs.validation) == 60
    assert (inputs.head.weight == WEIGHT).all() and len(inputs.ood["grey"]) == 20
    with Image.open(inputs.files[0]) as image:
        side = 20 / (256 / 224)
        box = (26 - side) / 2, (20 - side) / 2, (26 + side) / 2, (20 + side) / 2
        cut = np.asarray(image.resize((16, 16), Image.Resampling.BILINEAR, box), float)
    mean, spread = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]
    hidden = ((cut - mean) / spread).mean(axis=(0, 1))
    assert inputs.validation.features[0] == pytest.approx(hidden, abs=1e-5)
    assert inputs.validation.logits[0] == pytest.approx(WEIGHT @ hidden + [0, 0.5, 0], abs=1e-4)
    assert inputs.pictures([0], size=8).shape == (1, 8, 8, 3)


@pytest.mark.parametrize(
    ("pixels", "low", "high"), [("unit", 0, 1), ("symmetric", -1, 1), ("bytes", 0, 255)]
)
def test_pixels_are_given_as_the_model_takes_them(folders, pixels, low, high):
    inputs = show_folders(open_model(write(folders / "m.onnx")), "val", pixels=pixels)
    features = inputs.validation.features
    assert low <= features.min() < features.max() <= high
    assert features.max() > 0.6 * high
    model = open_model(write(folders / "bytes.onnx", kind="UINT8"))  # takes nothing else
    assert show_folders(model, "val").validation.features.max() > 150


def test_the_command_runs_without_torch_and_compares_with_a_file(folders):
    """The report of the folder is that of a file with the same arrays."""
    write(folders / "colours.onnx")
    program = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in ('torch', 'tqdm', 'sklearn'):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from known_unknowns.auditing.command import main\nsys.exit(main(sys.argv[1:]))\n"
    )
    given = ["audit", "--model", "colours.onnx", "--validation", "val", "--ood", "grey",
             "--coverage", "0.8"]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", program, *given], capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == HOLDS, done.stderr
    assert "validation: 61 of 61 images are shown" in done.stdout
    said = json.loads((folders / "colours_audit" / "audit.json").read_text())
    assert said["accuracy"][0] == 1 and said["unreadable"] == {"validation": ["red/99.png"]}
    assert set(said["sha256"]) == {"model", "validation", "ood_grey"}
    inputs = show_folders(open_model("colours.onnx"), "val", ood=["grey"])
    np.savez(
        "same.npz", logits=inputs.validation.logits, features=inputs.validation.features,
        labels=inputs.validation.labels, head_weight=inputs.head.weight,
        head_bias=inputs.head.bias, ood_grey_logits=inputs.ood["grey"].logits,
        ood_grey_features=inputs.ood["grey"].features,
    )  # fmt: skip
    assert main(["audit", "same.npz", "--coverage", "0.8"]) == HOLDS
    same = json.loads((folders / "same_audit" / "audit.json").read_text())
    assert same["ranking"] == said["ranking"] and same["thresholds"] == said["thresholds"]


def test_the_classes_may_have_another_order(folders):
    """Named in a file; those of the folders are then found among them."""
    write(folders / "m.onnx")
    (folders / "names.txt").write_text("red\ngreen\nblue\n")
    given = ["audit", "--model", "m.onnx", "--validation", "val", "--coverage", "0.8"]
    assert main([*given, "--classes", "names.txt"]) == HOLDS
    said = json.loads((folders / "m_audit" / "audit.json").read_text())
    assert said["accuracy"][0] == pytest.approx(1 / 3)


def test_training_images_and_unlabelled_ones_are_shown_too(folders):
    """Another batch than the model's may end with images that cannot be read."""
    drawn(folders / "new", (40, 200, 40), 40, 5)
    for number in range(32, 40):  # a batch of broken files
        (folders / "new" / f"{number}.png").write_bytes(b"no image")
    model = open_model(write(folders / "m.onnx"))
    inputs = show_folders(model, "val", train="val", production="new")
    assert np.array_equal(inputs.train.logits, inputs.validation.logits)
    assert (inputs.train.labels == inputs.validation.labels).all()
    assert len(inputs.production) == 32 and len(inputs.unreadable["production"]) == 8
    assert inputs.production.predictions.tolist() == [1] * 32


@pytest.mark.parametrize(
    "changes",
    [
        {"last": "Add", "more": ["z", "z"]},  # no product with weights
        {"last": "Gemm", "alpha": 2.0},
        {"last": "Relu", "more": ["z"]},
    ],
)
def test_a_last_layer_that_is_no_head_leaves_the_logits_alone(folders, changes):
    """What it says is what is read, and there are no features."""
    model = open_model(altered(write(folders / "m.onnx", end=None), **changes))
    inputs = show_folders(model, "val")
    assert inputs.head is None and inputs.validation.features.shape == (60, 0)
    plain = show_folders(open_model(folders / "m.onnx"), "val").validation.logits
    bias = np.array([0, 0.5, 0])
    expected = {"Add": 2 * plain, "Gemm": 2 * (plain - bias) + bias, "Relu": np.maximum(plain, 0)}
    assert inputs.validation.logits == pytest.approx(expected[changes["last"]], abs=1e-4)


def altered(path, last, more=(), **attributes):
    """Write a model with another last layer, or one after it, beside a file; return its path."""
    model, helper = onnx.load(path), onnx.helper
    if more:
        model.graph.node.append(helper.make_node(last, list(more), ["end"]))
        model.graph.output[0].name = "end"
    for name, value in attributes.items():
        model.graph.node[-1].attribute.append(helper.make_attribute(name, value))
    onnx.save(model, path.with_name("altered.onnx"))
    return path.with_name("altered.onnx")


@pytest.mark.parametrize(
    ("shape", "kind", "message"),
    [
        (["N", 3, 16, 24], "FLOAT", "square images expected, got 16 x 24"),
        (
            ["N", 3, 16, 16],
            "DOUBLE",
            r"pixels of tensor\(float\), .* expected, got tensor\(double\)",
        ),
    ],
)
def test_images_that_nobody_can_make_are_refused(folders, shape, kind, message):
    model = onnx.load(write(folders / "m.onnx", kind=kind))
    for one, size in zip(
        model.graph.input[0].type.tensor_type.shape.dim[1:], shape[1:], strict=True
    ):
        one.dim_value = size
    onnx.save(model, folders / "m.onnx")
    with pytest.raises(ValueError, match=message):
        open_model(folders / "m.onnx")


def test_folders_that_cannot_be_told_apart_or_read_are_refused(folders):
    model = open_model(write(folders / "m.onnx"))
    for place in "ab":
        drawn(folders / place / "grey", (120, 120, 120), 3, 7)
    with pytest.raises(ValueError, match="ood: two sets have the same name; rename a folder"):
        show_folders(model, "val", ood=["a/grey", "b/grey"])
    for file in (folders / "a" / "grey").iterdir():
        file.write_bytes(b"no image")
    with pytest.raises(ValueError, match="none of its 3 images can be read"):
        show_folders(model, "val", ood=["a/grey"])


def test_an_answer_that_is_no_row_for_each_image_is_refused(folders):
    helper, types = onnx.helper, onnx.TensorProto
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    made = [helper.make_tensor_value_info(name, types.FLOAT, ["N", 3, 8, 8]) for name in "xy"]
    graph = helper.make_graph(nodes, "picture", made[:1], made[1:])
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), "picture.onnx")
    with pytest.raises(ValueError, match=r"an output \[N, K\] expected, got \(32, 3, 8, 8\)"):
        show_folders(open_model("picture.onnx"), "val")


def test_without_the_extra_a_line_says_what_to_install(folders, monkeypatch):
    write(folders / "m.onnx")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ValueError, match=r"onnxruntime: .*pip install 'known-unknowns\[onnx\]'"):
        open_model(folders / "m.onnx")


def no_images(path):
    helper, types = onnx.helper, onnx.TensorProto
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])], "other",
        [helper.make_tensor_value_info("x", types.FLOAT, ["N", 8])],
        [helper.make_tensor_value_info("y", types.FLOAT, ["N", 8])],
    )  # fmt: skip
    onnx.save(helper.make_model(graph), path)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["m.onnx", "--validation", "val", "--classes", "two.txt"], "blue.* rename the folders"),
        (["m.onnx", "--validation", "val", "--classes", "four.txt"], "validation: 3 classes exp"),
        (
            ["m.onnx", "--validation", "val", "--ood", "val/red"],
            "red has classes",
        ),
        (["m.onnx", "--validation", "val", "--ood", "val"], "val has classes that the"),
        (["m.onnx", "--validation", "val", "--size", "32"], "size: 16 expected, which m.onnx"),
        (["m.onnx", "--validation", "vla"], "vla"),
        (["m.onnx"], "--validation: a folder with a subfolder for each class"),
        (["none.onnx", "--validation", "val"], "none.onnx: no such file"),
        (["cut.onnx", "--validation", "val"], "cut.onnx: no whole ONNX file"),
        (["rows.onnx", "--validation", "val"], "one input of images, .* got x"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(folders, capsys, given, message):
    content = write(folders / "m.onnx").read_bytes()
    (folders / "cut.onnx").write_bytes(content[: len(content) // 2])
    (folders / "two.txt").write_text("red\ngreen\n")
    (folders / "four.txt").write_text("red\ngreen\nblue\nblack\n")
    no_images(folders / "rows.onnx")
    before = sorted(folders.iterdir())
    assert main(["audit", "--model", *given]) == REFUSED
    told = capsys.readouterr().err
    assert len(told.splitlines()) == 1
    assert re.search(message, told), told
    assert sorted(folders.iterdir()) == before
