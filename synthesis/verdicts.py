"""The claims of a whole paper, checked on a results table and on the paper's printed numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.checks import known_name
from helpers.files import project_root
from helpers.tables import printed_numbers, results
from synthesis import preconditions
from synthesis.effects import (
    ALL,
    CELL,
    Claim,
    Effect,
    Judged,
    Reading,
    Verdict,
    as_table,
    refuse_duplicates,
)
from synthesis.judging import OPPOSITE, evaluate, summarise
from synthesis.preconditions import Conditions, Schedule
from synthesis.reasons import Kind, Reason, remark
from synthesis.spread import WITHOUT_RUN, Trainings


@dataclass(frozen=True)
class Second:
    """Second numbers that must agree before an effect is supported or contradicted.

    They are of a `variant`, if a table has it; an effect without numbers of this variant is decided
    by the deciding variant alone, unless a number is of a test set that `needs` it.  If `methods`
    are named, it changes only these, and all other methods have the deciding rows.  Or `compute`
    returns them from the deciding rows; an effect that then lacks numbers is undecided, unless
    these numbers have no `intervals`.
    """

    name: str
    variant: str = ""
    needs: str = ""
    methods: tuple[str, ...] = ()
    compute: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    intervals: bool = True

    def rows(self, table: pd.DataFrame, deciding: pd.DataFrame, usual: bool) -> pd.DataFrame | None:
        """Return these second numbers for the deciding rows of the usual or another variant."""
        if self.compute:
            return self.compute(deciding)
        rows = table[table["variant"] == self.variant]
        if self.methods and len(rows):
            others = deciding[~deciding["method"].isin(self.methods)]
            rows = pd.concat([others, rows[rows["method"].isin(self.methods)]])
        return rows if usual and len(rows) else None

    def agree(self, judged: Judged, other: Judged) -> Judged:
        """Return an effect that is only settled as the effect by the second numbers is."""
        lacking = other.verdict == Verdict.NO_DATA
        alone = bool(self.variant) or not self.intervals  # decides an effect without others
        needed = self.needs in {key.test_set for key in judged.effect.number.keys}
        reasons = []
        if lacking and (needed or not alone):
            reasons.append(f"there are no numbers by the {self.name}")
        elif not lacking and other.verdict != judged.verdict:
            # the interval alone, if it shows the opposite
            ends = [other.size] * 2 if np.isnan(other.low) else [other.low, other.high]
            verdict = other.effect.verdict(*ends)
            opposed = verdict == OPPOSITE.get(judged.verdict)
            reasons.append(f"by the {self.name} it is {verdict if opposed else other.verdict}")
        judged = judged.left_undecided(*(Reason(Kind.WEAKNESS, text) for text in reasons))
        if np.isnan(other.size) or np.isclose(judged.size, other.size):
            return judged
        # rounded as in the file of the ledger
        ends = [] if np.isnan(other.low) else [round(other.low, 6), round(other.high, 6)]
        reading = Reading(self.name, round(other.size, 6), *ends)
        return replace(judged, second=(*judged.second, reading))


@dataclass(frozen=True, eq=False)
class Claims:
    """A paper's claims in its order, and the numbers that test them.

    `derive` computes from a results table the rows that `evaluate` takes.  Each claim is then
    checked on all data sets and backbones with numbers for it.  The rows may have the columns
    ``reasons`` (why a number is doubted or not testable), ``networks`` (behind a number over
    several) and ``stand_in`` (images that replace the paper's images).  If `every_variant`, it
    takes the rows of all variants.  `printed` does the equivalent with the paper's printed numbers
    (`printed_numbers.load`).

    The variant `decides` if a table has it, otherwise "primary".  Methods without rows of this
    variant use "primary".  Runs are `trained` networks, or else divisions of the test
    sets; `trainings` names the methods that have networks of their own.  `schedules` has, by tier,
    the schedules that are shorter than the paper's.  If a schedule is too short for an effect, the
    networks of the table `full` decide, as stand-ins that `stand_in` describes.
    """

    paper: str
    derive: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    every_variant: bool = False
    seconds: tuple[Second, ...] = ()
    decides: str = "primary"
    trained: bool = True
    trainings: Trainings | None = None
    printed: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    schedules: Mapping[str, Schedule] = field(default_factory=dict)
    full: str = ""
    stand_in: str = ""
    main: str = ""  # the main claim
    settled_by: str = ""  # evidence that would settle the main claim
    heading: str = "The paper's sentences"  # above the claims on the paper's page
    claims: list[Claim] = field(default_factory=list)

    def add(self, source: str, check: str, about: str = "", names: Sequence[str] = (), **more):
        """Return a decorator that adds a claim, whose effects a function returns.

        The name of the function is the claim's name, and its docstring is the paper's sentence.
        `about` names the sources of variation; for all other fields see `synthesis.effects.Claim`.
        """

        def add_claim(effects: Callable[[], Iterable[Effect]]) -> Callable[[], Iterable[Effect]]:
            claim = Claim(
                id=effects.__name__.replace("_", "-"),
                text=" ".join((effects.__doc__ or "").split()),
                source=source,
                check=check,
                effects=tuple(effects()),
                about=tuple(about.split()),
                names=tuple(names),
                **more,
            )
            if not claim.text or claim.id in {each.id for each in self.claims}:
                raise ValueError(
                    f"claim {claim.id}: a new name and a docstring with the sentence of the"
                    f" paper expected"
                )
            self.claims.append(claim)
            return effects

        return add_claim

    def effect(self, claim: str, name: str) -> Effect:
        """Return an effect by the names of its claim and itself."""
        effects = {
            (each.id, effect.name): effect for each in self.claims for effect in each.effects
        }
        return effects[claim, name]

    def check(self, table: pd.DataFrame, *, variant: str = "") -> pd.DataFrame:
        """Return the effects of the claims by the rows of this paper in a results table."""
        table = table[table["paper"] == self.paper]
        if table["tier"].nunique() > 1:
            tiers = ", ".join(sorted(table["tier"].unique()))
            raise ValueError(f"table: one tier expected, but it has {tiers}; choose one of them")
        variants = {*table["variant"].unique()}
        usual = self.decides if self.decides in variants else "primary"
        variant = variant or usual
        if len(table):
            known_name("variant", variant, {"primary"} if self.every_variant else variants)
        rows = self._rows(table, variant)
        conditions = self._conditions(table)
        judged = self._judge(rows, conditions)
        if conditions.short and self.full:
            judged = self._with_full(judged)
        for second in self.seconds:
            if (again := second.rows(table, rows, variant == usual)) is not None:
                others = self._judge(again, conditions, intervals=second.intervals)
                judged = _agree(second, judged, others)
        return as_table(judged)

    def check_printed(self) -> pd.DataFrame | None:
        """Return the effects by the paper's own printed numbers; None if unavailable.

        They are without intervals.  An effect in the paper's text keeps its printed value.
        """
        if self.printed is None:
            return None
        numbers = printed_numbers.load(self.paper)
        numbers = numbers.assign(run=0, bootstrap=[()] * len(numbers))
        judged = self._judge(self.printed(numbers), Conditions(), intervals=False)
        file = Path(__file__).parent / "claims" / f"{self.paper}_in_text.csv"
        rows = pd.read_csv(file, comment="#").itertuples(index=False) if file.exists() else ()
        in_text = {(claim, name, (ALL, ALL)): text for claim, name, *text in rows}
        for claim, name, _ in in_text:
            self.effect(claim, name)  # raises a KeyError if there is none
        return as_table(_as_printed(each, in_text) for each in judged)

    def verdicts(self, checks: pd.DataFrame) -> pd.DataFrame:
        """Return a verdict for each claim, and its effects in words."""
        return summarise(self.claims, checks)

    def _rows(self, table: pd.DataFrame, variant: str) -> pd.DataFrame:
        """Return the rows of a variant, and of "primary" for methods that lack it.

        Rows of ensembles without one run have this as their calibration.
        """
        if self.every_variant:
            return table
        rows = table[table["variant"] == variant]
        left_out = table[table["variant"] == WITHOUT_RUN]
        if self.trainings and len(left_out):
            rows = pd.concat([rows, left_out.assign(calibration=WITHOUT_RUN)])
        if "primary" in (self.decides, variant):
            return rows
        both = pd.concat([table[table["variant"] == "primary"], rows])
        last = both.groupby([*CELL, "run", "method"])["variant"].transform("last")
        return both[both["variant"] == last]

    def _with_full(self, judged: Iterable[Judged]) -> list[Judged]:
        """Return effects; the networks of the table `full` decide the effects not testable here."""
        table = results.read(project_root() / self.full)
        conditions = replace(self._conditions(table), short="")
        again = self._judge(self._rows(table, "primary"), conditions)
        full = {each.name: _stands_in(each, self.stand_in) for each in again if each.runs}
        return [
            full.get(each.name, each) if each.verdict == Verdict.NOT_TESTABLE else each
            for each in judged
        ]

    def _conditions(self, table: pd.DataFrame) -> Conditions:
        tier = table["tier"].iloc[0] if len(table) else ""
        printed = printed_numbers.load(self.paper) if self.printed else None
        # OpenMax trains nothing: its answer "unknown" is an error
        trained = table["method"].map(self.trainings.of if self.trainings else str)
        return Conditions(
            tier,
            preconditions.unlearnt(table),
            preconditions.behind(table[table["method"] == trained], printed),
            self.schedules[tier].short if tier in self.schedules else "",
        )

    def _judge(
        self, table: pd.DataFrame, conditions: Conditions, *, intervals: bool = True
    ) -> list[Judged]:
        rows = self.derive(table) if self.derive else table
        rows = preconditions.mark(rows, conditions.unlearnt)
        pairs = [*zip(rows["method"].tolist(), rows["metric"].tolist(), strict=True)]
        judged = []
        for claim in self.claims:
            # other rows would count as cells that lack the numbers of the claim
            keys = [key for effect in claim.effects for key in effect.number.keys]
            wanted = {(key.method, key.metric) for key in keys}
            if self.trainings:
                wanted |= {(self.trainings.baseline, key.metric) for key in keys}
            numbers = rows[np.array([pair in wanted for pair in pairs], bool)]
            if claim.scope:
                numbers = numbers[numbers["data_set"].map(claim.scope).astype(bool)]
            numbers = preconditions.prevent(numbers, claim, conditions)
            fine_tuned = preconditions.fine_tuned(claim, conditions)
            effects = evaluate(
                [claim],
                numbers,
                intervals=intervals,
                trainings=self.trainings,
            )
            known = [
                replace(each, networks=preconditions.networks_behind(each, numbers, table))
                for each in effects
            ]
            weaker = [
                each.left_undecided(*preconditions.weaknesses(each, conditions, self.trained))
                for each in known
            ]
            if conditions.tier:
                texts = (claim.stands_for, fine_tuned)
                weaker = [_stands_in(each, *texts) for each in weaker]
                weaker = [_one_sided(each, conditions.short) for each in weaker]
            if claim.names and "stand_in" in numbers:
                weaker = [_name_stand_ins(each, numbers) for each in weaker]
            judged += weaker
        return judged


def _agree(second: Second, judged: Iterable[Judged], others: Iterable[Judged]) -> list[Judged]:
    """Return effects that are only settled as others are, which may be of fewer cells."""
    by_name = {other.name: other for other in others}
    agreeing = []
    for each in judged:
        absent = Judged(each.claim, each.effect, each.cell)
        other = by_name.get(each.name, absent)
        agreeing.append(second.agree(each, other))
    return agreeing


def _name_stand_ins(judged: Judged, rows: pd.DataFrame) -> Judged:
    """Return an effect with its stand-ins, which cannot contradict its claim."""
    used = {key.test_set for key in judged.effect.number.keys} & {*judged.claim.names}
    texts = rows.loc[rows["test_set"].isin(used), "stand_in"].unique()
    return _stands_in(judged, *texts)


def _stands_in(judged: Judged, *texts: str) -> Judged:
    """Return an effect by stand-ins, described by `texts`: they support, or leave undecided."""
    if judged.verdict == Verdict.CONTRADICTED:
        return judged.left_undecided(*(Reason(Kind.WEAKNESS, text) for text in texts if text))
    if np.isnan(judged.size):
        return judged
    remarks = tuple(remark(text) for text in texts if text)
    return replace(judged, reasons=remarks + judged.reasons)


def _one_sided(judged: Judged, short: str) -> Judged:
    """Return a supported effect with the reason why its networks could not contradict it."""
    if judged.verdict != Verdict.SUPPORTED or not short:
        return judged
    return replace(judged, reasons=(*judged.reasons, remark(f"only support was possible: {short}")))


def _as_printed(judged: Judged, in_text: Mapping[tuple, tuple[float, str]]) -> Judged:
    """Return an effect over all cells with the value that the paper's text has, if it has one."""
    if judged.name not in in_text:
        return judged
    value, source = in_text[judged.name]
    verdict = judged.effect.verdict(value, value)
    reasons = (remark(f"printed in the {source}"),)
    return replace(judged, size=value, verdict=verdict, runs=1, reasons=reasons)


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
    replicates = np.array([*table["bootstrap"]], np.float64).reshape(len(table), sum(lengths))
    rows = np.column_stack([table["value"], replicates])
    index = pd.MultiIndex.from_frame(table[levels])
    return pd.DataFrame(rows, index)
