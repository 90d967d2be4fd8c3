import numpy as np
import pytest
import torch
from torch import nn

from helpers.networks.heads import (
    Certificates,
    Imitation,
    MixingGap,
    MultiHead,
    RBFHead,
    TargetGap,
)
from helpers.training import objectives
from helpers.training.objectives.erm import Batch


class Fixed(nn.Module):
    """A classifier whose features are its inputs, and whose head is what it is given."""

    def __init__(self, head=None, native=None):
        super().__init__()
        self.head, self.native, self.backbone = head or nn.Identity(), native, self

    def get_classifier(self):
        return self.head

    def features(self, inputs):
        return inputs.flatten(1)

    def forward(self, inputs):
        return self.head(self.features(inputs))


def batch_of(inputs, labels, drawn=()):
    labels = torch.tensor(labels)
    return Batch(
        torch.as_tensor(inputs), labels, torch.arange(len(labels)), torch.tensor(0.0),
        torch.as_tensor(drawn),
    )  # fmt: skip


def linear(weight):
    """Return a layer without bias."""
    layer = nn.Linear(len(weight[0]), len(weight), bias=False)
    layer.weight.data = torch.tensor(weight)
    return layer


def test_mixup_by_hand():
    """Two images whose four pixels are their logits, and a quarter or half of the other one."""
    inputs = torch.zeros(2, 4, 1, 1)
    inputs[0, 0] = 4.0
    loss, logits = objectives.create("mixup")(Fixed(), batch_of(inputs, [0, 1], [0.75, 0.5]))
    assert logits.tolist() == [[3, 0, 0, 0], [2, 0, 0, 0]]
    normal = [np.log(np.exp(3) + 3), np.log(np.exp(2) + 3)]
    first = 0.75 * (normal[0] - 3) + 0.25 * normal[0]  # classes 0 and 1
    second = 0.5 * normal[1] + 0.5 * (normal[1] - 2)  # classes 1 and 0
    assert loss.item() == pytest.approx((first + second) / 2)


@pytest.mark.parametrize("alpha", [0.3, 2.0])
def test_mixup_draws_from_the_beta_distribution(alpha):
    """Mean 1/2 and variance 1 / (4 (2 alpha + 1)), a share for each image, by the generator."""
    objective = objectives.create("mixup", alpha=alpha)
    one, again, other = (
        objective.draw(20000, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1)
    )
    assert torch.equal(one, again) and not torch.equal(one, other)
    assert one.min() >= 0 and one.max() <= 1
    assert one.mean().item() == pytest.approx(0.5, abs=0.01)
    assert one.var().item() == pytest.approx(1 / (4 * (2 * alpha + 1)), rel=0.03)


def test_the_measure_of_mixup_by_hand():
    """One pixel in three channels, a share of one half, and a mean image of zeros."""
    native = MixingGap(2)
    native.shares = torch.tensor([0.5])
    native.learn(np.array([[[[0, 0, 0]]]] * 4, np.uint8), np.array([0, 0, 0, 1]))
    classifier = Fixed(linear([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    shown = torch.tensor([2 * np.log(3), 0.0, 7.0], dtype=torch.float32).view(1, 3, 1, 1)
    found = native(classifier, shown, shown.flatten(1), classifier(shown))
    # f(x) = (0.9, 0.1), f(x / 2) = (0.75, 0.25), and the mean label is (0.75, 0.25)
    assert found.item() == pytest.approx(-2 * (0.75 - (0.9 + 0.75) / 2) ** 2, rel=1e-4)


def test_rnd_by_hand():
    """Student and teacher are one linear layer each: errors of 1 and 2 for the one image."""
    native = Imitation(2, width=2, depth=1)
    native.student[0] = linear([[1.0, 0.0], [0.0, 1.0]])
    native.teacher[0] = linear([[0.0, 0.0], [0.0, 3.0]])
    features = torch.ones(1, 2)
    error = objectives.create("rnd", weight=0.5).error(native, features)
    assert error.item() == pytest.approx(0.5 * (1 + 4) / 2)
    assert native(None, None, features, None).item() == -5


def test_oc_by_hand():
    """Certificates x and 2 y: squares 1 and 4; the mean square of W W' - I is 9 / 4."""
    native = Certificates(2, width=2, depth=1)
    native.student[0] = linear([[1.0, 0.0], [0.0, 2.0]])
    features = torch.ones(1, 2)
    error = objectives.create("oc", weight=0.5, penalty=2.0).error(native, features)
    assert error.item() == pytest.approx(0.5 * (1 + 4) / 2 + 2 * 9 / 4)
    assert native(None, None, features, None).item() == -5


def test_soft_labels_by_hand():
    """K = 3, probabilities 0.5, 0.25, 0.25 and targets 0.8, 0.1, 0.1."""
    logits = torch.tensor([[np.log(2), 0.0, 0.0]], dtype=torch.float32)
    loss, _ = objectives.create("soft_labels", positive=0.8)(Fixed(), batch_of(logits, [0]))
    assert loss.item() == pytest.approx(0.8 * np.log(2) + 0.2 * np.log(4))
    loss, _ = objectives.create("soft_labels", positive=1)(Fixed(), batch_of(logits, [0]))
    assert loss.item() == pytest.approx(np.log(2))
    found = TargetGap(positive=0.8)(None, None, None, logits)
    assert found.item() == pytest.approx(-(0.3**2))


def test_rbf_by_hand():
    """Linear functions 0 and 1 give the logits 1 and 1 / e."""
    head = RBFHead(linear([[0.0], [1.0]]))
    loss, logits = objectives.create("rbf")(Fixed(head), batch_of(torch.ones(1, 1), [0]))
    assert logits[0].tolist() == pytest.approx([1, np.exp(-1)])
    assert loss.item() == pytest.approx(np.log(1 + np.exp(np.exp(-1) - 1)), rel=1e-6)


def test_mimo_by_hand():
    """Two heads, each of which answers for its own image's pixels; two images of two pixels."""
    head = MultiHead(linear([[1.0], [1.0]]), 2)
    head.linear = linear(np.eye(4, dtype=np.float32).tolist())
    objective = objectives.create("mimo", subnetworks=2, batch_repetition=1)
    shown = torch.tensor([[np.log(3), 0.0], [0.0, 0.0]], dtype=torch.float32).view(2, 2, 1, 1)
    loss, logits = objective(Fixed(head), batch_of(shown, [0, 1], [[0, 1], [1, 0]]))
    # each head sees each image once: probabilities 3/4 of class 0, and 1/2 of class 1
    assert loss.item() == pytest.approx(-(np.log(0.75) + np.log(0.5)))
    assert torch.equal(logits, shown.flatten(1))  # the first head's, of the images in order
    both = head(torch.tensor([[np.log(3), 0.0, 0.0, 0.0]], dtype=torch.float32))
    assert both.exp()[0].tolist() == pytest.approx([(0.75 + 0.5) / 2, (0.25 + 0.5) / 2])


@pytest.mark.parametrize("repetition", [0.0, 0.5, 1.0])
def test_mimo_shows_each_head_each_image_as_often(repetition):
    """And the share of examples that is asked for the same one to all heads."""
    objective = objectives.create(
        "mimo", subnetworks=3, input_repetition=repetition, batch_repetition=2
    )
    shown = objective.draw(200, torch.Generator().manual_seed(0))
    assert shown.shape == (3, 400) and shown[0].tolist() == [*range(200)] * 2
    assert all((head.bincount() == 2).all() for head in shown)
    same = (shown == shown[0]).float().mean(dim=1)
    assert same[1:].tolist() == pytest.approx([repetition] * 2, abs=0.03)
    assert repetition == 1 or not torch.equal(shown[1], shown[2])
    assert torch.equal(shown, objective.draw(200, torch.Generator().manual_seed(0)))
