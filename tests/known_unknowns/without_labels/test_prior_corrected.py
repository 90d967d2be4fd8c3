import numpy as np
import pytest

from helpers.labelfree import METRICS
from helpers.metrics import RankedGroups, auroc, fpr_at_tpr
from known_unknowns.without_labels import fit_prior_corrected


@pytest.mark.parametrize("digits", [8, 1, 0])  # without ties, with some, with few values alone
def test_with_the_mixtures_own_known_images_the_inverse_is_exact(digits):
    generator = np.random.default_rng(0)
    known = generator.normal(size=300).round(digits)
    unknown = generator.normal(-1, 1, 200).round(digits)
    found = fit_prior_corrected(known, share=0.4).estimate(np.concatenate([known, unknown]))
    groups = RankedGroups.of(known, unknown)
    for metric, one in found.items():
        assert one.value == pytest.approx(METRICS[metric](groups), abs=1e-12)


def draw(generator, share, known=400, images=400, shift=1.5):
    unknown = generator.random(images) < share
    return generator.normal(size=known), generator.normal(size=images) - shift * unknown


TRUTHS = {"auroc": 0.8556, "fpr95": 0.5576}  # Φ(1.5 / √2), and 1 - Φ(1.5 - 1.6449)


@pytest.mark.parametrize("share", [0.2, 1])
def test_intervals_at_a_known_share_cover_as_often_as_they_say(share):
    generator, covered = np.random.default_rng(2), []
    for _ in range(60):
        validation, mixture = draw(generator, share, 150, 200)
        found = fit_prior_corrected(validation, share=share).estimate(mixture, level=0.8)
        covered.append([found[name].low <= TRUTHS[name] <= found[name].high for name in TRUTHS])
    assert (np.abs(np.mean(covered, axis=0) - 0.8) <= 0.12).all()


@pytest.mark.parametrize("share", [0.2, 0.7])
def test_intervals_at_a_known_share_cover_the_metric_of_these_very_images(share):
    """Which hangs on the known images among them, as the estimate does."""
    generator, covered = np.random.default_rng(6), []
    for _ in range(120):
        known, unknown = generator.normal(size=(2, 200))
        pair = known[: round(200 * (1 - share))], unknown[: round(200 * share)] - 1.5
        found = fit_prior_corrected(generator.normal(size=150), share=share).estimate(
            np.concatenate(pair), level=0.8
        )
        truths = {"auroc": auroc(*pair), "fpr95": fpr_at_tpr(*pair)}
        covered.append([found[name].low <= truths[name] <= found[name].high for name in truths])
    assert (np.abs(np.mean(covered, axis=0) - 0.85) <= 0.1).all()


def test_intervals_at_an_estimated_share_cover_and_still_say_something():
    generator, covered, widths = np.random.default_rng(3), [], []
    for _ in range(25):
        validation, mixture = draw(generator, 0.5)
        found = fit_prior_corrected(validation).estimate(mixture, level=0.8)
        covered.append([found[name].low <= TRUTHS[name] <= found[name].high for name in TRUTHS])
        widths.append([found[name].high - found[name].low for name in TRUTHS])
    assert (np.mean(covered, axis=0) >= 0.8).all()
    assert (np.mean(widths, axis=0) < (0.4, 0.7)).all()


def test_without_an_image_that_is_unlike_them_nothing_is_excluded():
    validation = np.random.default_rng(5).normal(size=500)
    found = fit_prior_corrected(validation).estimate(validation)
    assert found["auroc"].value == pytest.approx(0.5) and found["auroc"].high == 1
    assert found["fpr95"].value == pytest.approx(0.95) and found["fpr95"].low == 0
