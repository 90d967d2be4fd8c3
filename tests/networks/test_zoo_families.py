"""Further published networks for CIFAR-10, held against plain functional calls without our code.

Networks that are not under NETWORK_ROOT skip their test.
"""

import pytest
import torch
from torch.nn import functional as F

from helpers import data
from helpers.networks import zoo, zoo_cifar, zoo_records
from tests.networks.test_zoo_imagenet import drawn


def conv(w, x, name, padding="same", **options):
    return F.conv2d(x, w[f"{name}.weight"], w.get(f"{name}.bias"), padding=padding, **options)


def norm(w, x, name):
    keys = ("running_mean", "running_var", "weight", "bias")
    return F.batch_norm(x, *(w[f"{name}.{key}"] for key in keys))


def linear(w, x, name):
    return F.linear(x.mean((2, 3)), w[f"{name}.weight"], w[f"{name}.bias"])


def lmfrnet(w, x):
    def unit(x, at):
        return norm(w, conv(w, x, f"{at}.conv"), f"{at}.norm").relu()

    stem = "features.stemBlock.stemConv"
    x = norm(w, conv(w, x, f"{stem}.0"), f"{stem}.1").relu()
    for block, layers in enumerate((3, 4, 8, 3), start=1):
        for layer in range(1, layers + 1):
            at = f"features.MMCBlock{block}.mmLayer{layer}.branch"
            a = unit(unit(x, f"{at}11"), f"{at}33a")
            b = unit(a, f"{at}33b")
            x = torch.cat([x, a, b, unit(b, f"{at}33c")], dim=1)
        x = unit(x, f"features.tran_ConvNormRelu{block}")
        x = F.avg_pool2d(x, 2) if block < 4 else x
    return linear(w, x, "classifier")


def tiniest(w, x):
    def layer_norm(x, at):
        weight = w[f"{at}.ln.weight"]
        return F.layer_norm(x.movedim(1, -1), weight.shape, weight, w[f"{at}.ln.bias"]).movedim(
            -1, 1
        )

    x = layer_norm(conv(w, x, "conv1"), "ln1")
    for block in range(1, 7):
        if block == 4:
            x = layer_norm(conv(w, x, "dsconv", padding=1, stride=2, groups=16), "ln2")
        at = f"l{block}"
        a, b, c, d = x.chunk(4, dim=1)
        groups = a.shape[1]
        b = conv(w, b, f"{at}.dwconv1", groups=groups)
        c = conv(w, c, f"{at}.dwconv2", groups=groups)
        d = F.avg_pool2d(d, 3, stride=1, padding=1)
        d = conv(w, d, f"{at}.dwconv3", dilation=3, groups=groups)
        y = layer_norm(torch.cat([a, b, c, d], dim=1), f"{at}.ln")
        u, v = conv(w, y, f"{at}.fc1").chunk(2, dim=1)
        x = conv(w, torch.tanh(torch.exp(u)) * u * v, f"{at}.fc2") + x * w[f"{at}.rs"]
    return linear(w, x, "fc")


PLAIN = {
    "lmfrnet.santosantonio1_cifar10": lmfrnet,
    "tiniest.thales_cifar10": tiniest,
}


@pytest.mark.parametrize("plain", [lmfrnet, tiniest])
def test_an_architecture_with_random_weights_computes_what_plain_calls_compute(plain):
    """Everywhere, also without the files of the authors."""
    architecture = plain.__name__
    weights = zoo_cifar.BUILDERS[architecture].build(10).state_dict()
    tensors = drawn({name: tensor.shape for name, tensor in weights.items() if tensor.ndim})
    images = torch.randn((2, 3, 32, 32), generator=torch.Generator().manual_seed(1))
    network = zoo_cifar.create(architecture, 10, tensors)
    with torch.inference_mode():
        expected = plain(tensors, images)
        computed = network(images)
    assert expected.std() > 0
    torch.testing.assert_close(computed, expected, atol=1e-5, rtol=1e-3)


@pytest.mark.parametrize("name", PLAIN)
def test_logits_equal_the_result_of_plain_functional_calls(name):
    record = zoo_records.find(name)
    try:
        tensors = zoo_records.read_tensors(record.locate())
    except FileNotFoundError as error:
        pytest.skip(str(error))
    mean, std = (torch.tensor(values).view(3, 1, 1) for values in (record.mean, record.std))
    images = data.load("cifar10_mini", "test").subset(range(32))
    pixels = torch.tensor(images.images).movedim(-1, 1)
    weights = {key: tensor.float() for key, tensor in tensors.items()}
    expected = PLAIN[name](weights, (pixels / 255 - mean) / std)
    outputs = zoo.load(name, device="cpu", progress=False).outputs(images)
    torch.testing.assert_close(torch.tensor(outputs.logits), expected, atol=1e-3, rtol=1e-3)
