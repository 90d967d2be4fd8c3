"""The loop, networks that are kept, and exports: the same to the last bit, or refused by name."""

import itertools
import math
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors import safe_open
from safetensors.torch import load, save

from helpers import cache, checkpoints
from helpers.data import Images, ImageStream, write_photographs
from helpers.data.photograph_packs import PackedStream
from helpers.networks import backbones, devices, inference
from helpers.networks.inference import compute
from helpers.networks.recipe import Recipe
from helpers.training import finished_networks, fitted, loop, objectives
from helpers.training.augmentation import PADDING, crop_and_flip, pad
from helpers.training.batches import batches_of
from helpers.training.loop import learning_rate, train
from tests.mistakes import beside, refusals

GIVEN = beside(__file__, "by_hand.yaml")
TINY = Recipe(width=4, stem_stride=2, epochs=3, batch_size=8, learning_rate=0.05)


def problem(n=40):
    """Images whose class is their brightness, so that a few steps learn something."""
    labels = np.arange(n) % 3
    pixels = np.random.default_rng(0).integers(0, 40, (n, 16, 16, 3))
    pixels += 80 * labels.reshape(n, 1, 1, 1)
    return Images(pixels.astype(np.uint8), labels, ("a", "b", "c"), "brightness", "train")


def weights(recipe=TINY, images=None, **options):
    """Train a network; return the digest of its weights, the history and itself."""
    classifier = backbones.create(recipe, 3)
    history = train(classifier, images or problem(), recipe, progress=False, **options)
    return checkpoints.digest(classifier.state_dict()), history, classifier


@pytest.mark.parametrize("changed", GIVEN["changes"])
def test_a_killed_run_resumes_to_the_very_same_weights(tmp_path, monkeypatch, changed):
    recipe = Recipe.from_parameters(TINY.as_dict() | changed)
    whole, curve, _ = weights(recipe)
    kept = {"checkpoint": tmp_path / "a.partial", "checkpoint_seconds": 0}
    epoch = loop._epoch
    ran = []

    def killed(training, number):
        ran.append(number)
        if ran == [0, 1, 2]:
            raise KeyboardInterrupt
        return epoch(training, number)

    monkeypatch.setattr(loop, "_epoch", killed)
    with pytest.raises(KeyboardInterrupt):
        weights(recipe, **kept)
    resumed, continued, _ = weights(recipe, **kept)
    assert ran == [0, 1, 2, 2]
    assert resumed == whole
    assert continued["loss"].tolist() == curve["loss"].tolist()


def test_learns_keeps_a_curve_and_leaves_the_caller_alone():
    """The random state, the threads and the algorithms of torch are as before."""
    torch.manual_seed(3)
    state = torch.random.get_rng_state()
    threads = torch.get_num_threads()
    _, history, _ = weights(replace(TINY, epochs=8))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    assert not torch.are_deterministic_algorithms_enabled()
    assert history["epoch"].tolist() == list(range(1, 9))
    assert history["loss"].iloc[-1] < 0.5 * history["loss"].iloc[0]
    assert history["accuracy"].iloc[-1] > 0.8
    assert set(history) == {"epoch", "loss", "accuracy", "learning_rate", "seconds"}


def test_images_whose_channels_are_reversed_in_a_view_train_as_their_copy_does():
    """BGR images become RGB by such a view, which torch does not take."""
    recipe = replace(TINY, epochs=1, augmentation=())
    view = replace(problem(), images=problem().images[..., ::-1])
    copied = replace(view, images=view.images.copy())
    assert weights(recipe, view)[0] == weights(recipe, copied)[0]


def test_a_damaged_checkpoint_is_named_and_not_used(tmp_path, caplog):
    path = tmp_path / "a.partial"
    weights(checkpoint=path, checkpoint_seconds=0)
    path.write_bytes(path.read_bytes()[:-5])
    assert weights(checkpoint=path)[0] == weights()[0]
    assert str(path) in caplog.text


def test_an_infinite_loss_names_the_step_and_the_learning_rate(monkeypatch):
    losses = itertools.count()
    plain = objectives.ERM.__call__

    def breaks(*arguments):
        loss, logits = plain(*arguments)
        return (loss * math.nan if next(losses) == 7 else loss), logits

    monkeypatch.setattr(objectives.ERM, "__call__", breaks)
    with pytest.raises(FloatingPointError, match=r"nan at step 7 \(epoch 2\) with learning rate 0"):
        weights()


NEEDING = "outlier_exposure", "distillation", "rnd"
OBJECTS = {f"a recipe of {name}": replace(TINY, objective=name) for name in NEEDING}
OBJECTS |= {
    "two classes": backbones.create(TINY, 2),
    "three classes": backbones.create(TINY, 3),
    "tiny": TINY,
    "images": problem(),
    "labels from -1": replace(problem(), labels=problem().labels - 1),
    "small images": replace(problem(), images=problem().images[:, :8, :8]),
}


# impossible laws even where no trial would draw from them
test_wrong_names_arguments_laws_and_images_are_refused = refusals(__file__, OBJECTS)


def test_learning_rates_follow_the_schedule():
    recipe = Recipe(learning_rate=1.0, warmup_epochs=1.0)
    rates = [learning_rate(recipe, step, 100, 10) for step in range(100)]
    assert rates[0] == pytest.approx(1 / 11)
    assert rates[10] == 1.0
    assert rates[55] == pytest.approx(0.5)
    assert rates[99] < 0.001
    assert all(a >= b for a, b in itertools.pairwise(rates[10:]))
    usual = Recipe(schedule="multistep", learning_rate=1.0, warmup_epochs=0.0)
    for changed, steps, rates in GIVEN["rates"]:
        for step, rate in rates.items():
            other = replace(usual, **changed)
            assert learning_rate(other, step, steps, 1) == pytest.approx(rate)


def test_the_optimiser_has_the_settings_of_the_recipe():
    for changed, expected in GIVEN["optimisers"]:
        optimiser = loop.optimiser_of(torch.nn.Linear(1, 1), replace(TINY, **changed), "cpu")
        assert expected.items() <= optimiser.param_groups[0].items()


def test_crops_are_windows_of_the_padded_image_and_flips_mirror_them():
    images = torch.randint(0, 256, (4, 9, 8, 3), dtype=torch.uint8)
    padded = torch.from_numpy(pad(images.numpy(), ("crop",)))
    generator = torch.Generator().manual_seed(0)
    indices = torch.tensor([2] * 200)
    batch = crop_and_flip(padded, indices, (9, 8), ("crop", "flip"), generator)
    assert batch.is_contiguous(memory_format=torch.channels_last)
    windows = {}
    for y, x in itertools.product(range(2 * PADDING + 1), repeat=2):
        window = padded[2, y : y + 9, x : x + 8].permute(2, 0, 1)
        windows |= {window.numpy().tobytes(): 0, window.flip(2).numpy().tobytes(): 1}
    seen = [image.numpy().tobytes() for image in batch]
    assert len({*seen}) > 90
    assert {*seen} <= {*windows}  # of 162
    assert 60 < sum(windows[image] for image in seen) < 140
    plain = crop_and_flip(images, torch.tensor([3, 1]), (9, 8), (), generator)
    assert torch.equal(plain, images[[3, 1]].permute(0, 3, 1, 2))


def test_a_border_is_black_or_a_reflection():
    """Black from one side alone, as a shift leaves it."""
    images = replace(problem(), images=np.full((40, 16, 16, 3), 255, np.uint8))

    def black(crop):
        batches = batches_of(images, replace(TINY, augmentation=(crop,)), "cpu")
        (batch,) = batches.take(torch.arange(40), 40, torch.Generator().manual_seed(0))
        return (batch == 0).all(dim=1)

    assert not black("crop").any()
    zeros = black("crop_zeros")
    rows, columns = (zeros.all(dim=axis).sum(dim=1) for axis in (1, 2))
    assert rows.max() == columns.max() == PADDING
    assert rows.min() == 0
    assert torch.equal((16 - rows) * (16 - columns), (~zeros).sum(dim=(1, 2)))


@pytest.mark.parametrize("packed", [False, True])
def test_a_stream_trains_resumes_and_is_evaluated_like_images(tmp_path, root, packed):
    """A folder of photographs of one colour a class, of different sizes."""
    for colour in ("red", "green", "blue"):
        (folder := tmp_path / "photographs" / colour).mkdir(parents=True)
        for n in range(6):
            Image.new("RGB", (40 + n, 50), colour).save(folder / f"{n}.jpg")
    stream = ImageStream.scan(folder.parent)
    if packed:
        write_photographs(pack := folder.with_name("test.bytes"))
        stream = PackedStream.read(pack)
    recipe = replace(TINY, image_size=16, batch_size=6, epochs=4)
    digest, _, classifier = weights(recipe, stream)
    for seconds in (0, 60):  # the second goes on
        kept = {"checkpoint": tmp_path / "a.partial", "checkpoint_seconds": seconds}
        assert weights(recipe, stream, **kept)[0] == digest
    outputs = compute(classifier, stream, image_size=16, batch_size=5)
    assert (outputs.labels == stream.labels).all()
    assert outputs.correct.mean() > 0.8


SHORT = replace(TINY, epochs=2)


@pytest.fixture
def images(root):
    return problem(24)


def fit(images, recipe=SHORT, **options):
    return fitted.fit(images, recipe, progress=False, **options)


def count(monkeypatch, name, module=fitted):
    calls = []
    function = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *a, **k: calls.append(1) or function(*a, **k))
    return calls


def test_a_network_is_trained_once_and_sees_an_image_once(images, monkeypatch):
    """Another seed, recipe or image is another network."""
    trained = count(monkeypatch, "train")
    computed = count(monkeypatch, "compute", inference)
    first = fit(images)
    again = fit(images)
    assert first.sha256 == again.sha256 == checkpoints.digest(again.classifier.state_dict())
    assert np.array_equal(first.outputs(images).logits, again.outputs(images).logits)
    assert len(trained) == len(computed) == 1
    assert len(first.history) == 2
    assert first.seconds > 0
    changed = replace(images, images=images.images ^ 1)
    others = fit(images, seed=1), fit(images, replace(SHORT, learning_rate=0.1)), fit(changed)
    assert len({first.sha256, *(network.sha256 for network in others)}) == len(trained) == 4


def test_objectives_that_train_an_additional_head_share_the_network_of_erm(images, monkeypatch):
    """One training for the three; a network trained by the loop itself has the same student."""
    trained = count(monkeypatch, "train")
    logits = []
    for name in ("oc", "erm", "rnd"):
        recipe = replace(SHORT, objective=name)
        network = fit(images, recipe)
        classifier = backbones.create(recipe, 3)
        history = loop.train(classifier, images, recipe, progress=False)
        assert checkpoints.digest(classifier.state_dict()) == network.sha256
        assert history.drop(columns="seconds").equals(network.history.drop(columns="seconds"))
        logits.append(network.outputs(images).logits)
        assert name == "erm" or history["error"].is_monotonic_decreasing
    assert len(trained) == 1
    assert np.array_equal(logits[0], logits[1])
    assert np.array_equal(logits[1], logits[2])


def test_a_network_whose_last_step_diverged_is_not_kept(images):
    recipe = replace(SHORT, epochs=1, batch_size=24, learning_rate=1e40)
    with pytest.raises(FloatingPointError, match="not finite after the last step: try a lower"):
        fit(images, recipe)


def test_a_network_is_loaded_or_named_if_training_is_refused(images, monkeypatch):
    network = fit(images)
    monkeypatch.setenv("TRAINING", "refused")
    assert fit(images).sha256 == network.sha256
    with pytest.raises(cache.MissingError, match=r"not there.*brightness with Recipe.*and seed 1"):
        fit(images, seed=1)


def test_short_trainings_are_of_three_epochs_at_most(images, monkeypatch):
    monkeypatch.setenv("TRAINING", "short")
    assert len(fit(images, replace(SHORT, epochs=3)).history) == 3
    with pytest.raises(cache.MissingError, match="not there, and TRAINING=short; the network of"):
        fit(images, replace(SHORT, epochs=4))


def test_training_in_bfloat16_keeps_its_weights_in_float32(images, monkeypatch):
    """Any processor can emulate it: other numbers than float32, a loss that falls."""
    monkeypatch.setattr(devices, "computes_bfloat16", lambda: True)
    recipe = replace(SHORT, epochs=8)
    each = (replace(recipe, precision=precision) for precision in ("bfloat16", "float32", "auto"))
    half, exact, usual = (fit(images, settings, device="cpu") for settings in each)
    assert half.sha256 != exact.sha256 == usual.sha256
    assert {tensor.dtype for tensor in half.weights.values()} == {torch.float32, torch.int64}
    assert half.history["loss"].iloc[-1] < half.history["loss"].iloc[0]
    np.testing.assert_allclose(half.history["loss"], exact.history["loss"], rtol=0.05)


def test_a_damaged_network_is_trained_again_and_other_networks_are_unchanged(images, caplog):
    first = fit(images)
    second = fit(images, seed=1)
    before = second.path.read_bytes()
    first.path.write_bytes(first.path.read_bytes()[:-1])
    assert fit(images).sha256 == first.sha256
    assert second.path.read_bytes() == before
    assert str(first.path) in caplog.text


@pytest.fixture
def exported(images, monkeypatch, tmp_path):
    """Return a network, its export, and the trainings since, in a time of other code."""
    network = fit(images)
    path = tmp_path / "cache/exports/mini/networks/a/0-baseline.safetensors"
    finished_networks.save(network, images, path, commit="abc")
    monkeypatch.setitem(fitted.TRAINING, "erm", "other code")
    return network, path, count(monkeypatch, "train")


def test_an_export_is_found_though_the_code_has_changed(images, exported, monkeypatch, caplog):
    network, path, trained = exported
    with caplog.at_level("INFO"):
        same = fit(images)
    assert same.path == path
    assert not trained
    assert f"found by its recipe, not trained again: {path}" in caplog.text
    logits, again = (each.outputs(images).logits for each in (network, same))
    np.testing.assert_allclose(logits, again, atol=0.02)
    assert same.history.equals(network.history)
    assert same.seconds == network.seconds
    fit(images, seed=1)
    fit(images, replace(SHORT, learning_rate=0.1))
    assert len(trained) == 2
    monkeypatch.setenv("TRAINING", "anew")
    assert fit(images).path.parent.name == "networks"
    assert len(trained) == 3


def test_an_export_records_its_training_and_reproduces_its_accuracy(images, exported):
    network, path, _ = exported
    tensors, about = checkpoints.load(path)
    assert Recipe.from_parameters(about["recipe"]) == SHORT
    names = ("class_names", "commit", "precision", "stored")
    assert [about[name] for name in names] == [["a", "b", "c"], "abc", "float32", "float16"]
    assert about["origin"]["seed"] == 0
    assert about["seconds"] > 0
    assert about["processor"]
    assert len(about["history"]["accuracy"]) == 2
    kinds = {tensors[name].dtype for name, _ in network.classifier.named_parameters()}
    assert kinds == {torch.float16}
    assert tensors["mean"].dtype == torch.float32
    assert fit(images).outputs(images).correct.mean() == about["test_accuracy"]


@pytest.mark.parametrize("tried", [1, 2, 3, 4])
def test_weights_are_as_exact_as_the_accuracy_needs(tried, images, monkeypatch, tmp_path):
    network = fit(images)
    # a weight may be too large for half precision, then outputs are refused
    values = [0.5, *[ValueError, 0.5 + 3e-4, ValueError][: tried - 1], 0.5 + 1e-4]
    monkeypatch.setattr(finished_networks, "_accuracy", Mock(side_effect=values))
    assert finished_networks.save(network, images, tmp_path / "a.safetensors") == 0.5 + 1e-4
    tensors, about = checkpoints.load(tmp_path / "a.safetensors")
    assert about["stored"] == [*finished_networks.FORMATS][tried - 1]
    weights = network.classifier.named_parameters()
    halved = {weight.ndim for name, weight in weights if tensors[name].dtype == torch.float16}
    assert halved == [{1, 2, 4}, {2, 4}, {4}, set()][tried - 1]
    assert (checkpoints.digest(tensors) == network.sha256) == (tried == 4)


def test_a_modified_export_is_rejected_without_a_new_training(images, exported):
    _, path, trained = exported
    whole = path.read_bytes()
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
        tensors = load(whole)
    swapped = save(tensors | {"mean": tensors["mean"] + 1}, metadata)
    flipped = whole[:-1] + bytes([whole[-1] ^ 1])
    renamed = whole.replace(b'"abc', b'"abd')
    for changed in (flipped, b"", swapped, renamed):
        path.write_bytes(changed)
        finished_networks._read.cache_clear()
        with pytest.raises(ValueError, match=r"0-baseline.*modified or is not.*TRAINING=anew"):
            fit(images)
    assert not trained
