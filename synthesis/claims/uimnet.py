"""The claims of *What classifiers know what they don't?* (Belghazi and Lopez-Paz 2021).

The claims compare algorithms, measures, or two ways of training or prediction, over several
variants and networks at once.  `derive` first computes these differences for each run and each
replicate.

The claims name the paper's own algorithms and measures; any other one changes no verdict.  RND and
OC are a network of ERM with an additional student, so they count only where the student counts.
RBF is in none of the paper's tables, and in one claim.  Networks with spectral normalisation count
only for the claim about it, in the form of the paper's text.  We do not have the numbers of the
paper's tables.

The margins are this project's: the paper gives no number.  One point of accuracy counts as no
difference, and so do two points of AUROC and of OutAsOut (whose threshold comes from few validation
images).  So does 0.05 of NLL, 5 % of the probability of the correct class.  Algorithms that differ
by up to three points are alike; up to five are marginal.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pandas as pd

from helpers.papers.uimnet.names import ALGORITHMS, FREE, MEASURES, TEXTS, split_columns
from synthesis.effects import CELL, POINTS, Effect, Wording, number
from synthesis.preconditions import LEAST_AUROC, MOST_LOSS, Schedule, longer
from synthesis.reasons import Cell, Kind, Reason
from synthesis.verdicts import Claims, index_numbers

PAPERS_FORM = "weights"  # of spectral normalisation: the form in the paper's text
#: The ``backbone`` of rows of `derive` over networks of several sizes.
ALL_SIZES = "all sizes"

#: Nats between the members of an ensemble, above which it shows little about ensembles.
_APART = 0.3

_OTHERS = ("mixup", "mc_dropout", "mimo", "soft_labels")
_STUDENTS = ("rnd", "oc")
_PAPERS = ("erm", *_OTHERS, *_STUDENTS, "rbf")
_GOOD = ("entropy", "msp", "gap")
_POOR = ("jacobian", "tta", "native")
_TITLES = TEXTS["claimed"]
_OUT = ("auroc", "out_as_out", "in_as_in")
_ENSEMBLE = "ensemble minus single"
_SCALED = "ensemble minus single, both scaled"
_AGAINST_ENSEMBLE = "minus ERM ensemble"
_RECOMMENDED = ("the ensemble of ERM", "a single MIMO")
_BEST = "best single network or ensemble minus"
_NORMALISED = "spectral normalisation minus none"
_WORST = "worst of Entropy, Largest and Gap"
_SIZES = "largest minus smallest network"
_WHERE = [*CELL, "run", "metric"]
_WHAT = ["spectral", "variant", "calibration", "measure", "algorithm"]


def derive(table: pd.DataFrame) -> pd.DataFrame:
    """Return the differences of the claims as rows that `synthesis.judging.evaluate` takes.

    Each difference is within one data set, network and run.  AUROC, OutAsOut and InAsIn are of
    Entropy before temperature scaling, unless measures or temperatures are compared.  A mean is
    over the paper's algorithms without RBF that have both numbers, with RND and OC for Native only.
    A run that lacks one of the algorithms of other runs also lacks the mean.

    ``method`` names the difference; ``backbone`` is a network or `ALL_SIZES`.  A difference is not
    testable if ERM's Entropy does not detect out-domain images, a member of an ensemble has not
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
        value=values[:, 0], bootstrap=list(values[:, 1:]), reasons=_untestable(rows, table)
    )


def _untestable(rows: pd.DataFrame, table: pd.DataFrame) -> list[tuple[Reason, ...]]:
    """Return for each difference the reasons why it is not testable."""
    split = split_columns(table)
    split = split[(split["spectral"] == FREE) & split["algorithm"].isin(_PAPERS[:-1])]
    erm = split[split["method"].eq("erm/entropy") & split["calibration"].eq("before")]
    blind = _blind(erm)
    untaught = _untaught(split)
    shares = erm[erm["metric"] == "out_as_out"].pivot_table("value", CELL, "variant")
    shares = shares.reindex(columns=["primary", "ensemble"])
    worse = shares.index[shares["ensemble"] < shares["primary"]]
    classes = split[split["metric"] == "classes"].groupby(CELL)["value"].first()
    few = classes.index[classes <= 5]
    reasons = []
    for row in rows.itertuples(index=False):
        network = (row.data_set, row.backbone)
        texts = []
        if row.test_set == "out" and network in blind:
            texts.append(f"the AUROC of ERM's Entropy is below {LEAST_AUROC:g}")
        if "ensemble" in row.method:
            texts += untaught.get(network, [])
        if row.method.endswith(_AGAINST_ENSEMBLE) and network in worse:
            texts.append("the ensemble of ERM has a lower OutAsOut than its chosen trial")
        if row.method == _ENSEMBLE and row.metric == "accuracy_top5" and network in few:
            texts.append("of five classes or fewer ACC@5 is 1 and cannot rise")
        reasons.append(tuple(Reason(Kind.UNTESTABLE, text) for text in texts))
    return reasons


def _blind(erm: pd.DataFrame) -> set[Cell]:
    """Return the networks, or all sizes on a data set, that do not detect out-domain images."""
    areas = erm[erm["variant"].eq("primary") & erm["metric"].eq("auroc")]
    areas = areas.groupby(CELL)["value"].mean()
    most = areas.groupby(level="data_set").max()
    return {
        *areas.index[areas < LEAST_AUROC],
        *((name, ALL_SIZES) for name in most.index[most < LEAST_AUROC]),
    }


def _untaught(split: pd.DataFrame) -> Mapping[Cell, list[str]]:
    """Return for each network why its trials show little about ensembles."""
    classes = split[split["metric"] == "classes"].groupby(CELL)["value"].first()
    members = split[split["test_set"].eq("validation") & split["metric"].eq("nll")]
    worst = members.groupby(CELL)["value"].max()
    shares = worst / np.log(classes.reindex(worst.index))
    nats = members.groupby([*CELL, "run", "algorithm"])["value"]
    apart = (nats.max() - nats.min()).groupby(CELL).max()
    reasons: dict[Cell, list[str]] = {}
    for network, share in shares.items():
        texts = reasons[network] = []
        if not share <= MOST_LOSS:  # also if the number of classes is not known
            texts.append(f"a member's NLL is not below {100 * MOST_LOSS:.0f} % of guessing's")
        if apart[network] > _APART:
            texts.append(f"a member is {apart[network]:.1f} nats behind the best")
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
    gained = ensemble - before
    yield _ENSEMBLE, _mean(_at(gained, measure=""))
    scaled = _at(numbers, spectral=FREE, variant="ensemble", calibration="after")
    yield _SCALED, _mean(_at(scaled - after, measure=""))
    yield from _behind_the_best(before, ensemble)
    gains = _at(gained, measure="entropy")
    for algorithm in ("erm", *_OTHERS):
        name = f"{ALGORITHMS[algorithm]} {_ENSEMBLE}"
        yield name, _at(gains, algorithm=algorithm).dropna()

    entropy = _at(before, measure="entropy")
    erm = _at(ensemble, measure="entropy", algorithm="erm")
    for algorithm in _OTHERS:
        ahead = (_at(entropy, algorithm=algorithm) - erm).dropna()
        largest = [networks[data_set][-1] == network for data_set, network in _places(ahead)]
        yield f"{ALGORITHMS[algorithm]} {_AGAINST_ENSEMBLE}", ahead[largest]

    changes = after - before
    yield "calibrated minus not", _mean(_at(changes, measure=""))
    yield "change with calibration", _mean(_at(changes, measure="entropy").abs())
    normalised = _at(numbers, spectral=PAPERS_FORM, variant="primary", calibration="before")
    differences = normalised - before
    moved = [_mean(_at(differences, measure=name)) for name in ("", "entropy")]
    yield _NORMALISED, pd.concat(moved)

    # Native of the students is compared with other measures of the same network
    for measure in ("msp", "gap", *_POOR, "gmm"):
        other = _at(with_students if measure == "native" else before, measure=measure)
        compared = _GOOD if measure in _POOR else ("entropy",)
        ahead = {name: _mean(_at(with_students, measure=name) - other) for name in compared}
        yield f"Entropy minus {MEASURES[measure]}", ahead["entropy"]
        if measure in _POOR:
            groups = pd.concat(ahead.values()).groupby(level=_WHERE)
            worst = groups.min()[groups.size() == len(_GOOD)]
            yield f"{_WORST} minus {MEASURES[measure]}", worst

    ends = []
    for end in (0, -1):
        chosen = {name: sizes[end] for name, sizes in networks.items() if len(sizes) > 1}
        rows = entropy[[chosen.get(name) == network for name, network in _places(entropy)]]
        ends.append(rows.rename(lambda _: ALL_SIZES, level="backbone"))
    yield _SIZES, _mean(ends[1] - ends[0])


def _against_erm(before: pd.DataFrame, after: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the differences between each algorithm and ERM; NLL and ECE after scaling."""
    kinds: list[tuple[tuple[str, ...], pd.DataFrame]] = [
        (("accuracy", "accuracy_top5"), _at(before, measure="")),
        (("nll", "ece"), _at(after, measure="")),
        (_OUT, _at(before, measure="entropy")),
    ]
    for algorithm, (metrics, numbers) in itertools.product((*_OTHERS, "rbf"), kinds):
        gain = _at(numbers, algorithm=algorithm) - _at(numbers, algorithm="erm")
        gain = gain[gain.index.isin(metrics, level="metric")]
        yield f"{ALGORITHMS[algorithm]} minus ERM", gain.dropna()


def _behind_the_best(
    single: pd.DataFrame, ensemble: pd.DataFrame
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield how far the two recommended alternatives are behind the best one."""
    every = [_at(kind, algorithm=name) for kind in (single, ensemble) for name in ("erm", *_OTHERS)]
    recommended = _at(ensemble, algorithm="erm"), _at(single, algorithm="mimo")
    for name, numbers in zip(_RECOMMENDED, recommended, strict=True):
        lags = pd.concat([(other - numbers).dropna() for other in every])
        groups = lags.groupby(level=lags.index.names)
        behind = groups.max()[groups.size() == len(every)]
        yield f"{_BEST} {name}", pd.concat([_at(behind, measure=kind) for kind in ("", "entropy")])


def _at(numbers: pd.DataFrame, **chosen: str) -> pd.DataFrame:
    """Return the numbers with these values of levels of the index, without the levels."""
    index = numbers.index
    kept = np.ones(len(numbers), bool)
    for level, value in chosen.items():  # codes are integers, and faster than strings
        position = index.names.index(level)
        kept &= index.codes[position] == index.levels[position].get_indexer([value])
    return numbers[kept].droplevel(list(chosen))


def _mean(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return means over algorithms, of the runs with the most algorithms."""
    groups = numbers.dropna().groupby(level=_WHERE)
    count = groups.size()
    most = count.groupby(level=[*CELL, "metric"]).transform("max")
    return groups.mean()[count == most]


def _places(numbers: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(*map(numbers.index.get_level_values, CELL), strict=True))


CLAIMS = Claims(
    "uimnet",
    main="two-best",
    settled_by="the paper's two networks with its schedule, on ImageNet",
    heading="The paper's conclusions",
    derive=derive,
    every_variant=True,
    schedules={
        "small": Schedule(epochs=40, papers=100, longer=longer("small", "uimnet")),
        "authors": Schedule(40, 100),
    },
    full="results/small/uimnet-defaults.parquet",
    stand_in="ResNet-8 with 100 epochs and the authors' defaults, without a search",
)

_NOT_MIMO = ("mixup", "mc_dropout", "soft_labels")
_EACH = "ERM and each of the paper's other algorithms"


def _change(
    metric: str,
    difference: str,
    relation: str,
    margin: float = 0,
    side: str = "",
    wording: Wording | None = None,
) -> Effect:
    """Return an effect on one of the differences of `derive`."""
    test_set = "out" if metric in _OUT else "test"
    name = ", ".join(filter(None, (_TITLES[metric], difference, side)))
    return Effect(name, number(metric, difference, test_set), relation, margin, wording=wording)


def _minus_erm(metric: str, algorithm: str, relation: str, margin: float, side: str = "") -> Effect:
    """Return the difference of an algorithm and ERM; NLL and ECE after temperature scaling."""
    compared = f"compared with ERM, {ALGORITHMS[algorithm]}"
    scaled = " after temperature scaling" if metric in ("nll", "ece") else ""
    wording = Wording(
        f"{compared} raises the {_TITLES[metric]}{scaled} by {{size}}",
        f"{compared} lowers the {_TITLES[metric]}{scaled} by {{size}}",
        *(() if metric == "nll" else POINTS),
    )
    difference = f"{ALGORITHMS[algorithm]} minus ERM"
    return _change(metric, difference, relation, margin, side, wording)


@CLAIMS.add(
    about="training",
    source="Abstract, Tables 3 and 4",
    check="accuracy, and AUROC and OutAsOut of Entropy, of the ensemble of ERM and of a single MIMO"
    " are below those of the best algorithm, single or as an ensemble, by < 0.01 and by < 0.02",
    needs="ERM and each of the paper's other algorithms, with their ensembles",
)
def two_best():
    """The ensemble of ERM and a single MIMO are the two best alternatives."""
    for name, (metric, margin) in itertools.product(
        _RECOMMENDED, {"accuracy": 0.01, "auroc": 0.02, "out_as_out": 0.02}.items()
    ):
        start = f"in {_TITLES[metric]}, {name} is {{size}}"
        wording = Wording(f"{start} behind the best", f"{start} ahead of the best", *POINTS)
        yield _change(metric, f"{_BEST} {name}", "<", margin, wording=wording)


@CLAIMS.add(
    about="training",
    source="Section 8, Table 3",
    check="with each algorithm, accuracy and ACC@5 are above those of ERM by < 0.01 and, at the"
    " learned temperature, NLL is below it by < 0.05 and ECE by < 0.01",
    needs=_EACH,
)
def erm():
    """No algorithm is better than ERM in-domain."""
    for metric in ("accuracy", "accuracy_top5"):
        yield from (_minus_erm(metric, name, "<", 0.01) for name in _OTHERS)
    for metric, margin in (("nll", -0.05), ("ece", -0.01)):
        yield from (_minus_erm(metric, name, ">", margin) for name in _OTHERS)


@CLAIMS.add(
    about="training",
    source="Section 8, Table 4",
    check="with each other algorithm, AUROC, OutAsOut and InAsIn of Entropy are above those of ERM"
    " by < 0.02",
    needs=_EACH,
)
def erm_out_domain():
    """No algorithm but MIMO is better than ERM out-domain."""
    pairs = itertools.product(_OUT, _NOT_MIMO)
    return [_minus_erm(metric, name, "<", 0.02) for metric, name in pairs]


@CLAIMS.add(
    about="training",
    source="Section 8",
    check="accuracy, and AUROC of Entropy, of each algorithm are within 0.03 of ERM's",
    needs=_EACH,
)
def alike():
    """After the search, algorithms behave alike."""
    for relation, margin, side in ((">", -0.03, "from below"), ("<", 0.03, "from above")):
        for metric in ("accuracy", "auroc"):
            for name in _OTHERS:
                yield _minus_erm(metric, name, relation, margin, side)


@CLAIMS.add(
    about="training",
    source="Section 8, Table 3",
    check="accuracy and ACC@5 are higher, NLL and ECE are lower with the ensemble of all trials"
    " than with the chosen one, mean over algorithms; NLL and ECE before and after scaling",
    needs="an algorithm with an ensemble",
)
def ensemble_in_domain():
    """Ensembling improves in-domain metrics."""
    sides = {"accuracy": ">", "accuracy_top5": ">", "nll": "<", "ece": "<"}
    before = [_change(metric, _ENSEMBLE, relation) for metric, relation in sides.items()]
    return [*before, *(_change(metric, _SCALED, "<") for metric in ("nll", "ece"))]


def _ensemble_gains(algorithms: Iterable[str], relation: str, margin: float) -> list[Effect]:
    pairs = itertools.product(("auroc", "out_as_out"), algorithms)
    return [
        _change(metric, f"{ALGORITHMS[name]} {_ENSEMBLE}", relation, margin)
        for metric, name in pairs
    ]


@CLAIMS.add(
    about="training",
    source="Section 8, Table 4",
    check="AUROC and OutAsOut of Entropy are higher with the ensemble of all trials than with the"
    " chosen one, of each algorithm other than MIMO",
    needs="ensembles of the paper's algorithms",
)
def ensemble_out_domain():
    """Ensembling improves out-domain metrics of all algorithms other than MIMO."""
    return _ensemble_gains(("erm", *_NOT_MIMO), ">", 0)


@CLAIMS.add(
    about="training",
    source="Section 8, Table 4",
    check="AUROC and OutAsOut of Entropy gain < 0.02 with the ensemble of all trials of MIMO",
    needs="an ensemble of MIMO",
)
def ensemble_mimo():
    """Ensembling does not improve out-domain metrics of MIMO."""
    return _ensemble_gains(["mimo"], "<", 0.02)


@CLAIMS.add(
    about="training",
    source="Section 8, Table 4",
    check="on the largest network, OutAsOut of Entropy is higher with MIMO than with the ensemble"
    " of ERM, and not so with each other algorithm",
    needs="ERM with an ensemble, and each of the paper's other algorithms",
)
def mimo():
    """MIMO is the only algorithm that, single, outperforms ensembles of ERM in OutAsOut."""
    sides = {"mimo": ">"} | dict.fromkeys(_NOT_MIMO, "<")
    return [
        _change("out_as_out", f"{ALGORITHMS[name]} {_AGAINST_ENSEMBLE}", relation)
        for name, relation in sides.items()
    ]


@CLAIMS.add(
    source="Section 8, Tables 3 and 4",
    check="mean over algorithms of ECE is lower after temperature scaling; AUROC, OutAsOut and"
    " InAsIn of Entropy move by < 0.02, mean over algorithms of the absolute change; chosen trials"
    " of all algorithms but RBF",
    needs="an algorithm before and after temperature scaling",
)
def calibration():
    """Calibration lowers ECE and hardly moves out-domain metrics."""
    moved = [_change(metric, "change with calibration", "<", 0.02) for metric in _OUT]
    return [_change("ece", "calibrated minus not", "<"), *moved]


@CLAIMS.add(
    about="training",
    source="Section 8, Tables 3 and 4",
    check="with each weight matrix below the head divided by its norm, accuracy moves by < 0.01,"
    " AUROC and OutAsOut of Entropy fall by < 0.05, means over algorithms",
    needs="an algorithm with and without spectral normalisation of the form `weights`",
)
def spectral():
    """Spectral normalisation is neutral in-domain, and marginally negative out-domain."""
    yield _change("accuracy", _NORMALISED, ">", -0.01, "from below")
    yield _change("accuracy", _NORMALISED, "<", 0.01, "from above")
    for relation, margin, side in ((">", -0.05, "from below"), ("<", 0, "from above")):
        for metric in ("auroc", "out_as_out"):
            yield _change(metric, _NORMALISED, relation, margin, side)


@CLAIMS.add(
    source="Section 8, Table 4 and appendix B",
    check="AUROC and OutAsOut of Entropy are above those of each other measure by > 0.02, means"
    " over the algorithms that have both",
    needs="an algorithm with all of the paper's measures",
)
def entropy():
    """Entropy is the best measure, with a generous gap."""
    pairs = itertools.product(("auroc", "out_as_out"), ("msp", "gap", *_POOR, "gmm"))
    return [
        _change(metric, f"Entropy minus {MEASURES[measure]}", ">", 0.02)
        for metric, measure in pairs
    ]


@CLAIMS.add(
    source="Section 8, Table 4 and appendix B",
    check="AUROC and OutAsOut, means over the algorithms that have both, of the worst of the three"
    " are higher than those of each other measure",
    needs="an algorithm with these measures",
)
def measures():
    """Entropy, Largest and Gap are better than Jacobian, Augmentations and Native."""
    pairs = itertools.product(("auroc", "out_as_out"), _POOR)
    return [
        _change(metric, f"{_WORST} minus {MEASURES[measure]}", ">") for metric, measure in pairs
    ]


@CLAIMS.add(
    source="Section 8",
    check="AUROC of Entropy is above that of GMM by > 0.02, mean over algorithms",
    needs="an algorithm with Entropy and GMM",
)
def gmm():
    """GMM is not competitive as a measure."""
    return [_change("auroc", "Entropy minus GMM", ">", 0.02)]


@CLAIMS.add(
    about="training",
    source="Section 8",
    check="accuracy of RBF is below ERM's by > 0.01",
    needs="ERM and RBF",
)
def rbf():
    """RBF is not competitive as an algorithm."""
    # The ECE before scaling tests nothing: no probability of RBF exceeds e / (e + K - 1).
    return [_minus_erm("accuracy", "rbf", "<", -0.01)]


@CLAIMS.add(
    about="training",
    source="Section 8, Table 4 and appendix B",
    check="OutAsOut of Entropy is higher by > 0.05 on the largest than on the smallest network,"
    " mean over algorithms",
    needs="networks of two sizes",
)
def size():
    """Larger networks raise OutAsOut by much."""
    return [_change("out_as_out", _SIZES, ">", 0.05)]
