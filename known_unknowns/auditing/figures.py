"""Figures of the audit of one model; each function returns axes, or None without numbers."""

from __future__ import annotations

import base64
import io
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from helpers import metrics
from helpers.tables.figures import (
    reliability_grid,
    risk_coverage_curves,
    score_histograms,
    use_style,
)
from helpers.tables.figures.style import BLUE, LINES, ORANGE, RED, axes_grid
from known_unknowns.auditing.sentences import title


def draw_report(audit: SimpleNamespace, errors: int) -> dict[str, list[tuple[str, str]]]:
    """Return text and image address of each finding's figures, and close the figures."""
    images: dict[str, list[tuple[str, str]]] = {}
    with plt.rc_context():
        use_style()
        for name, words, draw in (
            ("right", "The surest errors", lambda audit: surest_errors(audit, errors)),
            ("sure", "Accuracy against confidence", reliability),
            ("score", "AURC of every score", score_ranking),
            ("accept", "Risk against coverage", selective_risk),
            ("accept", "Scores and thresholds", scores_and_thresholds),
        ):
            if (axes := draw(audit)) is None:
                continue
            figure, buffer = np.ravel(axes)[0].figure, io.BytesIO()
            figure.set_dpi(110)
            figure.canvas.print_png(buffer)  # savefig would find the layout twice
            plt.close(figure)
            data = base64.b64encode(buffer.getvalue()).decode()
            images.setdefault(name, []).append((words, f"data:image/png;base64,{data}"))
    return images


def surest_errors(audit: SimpleNamespace, count: int = 12) -> np.ndarray | None:
    """Show the most confident errors, four in a row, with a caption above each."""
    worst, names, outputs = audit.wrong[:count], audit.inputs.class_names, audit.inputs.validation
    pictures = audit.inputs.pictures(worst, size=96) if len(worst) else None
    if pictures is None:
        return None
    rows = -(-len(pictures) // 4)
    axes = axes_grid(rows, 4, 1.95 * rows)
    axes[0, 0].figure.set_dpi(96)  # photographs make large files
    for ax in axes.flat:
        ax.axis("off")
    for ax, picture, i in zip(axes.flat, pictures, worst, strict=False):
        ax.imshow(picture, interpolation="nearest")
        caption = f"{names[outputs.predictions[i]][:16]}, {100 * audit.sure[i]:.0f} %\n"
        caption += f"label: {names[outputs.labels[i]][:16]}"
        ax.set_title(caption.replace("$", r"\$"), fontsize=9)
    return axes


def reliability(audit: SimpleNamespace) -> np.ndarray:
    """Draw accuracy against confidence, before and after temperature scaling."""
    both = {"before": audit.claimed, "after": audit.sure}
    curves = {
        ("the model", when): metrics.reliability_curve(part[audit.measuring], audit.correct)
        for when, part in both.items()
    }
    return reliability_grid(curves)


def score_ranking(audit: SimpleNamespace) -> Axes:
    """Draw the AURC of all scores with its intervals, the best one on top."""
    areas = audit.ranking[audit.ranking["metric"] == "aurc"]
    titles = {name: title(name) for name in areas["score"].unique()}
    names = list(titles)
    # long titles are next to the axis, and do not make it smaller
    width = 3.8 + 0.075 * max(map(len, titles.values()))
    ax = plt.subplots(figsize=(width, 1.1 + 0.27 * len(names)), layout="constrained")[1]
    kinds = (("", "ID images", BLUE, "o"), ("all", "ID and unknown images", RED, "s"))
    for number, (name, label, colour, marker) in enumerate(kinds):
        rows = areas[areas["set"] == name]
        if rows.empty:
            continue
        places = [names.index(score) + 0.24 * number - 0.12 for score in rows["score"]]
        # the value may be outside the percentiles of its own replicates
        ends = np.abs(rows[["low", "high"]].sub(rows["value"], axis=0).to_numpy().T)
        ax.errorbar(
            rows["value"], places, xerr=ends, fmt=marker, color=colour, markersize=4,
            elinewidth=1.2, label=label,
        )  # fmt: skip
    ax.set(yticks=range(len(names)), ylim=(len(names) - 0.4, -0.6), xlabel="AURC, lower is better")
    ax.set_yticklabels(titles.values())
    ax.get_yticklabels()[names.index(audit.best[0])].set_fontweight("bold")
    ax.grid(axis="x", color="#dddddd", linewidth=0.6)
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
    return ax


def _promised(audit: SimpleNamespace) -> dict:
    """Return the thresholds that exist, by their names in a legend."""
    kept = (threshold for threshold in audit.thresholds.values() if not threshold.problem)
    return {f"promised {threshold.wish}": threshold for threshold in kept}


def selective_risk(audit: SimpleNamespace) -> Axes:
    """Draw risk–coverage curves, and the points of the thresholds on the first curve."""
    ways = {title(audit.best[0]): audit.samples["validation"]}
    ways["largest probability"] = audit.sure[audit.measuring]
    curves = {name: metrics.risk_coverage_curve(part, audit.correct) for name, part in ways.items()}
    ax = risk_coverage_curves(curves)
    for (name, threshold), marker in zip(_promised(audit).items(), "D*P", strict=False):
        ax.plot(
            threshold.coverage[0], threshold.risk[0], marker, color=ORANGE, label=name,
            markeredgecolor="black", markersize=11, linestyle="none", zorder=5,
        )  # fmt: skip
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return ax


def scores_and_thresholds(audit: SimpleNamespace) -> Axes:
    """Draw the score distributions of groups of images, and the thresholds.

    The axis leaves out the lowest and the highest 0.5 % of all scores, which may be far away.
    """
    groups = {"validation": audit.samples["validation"]}
    if audit.inputs.ood:
        unknown = [audit.samples[name] for name in audit.inputs.ood]
        groups["sets of unknown images"] = np.concatenate(unknown)
    if "production" in audit.samples:
        groups["unlabelled"] = audit.samples["production"]
    lines = {name: threshold.value for name, threshold in _promised(audit).items()}
    ends = np.quantile(np.concatenate(list(groups.values())), [0.005, 0.995])
    ends = min([ends[0], *lines.values()]), max([ends[1], *lines.values()])
    unit = 1e-9 * np.abs(ends).max() or 1.0  # scores that differ only by rounding have no bins
    cut = {name: np.round(np.clip(each, *ends) / unit) * unit for name, each in groups.items()}
    ax = score_histograms(cut, score=title(audit.best[0]), bins=40)
    for (name, value), line in zip(lines.items(), LINES[1:] * 2, strict=False):
        ax.axvline(value, color="black", linewidth=1.5, linestyle=line, label=name)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return ax
