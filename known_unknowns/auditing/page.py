"""The report of an audit: one HTML file that needs nothing beside it.

The first screen has five sentences and one picture; then comes a threshold to move; each finding
below is folded, and ends with what to do.  Whatever a name holds, it is text here: a policy forbids
connections, and every script but the one that moves the threshold.
"""

from __future__ import annotations

import base64
import io
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from helpers import metrics
from helpers.files import atomic_path
from known_unknowns.auditing import moving, words

if TYPE_CHECKING:
    from known_unknowns.auditing.report import Audit

ERRORS = 12
"""The surest ones, as many as are shown."""
_PARTS = {
    "right": "accepted, right",
    "wrong": "accepted, wrong or of no known class",
    "unsure": "accepted, nobody knows",
    "left": "left to a person",
}
_NAMES = {"ece": "ECE", "low": "from", "high": "to", "floor": "ECE by chance", "nll": "NLL",
          "brier": "Brier score", "aurc": "AURC", "auroc": "AUROC", "fpr95": "FPR95",
          "coverage": "kept at the risk", "risk": "wrong at the coverage"}  # fmt: skip
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def write_page(path: Path, audit: Audit, said: Mapping) -> None:
    """Write the report of an audit; `said` is its `as_dict`."""
    with atomic_path(path) as temporary:
        temporary.write_text(page(audit, said), encoding="utf-8")


def page(audit: Audit, said: Mapping) -> str:
    """Return the report of an audit as HTML.

    Parameters
    ----------
    audit : Audit
        Whose arrays are drawn.
    said : mapping
        Its `as_dict`, which has every number that is written here.
    """
    drawn = _figures(audit)
    parts = [
        f"<h1>What {escape(said['model'])} knows, and what it does not</h1>",
        _doubts(said["doubts"]),
        "<ol class=summary>" + "".join(f"<li>{to_html(one)}</li>" for one in said["summary"]),
        "</ol>",
        _picture(said),
        _requirements(said["requirements"]),
        _moved(said),
        "<h2>In detail</h2>",
    ]
    for one in said["findings"]:
        name = one["name"]
        parts += [
            f"<details id={name}><summary><b>{escape(one['heading'])}.</b> "
            f"{to_html(one['sentence'])}</summary>",
            _list(one["details"]),
            *drawn.get(name, ()),
            *(show(said) for show in _SHOWN.get(name, ())),
            f"<p class=advice><b>What to do.</b> {to_html(one['advice'])}</p></details>",
        ]
    settings = ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in said["settings"].items()
        if value is not None and name not in ("fallback", "require")
    )
    parts.append(
        f"<footer>Known Unknowns {said['version']}. {escape(settings)}. Every number of this page "
        "is in audit.json.</footer>"
    )
    from helpers.report import movable

    body = "\n".join(part for part in parts if part)
    return document(f"Audit of {said['model']}", body, runs=movable.policy())


def document(title: str, body: str, *, runs: str = "'none'") -> str:
    """Return a page with this body: nothing beside it is loaded, and no script but `runs` runs."""
    style = (Path(__file__).parent / "report.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang=en><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}; script-src {runs}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style></head>\n"
        f"<body><main>\n{body}\n</main></body></html>\n"
    )


def to_html(sentence: str) -> str:
    """Return a sentence as HTML; what stands between backticks is code.

    Examples
    --------
    >>> to_html("Call `f` for <b>.")
    'Call <code>f</code> for &lt;b&gt;.'
    """
    sentence = escape(sentence).replace(" %", "&nbsp;%")
    pieces = sentence.split("`")
    if len(pieces) % 2 == 0:  # a backtick of a name
        return sentence
    return "".join(f"<code>{one}</code>" if i % 2 else one for i, one in enumerate(pieces))


def _list(sentences: Iterable[str]) -> str:
    items = "".join(f"<li>{to_html(one)}</li>" for one in sentences)
    return f"<ul>{items}</ul>" if items else ""


def table(names: Sequence[str], rows: Iterable[Sequence]) -> str:
    """Return rows as a table; numbers are shown to three places, and NaN as a dash."""

    def cell(value) -> str:
        if value is None or value != value:
            return "<td>–</td>"
        if isinstance(value, float):
            return f"<td class=number>{value:.3f}</td>"
        return f"<td>{escape(str(value))}</td>"

    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(map(cell, row)) + "</tr>" for row in rows)
    return f"<div class=wide><table><tr>{head}</tr>{body}</table></div>"


def _picture(said: Mapping) -> str:
    """Return what becomes of a hundred images of each group, as bars."""
    used = [name for name in _PARTS if any(bar[name] for bar in said["picture"])]
    called = _PARTS if said["deployed"] else {name: name for name in used}
    legend = "".join(f"<span><i class={name}></i>{called[name]}</span>" for name in used)
    rows = []
    for bar in said["picture"]:
        parts = {name: 100 * bar[name] for name in used if bar[name]}
        told = ", ".join(f"{called[name]}: {value:.1f} %" for name, value in parts.items())
        pieces = "".join(
            f'<span class={name} style="width:{value:.3f}%">'
            + (f"{value:.1f}" if value >= 12 else "")
            + "</span>"
            for name, value in parts.items()
        )
        name = escape(bar["images"])
        rows.append(
            f'<div class=row><div class=name>{name}</div><div class=bar role=img aria-label="'
            f'{name}: {told}">{pieces}</div></div>'
        )
    shown = sum(bar["images"].startswith("unknown: ") for bar in said["picture"])
    rest = ""
    if said["deployed"] and shown < len(said["images"]["ood"]):
        rest = "<span>Of the other sets fewer are accepted; they are in the details.</span>"
    return (
        f"<figure class=bars>{''.join(rows)}<figcaption><span>Of 100 images:</span>{legend}{rest}"
        "</figcaption></figure>"
    )


def _moved(said: Mapping) -> str:
    """Return the figure with a threshold to move."""
    if not (figure := moving.draw(said)):
        return ""
    return (
        "<h2>Move the threshold</h2><p>Drag in the picture, or move the slider, to see what another"
        " threshold does on these images. To look, not to choose: a promise holds for the threshold"
        " that was wished for beforehand. Whoever likes another one here wishes for its risk, and "
        f"audits new images.</p>{figure}"
    )


def _doubts(doubts: Sequence[Mapping]) -> str:
    """Return what speaks against the images, before anything that is said of them."""
    if not doubts:
        return ""
    items = "".join(
        f"<li>{to_html(one['sentence'])} <b>{to_html(one['advice'])}</b></li>" for one in doubts
    )
    return f"<div class=doubts><p><b>First of all.</b></p><ul>{items}</ul></div>"


def _requirements(judged: Sequence[Mapping]) -> str:
    if not judged:
        return ""
    names = ("required", "found", "from", "to", "holds")
    rows = [(*list(one.values())[:-1], "yes" if one["holds"] else "no") for one in judged]
    return "<h2>What was required</h2>" + table(names, rows)


def _calibration(said: Mapping) -> str:
    rows = said["calibration"]
    names = list(rows["before"])
    return table(
        ("temperature scaling", *(_NAMES[name] for name in names)),
        [(when, *(one[name] for name in names)) for when, one in rows.items()],
    )


def _errors(said: Mapping) -> str:
    worst = said["most_wrongly_sure"][:ERRORS]
    if not worst:
        return ""
    names = ("image", "label", "predicted", "confidence")
    return "<h3>The surest errors</h3>" + table(names, [list(one.values()) for one in worst])


def _classes(said: Mapping) -> str:
    rows = [one for one in said["classes"] if one["images"]]
    rows = sorted(rows, key=lambda one: one["right"][0])
    names = ("class", "images", "right", "from", "to", "accepted", "of these wrong", "from", "to")

    def shown(some: Sequence[Mapping]) -> str:
        return table(
            names,
            [(one["name"], one["images"], *one["right"], one["accepted"], *one["wrong"])
             for one in some],
        )  # fmt: skip

    if len(rows) <= ERRORS:
        return "<h3>By class</h3>" + shown(rows)
    return (
        f"<h3>The classes on which it is right least often</h3>{shown(rows[:ERRORS])}"
        f"<details class=long><summary>the other classes</summary>{shown(rows[ERRORS:])}</details>"
    )


def _ranking(said: Mapping) -> str:
    rows = pd.DataFrame(said["ranking"])
    rows = rows[rows["metric"] != "fpr95"]
    names = rows["metric"].map(_NAMES) + ", " + rows["set"].replace({"": "ID", "all": "all"})
    wide = rows.assign(column=names).pivot(index="score", columns="column", values="value")
    wide = wide.loc[list(dict.fromkeys(rows["score"])), list(dict.fromkeys(names))]
    titles = [words.title(name) for name in wide.index]
    shown = table(("score", *wide.columns), zip(titles, *wide.to_numpy().T.tolist(), strict=True))
    # never none: some scores go back to the images
    left = [f"{words.title(name)}: {reason}." for name, reason in said["left_out"].items()]
    return (
        f"{shown}<details><summary>{len(left)} scores are left out</summary>{_list(left)}</details>"
    )


def _confirmed(said: Mapping) -> str:
    rows = [one for one in said["confirmed"] if one["metric"] in ("auroc", "fpr95")]
    if not rows:
        return ""
    return "<h3>Sets of unknown images</h3>" + table(
        ("set", "number", "value", "from", "to"),
        [(one["set"], _NAMES[one["metric"]], *(one[name] for name in ("value", "low", "high")))
         for one in rows],
    )  # fmt: skip


def _accepted(said: Mapping) -> str:
    kept = {wish: one for wish, one in said["thresholds"].items() if not one["problem"]}
    if not kept or not said["images"]["ood"]:
        return ""
    names = said["images"]["ood"]
    return "<h3>Share of unknown images that is accepted</h3>" + table(
        ("set", *(f"at the threshold for the {wish}" for wish in kept)),
        [(name, *(one["ood_accepted"][name] for one in kept.values())) for name in names],
    )


_SHOWN: dict[str, tuple[Callable[[Mapping], str], ...]] = {
    "right": (_classes, _errors),
    "sure": (_calibration,),
    "score": (_ranking, _confirmed),
    "accept": (_accepted,),
}


def _figures(audit: Audit) -> dict[str, list[str]]:
    """Return the figures of each finding, as HTML; none is left open."""
    if "matplotlib.pyplot" not in sys.modules:
        import matplotlib as mpl

        mpl.use("agg")  # nobody looks at windows
    import matplotlib.pyplot as plt

    from helpers.report import figures

    drawn: dict[str, list[str]] = {}
    with plt.rc_context():
        figures.use_style()
        for name, told, draw in _drawings(audit):
            ax = np.ravel(draw())[0]
            buffer = io.BytesIO()
            ax.figure.set_dpi(110)
            ax.figure.canvas.print_png(buffer)  # savefig would find the layout twice
            plt.close(ax.figure)
            data = base64.b64encode(buffer.getvalue()).decode()
            image = f'<img alt="{escape(told)}" src="data:image/png;base64,{data}">'
            drawn.setdefault(name, []).append(image)
    return drawn


def _drawings(audit: Audit) -> Iterator[tuple[str, str, Callable]]:
    """Yield finding, words and function of each figure."""
    from helpers.report import figures
    from known_unknowns.auditing import figures as chapter

    correct, own, title = audit.correct, audit.samples, words.title(audit.best[0])
    worst = audit.wrong[:ERRORS]
    pictures = audit.inputs.pictures(worst, size=96) if len(worst) else None
    if pictures is not None:
        sure, names = audit.sure, audit.inputs.class_names
        outputs = audit.inputs.validation
        captions = [
            f"{names[outputs.predictions[i]][:16]}, {100 * sure[i]:.0f} %\n"
            f"label: {names[outputs.labels[i]][:16]}".replace("$", r"\$")
            for i in worst
        ]
        yield "right", "The surest errors", lambda: chapter.surest_errors(pictures, captions)

    before, after = (one[audit.measuring] for one in (audit.claimed, audit.sure))
    panels = {
        ("the model", "before"): metrics.reliability_curve(before, correct),
        ("the model", "after"): metrics.reliability_curve(after, correct),
    }
    yield "sure", "Accuracy against confidence", lambda: figures.reliability_grid(panels)

    titles = {name: words.title(name) for name in audit.ranking["score"].unique()}
    yield (
        "score",
        "AURC of every score",
        lambda: chapter.score_ranking(audit.ranking, titles, chosen=audit.best[0]),
    )

    promised = {f"promised {one.wish}": one for one in audit.thresholds.values() if not one.problem}
    ways = {title: own["validation"], "largest probability": after}
    curves = {name: metrics.risk_coverage_curve(one, correct) for name, one in ways.items()}
    points = {name: (one.coverage[0], one.risk[0]) for name, one in promised.items()}
    yield "accept", "Risk against coverage", lambda: chapter.selective_risk(curves, points)

    groups = {"validation": own["validation"]}
    if audit.inputs.ood:
        groups["sets of unknown images"] = np.concatenate([own[name] for name in audit.inputs.ood])
    groups |= {"unlabelled": own["production"]} if "production" in own else {}
    lines = {name: one.value for name, one in promised.items()}
    yield (
        "accept",
        "Scores and thresholds",
        lambda: chapter.scores_and_thresholds(groups, lines, score=title),
    )

    found = audit.prediction
    if found is not None and found.sets >= 9 and found.regressions:
        yield (
            "unlabelled",
            "The prediction on its line",
            lambda: chapter.prediction_on_line(
                found.regressions["auroc"], found.gscore, metric="auroc"
            ),
        )
