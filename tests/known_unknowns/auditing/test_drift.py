"""A drift is found in the score or in the features; without one it is seldom named."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, ks_2samp

from helpers.outputs import Outputs
from known_unknowns.auditing import audit
from known_unknowns.auditing.drift import LEVEL, distance, find_drift


def groups(generator, images, others, *, score=0.0, feature=0.0):
    values, theirs = generator.normal(size=(images, 6)), generator.normal(size=(others, 6))
    theirs[:, 4] += feature
    return generator.normal(size=images), generator.normal(size=others) - score, values, theirs


@pytest.mark.parametrize(("images", "others"), [(40, 60), (300, 150), (500, 2000)])
@pytest.mark.parametrize("decimals", [8, 1])
def test_where_nothing_differs_a_drift_is_seldom_named(images, others, decimals):
    """With ties, too, which make it rarer."""
    generator, draws = np.random.default_rng(images), 300
    named = 0
    for _ in range(draws):
        alike = [one.round(decimals) for one in groups(generator, images, others)]
        named += bool(find_drift(*alike).found())
    assert named <= binom.ppf(0.999, draws, LEVEL)
    if decimals == 8 and images > 40:  # not for want of looking
        assert named >= binom.ppf(0.001, draws, 0.4 * LEVEL)


@pytest.mark.parametrize(
    ("moved", "expected"),
    [({"score": 0.6}, ("score",)), ({"feature": 0.6}, ("features",)),
     ({"score": 0.6, "feature": 0.6}, ("score", "features"))],
)  # fmt: skip
def test_a_drift_is_found_where_it_is(moved, expected):
    generator, draws = np.random.default_rng(7), 40
    found = [find_drift(*groups(generator, 400, 400, **moved)).found() for _ in range(draws)]
    assert sum(one == expected for one in found) >= 0.9 * draws


def test_the_correction_is_for_all_that_was_looked_at():
    generator = np.random.default_rng(8)
    one = groups(generator, 200, 200, feature=0.4)
    many, single = find_drift(*one), find_drift(*one[:2], one[2][:, 4:5], one[3][:, 4:5])
    assert many.features[0] == single.features[0]
    assert many.features[1] == pytest.approx(6 * single.features[1])
    assert many.directions == 6 and many.score == single.score


def test_the_distance_and_its_p_value_are_those_of_scipy():
    """With ties; the p-value is scipy's where there are many images, and larger where few."""
    generator = np.random.default_rng(9)
    for _ in range(20):
        one, other = generator.normal(size=30).round(1), generator.normal(size=50).round(1)
        found = find_drift(one, other, one[:, None], other[:, None])
        assert distance(one, other) == pytest.approx(ks_2samp(one, other).statistic)
        assert found.score[1] >= min(1, 2 * ks_2samp(one, other, method="exact").pvalue)
    one, other = generator.normal(size=4000), generator.normal(0.05, 1, 5000)
    found = find_drift(one, other, one[:, None], other[:, None])
    assert found.score[1] == pytest.approx(2 * ks_2samp(one, other).pvalue, rel=0.05)


def sections_of(found):
    return {one["name"]: one for one in found.as_dict()["findings"]}


def test_the_report_says_whether_and_what_to_do(inputs, group):
    like = replace(inputs, production=replace_labels(group(400, 11)), ood={})
    found = audit(like, risk=0.2, replicates=5)
    section = sections_of(found)["drift"]
    assert "No difference is shown" in section["sentence"] and "no proof" in section["advice"]
    accepted = found.as_dict()["drift"]["accepted"]
    assert f"accepts {100 * accepted[0]:.1f} % of the unlabelled" in section["details"][0]
    assert "not like these" not in found.as_dict()["summary"][3]

    part = group(400, 11)
    moved = Outputs(part.logits, part.features + 1.5 * (np.arange(6) == 5), np.full(400, -1))
    found = audit(replace(like, production=moved), risk=0.2, replicates=5)
    section = sections_of(found)["drift"]
    assert found.drift.found() == ("features",) and "the features differ." in section["sentence"]
    assert "--share" in section["advice"]
    assert "the promise is not about them" in found.as_dict()["summary"][3]


def replace_labels(outputs):
    return Outputs(outputs.logits, outputs.features, np.full(len(outputs), -1))


def test_without_features_the_logits_are_looked_at(inputs, group):
    bare = replace(inputs.validation, features=np.empty((len(inputs.validation), 0)))
    moved = Outputs(group(300, 12).logits[:, ::-1] + 3, np.empty((300, 0)), np.full(300, -1))
    given = replace(inputs, validation=bare, production=moved, ood={}, head=None, train=None)
    section = sections_of(audit(given, risk=0.2, replicates=5))["drift"]
    assert "logits" in section["sentence"] and "features" not in section["sentence"]


def test_without_unlabelled_images_there_is_no_section(inputs):
    found = audit(replace(inputs, production=None), risk=0.2, replicates=5)
    assert found.drift is None and "drift" not in sections_of(found)
