"""The claims of *What classifiers know what they don't?* (Belghazi and Lopez-Paz).

They compare algorithms, measures, and one way of training or answering with another, over several
variants and networks at once, while an effect of `helpers.report.claims` is a sum of numbers of
one.  So `derive` first computes the differences, run by run and replicate by replicate.

They are about the paper's own algorithms and measures, which are named here: another one, however
good, says nothing to the paper.  RND and OC are ERM's own network with a student beside it, so that
they are left out where its student does not count: ERM would else be there three times.  RBF is in
none of the paper's tables, and in one claim.  Networks with spectral normalisation are left out,
but for the claim that is on it, which takes the form of the paper's text.  The paper's numbers are
not at hand, so that there is nothing printed to check.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.papers.uimnet.algorithms import ALGORITHMS
from helpers.papers.uimnet.columns import FREE, PAPERS_FORM, split_columns
from helpers.papers.uimnet.measures import MEASURES
from helpers.report.claim_files import read_claims
from helpers.report.paper_claims import Claims, index_numbers
from helpers.report.preconditions import LEAST_AUROC, MOST_LOSS

ALL_SIZES = "all sizes"
"""What `backbone` says in the rows of `derive` that are over networks of several sizes."""

_OTHERS = ("mixup", "mc_dropout", "mimo", "soft_labels")
_STUDENTS = ("rnd", "oc")
_PAPERS = ("erm", *_OTHERS, *_STUDENTS, "rbf")
_GOOD, _POOR = ("entropy", "msp", "gap"), ("jacobian", "tta", "native")
_SECOND = ("msp", "gap", *_POOR, "gmm")
_IN, _OUT = ("accuracy", "accuracy_top5", "nll", "ece"), ("auroc", "out_as_out")
_TEST_SET = dict.fromkeys(_IN, "test") | dict.fromkeys((*_OUT, "in_as_in"), "out")
_ENSEMBLE = "ensemble minus single"
_SPECTRAL = "spectral normalisation minus none"
_CALIBRATION, _MOVE = "calibrated minus not", "change with calibration"
_SIZE = "largest minus smallest network"
_TITLES = {"accuracy": "accuracy", "accuracy_top5": "ACC@5", "nll": "NLL", "ece": "ECE",
           "auroc": "AUROC", "out_as_out": "OutAsOut", "in_as_in": "InAsIn"}  # fmt: skip


def _versus(algorithm: str) -> str:
    return f"{ALGORITHMS[algorithm]} minus ERM"


def _versus_ensemble(algorithm: str) -> str:
    return f"{ALGORITHMS[algorithm]} minus ERM ensemble"


def _together(algorithm: str) -> str:
    return f"{ALGORITHMS[algorithm]} ensemble minus single"


def _over(measure: str) -> str:
    return f"worst of Entropy, Largest and Gap minus {MEASURES[measure]}"


def _ahead(measure: str) -> str:
    return f"Entropy minus {MEASURES[measure]}"


def derive(table: pd.DataFrame) -> pd.DataFrame:
    """Compute the differences that the claims speak of.

    Each is computed within one data set, network and run, and so is each of its replicates.  AUROC
    and OutAsOut are those of Entropy before temperature scaling, unless a measure or a temperature
    is what is compared.  A mean is over the paper's algorithms, without RBF, that have both
    numbers, RND and OC for Native alone; a run that lacks one of those that other runs have has no
    such number.

    Parameters
    ----------
    table : DataFrame
        A results table of this paper and one tier.  For each data set, its networks are there from
        the smallest to the largest, as ``sizes`` in the parameter files.

    Returns
    -------
    DataFrame
        Rows as `helpers.report.claims.evaluate` takes them, with what is compared as ``method``;
        ``backbone`` is a network, or "all sizes".  What is not there to compare has no row.
        ``untestable`` says of out-domain numbers where the Entropy of ERM does not tell out-domain
        images, of ensembles where one of their members has not learnt its classes, and of ACC@5
        where it is 1 whatever a network says.

    Raises
    ------
    ValueError
        Numbers have different numbers of replicates, or a number is there twice.
    """
    wanted = table["variant"].isin(["primary", "ensemble"]) & table["metric"].isin(list(_TITLES))
    own = split_columns(table[wanted])
    own = own[own["algorithm"].isin(_PAPERS) & own["measure"].isin(["", "entropy", *_SECOND])]
    numbers = index_numbers(own, _WHERE + _WHAT)
    found = [one.rename_axis(columns=None).assign(method=w) for w, one in _differences(numbers)]
    rows = pd.concat([one.reset_index() for one in found], ignore_index=True)
    values, test_sets = rows[numbers.columns].to_numpy(), rows["metric"].map(_TEST_SET)
    rows = rows[[*_WHERE, "method"]].assign(test_set=test_sets, calibration="")
    return rows.assign(
        value=values[:, 0], bootstrap=list(values[:, 1:]), untestable=_untestable(rows, table)
    )


def _untestable(rows: pd.DataFrame, table: pd.DataFrame) -> list[str]:
    """Return for each of the rows why it says nothing, beside how often the networks are right."""
    own = split_columns(table)
    own = own[(own["spectral"] == FREE) & own["algorithm"].isin(("erm", *_OTHERS, *_STUDENTS))]
    place = ["data_set", "backbone"]
    erm = (own["method"] == "erm/entropy") & (own["metric"] == "auroc")
    erm &= (own["variant"] == "primary") & (own["calibration"] == "before")
    areas = own[erm].groupby(place)["value"].mean()
    classes = own[own["metric"] == "classes"].groupby(place)["value"].first()
    members = own[own["test_set"].eq("validation") & own["metric"].eq("nll")]  # of trials alone
    worst = members.groupby(place)["value"].max()
    worst /= np.log(classes.reindex(worst.index))
    blind = {*areas.index[areas < LEAST_AUROC]}
    most = areas.groupby(level="data_set").max()
    blind |= {(name, ALL_SIZES) for name in most.index[most < LEAST_AUROC]}
    untaught = {*worst.index[~(worst <= MOST_LOSS)]}  # also where nobody says what guessing costs
    few, reasons = {*classes.index[classes <= 5]}, []
    told = rows[[*place, "method", "metric", "test_set"]]
    for *network, method, metric, test_set in told.itertuples(index=False):
        why = []
        if test_set == "out" and tuple(network) in blind:
            why.append(f"the AUROC of ERM's Entropy is below {LEAST_AUROC:g}")
        if "ensemble" in method and tuple(network) in untaught:
            why.append(f"a member's NLL is not below {100 * MOST_LOSS:.0f} % of guessing's")
        if method == _ENSEMBLE and metric == "accuracy_top5" and tuple(network) in few:
            why.append("of five classes or fewer ACC@5 is 1 and cannot rise")
        reasons.append("; ".join(why))
    return reasons


_WHERE = ["data_set", "backbone", "run", "metric"]
_WHAT = ["spectral", "variant", "calibration", "measure", "algorithm"]


def _differences(every: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield what is compared, and the differences, indexed by `_WHERE`."""
    rbf = every.index.get_level_values("algorithm") == "rbf"
    numbers = every[~rbf]
    plain = _at(every, spectral=FREE)
    single = _at(plain, variant="primary")
    before, after = (_at(single, calibration=name) for name in ("before", "after"))
    yield from _against_erm(before, after)
    own = numbers.index.get_level_values("algorithm")
    measures = numbers.index.get_level_values("measure")
    numbers = numbers[~own.isin(_STUDENTS) | (measures == "native")]

    plain = _at(numbers, spectral=FREE)
    single, ensemble = (_at(plain, variant=name) for name in ("primary", "ensemble"))
    before, after = (_at(single, calibration=name) for name in ("before", "after"))
    both = _at(ensemble, calibration="before") - before
    inside, outside = _at(both, measure=""), _at(both, measure="entropy")
    yield _ENSEMBLE, _mean(inside)
    for algorithm in ("erm", *_OTHERS):
        yield _together(algorithm), _at(outside, algorithm=algorithm).dropna()

    entropy = _at(before, measure="entropy")
    largest = {name: own[-1] for name, own in _networks(numbers).items()}
    erm = _at(ensemble, calibration="before", measure="entropy", algorithm="erm")
    for algorithm in _OTHERS:
        ahead = (_at(entropy, algorithm=algorithm) - erm).dropna()
        yield _versus_ensemble(algorithm), ahead[[largest[a] == b for a, b in _places(ahead)]]

    change = after - before
    yield _CALIBRATION, _mean(_at(change, measure=""))
    yield _MOVE, _mean(_at(change, measure="entropy").abs())

    chosen = {"variant": "primary", "calibration": "before"}
    normalised = _at(numbers, spectral=PAPERS_FORM, **chosen) - before
    yield _SPECTRAL, pd.concat([_mean(_at(normalised, measure=one)) for one in ("", "entropy")])

    # students have a measure of their own, to which that of the network they sit on is compared
    shared = _at(_at(_at(every[~rbf], spectral=FREE), variant="primary"), calibration="before")
    for measure in _SECOND:
        poor = _at(shared if measure == "native" else before, measure=measure)
        good = {one: _mean(_at(shared, measure=one) - poor) for one in _GOOD}
        yield _ahead(measure), good["entropy"]
        if measure in _POOR:
            gains = pd.concat(good.values())
            whole = gains.groupby(level=_WHERE).filter(lambda own: len(own) == len(_GOOD))
            yield _over(measure), whole.groupby(level=_WHERE).min()

    yield _SIZE, _growth(entropy, _networks(numbers))


def _against_erm(before: pd.DataFrame, after: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    inside, outside = _at(before, measure=""), _at(before, measure="entropy")
    kinds = dict.fromkeys(("accuracy", "accuracy_top5"), inside)
    kinds |= dict.fromkeys(("nll", "ece"), _at(after, measure=""))
    kinds |= dict.fromkeys((*_OUT, "in_as_in"), outside)
    for algorithm in (*_OTHERS, "rbf"):
        for metric, own in kinds.items():
            gain = _at(own, algorithm=algorithm) - _at(own, algorithm="erm")
            yield _versus(algorithm), gain[gain.index.isin([metric], level="metric")].dropna()


def _growth(entropy: pd.DataFrame, networks: dict[str, list[str]]) -> pd.DataFrame:
    """Return the largest network minus the smallest of each data set that has several."""
    ends = []
    for place in (0, -1):
        chosen = {name: own[place] for name, own in networks.items() if len(own) > 1}
        here = entropy[[chosen.get(name) == one for name, one in _places(entropy)]]
        ends.append(here.rename(lambda _: ALL_SIZES, level="backbone"))
    return _mean(ends[1] - ends[0])


def _at(numbers: pd.DataFrame, **chosen: object) -> pd.DataFrame:
    """Return the numbers of which levels of the index have these values, without the levels."""
    index, there = numbers.index, np.ones(len(numbers), bool)
    for level, one in chosen.items():  # by codes, which are integers: the values are many strings
        place = index.names.index(level)
        there &= index.codes[place] == index.levels[place].get_indexer([one])
    return numbers[there].droplevel(list(chosen))


def _mean(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return means over algorithms, of the runs that have as many of them as any other."""
    groups = numbers.dropna().groupby(level=_WHERE)
    count = groups.size()
    most = count.groupby(level=["data_set", "backbone", "metric"]).transform("max")
    return groups.mean()[count == most]


def _networks(numbers: pd.DataFrame) -> dict[str, list[str]]:
    """Return the networks of each data set, in the order of the table."""
    found: dict[str, list[str]] = {}
    for data_set, network in dict.fromkeys(_places(numbers)):
        found.setdefault(data_set, []).append(network)
    return found


def _places(numbers: pd.DataFrame) -> list[tuple[str, str]]:
    levels = map(numbers.index.get_level_values, ("data_set", "backbone"))
    return list(zip(*levels, strict=True))


CLAIMS = Claims(
    "uimnet",
    read_claims(
        Path(__file__).with_name("claims.yaml"),
        metric=_TITLES, algorithm=ALGORITHMS, measure=MEASURES,
    ),
    derive=derive,
    every_variant=True,
)  # fmt: skip
