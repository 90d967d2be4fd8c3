"""Run the tool where only the packages that it declares without extras can be imported.

    python workflow/bare.py

The built package is installed into a new folder with links to the declared packages, as installed
here.  The script does not download packages, and a forgotten package or file is an error.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
FILES = ["audit.json", "rejector.safetensors", "report.html"]
PACK = "known_unknowns/bench/packs/resnet20.akamaster_cifar10.safetensors"


def link_declared(packages: Path, requirements: list[str]) -> None:
    """Link the installed packages of some requirements, without extras, into a folder."""
    for requirement in map(Requirement, requirements):
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        package = distribution(requirement.name)
        assert package.version in requirement.specifier, requirement
        tops = {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}
        if new := [name for name in tops if not (packages / name).exists()]:
            for name in new:
                (packages / name).symlink_to(str(package.locate_file(name)))
            link_declared(packages, package.requires or [])


def run(*command, folder: Path) -> str:
    """Return the output of an interpreter that sees only the packages in `folder`."""
    clean = os.environ | {"PYTHONPATH": str(folder / "packages")}
    words = [sys.executable, "-S", *map(str, command)]
    return subprocess.check_output(words, cwd=folder, env=clean, text=True)


def install(folder: Path) -> None:
    """Install the tool into ``folder/packages``, and link its declared packages."""
    source = folder / "source"
    packages = folder / "packages"
    for name in ("helpers", "known_unknowns", "pictures"):  # a copy: a build writes into its folder
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install")
    offline = ("--no-deps", "--no-build-isolation", "--target", packages)
    subprocess.run([*pip, *offline, source], check=True)
    names = {path.name for path in packages.iterdir()} - {"bin"}
    assert [name for name in names if ".dist-info" not in name] == ["known_unknowns"], names
    (record,) = packages.glob("*.dist-info")
    assert (record / "top_level.txt").read_text("utf-8").split() == ["known_unknowns"]
    weights = [path.name for path in packages.rglob("_helpers/networks/weights/*.safetensors")]
    assert weights == ["cifar10_resnet20.safetensors"], weights
    for name in ("papers", "tables", "data/embedded"):
        assert not (packages / "known_unknowns" / "_helpers" / name).exists(), name
    link_declared(packages, distribution("known-unknowns").requires or [])
    absent = "import importlib.util as u; assert not any(map(u.find_spec, ['torch', 'sklearn']))"
    run("-c", absent, folder=folder)


def main() -> None:
    """Check that the commands and a page's code work, beside a user's files with usual names."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tool = ("-m", "known_unknowns")
        install(folder)
        for user in ("pictures.py", "helpers.py"):
            (folder / user).write_text("raise ImportError('the file of a user')\n")
        run(*tool, "--help", folder=folder)
        (folder / "helpers").mkdir()  # it hides helpers.py
        (folder / "helpers.py").rename(folder / "helpers" / "__init__.py")
        run(*tool, "demo", folder=folder)
        generator = np.random.default_rng(0)
        labels = generator.integers(5, size=1000)
        noise = generator.normal(size=(1000, 16))
        features = noise + 3 * np.eye(5, 16)[labels]
        np.savez(folder / "new.npz", logits=features[:, :5], features=features)
        np.savez(
            folder / "outputs.npz",
            logits=features[:, :5],
            features=features,
            labels=labels,
            ood_noise_logits=noise[:300, :5],
            ood_noise_features=noise[:300],
        )
        run(*tool, "audit", "outputs.npz", "--require", "accuracy>=0.5", folder=folder)
        for results in (folder / "known_unknowns_demo", folder / "outputs_audit"):
            assert sorted(file.name for file in results.iterdir()) == FILES
        rows = run(*tool, "accept", results / FILES[1], "new.npz", folder=folder)
        assert len(rows.splitlines()) == 1001
        (folder / "packs").mkdir()
        shutil.copy(ROOT / PACK, folder / "packs")
        text = (ROOT / "book" / "how_to_run.md").read_text(encoding="utf-8")
        (score,) = re.findall(r"^```python\n(# my_score\.py.*?)^```$", text, re.M | re.S)
        (folder / "my_score.py").write_text(score, encoding="utf-8")
        report = run(*tool, "bench", "my_score.py", "--packs", "packs", folder=folder)
        assert "my_score, near images: AUROC" in report
        page = (ROOT / "book" / "which_tool.md").read_text(encoding="utf-8")
        run("-c", "".join(re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)), folder=folder)
    print("the tool works with the packages that it declares")


if __name__ == "__main__":
    main()
