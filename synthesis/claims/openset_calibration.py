"""The claims of *Evaluating Uncertainty Calibration for Open-Set Recognition* (Lyu et al. 2022).

OpenMax is tested with the tail at which it rejects about as many held-out images as the threshold,
if a results table has this variant.  With a tail that rejects almost nothing, a difference is no
effect of OpenMax.

The margins are this project's: the paper says "close" and "gap" and gives no number.
"""

import numpy as np
import pandas as pd

from helpers.papers.openset_calibration.tables import MATCHED, OPENMAX
from synthesis.effects import CELL, POINTS, Effect, Number, Wording, combine, number, on_data_set
from synthesis.reasons import Kind, Reason
from synthesis.verdicts import Claims, Second, index_numbers

CLOSED = "closed-set"
OPEN = "open-set"

#: The ``backbone`` of numbers over a DenseNet and an EfficientNet.
OTHER_FAMILIES = "all other families"

#: Largest distance of an almost perfect ECE from its floor.
MOST_ABOVE_FLOOR = 0.02

#: Variants that the paper's text allows as well; a verdict must be the same with each.
_READINGS = {
    "half": "threshold of one half",
    "moving decision": "decision after scaling",
    "known confidence": "confidence among the known classes",
    "normalised": "normalised probabilities",
}

#: Largest ratio of the images that OpenMax and the threshold reject.
_MOST_UNEQUAL = 3.0


def derive(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with reasons why OpenMax is not comparable with the threshold.

    It rejects more than three times as many images as the threshold, or less than a third.
    """
    unequal = _unequal(table)
    keys = table[[*CELL, "method"]].itertuples(index=False, name=None)
    marked = table.assign(reasons=[unequal.get(key, ()) for key in keys])
    return pd.concat([marked, _of_other_families(table)], ignore_index=True)


def _of_other_families(table: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of the first three sentences, the worst of DenseNet and EfficientNet.

    Each is computed within a data set, run and replicate: all networks of a run have the same test
    images and the same random split.
    """
    rows = table[table["method"].isin([CLOSED, OPEN]) & table["metric"].isin(["ece", "ece_floor"])]
    family = rows["backbone"].str.lower().str.extract("^(densenet|efficientnet)", expand=False)
    rows = rows.assign(family=family).dropna(subset="family")
    cell = ["data_set", "run", "method", "calibration", "metric"]
    rows = rows[rows.groupby(cell)["family"].transform("nunique") == 2]
    if rows.empty:
        return pd.DataFrame()
    columns = ["data_set", "run", "backbone", "calibration", "method"]
    errors = index_numbers(rows[rows["metric"] == "ece"], columns)
    floors = index_numbers(rows[rows["metric"] == "ece_floor"], columns)
    floors = floors.reindex(columns=errors.columns).ffill(axis=1)  # a floor may lack replicates

    def at(kind: str, calibration: str, numbers: pd.DataFrame = errors) -> pd.DataFrame:
        chosen = [key[3:] == (calibration, kind) for key in numbers.index]
        return numbers[chosen].droplevel(columns[3:])

    fall = {kind: at(kind, "before") - at(kind, "after") for kind in (CLOSED, OPEN)}
    above = {kind: at(kind, "after") - at(kind, "after", floors) for kind in (CLOSED, OPEN)}
    removed = {kind: fall[kind] / at(kind, "before") for kind in (CLOSED, OPEN)}
    # lower is worse in each of these
    quantities = {
        ("fall", CLOSED): fall[CLOSED],
        ("below_ceiling", CLOSED): MOST_ABOVE_FLOOR - above[CLOSED],
        ("fall", OPEN): fall[OPEN],
        ("above_floor", OPEN): above[OPEN],
        ("less_removed", OPEN): removed[CLOSED] - removed[OPEN],
    }
    records = []
    for (metric, kind), values in quantities.items():
        worst = values.dropna().groupby(level=["data_set", "run"]).min()
        for (data_set, run), row in zip(worst.index, worst.to_numpy(), strict=True):
            record = {"data_set": data_set, "run": run, "method": kind, "metric": metric}
            records.append(record | {"value": row[0], "bootstrap": row[1:], "reasons": ()})
    networks = tuple(rows["backbone"].unique())
    derived = pd.DataFrame(records)
    return derived.assign(
        backbone=OTHER_FAMILIES,
        calibration="after",
        test_set="test",
        networks=[networks] * len(derived),
    )


def _unequal(table: pd.DataFrame) -> dict[tuple[str, str, str], tuple[Reason, ...]]:
    """Return a reason for each cell in which OpenMax and the threshold reject unequally.

    If only one of the shares is known, they are not equal; the paper's numbers have none.
    """
    rejected = table[(table["metric"] == "rejected") & (table["calibration"] == "after")]
    means = rejected.groupby([*CELL, "method"])["value"].mean().unstack("method")
    means = means.reindex(columns=[OPENMAX, OPEN])
    reasons: dict[tuple[str, str, str], tuple[Reason, ...]] = {}
    for (data_set, backbone), openmax, threshold in means.itertuples():
        if not openmax / _MOST_UNEQUAL <= threshold <= openmax * _MOST_UNEQUAL:
            text = (
                f"OpenMax refuses {100 * openmax:.1f} % of the images, the threshold"
                f" {100 * threshold:.1f} %"
            )
            reasons[data_set, backbone, OPENMAX] = (Reason(Kind.UNTESTABLE, text),)
    return reasons


def _with_floor(printed: pd.DataFrame) -> pd.DataFrame:
    """Return printed numbers with the floor of the ECE as 0, because the paper reports no floor.

    The first claim becomes stricter.  The second becomes easier, but its gaps are several times
    its margin.
    """
    floor = printed[printed["metric"] == "ece"].assign(metric="ece_floor", value=0.0)
    return pd.concat([printed, floor])


CLAIMS = Claims(
    "openset_calibration",
    main="open-set",
    settled_by="five splits of a network of a fourth family",
    derive=derive,
    decides=MATCHED,
    seconds=(
        Second("fixed threshold of 0.9", variant="one threshold", methods=(OPEN, OPENMAX)),
        *(Second(words, variant=name, methods=(OPEN,)) for name, words in _READINGS.items()),
    ),
    printed=_with_floor,
)


def _after(metric: str, method: str) -> Number:
    return number(metric, method, calibration="after")


def _fall(kind: str) -> Effect:
    """Return the fall of the ECE by temperature scaling."""
    wording = Wording(
        f"temperature scaling lowers the {kind} ECE by {{size}}",
        f"temperature scaling raises the {kind} ECE by {{size}}",
        *POINTS,
    )
    before = number("ece", kind, calibration="before")
    return Effect(
        f"{kind} ECE, fall by scaling", before - _after("ece", kind), ">", 0, wording=wording
    )


def _above_floor(kind: str, relation: str, margin: float) -> Effect:
    """Return how far the ECE after scaling is above that of perfectly calibrated predictions."""
    wording = Wording(
        f"after scaling, the {kind} ECE is {{size}} above its floor",
        f"after scaling, the {kind} ECE is {{size}} below its floor",
        *POINTS,
    )
    difference = _after("ece", kind) - _after("ece_floor", kind)
    name = f"{kind} ECE after scaling, above the floor"
    return Effect(name, difference, relation, margin, wording=wording)


@CLAIMS.add(
    about="models",
    source="Tables I-VI",
    check="ECE falls, and exceeds that of perfectly calibrated predictions by < 0.02",
)
def closed_set():
    """Closed-set, temperature scaling brings the calibration error close to perfect."""
    return [_above_floor(CLOSED, "<", MOST_ABOVE_FLOOR), _fall(CLOSED)]


@CLAIMS.add(
    about="models",
    source="Tables I-VI",
    check="ECE falls, and still exceeds that of perfectly calibrated predictions by > 0.05",
)
def open_set():
    """Open-set, temperature scaling helps but leaves a clear gap."""
    return [_fall(OPEN), _above_floor(OPEN, ">", 0.05)]


def _removed(kind: str) -> Number:
    """Return the share of the ECE that scaling removes; undefined if there is none before."""
    before = number("ece", kind, calibration="before")
    return combine(lambda a, b: 1 - b / np.where(a > 0, a, np.nan), before, _after("ece", kind))


@CLAIMS.add(
    about="models",
    source="Abstract, Tables I-VI",
    check="scaling removes a share of the ECE that is lower open-set than closed-set by > 0.1",
)
def less_effective():
    """Temperature scaling is much less effective open-set than closed-set."""
    name = "share of the ECE removed by scaling, closed-set minus open-set"
    wording = Wording(
        "the share of the ECE that scaling removes is {size} larger closed-set than open-set",
        "the share of the ECE that scaling removes is {size} smaller closed-set than open-set",
        *POINTS,
    )
    return [Effect(name, _removed(CLOSED) - _removed(OPEN), ">", 0.1, wording=wording)]


@CLAIMS.add(
    about="models",
    source="Tables I-VI",
    check="accuracy is higher with OpenMax than with the threshold, with a tail that refuses as"
    " many held-out images, and neither Brier score nor ECE is lower",
)
def openmax():
    """OpenMax raises open-set accuracy without better calibration."""
    # The paper's ECE falls with OpenMax in four of its six tables. Its sentence is therefore true
    # of its Brier scores, and not of its calibration errors.
    for metric, title, name, relation in (
        ("accuracy", "accuracy", "accuracy gained by OpenMax", ">"),
        ("brier", "Brier score", "Brier score added by OpenMax", ">="),
        ("ece", "ECE", "ECE added by OpenMax", ">="),
    ):
        wording = Wording(
            f"OpenMax raises the open-set {title} by {{size}}",
            f"OpenMax lowers the open-set {title} by {{size}}",
            *POINTS,
        )
        gain = _after(metric, OPENMAX) - _after(metric, OPEN)
        yield Effect(name, gain, relation, 0, wording=wording)


@CLAIMS.add(
    about="families",
    scope=on_data_set("cifar10"),
    source="Tables I, III and V",
    check="the worst of both networks: closed-set ECE falls and exceeds that of perfectly"
    " calibrated predictions by < 0.02; open-set ECE falls and exceeds it by > 0.05; the removed"
    " share is lower open-set by > 0.1",
    needs="a DenseNet and an EfficientNet",
)
def families():
    """On CIFAR-10, DenseNet and EfficientNet give the same findings on temperature scaling."""
    for metric, kind, name, relation, margin in (
        ("fall", CLOSED, "closed-set ECE, fall by scaling", ">", 0),
        (
            "below_ceiling",
            CLOSED,
            "0.02 minus closed-set ECE after scaling above the floor",
            ">",
            0,
        ),
        ("fall", OPEN, "open-set ECE, fall by scaling", ">", 0),
        ("above_floor", OPEN, "open-set ECE after scaling, above the floor", ">", 0.05),
        ("less_removed", OPEN, "removed share, closed-set minus open-set", ">", 0.1),
    ):
        yield Effect(f"{name}, worst of both", _after(metric, kind), relation, margin)
