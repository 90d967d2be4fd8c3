"""Files in the forms of the authors of fourteen ResNet-50, made up from a tiny network."""

import hashlib
from pathlib import Path

import checkpoints
import pytest
import torch
from checkpoints import take_over
from safetensors.torch import load_file

from helpers.papers import load

ROOT = Path(__file__).resolve().parent.parent.parent
OWN = {
    "conv1.weight": torch.arange(6.0).reshape(2, 3),
    "bn1.num_batches_tracked": torch.tensor(0),
    "fc.bias": torch.ones(2),
}
OLDER = {name: tensor for name, tensor in OWN.items() if "tracked" not in name}
ON_GPUS = {f"module.{name}": tensor for name, tensor in OWN.items()}
ROBUST = {
    **{f"module.model.{name}": tensor for name, tensor in OWN.items()},
    **{f"module.attacker.model.{name}": tensor + 1 for name, tensor in OWN.items()},
    "module.normalizer.new_mean": torch.tensor([0.485, 0.456, 0.406])[:, None, None],
}


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("DATA_ROOT", str(tmp_path / "data"))
    shapes = {name: tuple(tensor.shape) for name, tensor in OWN.items()}
    monkeypatch.setattr(checkpoints, "shapes_of", lambda architecture: shapes)
    return tmp_path


@pytest.mark.parametrize(
    "content",
    [
        {"model": ROBUST, "epoch": 89},
        {"state_dict": ON_GPUS, "best_acc1": 0.775},
        {"model_state_dict": OWN},
        ON_GPUS,
        OLDER,
    ],
)
def test_each_authors_names_become_timms(content, root):
    torch.save(content, root / "file.pth")
    path = take_over("resnet50+augmix", root / "file.pth")
    assert path == root / "data" / "weights" / "resnet50+augmix.safetensors"
    tensors = load_file(path)
    assert tensors.keys() == OWN.keys()
    assert all(torch.equal(tensors[name], tensor) for name, tensor in OWN.items())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"model": ROBUST | {"module.normalizer.new_mean": torch.ones(3)}}, "not ImageNet's"),
        ({"state_dict": {"module.conv1.weight": torch.ones(2, 3)}}, "1 are missing.* fc.bias"),
        (OWN | {"aux.weight": torch.ones(1)}, "1 are missing, additional .* aux.weight"),
        (OWN | {"fc.bias": torch.ones(3)}, "another shape, fc.bias"),
        ({"epoch": 3}, "no tensors by name"),
        (Path("executed"), "cannot be read as tensors alone"),
    ],
)
def test_other_files_are_refused(content, message, root):
    """And leave nothing behind; no code in them is executed."""
    torch.save(content, root / "file.pth")
    with pytest.raises(ValueError, match=message):
        take_over("resnet50+augmix", root / "file.pth")
    assert not (root / "data").exists()


def test_the_hash_in_a_files_name_is_checked(root, monkeypatch):
    path = root / "file.pth"
    torch.save(OWN, path)
    digits = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    monkeypatch.setitem(checkpoints.FILES, "resnet50+stylised", f"net-{digits}.pth.tar")
    take_over("resnet50+stylised", path)
    monkeypatch.setitem(checkpoints.FILES, "resnet50+stylised", "net-00000000.pth.tar")
    with pytest.raises(ValueError, match=f"begins with {digits}, 00000000 expected"):
        take_over("resnet50+stylised", path)


def test_the_book_lists_all_networks_whose_weights_timm_does_not_have():
    pretrained = load("human_centric", "paper").pretrained
    models = list(pretrained.values())
    missing = {n for n, model in pretrained.items() if models.count(model) > 1 and "+" in n}
    assert set(checkpoints.FILES) == missing and len(missing) == 14
    book = (ROOT / "book" / "large_runs.md").read_text(encoding="utf-8")
    for name, file in checkpoints.FILES.items():
        assert f"| `{name}` |" in book and file in book
