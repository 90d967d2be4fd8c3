"""The page of the benchmarks, from the results that are committed."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import yaml

from benchmarks import auditing, pipeline
from benchmarks.comparing import RESULTS
from helpers.report import figures
from helpers.report.table import markdown_table

#: Benchmarks that compare with others, in the order of the page.
COMPARED = {
    "metrics": "Metrics",
    "scores": "Scores",
    "extraction": "Extraction: many scores, many data sets",
    "jacobian": "Jacobian",
    "gscore": "Evaluation without labels",
    "training": "Training on a processor",
    "training_gpu": "Training on a GPU",
    "streaming": "Photographs from a disk",
}

SHORT = 1e-3  # seconds, below which a cost is that of starting

INTRO = """# Speed

Times are another machine's, and the next day's; a ratio of two sides that were timed in turn, in
one process, on the same arrays, is worth more. So this page shows how many times as fast this
project is as a peer's own function, or as another way of doing the same, after a check that both
give the same answer up to what the last column names: the median over the rounds, and in brackets
the lowest and the highest; where there are none, one round was timed. `make bench` measures again;
`python -m benchmarks.NAME` measures one section.
"""


def page(folder: Path) -> str:
    """Return the page, as Markdown; its figures go into `folder`.

    Parameters
    ----------
    folder : Path
        That of the page: the figures are ``speed.svg`` and ``growth.svg`` in it.
    """
    figures.use_style()
    found = {name: pd.read_parquet(RESULTS / f"{name}.parquet") for name in COMPARED}
    everything = pd.concat(found.values(), ignore_index=True)
    _save(figures.speed_ratios(everything), folder / "speed.svg")
    costs = pd.read_parquet(RESULTS / "growth.parquet")
    _save(figures.growth_curves(_long(costs))[0], folder / "growth.svg")
    measured = everything.dropna(subset="ratio")
    missed = int((measured["ratio"] < measured["wanted"]).sum())
    tally = (
        f"{len(measured)} comparisons; {len(measured) - missed} are as fast as was wanted, or "
        f"faster, {missed} are not, and {len(everything) - len(measured)} are not yet measured.\n\n"
        "```{figure} speed.svg\n"
        ":alt: Ratios of all comparisons, with the goals.\n\n"
        "Every comparison of this page: right of the grey line this project is the faster one.\n"
        "```\n"
    )
    return "\n".join([INTRO, tally, *map(_section, found, found.values()), _growth(costs),
                      _auditing(), _paper_cost(), _pipeline()])  # fmt: skip


def _save(ax, path: Path) -> None:
    with plt.rc_context({"svg.hashsalt": path.stem}):  # the same numbers give the same file
        ax.figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    plt.close(ax.figure)


def _section(name: str, found: pd.DataFrame) -> str:
    """Return the table of one benchmark."""
    rows = [[row.work, row.size, row.peer, *_judged(row)] for row in found.itertuples()]
    header = ["work", "size", "against", "times as fast", "wanted", "what differs, what limits"]
    made = f"Measured on {found['machine'].iloc[0]}, with {found['versions'].iloc[0]}.\n"
    if found["ratio"].isna().all():
        made = ""
    return f"## {COMPARED[name]}\n\n{markdown_table(header, rows)}\n\n{made}"


def _judged(row) -> list[str]:
    """Return a comparison's ratio, its goal, and what is to be said of it."""
    if pd.isna(row.ratio):
        return ["not yet measured", f"{row.wanted:.3g}", row.note]
    missed = row.ratio < row.wanted
    spread = f" ({_short(row.low)} to {_short(row.high)})" if row.low < row.high else ""
    ratio = _short(row.ratio) + spread
    said = [row.note, row.limit if missed else ""]
    return [ratio, f"{row.wanted:.3g}" + (", **missed**" if missed else ""),
            "; ".join(filter(None, said))]  # fmt: skip


def _short(ratio: float) -> str:
    """Return a ratio to two digits, or to the whole number.

    >>> [_short(ratio) for ratio in (0.956, 3.44, 12.4, 1234.5)]
    ['0.96', '3.4', '12', '1,234']
    """
    return f"{ratio:.2f}" if ratio < 2 else f"{ratio:.1f}" if ratio < 10 else f"{ratio:,.0f}"


def _growth(costs: pd.DataFrame) -> str:
    """Return what all scores cost, and how that grows, with the figure."""
    whole = costs[costs["run"] == "all"].set_index(["score", "step"])
    powers = figures.growth_exponents(_long(costs))
    rows = [
        [
            f"`{score}`",
            *(f"{whole.at[(score, step), 'seconds']:.2f}" for step in ("fit", "score")),
            *(f"{powers.get((score, step), np.nan):.2f}".replace("nan", "–").replace("-", "−")
              for step in ("fit", "score")),
        ]
        for score in whole.index.unique("score").drop("together")
    ]  # fmt: skip
    together = whole.loc["together"]
    images = together["images"]
    header = ["score", "fit, s", "score, s", "grows, fit", "grows, score"]
    return (
        "(speed-growth)=\n## All scores over one cache\n\n"
        f"Every score that reads stored outputs alone is fitted to {images['fit']:,} training "
        f"images and asked about {images['score']:,} others, of 2,048 features and 1,000 classes, "
        f"in memory-mapped files: together {together['seconds'].sum() / 60:.1f} minutes "
        f"({together.at['fit', 'seconds']:.0f} s of fits, {together.at['score', 'seconds']:.0f} s "
        f"of scores) on {costs['machine'].iloc[0]}, and at most "
        f"{together['memory'].max() / 1024:.2f} GiB beyond the files, all fitted scores kept. "
        "Wanted were 10 minutes and 2 GiB.\n\n"
        "How the time grows is the power of the number of images, fitted by least squares to four "
        "sizes; steps of less than a millisecond have none. A slope below 1 has a part that "
        "does not depend on the images, such as a factorisation.\n\n"
        "```{figure} growth.svg\n:alt: Seconds against images, for every score.\n\n"
        "Fits and scores of a growing part of the images, on logarithmic axes. The slowest are "
        "named.\n```\n\n" + markdown_table(header, rows) + "\n\n"
        "KNN and NNGuide compare with 1 % of the training images, OpenMax looks at ten logits, and "
        "the mixture `gmm` is fitted to as many images as are asked about. Mahalanobis, the first "
        "to need them, pays for the moments that RMDS and ViM then share. The mixture's fit grows "
        "faster than the images do: for each class it takes apart a matrix as wide as the class "
        "has images, until that is as wide as the features; an image takes it as long as it was "
        "fitted to many.\n"
    )


def _long(costs: pd.DataFrame) -> pd.DataFrame:
    """Return the costs of scores and steps alone whose growth can be read off."""
    alone = costs[costs["run"] == "alone"]
    return alone[alone.groupby(["score", "step"])["seconds"].transform("min") > SHORT]


def _auditing() -> str:
    """Return what an audit costs, as far as it has been measured."""
    file = RESULTS / "auditing.parquet"
    if not file.exists():
        return ""
    found = pd.read_parquet(file)
    rows = []
    for row in found.itertuples():
        wanted = auditing.WANTED.get(row.work)
        goal = "–" if wanted is None else f"{wanted}" + ", **missed**" * (row.cpu > wanted)
        size, memory = (f"{mebibytes / 1024:.1f}" for mebibytes in (row.file, row.memory))
        rows.append([row.work, f"{row.features:,}", str(row.sets), size, f"{row.cpu:.1f}", goal,
                     memory, f"{row.load:.1f}"])  # fmt: skip
    header = ["file of outputs", "features", "sets of unknown images", "GiB", "CPU s",
              "wanted, CPU s", "most memory, the mapped file in it, GiB", "load"]  # fmt: skip
    return (
        "(speed-audit)=\n## An audit\n\n"
        "`known-unknowns audit` on outputs of a thousand classes, one thread, from the command to "
        "the last file, on "
        f"{found['machine'].iloc[0]}; a load above 1 says that other work ran beside it, which "
        "makes CPU seconds more.\n\n" + markdown_table(header, rows) + "\n"
    )


OPERATIONS = 1e14
"""A second, of the GPU that hours are told of: a tenth of what an H200 can do in bf16."""


def _paper_cost() -> str:
    """Return what tier `paper` costs in each chapter, as far as it has been counted."""
    file = RESULTS / "paper_cost.parquet"
    if not file.exists():
        return ""
    found, cpus = pd.read_parquet(file), _processors_of_a_job()
    rate = _images_a_second()
    rows = [
        [
            row.chapter.replace("_", " "),
            f"{row.networks:,}",
            f"{row.read / 1e6:,.0f}",
            f"{row.read / rate / cpus / 3600:,.0f}" if rate else "not yet measured",
            f"{row.operations / 1e18:,.1f}",
            f"{row.operations / OPERATIONS / 3600:,.1f}",
            f"{row.kept / 1e9:,.0f}",
        ]
        for row in found.itertuples(index=False)
    ]
    header = ["chapter", "networks", "photographs read, millions", f"hours, {cpus} processes",
              "operations, 10¹⁸", "hours at 10¹⁴ a second", "outputs kept, GB"]  # fmt: skip
    return (
        "(speed-paper)=\n## What tier `paper` costs\n\n"
        "Counted from the parameters, without what goes back to the images (ODIN's grid, "
        "Jacobians, augmented copies, passes with dropout). The first hours are those of decoding, "
        "by as many processes as a job asks for (`workflow/resources.yaml`), each as fast as one "
        "of the section on photographs above; the second are those of a GPU that does 10¹⁴ "
        "operations a second, which is an assumption. Both go on at the same time: the longer one "
        "decides.\n\n" + markdown_table(header, rows) + "\n"
    )


def _processors_of_a_job() -> int:
    """Return how many processors a job of tier `paper` asks for."""
    text = (Path(__file__).parent / "resources.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)["paper"]["cpus"]


def _images_a_second() -> float | None:
    """Return how many photographs one process decodes a second; None where it is not measured."""
    found = pd.read_parquet(RESULTS / "streaming.parquet").dropna(subset="ours")
    one = found[found["work"].str.endswith(", 1 process")]
    return None if one.empty else int(one["images"].iloc[0]) / float(one["ours"].iloc[0])


BEFORE = """Before it was profiled (commit 063f990, on two cores of another, faster x86_64 machine
with nothing else running) the steps of a fresh clone took 1,920 s together, and `make book` 19 min
38 s, installation included; the critical path was the second training of unknown detection (2
min), the synthesis' training (2 min), its evaluation (2.5 min) and its figures.  Since then these
are gone, measured beside other work, so that only their proportions count:

- two to four seconds at the end of each notebook, in which a kernel took its memory apart;
- a second at the start of each and one more in its kernel, in which a package that checks
  addresses built the grammar of them;
- timm, seaborn and torchvision, which imports PyTorch's compiler: two seconds in most notebooks,
  now imported where they are used;
- fourteen seconds in which the imports of each notebook were read anew to make the plan, which was
  made twice;
- timers of Snakemake, one more for each step that had ended, each of which looked at all files once
  a second;
- outputs in batches that fell out of the processor's caches, moments of the same features taken
  for each score anew, a decomposition of each class's images for a mixture where that of a smaller
  matrix does;
- the drawing of generated families, 15 CPU seconds for all 76, by every notebook that has a suite
  of them, and by one of the synthesis's for each of 15 algorithms: they are drawn once;
- four seconds in every process in which the package's syntax trees were read to tell states of the
  code apart: what they say is noted beside the byte code;
- the checks of all claims on the committed tables, made anew by the ledger, by five pages and by
  the READMEs, and the seconds in which each process that asked what lies above a class opened
  WordNet;
- eight starts of the training notebook on open sets, which trains all networks of a run now;
- two thirds of the epochs of `mini`, and a third of the channels of its ResNets.

Before and after in one sitting, on one machine and with the same packages, each with an empty
cache, two steps at once: the 42 steps of commit 01f374f took 3,796 s together (3,758 CPU seconds
with all that starts them), the 46 of commit c1783ec 2,490 s (2,457 CPU seconds).  That is 0.66 of
the time; 0.62 without the eleven notebooks that came in between; and 0.43 for training alone.
A run of unknown detection's training, the dearest step, took 294 s, and 79 s and 72 s before and
after it.  The trainings of the synthesis take 0.25 of what they took, and those on open sets 0.51.
Evaluation without labels has become dearer, 1.5 times: it has a third network, estimators and
answers, and its evaluation alone takes 257 s where it took 75.  The machine was slower in that
sitting than for the table above, which is of the time before the ResNets lost channels: seconds of
the two cannot be compared.
"""


def _pipeline() -> str:
    """Return the section on where the time of the whole pipeline goes."""
    found = pd.read_parquet(RESULTS / "pipeline.parquet")
    parts = ["(speed-pipeline)=\n## Where time goes\n", pipeline.where_time_goes(found), BEFORE]
    return "\n".join(parts)
