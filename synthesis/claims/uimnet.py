"""The claims of *What classifiers know what they don't?* (Belghazi and Lopez-Paz 2021).

The claims compare algorithms, measures, or two ways of training or prediction, over several
variants and networks at once.  `derive` first computes these differences for each run and each
replicate.

The claims name the paper's own algorithms and measures; any other one changes no verdict.  RND and
OC are the network of ERM with an additional student, so they count only where the student counts.
RBF is in none of the paper's tables, and in one claim.  Networks with spectral normalisation count
only for the claim about it, in the form of the paper's text.  We do not have the numbers of the
paper's tables.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.papers.uimnet.names import ALGORITHMS, FREE, MEASURES, TEXTS, split_columns
from synthesis.claim_files import read_claims
from synthesis.paper_claims import Claims, index_numbers
from synthesis.preconditions import LEAST_AUROC, MOST_LOSS

PAPERS_FORM = "weights"  # of spectral normalisation: the form in the paper's text
#: The ``backbone`` of rows of `derive` over networks of several sizes.
ALL_SIZES = "all sizes"

#: Nats between the members of an ensemble, above which it shows little about ensembles.
_APART = 0.3

_OTHERS = ("mixup", "mc_dropout", "mimo", "soft_labels")
_STUDENTS = ("rnd", "oc")
_PAPERS = ("erm", *_OTHERS, *_STUDENTS, "rbf")
_GOOD, _POOR = ("entropy", "msp", "gap"), ("jacobian", "tta", "native")
_TITLES = TEXTS["claimed"]
_OUT = ("auroc", "out_as_out", "in_as_in")
_ENSEMBLE = "ensemble minus single"
_PLACE = ["data_set", "backbone"]
_WHERE = [*_PLACE, "run", "metric"]
_WHAT = ["spectral", "variant", "calibration", "measure", "algorithm"]


def derive(table: pd.DataFrame) -> pd.DataFrame:
    """Return the differences of the claims as rows that `synthesis.effects.evaluate` takes.

    Each difference is within one data set, network and run.  AUROC, OutAsOut and InAsIn are of
    Entropy before temperature scaling, unless measures or temperatures are compared.  A mean is
    over the paper's algorithms without RBF that have both numbers, with RND and OC for Native only.
    A run that lacks one of the algorithms of other runs also lacks the mean.

    ``method`` names the difference; ``backbone`` is a network or `ALL_SIZES`.  ``untestable`` has
    the reason if ERM's Entropy does not detect out-domain images, a member of an ensemble has not
    learned its classes or is far behind, ERM's ensemble is worse than ERM, or ACC@5 is always 1.
    """
    wanted = table["variant"].isin(["primary", "ensemble"]) & table["metric"].isin(list(_TITLES))
    split = split_columns(table[wanted])
    measured = split["measure"].isin(["", *_GOOD, *_POOR, "gmm"])
    numbers = index_numbers(split[split["algorithm"].isin(_PAPERS) & measured], _WHERE + _WHAT)
    named = [
        difference.rename_axis(columns=None).assign(method=name)
        for name, difference in _differences(numbers)
    ]
    rows = pd.concat([difference.reset_index() for difference in named], ignore_index=True)
    values = rows[numbers.columns].to_numpy()
    test_sets = np.where(rows["metric"].isin(_OUT), "out", "test")
    rows = rows[[*_WHERE, "method"]].assign(test_set=test_sets, calibration="")
    return rows.assign(
        value=values[:, 0], bootstrap=list(values[:, 1:]), untestable=_untestable(rows, table)
    )


def _untestable(rows: pd.DataFrame, table: pd.DataFrame) -> list[str]:
    """Return for each difference the reason why it is not testable, "" if it is."""
    split = split_columns(table)
    split = split[(split["spectral"] == FREE) & split["algorithm"].isin(_PAPERS[:-1])]
    erm = split[split["method"].eq("erm/entropy") & split["calibration"].eq("before")]
    areas = erm[erm["variant"].eq("primary") & erm["metric"].eq("auroc")]
    areas = areas.groupby(_PLACE)["value"].mean()
    shares = erm[erm["metric"] == "out_as_out"].pivot_table("value", _PLACE, "variant")
    shares = shares.reindex(columns=["primary", "ensemble"])
    worse = {*shares.index[shares["ensemble"] < shares["primary"]]}
    classes = split[split["metric"] == "classes"].groupby(_PLACE)["value"].first()
    members = split[split["test_set"].eq("validation") & split["metric"].eq("nll")]
    worst = members.groupby(_PLACE)["value"].max()
    worst /= np.log(classes.reindex(worst.index))
    nats = members.groupby([*_PLACE, "run", "algorithm"])["value"]
    apart = (nats.max() - nats.min()).groupby(_PLACE).max()
    blind = {*areas.index[areas < LEAST_AUROC]}
    most = areas.groupby(level="data_set").max()
    blind |= {(name, ALL_SIZES) for name in most.index[most < LEAST_AUROC]}
    untaught = {*worst.index[~(worst <= MOST_LOSS)]}  # also if the number of classes is not known
    few, reasons = {*classes.index[classes <= 5]}, []
    for row in rows.itertuples(index=False):
        network, why = (row.data_set, row.backbone), []
        if row.test_set == "out" and network in blind:
            why.append(f"the AUROC of ERM's Entropy is below {LEAST_AUROC:g}")
        if "ensemble" in row.method and network in untaught:
            why.append(f"a member's NLL is not below {100 * MOST_LOSS:.0f} % of guessing's")
        if "ensemble" in row.method and (gap := apart.get(network, 0.0)) > _APART:
            why.append(f"a member is {gap:.1f} nats behind the best")
        if row.method.endswith("minus ERM ensemble") and network in worse:
            why.append("the ensemble of ERM has a lower OutAsOut than its chosen trial")
        if row.method == _ENSEMBLE and row.metric == "accuracy_top5" and network in few:
            why.append("of five classes or fewer ACC@5 is 1 and cannot rise")
        reasons.append("; ".join(why))
    return reasons


def _differences(numbers: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the name of each difference, and its numbers indexed by `_WHERE`."""
    single = _at(numbers, spectral=FREE, variant="primary")
    before, after = (_at(single, calibration=when) for when in ("before", "after"))
    yield from _against_erm(before, after)
    with_students = before[before.index.get_level_values("algorithm") != "rbf"]

    algorithms = numbers.index.get_level_values("algorithm")
    native = numbers.index.get_level_values("measure") == "native"
    numbers = numbers[(algorithms != "rbf") & (~algorithms.isin(_STUDENTS) | native)]
    networks: dict[str, list[str]] = {}  # of each data set, from the smallest to the largest
    for data_set, network in dict.fromkeys(_places(numbers)):
        networks.setdefault(data_set, []).append(network)

    single = _at(numbers, spectral=FREE, variant="primary")
    before, after = (_at(single, calibration=when) for when in ("before", "after"))
    ensemble = _at(numbers, spectral=FREE, variant="ensemble", calibration="before")
    yield _ENSEMBLE, _mean(_at(ensemble - before, measure=""))
    gains = _at(ensemble - before, measure="entropy")
    for algorithm in ("erm", *_OTHERS):
        name = f"{ALGORITHMS[algorithm]} ensemble minus single"
        yield name, _at(gains, algorithm=algorithm).dropna()

    entropy = _at(before, measure="entropy")
    erm = _at(ensemble, measure="entropy", algorithm="erm")
    for algorithm in _OTHERS:
        ahead = (_at(entropy, algorithm=algorithm) - erm).dropna()
        largest = [networks[data_set][-1] == network for data_set, network in _places(ahead)]
        yield f"{ALGORITHMS[algorithm]} minus ERM ensemble", ahead[largest]

    yield "calibrated minus not", _mean(_at(after - before, measure=""))
    yield "change with calibration", _mean(_at(after - before, measure="entropy").abs())
    normalised = _at(numbers, spectral=PAPERS_FORM, variant="primary", calibration="before")
    moved = [_mean(_at(normalised - before, measure=name)) for name in ("", "entropy")]
    yield "spectral normalisation minus none", pd.concat(moved)

    # Native of the students is compared with other measures of the same network
    for measure in ("msp", "gap", *_POOR, "gmm"):
        other = _at(with_students if measure == "native" else before, measure=measure)
        ahead = {name: _mean(_at(with_students, measure=name) - other) for name in _GOOD}
        yield f"Entropy minus {MEASURES[measure]}", ahead["entropy"]
        if measure in _POOR:
            groups = pd.concat(ahead.values()).groupby(level=_WHERE)
            worst = groups.min()[groups.size() == len(_GOOD)]
            yield f"worst of Entropy, Largest and Gap minus {MEASURES[measure]}", worst

    ends = []
    for end in (0, -1):
        chosen = {name: sizes[end] for name, sizes in networks.items() if len(sizes) > 1}
        rows = entropy[[chosen.get(name) == network for name, network in _places(entropy)]]
        ends.append(rows.rename(lambda _: ALL_SIZES, level="backbone"))
    yield "largest minus smallest network", _mean(ends[1] - ends[0])


def _against_erm(before: pd.DataFrame, after: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the differences between each algorithm and ERM; NLL and ECE after scaling."""
    kinds = {("accuracy", "accuracy_top5"): _at(before, measure="")}
    kinds |= {("nll", "ece"): _at(after, measure=""), _OUT: _at(before, measure="entropy")}
    for algorithm, (metrics, numbers) in itertools.product((*_OTHERS, "rbf"), kinds.items()):
        gain = _at(numbers, algorithm=algorithm) - _at(numbers, algorithm="erm")
        gain = gain[gain.index.isin(metrics, level="metric")]
        yield f"{ALGORITHMS[algorithm]} minus ERM", gain.dropna()


def _at(numbers: pd.DataFrame, **chosen: str) -> pd.DataFrame:
    """Return the numbers with these values of levels of the index, without the levels."""
    index, kept = numbers.index, np.ones(len(numbers), bool)
    for level, value in chosen.items():  # codes are integers, and faster than strings
        position = index.names.index(level)
        kept &= index.codes[position] == index.levels[position].get_indexer([value])
    return numbers[kept].droplevel(list(chosen))


def _mean(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return means over algorithms, of the runs with the most algorithms."""
    groups = numbers.dropna().groupby(level=_WHERE)
    count = groups.size()
    most = count.groupby(level=[*_PLACE, "metric"]).transform("max")
    return groups.mean()[count == most]


def _places(numbers: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(*map(numbers.index.get_level_values, _PLACE), strict=True))


_NAMES = {"metric": _TITLES, "algorithm": ALGORITHMS, "measure": MEASURES}
_READ = read_claims(Path(__file__).with_suffix(".yaml"), **_NAMES)
CLAIMS = Claims("uimnet", _READ, derive=derive, every_variant=True)
