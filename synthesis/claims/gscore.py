"""The claims of *Unsupervised Evaluation of Out-of-distribution Detection* (Zhang et al. 2023).

`synthesis.claims.gscore_numbers` computes the numbers.

The margins are this project's: the paper calls a mean of 0.911 strong, and gives no bound.
A correlation with an FPR has the opposite sign here, so that all expected signs are positive.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from helpers.papers.gscore.parameters import DETECTORS
from synthesis.claims.gscore_numbers import PROPOSED, TABLE_1, TITLES, derive
from synthesis.effects import STRONG, Effect, Wording, number, on_data_set
from synthesis.verdicts import Claims, Second


def _from_100(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with test sets of 100 images in the place of the rows with 50 images."""
    left = rows[rows["variant"] != "size 50"]
    return left.assign(variant=left["variant"].replace("size 100", "size 50"))


# The tables print correlations of MSP alone (Table 4); the text prints means over detectors and the
# least over networks (`gscore_in_text.csv`); sizes and ratios are in figures only.
CLAIMS = Claims(
    "gscore",
    main="correlation",
    settled_by="the paper's 200 sets, since with ours the correlation with AUROC is at our margin",
    derive=derive,
    every_variant=True,
    trained=False,
    # the paper's figures show sizes down to 50 to 100 images
    seconds=(Second("smallest size of 100", compute=_from_100),),
    printed=lambda table: table.assign(
        variant=np.where(table["metric"] == "fpr95", "test", "primary")
    ),
)

#: The ID set of most sentences; the paper's other sets are in few figures and one table.
_CIFAR10 = on_data_set("cifar10")

_MSP = f"msp/{PROPOSED}"


def _of_sets(
    name: str,
    metric: str,
    method: str,
    margin: float,
    relation: str = ">",
    wording: Wording | None = None,
) -> Effect:
    """Return an effect on one of the numbers of `derive`, which are over all sets."""
    limits = (
        (-1, 1) if metric.startswith(("correlation_", "least_of_", "accuracy_")) else Effect.limits
    )
    of = number(metric, method, "all")
    return Effect(name, of, relation, margin, wording, limits)


@CLAIMS.add(
    scope=_CIFAR10,
    source="Figure 3",
    check="Pearson's correlation of UDE + Wasserstein with each metric, mean over detectors, is"
    " > 0.8",
    needs="a detector with UDE + Wasserstein",
)
def correlation():
    """Gscore correlates strongly with FPR95 and AUROC."""
    for metric, title in TITLES.items():
        name = f"correlation with {title}"
        wording = Wording(f"{name} is {{size}}", f"{name} is −{{size}}", digits=2)
        yield _of_sets(
            f"{name}, mean over detectors",
            f"correlation_{metric}",
            PROPOSED,
            STRONG,
            wording=wording,
        )


@CLAIMS.add(
    scope=_CIFAR10,
    source="Table 1",
    check="RMSE of each other evaluator of Table 1 minus that of UDE + Wasserstein, for FPR95 and"
    " AUROC, mean over detectors, is > 0",
    needs="a detector with UDE + Wasserstein, and with each of the others",
)
def rmse():
    """Of the evaluators of Table 1, UDE + Wasserstein has the lowest RMSE."""
    # Two readings of GMM (parts by the posterior, or the components themselves): the lower RMSE
    # counts.
    for metric, title in TITLES.items():
        for evaluator, evaluator_title in TABLE_1.items():
            name = f"RMSE of {title}, {evaluator_title} minus UDE + Wasserstein"
            yield _of_sets(name, f"excess_{metric}", evaluator, 0)


@CLAIMS.add(
    scope=_CIFAR10,
    source="Figure 3",
    check="Pearson's correlation of UDE + Wasserstein with FPR95 minus that with AUROC, mean over"
    " detectors, is > 0",
    needs="a detector with UDE + Wasserstein",
)
def fpr95():
    """Gscore correlates better with FPR95 than with AUROC."""
    name = "correlation with FPR95 minus that with AUROC, mean over detectors"
    return [_of_sets(name, "correlation_gain", PROPOSED, 0)]


@CLAIMS.add(
    scope=_CIFAR10,
    source="Figure 3",
    check="Pearson's correlation of UDE + Wasserstein with FPR95 is > 0.8 for each detector",
    needs="the paper's four detectors with UDE + Wasserstein, by which sets differ",
)
def detectors():
    """Gscore correlates strongly with the FPR95 of every detector."""
    for detector, title in DETECTORS.items():
        name = f"correlation with FPR95, {title}"
        yield _of_sets(name, "correlation_fpr95", f"{detector}/{PROPOSED}", STRONG)


def _least(what: str, short: str = "") -> Effect:
    """Return the least correlation over networks, or over a kind of variants, by its words."""
    name = f"least correlation with FPR95 of MSP over {what}"
    return _of_sets(name, f"least_of_{short or what}", _MSP, STRONG)


@CLAIMS.add(
    scope=_CIFAR10,
    source="Figure 4",
    check="the least Pearson's correlation over networks, of UDE + Wasserstein of MSP with FPR95,"
    " is > 0.8",
    needs="MSP with UDE + Wasserstein on two networks",
)
def backbones():
    """Gscore correlates strongly with FPR95 on every backbone."""
    return [_least("networks")]


@CLAIMS.add(
    scope=on_data_set("cifar100"),
    about="models",
    source="Figure 5",
    check="Pearson's correlation of UDE + Wasserstein of MSP with FPR95 is > 0.8 on CIFAR-100",
    needs="MSP with UDE + Wasserstein on CIFAR-100",
)
def other_id_set():
    """Gscore correlates strongly with FPR95 if CIFAR-100 is the ID set."""
    return [_of_sets("correlation with FPR95, MSP", "correlation_fpr95", _MSP, STRONG)]


@CLAIMS.add(
    scope=_CIFAR10,
    source="Figures 6 and 9",
    check="the least skill of the predicted FPR95 over sizes of 50 and up, for UDE + Wasserstein of"
    " MSP and a line that is fitted to sets of the same size, is > 0",
    needs="test sets of 50 images, with MSP and UDE + Wasserstein",
)
def sizes():
    """Gscore predicts FPR95 better than a constant on test sets of down to 50 images."""
    # a correlation of the sets that a line is fitted to does not test its predictions
    name = "least skill of the predicted FPR95 of MSP over sizes"
    return [_of_sets(name, "least_skill_of_sizes", _MSP, 0)]


@CLAIMS.add(
    scope=_CIFAR10,
    source="Figures 6 and 9; strong as in the other sentences, since the paper has no number",
    check="the least Pearson's correlation over sizes of 50 and up, of UDE + Wasserstein of MSP"
    " with FPR95, is > 0.8",
    needs="test sets of 50 images, with MSP and UDE + Wasserstein",
)
def sizes_strong():
    """Gscore correlates strongly with FPR95 on test sets of down to 50 images."""
    return [_least("sizes")]


#: In the paper, sets have up to thousands of images.
_SMALL_SETS = "with sets of at most some hundred images"


@CLAIMS.add(
    scope=_CIFAR10,
    source="appendix C",
    check="Pearson's correlation with FPR95 of MSP, UDE + Wasserstein minus GMM + Wasserstein,"
    " where the share of OOD images is drawn from the paper's, is > 0",
    needs="mixtures of drawn shares, with MSP and both evaluators",
    stands_for=_SMALL_SETS,
)
def mixed():
    """At mixed sizes and ratios, UDE correlates better with FPR95 than GMM."""
    name = "correlation, UDE + Wasserstein minus GMM + Wasserstein"
    return [_of_sets(name, "mixed_gain", "gmm_wasserstein", 0)]


@CLAIMS.add(
    scope=_CIFAR10,
    source="appendix C",
    check="the same, GMM + Wasserstein minus k-means, is > 0",
    needs="mixtures of drawn shares, with MSP and both evaluators",
    stands_for=_SMALL_SETS,
)
def mixed_gmm():
    """At mixed sizes and ratios, GMM correlates better with FPR95 than k-means."""
    name = "correlation, GMM + Wasserstein minus k-means"
    return [_of_sets(name, "mixed_gain", "kmeans_l2", 0)]


@CLAIMS.add(
    scope=_CIFAR10,
    source="Figures 6 and 9",
    check="the least Pearson's correlation over these ratios, of UDE + Wasserstein of MSP with"
    " FPR95, is > 0.8",
    needs="ratios of 1:10 and 10:1, with MSP and UDE + Wasserstein",
)
def ratios():
    """Gscore correlates strongly with FPR95 at ratios of ID to OOD between 1:10 and 10:1."""
    return [_least("ratios")]


@CLAIMS.add(
    scope=_CIFAR10,
    source="Figure 10",
    check="the least Pearson's correlation over 100 and more validation images, of UDE +"
    " Wasserstein of MSP with FPR95, is > 0.8",
    needs="100 validation images, with MSP and UDE + Wasserstein",
)
def validation():
    """At a fixed ratio of ID to OOD, 100 validation images are enough for UDE."""
    return [_least("validation sizes", "validations")]


@CLAIMS.add(
    scope=_CIFAR10,
    source="Table 4",
    check="differences of Pearson's correlation of UDE + Wasserstein of MSP, FPR95 minus FPR80 and"
    " FPR80 minus FPR60, are > 0",
    needs="FPR at TPRs of 95, 80 and 60 %, with MSP and UDE + Wasserstein",
)
def metrics():
    """Gscore correlates better with FPR at a higher TPR."""
    for higher, lower in ((95, 80), (80, 60)):
        pair = [number(f"correlation_fpr{level}", _MSP, "all") for level in (higher, lower)]
        name = f"correlation, FPR{higher} minus FPR{lower}"
        yield Effect(name, pair[0] - pair[1], ">", 0)


@CLAIMS.add(
    scope=_CIFAR10,
    source="Table 2",
    check="rank correlation over networks of accuracy and FPR95 of MSP, mean over sets, is < -0.8",
    about="models",
    needs="accuracy and FPR95 of MSP on 4 networks",
)
def accuracy():
    """Classifiers of higher accuracy detect better."""
    name = "Spearman's correlation of accuracy and FPR95 of MSP"
    return [_of_sets(name, "accuracy_correlation", "msp", -STRONG, "<")]
