"""Run the tool where only the packages that it declares without extras can be imported.

    python workflow/bare.py

The wheel goes into a new environment with links to the declared packages, as installed here:
nothing is downloaded, and a forgotten package or file is an error.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path

import numpy as np
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
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


def link_declared(packages: Path, requirements: list[str]) -> None:
    """Link the installed packages of some requirements, without extras, into a folder."""
    for requirement in map(Requirement, requirements):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            package = distribution(requirement.name)
            assert package.version in requirement.specifier, requirement
            tops = {file.parts[0] for file in package.files} - {"..", "__pycache__"}
            new = [name for name in tops if not (packages / name).exists()]
            for name in new:
                (packages / name).symlink_to(package.locate_file(name))
            if new:
                link_declared(packages, package.requires or [])


def run(*command, folder: Path) -> str:
    """Return the output of a command that does not see the repository."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    options = {"cwd": folder, "env": clean, "capture_output": True, "text": True}
    done = subprocess.run([*map(str, command)], **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def install(folder: Path) -> Path:
    """Return the interpreter of a new environment with the tool and its declared packages."""
    source = folder / "source"
    for name in ("helpers", "known_unknowns", "pictures"):  # a build writes into its folder
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    venv.create(folder / "bare", with_pip=False)
    python = folder / "bare" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    offline = ("--no-deps", "--no-build-isolation")
    run(*pip, "wheel", *offline, "--wheel-dir", folder, source, folder=folder)
    wheel = next(folder.glob("*.whl"))
    run(*pip, "--python", python, "install", "--no-deps", "--no-index", wheel, folder=folder)
    packages = next((folder / "bare" / "lib").glob("python*/site-packages"))
    (package,) = Distribution.discover(name="known-unknowns", path=[str(packages)])
    link_declared(packages, package.requires)
    absent = "import importlib.util as u; assert not any(map(u.find_spec, ['torch', 'sklearn']))"
    run(python, "-I", "-c", absent, folder=folder)
    return python


def main() -> None:
    """Check that demo, audit, accept and bench work."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = install(folder).parent / "known-unknowns"
        run(command, "demo", folder=folder)
        generator = np.random.default_rng(0)
        labels, noise = generator.integers(5, size=1000), generator.normal(size=(1000, 16))
        features = noise + 3 * np.eye(5, 16)[labels]
        outputs = {"logits": features[:, :5], "features": features, "labels": labels}
        outputs |= {"ood_noise_logits": noise[:300, :5], "ood_noise_features": noise[:300]}
        np.savez(folder / "outputs.npz", **outputs)
        run(command, "audit", "outputs.npz", "--require", "accuracy>=0.5", folder=folder)
        for made in (folder / "known_unknowns_demo", folder / "outputs_audit"):
            assert sorted(file.name for file in made.iterdir()) == FILES
        rows = run(command, "accept", made / FILES[1], "outputs.npz", folder=folder)
        assert len(rows.splitlines()) == 1001
        (folder / "packs").mkdir()
        shutil.copy(ROOT / PACK, folder / "packs")
        (folder / "largest.py").write_text(SCORE, encoding="utf-8")
        report = run(command, "bench", "largest.py", "--packs", folder / "packs", folder=folder)
        assert "largest, near images: AUROC" in report
    print("the tool works with the packages that it declares")


if __name__ == "__main__":
    main()
