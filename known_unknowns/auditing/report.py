"""The files that an audit leaves: numbers as JSON, one HTML page, and the rejector."""

from __future__ import annotations

import base64
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, is_dataclass, replace
from functools import cache, partial
from html import escape
from pathlib import Path

import jinja2
import numpy as np
import pandas as pd
from markupsafe import Markup

from helpers import __version__, metrics
from helpers.files import atomic_path
from known_unknowns.auditing import findings, gates, sentences
from known_unknowns.auditing.record import Measured

WRITTEN = ("report.html", "audit.json", "rejector.safetensors")
"""What an audit leaves in its folder."""
BARS = 8
"""Sets of unknown images in the picture, those of which most are accepted."""
ERRORS = 12
"""The surest ones, as many as are shown."""
NAMES = {"ece": "ECE", "low": "from", "high": "to", "floor": "ECE by chance", "nll": "NLL",
         "brier": "Brier score", "aurc": "AURC", "auroc": "AUROC", "fpr95": "FPR95",
         "coverage": "kept at the risk", "risk": "wrong at the coverage"}  # fmt: skip


def as_dict(audit: Measured) -> dict:
    """Return every number of the report as JSON holds it; of single images the worst errors."""
    inputs, names = audit.inputs, audit.inputs.class_names
    labels, predictions = inputs.validation.labels, inputs.validation.predictions

    def image(place: int) -> str | int:
        return inputs.files[place] if inputs.files else int(place)

    prediction = drift = None
    if inputs.production is not None:
        prediction = asdict(replace(audit.prediction, regressions={}))
        del prediction["regressions"]
        accepted = findings.accepted_unlabelled(audit)
        drift = asdict(audit.drift) | {"found": audit.drift.found(), "accepted": accepted}
    groups = ("validation", "train", "production")
    sizes = {name: len(getattr(inputs, name) or ()) for name in groups}
    halves = {"choosing": len(audit.choosing), "measuring": len(audit.measuring)}
    sets = {kind: {name: len(part) for name, part in getattr(inputs, kind).items()}
            for kind in ("ood", "families")}  # fmt: skip
    sureness = dict(zip(("right", "low", "high"), audit.accuracy, strict=True))
    return _plain(
        {
            "version": __version__,
            "model": inputs.source,
            "doubts": audit.doubts,
            "summary": findings.summary(audit),
            "requirements": gates.judge(audit, audit.settings["require"]),
            "settings": audit.settings,
            "sha256": inputs.sha256,
            "images": sizes | halves | {"grouped": inputs.grouped} | sets,
            "unreadable": inputs.unreadable,
            "accuracy": audit.accuracy,
            "temperature": audit.temperature,
            "sureness": {"claimed": float(audit.claimed.mean())} | sureness,
            "calibration": audit.calibration.to_dict("index"),
            "ranking": audit.ranking,
            "left_out": audit.left_out,
            "recommended": audit.best[0],
            "as_good": audit.best[1:],
            "confirmed": audit.confirmed,
            "thresholds": audit.thresholds,
            "deployed": audit.deployed,
            "classes": audit.by_class,
            "answers": audit.by_answer[1],
            "images_needed_by_answer": audit.by_answer[0],
            "strata": audit.by_stratum[1],
            "images_needed_by_stratum": audit.by_stratum[0],
            "curve": thresholds(audit),
            "picture": bars(audit),
            "prediction": prediction,
            "unlabelled": audit.unlabelled,
            "drift": drift,
            "most_wrongly_sure": [
                {
                    "image": image(place),
                    "label": names[labels[place]],
                    "predicted": names[predictions[place]],
                    "confidence": float(audit.sure[place]),
                }
                for place in audit.wrong[:100]
            ],
            "suspected_labels": [image(place) for place in audit.suspected_labels],
            "findings": findings.findings(audit),
            "notes": audit.notes,
        }
    )


def thresholds(audit: Measured) -> list[dict]:
    """Return ten thresholds, each of which rejects another tenth, and the rejector's: eleven rows.

    ``coverage`` and ``risk`` are those of the measuring half.
    """
    scores, deployed = audit.samples["validation"], audit.threshold
    values = {*np.quantile(scores, np.arange(10) / 10, method="nearest").tolist()}
    promised = None if deployed is None else deployed.value
    rows = []
    for value in sorted(values if promised is None else values | {promised}):
        accepted = scores >= value
        unknown = {name: float((audit.samples[name] >= value).mean()) for name in audit.inputs.ood}
        kept, risk = float(accepted.mean()), float((~audit.correct[accepted]).mean())
        rows.append({"threshold": value, "coverage": kept, "risk": risk, "ood_accepted": unknown,
                     "promised": value == promised})  # fmt: skip
    return rows


def bars(audit: Measured) -> list[dict]:
    """Return what the rejector makes of each group of images; without one, how right the model is.

    ``right``, ``wrong`` (accepted; an unknown image is wrong), ``unsure`` (accepted, and nobody
    knows) and ``left`` (to a person) add up to 1.  Validation images are the measuring half.
    """

    def bar(images: str, right=0.0, wrong=0.0, unsure=0.0, left=0.0) -> dict:
        shares = {"right": right, "wrong": wrong, "unsure": unsure, "left": left}
        return {"images": images} | {name: float(share) for name, share in shares.items()}

    deployed, correct = audit.threshold, audit.correct
    if deployed is None:
        return [bar("images like yours", right=correct.mean(), wrong=(~correct).mean())]
    accepted = audit.samples["validation"] >= deployed.value
    right, wrong = (accepted & correct).mean(), (accepted & ~correct).mean()
    rows = [bar("images like yours", right=right, wrong=wrong, left=(~accepted).mean())]
    unknown = sorted(deployed.ood_accepted.items(), key=lambda pair: -pair[1])
    rows += [bar(f"unknown: {name}", wrong=share, left=1 - share) for name, share in unknown[:BARS]]
    if "production" in audit.samples:
        share = float((audit.samples["production"] >= deployed.value).mean())
        rows.append(bar("unlabelled images", unsure=share, left=1 - share))
    return rows


def save(audit: Measured, folder: str | os.PathLike) -> list[Path]:
    """Write `WRITTEN`: report, numbers, and a rejector if there is a threshold; return the files.

    The rejector of an audit that was saved there before is removed, before this ``audit.json``
    takes its name: a kill at any time leaves no rejector of which ``audit.json`` does not speak.
    """
    numbers = as_dict(audit)
    page, findings, place = (Path(folder) / name for name in WRITTEN)
    written = [page, findings]
    with atomic_path(findings) as temporary:
        write_json(temporary, numbers)
        write_page(page, "report.html", **page_data(numbers), figures=figures(audit))
        place.unlink(missing_ok=True)
    if (rejector := audit.rejector) is not None:
        written.append(place)
        rejector.save(place)
    return written


def write_json(path: Path, numbers: Mapping) -> None:
    """Write numbers as JSON, in which everything is finite."""
    text = json.dumps(numbers, indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def write_page(path: Path, template: str, **data) -> None:
    """Write a page that needs nothing beside it: a policy forbids connections and scripts."""
    style = Markup((sentences.TEMPLATES / "report.css").read_text(encoding="utf-8"))
    data = {"style": style, "version": __version__} | data
    text = _environment().get_template(template).render(data)
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def page_data(numbers: Mapping) -> dict:
    """Return what the template of the report shows beside its figures."""
    rows = pd.DataFrame(numbers["ranking"])
    rows = rows[rows["metric"] != "fpr95"]
    columns = rows["metric"].map(NAMES) + ", " + rows["set"].replace({"": "ID", "all": "all"})
    wide = rows.assign(column=columns).pivot(index="score", columns="column", values="value")
    wide = wide.loc[rows["score"].unique(), columns.unique()]
    classes = [row for row in numbers["classes"] if row["images"]]
    return {
        "said": numbers,
        "names": NAMES,
        "ranking": [(sentences.title(row[0]), *row[1:]) for row in wide.itertuples()],
        "columns": list(wide.columns),
        "left_out": [(sentences.title(name), why) for name, why in numbers["left_out"].items()],
        "classes": sorted(classes, key=lambda row: row["right"][0]),
        "few": ERRORS,
        "shown": BARS,
        "kept": {name: row for name, row in numbers["thresholds"].items() if not row["problem"]},
    }


def to_html(sentence: str) -> Markup:
    """Return a sentence as HTML; what stands between backticks is code.

    >>> to_html("Call `f` for <b>.")
    Markup('Call <code>f</code> for &lt;b&gt;.')
    """
    sentence = escape(sentence).replace(" %", "&nbsp;%")
    pieces = sentence.split("`")
    if len(pieces) % 2:  # else there is a backtick of a name
        pieces[1::2] = [f"<code>{piece}</code>" for piece in pieces[1::2]]
        return Markup("".join(pieces))
    return Markup(sentence)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(sentences.TEMPLATES), undefined=jinja2.StrictUndefined,
        autoescape=True, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"sentence": to_html}
    return environment


def figures(audit: Measured) -> dict[str, list[tuple[str, str]]]:
    """Return the figures of each finding, words and address of the image; none is left open."""
    if "matplotlib.pyplot" not in sys.modules:
        import matplotlib as mpl

        mpl.use("agg")  # nobody looks at windows
    import matplotlib.pyplot as plt

    from helpers.report.figures import use_style

    images: dict[str, list[tuple[str, str]]] = {}
    with plt.rc_context():
        use_style()
        for name, words, draw in _drawings(audit):
            ax = np.ravel(draw())[0]
            buffer = io.BytesIO()
            ax.figure.set_dpi(110)
            ax.figure.canvas.print_png(buffer)  # savefig would find the layout twice
            plt.close(ax.figure)
            data = base64.b64encode(buffer.getvalue()).decode()
            images.setdefault(name, []).append((words, f"data:image/png;base64,{data}"))
    return images


def _drawings(audit: Measured) -> Iterator[tuple[str, str, Callable]]:
    """Yield finding, words and function of each figure."""
    from helpers.report.figures import reliability_grid
    from known_unknowns.auditing import figures as chapter

    correct, samples, best = audit.correct, audit.samples, audit.best[0]
    worst = audit.wrong[:ERRORS]
    pictures = audit.inputs.pictures(worst, size=96) if len(worst) else None
    if pictures is not None:
        names, outputs = audit.inputs.class_names, audit.inputs.validation
        captions = [
            f"{names[outputs.predictions[i]][:16]}, {100 * audit.sure[i]:.0f} %\n"
            f"label: {names[outputs.labels[i]][:16]}".replace("$", r"\$")
            for i in worst
        ]
        yield "right", "The surest errors", partial(chapter.surest_errors, pictures, captions)

    before, after = (part[audit.measuring] for part in (audit.claimed, audit.sure))
    panels = {
        ("the model", "before"): metrics.reliability_curve(before, correct),
        ("the model", "after"): metrics.reliability_curve(after, correct),
    }
    yield "sure", "Accuracy against confidence", partial(reliability_grid, panels)

    titles = {name: sentences.title(name) for name in audit.ranking["score"].unique()}
    draw = partial(chapter.score_ranking, audit.ranking, titles, chosen=best)
    yield "score", "AURC of every score", draw

    promised = {
        f"promised {threshold.wish}": threshold
        for threshold in audit.thresholds.values()
        if not threshold.problem
    }
    ways = {titles[best]: samples["validation"], "largest probability": after}
    curves = {name: metrics.risk_coverage_curve(part, correct) for name, part in ways.items()}
    points = {
        name: (threshold.coverage[0], threshold.risk[0]) for name, threshold in promised.items()
    }
    yield "accept", "Risk against coverage", partial(chapter.selective_risk, curves, points)

    groups = {"validation": samples["validation"]}
    if audit.inputs.ood:
        unknown = [samples[name] for name in audit.inputs.ood]
        groups["sets of unknown images"] = np.concatenate(unknown)
    groups |= {"unlabelled": samples["production"]} if "production" in samples else {}
    lines = {name: threshold.value for name, threshold in promised.items()}
    draw = partial(chapter.scores_and_thresholds, groups, lines, score=titles[best])
    yield "accept", "Scores and thresholds", draw

    predicted = audit.prediction
    if predicted is not None and predicted.sets >= 9 and predicted.regressions:
        line = predicted.regressions["auroc"]
        draw = partial(chapter.prediction_on_line, line, predicted.gscore, metric="auroc")
        yield "unlabelled", "The prediction on its line", draw


def _plain(value):
    """Return a value as JSON holds it: plain numbers, lists and mappings; NaN becomes None."""
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
