"""The scores against pytorch-ood, and against plain loops over the definitions.

Both sides get the same arrays in memory, use all cores, and are first checked to agree up to the
convention that is named; of OpenMax, of which no two implementations do, it is said that they are
not.  A peer whose cost per image, class or query is near constant gets a share of them, which is
named too.

    python -m benchmarks.scores
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.stats
import torch
from pytorch_ood import detector

import helpers.scores
from benchmarks.comparing import Comparison
from benchmarks.imagenet_sized import CLASSES, FEATURES, head, outputs
from helpers.outputs import Head, Outputs
from helpers.scores.gaussians import principal_dimensions

IMAGES = 50_000
CORE = "what is not a matrix product runs on one core here"
SMALL = "images by the dozen cost it up to 1.5 times as much each as images by the thousand"
DOUBLE = (
    "here products are in double precision, at half the speed of single: a covariance keeps its "
    "digits, and no score depends, as those in single precision do on some processors, on an "
    "image's place in its batch"
)


@dataclass(frozen=True)
class Peer:
    """A detector of pytorch-ood, and how its scores are asked for and read.

    Attributes
    ----------
    detector : object
    reads : str
        "logits", "features", "feature_maps", or "" for a detector that is shown what its model is.
    images : int
        How many of the images it scores.
    ours : int
        How many are scored here: fewer than all where that takes long.
    factor : float
        By which its scores are multiplied before they are compared with ours.
    wanted : float
    note, limit : str
    arguments : dict
        Of our score.
    within : float
        How far both may be apart, as a share of the spread of our scores.
    """

    detector: object
    reads: str
    images: int = IMAGES
    ours: int = IMAGES
    factor: float = 1.0
    wanted: float = 1.0
    note: str = ""
    limit: str = ""
    arguments: dict | None = None
    within: float = 1e-3


def linear_layer(last: Head) -> torch.nn.Linear:
    """Return the head as a layer of PyTorch."""
    layer = torch.nn.Linear(FEATURES, CLASSES)
    layer.load_state_dict({name: torch.from_numpy(getattr(last, name)) for name in vars(last)})
    return layer


def peers(train: Outputs, last: Head) -> dict[str, Peer]:
    """Return the detector that each score is compared with."""
    linear, n = linear_layer(last), len(train)
    weight, bias, dim = linear.weight.data, linear.bias.data, principal_dimensions(FEATURES)

    def flat(maps):
        return linear(maps.flatten(1))

    anew, single = "it multiplies features by the head anew", "it sums in single precision"
    large, mean = "over probabilities above 1e-7", "its is the mean over classes"
    half, whole = "its distance is half of ours", "its covariances are not divided by N"
    maps, some = "feature_maps", 10_000
    return {
        "max_logit": Peer(detector.MaxLogit(None), "logits", limit=CORE),
        "msp": Peer(detector.MaxSoftmax(None), "logits", note=single, limit=CORE),
        "energy": Peer(detector.EnergyBased(None), "logits", limit=CORE),
        "entropy": Peer(detector.Entropy(None), "logits", note=f"{single}, {large}",
                        limit=CORE),
        "gen": Peer(detector.GEN(None, M=100), "logits", factor=100, note=f"{mean}, {large}"),
        "kl_matching": Peer(detector.KLMatching(None), "logits", note=single, limit=CORE),
        "gradnorm": Peer(detector.GradNorm(linear, lambda name: name == "weight"), "", 128,
                         wanted=50, note="it differentiates, where a product of two norms does"),
        "react": Peer(detector.ReAct(None, flat), maps, some, some, limit=DOUBLE,
                      note="its percentile is interpolated"),
        "ash": Peer(detector.ASH(None, flat, percentile=0.9), maps, some, some, limit=DOUBLE),
        "scale": Peer(detector.SCALE(None, flat, percentile=0.85), maps, some, some, note=anew),
        "dice": Peer(detector.DICE(None, weight, bias, p=0.9), "features", 64, some),
        "she": Peer(detector.SHE(None, linear), "features", note=anew),
        "fdbd": Peer(detector.fDBD(None, linear), "features", some, some, note=anew),
        "knn": Peer(detector.KNN(None), "features", 256, 256, limit=CORE),
        "nnguide": Peer(detector.NNGuide(None, linear), "features", 256, 256, note=anew,
                        arguments={"bank": n}, limit=CORE),
        "vim": Peer(detector.ViM(None, dim, weight, bias), "features", some, some, limit=DOUBLE,
                    note=f"{anew}, other axes among those of nearly equal variance", within=0.2),
        "mahalanobis": Peer(detector.Mahalanobis(None), "features", 64, some, 2 * n, 100,
                            f"{half}, {whole}; {SMALL}", DOUBLE),
        "rmds": Peer(detector.RMD(None), "features", 64, some, n,
                     note=f"{whole}; {SMALL}", limit=DOUBLE),
    }  # fmt: skip


def tensor(some: Outputs, reads: str) -> torch.Tensor:
    """Return what detectors of a kind are shown, without a copy."""
    array = torch.from_numpy(some.logits if reads == "logits" else some.features)
    return array[:, :, None, None] if reads == "feature_maps" else array


def agree(name: str, ours: np.ndarray, theirs: np.ndarray, within: float) -> None:
    """Refuse to compare scores that are further apart than a share of their spread."""
    off = np.abs(ours - theirs).max() / ours.std()
    if not off <= within:
        raise AssertionError(f"{name}: apart by {off:.1e} of the spread, allowed {within:.0e}")


def noted(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def against_pytorch_ood(comparison: Comparison, train: Outputs, test: Outputs, last: Head) -> None:
    """Every score that pytorch-ood has too: its fit, where both fit something, and its scores."""
    labels = torch.from_numpy(train.labels)
    for name, peer in peers(train, last).items():
        score = helpers.scores.create(name, **peer.arguments or {}).fit(train, last)
        fit = getattr(peer.detector, f"fit_{peer.reads}", None)
        if fit is not None and "training outputs" in score.info.needs:
            learnt = tensor(train, peer.reads)

            def ours(name=name, arguments=peer.arguments or {}):
                # outputs of their own, which keep no moments of the fit before
                helpers.scores.create(name, **arguments).fit(train.subset(slice(None)), last)

            size = f"{len(train):,} × {learnt.shape[1]:,}"
            comparison.add(f"{name}, fit", size, "pytorch-ood", ours,
                           lambda fit=fit, x=learnt: fit(x, labels), wanted=1, rounds=1,
                           note=peer.note, limit=peer.limit)  # fmt: skip
        ask = getattr(peer.detector, f"predict_{peer.reads}" if peer.reads else "predict")
        asked, shown = test.subset(slice(0, peer.ours)), tensor(test, peer.reads)[: peer.images]
        with torch.no_grad():
            theirs = -peer.factor * ask(shown).double().numpy()
        agree(name, score.score_samples(asked)[: peer.images], theirs, peer.within)
        few = peer.images < peer.ours
        comparison.add(
            f"{name}, score", f"{peer.ours:,} × {tensor(test, peer.reads).shape[1]:,}",
            "pytorch-ood", lambda s=score, o=asked: s.score_samples(o),
            lambda ask=ask, x=shown: ask(x), wanted=peer.wanted, rounds=2 if few else 3,
            share=peer.images / peer.ours, limit=peer.limit,
            note=noted(peer.note, f"theirs on {peer.images} images" if few else ""),
        )  # fmt: skip


def mixtures(comparison: Comparison, train: Outputs, test: Outputs) -> None:
    """GMM: theirs holds a matrix [D, D] for each class, so it gets five of the 1,000 classes."""
    classes, images = 5, 1024
    members = train.subset(train.labels < classes)
    few = Outputs(members.logits[:, :classes], members.features, members.labels)
    peer, score = detector.GMM(None, reg=0.1), helpers.scores.create("gmm")
    learnt, labels = tensor(few, "features"), torch.from_numpy(few.labels)
    asked, shown = test.subset(slice(0, images)), tensor(test, "features")[:images]
    theirs = -peer.fit_features(learnt, labels).predict_features(shown).numpy()
    agree("gmm", score.fit(few, None).score_samples(asked), theirs, 1e-6)
    size, note = f"{len(train):,} × {FEATURES:,}", f"theirs on {classes} of {CLASSES:,} classes"
    comparison.add(
        "gmm, fit", size, "pytorch-ood", lambda: score.fit(train, None),
        lambda: peer.fit_features(learnt, labels), wanted=10, rounds=1, share=classes / CLASSES,
        note=note,
    )  # fmt: skip
    comparison.add(
        "gmm, score", f"{images:,} × {FEATURES:,}", "pytorch-ood",
        lambda: score.score_samples(asked), lambda: peer.predict_features(shown), wanted=10,
        rounds=2, share=classes / CLASSES, note=f"{note}, fits to {len(train):,} images",
    )  # fmt: skip


def openmax(comparison: Comparison, train: Outputs, test: Outputs, last: Head) -> None:
    """OpenMax with the ten largest logits revised, as is the default there."""
    classes, images, ours = 50, 1000, 10_000
    # only images that are classified correctly are fitted to here, and all images there
    right = train.subset(train.correct)
    some, few = right.subset(slice(0, 20 * CLASSES)), right.subset(right.labels < classes)
    score = helpers.scores.create("openmax", alpha=10).fit(right, last)
    peer = detector.OpenMax(None, tailsize=20, alpha=10)
    logits, labels = torch.from_numpy(few.logits), torch.from_numpy(few.labels)
    note = (
        "not checked to agree: its Weibulls are fitted to tails that begin at 10,000 instead of 1, "
        "and an image's distances are only to classes that its batch is taken for"
    )
    comparison.add(
        "openmax, fit", f"{len(train):,} × {CLASSES:,}", "pytorch-ood",
        lambda: helpers.scores.create("openmax").fit(train, last),
        lambda: peer.fit_logits(logits, labels), wanted=30, rounds=1, share=classes / CLASSES,
        note=f"{note}; theirs on {classes} of {CLASSES:,} classes",
    )  # fmt: skip
    peer.fit_logits(torch.from_numpy(some.logits), torch.from_numpy(some.labels))
    # it takes all images' distances to each class that is predicted: here one image a class
    asked, shown = test.subset(slice(0, ours)), torch.from_numpy(test.logits[:images])
    comparison.add(
        "openmax, score", f"{ours:,} × {CLASSES:,}", "pytorch-ood",
        lambda: score.score_samples(asked), lambda: peer.predict_logits(shown), wanted=30,
        rounds=2, share=images / ours, limit=CORE,
        note=f"{note}; theirs fitted to 20 images a class, and on {images} images",
    )  # fmt: skip


def neighbours(comparison: Comparison) -> None:
    """KNN with half a million keys, for a share of the queries on both sides."""
    keys, queries, width, asked = 500_000, 50_000, 512, 1024
    generator = np.random.default_rng(3)

    def drawn(count):
        features = generator.standard_normal((count, width), dtype=np.float32)
        return Outputs(np.zeros((count, 1), np.float32), features, np.zeros(count, int))

    train, test = drawn(keys), drawn(asked)
    score, peer = helpers.scores.create("knn").fit(train, None), detector.KNN(None)
    peer.fit_features(torch.from_numpy(train.features), torch.from_numpy(train.labels))
    shown = torch.from_numpy(test.features)
    agree("knn", score.score_samples(test), -peer.predict_features(shown).double().numpy(), 1e-3)
    comparison.add(
        "knn, many keys", f"{queries:,} × {keys:,} × {width}", "pytorch-ood",
        lambda: score.score_samples(test), lambda: peer.predict_features(shown), wanted=1,
        rounds=2, note=f"both on {asked:,} of the queries", limit=CORE,
    )  # fmt: skip


def against_loops(comparison: Comparison, train: Outputs, test: Outputs, last: Head) -> None:
    """KL-Matching and GradNorm by their definitions, image by image, as other libraries do."""

    def add(name: str, score, loop: Callable, few: Outputs, within: float):
        agree(name, score.score_samples(few), np.array(loop()), within)
        comparison.add(
            f"{name}, score", f"{len(test):,} × {CLASSES:,}", "a loop",
            lambda: score.score_samples(test), loop, rounds=2, share=len(few) / len(test),
            wanted={"kl_matching": 100, "gradnorm": 50}[name], note=f"theirs on {len(few)} images",
        )  # fmt: skip

    score, few = helpers.scores.create("kl_matching").fit(train, last), test.subset(slice(0, 8))
    templates = np.exp(score.log_templates.exact[0])

    def divergences():
        return [-min(scipy.stats.entropy(p, d) for d in templates) for p in few.probabilities]

    add("kl_matching", score, divergences, few, 1e-9)
    linear, uniform = linear_layer(last), torch.full((CLASSES,), 1 / CLASSES)
    some = test.subset(slice(0, 64))

    def gradients():
        found = []
        for features in torch.from_numpy(some.features):
            loss = torch.nn.functional.cross_entropy(linear(features), uniform)
            found.append(float(torch.autograd.grad(loss, linear.weight)[0].abs().sum()))
        return found

    add("gradnorm", helpers.scores.create("gradnorm"), gradients, some, 1e-2)


def main() -> None:
    """Measure everything, and keep it."""
    last, comparison = head(), Comparison("scores")
    train, test = outputs(IMAGES, 1), outputs(IMAGES, 2)
    against_pytorch_ood(comparison, train, test, last)
    mixtures(comparison, train, test)
    openmax(comparison, train, test, last)
    against_loops(comparison, train, test, last)
    del train, test
    neighbours(comparison)
    comparison.write()


if __name__ == "__main__":
    main()
