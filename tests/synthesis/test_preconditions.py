from dataclasses import replace

import pandas as pd
import pytest

from helpers.files import project_root
from helpers.papers import PAPERS
from helpers.tables import results
from helpers.training import finished_networks
from synthesis import preconditions
from synthesis.claims import load_claims
from synthesis.effects import Claim, Effect, number
from synthesis.preconditions import (
    FINE_TUNED,
    LEAST_RIGHT,
    PLAIN,
    Longer,
    Schedule,
    longer,
    mark,
    unlearnt,
)
from synthesis.reasons import Kind, Reason, in_words
from synthesis.verdicts import Claims, Second
from tests.mistakes import beside
from tests.synthesis.claim_tables import named, noisy

A = number("auroc", "a")
GAIN = Effect("b minus a", number("auroc", "b") - A, ">", 0.0)
CLAIMS = Claims("toy", claims=[Claim("better", "B is better.", "", "", (GAIN,))])
GAINS = [(0.05, "supported"), (-0.05, "contradicted")]
EXAMPLES = beside(__file__, "effects.yaml")["examples"]
FILES = [file for file in project_root().glob("results/*/*.parquet") if file.stem in PAPERS]


def made_up(right, gain=0.05, *, method="network", tier="toy"):
    """A results table: how often each network is right, and two methods on it."""
    pairs = []
    for backbone, share in right.items():
        values = {(method, "accuracy"): share, ("a", "auroc"): 0.7, ("b", "auroc"): 0.7 + gain}
        pairs += named(values, "method", "metric", backbone=backbone)
    return noisy("toy", pairs, runs=3, spread=0.002, tier=tier, data_set="d")


def changed(**claim):
    """Return the claims of the toy, whose only claim is changed."""
    return replace(CLAIMS, claims=[replace(CLAIMS.claims[0], **claim)])


def verdict(table, claims=CLAIMS):
    return str(claims.verdicts(claims.check(table))["verdict"].item())


@pytest.mark.parametrize(("gain", "decided"), GAINS)
def test_networks_must_be_right_on_half_of_the_images(gain, decided):
    """Whatever the numbers say; on both sides of the bound, by the names of all papers."""
    for method in PLAIN:
        assert verdict(made_up({"a8": LEAST_RIGHT + 0.01}, gain, method=method)) == decided
        assert verdict(made_up({"a8": LEAST_RIGHT - 0.01}, gain, method=method)) == "not testable"


@pytest.mark.parametrize(("gain", "decided"), GAINS)
@pytest.mark.parametrize("about", [(), ("training",)])
def test_fine_tuned_networks_say_nothing_about_training(gain, decided, about):
    """Whatever the numbers say; other tiers do, and so do claims that are not about training."""
    claims = changed(about=about)
    assert verdict(made_up({"a8": 0.9}, gain), claims) == decided
    fine_tuned = made_up({"a8": 0.9}, gain, tier="pretrained")
    assert verdict(fine_tuned, claims) == ("not testable" if about else decided)
    if about:
        assert claims.check(fine_tuned)["note"].map(str).str.contains(FINE_TUNED).all()


@pytest.mark.parametrize(("gain", "decided"), GAINS)
@pytest.mark.parametrize("tier", ["mini", "rehearsal"])
def test_a_tier_that_shows_methods_gives_no_verdict(gain, decided, tier):
    assert judged(gain)[0] == decided
    verdict, note = judged(gain, tier=tier)
    assert verdict == "not testable" and f"tier `{tier}`" in note


@pytest.mark.parametrize(("gain", "decided"), GAINS)
def test_fine_tuning_blocks_no_sentence_about_what_its_authors_fine_tune(gain, decided):
    """Nor one about an example, which it may support, and whose note says so."""
    table = made_up({"a8": 0.9}, gain, tier="pretrained")
    training = {"about": ("training",)}
    assert verdict(table, changed(fine_tuned=True, **training)) == decided
    shown = changed(existential=True, **training)
    assert verdict(table, shown) == ("supported" if gain > 0 else "undecided")
    assert shown.check(table)["note"].map(str).str.contains("by fine-tuning").all()


@pytest.mark.parametrize(("gain", "expected"), [(0.02, "supported"), (-0.02, "undecided")])
def test_a_second_reading_must_agree(gain, expected):
    """Of another variant, or computed from the same rows; in the second case without intervals."""
    table, second = made_up({"a8": 0.9}), made_up({"a8": 0.9}, gain)
    both = pd.concat([table, second.assign(variant="other")])
    computed = Second("other", compute=lambda rows: second, intervals=False)
    for given, reading in ((both, Second("other", variant="other")), (table, computed)):
        for claims in (CLAIMS, changed(existential=True)):  # examples contradict nothing
            row = replace(claims, seconds=(reading,)).check(given).iloc[-1]
            assert row["verdict"] == expected
            assert ("by the other it is contradicted" in str(row["note"])) == (gain < 0)


def judged(gain, *, tier="toy", right=None, **claim):
    """Return the verdict on the toy claim, changed, by a table of the toy tier, and its note."""
    claims, table = changed(**claim), made_up(right or {"a8": 0.9}, gain, tier=tier)
    return verdict(table, claims), str(
        claims.check(table).query("data_set == 'all'")["note"].item()
    )


@pytest.mark.parametrize(("gain", "free"), GAINS)
@pytest.mark.parametrize(
    ("measured", "reason"),
    [
        (None, "the effect of 50 % more is not measured"),
        (Longer(0.017, 1), "50 % more change the accuracy by +1.7 points (1 network)"),
        (Longer(-0.012, 3), "50 % more change the accuracy by -1.2 points (3 networks)"),
        (Longer(0.009, 3), ""),
    ],
)
def test_a_schedule_is_long_enough_if_half_as_many_epochs_more_change_little(
    monkeypatch, gain, free, measured, reason
):
    """Otherwise, or if this is not measured, it tests no training, and contradicts nothing."""
    schedule = Schedule(10, 90, measured)
    assert schedule.short == (reason and f"10 epochs (the paper has 90): {reason}")
    training = {"about": ("training",)}
    monkeypatch.setitem(CLAIMS.schedules, "short", schedule)
    assert judged(gain) == judged(gain, **training) == (free, "")
    verdict, note = judged(gain, tier="short", **training)
    assert verdict == ("not testable" if reason else free) and note.endswith(reason)
    verdict, note = judged(gain, tier="short")
    assert verdict == ("undecided" if reason and gain < 0 else free)
    assert note.endswith(reason) and ("only support" in note) == bool(reason and gain > 0)


@pytest.mark.parametrize(("gain", "decided"), [(0.05, "supported"), (-0.05, "undecided")])
def test_networks_with_the_whole_schedule_test_what_a_short_one_cannot(monkeypatch, gain, decided):
    """As stand-ins, these networks cannot contradict; a table without their numbers is ignored."""
    monkeypatch.setitem(CLAIMS.schedules, "short", Schedule(10, 90))
    short = made_up({"a8": 0.9}, -gain, tier="short")
    full = made_up({"b8": 0.9}, gain, tier="short")
    about = replace(changed(about=("training",)), full="full", stand_in="without a search")
    for claims, table, expected in (
        (about, full, decided),
        (about, full[full["method"] != "b"], "not testable"),
        (replace(about, claims=CLAIMS.claims), full, "undecided" if gain > 0 else "supported"),
    ):
        monkeypatch.setattr(results, "read", {project_root() / "full": table}.get)
        row = claims.check(short).iloc[-1]
        assert row["verdict"] == expected
        replaced = expected == decided and claims is about
        assert row["networks"] == ("b8" if replaced else "a8",)
        assert ("without a search" in str(row["note"])) == replaced


def test_the_change_by_more_epochs_is_a_mean_over_pairs(tmp_path, monkeypatch):
    """A network that was trained once has no pair; without a table there is no measurement."""
    monkeypatch.setattr("synthesis.preconditions.project_root", lambda: tmp_path)
    assert longer("small", "toy") is None
    columns = ["network", "method", "data_seed", "epochs", "test_accuracy"]
    rows = [("a8", "erm", 0, 60, 0.75), ("a8", "erm", 0, 40, 0.7), ("a8", "erm", 1, 40, 0.6)]
    rows += [("a8", "erm", 2, 40, 0.7), ("a8", "erm", 2, 60, 0.71)]
    path = tmp_path / "results" / "small" / "toy-longer.csv"
    path.parent.mkdir(parents=True)
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    measured = longer("small", "toy")
    assert (measured.change, measured.networks) == (pytest.approx(0.03), 2)


def test_the_committed_schedule_was_measured_with_the_committed_networks():
    """The shorter training of each pair is a committed network, and the longer one 1.5 times."""
    root = project_root() / "results" / "small"
    trained = pd.read_csv(root / "uimnet-longer.csv")
    for _, pair in trained.groupby(["network", "method", "data_seed"]):
        first, second = pair.sort_values("epochs").to_dict("records")
        name = "{network}-{method}-none-{data_seed}.safetensors".format(**first)
        _, about = finished_networks.load(root / "networks" / "uimnet" / name)
        assert about["recipe"]["epochs"] == first["epochs"] == second["epochs"] / 1.5
        assert about["test_accuracy"] == pytest.approx(first["test_accuracy"], abs=5e-4)
        assert about["history"]["accuracy"][-1] == pytest.approx(
            first["training_accuracy"], abs=1e-4
        )
    assert load_claims("uimnet").schedules["small"].longer == longer("small", "uimnet")
    assert load_claims("uimnet").schedules["authors"].short


@pytest.mark.parametrize(("elsewhere", "expected"), [(True, "undecided"), (False, "supported")])
def test_networks_of_another_data_set_do_not_count(elsewhere, expected):
    """A claim about one data set counts the networks on it, of one family or of several."""
    networks = dict.fromkeys(["a8", "a14", "b8", "c8", "c14"], 0.9)
    here = made_up({"a8": 0.9} if elsewhere else networks)
    others = made_up(networks).assign(data_set="other")
    claims = changed(about=("models",), scope=lambda data_set: data_set == "d")
    assert verdict(pd.concat([here, others]), claims) == expected


@pytest.mark.parametrize(("gain", "free"), GAINS)
def test_a_claim_about_models_needs_two_families_and_three_architectures(gain, free):
    claim = {"about": ("models",)}
    assert judged(gain, right=dict.fromkeys(["a8", "a14", "b8"], 0.9), **claim)[0] == free
    few = made_up(dict.fromkeys(["a8", "a14", "b8"], 0.9), gain)
    few = few[few["run"] == 0]  # three networks
    row = changed(**claim).check(few).iloc[-1]
    assert row["verdict"] == "undecided" and "fewer than 5 networks" in str(row["note"])
    for names, reason in ((["a8", "a14", "a20"], "all networks are of one family"),
                          (["a8", "b8", "b8+other"], "of fewer than 3 architectures")):  # fmt: skip
        verdict, note = judged(gain, right=dict.fromkeys(names, 0.9), **claim)
        assert verdict == "undecided" and reason in note


@pytest.mark.parametrize("about", ["training", "runs"])
def test_a_claim_about_training_needs_several_runs(about):
    table = made_up({"a8": 0.9}, tier="toy")
    alone, claims = table[table["run"] == 0], changed(about=(about,))
    assert verdict(table, claims) == verdict(alone) == "supported"
    assert verdict(alone, claims) == "undecided"


def test_an_example_is_not_contradicted_by_others_and_another_method_is_not_judged():
    assert judged(0.05, existential=True)[0] == "supported"
    assert judged(-0.05, existential=True)[0] == "undecided"
    for gain, _ in GAINS:
        verdict, note = judged(gain, departure="ours has one layer")
        assert verdict == "not testable" and "ours has one layer" in note


def examples(*gains, right=0.9):
    """Return a table with a network for each pair of gains: of b, and of c, over a."""
    tables = []
    for position, (of_b, of_c) in enumerate(gains):
        values = {("network", "accuracy"): right, ("a", "auroc"): 0.7}
        values |= {("b", "auroc"): 0.7 + of_b, ("c", "auroc"): 0.7 + of_c}
        pairs = named(values, "method", "metric", backbone=f"a{8 + position}")
        tables.append(noisy("toy", pairs, runs=1, spread=0.002, tier="toy", data_set="d"))
    return pd.concat(tables)


@pytest.mark.parametrize(("gains", "expected"), EXAMPLES)
def test_one_network_shows_both_halves_of_an_example(gains, expected):
    effects = (GAIN, replace(GAIN, name="c minus a", number=number("auroc", "c") - A))
    claims = changed(effects=effects, existential=True)
    same = Second("same", compute=lambda rows: rows, intervals=False)
    for seconds in ((), (same,)):  # there is no mean without intervals, either
        assert verdict(examples(*gains), replace(claims, seconds=seconds)) == expected


def test_the_best_of_many_networks_needs_a_longer_interval():
    """One in twenty networks without any gain is ahead by chance."""
    single, many = [(0.004, 0.0)], [(0.004, 0.0)] * 20
    claims = changed(existential=True)
    low = [claims.check(examples(*gains)).iloc[-1] for gains in (single, many)]
    widths = [row["high"] - row["low"] for row in low]
    assert widths[1] > 1.2 * widths[0]


def test_an_interval_near_the_margin_decides_nothing():
    """By its width: an end that is a twentieth of it away is near, a fifth is not."""
    table = made_up({"a8": 0.9}, tier="toy")
    (row,) = CLAIMS.check(table).query("data_set == 'all'").to_dict("records")
    width = row["high"] - row["low"]
    for margin, expected in (
        (row["low"] - 0.05 * width, "undecided"),
        (row["low"] - 0.2 * width, "supported"),
        (row["high"] + 0.05 * width, "undecided"),
        (row["high"] + 0.2 * width, "contradicted"),
    ):
        assert verdict(table, changed(effects=(replace(GAIN, margin=margin),))) == expected


@pytest.mark.parametrize(("printed", "blocked"), [(0.79, "not testable"), (0.70, "supported")])
def test_a_method_that_classifies_worse_than_printed_is_not_judged(monkeypatch, printed, blocked):
    """Method b is five points behind the baseline; in the paper it is 1 or 10 points behind."""
    gain = replace(GAIN, number=number("auroc", "b") - number("auroc", "baseline"))

    def table(right):
        values = {("baseline", "accuracy"): 0.8, ("b", "accuracy"): right,
                  ("baseline", "auroc"): 0.7, ("b", "auroc"): 0.75}  # fmt: skip
        pairs = named(values, "method", "metric", backbone="a8")
        return noisy("toy", pairs, runs=3, spread=0.002, tier="toy", data_set="d")

    monkeypatch.setattr("helpers.tables.printed_numbers.load", lambda paper: table(printed))
    claims = changed(effects=(gain,), about=("training",))
    claims = replace(claims, printed=lambda numbers: numbers)
    assert verdict(table(0.75), claims) == blocked
    assert verdict(table(0.79), claims) == "supported"


def test_networks_that_are_made_robust_are_not_asked_for_accuracy():
    """Nor are printed numbers, or tables without any."""
    assert unlearnt(made_up({"a8": 0.9, "a8+adversarial_1": 0.3})) == {}
    assert verdict(made_up({"a8": 0.1}, method="crl")) == "supported"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_network_of_a_committed_table_passes_unasked(path):
    """In every chapter: if none were ever right, each would be named."""
    table = pd.read_parquet(path)
    plain = table[~table["backbone"].str.contains("+", regex=False)]
    named = {network for network in unlearnt(table.assign(value=0.0)) if network[1]}
    assert named == set(zip(plain["data_set"], plain["backbone"], strict=True)) != set()


def test_numbers_over_several_networks_go_by_the_median():
    reasons = unlearnt(made_up({"a8": 0.2, "b8": 0.3, "c8": 0.9}))
    assert set(reasons) == {("d", "a8"), ("d", "b8"), ("d", "")}
    before = [(Reason(Kind.UNTESTABLE, "x"),), ()]
    rows = {"data_set": "d", "backbone": ["all models", "c8"], "reasons": before}
    marked = mark(pd.DataFrame(rows), reasons)["reasons"].map(in_words).tolist()
    assert marked == ["x; right on less than 50 % of the test images", ""]
    assert ("d", "") not in unlearnt(made_up({"a8": 0.2, "b8": 0.8, "c8": 0.9}))


def test_a_network_that_is_left_out_is_no_evidence():
    """Two architectures are too few for a sentence about networks in general."""
    path = project_root() / "results/small/openset_calibration.parquet"
    table = results.read(path).query("backbone != 'vit'")
    of_network = table["backbone"].str.startswith("efficientnet") & table["metric"].eq("accuracy")
    claims = load_claims("openset_calibration")
    for low, verdict in ((1.0, "supported"), (0.3, "undecided")):
        values = low**of_network * table["value"]  # lower for the network alone
        checks = claims.check(table.assign(value=values))
        assert claims.verdicts(checks).set_index("claim")["verdict"]["less-effective"] == verdict


def test_the_gates_of_verdicts_have_the_values_of_the_pages():
    claims, uimnet = (
        (project_root() / "book" / name).read_text("utf-8")
        for name in ("claims.md", "fidelity_uimnet.md")
    )
    assert preconditions.LEAST_RIGHT == 0.5 and "must classify half of the test images" in claims
    assert preconditions.MOST_BEHIND == 0.02 and "more than two points below" in claims
    assert f"Entropy is below {preconditions.LEAST_AUROC}" in uimnet
    assert f"NLL of a member is above {preconditions.MOST_LOSS} of" in uimnet
