"""Files in the forms of the authors of fourteen ResNet-50, made up from a tiny network."""

from pathlib import Path

import checkpoints
import pytest
import torch
from checkpoints import take_over
from safetensors.torch import load_file

from helpers.papers import load

BOOK = Path(__file__).resolve().parents[2] / "book" / "how_to_run.md"
TENSORS = {
    "conv1.weight": torch.arange(6.0).reshape(2, 3),
    "bn1.num_batches_tracked": torch.tensor(0),
    "fc.bias": torch.ones(2),
}
OLDER = {name: tensor for name, tensor in TENSORS.items() if "tracked" not in name}
ON_GPUS = {f"module.{name}": tensor for name, tensor in TENSORS.items()}
ROBUST = {
    **{f"module.model.{name}": tensor for name, tensor in TENSORS.items()},
    **{f"module.attacker.model.{name}": tensor + 1 for name, tensor in TENSORS.items()},
}


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("DATA_ROOT", str(tmp_path / "data"))
    shapes = {name: tuple(tensor.shape) for name, tensor in TENSORS.items()}
    monkeypatch.setattr(checkpoints, "shapes_of", lambda architecture: shapes)
    return tmp_path


FORMS = {
    "robustness": {"model": ROBUST, "epoch": 89},
    "several GPUs": {"state_dict": ON_GPUS, "best_acc1": 0.775},
    "a key": {"model_state_dict": TENSORS},
    "older": OLDER,
}


@pytest.mark.parametrize("form", FORMS)
def test_each_authors_names_become_timms(form, root):
    torch.save(FORMS[form], root / "file.pth")
    path = take_over("resnet50+augmix", root / "file.pth")
    assert path == root / "data" / "weights" / "resnet50+augmix.safetensors"
    tensors = load_file(path)
    assert tensors.keys() == TENSORS.keys()
    assert all(torch.equal(tensors[name], tensor) for name, tensor in TENSORS.items())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"state_dict": {"module.conv1.weight": torch.ones(2, 3)}}, "1 are missing.* fc.bias"),
        (TENSORS | {"aux.weight": torch.ones(1)}, "1 are missing, additional .* aux.weight"),
        (TENSORS | {"fc.bias": torch.ones(3)}, "1 are .* another shape, fc.bias"),
        ({"epoch": 3}, "not the tensors of resnet50"),
        (Path("executed"), "cannot be read as tensors alone"),
    ],
)
def test_other_files_are_refused(content, message, root):
    """And leave nothing behind; no code in them is executed."""
    torch.save(content, root / "file.pth")
    with pytest.raises(ValueError, match=message):
        take_over("resnet50+augmix", root / "file.pth")
    assert not (root / "data").exists()


def test_the_book_lists_all_networks_whose_weights_timm_does_not_have():
    pretrained = load("human_centric", "paper").pretrained
    models = list(pretrained.values())
    missing = {n for n, model in pretrained.items() if models.count(model) > 1 and "+" in n}
    book = BOOK.read_text(encoding="utf-8")
    assert len(missing) == 14 and not [name for name in missing if f"| `{name}` |" not in book]
