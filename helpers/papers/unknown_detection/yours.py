"""Somebody's own answers about the benchmark's test images, as rows beside the methods'.

A manifest says which images there are, in which order; a file of outputs, or of confidences and
predictions, that any framework can write has as many in this order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from helpers import scores
from helpers.checks import float_array, known_name
from helpers.data import Images
from helpers.data.arrays import TABLES, read_npz, read_table
from helpers.files import sha256_file
from helpers.outputs import Outputs
from helpers.papers.unknown_detection.methods import YOURS, names
from helpers.report import results
from helpers.scores.calibration import are_probabilities, log_probabilities

if TYPE_CHECKING:
    from helpers.data import ImageStream
    from helpers.papers.unknown_detection.parameters import Parameters
    from helpers.papers.unknown_detection.roles import Benchmark

KINDS = ("logits", "confidence", "predictions", "labels")
"""What a file may hold of a test set NAME, as the array ``NAME_KIND``."""

_PLACE = ["set", "number"]


def manifest(benchmark: Benchmark) -> pd.DataFrame:
    """Return a row for each test image, in the order in which answers are expected.

    Returns
    -------
    DataFrame
        ``set``, the test set; ``number``, the place in it, from 0; ``label``, which of the known
        classes, -1 for none; ``class``, that one's name or ""; ``image``, the file's path below its
        folder, or 16 hexadecimal digits of a SHA-256 of the pixels (uint8, row by row, red, green,
        blue).
    """
    parts = []
    for name, images in benchmark.test_sets.items():
        classes = np.array([*benchmark.known, ""])[images.labels]  # -1 is the last one
        part = {"set": name, "number": range(len(images)), "label": images.labels}
        parts.append(pd.DataFrame(part | {"class": classes, "image": _images(images)}))
    return pd.concat(parts, ignore_index=True)


def _images(images: Images | ImageStream) -> list[str]:
    if isinstance(images, Images):
        return [hashlib.sha256(one.tobytes()).hexdigest()[:16] for one in images.images]
    return [f"{images.root.name}/{file}" for file in images.files]


def pixels(benchmark: Benchmark) -> dict[str, np.ndarray]:
    """Return the images that are held in memory by role, uint8 [N, S, S, 3], and labels of two.

    Those of the test sets have the names of the manifest; a network may learn from ``train`` (and
    ``train_labels``), and whatever is chosen is chosen on ``validation`` and the external images.
    """
    roles = {one: getattr(benchmark, one) for one in ("train", "validation")}
    arrays = {f"{name}_labels": images.labels for name, images in roles.items()}
    roles |= {one: getattr(benchmark, one) for one in ("external", "external_validation")}
    roles |= benchmark.test_sets
    held = {name: images for name, images in roles.items() if isinstance(images, Images)}
    return arrays | {name: images.images for name, images in held.items()}


def read(
    path: Path, manifest: pd.DataFrame, needed: Sequence[str], *, score: str = "msp"
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Read what a file says of the manifest's images, and say what is wrong with it.

    Parameters
    ----------
    path : Path
        Of either kind:

        * ``.npz``, with ``NAME_logits`` [N, K] for each test set NAME; or ``NAME_confidence`` [N],
          higher = more likely known, and ``test_predictions`` [N], of which -1 is "unknown".
          ``NAME_labels`` [N] may be there to be compared.
        * ``.csv`` or ``.parquet``: the manifest's rows in its order, with columns ``confidence``
          and ``prediction`` beside its own, or ``logit_0`` … ``logit_{K-1}``.  Of the manifest's
          columns ``set`` and ``number`` are needed; what there is of the others is compared.
    manifest : DataFrame
        From `manifest`.
    needed : sequence of str
        Test sets that must be there; others may be left out.
    score : str
        Of `helpers.scores`: what is asked of logits; it can need nothing else.

    Returns
    -------
    dict of str to (ndarray of float64 [N], ndarray of bool [N])
        By test set: confidence, and whether the answer is right.

    Raises
    ------
    FileNotFoundError, ValueError
        No such file, or not such a file; a set that is missing, or that the manifest does not have;
        another number of images, other labels or other images than the manifest's; NaN; predictions
        that are no classes; a score that needs more than logits.
    """
    sets = {name: part for name, part in manifest.groupby("set", sort=False)}
    if path.suffix.lower() in TABLES:
        found = _of_table(read_table(path), sets)
    else:
        found = _of_archive(read_npz(path), sets)
    if missing := [name for name in needed if name not in found]:
        raise ValueError(f"{path.name}: nothing about the test set {missing[0]}")
    classes = manifest.loc[manifest["set"] == "test", "label"].max() + 1
    ready = scores.create(score)
    if more := set(ready.info.needs) - {"logits", "level of the logits"}:
        raise ValueError(f"score '{score}' needs {', '.join(sorted(more))}, beside logits")
    return {
        name: _answer(name, found[name], part["label"].to_numpy(), int(classes), ready)
        for name, part in sets.items()
        if name in found
    }


def _of_archive(arrays: Mapping[str, np.ndarray], sets: Mapping[str, pd.DataFrame]) -> dict:
    found: dict[str, dict[str, np.ndarray]] = {}
    for key, array in arrays.items():
        known_name("array", key, [f"{name}_{kind}" for name in sets for kind in KINDS])
        name, _, kind = key.rpartition("_")
        found.setdefault(name, {})[kind] = array
    return found


def _of_table(table: pd.DataFrame, sets: Mapping[str, pd.DataFrame]) -> dict:
    logits = [name for name in table.columns if str(name).startswith("logit_")]
    own = [f"logit_{number}" for number in range(len(logits))]  # from 0, without a gap
    compared = [*_PLACE, "label", "class", "image"]
    for name in table.columns:
        known_name("column", name, [*compared, "confidence", "prediction", *own])
    for name in _PLACE:
        if name not in table:
            raise ValueError(f"{name}: missing; give the manifest's own columns, too")
    found = {}
    for name, part in table.groupby("set", sort=False):
        expected = sets[known_name("test set", str(name), sets)]
        _check_length(f"set {name}", len(part), len(expected))
        for column in compared[1:]:
            if column not in part:
                continue
            theirs, ours = part[column].fillna("").to_numpy(), expected[column].to_numpy()
            if (wrong := np.flatnonzero(theirs != ours)).size:
                at = wrong[0]
                raise ValueError(
                    f"{column}: row {at} of the set {name} is {theirs[at]}, in the manifest "
                    f"{ours[at]}; keep its rows in their order"
                )
        kinds = {"confidence": "confidence", "prediction": "predictions"}
        found[name] = {to: part[one].to_numpy() for one, to in kinds.items() if one in part}
        found[name] |= {"logits": part[own].to_numpy()} if own else {}
    return found


def _check_length(what: str, found: int, expected: int) -> None:
    if found != expected:
        raise ValueError(f"{what}: {expected} images expected, as in the manifest, got {found}")


def _answer(
    name: str, found: Mapping[str, np.ndarray], labels: np.ndarray, classes: int, score
) -> tuple[np.ndarray, np.ndarray]:
    """Return confidence and correctness of one set."""
    for kind, array in found.items():
        _check_length(f"{name}_{kind}", len(array), len(labels))
    if "labels" in found and (wrong := np.flatnonzero(found["labels"] != labels)).size:
        at = wrong[0]
        raise ValueError(
            f"{name}_labels: image {at} has {found['labels'][at]}, in the manifest {labels[at]}: "
            "these are other images, or in another order"
        )
    if ("logits" in found) == ("confidence" in found):
        raise ValueError(f"{name}: either {name}_logits or {name}_confidence expected")
    if "logits" in found:
        logits = float_array(f"{name}_logits", found["logits"], ndim=2)
        if logits.shape[1] != classes:
            raise ValueError(f"{name}_logits: {classes} classes expected, got {logits.shape[1]}")
        if are_probabilities(logits):
            if "level of the logits" in score.info.needs:
                raise ValueError(
                    f"{name}_logits: these are probabilities, of which '{score.info.name}' says "
                    "nothing; give logits, from before the softmax"
                )
            logits = log_probabilities(logits)
        outputs = Outputs(logits, np.zeros((len(logits), 0)), labels)
        return score.score_samples(outputs), outputs.correct
    confidence = float_array(f"{name}_confidence", found["confidence"])
    if name != "test":  # no answer to an image of no known class is right
        return confidence, np.zeros(len(labels), bool)
    if "predictions" not in found:
        raise ValueError("test_predictions: missing; whether an answer is right follows from them")
    predictions = float_array("test_predictions", found["predictions"])
    if not np.isin(predictions, np.arange(-1, classes)).all():
        raise ValueError(
            f"test_predictions: numbers of classes, 0 to {classes - 1}, or -1 expected"
        )
    return confidence, predictions == labels


def rows(
    parameters: Parameters,
    benchmark: Benchmark,
    files: Sequence[Path],
    *,
    name: str = "yours",
    score: str = "msp",
) -> pd.DataFrame:
    """Return the results table of somebody's own answers, a run for each file.

    They are measured like a method's, and stand beside those of the network that `parameters`
    evaluate, under its name, since a table is about one; their own may be another.

    Parameters
    ----------
    parameters, benchmark
        What the images are those of.
    files : sequence of Path
        See `read`.
    name : str
        What tables call them.
    score : str
        See `read`.

    Raises
    ------
    ValueError
        As `read`; or the name is a method's.
    """
    from helpers.papers.run import draws
    from helpers.papers.unknown_detection.detectors import Answer
    from helpers.papers.unknown_detection.experiment import measure

    if name in names():
        raise ValueError(f"name: '{name}' is a method of the benchmark's own; take another one")
    listed, needed = manifest(benchmark), ["test", "near", *benchmark.far]
    found = []
    for run, path in enumerate(files):
        said = read(path, listed, needed, score=score)
        answers = {one: Answer(*both) for one, both in said.items()}
        identity = {
            "tier": parameters.tier, "paper": parameters.paper, "data_set": parameters.data_set,
            "backbone": parameters.network, "run": run, "method": f"{YOURS}{name}",
            "notes": f"answers that {path.name} has",
        }  # fmt: skip
        content = {"file": sha256_file(path), "score": score, "parameters": parameters.decisive()}
        provenance = results.provenance(content, seed=parameters.seed, device="none", seconds=0.0)
        measured = measure(answers, [*benchmark.far], draws(parameters), parameters.data_set)
        found.append(results.tidy((identity | row for row in measured), provenance))
    return pd.concat(found, ignore_index=True)
