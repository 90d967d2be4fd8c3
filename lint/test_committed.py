"""Committed files: no folder of a machine, pinned foreign code, a lock file for every Python."""

import re
import subprocess
import tomllib

import pyarrow.parquet
import pytest
import yaml
from packaging.requirements import Requirement

from lint.reading import ROOMS, ROOT

BOOK = (ROOT / "requirements.lock").read_text()
#: What the checks and JupyterLab add.
ADDED = (ROOT / "requirements-test.lock").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]


def pins(lock: str) -> list[Requirement]:
    """Return the pins of a lock."""
    return [Requirement(line.rstrip(" \\")) for line in lock.splitlines() if line[:1].isalpha()]


def versions(lock: str, python: str) -> dict[str, str]:
    """Return the versions that a lock pins for a version of Python, by name."""
    environment = {"python_version": python, "python_full_version": f"{python}.1"}
    environment |= {"sys_platform": "linux", "platform_system": "Linux"}
    environment["platform_machine"] = "x86_64"
    chosen = {}
    for pin in pins(lock):
        if pin.marker is None or pin.marker.evaluate(environment):
            (specifier,) = pin.specifier
            assert specifier.operator == "==" and pin.name not in chosen
            chosen[pin.name] = specifier.version
    return chosen


def test_no_path_of_a_machine_and_no_registry_address():
    """Neither in texts nor in tables."""
    # In pieces, so that this file is not itself a hit.
    forbidden = ["/wo" + "rk/", "/ro" + "ot/", "/ho" + "me/", "../sha" + "red", "/tm" + "p/"]
    forbidden += ["py" + "pi.", "np" + "mjs.", "python" + "hosted", "/Us" + "ers/"]
    folders = [*ROOMS, "book", "lint", "notebooks", "params", "results", "tests", ".github", ".ci"]
    files = [path for name in folders for path in (ROOT / name).rglob("*") if path.is_file()]
    files += [path for path in ROOT.iterdir() if path.is_file()]
    binary = {".npy", ".png", ".pyc", ".safetensors", ".xz", ".zip"}
    for path in files:
        text = ""
        if path.suffix == ".parquet":
            columns = pyarrow.parquet.read_table(path).columns
            texts = [column.unique() for column in columns if "string" in str(column.type)]
            text = "\n".join(str(text) for column in texts for text in column.to_pylist())
        elif path.suffix not in binary and path.name != ".git":  # a file in a second work tree
            text = path.read_text(encoding="utf-8")
        assert not [word for word in forbidden if word in text], path


def test_the_licence_of_the_authors_travels_with_their_features():
    """Next to the feature packs, and in the wheel."""
    licence = ROOT / "known_unknowns" / "bench" / "packs" / "dice.LICENSE.txt"
    original = ROOT / "tests" / "networks" / "dice" / "LICENSE"
    assert licence.read_text("utf-8") == original.read_text("utf-8")
    globs = PYPROJECT["tool"]["setuptools"]["package-data"]["*"]
    assert licence in {file for glob in globs for file in (ROOT / "known_unknowns").glob(glob)}


def test_no_page_or_message_advises_a_name_that_the_index_does_not_have():
    """Anybody could take the name; the extras are installed from a clone."""
    files = [ROOT / "README.md"]
    for folder in (*ROOMS, "book", "notebooks"):
        files += (ROOT / folder).rglob("*")
    advised = re.compile(r"install\s+(-\S+ +)*[\"'\\]*known-unknowns(\[[\w,]+\])?+(?! @)")
    for file in (file for file in files if file.suffix in (".md", ".py", ".ipynb")):
        assert not advised.search(file.read_text(encoding="utf-8")), file


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_the_locks_satisfy_pyproject(python):
    """A reader of the book downloads no package of the extras `test` and `lab`."""
    book = versions(BOOK, python)
    added = versions(ADDED, python)
    assert all(book.get(name, version) == version for name, version in added.items())
    for requirement in map(Requirement, [*EXTRAS["test"], *EXTRAS["lab"]]):
        assert added[requirement.name] in requirement.specifier, requirement
        assert requirement.name not in book
    declared = [*PROJECT["dependencies"], *EXTRAS["torch"], *EXTRAS["book"]]
    for requirement in map(Requirement, declared):
        assert book[requirement.name] in requirement.specifier, requirement
    assert book["jupyter-book"].startswith("1.")  # version 2 ignores _config.yml, silently


@pytest.mark.parametrize("lock", [BOOK, ADDED], ids=["book", "added"])
def test_each_pin_has_hashes_and_no_address(lock):
    assert not re.search(r"https?:|file:|--(extra-)?index-url|--find-links|@", lock)
    entries = re.split(r"^(?=\w)", lock, flags=re.M)[1:]
    hashes = r"( \\\n    --hash=sha256:[0-9a-f]{64})+\n"
    assert len(entries) == len(pins(lock))
    assert all(re.fullmatch(r"[^\n]*" + hashes, entry) for entry in entries)


def test_without_a_driver_the_lock_is_installed_but_for_pytorch(tmp_path):
    """The commands of `make setup`: PyTorch's build for CPUs, and all else with its hashes."""
    commands = re.findall(r"^\s*@?(sed .*) > \.venv/(\w+\.txt)", MAKEFILE, re.M)
    for command, name in commands:
        command = command.replace("$$", "$")
        text = subprocess.check_output(command, shell=True, cwd=ROOT, text=True)
        (tmp_path / name).write_text(text)
    every = {pin.name: str(pin.specifier) for pin in pins(BOOK)}
    expected = [f"{name}{every[name]}+cpu" for name in ("torch", "torchvision")]
    assert (tmp_path / "torch.txt").read_text().split() == expected
    kept = re.findall(r"^[\w.-]+(?===)", (tmp_path / "lock.txt").read_text(), re.M)
    left = {name for name in every if re.match(r"(torch|torchvision)$|cuda|nvidia|triton", name)}
    assert len(left) > 10 and {*kept} == {*every} - left
    assert left.isdisjoint(pin.name for pin in pins(ADDED))
    assert (tmp_path / "lock.txt").read_text().count("--hash") > 1000


def test_conda_takes_the_lock_and_the_same_versions_of_python():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert f"python{PROJECT['requires-python']},<3.14" in environment["dependencies"]
    assert environment["dependencies"][-1]["pip"] == ["--requirement requirements.lock"]


def test_foreign_code_is_pinned_by_commit_with_its_version():
    """Who owns an action or a hook can move a tag to other code."""
    pinned = re.compile(r"[0-9a-f]{40}  # v\d+\.\d+\.\d+")
    workflows = [file.read_text() for file in (ROOT / ".github").rglob("*.yml")]
    actions = re.findall(r"uses: *[^@\s]+@(.*)", "\n".join(workflows))
    hooks = re.findall(r"rev: *(.*)", (ROOT / ".pre-commit-config.yaml").read_text())
    assert actions and hooks
    assert all(map(pinned.fullmatch, actions + hooks))
