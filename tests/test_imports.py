"""Importing a module does not load unused packages, which take up to seconds.

A notebook would pay for it at its start, and the pipeline once a notebook.
"""

import pkgutil
import re
import subprocess
import sys

import pytest

import helpers.outputs
import known_unknowns.auditing
import synthesis
from tests.mistakes import beside

HELPERS = [module.name for module in pkgutil.walk_packages(helpers.__path__, "helpers.")]
TOOL = [module.name for module in pkgutil.walk_packages(known_unknowns.__path__, "known_unknowns.")]
JUDGEMENT = [module.name for module in pkgutil.walk_packages(synthesis.__path__, "synthesis.")]
MODULES = [*HELPERS, *TOOL, *JUDGEMENT]
#: What single functions need; `helpers.tables.interactive` and `helpers.networks.zoo` are
#: about theirs.
RARE = ("itables", "nltk", "pytest", "seaborn", "sklearn", "timm", "scipy.stats")
#: torchvision imports the other one, a compiler that nothing here uses.
VISION = ("torchvision", "torch._dynamo")

#: Beginnings of names; all other modules with torch load no torchvision.
WITHOUT_TORCH, HEAVY = map(tuple, beside(__file__, "imports.yaml").values())

#: The part of an audit that goes back to networks and images.
SHOW_IMAGES = ("known_unknowns.auditing.networks",)


ARRAYS = [name for name in MODULES if name.startswith(WITHOUT_TORCH) and name not in HEAVY]
NETWORKS = [name for name in MODULES if not name.startswith((*WITHOUT_TORCH, *HEAVY))]


def run(*blocks: tuple) -> None:
    """Import modules in a separate process; a block has a line before and one after each import."""
    program = "import importlib, sys\n"
    for first, names, then in blocks:
        program += f"{first}\nfor name in {[*names]}:\n"
        program += f"    importlib.import_module(name)\n    {then}\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert not done.returncode, done.stderr[-500:]


def test_unused_packages_are_not_loaded():
    """Import every module of the packages with torch."""
    run(("", NETWORKS, f"assert not { {*RARE, *VISION} } & set(sys.modules), name"))


def test_modules_of_arrays_work_without_torch_and_imports_are_lazy():
    """Import modules of outputs, reports and audits, and of papers without the experiment.

    Every name of the tool is available without torch.
    """
    some = r"helpers\.papers\.\w+\.(roles|tables|parameters)|known_unknowns\.auditing\..+"
    some += r"|synthesis\.claims\..+"
    parts = [name for name in MODULES if re.fullmatch(some, name)]
    others = [name for name in ("known_unknowns", *parts) if name not in SHOW_IMAGES]
    first = (
        "import known_unknowns as ku\nassert not {'numpy', 'pandas', 'torch'} & set(sys.modules)"
    )
    arrays = first, ARRAYS, f"assert not { {'torch', *RARE, *VISION} } & set(sys.modules), name"
    last = "assert all(getattr(ku, name) for name in ku.__all__)", (), "pass"
    run(arrays, ("sys.modules['torch'] = None", others, "pass"), last)


def test_names_mean_what_they_mean_within():
    assert known_unknowns.audit is known_unknowns.auditing.audit
    stable = ["Outputs", "Rejector", "audit", "bench", "check_score", "metrics"]
    assert known_unknowns.__all__ == stable
    with pytest.raises(AttributeError, match="no attribute 'audti'"):
        _ = known_unknowns.audti
