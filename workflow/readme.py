"""Write what READMEs say of the results, from the committed results tables.

    python workflow/readme.py

Between the two markers of the README, the main claim of each paper with its verdicts; in that of
``results/``, each chapter's main table beside the paper's and the verdicts on all claims.
"""

from __future__ import annotations

import sys
from pathlib import Path

import glance
import pages
import pandas as pd
import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from helpers.metrics.ranks import mean_ranks  # noqa: E402
from helpers.papers import PAPERS  # noqa: E402
from helpers.papers.all_tables import EVALUATOR_TITLES, domain_means  # noqa: E402
from helpers.papers.human_centric.claims import cases  # noqa: E402
from helpers.papers.human_centric.roles import PAPER_METHODS  # noqa: E402
from helpers.papers.uimnet.protocol import ALGORITHMS  # noqa: E402
from helpers.papers.unknown_detection.protocol import METHODS  # noqa: E402
from helpers.report import published, results  # noqa: E402
from helpers.report.claims import Verdict  # noqa: E402
from helpers.report.ledger import ledger  # noqa: E402
from helpers.report.tables.cells import ABSENT  # noqa: E402

START, END = "<!-- results:start -->", "<!-- results:end -->"
HEAD = """# Results of the larger tiers

One table a tier and paper, with its provenance; the book shows them in full.
The parameters that they were made with are in `params/<tier>/<paper>.yaml`.
This page is written by `workflow/readme.py`."""
RESULTS = ROOT / "results"
TIER = "small_cpu"


def block() -> str:
    """Return the README's results: main claims with their verdicts, and the tally of all."""
    tables = glance.committed()
    tiers = [one for one in glance.TIERS if one in {tier for tier, _ in tables}]
    found = ledger(PAPERS, tables, tiers)
    verdicts = found.set_index(["paper", "claim", "tier"])["verdict"]
    rows = []
    for line in glance.findings(found).itertuples():
        given = [verdicts[line.paper, line.claim, tier] for tier in tiers]
        shown = [ABSENT if one == Verdict.NO_DATA else str(one) for one in given]
        chapter = f"[{glance.TITLES[line.paper]}](notebooks/{line.paper})"
        rows.append([chapter, line.text, *shown, glance.effect(line)])
    header = ["chapter", "main claim of its paper", *(f"`{tier}`" for tier in tiers)]
    return "\n\n".join(
        [
            pages.table([*header, "what decides it, at the largest tier"], rows),
            f"All {len(verdicts.groupby(['paper', 'claim']))} claims, by verdict:",
            glance.counts(found),
        ]
    )


def details() -> str:
    """Return the README of ``results/``: each chapter's main table, and its claims' verdicts."""
    sections = [calibration(), detection(), *errors(), algorithms(), unlabelled()]
    return "\n\n".join([HEAD, *sections]) + "\n"


def calibration() -> str:
    """Return the calibration errors beside the paper's."""
    table, sections = committed("openset_calibration")
    primary = table[(table["variant"] == "primary") & (table["metric"] == "ece")]
    (backbone,), (data_set,) = primary["backbone"].unique(), primary["data_set"].unique()
    ours = results.summary(primary).set_index(["method", "calibration"])
    printed = published.load("openset_calibration")
    printed = printed[(printed["table"] == "I") & (printed["metric"] == "ece")]
    printed = printed.set_index(["method", "calibration"])["value"]
    network = sections["grid"]["networks"][backbone]
    rows = [
        [
            method,
            *(
                beside(ours.loc[(method, when)], printed[method, when], 1, 3)
                for when in ("before", "after")
            ),
        ]
        for method in primary["method"].unique()
    ]
    return "\n".join(
        [
            f"**Open-set calibration.** Expected calibration error on {data_set}, tier `{TIER}` "
            f"({backbone}, stem stride {network['stem_stride']}, {network['epochs']} epochs): mean "
            f"± standard deviation over {int(ours['runs'].iloc[0])} runs; in brackets the paper's, "
            "for a ResNet whose depth and schedule it does not print (its Table I).",
            "",
            pages.table(["", "before temperature scaling", "after"], rows),
            "",
            verdicts("openset_calibration", table),
        ]
    )


def detection() -> str:
    """Return the nine methods' accuracy and areas under the risk–coverage curve."""
    table, sections = committed("unknown_detection")
    primary = table[table["variant"] == "primary"]
    ours = results.summary(primary).set_index(["method", "test_set", "metric"])
    printed = published.load("unknown_detection")
    printed = printed[printed["table"] == "5"].set_index(["method", "test_set", "metric"])["value"]
    columns = {
        "accuracy, %": ("test", "accuracy", 100, 1),
        "AURC × 1000, unknown detection": ("union", "aurc", 1000, 0),
        "AURC × 1000, misclassification": ("test", "aurc", 1000, 0),
        "AUROC near-OOD, %": ("near", "auroc", 100, 1),
    }
    rows = [
        [
            title,
            *(
                beside(
                    ours.loc[(method, test_set, metric)],
                    printed[method, test_set, metric],
                    scale,
                    digits,
                )
                for test_set, metric, scale, digits in columns.values()
            ),
        ]
        for method, title in METHODS.items()
    ]
    chosen = sections["evaluation"]
    recipe = chosen["training"]
    return "\n".join(
        [
            f"**Unknown detection.** Part of {chosen['data_set']} known, the rest of its classes "
            f"near-OOD, {', '.join(chosen['far'])} far-OOD; tier `{TIER}` ({chosen['network']}, "
            f"stem stride {recipe['stem_stride']}, {recipe['epochs']} epochs): mean ± standard "
            f"deviation over {chosen['runs']} runs; in brackets the paper's, at its full schedule "
            "and with its own far-OOD sets (its Table 5).",
            "",
            pages.table(["", *columns], rows),
            "",
            verdicts("unknown_detection", table),
        ]
    )


def errors() -> list[str]:
    """Return the detection error rates of the paper's scores, of each tier that is committed."""
    tiers = [one for one in ("small", TIER) if (RESULTS / one / "human_centric.parquet").exists()]
    return [errors_of(tier) for tier in tiers]


def errors_of(tier: str) -> str:
    """Return the detection error rates of the paper's scores over the networks of one tier."""
    table, sections = committed("human_centric", tier)
    primary = table[table["variant"] == "primary"]
    ours = cases(primary)[list(PAPER_METHODS)].dropna()
    theirs = cases(published.with_averages(published.load("human_centric")))
    cells = over_networks(ours) + " (" + over_networks(theirs) + ")"
    held = cases(table[table["variant"] == "held-out threshold"]).loc[ours.index]
    rows = [
        [PAPER_METHODS[line.Index], *line[1:], f"{100 * held[line.Index].mean():.1f}"]
        for line in cells.itertuples()
    ]
    right = primary[primary["metric"] == "accuracy"].pivot_table("value", "backbone", "test_set")
    right = right.loc[ours.index]  # a label-shifted set has no accuracy: all answers are wrong
    rates = primary[(primary["metric"] == "der99") & (primary["method"] == "msp")]
    means = ("input-shifted", "label-shifted", "average")
    sets = [name for name in rates["test_set"].unique() if name not in means]
    shifted = [name for name in sets if name in right and name != "test"]
    accepting = 100 * (1 - right.sum(axis=1) / len(sets)).mean()
    rows.append(["accept everything", f"{accepting:.1f}", "", "", ""])
    chosen = sections["evaluation"]
    return "\n".join(
        [
            f"**Human-centric evaluation.** Average DER99 (detection error rate) of {len(ours)} "
            f"networks {'trained here' if chosen['models'] else 'that others trained'}, tier "
            f"`{tier}`; they are right on {100 * right['test'].min():.0f} to "
            f"{100 * right['test'].max():.0f} % of the test images of {chosen['data_set']}. "
            f"Input-shifted: {', '.join(shifted)}; "
            f"label-shifted: {', '.join(name for name in sets if name not in right)}. Means over "
            "networks, mean rank among these scores, and on how many networks a score is the best; "
            f"in brackets the paper's, of {len(theirs)} networks on its own sets (its Tables 1 and "
            "2, averages taken anew). Compare the order, not the height. In the last column the "
            "threshold comes from training images that the score was not fitted to.",
            "",
            pages.table(["", *cells.columns, "held-out threshold"], rows),
            "",
            verdicts("human_centric", table),
        ]
    )


def over_networks(errors: pd.DataFrame) -> pd.DataFrame:
    """Return of each score, in words, what its error rates [networks, scores] are together.

    >>> print(over_networks(pd.DataFrame({"msp": [0.25, 0.5], "vim": [0.25, 0.625]})))
        average DER99, % mean rank best on
    msp             37.5       1.2       2
    vim             43.8       1.8       1
    """
    return pd.DataFrame(
        {
            "average DER99, %": (100 * errors.mean()).map("{:.1f}".format),
            "mean rank": mean_ranks(errors, lower_is_better=True).map("{:.1f}".format),
            "best on": errors.eq(errors.min(axis=1), axis=0).sum().map(str),
        }
    )


def algorithms() -> str:
    """Return what the algorithms reach in-domain and out-domain, alone and as ensembles."""
    table, sections = committed("uimnet", "small")
    chosen = sections["evaluation"]
    network, recipe = list(chosen["sizes"])[-1], chosen["training"]
    means = domain_means(table)
    means = means[(means["backbone"] == network) & (means["spectral"] == 0)]
    means = means[means["calibration"] == "before"]
    means = means.set_index(["algorithm", "variant", "metric", "measure"])[["mean", "std"]]
    columns = {
        "accuracy, %": ("accuracy", ""),
        "ECE, %": ("ece", ""),
        "AUC of Entropy, %": ("auroc", "entropy"),
        "OutAsOut of Entropy, %": ("out_as_out", "entropy"),
    }
    rows = []
    for name, title in ALGORITHMS.items():
        cells = []
        for what in columns.values():
            one, many = (means.loc[(name, kind, *what)] for kind in ("primary", "ensemble"))
            text = f"{100 * one['mean']:.1f} ± {100 * one['std']:.1f}"
            cells.append(f"{text}; {100 * many['mean']:.1f} ± {100 * many['std']:.1f}")
        rows.append([title, *cells])
    return "\n".join(
        [
            f"**Algorithms and measures.** {chosen['data_set']} at {chosen['side']} pixels, its "
            "classes in two branches by the features of a pretrained network; tier `small`, "
            f"shortened ({network}, {recipe['epochs']} epochs, {chosen['trials']} trials): mean ± "
            f"standard deviation over {chosen['runs']} data seeds, of the chosen trial and, after "
            "the semicolon, of the ensemble of all trials; before calibration, without spectral "
            "normalisation. The numbers of the paper's own tables are not at hand.",
            "",
            pages.table(["", *columns], rows),
            "",
            verdicts("uimnet", table),
        ]
    )


def unlabelled() -> str:
    """Return how well metrics of the first detector are predicted without labels."""
    table, sections = committed("gscore", "small")
    chosen = sections["evaluation"]
    own = table[(table["data_set"] == chosen["data_set"]) & (table["variant"] == "primary")]
    detector, columns = chosen["detectors"][0], ("rmse_fpr95", "rmse_auroc")
    right = own.loc[own["metric"] == "accuracy", "value"]
    means = own[own["test_set"] == "all"].groupby(["method", "metric"])["value"].mean()
    printed = published.load("gscore").query("table == '1'")
    printed = printed.set_index(["method", "metric"])["value"]
    rows = [
        [
            EVALUATOR_TITLES[method.partition("/")[2]],
            *(
                f"{100 * means[method, one]:.1f} ({100 * printed[method, one]:.1f})"
                for one in columns
            ),
        ]
        for method in printed.index.get_level_values("method").unique()
        if method.partition("/")[0] == detector
    ]
    sets = table.loc[table["data_set"] == chosen["data_set"]]
    sets = sets.loc[(sets["variant"] == "test") & (sets["metric"] == "auroc"), "test_set"]
    first, both = (
        PAPERS["gscore"].claims.CLAIMS.verdicts(PAPERS["gscore"].claims.CLAIMS.check(one))
        for one in (table[table["data_set"] == chosen["data_set"]], table)
    )
    answers = zip(first["text"], first["verdict"], both["verdict"], strict=True)
    return "\n".join(
        [
            f"**Evaluation without labels.** {len(chosen['networks'])} networks on four fifths of "
            f"{chosen['data_set']} ({100 * right.min():.0f} to {100 * right.max():.0f} % right), "
            f"mixed with each of {sets.nunique()} unlabelled data sets; tier `small`, "
            f"{chosen['training']['epochs']} epochs. Error (RMSE, points) of the predicted FPR95 "
            f"and AUROC of the detector {detector} on sets that the regression has not seen: means "
            f"over networks and {chosen['repeats']} divisions of the sets; in brackets the "
            "paper's, for one network and 200 sets (its Table 1).",
            "",
            pages.table(["", "RMSE of FPR95", "RMSE of AUROC"], rows),
            "",
            pages.table(
                [
                    "the paper's sentence",
                    f"on {chosen['data_set']}",
                    f"with {', '.join(chosen['other_data_sets'])}",
                ],
                [[text, str(one), str(other)] for text, one, other in answers],
            ),
        ]
    )


def committed(paper: str, tier: str = TIER) -> tuple[pd.DataFrame, dict]:
    """Return a paper's committed results table, and the parameters that it was made with."""
    parameters = ROOT / "params" / tier / f"{paper}.yaml"
    table = results.read(RESULTS / tier / f"{paper}.parquet")
    return table, yaml.safe_load(parameters.read_text(encoding="utf-8"))


def beside(ours: pd.Series, theirs: float, scale: float, digits: int) -> str:
    """Return our mean and deviation with the paper's value in brackets."""
    mean, std, paper = (f"{value * scale:.{digits}f}" for value in (*ours[["mean", "std"]], theirs))
    return f"{mean} ± {std} ({paper})"


def verdicts(paper: str, table: pd.DataFrame) -> str:
    """Return a table of verdicts."""
    claims = PAPERS[paper].claims.CLAIMS
    found = claims.verdicts(claims.check(table))
    rows = [[row.text, str(row.verdict)] for row in found.itertuples()]
    return pages.table(["the paper's sentence", "verdict at this tier"], rows)


def filled(text: str) -> str:
    """Return a README's text with the block between the markers renewed."""
    head, _, rest = text.partition(START)
    _, _, tail = rest.partition(END)
    return f"{head}{START}\n{block()}\n{END}{tail}"


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
    (RESULTS / "README.md").write_text(details(), encoding="utf-8")
