import itertools
import math

import numpy as np
import pytest
import torch

from helpers import checkpoints, models
from helpers.training import loop
from helpers.training.augmentation import PADDING, crop_and_flip, pad
from helpers.training.loop import learning_rate, train
from helpers.training.recipe import Recipe

TINY = Recipe(width=4, stem_stride=2, epochs=3, batch_size=8, learning_rate=0.05)


def problem(n=40, classes=3, size=16):
    """Images whose class is their brightness, so that a few steps learn something."""
    generator = np.random.default_rng(0)
    labels = np.arange(n) % classes
    pixels = generator.integers(0, 40, (n, size, size, 3)) + labels[:, None, None, None] * 80
    return pixels.astype(np.uint8), labels


def weights(recipe=TINY, seed=0, **options):
    classifier = models.create(recipe, 3, seed=seed)
    history = train(classifier, *problem(), recipe, seed=seed, progress=False, **options)
    return checkpoints.digest(classifier.state_dict()), history


def test_learns_and_keeps_a_learning_curve():
    _, history = weights(Recipe.from_parameters(TINY.as_dict(), epochs=8))
    assert history["epoch"].tolist() == list(range(1, 9))
    assert history["loss"].iloc[-1] < 0.5 * history["loss"].iloc[0]
    assert history["accuracy"].iloc[-1] > 0.8
    assert set(history) == {"epoch", "loss", "accuracy", "learning_rate", "seconds"}


def test_same_seed_same_weights_bit_for_bit():
    first, again, other = weights()[0], weights()[0], weights(seed=1)[0]
    assert first == again
    assert first != other


class Killed(BaseException):
    """Stands for the signal that nothing can catch."""


@pytest.mark.parametrize("schedule", ["cosine", "multistep"])
def test_a_killed_run_resumes_to_the_very_same_weights(tmp_path, monkeypatch, schedule):
    recipe = Recipe.from_parameters(TINY.as_dict(), schedule=schedule)
    whole, curve = weights(recipe)
    path = tmp_path / "a.partial"
    epoch = loop._epoch

    def killed(*arguments):
        if arguments[-2] == 2:
            raise Killed
        return epoch(*arguments)

    monkeypatch.setattr(loop, "_epoch", killed)
    with pytest.raises(Killed):
        weights(recipe, checkpoint=path, checkpoint_seconds=0)
    ran = []
    monkeypatch.setattr(loop, "_epoch", lambda *a: ran.append(a[-2]) or epoch(*a))
    resumed, continued = weights(recipe, checkpoint=path, checkpoint_seconds=0)
    assert ran == [2]
    assert resumed == whole
    assert continued["loss"].tolist() == curve["loss"].tolist()


def test_without_momentum_too(tmp_path):
    recipe = Recipe.from_parameters(TINY.as_dict(), momentum=0.0)
    assert weights(recipe, checkpoint=tmp_path / "a", checkpoint_seconds=0)[0] == weights(recipe)[0]


def test_the_callers_random_state_and_threads_are_left_alone():
    torch.manual_seed(3)
    before = torch.random.get_rng_state(), torch.get_num_threads()
    weights()
    assert torch.equal(torch.random.get_rng_state(), before[0])
    assert torch.get_num_threads() == before[1]
    assert not torch.are_deterministic_algorithms_enabled()


def test_a_damaged_checkpoint_is_named_and_not_used(tmp_path, caplog):
    path = tmp_path / "a.partial"
    weights(checkpoint=path, checkpoint_seconds=0)
    path.write_bytes(path.read_bytes()[:-5])
    resumed, _ = weights(checkpoint=path)
    assert str(path) in caplog.text
    assert resumed == weights()[0]


def test_an_infinite_loss_names_the_step_and_the_learning_rate():
    def breaks(classifier, images, labels):
        breaks.step += 1
        loss = torch.nn.functional.cross_entropy(classifier(images), labels)
        return (loss * math.nan if breaks.step == 7 else loss), torch.zeros(len(labels), 3)

    breaks.step = -1
    with pytest.raises(FloatingPointError, match=r"nan at step 7 \(epoch 2\) with learning rate 0"):
        weights(objective=breaks)


def test_bad_arrays_are_refused():
    images, labels = problem()
    classifier = models.create(TINY, 3)
    with pytest.raises(ValueError, match="images: uint8"):
        train(classifier, images / 255, labels, TINY)
    with pytest.raises(ValueError, match="labels: length 40 expected, got 39"):
        train(classifier, images, labels[1:], TINY)
    with pytest.raises(ValueError, match="labels: 0 to 2 expected, got -1 to 1"):
        train(classifier, images, labels - 1, TINY)
    with pytest.raises(ValueError, match="labels: integers expected"):
        train(classifier, images, labels.astype(float), TINY)


def test_schedules():
    recipe = Recipe(learning_rate=1.0, warmup_epochs=1.0)
    rates = [learning_rate(recipe, step, 100, 10) for step in range(100)]
    assert rates[0] == pytest.approx(1 / 11) and rates[10] == 1.0
    assert rates[55] == pytest.approx(0.5) and rates[99] < 0.001
    assert all(a >= b for a, b in itertools.pairwise(rates[10:]))
    steps = [
        learning_rate(Recipe(schedule="multistep", learning_rate=1.0, warmup_epochs=0.0), s, 8, 1)
        for s in range(8)
    ]
    assert steps == pytest.approx([1, 1, 1, 1, 0.1, 0.1, 0.01, 0.01])


def test_crops_are_windows_of_the_padded_image_and_flips_mirror_them():
    images = torch.randint(0, 256, (4, 8, 8, 3), dtype=torch.uint8)
    padded = pad(images)
    assert padded.shape == (4, 16, 16, 3)
    assert torch.equal(padded[:, 4:12, 4:12], images)
    assert torch.equal(padded[:, 3, 4:12], images[:, 1])  # reflected without the edge itself
    generator = torch.Generator().manual_seed(0)
    indices = torch.tensor([2] * 200)
    batch = crop_and_flip(padded, indices, (8, 8), ("crop", "flip"), generator)
    assert batch.shape == (200, 3, 8, 8) and batch.dtype == torch.uint8
    assert batch.is_contiguous(memory_format=torch.channels_last)
    windows = {}
    for y in range(2 * PADDING + 1):
        for x in range(2 * PADDING + 1):
            window = padded[2, y : y + 8, x : x + 8].permute(2, 0, 1)
            windows[window.contiguous().numpy().tobytes()] = (y, x, False)
            windows[window.flip(2).contiguous().numpy().tobytes()] = (y, x, True)
    seen = [windows[image.contiguous().numpy().tobytes()] for image in batch]
    assert len(set(seen)) > 90  # of 162
    assert 60 < sum(flipped for *_, flipped in seen) < 140


def test_no_augmentation_takes_the_images_as_they_are():
    images = torch.randint(0, 256, (4, 8, 8, 3), dtype=torch.uint8)
    batch = crop_and_flip(images, torch.tensor([3, 1]), (8, 8), (), torch.Generator())
    assert torch.equal(batch, images[[3, 1]].permute(0, 3, 1, 2))
