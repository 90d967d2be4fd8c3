"""The pages *How this is tested* and *Who passes what*, from what the runs have written.

A run that has not been made is said to be missing; no number is typed here.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import trials
from benchmarks.comparing import OURS, RESULTS
from helpers.report.table import markdown_table
from trials.branches import EXCEPTIONS
from trials.faults import DEFECTS, OUTCOMES

MISSING = "This has not been run yet: `{}`.\n"

INTRO = """# How this is tested

What stands between a model and a decision is chosen by how it is tested. This page says what was
tried to break this project and what came of it. Its numbers are read from files that the runs
themselves have written, and each run is seeded, so that anybody can repeat it from a clone:
`make faults`, or `make trials` for all of them.
"""

GENERATED = """## Generated input

Hypothesis makes up arguments that nobody thought of: metrics are compared with their definitions
in fractions, promises and estimates without labels must be true of the images that gave them, what
is stored must come back bit by bit, and whatever else is given must be refused by the argument's
name. In `tests/generated` it draws alike at every run; `pytest tests/generated
--hypothesis-profile=search` draws anew, and for long. Failures stay as examples. What an earlier
campaign of bad input found stays in `tests/test_findings.py`, and so do the reasons where something
was left as it is.

## Checks for anybody's scores and metrics

`known_unknowns.checks` has the invariants that every score and every metric here must keep to, as
checks that can be run on any other: batch equals singles, order, ties, one image, one class, saved
and loaded, memory. {doc}`who_passes` runs them on the functions of other projects.

## Security

What is read from files of others, how, and which test holds each promise: {doc}`../security`.
"""

LIMITS = """## What is not covered

* A file that is mapped into memory must not be shortened in place by somebody else while it is
  looked at: the system then ends the process. Nothing here does so; files are replaced by a rename,
  which a reader does not notice.
* A process that is killed at the very moment in which one folder takes the place of another leaves
  both, whole, under temporary names beside it.
* Files of photographs are known again by size and time. Pictures that are replaced by others of the
  same size, and then dated back, are taken for the old ones.
* The node of a cluster that goes away is tried by `make test-slurm`, not by `make faults`.
* The intervals of claims, a bootstrap over runs and images, are not among the simulated promises;
  with two or three runs they are to be read with care.
"""


def page() -> str:
    """Return the page *How this is tested*, as Markdown."""
    return "\n".join([INTRO, _faults(), _promises(), GENERATED, _measured(), LIMITS])


def _made(table: pd.DataFrame) -> str:
    return f"Made with {table['made_with'].iloc[0]}.\n"


def _faults() -> str:
    """Return the section on faults."""
    title = "## Faults on purpose\n"
    table = trials.read("faults")
    if table is None:
        return f"{title}\n" + MISSING.format("make faults")
    bad = table[table["outcome"].isin(DEFECTS)]["cases"].sum()
    found = set(table["outcome"])
    names = [name for name in (*OUTCOMES, *DEFECTS) if name in found]
    meanings = "\n".join(
        f"* *{name}*: {({**OUTCOMES, **DEFECTS})[name]}." for name in names
    )  # fmt: skip
    verdict = f"{bad:,} of them are defects." if bad else "None is a defect."
    return "\n".join(
        [
            title,
            f"{table['cases'].sum():,} cases with seed {table['seed'].iloc[0]}. {verdict}\n",
            meanings + "\n",
            _counted(table, "fault", "what is done", names),
            _counted(table, "file", "to what", names),
            _made(table),
        ]
    )


def _counted(table: pd.DataFrame, column: str, heading: str, outcomes: list[str]) -> str:
    """Return a table of how many cases ended how, for each value of a column."""
    counts = table.pivot_table("cases", column, "outcome", "sum", 0, sort=False)
    rows = [[one, *(f"{counts.at[one, name]:,}" for name in outcomes)] for one in counts.index]
    return markdown_table([heading, *outcomes], rows) + "\n"


def _promises() -> str:
    """Return the section on promises."""
    title = "## Promises, simulated\n"
    table = trials.read("promises")
    if table is None:
        return f"{title}\n" + MISSING.format("python -m trials.promises")
    kept = table["kept"].astype(str) == "True"
    tight = table["wasteful"] != "yes"
    rows = [
        [row.promise, f"`{row.place.rpartition('.')[2]}`", row.world, f"{row.draws:,}",
         f"{row.allowed:.1%}", f"{float(row.broken):.1%}",
         ("kept" if ok else "**broken**") + {"yes": ", **wasteful**", "known": ", wasteful"}
         .get(row.wasteful, "")]
        for row, ok in zip(table.itertuples(), kept, strict=True)
    ]  # fmt: skip
    whys = table[table["why"] != ""].drop_duplicates("promise")
    notes = "\n".join(f"* {row.promise}: {row.why}." for row in whys.itertuples())
    return "\n".join(
        [
            title,
            "Each promise says that something is false for at most a share of all draws. In worlds "
            "that are made up, in which the truth is known, it is drawn again and again. A promise "
            "is broken where more draws break it than chance explains; it is wasteful where, in "
            "the world that is hardest for it, they break it so seldom that more could have been "
            "promised.\n",
            f"{table['promise'].nunique()} promises in {len(table)} worlds, "
            f"{table['draws'].sum():,} draws: {kept.sum()} kept, {(~kept).sum()} broken, "
            f"{(~tight).sum()} wasteful.\n",
            markdown_table(
                ["promise", "made by", "world", "draws", "false at most", "false", "verdict"], rows
            )
            + "\n",
            "Why some are not used up, or hold for many images only:\n",
            notes + "\n",
            _made(table),
        ]
    )


def _measured() -> str:
    """Return the section on the tests themselves."""
    return "\n".join(["## The tests, tested\n", _branches(), _mutants(), _types()])


def _branches() -> str:
    table = trials.read("branches")
    if table is None:
        return MISSING.format("python -m trials.branches")
    parts = table.groupby("room", sort=False)[
        ["statements", "statements_taken", "branches", "branches_taken"]
    ].sum()
    rows = [
        [f"`helpers.{room}`", f"{one.statements:,}", _share(one.statements_taken, one.statements),
         f"{one.branches:,}", _share(one.branches_taken, one.branches)]
        for room, one in parts.iterrows()
    ]  # fmt: skip
    missing = table[table["missing"] != ""]
    listed = "\n".join(
        f"* `{row.file}`: " + ", ".join(f"`{one}`" for one in row.missing.split(" | "))
        for row in missing.itertuples()
    )
    excepted = "\n".join(
        f"* `{row.file}`, `{line}`: {EXCEPTIONS[f'{row.file}: {line}']}."
        for row in table[table["exceptions"] != ""].itertuples()
        for line in row.exceptions.split(" | ")
    )
    return "\n".join(
        [
            "Which branches of the core its tests take:\n",
            markdown_table(["room", "statements", "taken", "branches", "taken"], rows) + "\n",
            *(["What no test takes:\n", listed + "\n"] if listed else []),
            *(["What no test can take, and why:\n", excepted + "\n"] if excepted else []),
            _made(table),
        ]
    )


def _mutants() -> str:
    table = trials.read("mutants")
    if table is None:
        return MISSING.format("python -m trials.mutants")
    rows = []
    for module, own in table.groupby("module", sort=False):
        caught = (own["outcome"] != "survived").sum()
        rows.append([f"`{module}`", len(own), caught, _share(caught, len(own))])
    caught = (table["outcome"] != "survived").sum()
    left = table[table["outcome"] == "survived"]
    listed = "\n".join(f"* `{one.module}`, line {one.line}: `{one.change}`" for one in
                       left.itertuples())  # fmt: skip
    return "\n".join(
        [
            "Which changes of the code its tests notice. Each mutant is a module with one change, "
            "such as `<` for `<=`; they are drawn at random. Of "
            f"{len(table):,} tried, {caught:,} are noticed ({_share(caught, len(table))}).\n",
            markdown_table(["module", "mutants", "noticed", "share"], rows) + "\n",
            *(["Those that are not; many change nothing that can be seen:\n", listed + "\n"]
              if len(left) else []),
            _made(table),
        ]
    )  # fmt: skip


def _types() -> str:
    table = trials.read("types")
    if table is None:
        return MISSING.format("python -m trials.types")
    rows = [[f"`{row.checked}`", row.errors] for row in table.itertuples()]
    return (
        "Whether the public surface keeps to its types, by mypy:\n\n"
        + markdown_table(["what", "errors"], rows)
        + f"\n\n{_made(table)}"
    )


def _share(part: float, whole: float) -> str:
    """Return a share in per cent, never rounded up to all.

    >>> _share(999, 1000), _share(3, 3), _share(0, 0)
    ('99.9 %', '100 %', '–')
    """
    if not whole:
        return "–"
    return "100 %" if part == whole else f"{min(99.9, 100 * part / whole):.1f} %"


WHO = """# Who passes what

The checks of `known_unknowns.checks`, run on functions of other projects and on the same ones
here, by `python -m benchmarks.checks`. *Invariants* are properties of the number: of a
batch, order, ties, memory. *What it is given* is about input: lists, strides, NaN, one image, one
class; there a check also asks that an error names the argument, which is this project's custom,
and no fault of a
function that was not written for it. A function may be right for its own purpose and fail a check;
the words say on what.
"""


FOUND = (
    ("order_does_not_matter", "Functions that depend on the order of the images"),
    ("batch_is_its_images", "Scores of an image that depend on those beside it, be it by rounding"),
)


def _named(rows: pd.DataFrame) -> str:
    """Return which functions rows are about, and whose they are."""
    pairs = rows[["name", "peer"]].drop_duplicates()
    return ", ".join(f"`{one.name}` of {one.peer}" for one in pairs.itertuples()) or "none"


def who_passes() -> str:
    """Return the page *Who passes what*, as Markdown."""
    file = RESULTS / "checks.parquet"
    if not file.exists():
        return f"{WHO}\n" + MISSING.format("make bench")
    table = pd.read_parquet(file)
    asked = table[table["outcome"] != "does not apply"]
    rows, sections = [], []
    for (kind, name, peer), own in asked.groupby(["kind", "name", "peer"], sort=False):
        shares = []
        for sort in ("invariant", "what it is given"):
            part = own[own["sort"] == sort]
            shares.append(f"{(part['outcome'] == 'holds').sum()} of {len(part)}")
        failed = own[(own["outcome"] == "fails") & (own["sort"] == "invariant")]
        rows.append(
            [kind, f"`{name}`", peer, *shares, ", ".join(f"`{one}`" for one in failed["check"])]
        )
        for one in failed.itertuples():
            words = one.words.replace("`", "")
            sections.append(f"* {peer}, `{name}`, `{one.check}`: `{words}`")
    broken = asked[(asked["outcome"] == "fails") & (asked["sort"] == "invariant")]
    header = ["kind", "function", "of", "invariants", "what it is given", "invariants that fail"]
    return "\n".join(
        [
            WHO,
            *(f"{what}: {_named(broken[broken['check'] == check])}.\n" for check, what in FOUND),
            f"Of this project's own functions these fail an invariant: "
            f"{_named(broken[broken['peer'] == OURS])}.\n",
            markdown_table(header, sorted(rows)) + "\n",
            "## In words\n",
            "\n".join(sections) + "\n",
            f"With {table['versions'].iloc[0]}.\n",
        ]
    )


def write(folder: Path) -> None:
    """Write both pages into a folder."""
    (folder / "tested.md").write_text(page(), encoding="utf-8")
    (folder / "who_passes.md").write_text(who_passes(), encoding="utf-8")
