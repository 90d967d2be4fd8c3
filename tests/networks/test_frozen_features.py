"""Features are computed once, in parts that are whole, and by the weights that are asked for."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from helpers.data import Images, features
from helpers.data.features import Backbone
from helpers.networks import frozen_features, zoo
from helpers.networks.models import Classifier

TINY = Backbone("tiny", 8)


class Tiny(nn.Module):
    """A made-up backbone: a convolution, ReLU6 and the mean over places."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.head = nn.Conv2d(3, 7, 3, stride=2), nn.Linear(7, 4)

    def forward_features(self, x):
        return nn.functional.relu6(self.layer(x / 64))

    def forward_head(self, x, pre_logits=False):
        x = x.mean(dim=(2, 3))
        return x if pre_logits else self.head(x)

    def get_classifier(self):
        return self.head


@pytest.fixture
def source(monkeypatch, tmp_path):
    monkeypatch.setenv("DATA_ROOT", str(tmp_path))
    classifier = Classifier(Tiny()).eval()
    return zoo.Pretrained("tiny", "made up", classifier, {}, (), "cpu", "ab" * 32)


@pytest.fixture
def images():
    pixels = np.random.default_rng(0).integers(0, 256, (9, 4, 4, 3), dtype=np.uint8)
    return Images(pixels, np.arange(9) % 3, ("a", "b", "c"), "noise", "test")


def test_stored_features_are_those_of_the_enlarged_images(source, images):
    frozen_features.store(TINY, source, images, part=4)
    assert len([*TINY.folder.glob("noise-test-*.safetensors")]) == 3
    seen = features.seen_by(images, TINY, "").images.reshape(9, -1)[:, :7]
    larger = nn.functional.interpolate(
        torch.from_numpy(images.images).permute(0, 3, 1, 2).float(), (8, 8), mode="bicubic",
        antialias=True,
    ).clamp(0, 255)  # fmt: skip
    with torch.inference_mode():
        expected = source.classifier.features(larger).numpy()
    assert np.abs(np.sqrt(features.decode(seen, 6.0)) - np.sqrt(expected)).max() < 0.006
    at_four = frozen_features.features_of(source, images, 4)
    assert np.abs(at_four - expected).max() > 0.01  # so the size matters


def test_an_interrupted_run_goes_on_where_it_stopped(source, images, monkeypatch):
    computed, plain = [], frozen_features.features_of

    def break_off(one, some, size):
        if len(computed) == 1:
            raise KeyboardInterrupt
        computed.append(len(some))
        return plain(one, some, size)

    monkeypatch.setattr(frozen_features, "features_of", break_off)
    with pytest.raises(KeyboardInterrupt):
        frozen_features.store(TINY, source, images, part=4)
    monkeypatch.setattr(frozen_features, "features_of", plain)
    left = features.missing(TINY, [images])["noise/test"]
    assert computed == [4] and len(left) == 5
    frozen_features.store(TINY, source, left, part=4)
    assert len(features.packs(TINY)) == 9 and not features.missing(TINY, [images])


def test_a_network_whose_features_may_be_negative_is_refused(source, images, monkeypatch):
    below = np.full((9, 7), -0.5, np.float32)
    monkeypatch.setattr(frozen_features, "features_of", lambda *_: below)
    with pytest.raises(ValueError, match="only networks whose features are not negative"):
        frozen_features.store(TINY, source, images)
    assert not TINY.folder.exists()


def test_features_of_the_runtime_are_those_of_torch(source, images):
    """The extra zoo has the runtime (`pip install ".[zoo]"`); nine images are no whole batch."""
    for name in frozen_features.RUNTIME:
        pytest.importorskip(name)
    compiled = replace(source, classifier=frozen_features.Compiled(source, 8))
    found, expected = (frozen_features.features_of(one, images, 8) for one in (compiled, source))
    assert found.shape == (9, 7) and np.abs(found - expected).max() < 1e-5
    assert expected.std(axis=0).max() > 0.01
