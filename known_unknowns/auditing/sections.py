"""Parts of the report that not every audit has: sets, weak groups, drift; each with what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from known_unknowns.auditing import drift, weak_groups
from known_unknowns.auditing.thresholds import share

if TYPE_CHECKING:
    from known_unknowns.auditing.report import Audit

EXAMPLES = 5
"""Images of a weak group that are named: the surest errors in it."""


@dataclass(frozen=True)
class Finding:
    """A part of the report: its heading, one sentence, the details, and what to do."""

    name: str
    heading: str
    sentence: str
    details: tuple[str, ...]
    advice: str


@dataclass(frozen=True)
class OfGroup:
    """A weak group, as the report tells of it.

    Attributes
    ----------
    images : int
        Of the measuring half.
    right : (float, float, float)
        Accuracy on them, with the ends of an interval that holds for all groups together.
    others : float
        Accuracy on the other images.
    p_value : float
        `known_unknowns.auditing.weak_groups.WeakGroup.p_value`.
    claimed : float
        Mean confidence on them, after temperature scaling.
    label : str
        The most frequent one, and which share of the group has it (`label_share`).
    accepted : int
        How many the rejector accepts, and which share of these is `wrong`, with the ends of its
        exact 95 % interval.
    examples : tuple of str
        Images that the model is surest and wrong of.
    """

    images: int
    right: tuple[float, float, float]
    others: float
    p_value: float
    claimed: float
    label: str
    label_share: float
    accepted: int
    wrong: tuple[float, float, float]
    examples: tuple[str, ...]

    @property
    def unseen(self) -> bool:
        """Whether the model is surer there than it is right, beyond noise."""
        return self.claimed > self.right[2]


def describe_groups(audit: Audit) -> list[OfGroup]:
    """Return what is to be said of each weak group, the weakest first."""
    inputs, sure = audit.inputs, audit.sure
    deployed, labels = audit.thresholds.get(audit.deployed), inputs.validation.labels
    found = []
    for one in audit.weak_groups[1]:
        members, correct = audit.measuring[one.places], audit.correct[one.places]
        counts = np.bincount(labels[members])
        accepted = np.zeros(len(members), bool)
        if deployed is not None:
            accepted = audit.samples["validation"][one.places] >= deployed.value
        wrong = members[~correct]
        surest = wrong[np.argsort(-sure[wrong], kind="stable")][:EXAMPLES]
        found.append(
            OfGroup(
                len(members), one.right, one.others, one.p_value, float(sure[members].mean()),
                inputs.class_names[counts.argmax()], float(counts.max() / len(members)),
                int(accepted.sum()),
                share(~correct[accepted]) if accepted.any() else (np.nan,) * 3,
                tuple(inputs.files[place] if inputs.files else f"row {place}" for place in surest),
            )
        )  # fmt: skip
    return found


def weak(audit: Audit) -> Finding:
    """Return on which groups of images the model is wrong more often than elsewhere."""
    groups, looked_at = describe_groups(audit), audit.weak_groups[0]
    where = "features" if audit.inputs.validation.features.shape[1] else "logits"
    level = (
        f"The choosing half said which groups there are, and the measuring half which of them are "
        f"weak: any is named with a probability of at most {100 * weak_groups.LEVEL:g} % where the "
        "model is equally often right everywhere."
    )
    if not groups:
        some = f"{looked_at} groups were looked at" if looked_at else "there was none to look at"
        return Finding(
            "weak", "Where it is weak",
            f"In the {where} there is no group of images on which it is shown to be wrong more "
            f"often than elsewhere; {some}.",
            (level,),
            "Nothing. Groups that you know of, such as a camera or a place, are seen where the "
            f"{where} tell them apart: audit the images of each by themselves.",
        )  # fmt: skip
    first, more = groups[0], len(groups) - 1
    sentence = (
        f"On a group of images that lie together in the {where} it is right on "
        f"{100 * first.right[0]:.1f} %, against {100 * first.others:.1f} % on all others"
        + (f"; there are {more} more such groups." if more else ".")
    )
    advice = "Look at the images named above for what they have in common, and collect more of it."
    if any(one.unseen for one in groups):
        advice += (
            " Until the model has learnt it, leave such images to a person: neither its confidence "
            "nor a threshold keeps them out."
        )
    else:
        advice += " The model is less sure of them, so that a threshold leaves more of them out."
    return Finding("weak", "Where it is weak", sentence, (*map(_of_group, groups), level), advice)


def _of_group(one: OfGroup) -> str:
    value, low, high = (100 * part for part in one.right)
    said = (
        f"{one.images} images of the measuring half, {100 * one.label_share:.1f} % of them "
        f"labelled “{one.label}”: it is right on {value:.1f} % ({low:.1f} to {high:.1f} %) and "
        f"claims {100 * one.claimed:.1f} %"
        + (", so that it does not know it." if one.unseen else ", so that it knows it.")
    )
    if one.accepted:
        said += f" Of the {one.accepted} that are accepted {100 * one.wrong[0]:.1f} % are wrong."
    return f"{said} The surest errors: {', '.join(one.examples)}."


def accepted_unlabelled(audit: Audit) -> tuple[float, float, float] | None:
    """Return which share of the unlabelled images the rejector accepts, if there is one."""
    deployed = audit.thresholds.get(audit.deployed)
    return None if deployed is None else share(audit.samples["production"] >= deployed.value)


def drifted(audit: Audit) -> Finding:
    """Return whether the unlabelled images are like the validation images."""
    found, differs = audit.drift, audit.drift.found()
    (score, first), (along, second) = found.score, found.features
    where = "features" if audit.inputs.validation.features.shape[1] else "logits"
    details = [
        f"The largest difference between the two distribution functions of the score is "
        f"{100 * score:.1f} points ({_p_value(first)}), and along any of {found.directions} "
        f"directions in the {where} {100 * along:.1f} points ({_p_value(second)}). Each p-value is "
        "corrected for all that was looked at: a difference is named with a probability of at most "
        f"{100 * drift.LEVEL:g} % where there is none.",
    ]
    if (accepted := accepted_unlabelled(audit)) is not None:
        value, low, high = (100 * one for one in accepted)
        coverage = audit.thresholds[audit.deployed].coverage[0]
        details.insert(
            0,
            f"The rejector accepts {value:.1f} % of the unlabelled images ({low:.1f} to "
            f"{high:.1f} %), and {100 * coverage:.1f} % of the validation images.",
        )
    heading = "Whether the unlabelled images are like yours"
    if not differs:
        return Finding(
            "drift", heading,
            f"No difference is shown between the unlabelled images and the validation images, "
            f"neither in the score nor in the {where}.",
            tuple(details),
            "Nothing now. This is no proof, above all with few images: audit again with every new "
            "batch of unlabelled ones.",
        )  # fmt: skip
    which = " and ".join(where if one == "features" else "score" for one in differs)
    return Finding(
        "drift", heading,
        f"They are not drawn from what the validation images are: the {which} differ"
        + ("." if len(differs) > 1 or differs[0] == "features" else "s."),
        tuple(details),
        "If unknown images among them explain it, state their share (`--share`). Else label some, "
        "drawn by chance, and audit with these as validation images: no promise is about the rest.",
    )  # fmt: skip


def _p_value(value: float) -> str:
    return f"p = {value:.3f}" if value >= 0.001 else "p < 0.001"


def answer_sets(audit: Audit) -> Finding:
    """Return what answers of several classes come to."""
    found, confidence = audit.sets, audit.settings["confidence"]
    heading = "Answers that name several classes"
    if found.problem:
        return Finding(
            "sets", heading, f"No sets of {100 * found.wished:g} % can be had.",
            (f"The reason: {found.problem}.",),
            "Bring more validation images, or wish for a smaller share.",
        )  # fmt: skip
    sentence = (
        f"{found.size:.1f} classes on average hold the true one with a probability of "
        f"{100 * found.wished:g} %; {100 * found.single[0]:.1f} % of the answers name one."
    )
    value, low, high = (100 * one for one in found.covered)
    details = (
        "The promise is about images like the validation images, on average over draws of these; "
        f"in {100 * confidence:g} % of the draws it is at least {100 * found.conditional:.1f} %. "
        f"On the measuring half, which set the rule, the true class is among those named in "
        f"{value:.1f} % of the images ({low:.1f} to {high:.1f} %).",
        "An answer names the most probable classes, as long as those before have a probability "
        f"of at most {found.most:.4g} after temperature scaling"
        + (
            f", to which {found.penalty:g} is added for each class beyond the first {found.free}."
            if found.penalty
            else "."
        ),
    )
    return Finding(
        "sets", heading, sentence, details,
        "Use the sets where a person can choose among a few classes: `known-unknowns accept` writes"
        " them in the column `set`.",
    )  # fmt: skip
