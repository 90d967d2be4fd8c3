"""The claims of a whole paper, checked on a results table and on the paper's printed numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from helpers import cache
from helpers.checks import known_name
from helpers.report import preconditions, published
from helpers.report.claims import ALL, Claim, Verdict, evaluate, verdicts
from helpers.report.table import number


@dataclass(frozen=True)
class Second:
    """Numbers without whose agreement no effect is supported or contradicted.

    Attributes
    ----------
    name : str
        In words, after "by the".
    variant : str
        The variant with these numbers, for a table that has it; it is compared with "primary".  An
        effect that it lacks is decided by "primary" alone.
    test_sets : tuple of pairs of str
        Or: test sets, and which other test set has these numbers.  An effect on the former is
        undecided if a table lacks the latter.
    """

    name: str
    variant: str = ""
    test_sets: tuple[tuple[str, str], ...] = ()

    def rows(self, table: pd.DataFrame, judged: pd.DataFrame, variant: str) -> pd.DataFrame | None:
        """Return the rows with these numbers for the rows `judged` of a variant; None if none."""
        if self.variant:
            rows = table[table["variant"] == self.variant]
            return rows if variant == "primary" and len(rows) else None
        rows = judged[~judged["test_set"].isin([first for first, _ in self.test_sets])]
        names = {second: first for first, second in self.test_sets}
        return rows.assign(test_set=rows["test_set"].replace(names))


@dataclass(frozen=True)
class Claims:
    """A paper's claims, and what they are checked on.

    Attributes
    ----------
    paper : str
        The paper, as in the results table.
    claims : tuple of Claim
        In the order of the paper.
    derive : callable, optional
        From a results table to the rows that the claims speak of, as `evaluate` takes them, where
        these have to be computed from several of its rows.  Each claim is then checked on the data
        sets and backbones that it has numbers of.  Three further columns may say of a row what it
        is computed from, ``evidence``, why that is too little for a verdict, ``limit``, and which
        images are in place of the paper's, ``stand_in``.
    every_variant : bool
        True where `derive` takes the rows of all variants together.
    second : Second, optional
        Numbers without whose agreement no effect is supported or contradicted.
    judges : str
        The variant that judges where a table has it; "primary" where not.
    partial : bool
        True where a variant has rows of the methods alone that it is about; the others are taken
        from "primary".
    resampled : str
        What the replicates resample.
    printed : callable, optional
        From the paper's printed numbers (`published.load`) to a results table with what the claims
        need; ``run`` and ``bootstrap`` are there.  None where the numbers are not at hand.
    """

    paper: str
    claims: tuple[Claim, ...]
    derive: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    every_variant: bool = False
    second: Second | None = None
    judges: str = "primary"
    partial: bool = False
    resampled: str = "images"
    printed: Callable[[pd.DataFrame], pd.DataFrame] | None = None

    def check(self, table: pd.DataFrame, *, variant: str = "") -> pd.DataFrame:
        """Check the claims on a results table.

        Of a large table it is kept in the cache, since the ledger and several pages ask the same;
        not where another package's code derives the numbers, whose changes no key would tell.
        """
        own = table[table["paper"] == self.paper]
        if own["tier"].nunique() > 1:
            tiers = ", ".join(sorted(own["tier"].unique()))
            raise ValueError(f"table: several tiers ({tiers}); choose one")
        names = [__name__, *([self.derive.__module__] if self.derive else [])]
        if len(own) < _LARGE or not all(one.startswith("helpers.") for one in names):
            return self._check(own, variant)
        said = repr([value for name, value in vars(self).items() if name not in _CODE])
        code = cache.code(*names)
        key = cache.key(claims=said, variant=variant, table=_content(own), code=code)
        made = cache.value("claims", key, lambda: self._check(own, variant).to_dict("list"))
        return pd.DataFrame(made)

    def _check(self, own: pd.DataFrame, variant: str) -> pd.DataFrame:
        """Check the claims on the rows of this paper."""
        there = own["variant"].unique()
        if not variant:
            variant = self.judges if self.judges in there else "primary"
        if len(own):
            known = set(there) & {"primary"} if self.every_variant else there
            known_name("variant", variant, known)
        barred = preconditions.unlearnt(own)
        one = own if self.every_variant else own[own["variant"] == variant]
        if self.partial and variant != "primary":
            names = [*_NETWORK, "method"]
            rest = own[own["variant"] == "primary"]
            known = pd.MultiIndex.from_frame(one[names])
            one = pd.concat([rest[~pd.MultiIndex.from_frame(rest[names]).isin(known)], one])
        tier = own["tier"].iloc[0] if len(own) else ""
        checks = self._evaluate(one, barred, tier)
        again = self.second.rows(own, one, variant) if self.second else None
        if again is None:
            return checks
        return _agree(checks, self._evaluate(again, barred, tier), self.second)

    def check_published(self) -> pd.DataFrame | None:
        """Do the same arithmetic on the paper's own printed numbers; None if not at hand.

        They come without runs and images, hence without intervals: the verdict compares the effect
        itself with its margin.  Effects that the paper prints in its text
        (`helpers.report.published.in_text`) stand as they are printed there.
        """
        if self.printed is None:
            return None
        numbers = published.load(self.paper)
        numbers = numbers.assign(run=0, bootstrap=[()] * len(numbers))
        checks = self._evaluate(self.printed(numbers), {}, PRINTED, intervals=False)
        effects = {(one.id, effect.name): effect for one in self.claims for effect in one.effects}
        for claim, name, value, place in published.in_text(self.paper).itertuples(index=False):
            verdict = effects[claim, name].verdict(value, value)
            row = (checks["claim"] == claim) & (checks["check"] == name)
            row &= checks["data_set"] == ALL
            columns = ["effect", "verdict", "doubt", "note", "runs"]
            checks.loc[row, columns] = value, verdict, "", f"printed in the {place}", 1
        return checks

    def verdicts(self, checks: pd.DataFrame) -> pd.DataFrame:
        """Sum up what was checked, one row a claim; see `helpers.report.claims.verdicts`.

        Where `derive` says what the evidence is, the sentences end with it, and it has a column.
        """
        summed = verdicts(self.claims, checks)
        if "evidence" not in checks:
            return summed
        evidence = summed["claim"].map(checks.groupby("claim")["evidence"].first())
        words = evidence.map(lambda said: f" From {said}." if said else "")
        return summed.assign(sentence=summed["sentence"] + words, evidence=evidence)

    def _evaluate(
        self,
        table: pd.DataFrame,
        barred: Mapping[tuple[str, str], str],
        tier: str,
        *,
        intervals: bool = True,
    ) -> pd.DataFrame:
        rows = preconditions.mark(self.derive(table) if self.derive else table, barred)
        checks = []
        for claim in self.claims:
            own = rows.query(claim.scope) if claim.scope else rows
            if self.derive:  # or what it is not about would be counted as lacking numbers
                about = {(term.method, term.metric) for one in claim.effects for term in one.terms}
                own = own[pd.MultiIndex.from_frame(own[["method", "metric"]]).isin(about)]
            lacks = preconditions.LACKS.get(tier, {})
            if reason := "; ".join(lacks[what] for what in claim.about if what in lacks):
                own = own.assign(untestable=reason)
            found = evaluate([claim], own, intervals=intervals)
            note = found["note"].str.replace("images", self.resampled)
            if claim.needs:
                missing = found["verdict"] == Verdict.NO_DATA
                note = note.mask(missing, f"needs {claim.needs}")
            found = found.assign(note=note)
            if "evidence" in own:
                found = found.assign(evidence="; ".join(dict.fromkeys(own["evidence"])))
                if limit := "; ".join(dict.fromkeys(filter(None, own["limit"]))):
                    found = _leave_undecided(found, pd.Series(limit, found.index))
            if claim.names and "stand_in" in own:
                found = _name_stand_ins(claim, found, own)
            checks.append(found)
        return pd.concat(checks, ignore_index=True)


PRINTED = ""
"""The tier of printed numbers, which lacks nothing."""

_LARGE = 1000  # rows: fewer are checked about as fast as files are read
_CODE = ("derive", "printed")  # attributes that are functions
_NETWORK = ["data_set", "backbone", "run"]
_DOUBTED = "doubted: "
_DECIDED = (Verdict.SUPPORTED, Verdict.CONTRADICTED)


def _content(table: pd.DataFrame) -> str:
    """Return a hash of all columns of a results table, whatever its rows are called."""
    digest = hashlib.sha256(" ".join(table.columns).encode())
    for name, column in table.items():
        if name == "bootstrap":
            digest.update(column.map(len).to_numpy())
            digest.update(np.concatenate([np.empty(0), *column]))
        else:
            digest.update(pd.util.hash_pandas_object(column, index=False).to_numpy())
    return digest.hexdigest()


def _agree(checks: pd.DataFrame, others: pd.DataFrame, second: Second) -> pd.DataFrame:
    """Return checks whose effects are decided only as `others` decide them; these in words."""
    name = second.name
    keys = ["claim", "check", "data_set", "backbone"]
    others = pd.merge(checks[keys], others, on=keys, how="left")
    others.index = checks.index
    verdict = others["verdict"].fillna(str(Verdict.NO_DATA))
    why = f"by the {name} it is " + verdict.map(str)
    why = why.mask(verdict == Verdict.NO_DATA, f"there are no numbers by the {name}")
    agree = verdict == checks["verdict"]
    if second.variant:
        agree |= verdict == Verdict.NO_DATA
    left = _leave_undecided(checks, why.mask(agree, ""))
    values = ["effect", "low", "high"]
    same = (checks[values] == others[values]).all(axis=1) | others["effect"].isna()
    words = [
        f"by the {name} {effect} [{low}, {high}]"
        for effect, low, high in others[values].map(lambda value: number(value, "+.3f")).to_numpy()
    ]
    return left.assign(second=np.where(same, "", words))


def _name_stand_ins(claim: Claim, checks: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return checks of a claim with the stand-ins in their notes, which contradict nothing."""
    words = rows[rows["test_set"].isin(claim.names) & (rows["stand_in"] != "")]
    words = words.groupby("test_set")["stand_in"].unique()
    sets = {effect.name: {term.test_set for term in effect.terms} for effect in claim.effects}
    words = {
        name: "; ".join(np.concatenate([[], *words[words.index.isin(used)]]))
        for name, used in sets.items()
    }
    reason = checks["check"].map(words)
    hit = checks["verdict"] == Verdict.CONTRADICTED
    left = _leave_undecided(checks, reason.where(hit, ""))
    named = (reason != "") & ~hit & checks["effect"].notna()
    return left.assign(note=left["note"].mask(named, _join(reason, left["note"])))


def _join(first: pd.Series, second: pd.Series) -> pd.Series:
    return pd.Series(
        ["; ".join(filter(None, texts)) for texts in zip(first, second, strict=True)], first.index
    )


def _leave_undecided(checks: pd.DataFrame, reason: pd.Series) -> pd.DataFrame:
    """Return checks in which the effects with a reason decide nothing, "" being none."""
    hit = (reason != "") & checks["verdict"].isin(_DECIDED)
    # as `helpers.report.claims.evaluate` has it where it leaves clear numbers undecided
    note = _join(checks["note"], _DOUBTED + reason)
    left = checks.assign(
        verdict=checks["verdict"].mask(hit, Verdict.UNDECIDED), note=checks["note"].mask(hit, note)
    )
    if "evidence" not in checks:
        return left
    over_all = left[left["data_set"] == ALL]
    contradicted = over_all.loc[over_all["verdict"] == Verdict.CONTRADICTED, "claim"]
    first = reason[hit & ~checks["claim"].isin(contradicted)].groupby(checks["claim"]).first()
    why = {claim: f"; undecided, since {reason}" for claim, reason in first.items()}
    return left.assign(
        evidence=checks["evidence"] + checks["claim"].map(lambda claim: why.get(claim, ""))
    )


def index_numbers(table: pd.DataFrame, levels: list[str]) -> pd.DataFrame:
    """Return the numbers of a results table with their replicates, to derive others from them.

    Examples
    --------
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
    rows = [
        [value, *replicates]
        for value, replicates in zip(table["value"], table["bootstrap"], strict=True)
    ]
    index = pd.MultiIndex.from_frame(table[levels])
    return pd.DataFrame(rows, index, columns=range(1 + sum(lengths)), dtype=np.float64)


def refuse_duplicates(table: pd.DataFrame, levels: list[str]) -> None:
    """Raise a ValueError that names the first row which is there twice, told by `levels`."""
    twice = table.loc[table.duplicated(levels), levels]
    if len(twice):
        names = ", ".join(f"{name} {one}" for name, one in twice.iloc[0].items() if one != "")
        raise ValueError(f"table: a number is there twice: {names}")
