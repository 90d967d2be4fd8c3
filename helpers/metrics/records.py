"""One record per metric, from which the book's page of metrics is made."""

from __future__ import annotations

from helpers.scores.info import MetricInfo

_ECE = r"\sum_b \frac{n_b}{N} \left| \mathrm{acc}_b - \mathrm{conf}_b \right|"
_TIES = "tied confidences count as one group in random order, by their expected value"

RECORDS = [
    MetricInfo(
        name="accuracy",
        title="Accuracy",
        equation=r"\frac{1}{N} \sum_{i=1}^{N} [\hat y_i = y_i]",
        range="[0, 1]",
        better="higher",
        convention="Top-1 unless said otherwise; an image of an unknown class is never right, and "
        "in the open-set problem it is right when the answer is “unknown”.",
        key="belghazi2021",
    ),
    MetricInfo(
        name="nll",
        title="Negative log-likelihood (NLL)",
        equation=r"-\frac{1}{N} \sum_{i=1}^{N} \log p_{i, y_i}",
        range="[0, ∞]",
        better="lower",
        convention="In nats; nothing is clipped, so one true class of probability 0 makes it "
        "infinite.",
        key="good1952",
    ),
    MetricInfo(
        name="brier",
        title="Brier score",
        equation=r"\frac{1}{N} \sum_{i=1}^{N} \sum_{k=1}^{K} (p_{ik} - [y_i = k])^2",
        range="[0, 2]",
        better="lower",
        convention="Summed over the K classes, not divided by K.",
        key="brier1950",
    ),
    MetricInfo(
        name="open_set_brier",
        title="Open-set Brier score",
        equation=r"\frac{1}{N} \sum_{i=1}^{N} \sum_{j=1}^{K+1} (\hat y_{ij} - y_{ij})^2",
        range="[0, 2]",
        better="lower",
        convention="“Unknown” is class K + 1; the K + 1 numbers are taken as they are and need "
        "not sum to 1.",
        key="lyu2022",
    ),
    MetricInfo(
        name="ece",
        title="Expected calibration error (ECE)",
        equation=_ECE,
        range="[0, 1]",
        better="lower",
        convention="15 equal, right-closed bins over [0, 1], confidence 1 in the last; the "
        "confidence is the largest probability.",
        key="naeini2015",
    ),
    MetricInfo(
        name="open_set_ece",
        title="Open-set expected calibration error",
        equation=_ECE,
        range="[0, 1]",
        better="lower",
        convention="As ECE, with the probability of the answer as the confidence: that of "
        "“unknown” where the image is rejected.",
        key="lyu2022",
    ),
    MetricInfo(
        name="calibration_error_floor",
        title="ECE of perfect calibration",
        equation=r"\mathbb{E}\left[\mathrm{ECE}\right] \text{ with } "
        r"[\hat y_i = y_i] \sim \operatorname{Bernoulli}(c_i)",
        range="[0, 1]",
        better="",
        convention="The mean over simulated outcomes in which every confidence is honest: what "
        "ECE shows on that many images when nothing is wrong.",
        key="brocker2007",
    ),
    MetricInfo(
        name="reliability_curve",
        title="Reliability diagram",
        equation=r"b \mapsto (\mathrm{conf}_b, \mathrm{acc}_b)",
        range="[0, 1]",
        better="",
        convention="The bins of ECE; bins without images are left out.",
        key="degroot1983",
    ),
    MetricInfo(
        name="auroc",
        title="Area under the ROC curve (AUROC)",
        equation=r"P(s_k > s_u) + \tfrac12 P(s_k = s_u)",
        range="[0, 1]",
        better="higher",
        convention="Known against unknown images; a tie counts one half.",
        key="fawcett2006",
    ),
    MetricInfo(
        name="aupr",
        title="Area under the precision–recall curve (AUPR)",
        equation=r"\sum_g (R_g - R_{g-1}) P_g",
        range="(0, 1]",
        better="higher",
        convention="Average precision, by steps and not by trapezoids; the positive class must "
        "be named.",
        key="davis2006",
    ),
    MetricInfo(
        name="fpr_at_tpr",
        title="False positive rate at 95 % true positive rate",
        equation=r"P(s_u \ge \delta), \quad \delta = \max \{ t : P(s_k \ge t) \ge 0.95 \}",
        range="[0, 1]",
        better="lower",
        convention="Known images are the positive class, and at least 95 % of them are kept, "
        "unless said otherwise.",
        key="liang2018",
    ),
    MetricInfo(
        name="detection_error",
        title="Detection error",
        equation=r"\min_\delta \tfrac12 P(s_k < \delta) + \tfrac12 P(s_u \ge \delta)",
        range="[0, 0.5]",
        better="lower",
        convention="The minimum over all thresholds, not the error at 95 % TPR.",
        key="liang2018",
    ),
    MetricInfo(
        name="rejection_threshold",
        title="Rejection threshold",
        equation=r"\max \{ t : P(s \ge t) \ge 0.95 \}",
        range="the scores'",
        better="",
        convention="The largest threshold that keeps at least the given share of the reference "
        "images; an image is accepted when its score is at least the threshold.",
        key="zhu2024",
    ),
    MetricInfo(
        name="detection_error_rate",
        title="Detection error rate (DER)",
        equation=r"\frac{1}{N} \sum_{i=1}^{N} \bigl[ [s_i \ge \delta] \ne [\hat y_i = y_i] \bigr]",
        range="[0, 1]",
        better="lower",
        convention="The threshold keeps at least 95 % (99 %) of the correctly classified training "
        "images.",
        key="zhu2024",
    ),
    MetricInfo(
        name="domain_confusion",
        title="InAsIn, InAsOut, OutAsIn, OutAsOut",
        equation=r"P(s_{\mathrm{in}} \ge \delta),\ P(s_{\mathrm{in}} < \delta),\ "
        r"P(s_{\mathrm{out}} \ge \delta),\ P(s_{\mathrm{out}} < \delta)",
        range="[0, 1]",
        better="",
        convention="The threshold comes from ID validation images, not from the test.",
        key="belghazi2021",
    ),
    MetricInfo(
        name="risk_coverage_curve",
        title="Risk–coverage curve",
        equation=r"k / N \mapsto \mathbb{E}[\mathrm{risk}(k)]",
        range="[0, 1]",
        better="",
        convention=f"One point for each of the N coverages; {_TIES}.",
        key="geifman2017",
    ),
    MetricInfo(
        name="aurc",
        title="Area under the risk–coverage curve (AURC)",
        equation=r"\frac{1}{N} \sum_{k=1}^{N} \mathbb{E}[\mathrm{risk}(k)]",
        range="[0, 1]",
        better="lower",
        convention=f"The mean over coverages 1/N to 1; {_TIES}.",
        key="geifman2019",
    ),
    MetricInfo(
        name="eaurc",
        title="Excess AURC (E-AURC)",
        equation=r"\mathrm{AURC} - \frac{1}{N} \sum_{k=1}^{N} \frac{\max(0, k - N_+)}{k}",
        range="[0, 1)",
        better="lower",
        convention="Less the exact optimum for as many images and errors ($N_+$ images are "
        "right), so a perfect ranking gives 0; the usual closed form is its limit.",
        key="geifman2019",
    ),
    MetricInfo(
        name="augrc",
        title="Area under the generalised risk–coverage curve (AUGRC)",
        equation=r"\frac{1}{N} \sum_{k=1}^{N} \frac{\mathbb{E}[\mathrm{errors}(k)]}{N}",
        range="[0, 1]",
        better="lower",
        convention=f"The mean over coverages of risk × coverage; {_TIES}.",
        key="traub2024",
    ),
]
