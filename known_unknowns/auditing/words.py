"""What an audit found, in sentences for a person who has to decide."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from helpers.metrics import guarantees
from helpers.scores import create
from known_unknowns.auditing.doubts import NAMED
from known_unknowns.auditing.inputs import LEAST
from known_unknowns.auditing.ranking import COMPARED, UNION, demands
from known_unknowns.auditing.report import Audit
from known_unknowns.auditing.thresholds import Threshold

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;"} | {sign: f"&#{ord(sign)};" for sign in "\\`*[]|$"}
)  # signs that mean something to HTML or Markdown, and how these show them
_ASKS = ("the logits alone", "the features too", "the head's weights too", "training images too")


def plain_text(text: str) -> str:
    """Return text that Markdown and HTML show as it is, on one line.

    Examples
    --------
    >>> plain_text("<img src=x> [a](b) pets_and_toys")
    '&lt;img src=x&gt; &#91;a&#93;(b) pets_and_toys'
    """
    return " ".join(str(text).split()).translate(_SHOWN)


def title(name: str) -> str:
    """Return the title of a score."""
    return create(name).info.title


def recommendation(audit: Audit) -> list[str]:
    """Return which score to take, why, and how far that goes."""
    name = audit.best[0]
    place = UNION if audit.inputs.ood else ""
    of = "right answers from wrong ones and from unknown images"
    if not audit.inputs.ood:
        of = "right answers from wrong ones"
    areas = audit.ranking[audit.ranking["metric"].eq("aurc") & audit.ranking["set"].eq(place)]
    aurc = areas.set_index("score")["value"]
    said = [f"Take {title(name)}. It asks for {_ASKS[demands(audit.score)]}. {_wished(audit)}"]
    least = (
        f"its AURC, which says how well it tells {of}, is {aurc[name]:.3g} on the choosing half"
        + (f", with {_sets(audit)}" if audit.inputs.ood else "")
    )
    first = aurc.index[0]
    if name == first:
        rest = len(audit.best) - 1
        said.append(
            f"Of the scores that may be the best for this wish it is the best altogether: {least}"
            + (f"; {rest} more may be as good, within the noise." if rest else ", beyond noise.")
        )
    else:
        said.append(
            f"Of the scores that may be the best for this wish {title(first)} is the best "
            f"altogether, but the difference is within the noise: {least}, against "
            f"{aurc[first]:.3g}. Of the {len(audit.best)} of which that holds, this one asks for "
            "least."
        )
    again = audit.confirmed[audit.confirmed["metric"].eq("aurc")].iloc[-1]
    said.append(
        f"On images that had no part in this choice its AURC is {again['value']:.3g} "
        f"(95 % interval {again['low']:.3g} to {again['high']:.3g})."
    )
    alone = audit.ranking[audit.ranking["metric"].eq("aurc") & audit.ranking["set"].eq("")]
    alone = alone.set_index("score")["value"]
    if (right := alone.idxmin()) != name and audit.inputs.ood:
        said.append(
            f"To tell right answers from wrong ones alone, {title(right)} is best, with an AURC of "
            f"{alone[right]:.3g} on ID images against {alone[name]:.3g}; leave out the sets of "
            "unknown images if you expect none."
        )
    areas = audit.confirmed[audit.confirmed["metric"].eq("auroc")]
    if len(areas):
        worst = areas.loc[areas["value"].idxmin()]
        own = audit.ranking[audit.ranking["metric"].eq("auroc")]
        own = own[own["set"].eq(worst["set"])].set_index("score")["value"]
        better = own.idxmax()
        said.append(
            f"Of the sets of unknown images it tells {worst['set']} worst from ID images: AUROC "
            f"{100 * worst['value']:.1f} %."
            + (
                f" There {title(better)} is best, with {100 * own[better]:.1f} % on the choosing "
                "half; take that if such images matter most."
                if better != name
                else " No other score does better there."
            )
        )
    return said


def _wished(audit: Audit) -> str:
    """Return what the chosen score gives for what was wished, and what the best one does."""
    settings = audit.settings
    images = min(len(audit.choosing), COMPARED)
    metric = "coverage" if settings["wish"] == "risk" else "risk"
    wished = audit.ranking[audit.ranking["metric"].eq(metric)].set_index("score")["value"]
    own, best = wished[audit.best[0]], wished.max() if metric == "coverage" else wished.min()
    if metric == "coverage":
        unknown = settings["unknown_share"]
        with_unknown = f", unknown ones among these at the stated {100 * unknown:g} %"
        said = (
            f"Of the {images} images of the choosing half it keeps {100 * own:.1f} % at a risk of "
            f"{100 * settings['risk']:g} %{with_unknown * (unknown > 0)}"
        )
        more = "keeps more"
    else:
        said = (
            f"Where it keeps {100 * settings['coverage']:g} % of the {images} images of the "
            f"choosing half, {100 * own:.1f} % of these are wrong"
        )
        more = "has fewer wrong"
    if own == best:
        return f"{said}, and no score {more}."
    return f"{said}, and no score {more} beyond noise: {100 * best:.1f} % is the best of all."


def limits(audit: Audit) -> list[str]:
    """Return what the audit cannot say."""
    said = [
        "Everything is said of images like the validation images: drawn from the same source, in "
        "the same mixture. Where the images change, neither the calibration nor a promise holds.",
    ]
    if audit.inputs.grouped:
        said.append(
            f"Of {audit.inputs.grouped} validation images one of each group is looked at, drawn by "
            "chance: groups count as one, whatever their size, and a promise is about an image of "
            "a new group."
        )
    if audit.inputs.ood:
        said.append(
            "How well unknown images are told depends on which they are; the sets here stand for "
            "no others. "
            + (
                "The promise of a risk reckons with images like these, each set as often as any "
                "other, and no more of them than was stated."
                if audit.settings["unknown_share"]
                else "No promise covers unknown images."
            )
        )
        if few := [name for name, one in audit.inputs.ood.items() if len(one) < 2 * LEAST]:
            said.append(
                f"Fewer than {2 * LEAST} images in {', '.join(few)}: half of them chooses and half "
                "measures, so what is said of such a set is little more than chance."
            )
    else:
        said.append(
            "No set of unknown images was given: nothing is known of how the scores meet them."
        )
    if audit.inputs.train is None:
        said.append("Without outputs of training images, scores that learn from them are left out.")
    if not audit.inputs.level:
        said.append(
            "From probabilities the logits are known but for a constant; scores that need it are "
            "left out. The rejector takes probabilities, too, or their logarithms."
        )
    for role, files in audit.inputs.unreadable.items():
        said.append(f"{len(files)} files of {role} cannot be read as images: {', '.join(files[:5])}"
                    + (", …" if len(files) > 5 else "") + ".")  # fmt: skip
    return [*said, *filter(None, [audit.inputs.note]), *audit.notes]


def threshold(audit: Audit) -> list[str]:
    """Return which threshold is deployed, what it promises, and what became of the other wish."""
    said = []
    for wish, found in audit.thresholds.items():
        wished = f"{wish} of {100 * found.wished:g} %"
        if found.problem:
            said.append(f"A {wished} cannot be promised: {found.problem}.")
            needed = guarantees.images_needed(found.wished, audit.settings["confidence"])
            drawn = len(audit.promised_on[0])
            if wish == "risk" and found.unknown and drawn < needed:
                said.append(
                    f"It takes {needed} images in a mixture with {100 * found.unknown:g} % of "
                    f"unknown ones, and the measuring halves are enough for {drawn}: bring more "
                    "of the kind of which there are too few."
                )
            elif wish == "risk" and drawn < needed:
                said.append(
                    f"It takes {needed} images in the measuring half at the least, {2 * needed} in "
                    f"all, and there are {drawn} in that half."
                )
            continue
        coverage, risk = found.coverage, found.risk
        said.append(
            f"For a {wished}: accept where the score is at least {found.value:.6g}. "
            f"{found.promise} On the measuring half it accepts {100 * coverage[0]:.1f} % of the "
            f"images; of those it accepts{_with_unknown(found)}, {100 * risk[0]:.1f} % are wrong "
            f"({100 * risk[1]:.1f} to {100 * risk[2]:.1f} %, taking the threshold for given)."
            + (
                " That is nearly all of them: wish for a smaller risk."
                * (wish == "risk" and coverage[0] > 0.98)
            )
        )
    return [*said, rejector(audit)]


def answers(audit: Audit) -> list[str]:
    """Return of which answers the wished risk can be promised by itself."""
    needed, rows = audit.by_answer
    risk, promised = audit.settings["risk"], [one for one in rows if one.value == one.value]
    few = sum(one.images < needed for one in rows)
    said = (
        f"Of {len(promised)} of the {len(rows)} answers a risk of {100 * risk:g} % can be promised "
        "by itself, of images like the validation images, with a threshold for each, which "
        "audit.json has"
    )
    if few:
        are = "is" if few == 1 else "are"
        said += (
            f"; {few} {are} given too seldom, to fewer than {needed} images of the measuring half"
        )
    return [f"{said}."]


def strata(audit: Audit) -> list[str]:
    """Return of which strata the wished risk can be promised by itself, with which threshold."""
    (needed, rows), risk = audit.by_stratum, audit.settings["risk"]
    if not rows:
        return []
    said = [
        f"{one.name}, a threshold of {one.value:.6g}, which keeps {100 * one.coverage:.1f} %"
        for one in rows
        if one.value == one.value
    ]
    few = [f"{one.name} ({one.images})" for one in rows if one.images < needed]
    found = (
        f"Of {len(said)} of the {len(rows)} strata a risk of {100 * risk:g} % can be promised by "
        f"itself, all of them together with a confidence of "
        f"{100 * audit.settings['confidence']:g} %"
    )
    return [
        found + (": " * bool(said)) + "; ".join(said[:NAMED]) + ("; …" * (len(said) > NAMED)) + ".",
        *(
            [
                f"It takes {needed} images of a stratum in the measuring half at the least, and "
                f"there are fewer of {', '.join(few[:NAMED])}" + (", …" * (len(few) > NAMED)) + "."
            ]
            if few
            else []
        ),
    ]


def _with_unknown(found: Threshold) -> str:
    return f", unknown ones among them at the stated {100 * found.unknown:g} %" * (
        found.unknown > 0
    )


def rejector(audit: Audit) -> str:
    """Return which threshold the rejector has; where it has none, what could be wished."""
    wish = audit.settings["wish"]
    if audit.deployed == wish:
        return f"The rejector has the threshold for the wished {wish}."
    if audit.deployed:
        return (
            f"In place of the wished {wish} the rejector has the threshold for the "
            f"{audit.deployed}, which promises nothing about the {wish}."
        )
    scores = audit.samples["validation"]
    if wish == "coverage":
        most = (
            math.floor(1e4 * len(scores) / (len(scores) + 1)) / 100
        )  # rounded down: it can be had
        possible = f"the largest that can is {most:g} %"
    else:
        settings = {name: audit.settings[name] for name in ("risk", "confidence")}
        shown = guarantees.larger_risk(*audit.promised_on, **settings)
        possible = "nor can a larger one"
        if shown:
            possible = f"the smallest that can is about {100 * shown:.3g} %"
    return (
        f"No rejector is written: the wished {wish} of {100 * audit.settings[wish]:g} % cannot "
        f"be had, {possible}."
    )


def markdown(*sentences: str) -> str:
    """Return sentences as a list in Markdown, in which names of sets and files are but text.

    Whoever names a file could otherwise put a picture, a link or a script into the report.

    Examples
    --------
    >>> markdown("Left out: <b>.png.", "Of *a* & b.")
    '* Left out: &lt;b&gt;.png.\\n* Of &#42;a&#42; &amp; b.'
    """
    return "\n".join(f"* {plain_text(one)}" for one in sentences)


def prediction(audit: Audit) -> list[str]:
    """Return what is predicted of the unlabelled images."""
    found = audit.prediction
    if found is None:
        return ["No unlabelled images were given."]
    said = []
    for metric, name in (("auroc", "AUROC"), ("fpr95", "FPR95")):
        if metric in found.told:
            by, *numbers = found.told[metric]
            value, low, high = (100 * one for one in numbers)
            ends = "" if low != low else f" (90 % interval {low:.1f} to {high:.1f})"
            said.append(
                f"Known and unknown images among the {found.images} unlabelled ones, if there are "
                f"both, are told apart with an {name} of about {value:.1f} %{ends}, by {by}."
            )
    advice = [found.not_for] if found.not_for else []
    return [*said, *advice, *found.limits, *_unlabelled(audit)]


def _unlabelled(audit: Audit) -> list[str]:
    """Return what the library's estimators say, the share of unknown images last."""
    found, images = audit.unlabelled, audit.prediction.images
    said = []
    if found.accuracy:
        value, low, high = (100 * one for one in found.accuracy["difference"])
        said.append(
            f"On the unlabelled images the model is right on about {value:.1f} % ({low:.1f} to "
            f"{high:.1f} %, from the drawing of images alone), by how sure it is of them and how "
            "far that misleads on the validation images. Do not use this where the images have "
            "changed, or some are of no known class: it is then too high."
        )
        said += found.against or ["No such change is seen here, which is no proof."]
    if found.accepted:
        value, low, high = (100 * one for one in found.accepted["difference"])
        said.append(
            f"Of those that score as high as 95 % of known images do, it is right on about "
            f"{value:.1f} % ({low:.1f} to {high:.1f} %), the estimated share of unknown images "
            "among them counted as wrong. Do not use this with a score that ranks unknown images "
            "among the surest: their share is then estimated too small."
        )
    if found.listed:
        said.append(
            f"{len(found.listed)} unlabelled images are listed in audit.json as suspected to be of "
            "no known class; at most a tenth of such a list is expected to be known. Do not use it "
            "where known images have changed, too: they would fill it."
        )
    else:  # twenty validation images or more are enough for some list
        said.append(
            "None of them is listed as suspected: with a tenth of false entries no list can be had."
        )
    if not found.least > 0:
        return [
            *said,
            f"Nothing shows that any of the {images} unlabelled images is of no known class.",
        ]
    return [
        *said,
        f"At least {100 * found.least:.1f} % of the {images} unlabelled images are of no known "
        "class, if those of known classes are like the validation images (this is false for at "
        f"most 5 % of all draws); the estimate is {100 * found.share:.1f} %.",
    ]


def promises(checked: pd.DataFrame | None) -> str:
    """Return how many promises came true; None stands for labels that were not held back.

    Examples
    --------
    >>> import pandas as pd
    >>> promises(pd.DataFrame({"verdict": ["kept", "broken", "kept", "not refuted", ""]}))
    'Of 4 promises, the labels that were held back say: 2 kept, 1 not refuted, 1 broken.'
    """
    if checked is None:
        return "No labels were held back, so that no promise could be checked."
    from known_unknowns.auditing.promises import VERDICTS  # whose tables need more than arrays do

    counts = [f"{(checked['verdict'] == one).sum()} {one}" for one in VERDICTS]
    return (
        f"Of {(checked['verdict'] != '').sum()} promises, the labels that were held back say: "
        f"{', '.join(counts)}."
    )


def _sets(audit: Audit) -> str:
    sets = len(audit.inputs.ood)
    return f"half of the images of {sets} set{'s' if sets > 1 else ''} of unknown ones"
