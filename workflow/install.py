"""Make the virtual environment, with the standard library only.

    python3 workflow/install.py .venv

Installs the pins of `requirements.lock`, and this package in editable mode.  If the interpreter has
torch >= 2.11 with its torchvision, they are used instead of several GB of downloads.
"""

import argparse
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
# this package, with the extras whose packages the lock file has
OURS = ("--no-build-isolation", "-e", f"{ROOT}[torch,book,test,lab]")
OF_TORCH = re.compile(r"^(torch|torchvision|triton|cuda-[a-z-]+|nvidia-[a-z0-9-]+)==")
PROBE = """
import torch
from torchvision.ops import nms  # fails where the two were not built for one another
raise SystemExit(tuple(map(int, torch.__version__.split(".")[:2])) < (2, 11))
"""


def torch_fits() -> bool:
    """Return whether the interpreter itself has a torch that a new environment would see."""
    probe = subprocess.run([sys._base_executable, "-c", PROBE], capture_output=True)
    return not probe.returncode


def check_replaceable(folder: Path) -> None:
    """End with a message unless the folder is a virtual environment, empty, or not there."""
    if folder.is_dir() and (not any(folder.iterdir()) or (folder / "pyvenv.cfg").is_file()):
        return
    if folder.exists() or folder.is_symlink():
        sys.exit(
            f"{folder} is there and is no virtual environment (it holds no pyvenv.cfg), so it is "
            "left as it is; name another folder, or remove this one yourself"
        )


def install(folder: Path, *what) -> None:
    """Have pip install something into an environment, or end with a message."""
    # the lock file is complete, so nothing has to be resolved; byte code is written on first use
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet"]
    pip += ["--disable-pip-version-check", "--no-deps", "--no-compile", "--progress-bar", "off"]
    # some machines ask pip for user installs, which a virtual environment refuses
    if subprocess.run([*pip, *what], env=os.environ | {"PIP_USER": "0"}).returncode:
        sys.exit("installation failed: see pip's message above; run the same command again")


def main(command_line: list[str] | None = None) -> None:
    """Install into the folder that the command line names, unless it is up to date."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", default=".venv", help="default: .venv")
    arguments = parser.parse_args(command_line)
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        found = ".".join(map(str, sys.version_info[:3]))
        sys.exit(
            f"Python 3.11, 3.12 or 3.13 is needed, this is {found} ({sys.executable}); "
            "name another one: make book PYTHON=python3.12"
        )
    folder = ROOT / Path(arguments.folder).expanduser()
    check_replaceable(folder)
    # appended to, so that a file of this name stays what it is; held until this process ends
    lock = open(folder.with_name(f"{folder.name}.lock"), "a")
    fcntl.flock(lock, fcntl.LOCK_EX)
    stamp = folder / ".installed"
    pins, project = LOCK.read_text(), (ROOT / "pyproject.toml").read_bytes()
    state = hashlib.sha256(f"{pins}{ROOT}".encode()).hexdigest()
    if not stamp.exists() or stamp.read_text().partition(" ")[0] != state:
        there = torch_fits()
        torch = "using the installed torch" if there else "installing torch"
        print(f"{torch} and the pinned packages: a few minutes", flush=True)
        # what a killed installation left is not trusted
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True, system_site_packages=there)
        lines = [line for line in pins.splitlines() if not (there and OF_TORCH.match(line))]
        (folder / "requirements.txt").write_text("\n".join(lines) + "\n")
        install(folder, "-r", folder / "requirements.txt")
    own = f"{state} {hashlib.sha256(project).hexdigest()}"
    if not stamp.exists() or stamp.read_text() != own:
        install(folder, *OURS)
    stamp.write_text(own)  # newer than what it is made from


if __name__ == "__main__":
    main()
