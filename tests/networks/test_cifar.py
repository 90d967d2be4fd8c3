"""The published DenseNets compute what their authors' code computes, with random weights.

The function `densenet` repeats the authors' definition, with the names and order of their tensors.
"""

import dataclasses

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from helpers import checkpoints
from helpers.networks import published, zoo


class Drawn:
    """Layers whose tensors are drawn when they are asked for, and kept under their names."""

    def __init__(self):
        self.tensors = {}
        self.generator = torch.Generator().manual_seed(0)

    def draw(self, name, *shape, spread=1.0, around=0.0):
        values = around + spread * torch.randn(shape, generator=self.generator)
        self.tensors[name] = values
        return values

    def conv(self, x, name, outputs, size):
        spread = (2 / (x.shape[1] * size**2)) ** 0.5
        weight = self.draw(f"{name}.weight", outputs, x.shape[1], size, size, spread=spread)
        return F.conv2d(x, weight, None, 1, size // 2)

    def norm(self, x, name):
        """With statistics near those of x, so that values neither grow nor vanish in the depth."""
        channels = x.shape[1]
        weight = self.draw(f"{name}.weight", channels, spread=0.1, around=1)
        bias = self.draw(f"{name}.bias", channels, spread=0.1)
        mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3), unbiased=False)
        mean = mean + self.draw("mean", channels, spread=0.1)
        variance = 0.1 + variance * (1 + self.draw("factor", channels, spread=0.1).abs())
        del self.tensors["mean"], self.tensors["factor"]
        self.tensors |= {f"{name}.running_mean": mean, f"{name}.running_var": variance}
        self.tensors[f"{name}.num_batches_tracked"] = torch.tensor(7)
        return F.batch_norm(x, mean, variance, weight, bias)

    def linear(self, x, name, outputs):
        weight = self.draw(f"{name}.weight", outputs, x.shape[1], spread=x.shape[1] ** -0.5)
        return F.linear(x, weight, self.draw(f"{name}.bias", outputs))


def densenet(net, x, classes):
    x = net.conv(x, "conv1", 24, 3)
    for block in (1, 2, 3):
        for layer in range(16):
            at = f"block{block}.layer.{layer}"
            y = net.conv(net.norm(x, f"{at}.bn1").relu(), f"{at}.conv1", 48, 1)
            y = net.conv(net.norm(y, f"{at}.bn2").relu(), f"{at}.conv2", 12, 3)
            x = torch.cat([x, y], dim=1)
        if block < 3:
            at = f"trans{block}"
            y = net.norm(x, f"{at}.bn1").relu()
            x = F.avg_pool2d(net.conv(y, f"{at}.conv1", x.shape[1] // 2, 1), 2)
    return net.linear(net.norm(x, "bn1").relu().mean((2, 3)), "fc", classes)


@pytest.mark.parametrize("name", ["densenet100.dice_cifar10", "densenet100.dice_cifar100"])
def test_a_file_of_the_authors_makes_the_authors_network(name, tmp_path, monkeypatch):
    """The network loads from the author's file, and computes what the author's code computes."""
    monkeypatch.setenv("NETWORK_ROOT", str(tmp_path))
    record, net, classes = published.records()[name], Drawn(), 100 if "cifar100" in name else 10
    images = torch.randint(0, 256, (2, 3, 32, 32), generator=torch.Generator().manual_seed(1))
    mean, std = (torch.tensor(one).view(3, 1, 1) for one in (record.mean, record.std))
    with torch.inference_mode():
        expected = densenet(net, (images / 255 - mean) / std, classes)
    tensors = {key: one.clone() for key, one in net.tensors.items()}
    path = tmp_path / record.files[0]
    path.parent.mkdir(parents=True)
    torch.save({"epoch": 100, "state_dict": tensors}, path)
    weights = {key: one for key, one in tensors.items() if not key.endswith("batches_tracked")}
    changed = dataclasses.replace(record, digest=checkpoints.digest(weights))
    monkeypatch.setattr(published, "records", lambda: {name: changed})
    network = zoo.load(name, device="cpu", progress=False)
    with torch.inference_mode():
        logits = network.classifier(images.byte())
        features = network.classifier.features(images.byte())
    tolerance = 1e-3 * expected.abs().max().item()
    np.testing.assert_allclose(logits, expected, atol=tolerance)
    linear = features.numpy() @ network.head.weight.T + network.head.bias
    np.testing.assert_allclose(linear, expected, atol=tolerance)
