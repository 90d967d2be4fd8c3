"""Files of the shapes that the authors of fourteen ResNet-50 publish, made up of a tiny network."""

import hashlib
from pathlib import Path

import checkpoints
import pytest
import torch
from checkpoints import SOURCES, Source, rename, take_over
from safetensors.torch import load_file

from helpers.papers import load

ROOT = Path(__file__).resolve().parent.parent.parent
OWN = {
    "conv1.weight": torch.arange(6.0).reshape(2, 3),
    "bn1.num_batches_tracked": torch.tensor(7),
    "fc.bias": torch.ones(2),
}
SHAPES = {name: tuple(one.shape) for name, one in OWN.items()}
ON_GPUS = {f"module.{name}": one for name, one in OWN.items()}
ROBUST = {
    **{f"module.model.{name}": one for name, one in OWN.items()},
    **{f"module.attacker.model.{name}": one + 1 for name, one in OWN.items()},
    "module.normalizer.new_mean": torch.tensor([0.485, 0.456, 0.406])[:, None, None],
    "module.normalizer.new_std": torch.tensor([0.229, 0.224, 0.225])[:, None, None],
}
FILES = {  # of which network it is the shape
    "resnet50+adversarial_1": {"model": ROBUST, "epoch": 89},
    "resnet50+stylised": {"state_dict": ON_GPUS, "epoch": 60, "arch": "resnet50"},
    "resnet50+augmix": {"state_dict": ON_GPUS, "best_acc1": 0.775},
    "resnet50+adversarial_noise": {"model_state_dict": OWN},
    "resnet50+distilled": ON_GPUS,
    "resnet50+autoaugment": OWN,
}


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    monkeypatch.setenv("DATA_ROOT", str(tmp_path / "data"))
    monkeypatch.setattr(checkpoints, "shapes_of", lambda architecture: SHAPES)
    # the made-up files have not the published hashes
    plain = {name: one._replace(file="") for name, one in SOURCES.items()}
    monkeypatch.setattr(checkpoints, "SOURCES", plain)


@pytest.mark.parametrize("network", FILES)
def test_each_authors_names_become_timms(network, tmp_path):
    """The classifier's tensors, none of the attacker's, under DATA_ROOT/weights."""
    torch.save(FILES[network], tmp_path / "file.pth")
    place = take_over(network, tmp_path / "file.pth")
    assert place == tmp_path / "data" / "weights" / f"{network}.safetensors"
    found = load_file(place)
    assert found.keys() == OWN.keys()
    assert all(torch.equal(found[name], one) for name, one in OWN.items())


def test_counts_that_older_files_lack_are_zero():
    older = {name: one for name, one in OWN.items() if "tracked" not in name}
    assert rename(older, SHAPES, Path("old"))["bn1.num_batches_tracked"] == 0


OTHER = {"module.normalizer.new_mean": torch.tensor([0.5, 0.5, 0.5])}


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ({"model": ROBUST | OTHER}, "new_mean is .*not ImageNet's"),
        ({"state_dict": {"module.conv1.weight": torch.ones(2, 3)}}, "1 are lacking.* fc.bias"),
        (OWN | {"aux.weight": torch.ones(1)}, "1 are lacking, too many .* aux.weight"),
        (OWN | {"fc.bias": torch.ones(3)}, "another shape, fc.bias"),
        ({"epoch": 3}, "no tensors by name"),
        ([1, 2], "no tensors by name"),
        (Path("executed"), "cannot be read as tensors alone"),
    ],
)
def test_other_files_are_refused(held, message, tmp_path):
    """And leave nothing behind; what would be executed is not."""
    torch.save(held, tmp_path / "file.pth")
    with pytest.raises(ValueError, match=message):
        take_over("resnet50+augmix", tmp_path / "file.pth")
    assert not (tmp_path / "data").exists()


def test_the_hash_in_a_files_name_is_held_against_it(tmp_path, monkeypatch):
    path = tmp_path / "file.pth"
    torch.save(OWN, path)
    digits = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    for own, whole in ((digits, True), ("0" * 8, False)):
        one = Source("", f"net-{own}.pth.tar", "")
        monkeypatch.setitem(checkpoints.SOURCES, "resnet50+stylised", one)
        if whole:
            take_over("resnet50+stylised", path)
        else:
            with pytest.raises(ValueError, match=f"begins with {digits}, and that of net-0000"):
                take_over("resnet50+stylised", path)
    with pytest.raises(ValueError, match="unknown network"):
        take_over("resnet50+augmx", path)
    with pytest.raises(FileNotFoundError, match="nowhere: no file"):
        take_over("resnet50+augmix", tmp_path / "nowhere")


def test_the_table_is_of_all_networks_without_weights_and_the_book_has_it(monkeypatch):
    """Those of tier `paper` that timm knows only as the plain network."""
    parameters = load("human_centric", "paper")
    called = list(parameters.pretrained.values())
    plain = {name for name in called if called.count(name) > 1}
    lacking = {n for n, one in parameters.pretrained.items() if one in plain and "+" in n}
    assert set(SOURCES) == lacking and len(lacking) == 14
    assert [one.prefix for one in SOURCES.values() if one.prefix] == ["c8e5653e", "2a0d100e"]
    book = (ROOT / "book" / "how_to_run.md").read_text(encoding="utf-8")
    monkeypatch.setattr(checkpoints, "SOURCES", SOURCES)
    assert checkpoints.table() in book
