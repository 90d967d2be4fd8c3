"""Audit known mixtures, and count how often each number of the audits is false.

The images are drawn from outputs of published networks for test images and for sets of unknown
images.  An audit gets N test images, N images of an unknown set, and N new images, among which this
set has a known share, which is stated to the audit.  60 or 300 new images have labels.  The outputs
of `TINIEST` are also for corrupted images, and for sets of no feature pack.  In further audits,
the new images have another mixture of the classes, or the test images come in groups.

    python -m benchmarks.audits    continues after a stop; remove audits.csv to begin anew
    DATA_ROOT=... NETWORK_ROOT=... python -m benchmarks.audits outputs    writes `OUTPUTS`
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from safetensors.numpy import load_file, save_file
from scipy.stats import binom

from helpers.files import atomic_path
from helpers.metrics import aurc
from helpers.outputs import Outputs
from helpers.scores.calibration import confidences
from known_unknowns.auditing import Audit, audit
from known_unknowns.auditing.checked import NO_CLASS, NOT_LABELLED
from known_unknowns.auditing.labelling import draw
from known_unknowns.bench.feature_packs import EMBEDDED, FeaturePack

STORED = Path(__file__).with_name("results") / "audits.csv"
PACKS = "resnet20.akamaster_cifar10 densenet100.dice_cifar10 densenet100.dice_cifar100".split()
TINIEST = "tiniest.thales_cifar10"
OUTPUTS = STORED.with_name("tiniest.safetensors")
#: Corruptions with their severities, and sets of unknown images.
CHANGES = {"fog": 3, "gaussian_noise": 1, "jpeg_compression": 2, "defocus_blur": 3}
SETS = """doc_figures emnist_letters facial_expressions flowers5 food101_64 road_potholes svhn
wesnoth_units""".split()
#: Numbers of test images without a change and of each corruption, and of each unknown set.
TEST = 1800
CHANGED = 400
UNKNOWN = 100
#: In another mixture, every fifth class is `TIMES` times as frequent.
FIFTHS = 5
TIMES = 3
#: Number of images of a group, which have one class and similar confidences.
GROUP = 5
#: Numbers of labels, each with the shares of unknown images and the numbers of images.
_ALL = {60: ((0, 0.01, 0.05, 0.2, 0.5, 0.8), (200, 1000, 3000)), 300: ((0.05, 0.2), (1000, 3000))}
_FEWER = {60: ((0, 0.2), (200, 1000, 3000))}
CASES: dict[str, dict] = {"none": _ALL, "corrupted": _ALL, "mixture": _FEWER, "groups": _FEWER}
RISK = 0.05
#: Draws of each cell, which the networks of the cell share, and draws that are stored together.
DRAWS = 200
ROUND = 10
#: The largest share of draws in which each number may be false; the last three are means.
ALLOWED = dict.fromkeys(
    "accuracy, aurc, risk, smallest, by answer, worse answers, conditional coverage, bound, moved, "
    "rest, drift, labelled accuracy, labelled risk, labelled unknown, verdict, production, "
    "bracket, accepted, average, rejected, list".split(", "),
    0.05,
)
ALLOWED |= dict.fromkeys("rest bracket accepted rejected list".split(), 0.1)
#: Numbers without a guarantee for all draws: they hold if there is an answer.
IF_ANSWERED = "aurc average bracket accepted moved".split()
KEYS = "network change labels unknown images".split()
COLUMNS = [*KEYS, "draws", "narrow"]
COLUMNS += [f"{name}{end}" for name in ALLOWED for end in ("", ", answers")]
#: Probability that chance alone reports a cell.
CHANCE = 1e-4


class Population(NamedTuple):
    """Outputs of a network: test images, new images of each change, and unknown sets."""

    network: str
    change: str
    known: Outputs
    new: list[Outputs]
    sets: list[Outputs]

    def validation(self, images: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
        """Return the arrays of random test images, and of their groups, if any."""
        arrays = {}
        if self.change == "groups":
            confidence = confidences(self.known.logits)
            order = np.lexsort((confidence, self.known.labels))
            groups = order.reshape(-1, GROUP)
            drawn = groups[generator.integers(len(groups), size=images // GROUP)].ravel()
            arrays["groups"] = np.arange(images) // GROUP
        else:
            drawn = generator.integers(len(self.known), size=images)
        part = self.known.subset(drawn)
        return arrays | {"logits": part.logits, "labels": part.labels}


class Law(NamedTuple):
    """Scores and answers of images of known classes, and scores of a share of unknown images."""

    scores: np.ndarray
    outputs: Outputs
    unknown: np.ndarray
    share: float

    def risk(self, threshold: float) -> float:
        """Return the share of wrong answers among the accepted answers."""
        share = self.share
        kept = self.scores >= threshold
        let_in = share * (self.unknown >= threshold).mean()
        wrong = (1 - share) * (kept & ~self.outputs.correct).mean() + let_in
        accepted = (1 - share) * kept.mean() + let_in
        return wrong / accepted if accepted else 0.0

    def risk_of(self, answer: int, threshold: float) -> float:
        """Return the risk of an answer, without unknown images."""
        among = self.outputs.predictions == answer
        part = self.outputs.subset(among)
        return Law(self.scores[among], part, self.unknown, 0).risk(threshold)

    def shares(self) -> np.ndarray:
        """Return the shares of the known classes."""
        labels = self.outputs.labels
        return np.bincount(labels, minlength=self.outputs.num_classes) / len(labels)


def of_validation(audited: Audit, law: Law) -> Iterator[tuple[str, float]]:
    """Yield each number of the validation images, and whether it is false, or its mean."""
    correct = law.outputs.correct
    yield "accuracy", is_outside(correct.mean(), *audited.accuracy[1:])
    area = audited.confirmed.query("metric == 'aurc' and set == ''").iloc[0]
    yield "aurc", is_outside(aurc(law.scores, correct), area["low"], area["high"])
    for name in ("risk", "smallest", "average"):
        threshold = audited.thresholds.get(name)
        if threshold and not threshold.problem:
            risk = law.risk(threshold.value)
            yield name, risk if name == "average" else risk > threshold.target_value
    risks = [
        law.risk_of(answer, row.value)
        for answer, row in enumerate(audited.answers)
        if row.value == row.value
    ]
    if risks:
        yield "by answer", max(risks) > RISK
    if audited.threshold:
        worse = [
            law.risk_of(answer, audited.threshold.value)
            for answer, row in enumerate(audited.classes)
            if row.beyond
        ]
        yield "worse answers", min(worse, default=1) <= audited.threshold.target_value
    threshold = audited.thresholds["coverage"]
    coverage = (law.scores >= threshold.value).mean()
    yield "rejected", 1 - coverage
    yield "conditional coverage", coverage < threshold.conditional


def of_causes(
    audited: Audit, before: Law, law: Law, labels: np.ndarray, change: str
) -> Iterator[tuple[str, float]]:
    """Yield each number of the three causes, and whether it is false; corrupted images are unlike.

    The classes that are rarer than before bound the share of images that are not unlike.
    """
    seen = audited.unlabelled
    assert seen and audited.drift
    corrupted = change == "corrupted"
    if not law.share and change in ("none", "groups"):
        yield "drift", bool(audited.drift.found)
    alike = (1 - law.share) * (law.shares() / before.shares()).min()
    if seen.least:
        yield "bound", not corrupted and seen.least > 1 - alike
    moved = (1 - law.share) * np.abs(law.shares() - before.shares()).sum() / 2
    yield "moved", is_outside(moved, *seen.mixture.moved[1:])
    if seen.rest[0]:
        yield "rest", not corrupted and seen.rest[0] > law.share
    if seen.listed and change != "mixture":  # there, it is not defined which images are unlike
        yield "list", 0 if corrupted else (labels[seen.listed] != NO_CLASS).mean()


def of_new(audited: Audit, law: Law, labels: np.ndarray) -> Iterator[tuple[str, float]]:
    """Yield each number of the new images, and whether it is false, or its mean."""
    seen = audited.unlabelled
    production = audited.inputs.production
    assert seen and seen.labelled and production
    right = production.predictions == labels
    if seen.accuracy:
        low, high = seen.accuracy
        yield "bracket", is_outside(right.mean(), low, high)
        yield "narrow", high - low <= 0.3
    accuracy = (1 - law.share) * law.outputs.correct.mean()
    yield "labelled accuracy", is_outside(accuracy, *seen.labelled.accuracy[1:3])
    yield "labelled unknown", is_outside(law.share, *seen.labelled.unknown[1:3])
    if "production" in audited.thresholds:
        yield "production", law.risk(audited.thresholds["production"].value) > RISK
    threshold = audited.threshold
    if not threshold:
        return
    risk = law.risk(threshold.value)
    if seen.accepted:
        kept = audited.samples["production"] >= threshold.value
        yield "accepted", right[kept].mean() < seen.accepted[0]
    if seen.labelled.risk:
        yield "labelled risk", is_outside(risk, *seen.labelled.risk[1:3])
    guarantee = seen.labelled.guarantee
    if guarantee and guarantee.state != "open":
        yield "verdict", (guarantee.state == "broken") == (risk <= threshold.target_value)


def is_outside(value: float, low: float, high: float) -> bool:
    """Return whether an interval does not contain a value."""
    return not low <= value <= high


def populations() -> Iterator[Population]:
    """Yield the outputs of each network for each change."""
    networks = []
    for network in PACKS:
        pack = FeaturePack.read(EMBEDDED / f"{network}.safetensors")
        networks.append((network, pack.test, [*(pack.near | pack.far).values()]))
    stored = load_file(OUTPUTS)
    step = stored["step"]
    labels = stored["labels"].astype(int)
    test, *others = (
        Outputs(step * stored[part], np.empty((len(stored[part]), 0)), labels[: len(stored[part])])
        for part in ("test", *CHANGES, *SETS)
    )
    networks.append((TINIEST, test, others[len(CHANGES) :]))
    yield Population(TINIEST, "corrupted", test, others[: len(CHANGES)], networks[-1][2])
    for network, known, sets in networks:
        yield Population(network, "none", known, [known], sets)
        yield Population(network, "groups", known, [known], sets)
        mixtures = [
            known.subset(np.repeat(np.arange(len(known)), np.where(frequent, TIMES, 1)))
            for frequent in np.arange(FIFTHS)[:, None] == known.labels % FIFTHS
        ]
        yield Population(network, "mixture", known, mixtures, sets)


def simulate() -> pd.DataFrame:
    """Audit `DRAWS` draws of each cell, and store the rows after each cell and round."""
    rows: dict = {}
    if STORED.exists():
        for stored in pd.read_csv(STORED).to_dict("records"):
            rows[tuple(stored[name] for name in KEYS)] = defaultdict(float, stored)
    every = list(populations())
    sharing = Counter(population.change for population in every)
    cells = [
        (population, labels, share, images)
        for population in every
        for labels, (shares, sizes) in CASES[population.change].items()
        for share, images in product(shares, sizes)
    ]
    for most, (population, *cell) in product(range(ROUND, DRAWS + 1, ROUND), cells):
        keys = (*population[:2], *cell)
        row = rows.setdefault(keys, defaultdict(float, zip(KEYS, keys, strict=True)))
        most = min(most, DRAWS // sharing[population.change])
        if row["draws"] >= most:
            continue
        for number in range(int(row["draws"]), most):
            for name, value in false_numbers(population, number, *cell):
                row[name] += float(value)
                row[f"{name}, answers"] += 1
            row["draws"] += 1
        with atomic_path(STORED) as temporary:
            table = pd.DataFrame(list(rows.values()), columns=COLUMNS).fillna(0).round(4)
            table.to_csv(temporary, index=False)
    return pd.read_csv(STORED)


def false_numbers(
    population: Population, number: int, count: int, share: float, images: int
) -> Iterator[tuple[str, float]]:
    """Yield each number of an audit of random images with `count` labels, and whether it is false.

    Of a number without a guarantee for each draw, yield its mean.
    """
    _, change, known, news, sets = population
    others = sets[number % len(sets)]
    new = news[number // len(sets) % len(news)]
    generator = np.random.default_rng([number, images, round(100 * share), len(known), len(news)])
    arrays = population.validation(images, generator)
    production = new.subset(generator.integers(len(new), size=images))
    unknown = generator.random(images) < share
    arrays["ood_set_logits"], more = (generator.choice(others.logits, images) for _ in range(2))
    labels = np.where(unknown, NO_CLASS, production.labels)
    labelled = np.full(images, NOT_LABELLED)
    drawn = draw(labels, 0)[:count]
    labelled[drawn] = labels[drawn]
    arrays["production_logits"] = np.where(unknown[:, None], more, production.logits)
    arrays["production_labels"] = labelled
    audited = audit(arrays, risk=RISK, unknown_share=share, fallback="smallest")
    score = audited.score.score_samples
    before, after = (Law(score(part), part, score(others), share) for part in (known, new))
    yield from of_validation(audited, before)
    yield from of_causes(audited, before, after, labels, change)
    yield from of_new(audited, after, labels)


def failing(table: pd.DataFrame) -> list[str]:
    """Return each cell in which a number is false more often than allowed, beyond chance.

    Larger groups, such as all networks together or all sizes of a network, count too.
    """
    reported = []
    for keys in (KEYS[:3], KEYS[:4], KEYS[1:4], KEYS[1:], KEYS):
        sums = table.groupby(keys).sum(numeric_only=True)
        for name, allowed in ALLOWED.items():
            counts = sums[f"{name}, answers" if name in IF_ANSWERED else "draws"]
            most = binom.isf(CHANCE, counts, allowed)
            for cell, row in sums[sums[name] > most].iterrows():
                reported.append(f"{cell}: {name}, {row[name]:g} of {counts[cell]:g}")
    return reported


def write_outputs() -> None:
    """Write the logits of `TINIEST` in 8 bits."""
    from helpers import data
    from helpers.data.corruptions import corrupt_set
    from helpers.networks import zoo

    model = zoo.load(TINIEST, progress=False)
    test = data.subsample(data.load("cifar10", "test"), TEST, seed=1)
    test = test.subset(np.random.default_rng(1).permutation(TEST))
    images = {"test": test}
    for name, severity in CHANGES.items():
        images[name] = corrupt_set(test.subset(slice(CHANGED)), name, severity)
    for name in SETS:
        every = data.load(name, "test" if "test" in data.splits(name) else "train", size=32)
        images[name] = data.subsample(every.unknown(), UNKNOWN, seed=1)
    logits = {name: model.outputs(part).logits for name, part in images.items()}
    step = max(np.abs(values).max() for values in logits.values()) / 127
    arrays = {name: np.rint(values / step).astype(np.int8) for name, values in logits.items()}
    arrays |= {"labels": test.labels.astype(np.int8), "step": np.array([step], np.float32)}
    save_file(arrays, OUTPUTS)


if __name__ == "__main__":
    if sys.argv[1:] == ["outputs"]:
        write_outputs()
    else:
        print(failing(simulate()))
