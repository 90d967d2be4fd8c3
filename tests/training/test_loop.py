import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from helpers import checkpoints
from helpers.data import Images, ImageStream
from helpers.networks import models
from helpers.networks.inference import compute
from helpers.networks.recipe import Recipe
from helpers.training import loop, objectives
from helpers.training.augmentation import PADDING, crop_and_flip, pad
from helpers.training.batches import batches_of
from helpers.training.loop import learning_rate, train

TINY = Recipe(width=4, stem_stride=2, epochs=3, batch_size=8, learning_rate=0.05)


def problem(n=40, classes=3, size=16):
    """Images whose class is their brightness, so that a few steps learn something."""
    labels = np.arange(n) % classes
    pixels = np.random.default_rng(0).integers(0, 40, (n, size, size, 3))
    pixels = (pixels + labels[:, None, None, None] * 80).astype(np.uint8)
    return Images(pixels, labels, tuple(map(str, range(classes))), "brightness", "train")


def weights(recipe=TINY, seed=0, **options):
    classifier = models.create(recipe, 3, seed=seed)
    history = train(classifier, problem(), recipe, seed=seed, progress=False, **options)
    return checkpoints.digest(classifier.state_dict()), history


def test_learns_and_keeps_a_learning_curve():
    _, history = weights(Recipe.from_parameters(TINY.as_dict(), epochs=8))
    assert history["epoch"].tolist() == list(range(1, 9))
    assert history["loss"].iloc[-1] < 0.5 * history["loss"].iloc[0]
    assert history["accuracy"].iloc[-1] > 0.8
    assert set(history) == {"epoch", "loss", "accuracy", "learning_rate", "seconds"}


class Killed(BaseException):
    """Stands for the signal that nothing can catch."""


PATCHED = {"depth": 1, "width": 32, "stem_stride": 4, "image_size": 16}


@pytest.mark.parametrize(
    "changed",
    [
        {"schedule": "cosine"},
        {"schedule": "multistep"},
        {"momentum": 0.0},
        {"optimiser": "adamw", "learning_rate": 0.01},
        {"backbone": "vit", **PATCHED},
        {"backbone": "resmlp", **PATCHED},
    ],
)
def test_a_killed_run_resumes_to_the_very_same_weights(tmp_path, monkeypatch, changed):
    recipe = Recipe.from_parameters(TINY.as_dict() | changed)
    whole, curve = weights(recipe)
    path = tmp_path / "a.partial"
    epoch = loop._epoch

    def killed(*arguments):
        if arguments[-1] == 2:
            raise Killed
        return epoch(*arguments)

    monkeypatch.setattr(loop, "_epoch", killed)
    with pytest.raises(Killed):
        weights(recipe, checkpoint=path, checkpoint_seconds=0)
    ran = []
    monkeypatch.setattr(loop, "_epoch", lambda *a: ran.append(a[-1]) or epoch(*a))
    resumed, continued = weights(recipe, checkpoint=path, checkpoint_seconds=0)
    assert ran == [2]
    assert resumed == whole
    assert continued["loss"].tolist() == curve["loss"].tolist()


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


def test_an_infinite_loss_names_the_step_and_the_learning_rate(monkeypatch):
    class Breaks(objectives.ERM):
        step = -1

        def __call__(self, classifier, batch):
            loss, logits = super().__call__(classifier, batch)
            self.step += 1
            return (loss * math.nan if self.step == 7 else loss), logits

    monkeypatch.setattr(objectives, "create", lambda name: Breaks())
    with pytest.raises(FloatingPointError, match=r"nan at step 7 \(epoch 2\) with learning rate 0"):
        weights()


def test_labels_that_the_network_does_not_have_are_refused():
    images = problem()
    with pytest.raises(ValueError, match="labels: 0 to 2 expected, got -1 to 1"):
        train(models.create(TINY, 3), replace(images, labels=images.labels - 1), TINY)
    with pytest.raises(ValueError, match="labels: 0 to 1 expected, got 0 to 2"):
        train(models.create(TINY, 2), images, TINY)


def test_schedules():
    recipe = Recipe(learning_rate=1.0, warmup_epochs=1.0)
    rates = [learning_rate(recipe, step, 100, 10) for step in range(100)]
    assert rates[0] == pytest.approx(1 / 11) and rates[10] == 1.0
    assert rates[55] == pytest.approx(0.5) and rates[99] < 0.001
    assert all(a >= b for a, b in itertools.pairwise(rates[10:]))
    steps = Recipe(schedule="multistep", learning_rate=1.0, warmup_epochs=0.0)
    rates = [learning_rate(steps, step, 8, 1) for step in range(8)]
    assert rates == pytest.approx([1, 1, 1, 1, 0.1, 0.1, 0.01, 0.01])
    steps = replace(steps, milestones=(0.6, 0.8))  # shares of all epochs
    rates = [learning_rate(steps, step, 200, 1) for step in (0, 119, 120, 159, 160)]
    assert rates == pytest.approx([1, 1, 0.1, 0.1, 0.01])


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
    for y, x in itertools.product(range(2 * PADDING + 1), repeat=2):
        window = padded[2, y : y + 8, x : x + 8].permute(2, 0, 1)
        windows[window.contiguous().numpy().tobytes()] = (y, x, False)
        windows[window.flip(2).contiguous().numpy().tobytes()] = (y, x, True)
    seen = [windows[image.contiguous().numpy().tobytes()] for image in batch]
    assert len(set(seen)) > 90  # of 162
    assert 60 < sum(flipped for *_, flipped in seen) < 140
    plain = crop_and_flip(images, torch.tensor([3, 1]), (8, 8), (), generator)
    assert torch.equal(plain, images[[3, 1]].permute(0, 3, 1, 2))


def test_a_border_is_black_or_a_reflection():
    images = replace(problem(), images=np.full((40, 16, 16, 3), 255, np.uint8))
    black = {}
    for crop in ("crop", "crop_zeros"):
        recipe = replace(TINY, augmentation=(crop,))
        order, generator = torch.arange(40), torch.Generator().manual_seed(0)
        (batch,) = batches_of(images, recipe, "cpu").take(order, 40, generator)
        black[crop] = (batch == 0).all(dim=1)
    assert not black["crop"].any()
    rows, columns = (black["crop_zeros"].all(dim=axis).sum(dim=1) for axis in (1, 2))
    assert rows.max() == columns.max() == PADDING and rows.min() == 0
    # black from one side alone, as a shift leaves it
    kept = (16 - rows) * (16 - columns)
    assert torch.equal(kept, (~black["crop_zeros"]).sum(dim=(1, 2)))
    pixels = torch.randint(0, 256, (2, 8, 6, 3), dtype=torch.uint8)
    around = [(0, 0), (PADDING, PADDING), (PADDING, PADDING), (0, 0)]
    assert np.array_equal(pad(pixels, zeros=True), np.pad(pixels, around))


@pytest.fixture
def stream(tmp_path, monkeypatch):
    """A folder of photographs of one colour a class, of different sizes."""
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "cache"))
    for number in range(18):
        colour = [(200, 30, 30), (30, 200, 30), (30, 30, 200)][number % 3]
        path = tmp_path / "photographs" / "rgb"[number % 3] / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (40 + number, 50), colour).save(path)
    return ImageStream.scan(tmp_path / "photographs")


def test_a_stream_trains_resumes_and_is_evaluated_like_images(stream, tmp_path):
    recipe = Recipe.from_parameters(TINY.as_dict(), image_size=16, batch_size=6, epochs=4)
    digests = []
    for seconds in (60, 0):
        classifier = models.create(recipe, 3)
        path = tmp_path / f"{seconds}.partial"
        history = train(
            classifier, stream, recipe, checkpoint=path, checkpoint_seconds=seconds, progress=False
        )
        assert history["accuracy"].iloc[-1] > 0.8
        digests.append(checkpoints.digest(classifier.state_dict()))
    again = models.create(recipe, 3)
    train(again, stream, recipe, checkpoint=path, progress=False)
    assert digests[0] == digests[1] == checkpoints.digest(again.state_dict())
    outputs = compute(classifier, stream, image_size=16, batch_size=5)
    assert len(outputs) == 18 and (outputs.labels == stream.labels).all()
    assert outputs.correct.mean() > 0.8
