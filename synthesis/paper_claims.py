"""The claims of a whole paper, checked on a results table and on the paper's printed numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from helpers.checks import known_name
from helpers.tables import published
from helpers.tables.table import number
from synthesis import preconditions
from synthesis.effects import (
    ALL,
    CELL,
    Claim,
    Verdict,
    evaluate,
    join_texts,
    refuse_duplicates,
    verdicts,
)

#: The tier of printed numbers, to which no precondition applies.
PRINTED = ""


@dataclass(frozen=True)
class Second:
    """Second numbers that must agree before an effect is supported or contradicted.

    They are of a `variant`, if a table has it; an effect without numbers of this variant is decided
    by the deciding variant alone.  Or `compute` returns them from the deciding rows; an effect that
    then lacks numbers is undecided, unless these numbers have no `intervals`.
    """

    name: str
    variant: str = ""
    compute: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    intervals: bool = True

    def rows(self, table: pd.DataFrame, judged: pd.DataFrame, usual: bool) -> pd.DataFrame | None:
        """Return these second numbers for the rows `judged` of the usual or another variant."""
        if self.compute:
            return self.compute(judged)
        rows = table[table["variant"] == self.variant]
        return rows if usual and len(rows) else None


@dataclass(frozen=True)
class Claims:
    """A paper's claims in its order, and the numbers that test them.

    `derive` computes from a results table the rows that `evaluate` takes.  Each claim is then
    checked on all data sets and backbones with numbers for it.  The rows may have the columns
    ``networks`` or ``evidence`` (source of the numbers) and ``stand_in`` (images that replace the
    paper's images).  If `every_variant`, it takes the rows of all variants.  `printed` does the
    equivalent with the paper's printed numbers (`published.load`).

    The variant `judges` decides if a table has it, otherwise "primary".  Methods without rows of
    this variant use "primary".  `resampled` names the units that replicates resample.
    """

    paper: str
    claims: tuple[Claim, ...]
    derive: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    every_variant: bool = False
    seconds: tuple[Second, ...] = ()
    judges: str = "primary"
    resampled: str = "images"
    printed: Callable[[pd.DataFrame], pd.DataFrame] | None = None

    def check(self, table: pd.DataFrame, *, variant: str = "") -> pd.DataFrame:
        """Check the claims on the rows of this paper in a results table."""
        table = table[table["paper"] == self.paper]
        if table["tier"].nunique() > 1:
            tiers = ", ".join(sorted(table["tier"].unique()))
            raise ValueError(f"table: several tiers ({tiers}); choose one")
        there = {*table["variant"].unique()}
        usual = self.judges if self.judges in there else "primary"
        variant = variant or usual
        if len(table):
            known_name("variant", variant, there & {"primary"} if self.every_variant else there)
        rows = table if self.every_variant else table[table["variant"] == variant]
        if self.judges != "primary" and variant != "primary":
            both = pd.concat([table[table["variant"] == "primary"], rows])
            judge = both.groupby([*CELL, "run", "method"])["variant"].transform("last")
            rows = both[both["variant"] == judge]
        printed = published.load(self.paper) if self.printed else None
        barred = preconditions.unlearnt(table), preconditions.behind(table, printed)
        given = *barred, table["tier"].iloc[0] if len(table) else ""
        checks = self._evaluate(rows, *given)
        for second in self.seconds:
            if (again := second.rows(table, rows, variant == usual)) is not None:
                others = self._evaluate(again, *given, intervals=second.intervals)
                checks = _agree(checks, others, second)
        return checks

    def check_published(self) -> pd.DataFrame | None:
        """Compute the effects from the paper's own printed numbers; None if unavailable.

        They have no intervals.  An effect in the paper's text keeps its printed value.
        """
        if self.printed is None:
            return None
        numbers = published.load(self.paper)
        numbers = numbers.assign(run=0, bootstrap=[()] * len(numbers))
        checks = self._evaluate(self.printed(numbers), {}, {}, PRINTED, intervals=False)
        effects = {(claim.id, e.name): e for claim in self.claims for e in claim.effects}
        for claim, name, value, source in published.in_text(self.paper).itertuples(index=False):
            verdict = effects[claim, name].verdict(value, value)
            row = checks[["claim", "check", "data_set"]].eq([claim, name, ALL]).all(axis=1)
            columns = ["effect", "verdict", "doubt", "note", "runs"]
            checks.loc[row, columns] = value, verdict, "", f"printed in the {source}", 1
        return checks

    def verdicts(self, checks: pd.DataFrame) -> pd.DataFrame:
        """Return a verdict for each claim; sentences end with the evidence that `derive` gives."""
        summed = verdicts(self.claims, checks)
        if "evidence" not in checks:
            return summed
        evidence = summed["claim"].map(checks.groupby("claim")["evidence"].first())
        words = evidence.map(lambda text: f" From {text}." if text else "")
        return summed.assign(sentence=summed["sentence"] + words, evidence=evidence)

    def _evaluate(
        self, table: pd.DataFrame, unlearnt, behind, tier: str, *, intervals: bool = True
    ) -> pd.DataFrame:
        rows = preconditions.mark(self.derive(table) if self.derive else table, unlearnt)
        pairs, checks = [*zip(rows["method"].tolist(), rows["metric"].tolist(), strict=True)], []
        for claim in self.claims:
            numbers = rows
            if self.derive:  # or what it is not about would be counted as lacking numbers
                about = {
                    (term.method, term.metric) for effect in claim.effects for term in effect.terms
                }
                numbers = rows[np.array([pair in about for pair in pairs], bool)]
            numbers = numbers.query(claim.scope) if claim.scope else numbers
            networks = table["backbone"].unique()
            if "networks" in numbers:
                networks = numbers["networks"].explode().unique()
                numbers = numbers.assign(evidence=preconditions.networks_in_words(networks))
            if reason := preconditions.untestable(claim, tier, self.paper):
                numbers = numbers.assign(untestable=reason)
            elif behind and "training" in claim.about:
                numbers = _mark_behind(numbers, behind)
            checked = evaluate([claim], numbers, intervals=intervals)
            note = checked["note"].str.replace("images", self.resampled)
            if claim.needs:
                note = note.mask(checked["verdict"] == Verdict.NO_DATA, f"needs {claim.needs}")
            checked = checked.assign(note=note)
            if "evidence" in numbers:
                checked = checked.assign(evidence=join_texts(*numbers["evidence"].unique()))
            weak = preconditions.weaknesses(claim, checked, networks, tier, self.paper)
            checked = _leave_undecided(checked, weak)
            if claim.names and "stand_in" in numbers:
                checked = _name_stand_ins(claim, checked, numbers)
            checks.append(checked)
        return pd.concat(checks, ignore_index=True)


def _mark_behind(numbers: pd.DataFrame, reasons: Mapping[tuple, str]) -> pd.DataFrame:
    """Return numbers with the reasons of `preconditions.behind`, except accuracies."""
    keys = numbers[["data_set", "backbone", "method"]].itertuples(index=False, name=None)
    given = pd.Series([reasons.get(key, "") for key in keys], numbers.index)
    given = given.mask(numbers["metric"] == "accuracy", "")
    return numbers.assign(untestable=list(map(join_texts, numbers["untestable"], given)))


def _agree(checks: pd.DataFrame, others: pd.DataFrame, second: Second) -> pd.DataFrame:
    """Return checks whose effects are decided only as `others` decide them; these in words."""
    keys, values, name = ["claim", "check", *CELL], ["effect", "low", "high"], second.name
    others = pd.merge(checks[keys], others, on=keys, how="left")
    verdict = others["verdict"].fillna(str(Verdict.NO_DATA))
    lacking = verdict == Verdict.NO_DATA
    why = f"by the {name} it is " + verdict.map(str)
    why = why.mask(lacking, f"there are no numbers by the {name}")
    alone = bool(second.variant) or not second.intervals  # decides an effect without others
    agree = (verdict == checks["verdict"]) | (lacking & alone)
    left = _leave_undecided(checks, why.mask(agree, ""))
    same = np.isclose(checks["effect"], others["effect"]) | others["effect"].isna()
    words = [
        f"by the {name} {effect} [{low}, {high}]".removesuffix(" [–, –]")
        for effect, low, high in others[values].map(lambda value: number(value, "+.3f")).to_numpy()
    ]
    before = checks.get("second", [""] * len(checks))
    return left.assign(second=list(map(join_texts, before, np.where(same, "", words))))


def _name_stand_ins(claim: Claim, checks: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return checks of a claim with notes on stand-ins, which cannot contradict the claim."""
    words = rows[rows["test_set"].isin(claim.names)].groupby("test_set")["stand_in"].unique()
    reasons = {}
    for effect in claim.effects:
        used = words[words.index.isin([term.test_set for term in effect.terms])]
        reasons[effect.name] = join_texts(*(text for texts in used for text in texts))
    reason = checks["check"].map(reasons)
    hit = checks["verdict"] == Verdict.CONTRADICTED
    left = _leave_undecided(checks, reason.where(hit, ""))
    reason = reason.mask(hit | checks["effect"].isna(), "")
    return left.assign(note=list(map(join_texts, reason, left["note"])))


def _leave_undecided(checks: pd.DataFrame, reason: pd.Series) -> pd.DataFrame:
    """Return checks in which the effects with a reason are undecided; "" is no reason."""
    hit = (reason != "") & checks["verdict"].isin([Verdict.SUPPORTED, Verdict.CONTRADICTED])
    doubted = ("doubted: " + reason).where(hit, "")  # as `evaluate` has it of clear numbers
    left = checks.assign(
        verdict=checks["verdict"].mask(hit, Verdict.UNDECIDED),
        note=list(map(join_texts, checks["note"], doubted)),
    )
    if "evidence" not in checks:
        return left
    contradicted = left["verdict"].eq(Verdict.CONTRADICTED) & left["data_set"].eq(ALL)
    clear = checks["claim"].isin(left.loc[contradicted, "claim"])
    why = ("; undecided, since " + reason).where(hit & ~clear)
    why = why.groupby(checks["claim"]).transform("first").fillna("")
    return left.assign(evidence=checks["evidence"] + why)


def index_numbers(table: pd.DataFrame, levels: list[str]) -> pd.DataFrame:
    """Return the numbers of a results table with their replicates, to derive others from them.

    >>> table = pd.DataFrame({"method": ["a", "b"], "value": 1.0, "bootstrap": [[2.0], [3.0]]})
    >>> index_numbers(table, ["method"]).loc["b"].to_numpy().ravel().tolist()
    [1.0, 3.0]
    """
    refuse_duplicates(table, levels)
    lengths = table["bootstrap"].map(len).unique()
    if len(lengths) > 1:
        raise ValueError(
            "table: the numbers have different numbers of bootstrap replicates, which cannot be"
            " paired"
        )
    numbers = zip(table["value"], table["bootstrap"], strict=True)
    rows = [[value, *drawn] for value, drawn in numbers]
    index = pd.MultiIndex.from_frame(table[levels])
    return pd.DataFrame(rows, index, columns=range(1 + sum(lengths)), dtype=np.float64)
