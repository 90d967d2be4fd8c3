"""Published networks are those of their authors: files, names of tensors, and what is computed.

The authors' definitions stand here once more, each as a function that computes with tensors under
the names and in the order of their code.  A made-up file has these tensors, drawn at random; the
network that is loaded from it must say what the function says.
"""

import dataclasses

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from helpers import checkpoints
from helpers.networks import published, zoo

RECORDS = published.records()


class Drawn:
    """Layers whose tensors are drawn when they are asked for, and kept under their names."""

    def __init__(self):
        self.tensors = {}
        self.generator = torch.Generator().manual_seed(0)

    def draw(self, name, *shape, spread=1.0, around=0.0):
        values = around + spread * torch.randn(shape, generator=self.generator)
        self.tensors[name] = values
        return values

    def conv(self, x, name, outputs, size, stride=1, groups=1, bias=False):
        inputs = x.shape[1] // groups
        spread = (2 / (inputs * size**2)) ** 0.5
        weight = self.draw(f"{name}.weight", outputs, inputs, size, size, spread=spread)
        shift = self.draw(f"{name}.bias", outputs) if bias else None
        return F.conv2d(x, weight, shift, stride, size // 2, groups=groups)

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

    def conv_norm(self, x, conv, norm, *arguments, **options):
        return self.norm(self.conv(x, conv, *arguments, **options), norm)


def resnet(net, x, classes, *, blocks):
    """Basic blocks, and shortcuts that are padded with zeros."""
    x = net.conv_norm(x, "conv1", "bn1", 16, 3).relu()
    for stage, width in enumerate((16, 32, 64), start=1):
        for block in range(blocks):
            at, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            y = net.conv_norm(x, f"{at}.conv1", f"{at}.bn1", width, 3, stride).relu()
            y = net.conv_norm(y, f"{at}.conv2", f"{at}.bn2", width, 3)
            if stride == 2:
                zeros = torch.zeros(len(x), width // 4, *y.shape[2:])
                x = torch.cat([zeros, x[:, :, ::2, ::2], zeros], dim=1)
            x = (x + y).relu()
    return net.linear(x.mean((2, 3)), "linear", classes)


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


# what the authors' code builds, by author and architecture
DEFINITIONS = {
    "akamaster": {f"resnet{6 * n + 2}": (resnet, {"blocks": n}) for n in (3, 5, 7, 9)},
    "dice": {"densenet100": (densenet, {})},
}
# normalisation, and one file of each author as the author's own code names it


def parts(name):
    """Return architecture and author of a network."""
    base, rest = name.split(".")
    return base, rest.partition("_cifar")[0]


def made_up(name):
    """Return images, the tensors of the author's definition, and what it says of these images."""
    base, author = parts(name)
    record = RECORDS[name]
    images = torch.randint(0, 256, (2, 3, 32, 32), generator=torch.Generator().manual_seed(1))
    mean, std = (torch.tensor(one).view(3, 1, 1) for one in (record.mean, record.std))
    definition, arguments = DEFINITIONS[author][base]
    net, classes = Drawn(), 100 if "cifar100" in name else 10
    with torch.inference_mode():
        logits = definition(net, (images / 255 - mean) / std, classes, **arguments)
    return images.byte(), {key: one.clone() for key, one in net.tensors.items()}, logits


def write(author, tensors, path):
    """Write tensors as the author's code does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    old = {"_use_new_zipfile_serialization": False}  # of versions before 1.6
    if author == "akamaster":
        bare = {f"module.{key}": one for key, one in tensors.items() if "tracked" not in key}
        torch.save({"best_prec1": 91.7, "state_dict": bare}, path, **old)
    else:
        torch.save({"epoch": 100, "state_dict": tensors}, path)


def load(name, tensors, monkeypatch):
    """Load a network whose record has the digest of made-up tensors."""
    changed = dataclasses.replace(RECORDS[name], digest=checkpoints.digest(tensors))
    monkeypatch.setattr(published, "records", lambda: {name: changed})
    return zoo.load(name, device="cpu", progress=False)


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("NETWORK_ROOT", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", RECORDS)
def test_a_file_of_the_authors_makes_the_authors_network(name, root, monkeypatch, caplog):
    """Found at its own path, read by its own names, and equal in what it says."""
    images, tensors, expected = made_up(name)
    path = root / RECORDS[name].files[0]
    write(parts(name)[1], tensors, path)
    weights = {key: one for key, one in tensors.items() if not key.endswith("batches_tracked")}
    network = load(name, weights, monkeypatch)
    assert network.source.endswith(f"file {path.name}") and not caplog.records
    assert len(network.class_names) == expected.shape[1]
    with torch.inference_mode():
        logits = network.classifier(images)
        features = network.classifier.features(images)
    tolerance = 1e-3 * expected.abs().max().item()
    np.testing.assert_allclose(logits, expected, atol=tolerance)
    linear = features.numpy() @ network.head.weight.T + network.head.bias
    np.testing.assert_allclose(linear, expected, atol=tolerance)
