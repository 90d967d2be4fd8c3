"""Importing a module brings nothing along that it may not come to use: each takes up to seconds.

A notebook would pay for it at its start, and the pipeline once a notebook.
"""

import pkgutil
import subprocess
import sys

import pytest

import helpers

RARE = ("itables", "nltk", "seaborn", "sklearn", "timm", "scipy.stats")
"""What single functions need; `helpers.report.tables.interactive` and `helpers.networks.zoo` are
about theirs."""
VISION = ("torchvision", "torch._dynamo")
"""torchvision imports the other one, a compiler that nothing here uses."""

WITHOUT_TORCH = (
    "data", "labelfree", "metrics", "networks.recipe", "outputs", "report", "scores",
)  # fmt: skip
WITHOUT_VISION = (
    "checkpoints", "networks.convolutions", "networks.heads", "networks.model",
    "networks.spectral", "papers", "training",
)  # fmt: skip


def modules(names: tuple[str, ...]) -> list[str]:
    """Return packages and modules of `helpers` with all that lies in them."""
    found = [one.name for one in pkgutil.walk_packages(helpers.__path__, "helpers.")]
    wanted = tuple(f"helpers.{name}" for name in names)
    return [
        name
        for name in found
        if name.startswith(wanted) and name != "helpers.report.tables.interactive"
    ]


@pytest.mark.parametrize(
    ("names", "absent"),
    [
        (WITHOUT_TORCH, (*RARE, *VISION, "torch")),
        (WITHOUT_VISION, (*RARE, *VISION)),
    ],
    ids=["results and figures", "networks and experiments"],
)
def test_what_is_not_used_is_not_loaded(names, absent):
    """In a process of its own; every module of these packages, one after the other."""
    program = (
        "import importlib, sys\n"
        f"for name in {modules(names)}:\n"
        "    importlib.import_module(name)\n"
        f"    found = {set(absent)} & set(sys.modules)\n"
        "    assert not found, f'{name} loads {found}'\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert not done.returncode, done.stderr[-500:]


def test_no_module_is_forgotten():
    named = {*modules(WITHOUT_TORCH), *modules(WITHOUT_VISION)}
    every = {one.name for one in pkgutil.walk_packages(helpers.__path__, "helpers.")}
    small = {f"helpers.{name}" for name in ("cache", "checks", "files", "networks")}
    about_timm = {"helpers.networks.zoo", "helpers.report.tables.interactive"}
    audit = {name for name in every if name.startswith("helpers.audit")}
    assert every - named == small | about_timm | audit
