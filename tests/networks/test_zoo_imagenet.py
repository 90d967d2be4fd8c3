"""Published networks of photographs: a few lines of plain torch compute the same logits.

`mobilenet` and `squeezenet` do not use this project.  The printed shares of correct first and
first five answers were measured with other code.
"""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image

from helpers import data
from helpers.networks import zoo, zoo_cifar, zoo_imagenet, zoo_records
from helpers.networks.zoo_imagenet import CentreCrop
from tests.mistakes import beside

SQUEEZENETS = ("squeezenet_1_0.iandola_imagenet", "squeezenet_1_1.iandola_imagenet")
SETS, PRINTED = beside(__file__, "photographs.yaml").values()


def mobilenet(weights, x):
    def layer(x, kernel, name, stride=1, groups=1):
        side = kernel.shape[2] // 2
        padding = (0, 1, 0, 1) if stride == 2 else (side, side, side, side)
        x = F.conv2d(F.pad(x, padding), kernel, stride=stride, groups=groups)
        moments = weights[f"{name}_bn/moving_mean"], weights[f"{name}_bn/moving_variance"]
        scale = weights[f"{name}_bn/gamma"], weights[f"{name}_bn/beta"]
        return F.relu6(F.batch_norm(x, *moments, *scale, eps=0.001))

    x = layer(x / 127.5 - 1, weights["conv1/kernel"].permute(3, 2, 0, 1), "conv1", 2)
    for number in range(1, 14):
        depthwise = weights[f"conv_dw_{number}/depthwise_kernel"].permute(2, 3, 0, 1)
        stride = 2 if number in (2, 4, 6, 12) else 1
        x = layer(x, depthwise, f"conv_dw_{number}", stride, len(depthwise))
        pointwise = weights[f"conv_pw_{number}/kernel"].permute(3, 2, 0, 1)
        x = layer(x, pointwise, f"conv_pw_{number}")
    return x.mean((2, 3)) @ weights["conv_preds/kernel"][0, 0] + weights["conv_preds/bias"]


def squeezenet(weights, x):
    def layer(x, name, **options):
        return F.conv2d(x, weights[f"{name}.weight"], weights[f"{name}.bias"], **options).relu()

    old = "conv_final.weight" in weights
    names = ("conv1x1_1", "conv1x1_2", "conv3x3_2") if old else ()
    narrow, small, large = names or ("squeeze1x1", "expand1x1", "expand3x3")
    x = x[:, [2, 1, 0]] - torch.tensor([104.0, 117.0, 123.0]).view(3, 1, 1)
    x = F.max_pool2d(layer(x, "conv1", stride=2), 3, 2, ceil_mode=True)
    for number in range(2, 10):
        fire = f"fire{number}"
        x = layer(x, f"{fire}/{narrow}")
        x = torch.cat([layer(x, f"{fire}/{small}"), layer(x, f"{fire}/{large}", padding=1)], 1)
        if number in ((4, 8) if old else (3, 5)):
            x = F.max_pool2d(x, 3, 2, ceil_mode=True)
    return layer(x, "conv_final" if old else "conv10", padding=1).mean((2, 3))


def drawn(shapes):
    """Return random tensors; the largest axes of a kernel are the sums of its inputs."""
    generator = torch.Generator().manual_seed(0)
    values = {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    return {
        name: value / (value.numel() / max(value.shape)) ** 0.5 if value.ndim > 1 else value.abs()
        for name, value in values.items()
    }


def mobilenets():
    """Return random tensors as Keras stores them."""
    shapes = {"conv_preds/kernel": (1, 1, 768, 1000), "conv_preds/bias": (1000,)}

    def layer(name, kernel, shape, channels):
        shapes[f"{name}/{kernel}"] = shape
        for kind in ("gamma", "beta", "moving_mean", "moving_variance"):
            shapes[f"{name}_bn/{kind}"] = (channels,)

    layer("conv1", "kernel", (3, 3, 3, 24), 24)
    inputs = 24
    for number, outputs in enumerate((48, 96, 96, 192, 192, *6 * [384], 768, 768), start=1):
        layer(f"conv_dw_{number}", "depthwise_kernel", (3, 3, inputs, 1), inputs)
        layer(f"conv_pw_{number}", "kernel", (1, 1, inputs, outputs), outputs)
        inputs = outputs
    return drawn(shapes)


def squeezenets(version):
    """Return random tensors under the names of each version."""
    end, names = {
        "1.0": ("conv_final", ("conv1x1_1", "conv1x1_2", "conv3x3_2")),
        "1.1": ("conv10", ("squeeze1x1", "expand1x1", "expand3x3")),
    }[version]
    ours = {"classifier.conv": end, ".squeeze": f"/{names[0]}"}
    ours |= {".expand1": f"/{names[1]}", ".expand3": f"/{names[2]}"}
    shapes = {}
    for name, tensor in zoo_imagenet.SqueezeNet(1000, version).state_dict().items():
        for old, new in ours.items():
            name = name.replace(old, new)
        shapes[name] = tensor.shape
    return drawn(shapes)


@pytest.mark.parametrize("version", ["", "1.0", "1.1"])
def test_an_architecture_with_random_weights_computes_what_plain_calls_compute(version):
    """Everywhere, also without the files of the authors; with their names and layouts."""
    tensors = squeezenets(version) if version else mobilenets()
    name, options = ("squeezenet", {"version": version}) if version else ("mobilenet", {})
    network = zoo_cifar.create(name, 1000, tensors, **options)
    pixels = torch.from_numpy(np.random.default_rng(1).integers(256, size=(2, 3, 227, 227))).float()
    if version:
        x = pixels - torch.tensor([123.0, 117.0, 104.0]).view(3, 1, 1)
    else:
        x = pixels / 127.5 - 1
    with torch.inference_mode():
        expected = (squeezenet if version else mobilenet)(tensors, pixels)
        computed = network(x)
    assert expected.std() > 0
    assert torch.allclose(computed, expected, atol=1e-5 * expected.abs().max().item())


def photographs(network, name, split):
    """Return images, if they and the file of the network are available."""
    try:
        zoo_records.find(network).locate()
        return data.load(name, split)
    except (FileNotFoundError, ValueError) as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.parametrize("number", range(len(SETS)))
def test_accuracies_equal_the_printed_accuracies(name, number):
    """Images of 224 pixels are enlarged without rounding, as there; ours are rounded to bytes."""
    images = photographs(name, *SETS[number])
    network = zoo.load(name, device="cpu", progress=False)
    assert len(network.class_names) == 1000
    assert (network.head is None) == (name in SQUEEZENETS)
    size = network.preprocessing["input_size"][1]
    if images.images.shape[1] < size:
        pixels = torch.from_numpy(images.images).permute(0, 3, 1, 2)
        with torch.inference_mode():
            blocks = [
                F.interpolate(b.float(), (size, size), mode="bilinear") for b in pixels.split(50)
            ]
            logits = torch.cat([network.classifier(block) for block in blocks]).numpy()
        ours = 100 * network.outputs(images).correct.mean()
        assert ours == pytest.approx(PRINTED[name][number][0], abs=0.5)
    else:
        logits = network.outputs(images).logits
    ranked = np.argsort(-logits, axis=1)[:, :5] == images.labels[:, None]
    shares = 100 * ranked[:, 0].mean(), 100 * ranked.any(axis=1).mean()
    assert [round(share, 1) for share in shares] == PRINTED[name][number]


def test_a_photograph_of_nearly_the_size_is_cropped_and_any_other_is_resized():
    pixels = np.random.default_rng(0).integers(0, 256, (227, 240, 3), np.uint8)
    cropped = CentreCrop(224)(Image.fromarray(pixels)).transpose(1, 2, 0)
    np.testing.assert_array_equal(cropped, pixels[1:225, 8:232])
    small = Image.fromarray(pixels).resize((32, 32))
    enlarged = np.asarray(small.resize((227, 227), Image.Resampling.BILINEAR))
    np.testing.assert_array_equal(CentreCrop(227)(small).transpose(1, 2, 0), enlarged)
