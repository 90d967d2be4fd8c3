"""The figure of each chapter in which a reader moves something, written anew at every build.

All are of one network that others have trained, whose outputs come with the package as a feature
pack: what is moved is what the chapter is about, on real images and at no cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from helpers import data, labelfree, metrics, scores
from helpers.metrics.calibration import calibration_error, reliability_curve
from helpers.report.movable import Axis, Position, movable
from helpers.scores.calibration import confidences, fit_temperature
from known_unknowns.bench import FeaturePack, values_on
from known_unknowns.bench.feature_packs import EMBEDDED
from known_unknowns.guarantees import risk_threshold

NETWORK = "resnet20.akamaster_cifar10"
STEPS = 41
"""Positions of a figure."""
_COMPARED = ("msp", "energy", "knn", "vim")  # the first is what the others are drawn against


def write(pack: FeaturePack | None = None) -> dict[str, str]:
    """Return each chapter's figure with a line on what it is of, as Markdown."""
    pack = pack or FeaturePack.read(EMBEDDED / f"{NETWORK}.safetensors")
    title = data.find(pack.id_set).title if data.find(pack.id_set) else pack.id_set
    what = (
        f"Drag in the picture, or move the slider: `{pack.name}`, {len(pack.test):,} test images "
        f"of {title}, {len(pack.near)} near and {len(pack.far)} far sets of unknown images "
        "([feature pack](feature-packs))."
    )
    return {
        paper: f"{what}\n\n```{{raw}} html\n{draw(pack)}\n```\n" for paper, draw in FIGURES.items()
    }


def percent(share: float) -> str:
    """Return a share as a reader says it.

    >>> percent(0.0523)
    '5.2 %'
    """
    return f"{100 * share:.1f} %"


def join(parts: Iterable) -> np.ndarray:
    """Return what several sets have in common, one after the other."""
    return np.concatenate(list(parts))


def _thresholds(values: np.ndarray) -> np.ndarray:
    """Return thresholds that part all images into shares of about the same size."""
    return np.unique(np.quantile(values, np.linspace(0, 0.99, STEPS)))


def calibration(pack: FeaturePack) -> str:
    """Reliability at a temperature, alone and with as many unknown images among the known ones."""
    test, unknown = pack.test, join(one.logits for one in pack.near.values())[: len(pack.test)]
    best = fit_temperature(test.logits, test.labels)
    temperatures = np.unique(np.round([*np.geomspace(best / 3, 3 * best, STEPS - 1), 1.0], 3))
    positions = []
    for one in temperatures:
        sure, others = (confidences(logits, one) for logits in (test.logits, unknown))
        both, right = join([sure, others]), join([test.correct, np.zeros(len(others), bool)])
        bars, mixed = reliability_curve(sure, test.correct), reliability_curve(both, right)
        errors = calibration_error(sure, test.correct), calibration_error(both, right)
        said = (
            f"At temperature {one:.2f} the ECE is {percent(errors[0])} on images of known classes, "
            f"and {percent(errors[1])} with {len(others)} near unknown ones among them, of which "
            f"no answer is right. The temperature that fits the known ones is {best:.2f}."
        )
        positions.append(
            Position(
                f"{one:.2f}",
                said,
                points={"with unknown images": (mixed.confidence, mixed.accuracy)},
                bars={"known classes": (*bars.edges.T, bars.accuracy)},
            )
        )
    return movable(
        positions,
        name="temperature",
        what="Temperature",
        alt="Accuracy against confidence, in bins.",
        axes=(Axis("confidence", 0, 1), Axis("accuracy", 0, 1)),
        still={"honest": ([0, 1], [0, 1])},
        start=int(np.abs(temperatures - 1).argmin()),
    )


def risk_coverage(pack: FeaturePack) -> str:
    """The risk–coverage curve of the union, with the threshold on it."""
    groups = {"ID": pack.test.correct}
    values = {"ID": scores.create("msp").score_samples(pack.test)}
    for side in ("near", "far"):
        own = getattr(pack, side).values()
        values[side] = join(scores.create("msp").score_samples(one) for one in own)
        groups[side] = np.zeros(len(values[side]), bool)
    confidence, right = join(values.values()), join(groups.values())
    coverage, risk = metrics.risk_coverage_curve(confidence, right)
    kept = np.unique(np.linspace(len(coverage) // 100, len(coverage) - 1, 200).astype(int))
    positions = []
    for one in _thresholds(confidence)[::-1]:
        accepted = {name: own >= one for name, own in values.items()}
        count = sum(each.sum() for each in accepted.values())
        wrong = {name: int((each & ~groups[name]).sum()) for name, each in accepted.items()}
        share, bad = count / len(right), sum(wrong.values()) / count
        said = (
            f"From a confidence of {one:.3f} on, {percent(share)} of the images are accepted. Of "
            f"these {percent(bad)} should not be: {wrong['ID']:,} mistakes, {wrong['near']:,} near "
            f"and {wrong['far']:,} far images."
        )
        point = {"threshold": ([share], [bad])}
        positions.append(Position(f"{one:.3f}", said, points=point, at=share))
    return movable(
        positions,
        name="risk_coverage",
        what="Threshold",
        alt="Risk against coverage.",
        axes=(Axis("coverage", 0, 1, True), Axis("risk", 0, 1.1 * risk.max(), True)),
        still={"largest probability": (coverage[kept], risk[kept])},
        start=len(positions) // 2,
    )


def detection_errors(pack: FeaturePack) -> str:
    """What a threshold does to right answers and to the rest, and the detection error rate."""
    one = scores.create("max_logit")
    unknown = join(one.score_samples(each) for each in pack.far.values())
    values = join([one.score_samples(pack.test), unknown])
    right = join([pack.test.correct, np.zeros(len(unknown), bool)])
    thresholds = np.linspace(*np.quantile(values, [0.005, 0.995]), STEPS)
    lost = np.array([(values[right] < each).mean() for each in thresholds])
    passed = np.array([(values[~right] >= each).mean() for each in thresholds])
    rate = np.array([metrics.detection_error_rate(values, right, each) for each in thresholds])
    wrong = (~right).mean()
    positions = [
        Position(
            f"{each:.1f}",
            f"With the threshold at {each:.1f}, {percent(one)} of the right answers are rejected, "
            f"and {percent(two)} of the wrong and unknown ones pass: a detection error rate of "
            f"{percent(three)}. Accepting everything gives {percent(wrong)}, rejecting everything "
            f"{percent(1 - wrong)}.",
            points={"threshold": ([each], [three])},
            at=each,
        )
        for each, one, two, three in zip(thresholds, lost, passed, rate, strict=True)
    ]
    return movable(
        positions,
        name="detection_error",
        what="Threshold",
        alt="Errors of a detector against its threshold.",
        axes=(Axis("maximum logit", thresholds[0], thresholds[-1]), Axis("share", 0, 1, True)),
        still={
            "right, rejected": (thresholds, lost),
            "wrong or unknown, accepted": (thresholds, passed),
            "detection error rate": (thresholds, rate),
        },
        start=int(np.abs(lost - 0.05).argmin()),
    )


def confusion(pack: FeaturePack) -> str:
    """Where known and near images fall on the two sides of a threshold."""
    one = scores.create("entropy")
    inside = one.score_samples(pack.test)
    outside = join(one.score_samples(each) for each in pack.near.values())
    edges = np.linspace(min(inside.min(), outside.min()), 0, 25)
    heights = {
        name: np.sqrt(np.histogram(values, edges)[0] / len(values))
        for name, values in (("known", inside), ("near", outside))
    }
    top = max(map(np.max, heights.values()))
    steps = {name: (np.repeat(edges, 2)[1:-1], np.repeat(one, 2)) for name, one in heights.items()}
    positions = []
    for each in np.linspace(edges[0], edges[-1], STEPS):
        shares = metrics.domain_confusion(inside, outside, each)
        said = (
            f"At {each:.2f}: InAsIn {percent(shares.InAsIn)}, InAsOut {percent(shares.InAsOut)}, "
            f"OutAsIn {percent(shares.OutAsIn)}, OutAsOut {percent(shares.OutAsOut)}."
        )
        line = {"threshold": ([each, each], [0, top])}
        positions.append(Position(f"{each:.2f}", said, lines=line, at=each))
    keep = metrics.rejection_threshold(inside, keep=0.95)
    return movable(
        positions,
        name="confusion",
        what="Threshold",
        alt="Histograms of the entropy of known and near images.",
        axes=(Axis("entropy, negated", edges[0], 0), Axis("√ of the share of images", 0, top)),
        still=steps,
        start=int(np.abs([one.at - keep for one in positions]).argmin()),
    )


def gscore_line(pack: FeaturePack) -> str:
    """Sets of unknown images about the line that was learnt at equal shares, at another share."""
    energy = scores.create("energy")
    known = energy.score_samples(pack.test)
    sets = [energy.score_samples(one) for one in (pack.near | pack.far).values()]
    truths = np.array([metrics.fpr_at_tpr(known, one) for one in sets])
    count = min(map(len, sets))

    def gscores(share: float) -> np.ndarray:
        others = round(count * min(1, share / (1 - share)))
        mixed = round(others * (1 - share) / share)
        mixtures = (join([known[:mixed], one[:others]]) for one in sets)
        return np.array(
            [labelfree.gscores(one, ["kmeans_l2"], taus=[0.5])["kmeans_l2"][0] for one in mixtures]
        )

    line = labelfree.fit_regression(gscores(0.5)[:, None], truths, [0.5])
    shares = np.round(np.linspace(0.05, 0.9, 18), 2)
    found = {share: gscores(share) for share in shares}
    ends = np.array([min(map(np.min, found.values())), max(map(np.max, found.values()))])
    low, high = np.floor(ends[0]), np.ceil(ends[1])
    grid = np.linspace(low, high, 60)
    positions = [
        Position(
            percent(share),
            f"Of {percent(share)} unknown images among all, the line, which has learnt from equal "
            "parts, foretells the FPR95 of these sets with an error (root mean square) of "
            f"{100 * np.sqrt(np.mean((line.predict(own) - truths) ** 2)):.1f} points.",
            points={"a set of unknown images": (own, truths)},
        )
        for share, own in found.items()
    ]
    return movable(
        positions,
        name="gscore_line",
        what="Share of unknown images",
        alt="FPR95 against the Gscore, with a line.",
        axes=(Axis("Gscore", low, high), Axis("FPR95", 0, 1, True)),
        still={"line at equal parts": (grid, line.predict(grid))},
        start=int(np.abs(shares - 0.5).argmin()),
    )


def composition(pack: FeaturePack) -> str:
    """The AURC of scores against the share of unknown images, which decides who leads."""
    generator = np.random.default_rng(0)
    values = {}
    for name in _COMPARED:
        score = scores.create_as_published(name, pack.id_set)
        said = values_on(pack, score)
        values[score.info.title] = said.pop("test"), join(said.values())
    order = generator.permutation(len(next(iter(values.values()))[1]))
    correct, most = pack.test.correct, len(order) / (len(order) + len(pack.test))
    shares = np.linspace(0, most, STEPS)
    areas = {name: [] for name in values}
    for share in shares:
        taken = order[: round(len(correct) * share / (1 - share))]
        right = join([correct, np.zeros(len(taken), bool)])
        for name, (known, unknown) in values.items():
            areas[name].append(metrics.aurc(join([known, unknown[taken]]), right))
    first = np.array(next(iter(areas.values())))
    gaps = {name: np.array(one) - first for name, one in areas.items()}
    low, high = (pick(list(gaps.values())) for pick in (np.min, np.max))
    positions = []
    for place, share in enumerate(shares):
        ranked = sorted(areas, key=lambda name: areas[name][place])
        listed = ", ".join(f"{name} {areas[name][place]:.3f}" for name in ranked)
        said = f"With {percent(share)} unknown images, the lowest AURC first: {listed}."
        line = {"share": ([share, share], [low, high])}
        positions.append(Position(percent(share), said, lines=line, at=share))
    return movable(
        positions,
        name="composition",
        what="Share of unknown images",
        alt="AURC of scores, less that of the first, against the share of unknown images.",
        axes=(
            Axis("unknown among all images", 0, most, True),
            Axis(f"AURC, less that of {next(iter(areas))}", low, high),
        ),
        still={name: (shares, gap) for name, gap in gaps.items()},
        start=0,
    )


def promise(pack: FeaturePack) -> str:
    """How many images may be accepted at a risk that is promised."""
    sure, right = scores.create("msp").score_samples(pack.test), pack.test.correct
    coverage, risk = metrics.risk_coverage_curve(sure, right)
    kept = np.unique(np.linspace(len(coverage) // 50, len(coverage) - 1, 200).astype(int))
    top, positions = 1.5 * risk[-1], []
    for wish in np.linspace(0.002, top, STEPS):
        shown = {"accepted": ([0], [0])}
        try:
            found = risk_threshold(sure, right, risk=wish)
        except ValueError:
            said = f"A risk of {percent(wish)} cannot be promised from {len(right):,} images."
        else:
            said = (
                f"For a risk of at most {percent(wish)}, with a confidence of 95 %, answers from "
                f"{found.threshold:.3f} on are accepted: {percent(found.coverage)} of the images, "
                f"of which {percent(found.risk)} are wrong here."
            )
            shown = {"accepted": ([found.coverage], [found.risk])}
        wished = {"wish": ([0, 1], [wish, wish])}
        positions.append(Position(percent(wish), said, lines=wished, points=shown))
    return movable(
        positions,
        name="promise",
        what="Risk that is wished",
        alt="Risk against coverage, with the risk that is wished and what is accepted for it.",
        axes=(Axis("coverage", 0, 1, True), Axis("risk", 0, top, True)),
        still={"largest probability": (coverage[kept], risk[kept])},
        start=STEPS // 2,
    )


FIGURES: dict[str, Callable[[FeaturePack], str]] = {
    "openset_calibration": calibration,
    "unknown_detection": risk_coverage,
    "human_centric": detection_errors,
    "uimnet": confusion,
    "gscore": gscore_line,
    "synthesis": composition,
    "audit": promise,
}
"""By chapter."""
