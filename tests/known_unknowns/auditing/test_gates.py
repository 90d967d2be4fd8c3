"""A requirement holds where the whole interval of its number does."""

import numpy as np
import pytest

from known_unknowns.auditing import audit
from known_unknowns.auditing.gates import NUMBERS, judge, read_requirement


@pytest.fixture
def found(inputs):
    return audit(inputs, risk=0.2, replicates=50)


def test_the_bound_decides_and_not_the_number(found):
    value, low, high = found.accuracy
    assert low < value < high
    between, above = (low + value) / 2, (value + high) / 2
    texts = [f"accuracy>={low}", f"accuracy>={between}", f"accuracy<={above}", f"accuracy<={high}"]
    judged = judge(found, texts)
    assert [one.holds for one in judged] == [True, False, False, True]
    assert judged[0][1:4] == found.accuracy


def test_every_number_can_be_required(found):
    judged = judge(found, [f"{name}<=1" for name in NUMBERS])
    assert all(one.holds and one.low <= one.value <= one.high for one in judged)
    named = {one.requirement.partition("<")[0]: one for one in judged}
    assert named["risk"][1:4] == found.thresholds["risk"].risk
    own = found.confirmed.query("metric == 'aurc' and set == ''")["value"].item()
    assert named["aurc"].value == own


def test_without_a_set_the_worst_one_decides(inputs):
    """The one whose interval reaches furthest to the wrong side."""
    sets = inputs.ood | {"like ID": inputs.validation.subset(slice(0, 100))}
    found = audit(type(inputs)(**{**vars(inputs), "ood": sets}), risk=0.2, replicates=50)
    each = judge(found, [f"auroc:{name}>=0.5" for name in sets])
    (every,) = judge(found, ["auroc>=0.5"])
    assert every[1:] == min(each, key=lambda one: one.low)[1:]
    (most,) = judge(found, ["fpr95<=0.5"])
    assert most.high == max(one.high for one in judge(found, [f"fpr95:{n}<=1" for n in sets]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("accuracy", "NAME>=NUMBER or NAME<=NUMBER expected, got 'accuracy'"),
        ("accuracy>0.9", "NAME>=NUMBER"),
        ("accuracy>=90", "between 0 and 1 expected, got 'accuracy>=90'; 90 % is 0.9"),
        ("accuracy>=nan", "between 0 and 1 expected"),
        ("accuracy>=high", "between 0 and 1 expected"),
        ("auro>=0.9", "unknown number to require 'auro'; did you mean 'auroc'"),
        ("accuracy:pets>=0.9", "accuracy is of no set"),
        ("auroc:pet>=0.9", "unknown set of unknown images 'pet'; did you mean 'pets'"),
    ],
)
def test_what_cannot_be_required_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        read_requirement(text, ["pets"])


def test_a_coverage_can_be_required_at_a_risk(inputs):
    """At any risk, or at the wished one; what cannot be promised does not hold."""
    found = audit(inputs, risk=0.2, replicates=5)
    texts = ["coverage_at_risk_0.2>=0.1", "coverage_at_risk>=0.1", "coverage_at_risk_0.001>=0"]
    at, wished, never = judge(found, texts)
    assert at[1:4] == wished[1:4] == found.thresholds["risk"].coverage and at.holds
    assert np.isnan(never.value) and not never.holds
    for wrong in ("coverage_at_risk_2>=0.5", "coverage_at_risk_low>=0.5"):
        with pytest.raises(ValueError, match="a risk between 0 and 1 expected"):
            judge(found, [wrong])
