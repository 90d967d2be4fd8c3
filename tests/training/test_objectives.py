import numpy as np
import pytest
import torch
from torch import nn

from helpers.data import Images
from helpers.networks import models
from helpers.training import objectives
from helpers.training.loop import train
from helpers.training.objectives.crl import ranking_loss
from helpers.training.objectives.edl import evidential_losses
from helpers.training.objectives.erm import Batch


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


def test_outlier_exposure_by_hand():
    objective = objectives.create("outlier_exposure", weight=0.5)
    logits = [[0.0, 0.0], [np.log(3), 0.0], [0.0, 0.0]]  # one image, then two outliers
    loss, own = loss_of(objective, logits, [1], indices=[0])
    outliers = ((np.log(4) - np.log(3) / 2) + np.log(2)) / 2
    assert loss.item() == pytest.approx(np.log(2) + 0.5 * outliers)
    assert own.shape == (1, 2)


def test_augmix_by_hand():
    objective = objectives.create("augmix", weight=12.0)
    logits = [[0.0, 0.0], [0.0, 0.0], [np.log(3), 0.0]]  # clean, and two mixed versions
    loss, own = loss_of(objective, logits, [0], indices=[0])
    p = np.array([[0.5, 0.5], [0.5, 0.5], [0.75, 0.25]])
    divergence = (p * np.log(p / p.mean(axis=0))).sum(axis=1).mean()
    assert loss.item() == pytest.approx(np.log(2) + 12 * divergence, rel=1e-5)
    assert own.shape == (1, 2)


@pytest.mark.parametrize("name", objectives.names())
def test_each_learns_resumes_and_repeats_itself(name, tmp_path, trained):
    """Same seed, same weights, whether interrupted or not."""
    digests = set()
    for number, seconds in (("0", 60), ("1", 0), ("1", 60)):  # the last goes on from the second
        kept = {"checkpoint": tmp_path / number, "checkpoint_seconds": seconds}
        digests.add(trained(name, options=kept).digest)
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("objective", "side", "message"),
    [
        ("outlier_exposure", None, "outliers: objective 'outlier_exposure' needs them"),
        ("distillation", None, "teacher: objective 'distillation' needs one"),
        ("outlier_exposure", 8, r"outliers: images of \(16, 16\) pixels expected"),
    ],
)
def test_what_an_objective_needs_is_asked_for(objective, side, message, images, recipe_of):
    recipe = recipe_of(objective)
    outliers = side and Images(
        np.zeros((4, side, side, 3), np.uint8), np.zeros(4, int), "a", "s", "t"
    )
    with pytest.raises(ValueError, match=message):
        train(models.create(recipe, 3), images(), recipe, outliers=outliers, progress=False)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("clr", {}, "unknown objective 'clr'; did you mean 'crl'"),
        ("crl", {"wieght": 1}, "did you mean 'weight'"),
        ("erm", {"weight": 1}, "objective 'erm' has no arguments, got 'weight'"),
        ("edl", {"ramp_epochs": -1}, "ramp_epochs: at least 0 expected, got -1"),
        ("augmix", {"shear_centre": 16}, "shear_centre: 0 to 1 expected, got 16"),
        ("augmix", {"stored": 1}, "stored: 0, or a whole number from 2 on, expected, got 1"),
        ("augmix", {"stored": 2.5}, "stored: 0, or a whole number from 2 on, expected, got 2.5"),
        ("mixup", {"alpha": 0}, "alpha: a positive number expected, got 0"),
        ("adversarial", {"radius": -0.5}, "radius: at least 0 expected, got -0.5"),
        ("adversarial", {"steps": 0}, "steps: a whole number, at least 1, expected, got 0"),
        ("autoaugment", {"groups": 2.5}, "groups: a whole number, at least 1, expected, got 2.5"),
        ("distillation", {"temperature": 0}, "temperature: a positive number expected, got 0"),
        ("distillation", {"weight": 2}, "weight: a number from 0 to 1 expected, got 2"),
        ("noise", {"speckle": -1}, "speckle: at least 0 expected, got -1"),
        ("noise", {"share": 1.5}, "share: a number from 0 to 1 expected, got 1.5"),
        ("stylised", {"strength": np.nan}, "strength: a number from 0 to 1 expected, got nan"),
        ("rnd", {"weight": -1}, "weight: at least 0 expected, got -1"),
        ("oc", {"penalty": np.nan}, "penalty: at least 0 expected, got nan"),
        ("mimo", {"input_repetition": 1.5}, "input_repetition: a number from 0 to 1"),
        ("mimo", {"batch_repetition": np.inf}, "batch_repetition: a whole number"),
        ("soft_labels", {"positive": 128}, "positive: above 0 and at most 1 expected, got 128"),
    ],
)
def test_wrong_names_and_arguments_are_refused(name, arguments, message):
    with pytest.raises(ValueError, match=message):
        objectives.create(name, **arguments)
