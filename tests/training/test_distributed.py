"""Several processes train one network, over gloo: what one process would, up to rounding."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers import checkpoints
from helpers.networks.recipe import Recipe
from tests.training.together import train

ROOT = Path(__file__).resolve().parent.parent.parent
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
RESNET = {"width": 4, "stem_stride": 2, "epochs": 4, "batch_size": 8, "learning_rate": 0.05}
RECIPES = {
    "resnet": RESNET,
    "own statistics": RESNET,
    "vit": RESNET | {
        "backbone": "vit", "depth": 1, "width": 32, "stem_stride": 4, "image_size": 16,
        "optimiser": "adamw", "learning_rate": 0.001,
    },
    "spectral": RESNET | {"spectral_norm": 1.0},
    "outliers": RESNET | {"objective": "outlier_exposure"},
    "uneven": RESNET | {"batch_size": 9},
    "crl": RESNET | {"objective": "crl"},
}  # fmt: skip


def run(*command, check=True, **environment):
    variables = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"} | environment
    done = subprocess.run(
        [*map(str, command)], cwd=ROOT, env=variables, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0 or not check, done.stderr
    return done


def together(folder, recipes, **options):
    return run(*TORCHRUN, "-m", "tests.training.together", folder, json.dumps(recipes), **options)


def learned(folder, name, rank=0):
    tensors, about = checkpoints.load(folder / f"{name}-{rank}", framework="np")
    return tensors, about["curve"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return the folder of what two processes have learnt, and what they said."""
    folder = tmp_path_factory.mktemp("together")
    return folder, together(folder, RECIPES).stdout


@pytest.mark.parametrize("name", ["resnet", "vit", "spectral", "outliers"])
def test_two_processes_learn_what_one_does(trained, name):
    tensors, curve = train(Recipe(**RECIPES[name]))
    others, other = learned(trained[0], name)
    for column in ("loss", "accuracy", "learning_rate"):
        np.testing.assert_allclose(other[column], curve[column], rtol=2e-3, err_msg=column)
    for key, tensor in tensors.items():
        np.testing.assert_allclose(others[key], tensor, rtol=2e-2, atol=2e-3, err_msg=key)
    for key, tensor in learned(trained[0], name, rank=1)[0].items():
        np.testing.assert_array_equal(tensor, others[key], err_msg=key)


def test_statistics_of_each_its_own_are_another_training(trained):
    curve, other = (learned(trained[0], name)[1] for name in ("resnet", "own statistics"))
    assert not np.allclose(other["loss"], curve["loss"], rtol=2e-3)


def test_a_killed_process_ends_all_and_the_same_command_goes_on(trained, tmp_path):
    died = together(tmp_path, {"resnet": RESNET}, check=False, DIES="3")
    assert died.returncode and "Signal 9 (SIGKILL)" in died.stderr
    assert (tmp_path / "resnet.partial").exists() and not (tmp_path / "resnet-0").exists()
    together(tmp_path, {"resnet": RESNET})
    (one, curve), (other, resumed) = learned(trained[0], "resnet"), learned(tmp_path, "resnet")
    assert resumed["loss"] == curve["loss"]
    assert resumed["seconds"][:2] != curve["seconds"][:2]
    assert all((one[name] == other[name]).all() for name in one)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("uneven", "batch_size: 9 images cannot be shared out evenly among 2 processes"),
        ("crl", "objective: 'crl' keeps what it has seen of each image"),
    ],
)
def test_what_cannot_be_shared_is_refused(trained, name, message):
    assert trained[1].count(message) == 2


def test_the_command_trains_into_the_cache_where_all_is_found(tmp_path):
    few = ["--only", "digits/resnet8/0", "--set", "epochs=1", "runs=1", "threads=1"]
    asked = [ROOT / "workflow" / "train.py", "mini", "openset_calibration", *few]
    there = {"CACHE_ROOT": str(tmp_path)}
    assert run(*TORCHRUN, *asked, **there).stdout.count("digits/resnet8/0") == 1
    kept = [checkpoints.load(one)[1] for one in (tmp_path / "networks").iterdir()]
    assert {one["device_name"] for one in kept} == {"cpu, 1 thread, 2 processes"}
    run(sys.executable, *asked, TRAINING="refused", **there)
