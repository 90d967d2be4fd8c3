"""Published networks are those of their authors: files, names of tensors, and what is computed.

The authors' definitions stand here once more, each as a function that computes with tensors under
the names and in the order of their code.  A made-up file has these tensors, drawn at random; the
network that is loaded from it must say what the function says.
"""

import dataclasses
import re

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch.nn import functional as F

from helpers.files import sha256_file
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


def resnet(net, x, classes, *, blocks, widths, shortcut, head="fc"):
    """Basic blocks; `shortcut` is its name where it has a convolution, "" for padding."""
    x = net.conv_norm(x, "conv1", "bn1", widths[0], 3).relu()
    for stage, width in enumerate(widths, start=1):
        for block in range(blocks):
            at, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            y = net.conv_norm(x, f"{at}.conv1", f"{at}.bn1", width, 3, stride).relu()
            y = net.conv_norm(y, f"{at}.conv2", f"{at}.bn2", width, 3)
            if stride == 2 and shortcut:
                names = f"{at}.{shortcut}.0", f"{at}.{shortcut}.1"
                x = net.conv_norm(x, *names, width, 1, stride)
            elif stride == 2:
                zeros = torch.zeros(len(x), width // 4, *y.shape[2:])
                x = torch.cat([zeros, x[:, :, ::2, ::2], zeros], dim=1)
            x = (x + y).relu()
    return net.linear(x.mean((2, 3)), head, classes)


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


def wide_resnet(net, x, classes):
    x = net.conv(x, "conv1", 16, 3)
    for stage, width in enumerate((32, 64, 128), start=1):
        for block in range(6):
            at, stride = f"block{stage}.layer.{block}", 2 if stage > 1 and block == 0 else 1
            before = net.norm(x, f"{at}.bn1").relu()
            y = net.conv_norm(before, f"{at}.conv1", f"{at}.bn2", width, 3, stride).relu()
            y = net.conv(y, f"{at}.conv2", width, 3)
            if block == 0:
                x = net.conv(before, f"{at}.convShortcut", width, 1, stride)
            x = x + y
    return net.linear(net.norm(x, "bn1").relu().mean((2, 3)), "fc", classes)


def vgg(net, x, classes, *, convolutions):
    number = 0
    for width, count in zip((64, 128, 256, 512, 512), convolutions, strict=True):
        for _ in range(count):
            names = f"features.{number}", f"features.{number + 1}"
            x = net.conv_norm(x, *names, width, 3, bias=True).relu()
            number += 3
        x, number = F.max_pool2d(x, 2), number + 1
    x = net.linear(x.flatten(1), "classifier.0", 512).relu()
    x = net.linear(x, "classifier.3", 512).relu()
    return net.linear(x, "classifier.6", classes)


def mobilenet(net, x, classes, *, widths, last):
    """`widths` of the stem and of the seven stages."""
    x = F.relu6(net.conv_norm(x, "features.0.0", "features.0.1", widths[0], 3))
    number = 1
    repeats, strides = (1, 2, 3, 4, 3, 3, 1), (1, 1, 2, 2, 1, 2, 1)
    for width, repeat, stride in zip(widths[1:], repeats, strides, strict=True):
        for block in range(repeat):
            at, y, step = f"features.{number}.conv", x, 1 if block else stride
            place = 0
            if number > 1:
                hidden = 6 * x.shape[1]
                y = F.relu6(net.conv_norm(y, f"{at}.0.0", f"{at}.0.1", hidden, 1))
                place = 1
            names = f"{at}.{place}.0", f"{at}.{place}.1"
            hidden = y.shape[1]
            y = F.relu6(net.conv_norm(y, *names, hidden, 3, step, groups=hidden))
            y = net.conv_norm(y, f"{at}.{place + 1}", f"{at}.{place + 2}", width, 1)
            x = x + y if step == 1 and x.shape[1] == width else y
            number += 1
    x = F.relu6(net.conv_norm(x, f"features.{number}.0", f"features.{number}.1", last, 1))
    return net.linear(x.mean((2, 3)), "classifier.1", classes)


def shufflenet(net, x, classes, *, widths, last):
    x = net.conv_norm(x, "conv1.0", "conv1.1", 24, 3).relu()
    for stage, width, repeat in zip((2, 3, 4), widths, (4, 8, 4), strict=True):
        half = width // 2
        for block in range(repeat):
            at, stride = f"stage{stage}.{block}", 1 if block else 2
            left, right = x.chunk(2, dim=1) if block else (x, x)
            if not block:
                inputs = x.shape[1]
                names = f"{at}.branch1.0", f"{at}.branch1.1"
                left = net.conv_norm(left, *names, inputs, 3, 2, groups=inputs)
                left = net.conv_norm(left, f"{at}.branch1.2", f"{at}.branch1.3", half, 1).relu()
            at = f"{at}.branch2"
            right = net.conv_norm(right, f"{at}.0", f"{at}.1", half, 1).relu()
            right = net.conv_norm(right, f"{at}.3", f"{at}.4", half, 3, stride, groups=half)
            right = net.conv_norm(right, f"{at}.5", f"{at}.6", half, 1).relu()
            x = torch.stack([left, right], dim=2).flatten(1, 2)  # channels in turn
    x = net.conv_norm(x, "conv5.0", "conv5.1", last, 1).relu()
    return net.linear(x.mean((2, 3)), "fc", classes)


def repvgg(net, x, classes, *, widths):
    """`widths` of the stem and of the four stages."""
    depths, strides = (1, 2, 4, 14, 1), (1, 1, 2, 2, 2)
    for stage, (width, depth, first) in enumerate(zip(widths, depths, strides, strict=True)):
        for block in range(depth):
            at = f"stage{stage}.{block}" if stage else "stage0"
            stride = 1 if block else first
            same = stride == 1 and x.shape[1] == width
            own = net.norm(x, f"{at}.rbr_identity") if same else 0
            names = [(f"{at}.{one}.conv", f"{at}.{one}.bn") for one in ("rbr_dense", "rbr_1x1")]
            y = net.conv_norm(x, *names[0], width, 3, stride)
            x = (y + net.conv_norm(x, *names[1], width, 1, stride) + own).relu()
    return net.linear(x.mean((2, 3)), "linear", classes)


def hub_resnet(net, x, classes, *, blocks):
    return resnet(net, x, classes, blocks=blocks, widths=(16, 32, 64), shortcut="downsample")


def option_a(net, x, classes, *, blocks):
    return resnet(net, x, classes, blocks=blocks, widths=(16, 32, 64), shortcut="", head="linear")


def resnet18(net, x, classes):
    widths = (64, 128, 256, 512)
    return resnet(net, x, classes, blocks=2, widths=widths, shortcut="shortcut")


# what the authors' code builds, by author and architecture
DEFINITIONS = {
    "akamaster": {
        f"resnet{6 * n + 2}": (option_a, {"blocks": n}) for n in (3, 5, 7, 9, 18, 200)
    },
    "dice": {"densenet100": (densenet, {})},
    "chenyaofo": {
        **{f"resnet{6 * n + 2}": (hub_resnet, {"blocks": n}) for n in (3, 5, 7, 9)},
        "vgg11_bn": (vgg, {"convolutions": (1, 1, 2, 2, 2)}),
        "vgg13_bn": (vgg, {"convolutions": (2, 2, 2, 2, 2)}),
        "vgg16_bn": (vgg, {"convolutions": (2, 2, 3, 3, 3)}),
        "vgg19_bn": (vgg, {"convolutions": (2, 2, 4, 4, 4)}),
        "mobilenetv2_x0_5": (
            mobilenet, {"widths": (16, 8, 16, 16, 32, 48, 80, 160), "last": 1280}
        ),
        "mobilenetv2_x0_75": (
            mobilenet, {"widths": (24, 16, 24, 24, 48, 72, 120, 240), "last": 1280}
        ),
        "mobilenetv2_x1_0": (
            mobilenet, {"widths": (32, 16, 24, 32, 64, 96, 160, 320), "last": 1280}
        ),
        "mobilenetv2_x1_4": (
            mobilenet, {"widths": (48, 24, 32, 48, 88, 136, 224, 448), "last": 1792}
        ),
        "shufflenetv2_x0_5": (shufflenet, {"widths": (48, 96, 192), "last": 1024}),
        "shufflenetv2_x1_0": (shufflenet, {"widths": (116, 232, 464), "last": 1024}),
        "shufflenetv2_x1_5": (shufflenet, {"widths": (176, 352, 704), "last": 1024}),
        "shufflenetv2_x2_0": (shufflenet, {"widths": (244, 488, 976), "last": 2048}),
        "repvgg_a0": (repvgg, {"widths": (48, 48, 96, 192, 1280)}),
        "repvgg_a1": (repvgg, {"widths": (64, 64, 128, 256, 1280)}),
        "repvgg_a2": (repvgg, {"widths": (64, 96, 192, 384, 1408)}),
    },
    "outlier_exposure": {"wrn40_2": (wide_resnet, {})},
    "energy_ood": {"wrn40_2": (wide_resnet, {})},
    "openood": {"resnet18": (resnet18, {})},
}  # fmt: skip

# normalisation, and one file of each author as the author's own code names it
SEEN = {
    "akamaster": ("resnet110.akamaster_cifar10", [0.485, 0.456, 0.406], [0.229, 0.224, 0.225],
                  "pretrained_models/resnet110-1d1ed7c2.th"),
    "dice": ("densenet100.dice_cifar100", [0.4914, 0.4822, 0.4465], [0.2023, 0.1994, 0.2010],
             "checkpoints/CIFAR-100/densenet/checkpoint_100.pth.tar"),
    "chenyaofo": ("vgg19_bn.chenyaofo_cifar10", [0.4914, 0.4822, 0.4465], [0.2023, 0.1994, 0.2010],
                  "cifar10_vgg19_bn-57191229.pt"),
    "chenyaofo, 100": ("repvgg_a2.chenyaofo_cifar100", [0.5070, 0.4865, 0.4409],
                       [0.2673, 0.2564, 0.2761], "cifar100_repvgg_a2-8e71b1f8.pt"),
    "outlier_exposure": ("wrn40_2.outlier_exposure_cifar100_oe_scratch",
                         [125.3 / 255, 123.0 / 255, 113.9 / 255],
                         [63.0 / 255, 62.1 / 255, 66.7 / 255],
                         "CIFAR/snapshots/oe_scratch/cifar100_wrn_oe_scratch_epoch_99.pt"),
    "energy_ood": ("wrn40_2.energy_ood_cifar10_energy_ft",
                   [125.3 / 255, 123.0 / 255, 113.9 / 255], [63.0 / 255, 62.1 / 255, 66.7 / 255],
                   "CIFAR/snapshots/energy_ft/cifar10_wrn_s1_energy_ft_epoch_9.pt"),
    "openood": ("resnet18.openood_cifar10_s2", [0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616],
                "results/cifar10_resnet18_32x32_base_e100_lr0.1_default/s2/best.ckpt"),
}  # fmt: skip


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
    elif author == "dice":
        torch.save({"epoch": 100, "state_dict": tensors}, path)
    else:
        torch.save(tensors, path, **(old if "wrn" in path.name else {}))


def load(name, path, monkeypatch):
    """Load a network whose record has the hash of a made-up file."""
    whole = {"sha256": sha256_file(path), "blob": "", "digest": ""}
    changed = dataclasses.replace(RECORDS[name], **whole)
    monkeypatch.setattr(published, "records", lambda: {name: changed})
    return zoo.load(name, device="cpu", progress=False)


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("NETWORK_ROOT", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("author", SEEN)
def test_images_are_prepared_and_files_named_as_the_author_does(author):
    name, mean, std, file = SEEN[author]
    record = published.find(name)
    np.testing.assert_allclose([record.mean, record.std], [mean, std], atol=1e-8)
    assert record.files[0] == file


def test_each_record_has_a_definition_and_each_definition_a_record():
    assert {parts(name)[::-1] for name in RECORDS} == {
        (author, base) for author, found in DEFINITIONS.items() for base in found
    }


def each_kind(names):
    """Return all names, but those of a kind whose first one is there as exhaustive."""
    kinds = set()
    for name in names:
        base, author = parts(name)
        kind = author, re.match("[a-z]+", base).group()
        yield pytest.param(name, marks=[pytest.mark.exhaustive] if kind in kinds else [])
        kinds.add(kind)


@pytest.mark.parametrize("name", [*each_kind(RECORDS)])
def test_a_file_of_the_authors_makes_the_authors_network(name, root, monkeypatch, caplog):
    """Found at its own path, read by its own names, and equal in what it says."""
    images, tensors, expected = made_up(name)
    path = root / RECORDS[name].files[0]
    write(parts(name)[1], tensors, path)
    network = load(name, path, monkeypatch)
    assert network.source.endswith(f"file {path.name}") and not caplog.records
    assert len(network.class_names) == expected.shape[1]
    with torch.inference_mode():
        logits = network.classifier(images)
        features = network.classifier.features(images)
    tolerance = 1e-3 * expected.abs().max().item()
    np.testing.assert_allclose(logits, expected, atol=tolerance)
    linear = features.numpy() @ network.head.weight.T + network.head.bias
    np.testing.assert_allclose(linear, expected, atol=tolerance)


def test_the_same_tensors_are_read_from_safetensors(root, monkeypatch):
    name = "resnet20.akamaster_cifar10"
    images, tensors, expected = made_up(name)
    save_file(tensors, root / "cifar10_resnet20.safetensors")
    record = dataclasses.replace(RECORDS[name], digest="", sha256="")
    monkeypatch.setattr(published, "records", lambda: {name: record})
    with torch.inference_mode():
        logits = zoo.load(name, device="cpu").classifier(images)
    np.testing.assert_allclose(logits, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "millions"),
    [
        ("resnet20.chenyaofo_cifar10", 0.27), ("resnet56.chenyaofo_cifar100", 0.86),
        ("vgg11_bn.chenyaofo_cifar100", 9.80), ("mobilenetv2_x1_4.chenyaofo_cifar10", 4.33),
        ("shufflenetv2_x2_0.chenyaofo_cifar100", 5.55), ("repvgg_a1.chenyaofo_cifar100", 12.94),
        ("resnet110.akamaster_cifar10", 1.7), ("resnet1202.akamaster_cifar10", 19.4),
    ],
)  # fmt: skip
def test_a_definition_has_as_many_parameters_as_its_author_prints(name, millions):
    _, tensors, _ = made_up(name)
    statistics = ("running_mean", "running_var", "num_batches_tracked")
    count = sum(one.numel() for key, one in tensors.items() if not key.endswith(statistics))
    assert round(count / 1e6, len(str(millions).partition(".")[2])) == millions
