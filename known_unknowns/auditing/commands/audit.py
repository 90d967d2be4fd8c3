"""``known-unknowns audit`` and ``demo``: from outputs to a report."""

from __future__ import annotations

import argparse
import inspect
import os
import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from known_unknowns.auditing.commands.places import (
    FAILS,
    HOLDS,
    add_out,
    check_place,
    output_folder,
    path_of,
    teller,
)

if TYPE_CHECKING:
    from known_unknowns.auditing.auditing import Audit
    from known_unknowns.auditing.inputs import Inputs

#: Options of the command that are arguments of `known_unknowns.audit`.
OPTIONS = "risk coverage costs confidence unknown_share score fallback require unit".split()
#: The folder that the demo writes.
DEMO = "known_unknowns_demo"


def add_audit(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = inspect.getdoc(run_audit)
    add = parser.add_argument
    add("file", nargs="?", type=path_of, help="outputs of the classifier, see below")
    share: dict[str, Any] = {"type": float, "metavar": "SHARE"}
    _add_target(parser, share)
    add(
        "--confidence",
        default=0.95,
        help="confidence of the guarantee of a risk (0.95)",
        **share,
    )
    add(
        "--share",
        dest="unknown_share",
        default=0.0,
        help="largest share of unknown images for the guarantee of a risk (0)",
        **share,
    )
    add(
        "--fallback",
        choices=("smallest", "average"),
        default="",
        help="if the risk cannot be guaranteed, deploy the smallest that can, or this risk on "
        "average",
    )
    add(
        "--score",
        default="",
        help="a score, fixed in advance, as msp (default: chosen, for 1,000 images or groups)",
    )
    add(
        "--require",
        action="append",
        default=[],
        help="a requirement; any number of times, see below",
    )
    add(
        "--labels",
        type=path_of,
        metavar="TABLE",
        help="to_label.csv of an earlier audit of FILE, with labels filled in",
    )
    add("--unit", default="", help="a noun for one row of FILE, as text (image)")
    _add_network(parser)
    add_out(parser, "folder of the report (for outputs.npz: outputs_audit)")


def _add_target(parser: argparse.ArgumentParser, share: dict[str, Any]) -> None:
    target = parser.add_mutually_exclusive_group()
    target.add_argument(
        "--risk",
        help="keep as many answers as possible with at most this share wrong (0.05)",
        **share,
    )
    target.add_argument(
        "--coverage", help="or accept at least this share of images like those in FILE", **share
    )
    target.add_argument(
        "--reviews",
        dest="coverage",
        type=_coverage_of,
        metavar="R/N",
        help="or give at most R of N images to people, on average, as 200/2000",
    )
    target.add_argument(
        "--costs",
        nargs=2,
        type=float,
        metavar=("ERROR", "REVIEW"),
        help="or the lowest cost, if an accepted error costs ERROR and a review REVIEW",
    )


def add_outputs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", help="a folder of images")
    _add_weights(parser)
    parser.add_argument("--out", type=path_of, required=True, help="file to write, as new.npz")


def _add_weights(parser) -> None:
    parser.add_argument("--model", help="the name of a network of timm (extra torch)")
    parser.add_argument(
        "--weights",
        metavar="FILE",
        type=os.path.expanduser,
        help="its weights, if not the published ones",
    )
    parser.add_argument("--download", action="store_true", help="download the published weights")


def _add_network(parser: argparse.ArgumentParser) -> None:
    network = parser.add_argument_group("or a network of timm and folders, instead of FILE")
    _add_weights(network)
    network.add_argument("--validation", metavar="DIR", help="a folder for each class")
    network.add_argument("--train", metavar="DIR", help="training images, a folder for each class")
    network.add_argument(
        "--ood",
        metavar="DIR",
        action="append",
        default=[],
        help="images of unknown classes; any number of times",
    )
    network.add_argument("--production", metavar="DIR", help="unlabelled images")
    network.add_argument(
        "--classes", type=path_of, help="names of the classes in the model's order, a line each"
    )


def run_audit(given: argparse.Namespace) -> int:
    """Write the report of a file of outputs, or of a network and folders.

    FILE: .npz, as numpy.savez(file, logits=..., labels=...) writes.  Optional arrays are features,
    head_weight, head_bias, train_logits, train_labels, train_features, ood_NAME_logits,
    ood_NAME_features, production_logits, production_features, production_labels,
    production_files, class_names, files, groups and strata; probabilities may replace logits.  Or
    a table, .csv or .parquet, with columns logit_0 ... or prob_0 ..., feature_0 ..., label, set,
    file, group and stratum.

    REQUIRE: NAME>=NUMBER or NAME<=NUMBER, as "accuracy>=0.9" or "auroc:pets>=0.8"; names are
    accuracy, coverage, coverage_at_risk_0.05, risk, ece, ece_scaled, aurc, auroc and fpr95.  A
    requirement holds if it holds for the whole 95 % interval; a risk, if it is guaranteed.

    Exit status: 0, 1 if a requirement does not hold, 2 if the usage or the file is wrong.
    """
    source = given.file or given.model or "model"
    tell = teller(f"reads {source}")
    from known_unknowns.auditing.findings import read_requirement
    from known_unknowns.auditing.report import REPLACED

    folder = output_folder(given, source, REPLACED)
    for condition in given.require:
        read_requirement(condition)

    from known_unknowns.auditing.auditing import audit
    from known_unknowns.auditing.labelling import TABLE, check_kept, with_labels

    inputs = _gathered(given)
    if given.labels is not None:
        inputs = with_labels(inputs, given.labels)
    check_kept(folder["path"] / TABLE, inputs)
    options = {name: vars(given)[name] for name in OPTIONS if vars(given)[name] is not None}
    target = "risk" if given.coverage is None else "coverage"
    audited = audit(inputs, target=target, tell=tell, **options)
    check_kept(folder["path"] / TABLE, inputs)  # somebody may have written labels meanwhile
    _report(audited, folder, tell, shlex.join(["known-unknowns", *given.words]))
    for row in audited.requirements:
        verdict = "holds" if row["holds"] else "DOES NOT HOLD"
        interval = "this audit has no such number"
        if row["value"] == row["value"]:
            interval = f"{row['value']:.4g} ({row['low']:.4g} to {row['high']:.4g})"
        print(f"{row['requirement']}: {verdict}, {interval}")
    return HOLDS if all(row["holds"] for row in audited.requirements) else FAILS


def _gathered(given: argparse.Namespace) -> Inputs:
    """Return the inputs of an audit from a file, or from a network and folders."""
    if (given.file is None) == (given.model is None):
        raise ValueError("FILE, or --model and --validation, expected; see --help")
    if given.model is not None:
        return _of_network(given)
    from known_unknowns.auditing.inputs import read_outputs

    folders = given.validation, given.train, given.ood, given.production, given.classes
    if any(folders) or given.weights or given.download:
        raise ValueError("a folder, --classes, --weights, --download: only with --model")
    return read_outputs(given.file)


def _of_network(given: argparse.Namespace) -> Inputs:
    """Return the inputs of an audit from a network and folders."""
    if given.model.endswith(".onnx"):
        raise ValueError(
            "--model: the name of a network of timm expected; the audit's page shows how "
            "onnxruntime writes the outputs of an ONNX file"
        )
    if Path(given.model).is_file():
        raise ValueError(f"--model: the name of a network of timm; add --weights {given.model}")
    if not given.validation:
        raise ValueError("--validation: a folder with a subfolder for each class expected")
    names = []
    if given.classes is not None:
        lines = given.classes.read_text(encoding="utf-8-sig").splitlines()
        names = [line.strip() for line in lines if line.strip()]
    return _networks().inputs_of(
        given.model,
        given.validation,
        checkpoint=given.weights,
        train=given.train,
        ood=given.ood,
        production=given.production,
        class_names=names,
        download=given.download,
    )


def _networks() -> ModuleType:
    """Return the module that runs networks, which needs PyTorch."""
    try:
        return import_module("known_unknowns.auditing.networks")
    except ImportError as error:
        raise ValueError(f"{error}; pip install '.[torch]' in the repository") from error


def run_outputs(given: argparse.Namespace) -> int:
    """Write the outputs of a network for a folder of images, for accept and watch."""
    import numpy as np

    from helpers.files import atomic_path

    if not given.model:
        raise ValueError("--model: the name of a network of timm expected")
    check_place(given.out)
    if given.out.exists() or given.out.suffix != ".npz":
        raise ValueError(f"--out: {given.out}: the name of a new file expected, as new.npz")
    arrays = _networks().outputs_of(given.model, given.folder, given.weights, given.download)
    with atomic_path(given.out) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]
    print(f"{given.out}: the outputs for {len(arrays['logits'])} images")
    return HOLDS


def _coverage_of(reviews: str) -> float:
    """Return the coverage that leaves this number of reviews.

    >>> _coverage_of("200/2000")
    0.9
    """
    left, _, images = reviews.partition("/")
    if not (left.isdecimal() and images.isdecimal() and 0 < int(left) < int(images)):
        raise argparse.ArgumentTypeError(f"R/N expected, as 200/2000, R below N, got {reviews!r}")
    return 1 - int(left) / int(images)


def _keep_counts(folder: Path, temporary: Path, audited: Audit) -> None:
    """Copy the counts of `watch` to the new folder; those for another rejector get a checksum."""
    from helpers.files import sha256_file
    from known_unknowns.auditing.findings import REJECTOR
    from known_unknowns.auditing.report import COUNTS, holds

    same = holds(folder / REJECTOR, audited.rejector)
    if same:
        shutil.copy(folder / REJECTOR, temporary)  # the counts name the checksum of this file
    for counts in folder.glob(COUNTS):
        name = counts.name if same else f"rejector.watch.{sha256_file(counts)[:8]}.json"
        if counts.name != name:
            print(f"The counts of watch for the earlier rejector are now in {folder / name}")
        shutil.copy(counts, temporary / name)


def _report(audited: Audit, folder: dict, tell: Callable, command: str = "") -> None:
    """Write the files of an audit; print probable problems, summary and paths."""
    from helpers.files import atomic_folder

    # the commands in the report work from the folder in which the audit was started
    audited = replace(audited, folder=str(folder["path"]), command=command)
    tell("writes the report")
    with atomic_folder(**folder) as temporary:
        written = audited.save(temporary)
        _keep_counts(folder["path"], temporary, audited)
    tell("is done")
    paths = [folder["path"] / file.name for file in written]
    doubts = [f"Check this first: {doubt}" for doubt in audited.doubts]
    print("", *doubts, *audited.summary(), "", *paths, sep="\n")


def run_demo(given: argparse.Namespace) -> int:
    from known_unknowns.auditing.inputs import open_demo
    from known_unknowns.auditing.report import REPLACED

    given.out = Path(DEMO)
    given.force = True
    folder = output_folder(given, DEMO, REPLACED)
    inputs, description = open_demo()
    print(description, flush=True)
    from known_unknowns.auditing.auditing import audit

    _report(audit(inputs), folder, tell=lambda line: None)
    print(
        "\nNext, your own model. Save its outputs in Python, and audit the file:\n"
        '    np.savez("my_outputs.npz", logits=logits, labels=labels)\n'
        "    known-unknowns audit my_outputs.npz"
    )
    return HOLDS
