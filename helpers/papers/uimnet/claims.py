"""The claims of *What classifiers know what they don't?* (Belghazi and Lopez-Paz).

They compare algorithms, measures, and one way of training or answering with another, over several
variants and networks at once, while an effect of `helpers.report.claims` is a sum of numbers of
one.  So `derive` first computes the differences, run by run and replicate by replicate.

RBF is left out throughout, as in the paper's tables, and so are networks with spectral
normalisation, but for the claim that is on it.  The paper's numbers are not at hand, so that there
is nothing printed to check.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd

from helpers.papers.uimnet.columns import split_columns
from helpers.papers.uimnet.parameters import ALGORITHMS, MEASURES
from helpers.report.claims import Claim, Effect, Term
from helpers.report.paper_claims import Claims, index_numbers

ALL_SIZES = "all sizes"
"""What `backbone` says in the rows of `derive` that are over networks of several sizes."""

_OTHERS = [name for name in ALGORITHMS if name not in ("erm", "rbf")]
_GOOD, _POOR = ("entropy", "msp", "gap"), ("jacobian", "tta", "native")
_IN, _OUT = ("accuracy", "nll", "ece"), ("auroc", "out_as_out")
_TEST_SET = dict.fromkeys(_IN, "test") | dict.fromkeys(_OUT, "out")
_POINT, _NLL, _MOVED = 0.01, 0.05, 0.02
_ENSEMBLE, _MIMO_ENSEMBLE = "ensemble minus single", "MIMO ensemble minus single"
_MIMO, _SPECTRAL = "MIMO minus ERM ensemble", "spectral normalisation minus none"
_CALIBRATION, _MOVE = "calibrated minus not", "change with calibration"
_SIZE = "largest minus smallest network"
_TITLES = {"accuracy": "accuracy", "nll": "NLL", "ece": "ECE", "auroc": "AUROC",
           "out_as_out": "OutAsOut"}  # fmt: skip


def _versus(algorithm: str) -> str:
    return f"{ALGORITHMS[algorithm]} minus ERM"


def _over(measure: str) -> str:
    return f"worst of Entropy, Largest and Gap minus {MEASURES[measure]}"


def _effects(
    metrics: Iterable[str], compared: Iterable[str], relation: str, margin: float, decides=True
) -> tuple[Effect, ...]:
    """Return the effect on each metric of all that is compared."""
    return tuple(
        Effect(f"{_TITLES[metric]}, {what}", (Term(1, what, metric, test_set=_TEST_SET[metric]),),
               relation, margin, decides)
        for metric, what in itertools.product(metrics, compared)
    )  # fmt: skip


_CLAIMS = (
    Claim(
        id="erm",
        text="No algorithm is better than ERM in-domain.",
        source="Table 3",
        check="with each algorithm, accuracy is above that of ERM by < 0.01 and NLL, at the learned"
        " temperature, below it by < 0.05",
        effects=(
            *_effects(["accuracy"], map(_versus, _OTHERS), "<", _POINT),
            *_effects(["nll"], map(_versus, _OTHERS), ">", -_NLL),
        ),
        needs="ERM and each of the other algorithms",
    ),
    Claim(
        id="ensemble-in-domain",
        text="Ensembling improves in-domain metrics.",
        source="Table 3",
        check="accuracy is higher, NLL and ECE are lower with the ensemble of all trials than with"
        " the chosen one, mean over algorithms",
        effects=_effects(["accuracy"], [_ENSEMBLE], ">", 0.0)
        + _effects(["nll", "ece"], [_ENSEMBLE], "<", 0.0),
        needs="an algorithm with an ensemble",
    ),
    Claim(
        id="ensemble-out-domain",
        text="Ensembling improves out-domain metrics, but for MIMO.",
        source="Table 4",
        check="AUROC and OutAsOut of Entropy are higher with the ensemble of all trials than with"
        " the chosen one, mean over algorithms without MIMO",
        effects=_effects(_OUT, [_ENSEMBLE], ">", 0.0)
        + _effects(_OUT, [_MIMO_ENSEMBLE], "<", _MOVED, decides=False),
        needs="ensembles, of MIMO and of another algorithm",
    ),
    Claim(
        id="mimo",
        text="A single MIMO of enough capacity matches ensembles of ERM.",
        source="Table 4",
        check="on the largest network, OutAsOut of Entropy with MIMO is below that of the ensemble"
        " of ERM by < 0.02",
        effects=_effects(["out_as_out"], [_MIMO], ">", -_MOVED),
        needs="MIMO, and ERM with an ensemble",
    ),
    Claim(
        id="calibration",
        text="Calibration lowers ECE and hardly moves out-domain metrics.",
        source="Tables 3 and 4",
        check="mean over algorithms of ECE is lower after temperature scaling; AUROC and OutAsOut"
        " of Entropy move by < 0.02, mean over algorithms of the absolute change",
        effects=_effects(["ece"], [_CALIBRATION], "<", 0.0) + _effects(_OUT, [_MOVE], "<", _MOVED),
        needs="an algorithm before and after temperature scaling",
    ),
    Claim(
        id="spectral",
        text="Spectral normalisation does not help.",
        source="Tables 3 and 4",
        check="accuracy gains < 0.01, AUROC and OutAsOut of Entropy gain < 0.02, means over"
        " algorithms, by spectral normalisation with the most accurate coefficient",
        effects=_effects(["accuracy"], [_SPECTRAL], "<", _POINT)
        + _effects(_OUT, [_SPECTRAL], "<", _MOVED),
        needs="an algorithm with and without spectral normalisation",
    ),
    Claim(
        id="measures",
        text="Entropy, Largest and Gap are better than Jacobian, Augmentations and Native.",
        source="Table 4 and appendix B",
        check="AUROC and OutAsOut, means over the algorithms that have both, of the worst of the"
        " three are higher than those of each other measure",
        effects=_effects(_OUT, [*map(_over, _POOR)], ">", 0.0),
        needs="an algorithm with these measures",
    ),
    Claim(
        id="size",
        text="Larger networks raise OutAsOut.",
        source="Table 4 and appendix B",
        check="OutAsOut of Entropy is higher on the largest than on the smallest network, mean over"
        " algorithms",
        effects=_effects(["out_as_out"], [_SIZE], ">", 0.0),
        needs="networks of two sizes",
    ),
)
"""The margins are this project's: the paper gives no number.

One point of accuracy, and two of AUROC and of OutAsOut (whose threshold comes from few validation
images), count as no difference; so does 0.05 of NLL, 5 % of the probability of the right class.
"""


def derive(table: pd.DataFrame) -> pd.DataFrame:
    """Compute the differences that the claims speak of.

    Each is computed within one data set, network and run, and so is each of its replicates.  AUROC
    and OutAsOut are those of Entropy before temperature scaling, unless a measure or a temperature
    is what is compared.  A mean is over the algorithms, RBF aside, that have both numbers; a run
    that lacks one of those that other runs have has no such number.

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

    Raises
    ------
    ValueError
        Numbers have different numbers of replicates, or a number is there twice.
    """
    wanted = table["variant"].isin(["primary", "ensemble"]) & table["metric"].isin(list(_TITLES))
    own = split_columns(table[wanted])
    numbers = index_numbers(own[own["algorithm"] != "rbf"], _WHERE + _WHAT)
    found = [one.rename_axis(columns=None).assign(method=w) for w, one in _differences(numbers)]
    rows = pd.concat([one.reset_index() for one in found], ignore_index=True)
    values, test_sets = rows[numbers.columns].to_numpy(), rows["metric"].map(_TEST_SET)
    rows = rows[[*_WHERE, "method"]]
    numbers = {"value": values[:, 0], "bootstrap": list(values[:, 1:])}
    return rows.assign(**numbers, calibration="", test_set=test_sets)


_WHERE = ["data_set", "backbone", "run", "metric"]
_WHAT = ["spectral", "variant", "calibration", "measure", "algorithm"]


def _differences(numbers: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield what is compared, and the differences, indexed by `_WHERE`."""
    plain = _at(numbers, spectral=0.0)
    single, ensemble = (_at(plain, variant=name) for name in ("primary", "ensemble"))
    before, after = (_at(single, calibration=name) for name in ("before", "after"))
    yield from _against_erm(before, after)

    both = _at(ensemble, calibration="before") - before
    inside, outside = _at(both, measure=""), _at(both, measure="entropy")
    yield _ENSEMBLE, _mean(inside)
    yield _ENSEMBLE, _mean(outside.drop("mimo", level="algorithm", errors="ignore"))
    yield _MIMO_ENSEMBLE, _at(outside, algorithm="mimo").dropna()

    entropy = _at(before, measure="entropy")
    largest = {name: own[-1] for name, own in _networks(numbers).items()}
    erm = _at(ensemble, calibration="before", measure="entropy", algorithm="erm")
    mimo = (_at(entropy, algorithm="mimo") - erm).dropna()
    yield _MIMO, mimo[[largest[name] == one for name, one in _places(mimo)]]

    change = after - before
    yield _CALIBRATION, _mean(_at(change, measure=""))
    yield _MOVE, _mean(_at(change, measure="entropy").abs())

    coefficients = sorted(set(numbers.index.get_level_values("spectral")) - {0.0})
    changes = {one: _at(numbers, spectral=one) - plain for one in coefficients}
    yield from _most_accurate(changes)

    for measure in _POOR:
        poor = _at(before, measure=measure)
        gains = pd.concat([_mean(_at(before, measure=good) - poor) for good in _GOOD])
        whole = gains.groupby(level=_WHERE).filter(lambda own: len(own) == len(_GOOD))
        yield _over(measure), whole.groupby(level=_WHERE).min()

    yield _SIZE, _growth(entropy, _networks(numbers))


def _against_erm(before: pd.DataFrame, after: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    inside = {"accuracy": _at(before, measure=""), "nll": _at(after, measure="")}
    for algorithm in _OTHERS:
        for metric, own in inside.items():
            gain = _at(own, algorithm=algorithm) - _at(own, algorithm="erm")
            yield _versus(algorithm), gain[gain.index.isin([metric], level="metric")].dropna()


def _most_accurate(changes: dict[float, pd.DataFrame]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the changes by the coefficient with which a data set's network is right most often.

    One for all metrics: the AUROC of a network that has learnt nothing is no gain, however high.
    """
    gains = {}
    for coefficient, change in changes.items():
        own = _at(change, variant="primary", calibration="before")
        gains[coefficient] = pd.concat([_mean(_at(own, measure=one)) for one in ("", "entropy")])
    if gains:
        every = pd.concat(gains, names=["coefficient"])
        right = _at(every, metric="accuracy")[0]
        right = right.groupby(level=["coefficient", "data_set", "backbone"]).mean()
        best = right.unstack("coefficient").idxmax(axis=1)
        coefficients = every.index.get_level_values("coefficient")
        places = zip(coefficients, _places(every), strict=True)
        chosen = [best.get(place) == coefficient for coefficient, place in places]
        yield _SPECTRAL, every[chosen].droplevel("coefficient")


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
    there = [numbers.index.get_level_values(level) == one for level, one in chosen.items()]
    return numbers[np.logical_and.reduce(there)].droplevel(list(chosen))


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


CLAIMS = Claims("uimnet", _CLAIMS, derive=derive, every_variant=True)
