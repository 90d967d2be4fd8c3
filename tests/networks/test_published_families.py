"""Further published networks for CIFAR-10, held against plain functional calls without our code.

Networks that are not under NETWORK_ROOT skip their test.
"""

import pytest
import torch
from torch.nn import functional as F

from helpers import data
from helpers.networks import published, zoo


def weights_of(name):
    try:
        path = published.find(name).locate()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    return {key: tensor.float() for key, tensor in published.read_tensors(path).items()}


def norm(w, x, name):
    values = (w[f"{name}.{key}"] for key in ("running_mean", "running_var", "weight", "bias"))
    return F.batch_norm(x, *values)


def resnet20(w, x):
    x = norm(w, F.conv2d(x, w["conv1.weight"], padding=1), "bn1").relu()
    for stage in (1, 2, 3):
        for block in (0, 1, 2):
            at = f"layer{stage}.{block}"
            stride = 2 if stage > 1 and block == 0 else 1
            y = F.conv2d(x, w[f"{at}.conv1.weight"], stride=stride, padding=1)
            y = norm(w, y, f"{at}.bn1").relu()
            y = norm(w, F.conv2d(y, w[f"{at}.conv2.weight"], padding=1), f"{at}.bn2")
            if stride == 2:
                zeros = torch.zeros(len(x), x.shape[1] // 2, *y.shape[2:])
                x = torch.cat([zeros, x[:, :, ::2, ::2], zeros], dim=1)
            x = (x + y).relu()
    return F.linear(x.mean((2, 3)), w["linear.weight"], w["linear.bias"])


def lmfrnet(w, x):
    def unit(x, at):
        kernel = w[f"{at}.conv.weight"]
        return norm(w, F.conv2d(x, kernel, padding=kernel.shape[2] // 2), f"{at}.norm").relu()

    stem = "features.stemBlock.stemConv"
    x = F.conv2d(x, w[f"{stem}.0.weight"], w[f"{stem}.0.bias"], padding=1)
    x = norm(w, x, f"{stem}.1").relu()
    for block, layers in enumerate((3, 4, 8, 3), start=1):
        for layer in range(1, layers + 1):
            at = f"features.MMCBlock{block}.mmLayer{layer}.branch"
            a = unit(unit(x, f"{at}11"), f"{at}33a")
            b = unit(a, f"{at}33b")
            x = torch.cat([x, a, b, unit(b, f"{at}33c")], dim=1)
        x = unit(x, f"features.tran_ConvNormRelu{block}")
        x = F.avg_pool2d(x, 2) if block < 4 else x
    return F.linear(x.mean((2, 3)), w["classifier.weight"], w["classifier.bias"])


def tiniest(w, x):
    def conv(x, name, **options):
        return F.conv2d(x, w[f"{name}.weight"], w[f"{name}.bias"], **options)

    def layer_norm(x, at):
        variance, mean = torch.var_mean(x, dim=1, keepdim=True, correction=0)
        scale, shift = (w[f"{at}.ln.{key}"].view(1, -1, 1, 1) for key in ("weight", "bias"))
        return (x - mean) / (variance + 1e-5).sqrt() * scale + shift

    x = layer_norm(conv(x, "conv1", padding=1), "ln1")
    for block in range(1, 7):
        if block == 4:
            x = layer_norm(conv(x, "dsconv", stride=2, padding=1, groups=16), "ln2")
        at, part = f"l{block}", x.shape[1] // 4
        a, b, c, d = x.split(part, dim=1)
        b = conv(b, f"{at}.dwconv1", padding=1, groups=part)
        c = conv(c, f"{at}.dwconv2", padding=3, groups=part)
        d = F.avg_pool2d(d, 3, stride=1, padding=1)
        d = conv(d, f"{at}.dwconv3", padding=9, dilation=3, groups=part)
        y = conv(layer_norm(torch.cat([a, b, c, d], dim=1), f"{at}.ln"), f"{at}.fc1")
        u, v = y.split(x.shape[1], dim=1)
        x = conv(torch.tanh(torch.exp(u)) * u * v, f"{at}.fc2") + x * w[f"{at}.rs"]
    return F.linear(x.mean((2, 3)), w["fc.weight"], w["fc.bias"])


CIFAR = ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))
PLAIN = {
    "resnet20.kejeon_cifar10": (resnet20, *CIFAR),
    "resnet20.zlatasm_cifar10": (resnet20, *CIFAR),
    "lmfrnet.santosantonio1_cifar10": (lmfrnet, *CIFAR),
    "tiniest.thales_cifar10": (tiniest, (0.5, 0.5, 0.5), (1.0, 1.0, 1.0)),
}


@pytest.mark.parametrize("name", PLAIN)
def test_logits_are_those_of_plain_functional_calls(name):
    w = weights_of(name)
    function, *statistics = PLAIN[name]
    mean, std = (torch.tensor(values).view(3, 1, 1) for values in statistics)
    images = data.load("cifar10_mini", "test").subset(range(32))
    pixels = torch.from_numpy(images.images).movedim(-1, 1)
    expected = function(w, (pixels / 255 - mean) / std)
    outputs = zoo.load(name, device="cpu", progress=False).outputs(images)
    torch.testing.assert_close(torch.from_numpy(outputs.logits), expected, atol=1e-3, rtol=1e-3)
