"""Which pins are left out where a torch is there already."""

import sys
from pathlib import Path

import install
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def test_only_torch_and_what_it_brings_is_left_out():
    pins = [line.split("==")[0] for line in install.LOCK.read_text().splitlines() if "==" in line]
    left_out = {pin for pin in pins if install.OF_TORCH.match(f"{pin}==1")}
    assert {"torch", "torchvision", "triton", "nvidia-cublas"} <= left_out
    brought = ("torch", "torchvision", "triton", "nvidia-", "cuda-")
    assert all(pin.startswith(brought) for pin in left_out)
    assert not left_out & {"torchmetrics", "timm", "numpy"}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('["2.11.0", "0.26.0"]', ["2.11.0", "0.26.0"]),
        ('["3.0.1+cu140", "0.40.0"]', ["3.0.1+cu140", "0.40.0"]),
        ('["2.10.0", "0.25.0"]', None),
        (None, None),
    ],
)
def test_a_torch_fits_if_it_is_new_enough_and_imports_with_its_torchvision(
    tmp_path, monkeypatch, answer, expected
):
    interpreter = tmp_path / "python"
    body = "exit 1" if answer is None else f"echo a warning; echo '{answer}'"
    interpreter.write_text(f"#!/bin/sh\n{body}\n")
    interpreter.chmod(0o755)
    monkeypatch.setattr(sys, "_base_executable", str(interpreter))
    assert install.torch_already_there() == expected
