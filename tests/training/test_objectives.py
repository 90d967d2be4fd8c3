import numpy as np
import pytest
import torch
from torch import nn

from helpers import checkpoints
from helpers.data import Images
from helpers.networks import models
from helpers.networks.recipe import OBJECTIVES, Recipe
from helpers.training import objectives
from helpers.training.loop import train
from helpers.training.objectives.augmix import jensen_shannon_divergence
from helpers.training.objectives.crl import ranking_loss
from helpers.training.objectives.edl import evidential_losses
from helpers.training.objectives.erm import Batch

TINY = Recipe(width=4, stem_stride=2, epochs=3, batch_size=8, learning_rate=0.05)


class Fixed(nn.Module):
    """A classifier whose logits are its inputs."""

    def forward(self, inputs):
        return inputs


def loss_of(objective, logits, labels, *, indices=None, epochs=0.0):
    """Return loss and logits of one batch."""
    indices = torch.arange(len(labels)) if indices is None else torch.tensor(indices)
    batch = Batch(
        torch.tensor(logits), torch.tensor(labels), indices, torch.tensor(epochs)
    )  # fmt: skip
    return objective(Fixed(), batch)


def images(n=24, classes=3, seed=0):
    pixels = np.random.default_rng(seed).integers(0, 256, (n, 16, 16, 3), dtype=np.uint8)
    return Images(pixels, np.arange(n) % classes, ("a", "b", "c"), "noise", "train")


def test_erm_is_the_mean_cross_entropy():
    loss, logits = loss_of(objectives.create("erm"), [[0.0, 0.0], [np.log(3), 0.0]], [0, 1])
    assert loss.item() == pytest.approx((np.log(2) + np.log(4)) / 2)
    assert logits.shape == (2, 2)


def test_crl_by_hand():
    """Two images in the third epoch of four; the first was right once, the second twice."""
    objective = objectives.create("crl", weight=2.0)
    objective.start(3, 4, "cpu")
    objective.right[:2] = torch.tensor([1.0, 2.0])
    logits = [[np.log(9), 0.0], [0.0, np.log(1.5)]]  # confidences 0.9 and 0.6
    loss, _ = loss_of(objective, logits, [0, 0])
    cross_entropy = (-np.log(0.9) - np.log(0.4)) / 2
    # either way round, the pair's confidences differ by 0.3 the wrong way, their shares by 0.25
    assert loss.item() == pytest.approx(cross_entropy + 2 * 0.55, rel=1e-5)
    assert objective.right.tolist() == [2, 2, 0]


def test_crl_draws_equal_shares_together_and_leaves_a_right_order_alone():
    one = torch.tensor([1.0, 1.0])
    assert ranking_loss(torch.tensor([0.9, 0.5]), one).item() == pytest.approx(0.4)
    assert ranking_loss(torch.tensor([0.5, 0.5]), one).item() == 0
    assert ranking_loss(torch.tensor([0.9, 0.5]), torch.tensor([0.75, 0.5])).item() == 0


def test_crl_history_counts_an_image_each_epoch(tmp_path):
    """At most once an epoch, and put back when training goes on from a checkpoint."""
    seen = {}
    for stopped in (False, True):
        path = tmp_path / f"{stopped}.partial"
        classifier = models.create(TINY, 3)
        recipe = Recipe.from_parameters(TINY.as_dict(), objective="crl")
        train(classifier, images(), recipe, checkpoint=path, checkpoint_seconds=0, progress=False)
        tensors, information = checkpoints.load(path)
        assert len(information["epochs"]) == 2
        assert tensors["objective.right"].max() in (1, 2)
        if stopped:  # its last epoch once more, from the checkpoint of the second
            classifier = models.create(TINY, 3)
            train(classifier, images(), recipe, checkpoint=path, progress=False)
        seen[stopped] = checkpoints.digest(classifier.state_dict())
    assert seen[True] == seen[False]


def test_edl_by_hand():
    """K = 2, z = (log 3, 0): alpha = (4, 2), S = 6."""
    logits = torch.tensor([[np.log(3.0), 0.0]])
    likelihood, divergence = evidential_losses(logits, torch.tensor([0]))
    assert likelihood.item() == pytest.approx(np.log(6) - np.log(4))
    # KL(Dir(1, 2) || Dir(1, 1)): the density is 2 x, so the integral of 2 x log(2 x)
    assert divergence.item() == pytest.approx(np.log(2) - 0.5)
    for epochs, share in ((0.0, 0.0), (2.5, 0.25), (30.0, 1.0)):
        loss, _ = loss_of(objectives.create("edl", weight=0.5), logits.tolist(), [0], epochs=epochs)
        expected = np.log(1.5) + 0.5 * share * (np.log(2) - 0.5)
        assert loss.item() == pytest.approx(expected, rel=1e-5)


def test_edl_needs_a_ramp():
    with pytest.raises(ValueError, match="ramp_epochs: a positive number expected, got 0"):
        objectives.create("edl", ramp_epochs=0)


def test_edl_clips_logits():
    loss, _ = evidential_losses(torch.tensor([[1e4, -1e4]]), torch.tensor([1]))
    assert torch.isfinite(loss)


def test_outlier_exposure_by_hand():
    objective = objectives.create("outlier_exposure", weight=0.5)
    logits = [[0.0, 0.0], [np.log(3), 0.0], [0.0, 0.0]]  # one image, then two outliers
    loss, own = loss_of(objective, logits, [1], indices=[0])
    outliers = ((np.log(4) - np.log(3) / 2) + np.log(2)) / 2
    assert loss.item() == pytest.approx(np.log(2) + 0.5 * outliers)
    assert own.shape == (1, 2)


def test_outlier_exposure_sees_twice_as_many_outliers_as_images(monkeypatch):
    """All of them, when there are fewer than are needed, and no labels of theirs."""
    recipe = Recipe.from_parameters(
        TINY.as_dict(), objective="outlier_exposure", epochs=1, augmentation=()
    )
    outliers = images(n=10, seed=1)
    sizes, shown = [], set()
    views = objectives.outlier_exposure.OutlierExposure.views

    def noted(self, pictures, others, generator):
        sizes.append((len(pictures), len(others)))
        shown.update(other.numpy().tobytes() for other in others.permute(0, 2, 3, 1))
        return views(self, pictures, others, generator)

    monkeypatch.setattr(objectives.outlier_exposure.OutlierExposure, "views", noted)
    train(models.create(recipe, 3), images(), recipe, outliers=outliers, progress=False)
    assert sizes == [(8, 16)] * 3
    assert shown == {image.tobytes() for image in outliers.images}


def test_augmix_by_hand():
    objective = objectives.create("augmix", weight=12.0)
    logits = [[0.0, 0.0], [0.0, 0.0], [np.log(3), 0.0]]  # clean, and two mixed versions
    loss, own = loss_of(objective, logits, [0], indices=[0])
    p = np.array([[0.5, 0.5], [0.5, 0.5], [0.75, 0.25]])
    divergence = (p * np.log(p / p.mean(axis=0))).sum(axis=1).mean()
    assert loss.item() == pytest.approx(np.log(2) + 12 * divergence, rel=1e-5)
    assert own.shape == (1, 2)


def test_the_divergence_of_equal_distributions_is_zero():
    p = torch.softmax(torch.randn(1, 4, 5), dim=2).expand(3, -1, -1)
    assert jensen_shannon_divergence(p).item() == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("name", objectives.names())
def test_each_learns_resumes_and_repeats_itself(name, tmp_path):
    """Same seed, same weights, whether interrupted or not."""
    recipe = Recipe.from_parameters(TINY.as_dict(), objective=name, epochs=2)
    digests = []
    for number in range(2):
        classifier = models.create(recipe, 3)
        history = train(
            classifier, images(), recipe, outliers=images(n=20, seed=1),
            teacher=models.create(TINY, 3, seed=9), progress=False,
            checkpoint=tmp_path / f"{number}", checkpoint_seconds=0 if number else 60,
        )  # fmt: skip
        assert np.isfinite(history["loss"]).all()
        digests.append(checkpoints.digest(classifier.state_dict()))
    classifier = models.create(recipe, 3)
    train(
        classifier, images(), recipe, outliers=images(n=20, seed=1),
        teacher=models.create(TINY, 3, seed=9), progress=False,
        checkpoint=tmp_path / "1",
    )  # fmt: skip
    assert digests[0] == digests[1] == checkpoints.digest(classifier.state_dict())


def test_bad_input_is_refused():
    recipe = Recipe.from_parameters(TINY.as_dict(), objective="outlier_exposure")
    with pytest.raises(ValueError, match="outliers: objective 'outlier_exposure' needs them"):
        train(models.create(recipe, 3), images(), recipe, progress=False)
    recipe = Recipe.from_parameters(TINY.as_dict(), objective="distillation")
    with pytest.raises(ValueError, match="teacher: objective 'distillation' needs one"):
        train(models.create(recipe, 3), images(), recipe, progress=False)
    recipe = Recipe.from_parameters(TINY.as_dict(), objective="outlier_exposure")
    small = Images(np.zeros((4, 8, 8, 3), np.uint8), np.zeros(4, np.int64), ("a",), "s", "train")
    with pytest.raises(ValueError, match=r"outliers: images of \(16, 16\) pixels expected"):
        train(models.create(recipe, 3), images(), recipe, outliers=small, progress=False)
    with pytest.raises(ValueError, match="unknown objective 'clr'; did you mean 'crl'"):
        objectives.create("clr")
    with pytest.raises(ValueError, match="did you mean 'weight'"):
        objectives.create("crl", wieght=1)
    with pytest.raises(ValueError, match="objective 'erm' has no arguments, got 'weight'"):
        objectives.create("erm", weight=1)


def test_a_recipe_knows_every_objective():
    assert sorted(OBJECTIVES) == objectives.names()
