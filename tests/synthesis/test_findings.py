"""Ten findings: the numbers of made-up tables, and what the committed results show."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from pytest import approx

from helpers.modules import ROOT
from known_unknowns.bench.feature_packs import EMBEDDED, FeaturePack
from lint.reading import cells, source
from synthesis import findings, front
from synthesis.findings import __main__ as command
from synthesis.findings import front_page
from synthesis.findings.effects import EFFECTS, against_baseline
from synthesis.findings.intervals import Interval, over_both, over_runs
from synthesis.findings.slider import slider


def reader(tables):
    """Return a function that reads made-up rows as `findings.committed` reads committed rows."""

    def read(name, **where):
        rows = pd.DataFrame(tables[name])
        for column, value in where.items():
            several = [value] if isinstance(value, str) else value
            rows = rows[rows[column].isin(several)] if column in rows else rows
        return rows

    return read


def calibration(closed, open_set):
    """Return ECEs of five runs: 0.1 and 0.4 before scaling, which removes some shares."""
    before = {"closed-set": 0.1, "open-set": 0.4}
    removed = {"closed-set": closed, "open-set": open_set}
    shared = {"metric": "ece", "variant": "primary", "backbone": "b"}
    rows = []
    for method, error in before.items():
        for run, share in enumerate(removed[method]):
            number = shared | {"run": run, "method": method}
            rows.append(number | {"calibration": "before", "value": error})
            rows.append(number | {"calibration": "after", "value": error * (1 - share)})
    rows += [{"metric": "unknown", "variant": "primary", "value": 0.4}]
    return reader({"small/openset_calibration": rows})


SPREAD = np.array([-0.02, -0.01, 0.0, 0.01, 0.02])


def test_the_shares_that_temperature_scaling_removes():
    numbers = EFFECTS["temperature"](calibration(0.8 + SPREAD, 0.2 + 2 * SPREAD))
    assert numbers["closed"] == approx((80, 78.04, 81.96), abs=0.01)  # t of 4 degrees, 2.776
    assert numbers["open"] == approx((20, 16.07, 23.93), abs=0.01)
    assert numbers["gap"] == approx((60, 58.04, 61.96), abs=0.01)
    assert (numbers["networks"], numbers["unknown"]) == (5, approx(40))
    assert (numbers["open_before"], numbers["open_after"]) == (approx(40), approx(32))


def test_a_finding_is_refused_if_an_interval_includes_zero():
    with pytest.raises(ValueError, match=r"temperature: the results do not show it.*of open"):
        findings.find("temperature", calibration(0.8 + SPREAD, 0.01 + 2 * SPREAD))


def test_one_network_in_five_is_compared_with_the_mean_of_its_members():
    """The jackknife of five independent runs is the variance of their mean."""
    areas = np.array([0.05, 0.051, 0.049, 0.052, 0.048])
    draws = np.zeros(3)
    rows = [{"variant": "primary", "method": "baseline", "run": run, "value": area}
            for run, area in enumerate(areas)]  # fmt: skip
    rows += [{"variant": "primary", "method": "ensemble", "run": 0, "value": 0.03}]
    gains = [0.0200, 0.0201, 0.0199, 0.0202, 0.0198]
    for run, gain in enumerate(gains):
        others = np.delete(areas, run).mean()
        rows.append({"variant": "without one run", "method": "ensemble", "run": run,
                     "value": others - gain})  # fmt: skip
    rows = pd.DataFrame(rows).assign(bootstrap=[draws] * len(rows))
    change = against_baseline(rows, "ensemble")
    spread = np.sqrt(4 / 5 * np.sum((100 * (np.array(gains) - 0.02)) ** 2))
    assert change == approx((-2, -2 - 2.776 * spread, -2 + 2.776 * spread), abs=1e-4)


def test_mean_ranks_have_the_interval_of_their_replicates():
    """Two networks; on the second, half of the replicates have the other order."""
    values = {"msp": (0.1, 0.1), "nci": (0.2, 0.2), "fdbd": (0.3, 0.3)}
    rows = []
    for test_set, metric in (("test", "aurc"), ("near", "auroc"), ("far", "auroc")):
        for score, pair in values.items():
            for backbone, value in zip("ab", pair, strict=True):
                swapped = {"msp": 0.2, "nci": 0.1, "fdbd": 0.3}[score] if backbone == "b" else value
                rows.append({"test_set": test_set, "metric": metric, "variant": "primary",
                             "calibration": "before", "method": f"baseline/{score}",
                             "backbone": backbone, "value": value,
                             "bootstrap": [value, swapped] * 20})  # fmt: skip
    numbers = EFFECTS["all_rounders"](reader({"pretrained/synthesis": rows}))
    assert numbers["msp_mistakes"] == Interval(1, 1, 1.5)
    assert numbers["msp_far"] == Interval(3, 2.5, 3)
    assert (numbers["best_mistakes"], numbers["best_far"]) == (["msp"], ["fdbd"])
    assert (numbers["first"], numbers["worst_first"]) == ("nci", Interval(2, 1.5, 2))


def test_intervals_over_runs_images_and_pairs():
    assert over_runs([1.0, 1.0, 1.0]) == (1, 1, 1)
    alone = over_both(0.0, 1.0, 10)
    both = over_both(0.0, 1.0, 10, [-1.0, 1.0])
    assert both.high == approx(np.sqrt(2) * alone.high)
    assert not Interval(0.1, -0.1, 0.3).has_a_sign
    assert Interval(-0.2, -0.3, -0.1).has_a_sign


@pytest.mark.parametrize("name", findings.TEXTS)
def test_the_committed_results_show_each_finding(name):
    """Each sentence has numbers with intervals, and no braces of a template."""
    finding = findings.find(name)
    assert re.search(r"\d \[|% \[", finding.sentence)
    assert not re.search(r"[{}]|undecided|nan", finding.sentence + finding.scope)
    assert len(finding.title.split()) <= 12
    assert finding.scope.endswith(".")


def test_the_command_prints_the_named_findings(capsys):
    command.main(["temperature", "one_quantile"])
    printed = capsys.readouterr().out
    assert [line.split(":")[0] for line in printed.splitlines() if line[:1] > " "] == [
        "temperature", "one_quantile",
    ]  # fmt: skip
    assert " ".join(findings.find("temperature").sentence.split()) in " ".join(printed.split())
    with pytest.raises(SystemExit):
        command.main(["temperatur"])


def test_the_page_has_each_finding_with_at_most_twelve_lines_of_code():
    """In the order of the texts; a reader may change the code, so no line is hidden."""
    page = ROOT / "notebooks" / "synthesis" / "findings.ipynb"
    headings = re.findall(r"^## (.*)$", source(page, "markdown"), re.M)
    assert headings[:-2] == [texts["title"] for texts in findings.TEXTS.values()]
    drawn = [cell for cell in cells(page, "code") if "plt.show()" in cell["source"]]
    assert len(drawn) == len(findings.TEXTS)
    for name, cell in zip(findings.TEXTS, drawn, strict=True):
        assert len(cell["source"].splitlines()) <= 12, name
        assert cell["tags"] == ["nbval-ignore-output"]
        assert "committed(" in cell["source"] or "packs()" in cell["source"]
        assert f'state("{name}")' in source(page)


def test_the_slider_moves_bars_of_real_outputs():
    """At 95 % of the correct answers; a stricter threshold accepts fewer errors of each kind."""
    pack = FeaturePack.read(EMBEDDED / "resnet20.akamaster_cifar10.safetensors")
    page = slider(pack).data
    data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', page)[1])
    shares = np.array(data["shares"])
    start = data["positions"].index(95)
    assert shares.shape == (6, 51)
    assert (np.diff(shares, axis=1) >= 0).all()
    # as the front picture, which has the mean over four networks
    expected = front.resample_shares(pack, "fdbd")
    assert shares[1::2, start] == approx(
        [100 * expected[kind][0] for kind in ("mistakes", "near", "far")], abs=1
    )
    assert re.findall(r"<span>(\d+) %", page) == [str(share) for share in shares[:, start]]
    assert "http" not in page


def test_the_front_shows_findings_and_no_open_question():
    """README and front page; the verdicts are in the ledger."""
    pages = [ROOT / "README.md", ROOT / "book" / "intro.md"]
    texts = [page.read_text("utf-8") for page in pages] + [front_page.parts()["front"]]
    assert not re.search(r"undecided|not testable", " ".join(texts))
    for name in front_page.PICTURES:
        finding = findings.find(name)
        for text in (texts[0], texts[2]):
            assert f"**{finding.title}.** {finding.sentence}" in text
            assert f"_static/{name}.svg" in text
