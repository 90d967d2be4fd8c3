"""The files that an audit writes: numbers as JSON, one HTML page, and the rejector."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from helpers import __version__
from helpers.files import atomic_path
from known_unknowns.auditing import findings, labelling
from known_unknowns.auditing.rejector import Rejector
from known_unknowns.auditing.sentences import write_page
from known_unknowns.auditing.thresholds import share
from known_unknowns.auditing.units import of_unit

if TYPE_CHECKING:
    from known_unknowns.auditing.auditing import Audit

#: Files that an audit writes into its folder.
WRITTEN = ("report.html", "audit.json", findings.REJECTOR, labelling.TABLE)
#: Names of the counts of `watch` for the rejector, and for earlier rejectors.
COUNTS = "rejector.watch*"
#: Files of an earlier audit that may be replaced; the counts are kept, their lock has a dot before.
REPLACED = (*WRITTEN, f"*{COUNTS}")
#: Numbers in ``audit.json``, in their order; most are attributes of `Audit`.
KEYS = (
    "version date command model doubts summary requirements settings sha256 images unreadable "
    "accuracy "
    "temperature sureness calibration ranking left_out recommended as_good confirmed thresholds "
    "deployed classes answers images_needed_by_answer strata images_needed_by_stratum curve "
    "picture unlabelled drift most_wrongly_sure suspected_labels findings notes"
).split()
#: Number of sets of unknown images in the picture: the sets with the most accepted images.
BARS = 8
#: Number of the most confident errors that are shown.
ERRORS = 12
#: Headings of the columns of numbers.
NAMES = {
    "ece": "ECE",
    "low": "from",
    "high": "to",
    "floor": "ECE by chance",
    "nll": "NLL",
    "brier": "Brier score",
    "aurc": "AURC (%)",
    "auroc": "AUROC",
    "fpr95": "FPR95",
    "coverage": "kept at the risk",
    "risk": "wrong at the coverage",
}


def as_dict(audit: Audit) -> dict:
    """Return all numbers of the report in plain JSON; single images only for the worst errors."""
    inputs = audit.inputs
    right, low, high = audit.accuracy
    drift = None
    if audit.drift is not None:
        drift = audit.drift._asdict() | {"accepted": findings.accepted_unlabelled(audit)}
    files = inputs.files or range(len(inputs.validation))
    numbers = vars(audit) | {
        "version": __version__,
        "date": f"{date.today():%Y-%m-%d}",
        "model": inputs.source,
        "summary": audit.summary(),
        "sha256": inputs.sha256,
        "images": _images(audit),
        "unreadable": inputs.unreadable,
        "sureness": {"claimed": audit.claimed.mean(), "right": right, "low": low, "high": high},
        "calibration": audit.calibration.to_dict("index"),
        "recommended": audit.best[0],
        "as_good": audit.best[1:],
        "curve": thresholds(audit),
        "picture": bars(audit),
        "drift": drift,
        "most_wrongly_sure": _surest_errors(audit, files),
        "suspected_labels": [files[index] for index in audit.suspected_labels.tolist()],
        "findings": findings.findings(audit),
    }
    return _plain({name: numbers[name] for name in KEYS})


def _images(audit: Audit) -> dict:
    """Return the number of images of each group."""
    inputs = audit.inputs
    return {
        "validation": len(inputs.validation),
        "train": len(inputs.train or ()),
        "production": len(inputs.production or ()),
        "choosing": len(audit.choosing),
        "measuring": len(audit.measuring),
        "grouped": inputs.grouped,
        "ood": {name: len(part) for name, part in inputs.ood.items()},
        "families": {name: len(part) for name, part in inputs.families.items()},
    }


def _surest_errors(audit: Audit, files: Sequence) -> list[dict]:
    """Return the most confident errors, at most a hundred."""
    names = audit.inputs.class_names
    validation = audit.inputs.validation
    return [
        {
            "image": files[index],
            "label": names[validation.labels[index]],
            "predicted": names[validation.predictions[index]],
            "confidence": audit.sure[index],
        }
        for index in audit.wrong[:100].tolist()
    ]


def thresholds(audit: Audit) -> list[dict]:
    """Return thresholds that each reject another tenth, and the rejector's: at most eleven rows.

    ``coverage`` and ``risk`` are measured on the measuring half.  Equal thresholds are one row.
    """
    scores = audit.samples["validation"]
    guaranteed = {audit.threshold.value} if audit.threshold else set()
    tenths = np.quantile(scores, np.arange(10) / 10, method="nearest").tolist()
    rows = []
    for value in sorted(guaranteed.union(tenths)):
        accepted = scores >= value
        rows.append(
            {
                "threshold": value,
                "coverage": accepted.mean(),
                "risk": share(~audit.correct[accepted])[0],
                "ood_accepted": {
                    name: (audit.samples[name] >= value).mean() for name in audit.inputs.ood
                },
                "guaranteed": value in guaranteed,
            }
        )
    return rows


def bars(audit: Audit) -> list[dict]:
    """Return the shares of each group of images by outcome; without a rejector all are accepted.

    ``right``, ``wrong`` (accepted; an unknown image is wrong), ``unsure`` (accepted, without any
    label) and ``left`` (to a person) add up to 1.  Validation images are the measuring half.  If
    some unlabelled images have labels, these give the shares of all.
    """
    deployed = audit.threshold
    samples = audit.samples
    value = deployed.value if deployed else -np.inf
    accepted = samples["validation"] >= value
    right = (accepted & audit.correct).mean()
    wrong = (accepted & ~audit.correct).mean()
    unit = audit.inputs.unit
    ours = of_unit("images like yours", unit)
    rows = [_bar(ours, right=right, wrong=wrong, left=(~accepted).mean())]
    accepted_sets = deployed.ood_accepted if deployed else {}
    unknown = sorted(accepted_sets.items(), key=lambda pair: -pair[1])
    rows += [_bar(f"unknown: {name}", wrong=part, left=1 - part) for name, part in unknown[:BARS]]
    if "production" in samples:
        part = float((samples["production"] >= value).mean())
        seen = audit.unlabelled and audit.unlabelled.labelled
        shares = {"unsure": part}
        if seen and (seen.risk or not deployed):
            # without a rejector, all answers are accepted
            wrong = seen.risk.value if seen.risk and deployed else 1 - seen.accuracy.value
            shares = {"wrong": part * wrong, "right": part * (1 - wrong)}
        rows.append(_bar(of_unit("unlabelled images", unit), **shares, left=1 - part))
    return rows


def _bar(images: str, **shares: float) -> dict:
    """Return the bar of a group; shares that are not given are 0."""
    none = dict.fromkeys(("right", "wrong", "unsure", "left"), 0.0)
    return {"images": images} | none | shares


def save(audit: Audit, folder: str | os.PathLike) -> list[Path]:
    """Write `WRITTEN` (report, numbers, and a rejector if any), and return the files.

    The rejector of an earlier audit in the folder is removed before the new ``audit.json`` appears.
    After a kill at any time, ``audit.json`` describes the rejector if there is one.

    Raises
    ------
    ValueError
        The folder has labels that the audit does not have, or counts of `watch` for another
        rejector.
    """
    if "matplotlib.pyplot" not in sys.modules:
        import matplotlib as mpl

        mpl.use("agg")  # no windows are shown
    from known_unknowns.auditing import figures

    page, json_file, rejector_file, table = [Path(folder) / name for name in WRITTEN]
    labelling.check_kept(table, audit.inputs)
    same = holds(rejector_file, audit.rejector)
    if not same and rejector_file.with_suffix(".watch.json").exists():
        raise ValueError(f"{folder} has counts of watch for another rejector; name another folder")
    numbers = as_dict(audit)
    with atomic_path(json_file) as temporary:
        write_json(temporary, numbers)
        write_page(
            page,
            audit.inputs.unit,
            numbers=numbers,
            figures=figures.draw_report(audit, ERRORS),
            names=NAMES,
            few=ERRORS,
            shown=BARS,
        )
        if not same:
            rejector_file.unlink(missing_ok=True)
        table.unlink(missing_ok=True)
    written = [page, json_file]
    if audit.rejector is not None:
        if not same:  # the checksum of another file would differ, and counts of watch name it
            audit.rejector.save(rejector_file)
        written.append(rejector_file)
    if audit.inputs.production is not None:
        labelling.write_table(table, audit.inputs, audit.settings.seed)
        written.append(table)
    return written


def holds(path: Path, rejector: Rejector | None) -> bool:
    """Return whether a file has this rejector."""
    with suppress(OSError, ValueError):
        return Rejector.load(path) == rejector
    return False


def write_json(path: Path, numbers: Mapping) -> None:
    """Write numbers as JSON; all values must be finite."""
    text = json.dumps(numbers, indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _plain(value: Any) -> Any:
    """Return a value in plain JSON (numbers, lists and mappings); NaN becomes None."""
    if isinstance(value, pd.DataFrame):
        value = value.to_dict("records")
    elif is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
