"""Answers image by image, as committed files: rules can be tried on them without a network.

``results/<tier>/per_image/unknown_detection/`` has ``images.parquet``, one row per image, and a
file ``RUN-TRAINING.parquet`` for each network, whose row n is about row n of ``images.parquet``.
Its columns are the logits of the known classes in steps of 1/64, in half precision, and the
confidences of further methods on the same network.  Outputs of MC dropout are logarithms of its
mean probabilities; they end where the sets aside begin.  Metadata name the network, the code and
versions.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from helpers import data
from helpers.files import atomic_path
from helpers.networks.model import Model
from helpers.papers.unknown_detection import detectors, methods
from helpers.papers.unknown_detection.detectors import Answer
from helpers.papers.unknown_detection.parameters import Parameters
from helpers.papers.unknown_detection.roles import Benchmark
from helpers.scores.calibration import log_probabilities, softmax
from helpers.tables import results

#: Methods on the baseline's network whose confidences cannot be computed from its logits.
FURTHER = ("odin", "openmax", "mahalanobis")
IMAGES = "images.parquet"
#: Sets of known classes.
KNOWN = ("test", "validation")
# ends of names of columns: OpenMax has a class "unknown", and predictions that are not the logits'
_UNKNOWN = ", unknown"
_CORRECT = ", correct"
_INFORMATION = b"information"
# finer steps are noise that no file can compress; no AUROC changes by more than 0.0001
_STEPS = 64
# each column alone, its bytes by significance: 1 MB instead of 1.2
_COMPRESSED = {"compression": "brotli", "compression_level": 11, "write_statistics": False}


def sets(roles: Benchmark, *, aside: bool = True) -> dict:
    """Return the sets of images in the order of the rows; noise is left out."""
    last = {name: images for name, images in roles.aside.items() if name != "gaussian" and aside}
    unknown = {"near": roles.near} | roles.far
    return {"test": roles.test} | unknown | {"validation": roles.validation} | last


def write_images(parameters: Parameters, roles: Benchmark, folder: Path) -> None:
    """Write the list of the images: set, class, digest of the pixels, and index in the data set.

    The digest is the SHA-256 of the pixels as the network sees them, uint8 [H, W, 3], 16 digits.
    The index is that in the training or test images of the data set, −1 for another data set.
    """
    indices: dict[str, int] = {}
    for split in ("train", "test"):
        whole = data.load(parameters.data_set, split)
        indices |= {digest: index for index, digest in enumerate(_digests(whole))}
    columns: dict[str, list] = {"set": [], "class": [], "sha256": []}
    for name, images in sets(roles).items():
        columns["set"] += [name] * len(images)
        columns["class"] += [images.class_names[label] for label in images.labels]
        columns["sha256"] += _digests(images)
    columns["index"] = [indices.get(digest, -1) for digest in columns["sha256"]]
    digests = {name: images.sha256 for name, images in sets(roles).items()}
    _write(columns, folder / IMAGES, {"sets": digests})


def write_network(parameters: Parameters, roles: Benchmark, model: Model, path: Path) -> None:
    """Write the outputs of a network, and of further methods on it, for each listed image."""
    available = sets(roles, aside=not model.passes)
    listed = json.loads(pq.read_schema(path.with_name(IMAGES)).metadata[_INFORMATION])
    shown = {
        name: available[name] if name in KNOWN else available[name].unknown()
        for name in listed["sets"]
        if name in available
    }
    outputs = [model.outputs(images) for images in shown.values()]
    if model.passes:
        logits = np.concatenate([log_probabilities(each.probabilities) for each in outputs])
    else:
        logits = np.concatenate([each.logits for each in outputs])
    rounded = np.round(_STEPS * logits) / _STEPS
    columns = dict(zip(roles.known, rounded.T.astype(np.float16), strict=True))
    for name in FURTHER if model.name == "baseline" else ():
        renamed = Model(name, model.networks)
        detector = detectors.make(parameters, roles, renamed)
        answered = {title: detector.answer(images) for title, images in shown.items()}
        joint = detectors.union(answered, list(answered))
        if name == "openmax":
            # most confidences are so near to 1 that their differences need all digits
            columns[name + _UNKNOWN] = (1 - joint.confidence).astype(np.float32)
            columns[name + _CORRECT] = joint.correct
        else:
            columns[name] = joint.confidence.astype(np.float32)
    content = {"network": model.sha256, "parameters": parameters.decisive()}
    origin = results.provenance(
        content, seed=parameters.seed, device=model.device_name, seconds=model.seconds
    )
    digests = {name: images.sha256 for name, images in shown.items()}
    _write(columns, path, origin | {"network": model.sha256, "sets": digests})


def answers(folder: Path, method: str, run: int = 0, without: str = "") -> dict[str, Answer]:
    """Return the answers of a method by set, from the files alone.

    The Deep Ensemble has the mean probabilities of the baseline's networks of all runs but
    `without`.
    """
    listed = pq.read_table(folder / IMAGES).to_pandas()
    training = methods.training_of(method)
    if method == "ensemble":
        left_out = folder / f"{without}-baseline.parquet"
        files = sorted({*folder.glob("*-baseline.parquet")} - {left_out})
    else:
        files = [folder / f"{run}-{training}.parquet"]
    tables = [pq.read_table(file) for file in files]
    first = tables[0]
    classes = [field.name for field in first.schema if pa.types.is_float16(field.type)]
    probabilities = np.mean([softmax(_matrix(table, classes)) for table in tables], axis=0)
    listed = listed[: len(probabilities)]
    known = listed["set"].isin(KNOWN).to_numpy()
    labels = np.array(classes)[probabilities.argmax(axis=1)]
    correct = known & (labels == listed["class"].to_numpy())
    confidence = probabilities.max(axis=1)
    if method == "openmax":
        confidence = 1 - first[method + _UNKNOWN].to_numpy().astype(np.float64)
        correct = first[method + _CORRECT].to_numpy()
    elif method in FURTHER:
        confidence = first[method].to_numpy().astype(np.float64)
    return {
        name: Answer(confidence[rows], correct[rows])
        for name, rows in listed.groupby("set", sort=False).indices.items()
    }


def _matrix(table: pa.Table, names: list[str]) -> np.ndarray:
    return np.column_stack([table[name].to_numpy() for name in names]).astype(np.float64)


def _digests(images) -> list[str]:
    pixels = images.pictures(np.arange(len(images)))
    return [hashlib.sha256(each.tobytes()).hexdigest()[:16] for each in pixels]


def _write(columns: Mapping, path: Path, information: Mapping) -> None:
    """Write columns as parquet, with their origin as JSON in the metadata."""
    table = pa.table(dict(columns), metadata={_INFORMATION: json.dumps(information)})
    numbers = [f.name for f in table.schema if pa.types.is_floating(f.type)]
    others = [name for name in table.column_names if name not in numbers]
    encoded = dict.fromkeys(numbers, "BYTE_STREAM_SPLIT")
    options = {"use_dictionary": others, "column_encoding": encoded} if numbers else {}
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary, **options, **_COMPRESSED)
