"""A promise that reckons with unknown images, and what the unlabelled ones say."""

from dataclasses import replace

import numpy as np
import pytest

from known_unknowns.auditing import audit
from known_unknowns.auditing.summary import findings, summary
from known_unknowns.auditing.thresholds import draw_mixture, promise_risk
from known_unknowns.without_labels import share_bound

RISK, LEVEL, SHARE = 0.2, 0.1, 0.1


def grown(generator, known, unknown):
    """Return scores in [0, 1]: half of the known images are sure, and unknown ones are not."""
    scores = generator.random(known)
    # a quarter of those below 0.5 is wrong, and none above
    correct = (scores > 0.5) | (generator.random(known) > 0.25)
    return (
        scores,
        correct,
        {"a": 0.6 * generator.random(unknown), "b": 0.5 * generator.random(unknown)},
    )


def true_risk(threshold):
    """Return the share of wrong answers among those accepted, by the law of `grown`."""
    t = threshold
    below = max(0.5 - t, 0)
    known, wrong = 1 - t, 0.25 * below
    unknown = (max(0.6 - t, 0) / 0.6 + below / 0.5) / 2
    return ((1 - SHARE) * wrong + SHARE * unknown) / ((1 - SHARE) * known + SHARE * unknown)


def test_the_promise_holds_with_unknown_images_and_without_a_share_it_does_not():
    """Two sides, of 300 draws: broken no more often than allowed, and not for lack of trying."""
    generator, draws = np.random.default_rng(0), 300
    assert true_risk(0.0) > RISK  # who accepts everything breaks it
    broken, kept = {0.0: 0, SHARE: 0}, []
    for seed in range(draws):
        scores, correct, ood = grown(generator, 900, 200)
        for unknown in broken:
            found = promise_risk(scores, correct, ood, RISK, 1 - LEVEL, unknown=unknown, seed=seed)
            assert not found.problem
            broken[unknown] += true_risk(found.value) > RISK
        kept.append(found.coverage[0])
    allowed = LEVEL * draws + 3 * np.sqrt(LEVEL * (1 - LEVEL) * draws)
    assert broken[0.0] > 0.9 * draws
    assert broken[SHARE] <= allowed
    best = min(t for t in np.linspace(0, 0.99, 1000) if true_risk(t) <= RISK)
    assert 1 - best - 0.15 < np.mean(kept) <= 1 - best  # hardly more is given away than must be


def test_a_mixture_has_the_shares_that_it_should():
    generator = np.random.default_rng(0)
    scores, correct, ood = grown(generator, 900, 200)
    drawn = [draw_mixture(scores, correct, ood, SHARE, seed=seed) for seed in range(200)]
    images = {len(one) for one, _ in drawn}
    assert len(images) == 1  # how many does not depend on the draw
    unknown = [np.isin(one, np.concatenate(list(ood.values()))).mean() for one, _ in drawn]
    error = np.std(unknown) / np.sqrt(len(unknown))
    assert abs(np.mean(unknown) - SHARE) < 4 * error
    same, right = draw_mixture(scores, correct, {}, 0.0)
    assert same is scores and right is correct


def test_without_unknown_images_a_share_is_refused(inputs):
    for given, share, message in (
        (replace(inputs, ood={}), 0.1, "share: images of unknown classes expected"),
        (inputs, 1.0, "share: at least 0 and below 1 expected, got 1.0"),
    ):
        with pytest.raises(ValueError, match=message):
            audit(given, unknown_share=share, tell=lambda line: pytest.fail(line))


def test_the_report_says_what_is_promised_and_what_the_unlabelled_images_say(inputs):
    """They are unknown for the most part, which contradicts the share that was stated."""
    found = audit(inputs, risk=0.3, unknown_share=0.05, replicates=5)
    said = found.as_dict()
    assert "as long as at most 5 % of the images are of such classes" in summary(found)[3]
    assert found.rejector.provenance["promise"].startswith("Of images that are accepted, where up")
    least = share_bound(found.samples["validation"], found.samples["production"])
    assert said["unlabelled"]["least"] == least > 0.05
    assert [one["name"] for one in said["doubts"]] == ["share"]
    (section,) = [one for one in findings(found) if one.name == "unlabelled"]
    text = " ".join([section.sentence, *section.details])
    assert f"At least {100 * least:.1f} %" in text and "every estimate is too high" in text
    listed = said["unlabelled"]["listed"]
    scores = found.samples["production"]
    assert len(listed) > 20 and scores[listed].max() < np.delete(scores, listed).min()
    without = audit(inputs, risk=0.3, replicates=5)
    assert "(`--share`)" in findings(without)[-2].advice and not without.doubts


def test_of_known_images_nothing_is_said(inputs, group):
    found = audit(replace(inputs, production=group(300, 77)), risk=0.3, replicates=5)
    assert found.unlabelled.least < 0.05
    _, low, high = found.unlabelled.accuracy["difference"]
    assert low < group(300, 77).correct.mean() < high
