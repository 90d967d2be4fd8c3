"""The pins: one lock file, repeated for conda, wide enough for what pyproject.toml asks."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
LOCK = (ROOT / "requirements.lock").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHONS = ("3.11", "3.12", "3.13")
EXTRAS = ("torch", "book", "test", "lab")
"""What `make setup` installs; the book takes all of them."""


def pins(python: str) -> dict[str, str]:
    """Return the version of each package that the lock gives to a Python on Linux."""
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.1",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "platform_machine": "x86_64",
        "platform_python_implementation": "CPython",
        "implementation_name": "cpython",
        "os_name": "posix",
        "extra": "",
    }
    lines = [line for line in LOCK.splitlines() if line and not line.startswith("#")]
    chosen = {}
    for requirement in map(Requirement, lines):
        if requirement.marker is None or requirement.marker.evaluate(environment):
            (specifier,) = requirement.specifier
            assert specifier.operator == "==" and requirement.name not in chosen
            chosen[requirement.name] = specifier.version
    return chosen


def direct() -> list[Requirement]:
    """Return what pyproject.toml asks for, with the extras that `make setup` installs."""
    extras = PROJECT["optional-dependencies"]
    groups = [PROJECT["dependencies"], *(extras[name] for name in EXTRAS)]
    return [Requirement(line) for group in groups for line in group]


@pytest.mark.parametrize("python", PYTHONS)
def test_the_lock_satisfies_pyproject(python):
    chosen = pins(python)
    for requirement in direct():
        assert chosen[requirement.name] in requirement.specifier, requirement


def test_conda_has_the_same_pins():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert f"python{PROJECT['requires-python']}" in environment["dependencies"]
    listed = environment["dependencies"][-1]["pip"]
    editable = f"--editable .[{','.join(EXTRAS)}]"
    assert {"--constraint requirements.lock", editable} <= set(listed)
    pinned = [line for line in listed if not line.startswith("--")]
    in_lock = {str(Requirement(line)) for line in LOCK.splitlines() if line and line[0] != "#"}
    assert {str(Requirement(line)) for line in pinned} <= in_lock
    assert {Requirement(line).name for line in pinned} == {one.name for one in direct()}


def test_the_lock_names_no_index_and_no_file():
    assert not re.search(r"https?:|file:|--(extra-)?index-url|--find-links|@", LOCK)


def test_jupyter_book_stays_below_2():
    """Version 2 ignores _config.yml and deploys nothing, silently."""
    for python in PYTHONS:
        assert pins(python)["jupyter-book"].startswith("1.")
