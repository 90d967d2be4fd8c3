"""Make the virtual environment that everything else runs in. Standard library only.

    python3 workflow/install.py .venv

Installs what `requirements.lock` pins, and this package in editable mode. If the
interpreter already has a torch and torchvision that fit (torch >= 2.11, and both import),
those are used instead of several GB of downloads. A folder with something else in it than a
virtual environment is left as it is.
"""

import argparse
import fcntl
import hashlib
import json
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
import json, torch, torchvision
from torchvision.ops import nms  # fails where the two were not built for one another
print(json.dumps([torch.__version__, torchvision.__version__]))
"""


def torch_already_there() -> list[str] | None:
    """Return the versions of a fitting torch and torchvision that a new environment would see.

    That is what the interpreter itself has: a virtual environment's own packages stay its own.
    """
    interpreter = sys._base_executable
    answer = subprocess.run([interpreter, "-c", PROBE], capture_output=True, text=True)
    if answer.returncode:
        return None
    versions = json.loads(answer.stdout.splitlines()[-1])
    major, minor = (int(part) for part in versions[0].split(".")[:2])
    return versions if (major, minor) >= (2, 11) else None


def check_replaceable(folder: Path) -> None:
    """End with a message unless the folder is a virtual environment, empty, or not there."""
    if (folder.is_dir() and not any(folder.iterdir())) or (folder / "pyvenv.cfg").is_file():
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
    state = hashlib.sha256(LOCK.read_bytes() + str(ROOT).encode()).hexdigest()
    own = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    before, _, own_before = stamp.read_text().partition(" ") if stamp.exists() else ("", "", "")
    if before == state:
        if own_before != own:  # other commands or packages of ours
            install(folder, *OURS)
        stamp.write_text(f"{state} {own}")  # newer than what it is made from
        return

    versions = torch_already_there()
    pins = [line for line in LOCK.read_text().splitlines() if not line.startswith("#")]
    if versions:
        print(f"using the installed torch {versions[0]} and torchvision {versions[1]}", flush=True)
        pins = [line for line in pins if not OF_TORCH.match(line)]
    else:
        print("installing the pinned packages, torch among them: a few minutes", flush=True)
    shutil.rmtree(folder, ignore_errors=True)  # what a killed installation left is not trusted
    venv.create(folder, with_pip=True, system_site_packages=bool(versions))
    filtered = folder / "requirements.txt"
    filtered.write_text("\n".join(pins) + "\n")
    install(folder, "-r", filtered)
    install(folder, *OURS)
    stamp.write_text(f"{state} {own}")


if __name__ == "__main__":
    main()
