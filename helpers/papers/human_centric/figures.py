"""Figures of many models: how their errors go with capacity, training and the choice of a score."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from helpers.papers.human_centric.claims import cases
from helpers.papers.human_centric.parameters import ModelName
from helpers.papers.human_centric.quantities import control_pairs
from helpers.report.claims import ALL, Claim, Effect, Term, evaluate
from helpers.report.figures.heatmaps import heatmap
from helpers.report.figures.images import check_pictures, show_picture
from helpers.report.figures.style import (
    BLUE,
    GREY,
    ORANGE,
    RED,
    axes_grid,
    check_columns,
    curve_style,
    legend_outside,
    method_styles,
    refuse_several,
)

_ERROR = "average DER99 (%)"
_POSITIVES = (("all ID images", "", BLUE, ""), ("correct ones", "_correct", ORANGE, "////"))
_DECISIONS = {  # colour, line and mark
    True: (BLUE, "-", "\N{CHECK MARK}"),
    False: (RED, "--", "\N{MULTIPLICATION X}"),
}
_RANKING = (("fpr_at_tpr", "FPR at 95 % TPR (%)"), ("auroc", "AUROC (%)"))


def positives(table: pd.DataFrame, *, methods: Mapping[str, str]) -> np.ndarray:
    """Draw how scores rank when all ID images are positive, and when the correct ones alone are.

    Two bars for each score, in one panel for FPR95 and one for AUROC, both means over the
    label-shifted sets; with 95 % intervals, those of `helpers.report.claims.evaluate`.

    Parameters
    ----------
    table : DataFrame
        Rows of one data set, model and variant of a results table.
    methods : mapping of str to str
        Names and titles of the scores, in the order in which they are shown; those that the table
        lacks get no place.

    Returns
    -------
    ndarray of Axes, shape [2]

    Raises
    ------
    ValueError
        Several data sets or models, or no such number.
    """
    _check(table, "data_set", "backbone")
    terms = [
        Term(1, name, metric + suffix, test_set="label-shifted")
        for name in methods
        for metric, _ in _RANKING
        for _, suffix, *_ in _POSITIVES
    ]
    effects = tuple(Effect(f"{one.method} {one.metric}", (one,), ">", 0.0) for one in terms)
    rows = evaluate([Claim("", "", "", "", effects)], table)
    rows = 100 * rows[rows["data_set"] == ALL].set_index("check")[["effect", "low", "high"]]
    shown = [name for name in methods if rows["effect"].notna()[f"{name} auroc"]]
    if not shown:
        raise ValueError("table: no auroc on the test set label-shifted of these scores")
    (axes,) = axes_grid(1, 2, 0.36 * len(shown) + 1.1, sharey=True)
    for (metric, title), ax in zip(_RANKING, axes, strict=True):
        for side, (label, suffix, colour, hatch) in zip((-0.2, 0.2), _POSITIVES, strict=True):
            own = rows.loc[[f"{name} {metric}{suffix}" for name in shown]]
            reach = (own["effect"] - own["low"], own["high"] - own["effect"])
            ax.barh(
                np.arange(len(shown)) + side, own["effect"], 0.38, xerr=np.nan_to_num(reach),
                color=colour, alpha=0.7, hatch=hatch, edgecolor="white", label=label,
                error_kw={"elinewidth": 1, "capsize": 2},
            )  # fmt: skip
        ax.set_xlabel(title)
        ax.tick_params(axis="y", length=0)
    axes[0].set_yticks(range(len(shown)), [methods[name] for name in shown])
    axes[0].set_ylim(len(shown) - 0.5, -0.5)
    legend_outside(axes, 2)
    return axes


def error_against_accuracy(table: pd.DataFrame, *, methods: Mapping[str, str]) -> np.ndarray:
    """Draw average DER99 against accuracy, with a line through the growing models of each family.

    Parameters
    ----------
    table : DataFrame
        Rows of one data set and variant of a results table.  Models that are trained in another
        than the normal way are left out, as are those without accuracy.
    methods : mapping of str to str
        Names and titles of the scores; each has a panel.  A model is labelled with what its name
        adds to the family's; the line goes by the number of parameters.

    Returns
    -------
    ndarray of Axes, shape [scores]

    Raises
    ------
    ValueError
        Several data sets, or no model has accuracy and all these scores.
    """
    _check(table, "data_set")
    errors = _errors(table, methods)
    network = pd.DataFrame({name: _network(table, name) for name in ("accuracy", "parameters")})
    models = errors.join(100 * network["accuracy"], how="inner").join(network["parameters"])
    models = models.dropna(subset="accuracy").sort_values("parameters", kind="stable")
    parsed = {name: ModelName.parse(name) for name in models.index}
    models = models[[parsed[name].strategy == "normal" for name in models.index]]
    if models.empty:
        raise ValueError("table: no model trained normally has accuracy and these scores")
    columns = min(2, len(methods))
    rows = -(-len(methods) // columns)
    axes = axes_grid(rows, columns, 2.6 * rows + 0.5, sharex=True)
    families = models.groupby(np.array([parsed[name].family for name in models.index]), sort=False)
    for (method, title), ax in zip(methods.items(), axes.flat, strict=False):
        for number, (family, own) in enumerate(families):
            style = curve_style(number)
            ax.plot(own["accuracy"], own[method], **style, label=family)
            text = {"color": style["color"], "fontsize": "small", "textcoords": "offset points"}
            for name, place in zip(own.index, own[["accuracy", method]].to_numpy(), strict=True):
                size, common = (
                    one.partition(".")[0] for one in (parsed[name].architecture, family)
                )
                size = size.removeprefix(common).lstrip("_-")
                ax.annotate(size, place, (4, 4), **text)
        ax.set_title(title)
        ax.margins(0.12)
    for ax in axes.flat[len(methods) :]:
        ax.set_visible(False)
    figure = axes[0, 0].figure
    figure.supxlabel("accuracy (%)", fontsize="medium")
    figure.supylabel(_ERROR, fontsize="medium")
    legend_outside(axes, 3)
    return axes.flat[: len(methods)]


def error_against_depth(table: pd.DataFrame, *, methods: Mapping[str, str]) -> Axes:
    """Draw average DER99 against depth, of the largest family that grows in nothing else.

    With 95 % intervals, those of `helpers.report.claims.evaluate`.

    Parameters
    ----------
    table : DataFrame
        Rows of one data set and variant of a results table.  The family is the one with the most
        models that are trained normally and have all these scores; the first number in the name
        of each is its depth.
    methods : mapping of str to str
        Names and titles of the scores; each has a curve.

    Raises
    ------
    ValueError
        Several data sets, or no family of two such models.
    """
    _check(table, "data_set")
    depths: dict[str, dict[str, int]] = {}
    for name in _errors(table, methods).index:
        one, size = ModelName.parse(name), re.search(r"\d+", name)
        if one.strategy == "normal" and size:
            depths.setdefault(one.family, {})[name] = int(size[0])
    family = max(depths, key=lambda one: len(depths[one]), default=None)
    if family is None or len(depths[family]) < 2:
        raise ValueError("table: no family of two models that are trained normally")
    models = sorted(depths[family], key=depths[family].get)
    own = table[table["backbone"].isin(models)]
    ax, places = plt.subplots(figsize=(6, 3.6), layout="constrained")[1], np.arange(len(models))
    for number, (method, style) in enumerate(method_styles(methods).items()):
        rate = Effect(method, (Term(1, method, "der99", test_set="average"),), ">", 0.0)
        found = evaluate([Claim(method, "", "", "", (rate,))], own).set_index("backbone")
        found = 100 * found.loc[models, ["effect", "low", "high"]]
        shift = 0.06 * (number - (len(methods) - 1) / 2)  # or the intervals would hide each other
        ends = [found["effect"] - found["low"], found["high"] - found["effect"]]
        ax.errorbar(
            places + shift, found["effect"], ends, **style, label=methods[method],
            elinewidth=1, capsize=2,
        )  # fmt: skip
    ax.set_xticks(places, [str(depths[family][name]) for name in models])
    ax.set(xlabel=f"layers of {family}", ylabel=_ERROR)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=4)
    return ax


def error_against_strength(table: pd.DataFrame, *, methods: Mapping[str, str]) -> np.ndarray:
    """Draw average DER99 against the strength of adversarial training, and accuracy below.

    Strengths are evenly spaced, since they grow by factors; 0 is the model trained normally, or
    where there is one that was only fine-tuned, that one.

    Parameters
    ----------
    table : DataFrame
        Rows of one data set and variant of a results table, with one architecture that is trained
        adversarially; other models are left out.
    methods : mapping of str to str
        Names and titles of the scores; each has a curve.

    Returns
    -------
    ndarray of Axes, shape [2]
        Error rates and accuracy.

    Raises
    ------
    ValueError
        Several data sets, no architecture that is trained adversarially, or several.
    """
    _check(table, "data_set")
    errors = _errors(table, methods).join(100 * _network(table, "accuracy"))
    parsed = {name: ModelName.parse(name) for name in errors.index}
    found = {one.architecture for one in parsed.values() if one.strategy == "adversarial"}
    if len(found) != 1:
        what = ", ".join(sorted(found)) or "none"
        raise ValueError(f"table: one architecture trained adversarially expected, got {what}")
    strengths = {
        name: one.strength
        for name, one in parsed.items()
        if one.architecture in found and one.strategy == "adversarial"
    }
    strengths |= {control: 0.0 for control, _ in control_pairs(parsed, "adversarial")}
    own = errors.loc[sorted(strengths, key=strengths.get)]
    axes = axes_grid(2, 1, 5, sharex=True, height_ratios=(5, 2))[:, 0]
    places = range(len(own))
    for method, style in method_styles(methods).items():
        axes[0].plot(places, own[method], **style, label=methods[method])
    axes[1].plot(places, own["accuracy"], "o-", color=GREY, markersize=5)
    axes[0].set_ylabel(_ERROR)
    axes[1].set(ylabel="accuracy (%)", xlabel="ℓ2 radius of adversarial training")
    axes[1].set_xticks(places, [f"{strengths[name]:g}" for name in own.index])
    axes[0].legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
    return axes


def error_heatmap(values: pd.DataFrame) -> Axes:
    """Show the error rate of every score on every model, the lowest of each model in bold.

    Parameters
    ----------
    values : DataFrame of numbers, shape [models, scores]
        Shares, from `helpers.papers.human_centric.claims.cases`, under the names that are shown;
        scores go down and models across, of which about ten are read with ease.  Darker is worse;
        missing numbers stay white.

    Raises
    ------
    ValueError
        No number at all.
    """
    ax = plt.subplots(figsize=(6, 0.27 * values.shape[1] + 1.5), layout="constrained")[1]
    _heatmap(values, ax, ".1f", _scale(values))
    return ax


def distillation_heatmap(values: pd.DataFrame) -> np.ndarray:
    """Show the error rates of models and the same ones distilled, and what distillation adds.

    Parameters
    ----------
    values : DataFrame of numbers, shape [models, scores]
        As for `error_heatmap`, but under the models' own names, by which the pairs are found
        (`quantities.control_pairs`); models without a partner are left out.

    Returns
    -------
    ndarray of Axes, shape [2]
        The error rates, both of a pair beside each other, and distilled minus normal in points.

    Raises
    ------
    ValueError
        There is no pair.
    """
    pairs = dict(control_pairs(values.index, "distilled"))
    if not pairs:
        raise ValueError("values: no model that is there both normal and distilled")
    both = values.loc[[name for pair in pairs.items() for name in pair]]
    change = both.loc[list(pairs.values())].set_axis(list(pairs)) - both.loc[list(pairs)]
    reach = 100 * np.nanmax(np.abs(change.to_numpy()))
    shape = {"sharey": True, "width_ratios": (len(both), len(change))}
    (axes,) = axes_grid(1, 2, 0.27 * values.shape[1] + 1.7, **shape)
    _heatmap(both, axes[0], ".1f", _scale(both))
    _heatmap(change, axes[1], "+.1f", {"cmap": "RdBu_r", "vmin": -reach, "vmax": reach})
    axes[0].set_title(_ERROR)
    axes[1].set_title("change")
    axes[1].tick_params(axis="y", length=0)
    return axes


class Decisions(NamedTuple):
    """Images that an evaluation accepts, or rejects, for `kept_and_rejected`.

    Attributes
    ----------
    pictures : ndarray of uint8, shape [M, H, W, 3]
    captions : sequence of str
        What stands below each: prediction and score, say, in one line or several.
    right : array_like of bool, shape [M]
        Whether the decision is right by this evaluation.
    """

    pictures: np.ndarray
    captions: Sequence[str]
    right: Sequence[bool]


def kept_and_rejected(groups: Mapping[str, Mapping[str, Decisions]]) -> np.ndarray:
    """Show images that were accepted and rejected, and which of that each evaluation calls right.

    Parameters
    ----------
    groups : mapping of str to mapping of str to Decisions
        By evaluation ("conventional", "human-centric"), then by what a row is called
        ("accepted", "rejected").  Right decisions have a solid frame and a tick, wrong ones a
        dashed frame and a cross.

    Returns
    -------
    ndarray of Axes, shape [rows, images]
        The rows of all evaluations below one another.

    Raises
    ------
    ValueError
        No image, or something that is no RGB image, or has not one caption and mark each.
    """
    rows = [
        (evaluation if number == 0 else "", name, decisions)
        for evaluation, group in groups.items()
        for number, (name, decisions) in enumerate(group.items())
    ]
    columns = max((len(decisions.pictures) for *_, decisions in rows), default=0)
    if not columns:
        raise ValueError("groups: no image")
    size = 5.6 / columns
    captions = [caption for *_, decisions in rows for caption in decisions.captions]
    lines = 1 + max(caption.count("\n") for caption in captions)
    height = (size + 0.2 * lines) * len(rows) + 0.25 * len(groups) + 0.35
    axes = axes_grid(len(rows), columns, height)
    for row, (evaluation, name, decisions) in zip(axes, rows, strict=True):
        pictures = check_pictures(f"groups: {name}", decisions.pictures)
        if not len(pictures) == len(decisions.captions) == len(decisions.right):
            raise ValueError(f"groups: {name}: one caption and one mark for each picture expected")
        for ax in row:
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(False)
        row[0].set_ylabel(name)
        if evaluation:
            row[0].set_title(evaluation, loc="left", weight="bold")
        for ax, picture, caption, right in zip(row, *decisions, strict=False):
            colour, line, mark = _DECISIONS[bool(right)]
            show_picture(ax, picture)
            ax.set_xlabel(f"{mark} {caption}", fontsize="small", color=colour, labelpad=3)
            for spine in ax.spines.values():
                spine.set(visible=True, edgecolor=colour, linestyle=line, linewidth=2.5)
    handles = [
        Patch(
            fill=False, edgecolor=colour, linestyle=line, linewidth=2,
            label=f"{mark} {'right' if right else 'wrong'} decision",
        )
        for right, (colour, line, mark) in _DECISIONS.items()
    ]  # fmt: skip
    axes[0, 0].figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return axes


def _check(table: pd.DataFrame, *columns: str) -> None:
    """Refuse a table whose rows would be mixed in one figure."""
    check_columns("table", table, ["data_set", "backbone", "variant", "method", "metric", "value"])
    refuse_several("table", table, *columns, "variant")


def _errors(table: pd.DataFrame, methods: Mapping[str, str]) -> pd.DataFrame:
    """Return average DER99 in per cent of the models that have all the scores."""
    errors = cases(table)
    missing = [name for name in methods if name not in errors]
    if missing:
        raise ValueError(f"table: no average der99 of {', '.join(missing)}")
    return 100 * errors[list(methods)].dropna()


def _network(table: pd.DataFrame, metric: str) -> pd.Series:
    own = table[(table["metric"] == metric) & (table["test_set"] == "test")]
    return own.groupby("backbone")["value"].mean().rename(metric)


def _scale(values: pd.DataFrame) -> dict:
    """Return colours in per cent from the lowest to the highest number."""
    if not values.notna().any(axis=None):
        raise ValueError("values: no number")
    return {"cmap": "viridis_r", "vmin": 100 * np.nanmin(values), "vmax": 100 * np.nanmax(values)}


def _heatmap(values: pd.DataFrame, ax: Axes, pattern: str, colours: dict) -> None:
    """Draw shares in per cent, scores down and models across, the lowest of each model in bold."""
    shown = 100 * values.T
    width = 72 * ax.get_position().width * ax.figure.get_figwidth() / len(values)
    layout = {
        "fontsize": min(9.5, 0.4 * width),  # numbers fill their cells, however many there are
        "slope": 30 if len(values) <= 10 else 60,
    }
    best = shown.eq(shown.min()) & shown.min().lt(shown.max())
    heatmap(ax, shown, pattern, bold=best, **layout, **colours)
