"""Each claim of the papers gets each verdict, by effects as large as real ones.

A made-up table agrees with all claims of a paper.  Each case changes it by a few points until one
claim is contradicted or undecided.
"""

import numpy as np
import pandas as pd
import pytest

from helpers.papers import PAPERS
from helpers.report.claims import ALL, Verdict
from tests.report.claim_tables import BEHIND, MAKE, MODELS, NETWORKS, OPENMAX, verdicts

CLAIMS = [(paper, claim.id) for paper in MAKE for claim in PAPERS[paper].claims.CLAIMS.claims]
CIFAR = {"outlier-exposure", "outlier-exposure-sets"}
IMAGENET = {"confidence", "openmax-imagenet", "edl-imagenet", "outlier-exposure-imagenet"}
YES, NO, OPEN = "supported", "contradicted", "undecided"

EVERYWHERE = {(model, "vim"): msp - 0.015 for model, (msp, *_) in MODELS.items()}
EVERYWHERE |= {("vit4", "knn"): 0.49, ("vit4", "vim"): 0.47}
LEVEL = {("resnet20", name): 0.36 + behind for name, behind in BEHIND.items()}
REVERSED = {name: (msp, 0.25 + msp, size) for name, (msp, _, size) in MODELS.items()}
ROBUST = {(f"resnet8+adversarial_{radius}", "energy"): 0.36 for radius in (0.1, 1)}
STRONG, WEAK = "resnet8+adversarial_1", "resnet8+adversarial_0.1"
NORMALISED, LARGE = ("resnet8+weights", "resnet20+weights"), ("resnet20", "resnet20+weights")
AFTER = {"calibration": ("after",), "metric": ("auroc",)}
# more is removed of a closed-set ECE that was larger, and less of an open-set one that was smaller
HELPED = {("closed-set", "before", "ece"): 0.2}
LESS = {("open-set", "before", "ece"): 0.085}


def mixup(metric):
    return {"algorithm": ("mixup",), "metric": (metric,)}


# by paper: verdict, claim, change, and other claims whose verdicts may change too ("*": any)
CASES = {
    "unknown_detection": [
        (NO, "ensemble", {("crl", "aurc", "union"): 0.68}),
        (OPEN, "ensemble", {("crl", "aurc", "union"): 0.69}),
        (NO, "misclassification", {("odin", "aurc", "test"): 0.07}),
        (OPEN, "misclassification", {("openmax", "aurc", "test"): 0.075}),
        (NO, "outlier-exposure", {("outlier_exposure", "accuracy", "test"): 0.77}),
        (NO, "outlier-exposure", {("openmax", "auroc", "far"): 0.95}),
        (OPEN, "outlier-exposure", {("odin", "auroc", "far"): 0.93}),
        (NO, "near", {("augmix", "auroc", "near"): 0.80}),
        (OPEN, "near", {("augmix", "auroc", "near"): 0.78}),
        (NO, "confidence", {("ensemble", "mean_confidence", "near"): 0.4}),
        (OPEN, "confidence", {("baseline", "mean_confidence", "near"): 0.5}),
        (NO, "ensemble-accuracy", {("crl", "accuracy", "test"): 0.80}),
        (OPEN, "ensemble-accuracy", {("crl", "accuracy", "test"): 0.79}),
        (NO, "crl-edl", {("edl", "aurc", "union"): 0.745}),
        (OPEN, "crl-edl", {("crl", "aurc", "union"): 0.735}),
        (NO, "augmix", {("augmix", "aurc", "union"): 0.745}),
        (OPEN, "augmix", {("augmix", "aurc", "union"): 0.735}),
        (NO, "odin", {("odin", "aurc", "union"): 0.71}),
        (OPEN, "odin", {("odin", "aurc", "union"): 0.725}),
        (NO, "mc-dropout", {("mc_dropout", "aurc", "test"): 0.09}),
        (NO, "mc-dropout", {("mc_dropout", "aurc", "union"): 0.71}),  # it helps
        (NO, "mc-dropout", {("mc_dropout", "aurc", "union"): 0.76}),  # it harms
        (OPEN, "mc-dropout", {("mc_dropout", "aurc", "test"): 0.075}),
        (NO, "openmax-imagenet", {("odin", "aurc", "union"): 0.79}),
        (OPEN, "openmax-imagenet", {("odin", "aurc", "union"): 0.78}),
        (NO, "edl-imagenet", {("odin", "accuracy", "test"): 0.69}),
        (OPEN, "edl-imagenet", {("odin", "accuracy", "test"): 0.7}),
        (NO, "outlier-exposure-imagenet", {("outlier_exposure", "aurc", "test"): 0.08}),
        (OPEN, "outlier-exposure-imagenet", {("outlier_exposure", "accuracy", "test"): 0.744}),
        (NO, "mahalanobis", {("mahalanobis", "auroc", "aliased"): 0.51}),
        (NO, "mahalanobis", {("mahalanobis", "auroc", "fixed"): 0.7}),
        (NO, "mahalanobis", {("mahalanobis", "auroc", "fixed"): 0.3}),  # not random, too
        (OPEN, "mahalanobis", {("mahalanobis", "auroc", "fixed"): 0.6}),
        (OPEN, "outlier-exposure-sets", {("outlier_exposure", "auroc", "digits"): 0.7}),
    ],
    "human_centric": [
        (NO, "conventional", {"rankings": {"fpr_at_tpr": (0.36, 0.63)}}),
        (OPEN, "conventional", {"rankings": {"fpr_at_tpr": (0.5, 0.5)}}),
        (NO, "correct-ones", {"rankings": {"fpr_at_tpr_correct": (0.58, 0.42)}}),
        (OPEN, "correct-ones", {"rankings": {"fpr_at_tpr_correct": (0.5, 0.5)}}),
        (NO, "consistent", {"changes": EVERYWHERE}, "architecture"),
        (OPEN, "consistent", {"changes": EVERYWHERE | {("resnet8", "vim"): 0.4}}, "*"),
        (NO, "architecture", {"changes": {("vit4", "knn"): 0.6}}, "inconsistent-distillation"),
        (OPEN, "architecture", {"changes": {("vit4", "knn"): 0.49}}, "*"),
        (NO, "accuracy", {"models": REVERSED}),
        (OPEN, "accuracy", {"spread": 0.05}, "*"),
        (NO, "capacity", {"models": {"resnet20": (0.35, 0.75, 3e5)}}, "depth"),
        (OPEN, "capacity", {"changes": LEVEL | {("resnet20", "msp"): 0.3695}}, "*"),
        (NO, "depth", {"changes": {("resnet20", "vim"): 0.45}}),
        (OPEN, "depth", {"changes": {("resnet20", "vim"): 0.51}}),
        (NO, "adversarial", {"models": {STRONG: (0.38, 0.71, 1e5)}}),
        (OPEN, "adversarial", {"models": {STRONG: (0.40, 0.66, 1e5)}}),
        (NO, "weak-adversarial", {"models": {WEAK: (0.50, 0.6, 1e5)}}),
        (NO, "weak-adversarial", {"models": {WEAK: (0.30, 0.8, 1e5)}}),
        (OPEN, "weak-adversarial", {"models": {WEAK: (0.42, 0.68, 1e5)}}),
        (OPEN, "weak-adversarial", {"models": {WEAK: (0.38, 0.71, 1e5)}}),
        (NO, "robust", {"changes": ROBUST}),
        (OPEN, "robust", {"changes": {(STRONG, "energy"): 0.51}}),
        (NO, "strategy", {"changes": {("resnet8+augmix", "gradnorm"): 0.49}}),
        (OPEN, "strategy", {"changes": {("resnet8+augmix", "gradnorm"): 0.46}}),
        (NO, "teacher", {"changes": {("resnet8+augmix", "knn"): 0.40}}),
        (NO, "teacher", {"models": {"resnet8+augmix": (0.33, 0.75, 1e5)}}, "strategy"),
        (OPEN, "teacher", {"changes": {("resnet8+augmix", "knn"): 0.49}}),
        (NO, "distillation", {"models": {"resnet8+distilled": (0.45, 0.68, 1e5)}},
         "teacher", "strategy"),
        (OPEN, "distillation", {"models": {"resnet8+distilled": (0.42, 0.68, 1e5)}}, "*"),
        (NO, "inconsistent-distillation", {"changes": {("vit4+distilled", "knn"): 0.44}}),
        (OPEN, "inconsistent-distillation", {"changes": {("vit4+distilled", "knn"): 0.46}}),
    ],
    "uimnet": [
        (NO, "erm", [(0.05, mixup("accuracy_top5"))]),
        (NO, "erm", [(-0.2, mixup("nll"))]),
        (NO, "erm", [(-0.05, mixup("ece"))]),
        (OPEN, "erm", [(0.01, mixup("accuracy_top5"))]),
        (NO, "erm-out-domain", [(0.025, mixup("auroc"))]),
        (NO, "erm-out-domain", [(0.025, mixup("in_as_in"))]),
        (OPEN, "erm-out-domain", [(0.02, mixup("auroc"))]),
        (NO, "alike", [(-0.04, mixup("accuracy"))]),
        (NO, "alike", [(0.04, mixup("auroc"))], "erm-out-domain"),
        (OPEN, "alike", [(-0.01, mixup("accuracy"))]),
        (NO, "ensemble-in-domain", [(0.1, {"variant": ("ensemble",), "metric": ("ece",)})]),
        (OPEN, "ensemble-in-domain", [(0.03, {"variant": ("ensemble",), "metric": ("ece",)})]),
        # one algorithm, whose loss is small in the mean over all
        (NO, "ensemble-out-domain", [(-0.06, mixup("auroc") | {"variant": ("ensemble",)})]),
        (OPEN, "ensemble-out-domain", [(-0.04, mixup("auroc") | {"variant": ("ensemble",)})]),
        (NO, "mimo", [(-0.02, {"algorithm": ("mimo",), "metric": ("out_as_out",)})]),
        (NO, "mimo", [(0.05, mixup("out_as_out"))], "erm-out-domain"),
        (OPEN, "mimo", [(-0.01, {"algorithm": ("mimo",), "metric": ("out_as_out",)})]),
        # changes that cancel out in their mean over algorithms
        (NO, "calibration", [(-0.05, AFTER), (0.1, AFTER | {"algorithm": ("erm", "mixup")})]),
        (OPEN, "calibration", [(0.0405, {"calibration": ("after",), "metric": ("ece",)})]),
        (NO, "spectral", [(0.04, {"backbone": NORMALISED, "metric": ("out_as_out",)})]),
        (NO, "spectral", [(-0.06, {"backbone": NORMALISED, "metric": ("auroc",)})]),
        (NO, "spectral", [(0.02, {"backbone": NORMALISED, "metric": ("accuracy",)})]),
        (NO, "spectral", [(-0.115, {"backbone": NORMALISED, "metric": ("accuracy",)})]),
        (OPEN, "spectral", [(0.01, {"backbone": NORMALISED, "metric": ("accuracy",)})]),
        (NO, "entropy", [(0.03, {"measure": ("msp",), "metric": ("auroc",)})]),
        (OPEN, "entropy", [(0.02, {"measure": ("msp",), "metric": ("auroc",)})]),
        (NO, "measures", [(0.09, {"measure": ("jacobian",), "metric": ("auroc",)})], "entropy"),
        (OPEN, "measures", [(0.06, {"measure": ("jacobian",), "metric": ("auroc",)})]),
        (NO, "gmm-rbf", [(0.2, {"algorithm": ("rbf",), "metric": ("accuracy",)})]),
        (NO, "gmm-rbf", [(0.09, {"measure": ("gmm",), "metric": ("auroc",)})], "entropy"),
        (OPEN, "gmm-rbf", [(0.19, {"algorithm": ("rbf",), "metric": ("accuracy",)})]),
        (NO, "size", [(-0.09, {"backbone": LARGE, "metric": ("out_as_out",)})]),
        (OPEN, "size", [(-0.08, {"backbone": LARGE, "metric": ("out_as_out",)})]),
    ],
    "gscore": [
        (NO, "correlation", {"changes": {"pearson_auroc": -0.3}}),
        (OPEN, "correlation", {"changes": {"pearson_fpr95 primary": 0.15}}, "*"),
        (NO, "rmse", {"changes": {"gmm_wasserstein rmse_auroc": -0.03}}),
        (OPEN, "rmse", {"changes": {"kmeans_l2": -0.01}, "spread": 0.05, "runs": 5}, "*"),
        (NO, "fpr95", {"changes": {"pearson_auroc": 0.1}}),
        (OPEN, "fpr95", {"changes": {"pearson_auroc": 0.07}}),
        (NO, "detectors", {"changes": {"odin/.* pearson_fpr95": 0.3}}, "fpr95"),
        (OPEN, "detectors", {"changes": {"odin/.* pearson_fpr95": 0.15}}, "*"),
        (NO, "backbones", {"changes": {"vit msp.* primary": 0.3}}, "detectors", "fpr95", "ratios"),
        (OPEN, "backbones", {"changes": {"vit msp.* primary": 0.15}}, "*"),
        (NO, "sizes", {"changes": {"size 50": 0.3}}),
        (OPEN, "sizes", {"changes": {"size 50": 0.15}, "spread": 0.01}),
        (NO, "ratios", {"changes": {"ratio 10:1": 0.3}}),
        (OPEN, "ratios", {"changes": {"ratio 10:1": 0.15}, "spread": 0.01}),
        (NO, "accuracy", {"changes": {f"{name} .*accuracy": -0.04 * place
                                      for place, name in enumerate(NETWORKS)}}),
        # sets that differ by more than networks do could rank the networks otherwise
        (OPEN, "accuracy", {"noise": 0.25}, "*"),
    ],
    "openset_calibration": [
        (NO, "closed-set", {("closed-set", "after", "ece"): 0.05} | HELPED),
        (OPEN, "closed-set", {("closed-set", "after", "ece"): 0.03}),
        (NO, "open-set",  # scaling harms
         {("open-set", "after", "ece"): 0.36, (OPENMAX, "after", "ece"): 0.40}),
        (NO, "open-set",  # no gap is left
         {("open-set", "after", "ece"): 0.03, ("open-set", "before", "ece"): 0.06}),
        (OPEN, "open-set", {("open-set", "after", "ece"): 0.06} | LESS),
        (NO, "less-effective", {("open-set", "after", "ece"): 0.10}),
        (OPEN, "less-effective", {("open-set", "after", "ece"): 0.11}),
        (NO, "openmax", {(OPENMAX, "after", "accuracy"): 0.55}),
        (NO, "openmax", {(OPENMAX, "after", "brier"): 0.60}),
        (NO, "openmax", {(OPENMAX, "after", "ece"): 0.20}),
        (OPEN, "openmax", {(OPENMAX, "after", "accuracy"): 0.60}),
    ],
}  # fmt: skip
FLAT = [(paper, *case) for paper, cases in CASES.items() for case in cases]


@pytest.fixture(scope="module")
def agreeing():
    """Return by paper a table that agrees with its claims."""
    return {paper: make() for paper, make in MAKE.items()}


@pytest.mark.parametrize("paper", MAKE)
def test_a_table_that_agrees_supports_every_claim(agreeing, paper):
    found = verdicts(paper, agreeing[paper])
    if paper == "unknown_detection":
        imagenet = verdicts(paper, MAKE[paper](data_set="imagenet"))
        assert {found.pop(claim) for claim in IMAGENET} == {"no data"}
        assert {imagenet.pop(claim) for claim in CIFAR} == {"no data"}
        found |= imagenet
    assert set(found) == {claim for of, claim in CLAIMS if of == paper}
    assert set(found.values()) == {YES}


@pytest.mark.parametrize("case", FLAT, ids=lambda case: f"{case[0]}-{case[2]}-{case[1]}")
def test_a_change_moves_its_claim_and_no_other(case):
    paper, verdict, claim, change, *also = case
    if paper == "unknown_detection":
        table = MAKE[paper](change, data_set="imagenet" if claim in IMAGENET else "cifar100")
    elif paper == "uimnet":
        table = MAKE[paper](*change, runs=1)
    elif paper == "openset_calibration":
        table = MAKE[paper](change)
    elif paper == "human_centric":
        runs = 1 if verdict == OPEN and claim != "capacity" else 2
        also += ["capacity"] * (runs == 1)  # of one run it is undecided whatever the numbers
        table = MAKE[paper](**{"runs": runs} | change)
    else:
        table = MAKE[paper](**change)
    found = verdicts(paper, table)
    assert found.pop(claim) == verdict
    moved = {name for name, other in found.items() if other not in (YES, "no data")}
    assert moved <= {*also} or "*" in also


def test_every_claim_has_a_case_for_each_verdict():
    cases = {(paper, claim, verdict) for paper, verdict, claim, *_ in FLAT}
    needed = {(paper, claim, verdict) for paper, claim in CLAIMS for verdict in (NO, OPEN)}
    # a stand-in contradicts no sentence about the set itself: tests/papers/unknown_detection
    assert needed - cases == {("unknown_detection", "outlier-exposure-sets", NO)}


@pytest.mark.parametrize("paper", MAKE)
def test_no_rows_and_rows_of_others(agreeing, paper):
    """Nothing gives no data; other papers and variants move nothing; no number is there twice."""
    table, claims = agreeing[paper], PAPERS[paper].claims.CLAIMS
    assert set(verdicts(paper, table.iloc[:0]).values()) == {"no data"}
    other = table[table["variant"] == "primary"].assign(value=9.0)
    both = pd.concat([other.assign(paper="toy"), other.assign(variant="other"), table])
    pd.testing.assert_frame_equal(claims.check(both), claims.check(table))
    with pytest.raises(ValueError, match="several tiers"):
        claims.check(pd.concat([table, table.assign(tier="small")]))
    with pytest.raises(ValueError, match="there twice"):
        claims.check(pd.concat([table, table]))


PRINTED = {  # what the papers' own numbers say; of all other claims they print nothing
    "unknown_detection": dict.fromkeys(
        {claim for paper, claim in CLAIMS if paper == "unknown_detection"}
        - {"confidence", "mahalanobis"}, YES,
    ),
    "human_centric": dict.fromkeys(
        ("consistent", "architecture", "conventional", "correct-ones", "capacity", "depth",
         "adversarial", "inconsistent-distillation"), YES,
    ),
    "gscore": dict.fromkeys(("correlation", "rmse", "fpr95", "backbones", "accuracy"), YES),
    "openset_calibration": {
        "closed-set": YES, "open-set": YES, "less-effective": OPEN, "openmax": OPEN,
    },
}  # fmt: skip
EFFECTS = [  # paper, data set, effect, and its value by hand from the printed tables
    ("unknown_detection", "CIFAR-40", "AURC on the union, CRL minus Deep Ensemble",
     0.72722 - 0.69349),
    # the mean over SVHN, LSUN-FIX and DTD stands for the far images together
    ("unknown_detection", "CIFAR-40", "AUROC against far OOD, Outlier Exposure minus Baseline",
     (0.9612 + 0.8693 + 0.9774) / 3 - (0.7491 + 0.7050 + 0.7069) / 3),
    # Mahalanobis is furthest behind on VGG19; both averages are those of the eight cells
    ("human_centric", "imagenet", "least average DER99 gained over MSP, Mahalanobis",
     0.3183 - 0.7299),
    # MSP is best on average; it loses most on NASNet-Large, to Mahalanobis
    ("human_centric", "imagenet", "average DER99 lost on an architecture by keeping to one score",
     0.3383 - 0.2501),
    ("human_centric", ALL, "average DER99 of ViM, larger ResNet minus the middle one", 0.0192),
    # k-means 8.73, 10.97, 6.79, 6.93 against 3.46, 4.50, 4.39, 4.52
    ("gscore", ALL, "RMSE of FPR95, k-means minus UDE + Wasserstein", (33.42 - 16.87) / 400),
    ("openset_calibration", ALL, "closed-set ECE after scaling, above the floor",
     np.mean([0.011, 0.006, 0.012, 0.006, 0.012, 0.004])),
]  # fmt: skip


def test_the_papers_own_tables():
    checks = {paper: PAPERS[paper].claims.CLAIMS.check_published() for paper in MAKE}
    assert checks.pop("uimnet") is None
    for paper, found in checks.items():
        assert found[["low", "high"]].isna().all().all()
        summed = PAPERS[paper].claims.CLAIMS.verdicts(found).set_index("claim")["verdict"]
        assert summed[summed != Verdict.NO_DATA].to_dict() == PRINTED[paper]
    for paper, *place, expected in EFFECTS:
        effects = checks[paper].groupby(["data_set", "check"])["effect"].first()
        assert effects[tuple(place)] == pytest.approx(expected, abs=1e-4)
