"""The rows of the experiment, on scores that are drawn."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from helpers import metrics
from helpers.files import project_root
from helpers.outputs import Outputs
from helpers.papers import load
from helpers.papers.gscore.experiment import divide
from helpers.papers.gscore.mixtures import DetectorScores
from helpers.tables import results
from known_unknowns.without_labels import BINS
from pictures import FAMILIES
from synthesis.without_labels import experiment
from synthesis.without_labels.experiment import DRAWN, KINDS, Protocol, choose_images
from synthesis.without_labels.summary import by_share

FEW = {"repeats": 2, "sizes": [20, 50, 100], "shifts": ["fog/3"], "detectors": ["msp", "energy"]}
PARAMETERS = load("gscore", "mini", **FEW)
NAMES = [*list(FAMILIES)[:8], "held_out_a", "digits", "photographs", "held_out_b"]
FOG = f"{DRAWN}, shift fog/3"
PLACE = ["data_set", "backbone", "run", "test_set"]
DIVISIONS = [divide(12, number, PARAMETERS) for number in range(3)]


@pytest.fixture(scope="module")
def msp():
    """A detector of 12 sets, from sets that it tells apart to sets that it does not."""
    draw = np.random.default_rng(0).normal
    sets = {name: draw(-k / 4, 1, 150) for k, name in enumerate(NAMES)}
    known = {part: draw(0, 1, 400) for part in ("meta", "test")}
    return DetectorScores(known | {"fog/3": known["test"] - 1}, draw(0, 1, 300), sets)


def test_each_protocol_has_the_rows_that_its_name_states(msp):
    energy = replace(msp, known={part: msp.known[part] for part in ("meta", "test")})
    detectors = {"msp": msp, "energy": energy}
    rows = pd.DataFrame(experiment.rows_of_protocols(detectors, DIVISIONS, PARAMETERS))
    runs = rows.groupby(["variant", rows["method"].str.partition("/")[0]])["run"].nunique()
    of_kinds = {f"{DRAWN}, new {kind}": {*names} & {*NAMES} for kind, names in KINDS.items()}
    kinds = [kind for kind, names in of_kinds.items() if names]
    once = [f"{DRAWN}, size 50", f"{DRAWN}, size 100", FOG, *kinds]
    expected = {(variant, "msp"): 1 for variant in once}
    assert runs.to_dict() == expected | {(DRAWN, "msp"): 3, (DRAWN, "energy"): 1}
    # no set of energy's one division shows 2 % of unlike images
    methods = {"msp/constant", "msp/curve_regression", "energy/constant"}
    assert set(rows.query("metric == 'value_auroc'")["method"]) == methods
    assert set(rows.query("variant == @DRAWN + ', size 50'")["images"]) == {50}
    new = rows[rows["variant"].isin(kinds)].groupby("variant")["test_set"].agg(set)
    assert len(kinds) >= 3 and new[kinds].tolist() == [of_kinds[kind] for kind in kinds]
    second = rows.query("variant == @DRAWN and method == 'msp/constant' and run == 1")
    assert set(second["test_set"]) == {NAMES[number] for number in DIVISIONS[1][1]}
    truths = rows.query("method == 'msp/truth' and metric == 'auroc'")
    for variant, known in ((DRAWN, "test"), (FOG, "fog/3")):
        true = truths[truths["variant"] == variant]
        areas = [metrics.auroc(msp.known[known], msp.sets[name]) for name in true["test_set"]]
        assert true["value"].tolist() == pytest.approx(areas)


def test_each_set_has_one_kind_at_most():
    names = [name for kind in KINDS.values() for name in kind]
    assert len(names) == len({*names}) and {*FAMILIES, "digits"} <= {*names}


def test_shares_are_drawn_first_and_small_ones_are_not_rare(msp):
    many = replace(msp, sets={f"set {i}": np.zeros(150) for i in range(200)})
    sizes = [(len(a), len(b)) for a, b in choose_images(many, Protocol(), 0).values()]
    shares = np.array([unknown / (known + unknown) for known, unknown in sizes])
    assert (np.bincount(np.digitize(shares, [0.05, 0.2, 0.5])) > 0.08 * 200).all()
    assert all(known == 400 or unknown == 150 for known, unknown in sizes)
    few = replace(msp, known={"test": np.zeros(30)})
    assert all(len(a) + len(b) >= 50 for a, b in choose_images(few, Protocol(), 0).values())


def test_answers_about_mixtures_are_compared_with_labels(msp):
    """A network that is correct if it has confidence, and has less for unknown images."""
    draw = np.random.default_rng(1)

    def classify(scores, known=True):
        high = 0.5 + 0.5 / (1 + np.exp(-scores - 1.5))
        labels = np.where(known, draw.random(len(scores)) > high, -1)
        probabilities = np.stack([high, 1 - high], axis=1)
        return Outputs(np.log(probabilities), np.empty((len(scores), 0)), labels)

    answers = {"validation": classify(msp.validation), "test": classify(msp.known["test"])}
    answers |= {name: classify(scores, known=False) for name, scores in msp.sets.items()}
    rows = pd.DataFrame(experiment.rows_of_answers("msp", msp, answers, PARAMETERS))
    assert set(rows["variant"]) == {DRAWN} and rows["value"].notna().all()
    value = rows.pivot(index="test_set", columns=["method", "metric"], values="value")
    keep = np.quantile(msp.known["meta"], 0.05)
    for name, (ours, others) in choose_images(msp, Protocol(), PARAMETERS.seed).items():
        images, right = len(ours) + len(others), answers["test"].correct[ours]
        kept = msp.known["test"][ours] >= keep
        accepted = kept.sum() + (msp.sets[name][others] >= keep).sum()
        truths = len(others) / images, right.sum() / images, right[kept].sum() / accepted
        names = [(f"msp/{group}", "truth") for group in ("share", "accuracy", "accepted")]
        assert value.loc[name, names].tolist() == pytest.approx(truths)
    assert (value["msp/share", "bound"] <= value["msp/share", "truth"]).mean() >= 0.9
    for group in ("accuracy", "accepted"):
        low, truth, high = (value[f"msp/{group}", end] for end in ("low", "truth", "high"))
        held = (low <= truth) & (truth <= high)
        # unknown images that look known are not in the estimate, nor in the bracket
        missed = value["msp/share", "truth"] - value["msp/share", "value"]
        assert held[missed < 0.04].all() and not held[missed > 0.1].any()
    assert value["msp/suspected", "known_listed"].mean() <= 0.15
    assert value["msp/suspected", "power"].mean() > 0.05


def test_the_summary_by_share_by_hand(table_of):
    """Two sets with few unknown images, one with many; the second has no answer."""
    methods = ["truth/share", "truth/auroc", "accuracy/truth", "accuracy/low", "accuracy/high"]
    methods += [f"curve_regression/{end}_auroc" for end in ("value", "low", "high")]
    numbers = {
        "a": [0.04, 0.8, 0.8, 0.5, 0.8, 0.9, 0.7, 1.1],
        "b": [0.03, 0.7, 0.7, 0.5, 0.8],
        "c": [0.6, 0.9, 0.9, 0.5, 0.8, 0.6, 0.4, 0.8],
    }
    cells = [
        {"test_set": name, "method": f"msp/{kind}", "metric": metric, "value": value}
        for name, values in numbers.items()
        for (kind, metric), value in zip((m.split("/") for m in methods), values, strict=False)
    ]
    summary = by_share(table_of(cells, paper="without_labels", variant=DRAWN))
    curve = summary.loc["AUROC", "regression on the P–P curve"]
    rows = ["error (RMSE)", "intervals that hold", "answers"]
    assert curve.loc[rows, "0–5 %"].round(9).tolist() == [10, 100, 50]
    assert curve.loc[rows, "50–95 %"].round(9).tolist() == [30, 0, 100]
    assert curve.loc["intervals that hold", "all"] == 50 and curve["5–20 %"].isna().all()
    held = summary.loc["accuracy", "bracket"].loc["brackets that hold"]
    assert held["0–5 %"] == 100 and held["50–95 %"] == 0
    assert "share" not in summary.index


@pytest.fixture(scope="module")
def table():
    return results.read(project_root() / "results/pretrained/without_labels.parquet")


def coverage(table, method, low, truth, high=None):
    """Return how often numbers hold, and of how many sets, by protocol and share of unknown."""
    kinds = table["method"].isin(["msp/truth", method])
    wide = table[kinds].pivot(index=[*PLACE, "variant"], columns="metric", values="value")
    share = pd.cut(wide["share" if "share" in wide else "truth"], [0, *BINS, 1], right=False)
    held = (wide[low] <= wide[truth]) & (wide[truth] <= wide.get(high, 1))
    cells = held[wide[low].notna()].groupby(["variant", share], observed=True)
    return cells.agg(held="mean", sets=lambda each: each.index.unique("test_set").size)


def too_low(cells, level):
    """Return the protocols of cells more than three standard errors below their level.

    Mixtures of one set by several networks are alike, so sets count.
    """
    bound = level - 3 * np.sqrt(level * (1 - level) / cells["sets"])
    return {*cells.index[cells["held"] < bound].get_level_values("variant")}


def test_intervals_and_bounds_hold_for_every_share_and_new_kind_in_the_committed_table(table):
    """Without an answer nothing has to hold. If known images change, intervals are too short."""
    for metric in ("auroc", "fpr95"):
        cells = coverage(table, "msp/curve_regression", f"low_{metric}", metric, f"high_{metric}")
        assert all("shift" in variant for variant in too_low(cells, 0.9))
        assert DRAWN in too_low(cells.assign(held=cells["held"] - 0.5), 0.9)
    bounds = coverage(table[table["method"] == "msp/share"], "msp/share", "bound", "truth")
    assert len(bounds) == 4 and not too_low(bounds, 0.95)
    assert by_share(table).loc["which ones", "list"].loc["known images on it"].max() <= 10


def test_the_page_has_the_numbers_of_the_committed_table(table):
    new = [by_share(table, "msp", f"{DRAWN}, new {kind}")["all"] for kind in KINDS]
    new = pd.concat(new, axis=1).xs("regression on the P–P curve", level="estimator")
    page = (project_root() / "notebooks/beyond/without_labels.ipynb").read_text("utf-8")
    for _, each in new.drop("error (RMSE)", level="number").iterrows():
        assert f"{each.min():.0f} to {each.max():.0f} % of the mixtures" in page


def test_the_page_says_how_often_a_bracket_holds_without_evidence(table):
    rows = table[table["method"].isin(["msp/share", "msp/accuracy"])]
    index = ["backbone", "run", "test_set", "variant"]
    wide = rows.pivot(index=index, columns=["method", "metric"], values="value")
    held, share = wide["msp/accuracy"].eval("low <= truth <= high"), wide["msp/share"]
    numbers = [n for _, part in held.groupby(share["bound"] > 0) for n in (part.sum(), len(part))]
    words = "in {} of {} mixtures, compared with {} of {} if the bound is above"
    assert words.format(*numbers) in (project_root() / "book/audit_methods.md").read_text("utf-8")
    assert (share["truth"][~held & (share["bound"] == 0)] > 0.5).all()
