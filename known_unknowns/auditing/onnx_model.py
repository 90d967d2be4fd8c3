"""A model as an ONNX file, and folders of images, in place of a file of outputs; without torch."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from helpers.checks import known_name
from helpers.data import Listing
from helpers.data.pixels import rgb
from helpers.data.stream import MARGIN
from helpers.files import sha256_file
from known_unknowns.auditing.folders import check_unknown, named_as, split_of
from known_unknowns.auditing.inputs import Inputs, make_inputs
from known_unknowns.auditing.onnx_graph import import_onnx

PIXELS = {
    "imagenet": ([123.675, 116.28, 103.53], [58.395, 57.12, 57.375]),
    "unit": ([0.0] * 3, [255.0] * 3),
    "symmetric": ([127.5] * 3, [127.5] * 3),
    "bytes": ([0.0] * 3, [1.0] * 3),
}
"""What is taken from pixels of 0 to 255, and what they are then divided by, channel by channel."""

BATCH = 32
_PASSED = ("Softmax", "LogSoftmax", "Identity", "Cast", "Dropout")  # behind the last layer


@dataclass(frozen=True)
class OnnxModel:
    """A classifier that onnxruntime runs on the CPU.

    Attributes
    ----------
    path : Path
    size : int
        Height and width of its images, in pixels.
    channels_first : bool
    batch : int
        Images in a batch.
    kind : str
        NumPy's name of what its pixels are.
    run : callable
        From pixels to logits [n, K], and to features [n, D] or None.
    weight, bias : ndarray or None
        Of the last layer, where it was found; [K, D] and [K].
    """

    path: Path
    size: int
    channels_first: bool
    batch: int
    kind: str
    run: Callable
    weight: np.ndarray | None
    bias: np.ndarray | None


def open_model(path: str | os.PathLike, *, size: int | None = None) -> OnnxModel:
    """Open an ONNX file.

    The logits are what the last layer gives, before a softmax if the file has one.  If that layer
    is a product with weights in the file, its input, the features, is read, too, and the head.

    Parameters
    ----------
    path : path
    size : int, optional
        Of the images, where the file leaves it open.

    Raises
    ------
    FileNotFoundError
        No such file.
    ValueError
        No ONNX file; packages that are missing; more than one input, or one that is no image; no
        output [N, K].
    """
    onnx = import_onnx()
    try:
        import onnxruntime
    except ImportError as error:
        raise ValueError(
            f"onnxruntime: {error}; pip install '.[onnx]' in the repository"
        ) from error
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    try:
        model = onnx.load(path)
        onnx.checker.check_model(model)
    except Exception as error:  # its parsers raise classes of their own
        first = str(error).strip().partition("\n")[0]
        raise ValueError(f"{path}: no whole ONNX file ({first}); export the model again") from error
    constants = {one.name: one for one in model.graph.initializer}
    constants |= {
        node.output[0]: node.attribute[0].t
        for node in model.graph.node
        if node.op_type == "Constant" and node.attribute[0].name == "value"
    }
    given = [one for one in model.graph.input if one.name not in constants]
    shape = [[one.dim_value for one in item.type.tensor_type.shape.dim] for item in given]
    if len(given) != 1 or len(shape[0]) != 4 or 3 not in (shape[0][1], shape[0][3]):
        raise ValueError(
            f"{path}: one input of images, [N, 3, H, W] or [N, H, W, 3], expected, got "
            + ", ".join(f"{one.name} {size}" for one, size in zip(given, shape, strict=True))
            + " (0: any); write its outputs to a file, and audit that"
        )
    first = shape[0][1] == 3
    height, width = shape[0][2:] if first else shape[0][1:3]
    if height != width:
        raise ValueError(
            f"{path}: square images expected, got {height} x {width}; write its outputs to a file"
        )
    if size and height and size != height:
        raise ValueError(f"size: {height} expected, which {path.name} takes, got {size}")
    head = _last_layer(onnx, model.graph, constants)
    names = [head[0]] + ([head[1]] if head[1] else [])
    kept = {one.name for one in model.graph.output}
    model.graph.output.extend(
        onnx.helper.make_empty_tensor_value_info(name) for name in names if name not in kept
    )
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = len(os.sched_getaffinity(0)) if hasattr(
        os, "sched_getaffinity"
    ) else 0  # fmt: skip
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    pixels = session.get_inputs()[0]

    def run(batch: np.ndarray):
        found = session.run(names, {pixels.name: batch})
        return found[0], found[1] if len(found) > 1 else None

    kinds = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(uint8)": "uint8"}
    if pixels.type not in kinds:
        raise ValueError(f"{path}: pixels of {', '.join(kinds)} expected, got {pixels.type}")
    return OnnxModel(
        path, size or height or 224, first, shape[0][0] or BATCH, kinds[pixels.type], run, *head[2:]
    )


def _last_layer(onnx, graph, constants: dict):
    """Return names of logits and features, weight [K, D] and bias [K]; None for what is not there.

    The logits are the first output, or what goes into the softmax before it.
    """
    makers = {name: node for node in graph.node for name in node.output}
    name = graph.output[0].name
    while name in makers and makers[name].op_type in _PASSED:
        name = makers[name].input[0]
    node, bias, logits = makers.get(name), None, name

    def array(which: str):
        return onnx.numpy_helper.to_array(constants[which]) if which in constants else None

    if node is not None and node.op_type == "Add":
        sides = [(one, array(other)) for one, other in (node.input, node.input[::-1])]
        found = [(one, value) for one, value in sides if value is not None]
        if found:
            node, bias = makers.get(found[0][0]), found[0][1]
    if node is None or node.op_type not in ("Gemm", "MatMul") or array(node.input[1]) is None:
        return logits, None, None, None
    settings = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
    if settings.get("transA") or {settings.get("alpha", 1.0), settings.get("beta", 1.0)} != {1.0}:
        return logits, None, None, None
    weight = array(node.input[1])
    weight = weight if settings.get("transB") else weight.T
    if node.op_type == "Gemm" and len(node.input) > 2:
        bias = array(node.input[2])
    bias = np.zeros(len(weight)) if bias is None else bias
    return logits, node.input[0], weight, np.broadcast_to(bias.ravel(), len(weight))


def show_folders(
    model: OnnxModel,
    validation: str | os.PathLike,
    *,
    train: str | os.PathLike | None = None,
    ood: Sequence[str | os.PathLike] = (),
    production: str | os.PathLike | None = None,
    class_names: Sequence[str] = (),
    pixels: str = "imagenet",
    tell: Callable[[str], object] = lambda line: None,
) -> Inputs:
    """Show folders of images to a model.

    The shorter side is brought to 256/224 of what the model takes and the centre cropped.

    Parameters
    ----------
    model : OnnxModel
    validation, train : path
        With a subfolder for each class.
    ood : sequence of path
        Of unknown images.
    production : path, optional
        Of unlabelled ones.
    class_names : sequence of str
        The head's, in its order; by default the validation folder's subfolders in alphabetical
        order, as torchvision and Keras number them.
    pixels : str
        One of `PIXELS`: what the model takes.
    tell : callable
        Told how far it is.

    Raises
    ------
    FileNotFoundError, ValueError
        No such folder; classes that the head does not have, or as many; two sets of one name; no
        image that can be read; what is wrong with the model's answers.
    """
    known_name("kind of pixels", pixels, PIXELS)
    listed = Listing.scan(validation, split=split_of(validation))
    names = tuple(class_names) or listed.class_names
    roles = {"": named_as(listed, names, {})}
    if train is not None:
        roles["train_"] = named_as(Listing.scan(train, split=split_of(train)), names, {})
    sets = {Path(one).name: Listing.scan(one, split=split_of(one)) for one in ood}
    if len(sets) != len(ood):
        raise ValueError("ood: two sets have the same name; rename a folder")
    check_unknown(sets, names)
    roles |= {f"ood_{name}_": one for name, one in sets.items()}
    if production is not None:
        roles["production_"] = Listing.scan(production, split=split_of(production))
    arrays: dict[str, np.ndarray] = {}
    sha256, unreadable = {"model": sha256_file(model.path)}, {}
    for prefix, images in roles.items():
        role = prefix.removesuffix("_") or "validation"
        logits, features, places, broken, sha256[role] = _shown(model, images, pixels, role, tell)
        if broken:
            unreadable[role] = broken
        if logits.shape[1] != len(names):
            raise ValueError(
                f"validation: {logits.shape[1]} classes expected, as the model has, got "
                f"{len(names)} ({', '.join(names[:5])}{', …' if len(names) > 5 else ''}); name all "
                "of them in the order of the model (--classes FILE, a line each)"
            )
        arrays[f"{prefix}logits"] = logits
        if features is not None:
            arrays[f"{prefix}features"] = features
        if prefix in ("", "train_"):
            arrays[f"{prefix}labels"] = images.labels[places]
        if not prefix:
            arrays["files"] = np.array([str(images.root / images.files[i]) for i in places])
    arrays["class_names"] = np.array(names)
    if model.weight is not None:
        arrays |= {"head_weight": model.weight, "head_bias": model.bias}
    return make_inputs(
        arrays, source=f"the model {model.path.name}", sha256=sha256, unreadable=unreadable
    )


def _shown(model: OnnxModel, images: Listing, pixels: str, role: str, tell: Callable):
    """Return logits, features, places of the images that can be read, the others, and a digest."""
    logits, features, places, broken = [], [], [], []
    digest = hashlib.sha256()
    for found in _batches(model, images, pixels):
        for place, one, content in found:
            digest.update(f"{images.files[place]} {content}\n".encode())
            (broken if one is None else places).append(place)
        if batch := [one for _, one, _ in found if one is not None]:
            filled = batch + batch[-1:] * (model.batch - len(batch))  # some take one size alone
            answers, hidden = model.run(np.stack(filled))
            logits.append(np.asarray(answers, np.float32)[: len(batch)])
            if logits[-1].ndim != 2:
                raise ValueError(
                    f"{model.path.name}: an output [N, K] expected, got {np.shape(answers)}; write "
                    "its outputs to a file, and audit that"
                )
            if hidden is not None:
                features.append(np.asarray(hidden, np.float32)[: len(batch)])
        tell(f"{role}: {len(places) + len(broken)} of {len(images.files)} images are shown")
    if not logits:
        raise ValueError(f"{images.root}: none of its {len(images.files)} images can be read")
    return (
        np.concatenate(logits),
        np.concatenate(features) if features else None,
        np.array(places),
        tuple(images.files[place] for place in broken),
        digest.hexdigest(),
    )


def _batches(model: OnnxModel, images: Listing, pixels: str) -> Iterator[list[tuple]]:
    """Yield of each image of a batch its place, its pixels, or None, and a digest of its file."""
    shift, scale = (np.float32(one) for one in PIXELS[pixels])

    def read(place: int):
        content = (images.root / images.files[place]).read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        try:
            with Image.open(io.BytesIO(content)) as opened:
                image = rgb(opened)
        except Exception:  # of a broken file, decoders raise almost anything
            return place, None, digest
        side = min(image.size) / MARGIN
        left, top = ((length - side) / 2 for length in image.size)
        box = left, top, left + side, top + side
        cut = image.resize((model.size, model.size), Image.Resampling.BILINEAR, box)
        values = np.asarray(cut)
        if model.kind != "uint8":
            values = ((values - shift) / scale).astype(model.kind)
        return place, values.transpose(2, 0, 1) if model.channels_first else values, digest

    with ThreadPoolExecutor() as pool:  # Pillow decodes outside Python's lock
        for start in range(0, len(images.files), model.batch):
            end = min(start + model.batch, len(images.files))
            yield list(pool.map(read, range(start, end)))
