"""What the paper's printed cells say about its networks and rules that its text leaves open.

A score that accepts every image has a detection error rate (DER) of the model's error.  Some of the
printed scores accept nearly every image of unknown classes, where DER is the share of accepted
images.  Their cells on sets of known classes are then nearly the errors of the paper's networks
there, and can be compared with errors that others publish for the weights that come into question,
and for the ways to count an error.  No network is run.

More exactly, DER minus the error is the share of images that are answered rightly and rejected,
minus the share answered wrongly and rejected.  The former is small, since 99 % of such training
images are kept (`ABOVE`); the latter is at most the share of all images that are rejected.  That is
printed for unknown classes alone; known ones are taken not to be rejected more often (`BELOW`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.report import published
from helpers.report.table import Table, categories

LABEL_SHIFTED = ("textures", "inaturalist", "places", "sun")
KNOWN = {
    "test": "ImageNet-Val", "imagenet_v2": "ImageNetV2", "imagenet_r": "ImageNet-R, of 200",
}  # fmt: skip
"""The sets of known classes whose errors are published for many networks."""

ACCEPTS = 0.9  # of the label-shifted images, in the mean over sets, by a score that is used
ABOVE = 0.03  # DER99 minus the error, at most: right answers that are rejected
BELOW = 0.005  # the error minus DER99, at most, beside the share of label-shifted images rejected
FAR = 3.0  # standard deviations from the median, of a cell that is out of line
FITS, FITS_NOT, UNDECIDABLE = "fits", "does not fit", "undecidable"

_CORRUPTED = "imagenet_c"
_FOLDER = Path(__file__).parent
_KINDS = {
    "noise": ("gaussian_noise", "shot_noise", "impulse_noise"),
    "blur": ("defocus_blur", "glass_blur", "motion_blur", "zoom_blur"),
    "weather": ("snow", "frost", "fog", "brightness"),
    "digital": ("contrast", "elastic_transform", "pixelate", "jpeg_compression"),
}
_ALL = "all fifteen"


def load_errors() -> pd.DataFrame:
    """Return errors that others publish for the weights that a printed network may have.

    Returns
    -------
    DataFrame
        ``backbone``, as the paper prints it; ``weights``; ``offered``, whether the versions of timm
        and torchvision that the paper names have them; ``test_set``, of `KNOWN`; ``error``, a
        share; ``source``.

    Examples
    --------
    >>> load_errors().query("weights == 'vgg19_bn.tv_in1k'")["error"].tolist()
    [0.2577, 0.3812, 0.6669]
    """
    errors = pd.read_csv(_FOLDER / "published_errors.csv", comment="#")
    share = (errors["error"] / 100).round(5)
    return errors.assign(offered=errors["offered"] == "yes", error=share)


def load_corrupted_errors() -> pd.DataFrame:
    """Return published errors on ImageNet-C, shares by corruption and severity [75, networks].

    Examples
    --------
    >>> print(load_corrupted_errors().mean().round(3).loc[["VGG19", "SENet154"]].to_dict())
    {'VGG19': 0.66, 'SENet154': 0.496}
    """
    whole = pd.read_csv(_FOLDER / "corrupted_errors.csv", comment="#")
    return whole.set_index(["corruption", "severity"]) / 100


def bounds(printed: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return what the scores that accept nearly everything say about each network's errors.

    Parameters
    ----------
    printed : DataFrame, optional
        In place of `helpers.report.published.load`'s.

    Returns
    -------
    DataFrame
        By printed network: for each set of known classes the largest DER99 of those scores that
        accept at least `ACCEPTS` of the label-shifted images, in the mean over sets; ``scores``,
        these; ``below`` and ``above``, how far the network's error may lie above and below.
        Networks without such a score are left out.
    """
    rates = _cells(printed, "der99").unstack("test_set")
    found = {}
    for network, own in rates.groupby(level="backbone"):
        own = own.droplevel("backbone")
        accepted = own[list(LABEL_SHIFTED)]
        share = accepted.mean(axis=1)
        if share.max() < ACCEPTS:
            continue
        most = own[share >= ACCEPTS].drop(columns=list(LABEL_SHIFTED)).max()
        rejected = 1 - accepted.loc[share.idxmax()].min()
        scores = ", ".join(share.index[share >= ACCEPTS])
        found[network] = most.to_dict() | {
            "scores": scores, "below": BELOW + rejected, "above": ABOVE,
        }  # fmt: skip
    return pd.DataFrame.from_dict(found, orient="index").rename_axis("backbone")


def compare_weights(
    printed: pd.DataFrame | None = None, errors: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return whether printed cells fit the errors of the weights that come into question.

    Parameters
    ----------
    printed : DataFrame, optional
        As for `bounds`.
    errors : DataFrame, optional
        In place of `load_errors`.

    Returns
    -------
    DataFrame
        The rows of `errors`, with ``printed``, from `bounds`; ``difference``, that minus the error;
        ``fits``, on this set; ``verdict``, on the weights: "does not fit" if one set does not, else
        "fits", or "undecidable" where other weights of the same network fit as well.

    Raises
    ------
    ValueError
        No printed score of a network accepts nearly everything.
    """
    errors, limits = load_errors() if errors is None else errors, bounds(printed)
    if missing := sorted({*errors["backbone"]} - {*limits.index}):
        raise ValueError(f"printed: no score of {', '.join(missing)} accepts nearly everything")
    own = limits.loc[errors["backbone"]].reset_index(drop=True)
    rows = errors.reset_index(drop=True)
    rows["printed"] = [own[name].iloc[row] for row, name in enumerate(rows["test_set"])]
    rows["difference"] = rows["printed"] - rows["error"]
    rows["fits"] = rows["difference"].between(-own["below"], own["above"])
    all_fit = rows.groupby(["backbone", "weights"], sort=False)["fits"].all()
    rivals = all_fit.groupby(level="backbone").transform("sum") > 1
    verdicts = np.select([~all_fit, rivals], [FITS_NOT, UNDECIDABLE], FITS)
    verdicts = pd.Series(verdicts, all_fit.index, name="verdict")
    return rows.join(verdicts, on=["backbone", "weights"])


def compare_corruptions(
    printed: pd.DataFrame | None = None, errors: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return how the printed cells of ImageNet-C fit simple rules which of its files are shown.

    A rule takes one corruption, one of its authors' four kinds, or all fifteen, at one severity or
    several in a row: 300 rules.

    Parameters
    ----------
    printed : DataFrame, optional
        As for `bounds`.
    errors : DataFrame, optional
        In place of `load_corrupted_errors`.

    Returns
    -------
    DataFrame
        A row for each rule and network: ``corruptions`` and ``severities``, in words; ``backbone``;
        ``error``, the mean over the rule's files; ``printed``, ``difference`` and ``fits`` as in
        `compare_weights`; ``verdict`` on the rule over networks, and ``worst``, the largest
        difference of a network without its sign.
    """
    errors, limits = load_corrupted_errors() if errors is None else errors, bounds(printed)
    limits = limits.loc[[name for name in errors if name in limits.index]]
    rules = {name: errors.loc[chosen, limits.index].mean() for name, chosen in _rules()}
    error = pd.DataFrame(rules).T.rename_axis(["corruptions", "severities"])
    difference = limits[_CORRUPTED] - error
    fits = difference.ge(-limits["below"]) & difference.le(limits["above"])
    rows = pd.DataFrame(
        {
            name: one.rename_axis("backbone", axis=1).stack()
            for name, one in {"error": error, "difference": difference, "fits": fits}.items()
        }
    )
    verdicts = pd.DataFrame(
        {
            "verdict": np.where(fits.all(axis=1), FITS, FITS_NOT),
            "worst": difference.abs().max(axis=1),
        }
    )
    rows = rows.join(verdicts).reset_index()
    return rows.assign(printed=rows["backbone"].map(limits[_CORRUPTED]))


def find_outlying(printed: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return printed cells of known classes whose DER95 lies too far above their DER99.

    The stricter threshold rejects more images, right and wrong answers.  So DER95 exceeds DER99 by
    at most the share of right answers between both thresholds: 4 % of such training images.  In
    each test set the excess is compared with the median over all networks and scores, in standard
    deviations by the median absolute deviation; `FAR` and more of them is too far.

    Returns
    -------
    DataFrame
        ``test_set``, ``backbone``, ``method``, ``der95``, ``der99``, ``excess`` and ``deviations``,
        the farthest first.
    """
    cells = pd.DataFrame({name: _cells(printed, name) for name in ("der95", "der99")})
    cells = cells.drop(index=list(LABEL_SHIFTED), level="test_set")
    excess = cells["der95"] - cells["der99"]
    by_set = excess.groupby(level="test_set")
    away = excess - by_set.transform("median")
    spread = 1.4826 * away.abs().groupby(level="test_set").transform("median")
    found = cells.assign(excess=excess, deviations=away / spread)
    found = found[found["deviations"] >= FAR].sort_values("deviations", ascending=False)
    return found.reset_index()[["test_set", "backbone", "method", *found.columns]]


def knn_on_senet154(printed: pd.DataFrame | None = None) -> dict[str, float]:
    """Return by how much KNN is ahead of MSP on SENet154, in average DER99.

    Returns
    -------
    dict of str to float
        As the paper's text says, ``said``; by the averages that its Table 2 prints, ``printed``; by
        the means of its cells, ``anew``.

    Examples
    --------
    >>> {name: round(100 * value, 2) for name, value in knn_on_senet154().items()}
    {'said': 4.9, 'printed': 3.92, 'anew': 3.7}
    """
    numbers = published.load("human_centric") if printed is None else printed
    found = {"said": 0.049}
    for name, own in (("printed", numbers), ("anew", published.with_averages(numbers))):
        own = own[(own["backbone"] == "SENet154") & (own["metric"] == "der99")]
        rates = own[own["test_set"] == "average"].set_index("method")["value"]
        found[name] = float(rates["msp"] - rates["knn"])
    return found


def weights_table(compared: pd.DataFrame | None = None) -> Table:
    """Return errors of weights beside the printed cells, from `compare_weights`."""
    rows = compare_weights() if compared is None else compared
    first = rows.drop_duplicates(["backbone", "weights"])
    per_set = rows.assign(
        text=[f"{100 * one.error:.2f} ({100 * one.difference:+.2f})" for one in rows.itertuples()],
        column=rows["test_set"].map(KNOWN),
        bold=~rows["fits"],
    )
    said = {
        "verdict": first["verdict"],
        "offered": first["offered"].map({True: "yes", False: "no"}),
    }
    whole = pd.concat(
        [per_set, *(first.assign(text=text, column=name) for name, text in said.items())]
    )
    cells = whole.assign(
        text=whole["text"].str.replace("-", "−"),
        bold=whole["bold"].eq(True),
        column=categories(whole["column"], [*KNOWN.values(), *said]),
        backbone=categories(whole["backbone"], list(first["backbone"].unique())),
        weights=categories(whole["weights"], list(first["weights"])),
    )
    caption = (
        "Published errors of the weights that the paper's networks may have, in per cent. In "
        f"brackets: the largest printed DER99 of the scores that accept {ACCEPTS:.0%} of unknown "
        "images, minus the error. Bold: does not fit, for it is not between "
        f"−{100 * BELOW:g} points, less the share of unknown images that the score rejects, and "
        f"+{100 * ABOVE:g}. Undecidable: several weights of a network fit. Offered: by timm 0.4.12 "
        "or torchvision 0.10.0, which the paper names."
    )
    return Table(
        cells,
        ["backbone", "weights"],
        ["column"],
        name="forensics-weights",
        caption=caption,
        data=rows,
    )


def corruptions_table(compared: pd.DataFrame | None = None, *, nearest: int = 2) -> Table:
    """Return what rules for ImageNet-C would make of each network, from `compare_corruptions`.

    All fifteen corruptions at all severities, at each of the first three and at the first two; and
    of the other rules the `nearest`, by their ``worst``.
    """
    rows = compare_corruptions() if compared is None else compared
    rule = rows["corruptions"] + ", severity " + rows["severities"]
    shown = [f"{_ALL}, severity {one}" for one in ("1 to 5", "1", "2", "3", "1 to 2")]
    others = rule[rows["worst"].sort_values(kind="stable").index].drop_duplicates()
    shown += others[~others.isin(shown)].head(nearest).tolist()
    fitting = rule[rows["verdict"] == FITS].nunique()
    own, line = rule.isin(shown), f"printed, by scores that accept {ACCEPTS:.0%}"
    first = rows.drop_duplicates("backbone")
    ours = rows[own].assign(rule=rule[own], bold=~rows["fits"], text=_per_cent(rows["error"]))
    theirs = first.assign(rule=line, bold=False, text=_per_cent(first["printed"]))
    lines = pd.concat([theirs, ours])
    caption = (
        "ImageNet-C: printed DER99, and published errors of the same networks by which of its 75 "
        "sets are pooled, in per cent. Bold: the printed number is too far from it, as in the "
        f"table of weights. Of {rule.nunique()} simple rules {fitting or 'none'} fits on all "
        f"networks; the last {nearest} lines are the nearest of those that are not above."
    )
    return Table(
        lines.assign(rule=categories(lines["rule"], [line, *shown])),
        ["rule"],
        ["backbone"],
        name="forensics-corruptions",
        caption=caption,
        data=rows[own],
    )


def _per_cent(shares: pd.Series) -> pd.Series:
    return (100 * shares).map("{:.1f}".format)


def _cells(printed: pd.DataFrame | None, metric: str) -> pd.Series:
    """Return a metric's printed cells by test set, network and score, without averages."""
    numbers = published.load("human_centric") if printed is None else printed
    own = numbers[(numbers["metric"] == metric) & (numbers["test_set"] != "average")]
    return own.set_index(["test_set", "backbone", "method"])["value"]


def _rules() -> Iterator[tuple[tuple[str, str], list[tuple[str, int]]]]:
    """Yield simple rules: corruptions and severities in words, and the sets that they take."""
    every = [name for names in _KINDS.values() for name in names]
    groups: Mapping[str, tuple[str, ...]] = {
        _ALL: tuple(every), **_KINDS, **{name: (name,) for name in every}
    }  # fmt: skip
    for called, names in groups.items():
        for first in range(1, 6):
            for last in range(first, 6):
                severities = str(first) if first == last else f"{first} to {last}"
                chosen = [(name, level) for name in names for level in range(first, last + 1)]
                yield (called.replace("_", " "), severities), chosen
