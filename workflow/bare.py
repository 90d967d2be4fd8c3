"""The audit where nothing is installed but what the package itself asks for.

    python workflow/bare.py

Builds the wheel and puts it into a fresh environment, together with the packages that it declares
without extras, and theirs, as they are installed here: links, so that nothing is downloaded and a
package that was forgotten is missed.  Then the command runs its demo, audits made-up outputs, and
ranks a score on one of the feature packs.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

import numpy as np
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
ABSENT = ("torch", "torchvision", "timm", "sklearn", "pydantic")
FILES = ["audit.json", "rejector.safetensors", "report.html"]
PACK = "known_unknowns/bench/packs/resnet20.akamaster_cifar10.safetensors"
SCORE = """
from helpers.scores.base import BlockwiseScore, register
from helpers.scores.info import Info

@register
class Largest(BlockwiseScore):
    info = Info(name="largest", title="Largest", paper="None", authors="Nobody", year=2026,
                key="none", equation="z", needs=("logits", "level of the logits"), summary="z")

    def _scores(self, part):
        return part.logits.max(axis=1).astype(float)
"""


def declared(wheel: Path) -> list[str]:
    """Return what a wheel asks for without extras."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        lines = archive.read(name).decode().partition("\n\n")[0].splitlines()
    return [line.partition(":")[2].strip() for line in lines if line.startswith("Requires-Dist:")]


def closure(requirements: list[str]) -> dict[str, Distribution]:
    """Return the installed packages that requirements lead to, by name.

    Raises
    ------
    ValueError
        One that is not installed in a version that fits.
    """
    found: dict[str, Distribution] = {}
    waiting = [Requirement(one) for one in requirements]
    while waiting:
        one = waiting.pop()
        if one.marker is not None and not one.marker.evaluate({"extra": ""}):
            continue
        package = distribution(one.name)
        if package.version not in one.specifier:
            raise ValueError(f"{one} asked for, and {package.version} is installed")
        name = canonicalize_name(one.name)
        if name not in found:
            found[name] = package
            waiting += [Requirement(more) for more in package.requires or ()]
    return found


def link(package: Distribution, folder: Path) -> int:
    """Put links to the files of a package into a folder; return their bytes."""
    size = 0
    for file in package.files or ():
        place = Path(package.locate_file(file))
        if file.parts[0] == ".." or "__pycache__" in file.parts or not place.is_file():
            continue  # commands, and byte code, which is made anew
        target = folder.joinpath(*file.parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(place)
        size += place.stat().st_size
    return size


def make_outputs(path: Path) -> None:
    """Write the outputs of a model that is right on most images, and of a set of unknown ones."""
    generator = np.random.default_rng(0)
    labels = generator.integers(5, size=1000)
    features = generator.normal(size=(1000, 16)) + 3 * np.eye(5, 16)[labels]
    unknown = generator.normal(size=(300, 16))
    np.savez(
        path, logits=features[:, :5], features=features, labels=labels,
        ood_noise_logits=unknown[:, :5], ood_noise_features=unknown,
    )  # fmt: skip


def copy(folder: Path) -> Path:
    """Copy what a wheel is built from, since building leaves folders where it builds."""
    for name in ("helpers", "known_unknowns", "pictures"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    return folder


def run(*command, folder: Path) -> str:
    """Run a command without what points to the repository; return what it prints."""
    clean = {name: one for name, one in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=clean, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    """Say how large the environment is, how long `--help` takes, and that the audit works."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
        source = copy(folder / "source")
        run(*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", source, folder=folder)
        (wheel,) = folder.glob("*.whl")
        venv.create(folder / "bare", with_pip=False)
        python = folder / "bare" / "bin" / "python"
        (packages,) = (folder / "bare" / "lib").glob("python*/site-packages")
        found = closure(declared(wheel))
        size = sum(link(package, packages) for package in found.values())
        offline = ("--no-deps", "--no-index", "--no-compile")
        run(*pip, "--python", python, "install", "--quiet", *offline, wheel, folder=folder)
        size += sum(one.stat().st_size for one in packages.rglob("*") if not one.is_symlink())

        absent = f"import importlib.util as u; print([n for n in {ABSENT} if u.find_spec(n)])"
        assert run(python, "-I", "-c", absent, folder=folder) == "[]\n"
        command = python.parent / "known-unknowns"
        run(command, "--help", folder=folder)  # the first time, byte code is made
        began = time.perf_counter()
        run(command, "--help", folder=folder)
        seconds = time.perf_counter() - began
        began = time.perf_counter()
        run(command, "demo", folder=folder)
        demo_seconds = time.perf_counter() - began
        assert sorted(one.name for one in (folder / "known_unknowns_demo").iterdir()) == FILES
        make_outputs(folder / "outputs.npz")
        run(command, "audit", "outputs.npz", "--require", "accuracy>=0.5", folder=folder)
        made = folder / "outputs_audit"
        assert sorted(one.name for one in made.iterdir()) == FILES
        assert json.loads((made / "audit.json").read_text(encoding="utf-8"))["deployed"] == "risk"
        assert "<html" in (made / "report.html").read_text(encoding="utf-8")
        rows = run(command, "accept", made / FILES[1], "outputs.npz", folder=folder)
        assert len(rows.splitlines()) == 1001
        (folder / "packs").mkdir()
        shutil.copy(ROOT / PACK, folder / "packs")
        (folder / "largest.py").write_text(SCORE, encoding="utf-8")
        said = run(command, "bench", "largest.py", "--packs", folder / "packs", folder=folder)
        assert "largest, near images: AUROC" in said
        assert (folder / "largest_bench" / "index.html").is_file()
    print(
        f"audit and bench work with {', '.join(sorted(found))} alone: {size / 2**20:.0f} MB, "
        f"--help in {seconds:.2f} s, demo in {demo_seconds:.1f} s (byte code included)"
    )


if __name__ == "__main__":
    main()
