import numpy as np
import pytest

from known_unknowns.without_labels import label_shift_share_bound, share_bound

PLACES = np.array([0.0, 0.5, 1.0, 3.0])  # where the scores of each class lie


def draw(generator, known, images, share, weights=(0.25,) * 4, low=-50.0):
    """Scores and classes of validation images of equal shares, and of a mixture of other ones."""
    classes = generator.integers(4, size=known)
    theirs = generator.choice(4, images, p=weights)
    unknown = generator.random(images) < share
    scores = np.where(unknown, low, generator.normal(PLACES[theirs], 1))
    return generator.normal(PLACES[classes], 1), classes, scores, theirs, unknown


WORST = (0.5, 0.5, 0, 0)  # the two that score lowest, twice as frequent as they were


@pytest.mark.parametrize(("share", "weights"), [(0, WORST), (0.3, WORST), (0.3, (0.25,) * 4)])
def test_the_bound_is_kept_whatever_the_shares_of_the_classes(share, weights):
    """Where the bound without label shift is broken more often than it says."""
    generator, broken = np.random.default_rng(0), []
    for _ in range(200):
        validation, classes, mixture, _, _ = draw(generator, 300, 400, share, weights)
        broken.append(
            [
                label_shift_share_bound(validation, classes, mixture, level=0.8) > share,
                share_bound(validation, mixture, level=0.8) > share,
            ]
        )
    ours, plain = np.mean(broken, axis=0)
    assert ours <= 0.2
    assert weights != WORST or plain > 0.5


def test_a_single_image_is_told_by_the_law_of_a_uniform_number():
    """G of the only score of a mixture is uniform, and no validation image lies below it."""
    validation, classes = np.arange(1e6), np.zeros(1_000_000, int)
    found = label_shift_share_bound(validation, classes, [-1.0], times=1, level=0.6)
    assert found == pytest.approx(0.2, abs=1e-4)  # half of the 0.4 each


SCORES, CLASSES = np.arange(40.0), np.arange(40) % 2


@pytest.mark.parametrize(
    ("validation", "classes", "mixture", "options", "named"),
    [([], [], [1.0], {}, "validation: empty"), (SCORES, CLASSES, [np.nan], {}, "mixture: contains"),
     (SCORES, CLASSES[1:], [1.0], {}, "classes: 40 numbers"),
     (SCORES, CLASSES - 1, [1.0], {}, "classes: 40 numbers"),
     (SCORES, CLASSES / 2, [1.0], {}, "classes: 40 numbers"),
     (SCORES, CLASSES, [1.0], {"times": 0.5}, "times: at least 1"),
     (SCORES, CLASSES, [1.0], {"times": np.nan}, "times: at least 1"),
     (SCORES, CLASSES, [1.0], {"level": 95}, "level")],
)  # fmt: skip
def test_bad_input_is_refused(validation, classes, mixture, options, named):
    with pytest.raises(ValueError, match=named):
        label_shift_share_bound(validation, classes, mixture, **options)
