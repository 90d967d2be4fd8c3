"""Networks of further families: committed rows equal a few lines of plain torch and NumPy."""

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional as F

from helpers import data
from helpers.files import project_root
from helpers.networks import zoo_records as published
from helpers.papers import load
from helpers.papers.human_centric import experiment
from helpers.tables import results
from helpers.training.fitted import load_exported
from tests.networks.test_zoo_families import conv, norm

CLOSED = "resnet20.openset_calibration"
EXPORTS = project_root() / "results" / "small" / "networks" / "openset_calibration"


def logits(w, x):
    """Compute the logits of a ResNet-20 whose shortcuts are convolutions, or pad with zeros."""
    x = norm(w, conv(w, x, "conv1"), "bn1").relu()
    for stage in (1, 2, 3):
        for block in (0, 1, 2):
            at = f"layer{stage}.{block}"
            stride = 2 if stage > 1 and block == 0 else 1
            y = norm(w, conv(w, x, f"{at}.conv1", padding=1, stride=stride), f"{at}.bn1").relu()
            y = norm(w, conv(w, y, f"{at}.conv2"), f"{at}.bn2")
            if f"{at}.downsample.0.weight" in w:
                x = conv(w, x, f"{at}.downsample.0", padding=0, stride=stride)
                x = norm(w, x, f"{at}.downsample.1")
            elif stride == 2:
                half = x.shape[1] // 2
                x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, half, half))
            x = (x + y).relu()
    end = "fc" if "fc.weight" in w else "linear"
    return F.linear(x.mean((2, 3)), w[f"{end}.weight"], w[f"{end}.bias"])


def network_of(name):
    """Return the weights, and mean and deviation of pixels from 0 to 255."""
    if name == CLOSED:
        tensors = load_file(EXPORTS / "cifar10-resnet20-0-closed-set.safetensors")
        weights = {key.removeprefix("backbone."): tensor.float() for key, tensor in tensors.items()}
        return weights, weights["mean"], weights["std"]
    record = published.find(name)
    tensors = load_file(record.locate())
    mean, std = (255 * torch.tensor(each).view(3, 1, 1) for each in (record.mean, record.std))
    return {key: tensor.float() for key, tensor in tensors.items()}, mean, std


def probabilities(name, images):
    weights, mean, std = network_of(name)
    batches = torch.tensor(images.images).movedim(-1, 1).split(250)
    with torch.inference_mode():
        computed = [logits(weights, (batch - mean) / std) for batch in batches]
    return torch.cat(computed).double().softmax(dim=1).numpy()


@pytest.mark.parametrize("name", ["resnet20.kejeon_cifar10", "resnet20.zlatasm_cifar10", CLOSED])
def test_committed_rows_equal_plain_torch(name):
    try:
        test, textures = (data.load(name, "test") for name in ("cifar10", "dtd_subset"))
        known, unknown = (probabilities(name, images) for images in (test, textures))
    except FileNotFoundError as error:
        pytest.skip(str(error))
    path = project_root() / "results" / "pretrained" / "human_centric.parquet"
    rows = results.read(path).query("backbone == @name and run == 0 and variant == 'primary'")
    accuracy = rows.query("metric == 'accuracy' and test_set == 'test'")["value"].item()
    auroc = rows.query("metric == 'auroc' and test_set == 'dtd_subset' and method == 'msp'")
    correct = np.mean(known.argmax(axis=1) == test.labels)
    higher = [np.mean(known.max(axis=1) > confidence) for confidence in unknown.max(axis=1)]
    assert abs(accuracy - correct) <= 1e-4  # one image at most
    assert abs(auroc["value"].item() - np.mean(higher)) < 1e-4


def test_networks_of_all_classes_are_further_runs():
    parameters = load("human_centric", "pretrained")
    names = [part.name for part in experiment.parts(parameters)]
    assert [name for name in names if name.startswith(CLOSED)] == [
        f"{CLOSED}/{n}" for n in range(5)
    ]
    for files in parameters.exported.values():
        for file in files:
            network = load_exported(
                project_root() / "results" / file,
                published.find("resnet20.kejeon_cifar10").class_names,
            )
            assert network.num_classes == 10 and network.origin["seed"] == files.index(file)


def test_a_network_of_six_classes_is_refused():
    """The open-set networks know six classes, so they belong into no table of CIFAR-10."""
    names = published.find("resnet20.kejeon_cifar10").class_names
    path = EXPORTS / "cifar10-resnet20-0-open-set.safetensors"
    with pytest.raises(ValueError, match=r"classes airplane, .* expected; this network knows"):
        load_exported(path, names)
