"""What an audit found, for a person who knows no score's name: five sentences and one picture.

And below them one finding each, with what to do about it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from helpers.metrics import guarantees
from known_unknowns.auditing import sections, words
from known_unknowns.auditing.sections import Finding
from known_unknowns.auditing.thresholds import promise_risk

if TYPE_CHECKING:
    from known_unknowns.auditing.report import Audit

SHOWN = 8
"""Sets of unknown images in the picture, those of which most are accepted."""
NEARLY_ALL = 0.98  # of the images: who accepts so many rejects next to nothing
TOO_MANY = 0.5  # of a set of unknown images


class Sureness(NamedTuple):
    """How sure a model is on average, and how often it is right, on all validation images.

    Attributes
    ----------
    claimed : float
        Mean of the largest probabilities, as the model gives them.
    right, low, high : float
        Accuracy, with the ends of its exact 95 % interval.
    """

    claimed: float
    right: float
    low: float
    high: float


@dataclass(frozen=True)
class Bar:
    """What becomes of the images of one group, in shares that add up to 1.

    Attributes
    ----------
    images : str
    right, wrong : float
        Accepted, and right or wrong; an unknown image is wrong.
    unsure : float
        Accepted, and nobody knows.
    left : float
        Left to a person.
    """

    images: str
    right: float = 0.0
    wrong: float = 0.0
    unsure: float = 0.0
    left: float = 0.0


def measure_sureness(audit: Audit) -> Sureness:
    """Return how sure the audited model is, and how often it is right."""
    return Sureness(float(audit.claimed.mean()), *audit.accuracy)


def bars(audit: Audit) -> list[Bar]:
    """Return what the rejector makes of each group of images; without one, how right the model is.

    The validation images are those of the measuring half.
    """
    deployed = audit.thresholds.get(audit.deployed)
    name, correct = "images like yours", audit.correct
    if deployed is None:
        return [Bar(name, right=float(correct.mean()), wrong=float((~correct).mean()))]
    accepted = audit.samples["validation"] >= deployed.value
    shares = (accepted & correct, accepted & ~correct, ~accepted)
    right, wrong, left = (float(one.mean()) for one in shares)
    found = [Bar(name, right=right, wrong=wrong, left=left)]
    unknown = sorted(deployed.ood_accepted.items(), key=lambda one: -one[1])
    found += [Bar(f"unknown: {one}", wrong=part, left=1 - part) for one, part in unknown[:SHOWN]]
    if "production" in audit.samples:
        part = float((audit.samples["production"] >= deployed.value).mean())
        found.append(Bar("unlabelled images", unsure=part, left=1 - part))
    return found


def summary(audit: Audit) -> list[str]:
    """Return five sentences: how right, how sure, what to accept, what it promises, what to do."""
    value, low, high = (100 * one for one in audit.accuracy)
    right = (
        f"The model is right on {value:.1f} % of {len(audit.inputs.validation)} images that it "
        f"has not learnt from (95 % interval: {low:.1f} to {high:.1f} %)"
        + (
            f", one of each group, drawn by chance from {audit.inputs.grouped} images."
            if audit.inputs.grouped
            else "."
        )
    )
    return [right, how_sure(audit), what_to_accept(audit), promise(audit), next_step(audit)]


def how_sure(audit: Audit) -> str:
    """Return whether the model's confidence can be believed."""
    found = measure_sureness(audit)
    claimed, right = 100 * found.claimed, 100 * found.right
    claim = f"on average it claims {claimed:.1f} % and is right on {right:.1f} %"
    if found.low <= found.claimed <= found.high:
        return f"Its confidence can be believed: {claim}."
    way = "too sure" if found.claimed > found.right else "not sure enough"
    mended = f"; divide its logits by {audit.temperature:.3g} before the softmax"
    return f"It is {way} of itself: {claim}{mended if _helps(audit) else ''}."


def _about_confidence(audit: Audit) -> str:
    """Return what to do about how sure the model is."""
    if _helps(audit):
        return (
            f"Divide the logits by {audit.temperature:.3g} before the softmax wherever the "
            "confidence is used."
        )
    found = measure_sureness(audit)
    if found.low <= found.claimed <= found.high:
        return "Nothing: use the confidence as it is."
    return (
        "Do not show the confidence as a probability: one temperature for all images does not mend "
        "it. Use it to tell surer answers from less sure ones."
    )


def _helps(audit: Audit) -> bool:
    """Tell whether temperature scaling brings the ECE of the measuring half down."""
    ece = audit.calibration["ece"]
    return bool(ece["after"] < ece["before"])


def what_to_accept(audit: Audit) -> str:
    """Return which answers to accept."""
    if not audit.deployed:
        return words.rejector(audit)
    found = audit.thresholds[audit.deployed]
    return (
        f"Accept an answer when its score, here {words.title(audit.best[0])}, is at least "
        f"{found.value:.6g}: that keeps {100 * found.coverage[0]:.1f} % of images like these and "
        "leaves the others to a person."
    )


def promise(audit: Audit) -> str:
    """Return what is promised of the answers that are accepted, and what is not."""
    if not audit.deployed:
        return "So nothing is promised of the answers that one accepts."
    moved = audit.drift is not None and audit.drift.found()
    other = "The unlabelled images are not like these, and the promise is not about them."
    return " ".join([_promise(audit), *_of_classes(audit), *[other] * bool(moved)])


def _of_classes(audit: Audit) -> list[str]:
    """Return which classes the promise about all images hides, the worst first."""
    worse = sorted((one for one in audit.by_class if one.beyond), key=lambda one: -one.wrong[0])
    if not worse:
        return []
    first, others = worse[0], len(worse) - 1
    return [
        f"But of the {first.accepted} accepted images of class “{first.name}”, "
        f"{100 * first.wrong[0]:.1f} % are wrong"
        + (f", and in {others} more classes too many are." if others else ".")
    ]


def _promise(audit: Audit) -> str:
    found, confidence = audit.thresholds[audit.deployed], audit.settings["confidence"]
    said = (
        f"Of the answers so accepted at most {100 * found.wished:g} % are wrong in the long run, "
        f"promised with {100 * confidence:g} % confidence"
        if found.wish == "risk"
        else f"At least {100 * found.wished:g} % of images like these are accepted in the long run"
    )
    if found.unknown:
        return (
            f"Of the answers so accepted at most {100 * found.wished:g} % are wrong or about an "
            "image of no known class in the long run, promised with "
            f"{100 * confidence:g} % confidence, as long as at most {100 * found.unknown:g} % of "
            "the images are of such classes and like those of the sets."
        )
    if not found.ood_accepted:
        return f"{said}; no promise covers images of unknown classes, and none were given to try."
    worst = max(found.ood_accepted, key=found.ood_accepted.__getitem__)
    return (
        f"{said}; no promise covers images of unknown classes, of which it accepts up to "
        f"{100 * found.ood_accepted[worst]:.1f} % ({worst})."
    )


def next_step(audit: Audit) -> str:
    """Return what to do now."""
    found = audit.thresholds.get(audit.deployed)
    if found is None:
        return _without_threshold(audit)
    accepted = found.ood_accepted
    worst = max(accepted, key=accepted.__getitem__) if accepted else ""
    everything = found.wish == "risk" and found.coverage[0] > NEARLY_ALL
    if everything and not accepted:
        return (
            "It accepts nearly everything, as the model alone is right often enough for this wish: "
            f"if that is not enough, {_stricter(audit, worst)}; and bring images of unknown "
            "classes, to see what becomes of them."
        )
    if accepted and accepted[worst] > TOO_MANY:
        if everything:
            why = "Do not rely on it yet, as it accepts nearly everything"
            return f"{why}: {_stricter(audit, worst)}."
        return (
            f"Do not rely on it where images like {worst} turn up, most of which it accepts: "
            f"{_stricter(audit, worst)}."
        )
    return (
        "Let `known-unknowns accept rejector.safetensors new.npz` judge what the model says of new "
        "images, give what is not accepted to a person, and audit again when the images change."
    )


def _without_threshold(audit: Audit) -> str:
    wish = audit.settings["wish"]
    if wish == "risk":
        needed = guarantees.images_needed(audit.settings["risk"], audit.settings["confidence"])
        if len(audit.promised_on[0]) < needed and audit.settings["unknown_share"]:
            return "Bring more validation images and more unknown ones, and audit again."
        if len(audit.measuring) < needed:
            return f"Bring more validation images, {2 * needed} at the least, and audit again."
        return "Wish for a larger risk and audit new images with it, or train a better model."
    return "Wish for a smaller coverage, or bring more validation images, and audit again."


def _stricter(audit: Audit, worst: str) -> str:
    """Return what to wish for instead of a threshold that lets too much through."""
    found, other = audit.thresholds[audit.deployed], audit.thresholds["coverage"]
    options = []
    if found.wish == "risk":
        options += _smaller_risk(audit)
    if found.wish == "risk" and not other.problem and other.coverage[0] < found.coverage[0]:
        part = ""
        if worst:
            part = f", with which it accepts {100 * other.ood_accepted[worst]:.1f} % of {worst}"
        options.append(f"keep fewer of the images (`--coverage {other.wished:g}`{part})")
    if found.wish == "coverage":
        options.append("wish for a smaller coverage")
    if not options:
        options.append("this score does not find such images; bring features or training images")
    return " or ".join(options)


def _smaller_risk(audit: Audit) -> list[str]:
    """Return the largest risk with which some are rejected, of a few below that of all answers."""
    scores, correct = audit.promised_on
    wrong, confidence = float((~correct).mean()), audit.settings["confidence"]
    options = [float(f"{part * wrong:.1g}") for part in (0.8, 0.5, 0.3)]
    for risk in options:
        if not 0 < risk < audit.settings["risk"]:
            continue
        found = promise_risk(scores, correct, {}, risk, confidence)
        if not found.problem and found.coverage[0] <= NEARLY_ALL:
            return [f"wish for a smaller risk (`--risk {risk:g}`), best of new images"]
    if 0 < options[1] < audit.settings["risk"]:
        needed = 4 * guarantees.images_needed(options[1], confidence)
        return [f"bring some {needed} validation images and wish for `--risk {options[1]:g}`"]
    return []


def _best(audit: Audit) -> str:
    scores, title = audit.ranking["score"].nunique(), words.title(audit.best[0])
    return f"Of {scores} scores, {title} is the one to take."


def _labels(audit: Audit) -> tuple[str, ...]:
    """Return how many labels are probably wrong."""
    if not (count := len(audit.suspected_labels)):
        return ("No label is suspected of being wrong.",)
    return (
        f"{count} of {len(audit.inputs.validation)} labels are suspected of being wrong: of another"
        " class the model is as sure there as it is on average of images that have its label. They"
        " are in audit.json; some will be errors of the model instead.",
    )


def findings(audit: Audit) -> list[Finding]:
    """Return the parts of the report, in the order in which they are read."""
    right, sure, accept, promised, now = summary(audit)
    before, after = (audit.calibration.loc[one] for one in ("before", "after"))
    found = [
        Finding(
            "right", "How right it is", right, _labels(audit),
            "Look at the surest errors: a wrong label is mended in the data, and two classes that "
            "no one can tell apart are perhaps one."
            if len(audit.wrong)
            else "Nothing: it makes no error on these images.",
        ),
        Finding(
            "sure", "How sure it is", sure,
            (
                f"Confidence and accuracy are {100 * before['ece']:.1f} points apart (ECE), and "
                f"{100 * after['ece']:.1f} when the logits are divided by {audit.temperature:.3g}; "
                f"{100 * after['floor']:.1f} would be due to chance alone.",
            ),
            _about_confidence(audit),
        ),
        Finding(
            "score", "Which score tells what it does not know", _best(audit),
            tuple(words.recommendation(audit)),
            f"Use {words.title(audit.best[0])}"
            + ("; the rejector does." if audit.deployed else ", once there is a threshold."),
        ),
        Finding(
            "accept", "What to accept", accept,
            (promised, *words.threshold(audit), *words.answers(audit), *words.strata(audit)), now,
        ),
    ]  # fmt: skip
    found.insert(2, sections.weak(audit))
    if audit.sets is not None:
        found.append(sections.answer_sets(audit))
    if audit.inputs.production is not None:
        said = words.prediction(audit)
        advice = (
            "Look at the unlabelled images with the lowest scores first"
            + (
                ", and state how many may be unknown (`--share`), for a promise that reckons with "
                "them."
                if audit.inputs.ood and not audit.settings["unknown_share"]
                else "."
            )
            if audit.unlabelled.least > 0
            else "Label some of them, those with the lowest scores first, and audit again."
        )
        heading = "What the unlabelled images say"  # at the end, what they are
        found.append(Finding("unlabelled", heading, said[-1], tuple(said[:-1]), advice))
        found.append(sections.drifted(audit))
    said = words.limits(audit)
    advice = "Audit again, with new validation images, when the model or the images change."
    found.append(Finding("limits", "What this cannot say", said[0], tuple(said[1:]), advice))
    return found
