"""Run the tool where only the packages that it declares without extras are installed.

    python workflow/bare.py

The wheel goes into a fresh environment with links to the declared packages, as installed here:
nothing is downloaded, and a package or a file that was forgotten is missed.
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
    """Link the installed packages that requirements lead to, without extras, into a folder."""
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


def make_outputs(path: Path) -> None:
    """Write the outputs of a good model, and of a set of unknown images."""
    generator = np.random.default_rng(0)
    labels = generator.integers(5, size=1000)
    features = generator.normal(size=(1000, 16)) + 3 * np.eye(5, 16)[labels]
    unknown = generator.normal(size=(300, 16))
    np.savez(
        path, logits=features[:, :5], features=features, labels=labels,
        ood_noise_logits=unknown[:, :5], ood_noise_features=unknown,
    )  # fmt: skip


def run(*command, folder: Path) -> str:
    """Run a command without variables that point to the repository; return what it prints."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [*map(str, command)], cwd=folder, env=clean, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    """Check that demo, audit, accept and bench work."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("helpers", "known_unknowns", "pictures"):  # building leaves folders
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / part, folder / "source" / part, ignore=ignored)
        for file in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / file, folder / "source")
        venv.create(folder / "bare", with_pip=False)
        python = folder / "bare" / "bin" / "python"
        pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
        wheel = (*pip, "wheel", "--no-deps", "--no-build-isolation")
        run(*wheel, "--wheel-dir", folder, folder / "source", folder=folder)
        install = (*pip, "--python", python, "install", "--no-deps", "--no-index")
        run(*install, *folder.glob("*.whl"), folder=folder)
        (packages,) = (folder / "bare" / "lib").glob("python*/site-packages")
        (own,) = Distribution.discover(name="known-unknowns", path=[str(packages)])
        link_declared(packages, own.requires)
        absent = (
            "import importlib.util as u; assert not any(map(u.find_spec, ['torch', 'sklearn']))"
        )
        run(python, "-I", "-c", absent, folder=folder)

        command = python.parent / "known-unknowns"
        run(command, "demo", folder=folder)
        make_outputs(folder / "outputs.npz")
        run(command, "audit", "outputs.npz", "--require", "accuracy>=0.5", folder=folder)
        for made in (folder / "known_unknowns_demo", folder / "outputs_audit"):
            assert sorted(file.name for file in made.iterdir()) == FILES
        rows = run(command, "accept", made / FILES[1], "outputs.npz", folder=folder)
        assert len(rows.splitlines()) == 1001
        (folder / "packs").mkdir()
        shutil.copy(ROOT / PACK, folder / "packs")
        (folder / "largest.py").write_text(SCORE, encoding="utf-8")
        told = run(command, "bench", "largest.py", "--packs", folder / "packs", folder=folder)
        assert "largest, near images: AUROC" in told
    print("the tool works with the packages that it declares")


if __name__ == "__main__":
    main()
