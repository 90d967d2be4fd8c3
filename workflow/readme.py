"""Write the README's results, between its two markers, from the committed results tables.

python workflow/readme.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from helpers import published, results  # noqa: E402
from helpers.claims import openset_calibration as claims  # noqa: E402

START, END = "<!-- results:start -->", "<!-- results:end -->"
TIER = "small_cpu"
FILE = ROOT / "results" / TIER / "openset_calibration.parquet"


def block() -> str:
    """Return the results as Markdown: the ECE beside the paper's, and the claims' verdicts."""
    table = results.read(FILE)
    primary = table[(table["variant"] == "primary") & (table["metric"] == "ece")]
    (backbone,), (data_set,) = primary["backbone"].unique(), primary["data_set"].unique()
    ours = results.summary(primary).set_index(["method", "calibration"])
    printed = published.load("openset_calibration")
    printed = printed[(printed["table"] == "I") & (printed["metric"] == "ece")]
    printed = printed.set_index(["method", "calibration"])["value"]
    runs = int(ours["runs"].iloc[0])
    grid = yaml.safe_load((ROOT / "params" / TIER / "openset_calibration.yaml").read_text())["grid"]
    network = grid["networks"][backbone]
    lines = [
        f"Expected calibration error on {data_set}, tier `{TIER}` ({backbone}, stem stride "
        f"{network['stem_stride']}, {network['epochs']} epochs): mean ± standard deviation over "
        f"{runs} runs; in brackets the paper's, for a ResNet whose depth and schedule it does not "
        "print (its Table I).",
        "",
        "| | before temperature scaling | after |",
        "| --- | --- | --- |",
    ]
    for method in primary["method"].unique():
        cells = [
            f"{row['mean']:.3f} ± {row['std']:.3f} ({printed[method, when]:.3f})"
            for when in ("before", "after")
            for row in [ours.loc[(method, when)]]
        ]
        lines.append(f"| {method} | {' | '.join(cells)} |")
    lines += ["", "| the paper's sentence | verdict at this tier |", "| --- | --- |"]
    verdicts = claims.verdicts(claims.check(table))
    lines += [f"| {row.text} | {row.verdict} |" for row in verdicts.itertuples()]
    return "\n".join(lines)


def filled(text: str) -> str:
    """Return a README's text with the block between the markers renewed."""
    head, _, rest = text.partition(START)
    _, _, tail = rest.partition(END)
    return f"{head}{START}\n{block()}\n{END}{tail}"


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
