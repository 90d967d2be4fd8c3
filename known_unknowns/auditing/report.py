"""The files that an audit writes: numbers as JSON, one HTML page, and the rejector."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

from helpers import __version__
from helpers.files import atomic_path
from known_unknowns.auditing import findings
from known_unknowns.auditing.sentences import write_page

#: Files that an audit writes into its folder.
WRITTEN = ("report.html", "audit.json", "rejector.safetensors")
#: Numbers in ``audit.json``, in their order; most are attributes of `Audit`.
KEYS = (
    "version model doubts summary requirements settings sha256 images unreadable accuracy "
    "temperature sureness calibration ranking left_out recommended as_good confirmed thresholds "
    "deployed classes answers images_needed_by_answer strata images_needed_by_stratum curve "
    "picture unlabelled drift most_wrongly_sure suspected_labels findings notes"
).split()
#: Number of sets of unknown images in the picture: the sets with the most accepted images.
BARS = 8
#: Number of the most confident errors that are shown.
ERRORS = 12
NAMES = {"ece": "ECE", "low": "from", "high": "to", "floor": "ECE by chance", "nll": "NLL",
         "brier": "Brier score", "aurc": "AURC", "auroc": "AUROC", "fpr95": "FPR95",
         "coverage": "kept at the risk", "risk": "wrong at the coverage"}  # fmt: skip


def as_dict(audit: SimpleNamespace) -> dict:
    """Return all numbers of the report in plain JSON; single images only for the worst errors."""
    inputs, names = audit.inputs, audit.inputs.class_names
    labels, predictions = inputs.validation.labels, inputs.validation.predictions
    files = inputs.files or range(len(labels))
    drift = None
    if inputs.production is not None:
        drift = audit.drift | {"accepted": findings.accepted_unlabelled(audit)}
    groups = ("validation", "train", "production")
    images = {name: len(getattr(inputs, name) or ()) for name in groups}
    images |= {"choosing": len(audit.choosing), "measuring": len(audit.measuring)}
    images["grouped"] = inputs.grouped
    for kind in ("ood", "families"):
        images[kind] = {name: len(part) for name, part in getattr(inputs, kind).items()}
    sureness = dict(zip(("right", "low", "high"), audit.accuracy, strict=True))
    numbers = vars(audit) | {
        "version": __version__,
        "model": inputs.source,
        "summary": findings.summary(audit),
        "sha256": inputs.sha256,
        "images": images,
        "unreadable": inputs.unreadable,
        "sureness": {"claimed": audit.claimed.mean()} | sureness,
        "calibration": audit.calibration.to_dict("index"),
        "recommended": audit.best[0],
        "as_good": audit.best[1:],
        "curve": thresholds(audit),
        "picture": bars(audit),
        "drift": drift,
        "most_wrongly_sure": [
            {"image": files[i], "label": names[labels[i]], "predicted": names[predictions[i]],
             "confidence": audit.sure[i]}
            for i in audit.wrong[:100].tolist()
        ],
        "suspected_labels": [files[i] for i in audit.suspected_labels.tolist()],
        "findings": findings.findings(audit),
    }  # fmt: skip
    return _plain({name: numbers[name] for name in KEYS})


def thresholds(audit: SimpleNamespace) -> list[dict]:
    """Return thresholds that each reject another tenth, and the rejector's: at most eleven rows.

    ``coverage`` and ``risk`` are measured on the measuring half.  Equal thresholds are one row.
    """
    scores, rows = audit.samples["validation"], []
    promised = {audit.threshold.value} if audit.threshold else set()
    tenths = np.quantile(scores, np.arange(10) / 10, method="nearest").tolist()
    for value in sorted({*tenths} | promised):
        accepted = scores >= value
        rows.append(
            {
                "threshold": value,
                "coverage": accepted.mean(),
                "risk": (~audit.correct[accepted]).mean(),
                "ood_accepted": {
                    name: (audit.samples[name] >= value).mean() for name in audit.inputs.ood
                },
                "promised": value in promised,
            }
        )
    return rows


def bars(audit: SimpleNamespace) -> list[dict]:
    """Return the shares of each group of images by outcome; without a rejector all are accepted.

    ``right``, ``wrong`` (accepted; an unknown image is wrong), ``unsure`` (accepted, without a
    label) and ``left`` (to a person) add up to 1.  Validation images are the measuring half.
    """
    deployed, samples = audit.threshold, audit.samples
    value = deployed.value if deployed else -np.inf
    accepted = samples["validation"] >= value
    shares = [(accepted & audit.correct).mean(), (accepted & ~audit.correct).mean(), 0.0]
    rows = [("images like yours", *shares, (~accepted).mean())]
    if deployed:
        unknown = sorted(deployed.ood_accepted.items(), key=lambda pair: -pair[1])
        rows += [(f"unknown: {name}", 0.0, part, 0.0, 1 - part) for name, part in unknown[:BARS]]
        if "production" in samples:
            part = float((samples["production"] >= value).mean())
            rows.append(("unlabelled images", 0.0, 0.0, part, 1 - part))
    names = ("images", "right", "wrong", "unsure", "left")
    return [dict(zip(names, row, strict=True)) for row in rows]


def save(audit: SimpleNamespace, folder: str | os.PathLike) -> list[Path]:
    """Write `WRITTEN` (report, numbers, and a rejector if any), and return the files.

    The rejector of an earlier audit in the folder is removed before the new ``audit.json`` appears.
    After a kill at any time, ``audit.json`` describes the rejector if there is one.
    """
    if "matplotlib.pyplot" not in sys.modules:
        import matplotlib as mpl

        mpl.use("agg")  # no windows are shown
    from known_unknowns.auditing import figures

    page, json_file, place = (Path(folder) / name for name in WRITTEN)
    numbers = as_dict(audit)
    with atomic_path(json_file) as temporary:
        write_json(temporary, numbers)
        constants = {"names": NAMES, "few": ERRORS, "shown": BARS}
        drawn = figures.draw_report(audit, ERRORS)
        write_page(page, "report.html", numbers=numbers, figures=drawn, **constants)
        place.unlink(missing_ok=True)
    if audit.rejector is None:
        return [page, json_file]
    audit.rejector.save(place)
    return [page, json_file, place]


def write_json(path: Path, numbers: Mapping) -> None:
    """Write numbers as JSON; all values must be finite."""
    text = json.dumps(numbers, indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _plain(value):
    """Return a value in plain JSON (numbers, lists and mappings); NaN becomes None."""
    if isinstance(value, pd.DataFrame):
        value = value.to_dict("records")
    elif is_dataclass(value):
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
