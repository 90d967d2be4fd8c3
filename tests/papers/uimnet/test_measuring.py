"""Any score as a measure: what it learns from, what it is asked, and what cannot be had."""

from dataclasses import replace
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from helpers import metrics, scores
from helpers.data import Images
from helpers.networks.model import Model
from helpers.outputs import Head, Outputs
from helpers.papers.parameters import load
from helpers.papers.uimnet import measuring
from helpers.papers.uimnet.measures import RECORDS
from helpers.papers.uimnet.roles import DomainSplit
from helpers.report import results
from helpers.scores import base
from helpers.scores.base import BlockwiseScore
from helpers.scores.info import Info
from helpers.scores.logits import log_sum_exp

SIZES = {"train": 60, "validation": 30, "test": 40, "out": 20}
CLASSES = ("a", "b", "c")


class Network:
    """A network whose features are drawn around their class; those of unknown images elsewhere."""

    device = "cpu"
    threads = 1

    def __init__(self, split, seed=0, width=4, native=False):
        generator = np.random.default_rng(seed)
        self.sha256, self.width, self.answers = f"network {seed}", width, {}
        centres = 1.2 * generator.normal(size=(4, width))
        known = centres[:3]
        self.head = Head(known, -(known**2).sum(axis=1) / 2)  # the best for such features
        for role in SIZES:
            images = getattr(split, role)
            features = centres[images.labels] + generator.normal(size=(len(images), width))
            logits = features @ self.head.weight.T + self.head.bias
            own = generator.normal(size=len(images)) if native else None
            self.answers[images.sha256] = Outputs(logits, features, images.labels, None, own)
        self.classifier = SimpleNamespace(head=self.head)

    def outputs(self, images, *, passes=0):
        found = self.answers[images.sha256]
        if not passes:
            return found
        generator = np.random.default_rng(passes)
        logits = found.logits + generator.normal(size=(passes, *found.logits.shape))
        members = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
        return replace(found, members=members)


@pytest.fixture(scope="module")
def split():
    def images(role, count):
        labels = np.full(count, -1) if role == "out" else np.arange(count) % 3
        pixels = np.full((count, 2, 2, 3), [*SIZES].index(role), np.uint8)
        return Images(pixels, labels, CLASSES, "toy", role)

    return DomainSplit(CLASSES, ("x",), **{r: images(r, n) for r, n in SIZES.items()},
                       partition=None)  # fmt: skip


def asked(split, *seeds, name="erm", passes=0, **given):
    networks = tuple(Network(split, seed, **given) for seed in seeds)
    return measuring.DomainOutputs(Model(name, networks, passes), split)


def draw(name, images):
    return np.ones((2, images), int)


def rows(found, *measures, **given):
    parameters = load("uimnet", "mini", measures=list(measures), **given)
    every = list(measuring.measure(parameters, found, draw))
    return [one for one in every if "/" in one["method"]]


def by_method(found):
    """The AUROC, or why there is none, by measure and calibration."""
    return {
        (one["method"].partition("/")[2], one["calibration"]): one.get("notes") or one["value"]
        for one in found
        if one["metric"] in ("auroc", "failed")
    }


OF_OUTPUTS = [one for one in scores.names() if "images" not in scores.create(one).info.needs]


LOST = {"level of the logits", "head"}


@pytest.mark.parametrize(
    ("given", "lost", "native"),
    [
        ({"seeds": [0]}, {"jsd"}, False),
        ({"seeds": [0], "name": "rnd", "native": True}, {"jsd"}, True),
        ({"seeds": [0], "name": "mc_dropout", "passes": 3}, set(), True),
        ({"seeds": [0, 1]}, LOST, True),
        ({"seeds": [0, 1], "name": "mc_dropout", "passes": 3}, LOST, True),
    ],
)
def test_every_score_is_a_measure_or_says_why_not(split, given, lost, native):
    """In one table; of the paper's own, what an algorithm lacks has no row, as in its tables."""
    given = dict(given)
    found = by_method(rows(asked(split, *given.pop("seeds"), **given), *OF_OUTPUTS))
    reasons = {name: one for (name, _), one in found.items() if isinstance(one, str)}
    assert {*reasons} == {
        name for name in OF_OUTPUTS if lost & {name, *scores.create(name).info.needs}
    }
    assert all(one.startswith(f"'{name}' needs ") for name, one in reasons.items())
    there = {name for name, when in found if when == "before"}
    assert there == {*OF_OUTPUTS} - (set() if native else {"native"})
    assert {name for name, when in found if when == "after"} == {"msp", "gap", "entropy", "gen"}


def test_what_a_score_of_logits_is_asked(split):
    """The logits themselves, not the logarithms of probabilities, which have no level."""
    found = asked(split, 0)
    known, unknown = (log_sum_exp(found.sets[name].logits) for name in ("test", "out"))
    area = by_method(rows(found, "energy"))["energy", "before"]
    assert area == pytest.approx(metrics.auroc(known, unknown)) and 0.05 < area < 0.95


class Seeing(BlockwiseScore):
    """A score that keeps what it is shown."""

    info = Info(name="seeing", title="What it saw", paper="None", authors="None", year=2026,
                key="belghazi2021", equation="s", summary="None.",
                needs=("features", "head", "training outputs"))  # fmt: skip
    seen: ClassVar[list] = []

    def _learn(self, train_outputs, head):
        self.seen.append((train_outputs, head))

    def _scores(self, part):
        return part.features[:, 0]


@pytest.mark.parametrize("needs", [("features",), ("logits", "features")])
def test_a_score_learns_from_training_images_and_head_alone(split, needs, monkeypatch):
    """Not from the validation images, which give the threshold; with dropout, if it reads logits.

    The features are the same without, and cost one pass in place of several.
    """
    info = replace(Seeing.info, needs=(*needs, "head", "training outputs"))
    monkeypatch.setattr(Seeing, "info", info)
    monkeypatch.setattr(Seeing, "seen", [])
    monkeypatch.setitem(base._REGISTRY, "seeing", Seeing)
    found = asked(split, 0, name="mc_dropout", passes=3)
    assert len(by_method(rows(found, "seeing"))) == 1
    ((learnt, head),) = Seeing.seen
    network = found.model.networks[0]
    assert np.array_equal(learnt.features, network.outputs(split.train).features)
    assert (learnt.members is None) == ("logits" not in needs)
    assert head is network.head


def test_a_score_that_fails_is_a_row_and_ends_no_other(split, monkeypatch):
    def fail(self, part):
        raise ZeroDivisionError("of all things")

    monkeypatch.setitem(base._REGISTRY, "seeing", type("Failing", (Seeing,), {"_scores": fail}))
    found = rows(asked(split, 0), "seeing", "knn")
    by = by_method(found)
    assert by["seeing", "before"] == "ZeroDivisionError: of all things"
    assert isinstance(by["knn", "before"], float)
    columns = {"tier": "mini", "paper": "uimnet", "data_set": "toy", "backbone": "x", "run": 0}
    made = results.provenance({}, seed=0, device="cpu", seconds=1.0)
    assert len(results.tidy([columns | one for one in found], made)) == len(found)


def plain_mixture(train, features, ridge=0.1):
    """The density of a mixture of Gaussians, one a class, by SciPy."""
    total = 0.0
    for label in range(3):
        own = train.features[train.labels == label].astype(float)
        covariance = np.cov(own.T, bias=True) + ridge * np.eye(own.shape[1])
        gaussian = multivariate_normal(own.mean(axis=0), covariance)
        total = total + len(own) / len(train.features) * gaussian.pdf(features)
    return total


def test_gmm_of_an_ensemble_is_the_mean_of_its_networks_densities(split):
    """Each network's own mixture, of its own features, also where these differ in number."""
    members = (Network(split, 0, width=3), Network(split, 1, width=4))
    found = measuring.DomainOutputs(Model("erm", members), split)
    values = measuring.score_outputs(scores.create("gmm"), found, density=True)
    for role in ("validation", "test", "out"):
        images = getattr(split, role)
        densities = [
            plain_mixture(one.outputs(split.train), one.outputs(images).features) for one in members
        ]
        np.testing.assert_allclose(np.exp(values[role]), np.mean(densities, axis=0), rtol=1e-4)
    together = measuring.score_outputs(scores.create("gmm"), found)  # features side by side
    assert not np.allclose(together["test"], values["test"])
    area = by_method(rows(found, "gmm"))["gmm", "before"]
    assert area == pytest.approx(metrics.auroc(values["test"], values["out"]))


def test_gmm_of_an_ensemble_fits_one_network_at_a_time(split, monkeypatch):
    """No mixture sees the features of two networks, and none is kept for the next one."""
    kept, learn = [], scores.create("gmm").__class__._learn

    def watched(self, train_outputs, head):
        assert not hasattr(self, "axes") and train_outputs.features.shape[1] == 4
        kept.append(self)
        learn(self, train_outputs, head)

    monkeypatch.setattr(scores.create("gmm").__class__, "_learn", watched)
    rows(asked(split, 0, 1, 2), "gmm")
    assert len(set(map(id, kept))) == 3
    kept.clear()
    rows(asked(split, 0), "gmm")
    assert len(kept) == 1


def test_the_papers_measures_are_scores_and_take_what_the_parameters_say():
    for name, one in RECORDS.items():
        assert name in scores.names()
        assert not one.most or hasattr(load("uimnet", "mini"), one.most)
