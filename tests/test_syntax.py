"""Which networks, and what else is kept, a change of the code makes anew."""

import shutil
from pathlib import Path

import pytest

import helpers
from helpers.networks.recipe import OBJECTIVES
from helpers.syntax import Module, Package

SOURCES = Path(helpers.__file__).parent
OUTPUTS = ("helpers.outputs.compute", "helpers.networks.models.create")


@pytest.fixture
def package(tmp_path):
    """Return a copy of the package's sources and tables, to be changed."""
    ignored = shutil.ignore_patterns("embedded", "__pycache__")
    return Path(shutil.copytree(SOURCES, tmp_path / "helpers", ignore=ignored))


class Changed(Package):
    """A copy of the package as it is, whose modules are parsed where they differ from those.

    A package's own file is always parsed, since it goes by what lies beside it.
    """

    as_it_is = Package(SOURCES)

    def module(self, name):
        file = self.folder.parent.joinpath(*name.split(".")).with_suffix(".py")
        same = self.as_it_is.module(name) if file.is_file() else None
        if same and same.source == file.read_text("utf-8"):
            self._modules.setdefault(name, same)
        return super().module(name)


def codes(folder):
    """Return what stands for the code of each training, of outputs and of all."""
    package = Changed(folder)
    trains = ("helpers.training.loop.train", "helpers.networks.models.create")
    networks = {one: (*trains, f"helpers.training.objectives.{one}") for one in OBJECTIVES}
    asked = networks | {"outputs": OUTPUTS, "all": ("helpers",)}
    return {name: package.code(names) for name, names in asked.items()}


def write(file, old, new):
    text = file.read_text("utf-8")
    assert old in text, file
    file.write_text(text.replace(old, new), "utf-8")


CHANGES = {
    "a docstring": ("training/loop.py", '"""The one training loop."""', '"""A loop."""', set()),
    "a comment": ("training/loop.py", "# for dropout;", "# for", set()),
    "a type hint": ("training/loop.py", "seed: int = 0,", "seed=0,", set()),
    "one objective": ("training/objectives/crl.py", "weight: float = 1.0", "weight: float = 2.0",
                      {"crl", "all"}),
    "what two share": ("training/objectives/rnd.py", "self.weight *", "2 * self.weight *",
                       {"rnd", "oc", "all"}),
    "the loop": ("training/loop.py", "seed * 100_003", "seed * 100_005", {*OBJECTIVES, "all"}),
    "the pass": ("outputs.py", "classifier.sample_dropout()", "pass",
                 {"outputs", "rnd", "oc", "all"}),  # students see what the network says
    "the networks": ("networks/models.py", "kaiming_normal_", "kaiming_uniform_",
                     {*OBJECTIVES, "outputs", "all"}),
    "another package's name": ("networks/models.py", "from torch import nn",
                               "from numpy import nn", {*OBJECTIVES, "outputs", "all"}),
    "a score": ("scores/shaping.py", "percentile: float = 90.0", "percentile: float = 80.0",
                {"all"}),
    "a table": ("report/table.py", "def ", "def _", {"all"}),
    "a class list": ("data/class_lists/food101.txt", "\n", " \n", {"all"}),
}  # fmt: skip


@pytest.fixture(scope="module")
def before():
    """Return what stands for the code as it is."""
    return codes(SOURCES)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_makes_anew_what_uses_it_and_no_more(package, before, change):
    file, old, new, expected = CHANGES[change]
    write(package / file, old, new)
    after = codes(package)
    assert {name for name in before if before[name] != after[name]} == expected


def test_another_place_makes_nothing_anew(package, before):
    """A module goes to another folder, and one function to a module of its own."""
    (package / "training/step.py").rename(package / "networks/one_step.py")
    write(package / "training/loop.py", "helpers.training.step", "helpers.networks.one_step")
    file = package / "training/batches.py"
    text = file.read_text("utf-8")
    moved = text.index("def shuffled(")
    (package / "training/orders.py").write_text("import torch\n\n" + text[moved:], "utf-8")
    file.write_text(text[:moved], "utf-8")
    write(package / "training/loop.py", "batches_of, sample_of, shuffled", "batches_of, sample_of")
    write(package / "training/loop.py", "import pandas as pd",
          "import pandas as pd\nfrom helpers.training import orders\n"
          "from helpers.training.orders import shuffled")  # fmt: skip
    assert codes(package) == before


def test_scores_are_found_by_their_folder(tmp_path):
    """They register themselves on import."""
    folder = tmp_path / "helpers"
    (folder / "kinds").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "kinds/__init__.py").write_text(
        "for one in pkgutil.iter_modules(__path__): import_module(one)\n"
        "def create(name): return known[name]\n"
    )
    (folder / "use.py").write_text("from helpers import kinds\nmade = kinds.create(1)\n")
    codes = []
    for text in ("x = 1", "x = 2"):
        (folder / "kinds/ant.py").write_text(text)
        codes.append(Package(folder).code(["helpers.use"]))
    assert codes[0] != codes[1]


def test_names_bound_inside_a_function_are_its_own(tmp_path):
    folder = tmp_path / "helpers"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "other.py").write_text("value = 1\n")
    (folder / "one.py").write_text(
        "from helpers import other\n"
        "def f(other): return [other for other in other]\n"
        "def g(x):\n    from helpers.other import value\n    return value\n"
        "def h(x): return isinstance(x, other.value)\n"
    )
    first = {name: Package(folder).code([f"helpers.one.{name}"]) for name in "fgh"}
    (folder / "other.py").write_text("value = 2\n")
    second = {name: Package(folder).code([f"helpers.one.{name}"]) for name in "fgh"}
    assert {name for name in "fgh" if first[name] != second[name]} == {"g"}


EVERY_SHAPE = """
def f(a, *, b=None, **c):
    class D: pass
    return [x for x in a if x] or f"{b!r:>{a}}" or {} or []

@f
async def g() -> int:
    match g:
        case {"k": [1, *_]} | None: return (yield)
    with f() as h, g: lambda: 0
    try: raise
    except ValueError as error: print(error, sep="", end=b"")
"""


def test_digests_are_equal_in_every_version_of_python():
    """The text of `ast.dump` differs between 3.11, 3.12 and 3.13: an upgrade lost the cache."""
    module = Module("module", EVERY_SHAPE)
    digests = [module.digest(name)[:16] for name in "fg"]
    assert digests == ["14ec51df33a2d8d1", "326d6e5b48db660c"]


@pytest.mark.parametrize("name", ["helpers.nowhere", "helpers.outputs.nothing", "numpy.mean"])
def test_a_name_that_is_not_there_is_refused(name):
    with pytest.raises(ValueError, match=f"no module or definition '{name}'"):
        Package(SOURCES).code([name])


def test_an_answer_is_noted_for_these_very_sources(tmp_path, monkeypatch):
    folder = tmp_path / "helpers"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "one.py").write_text("def f(): return 1\n")
    note = folder / "__pycache__" / "syntax.json"
    monkeypatch.setattr("sys.dont_write_bytecode", False)

    def ask():
        package = Package(folder)
        return package.code(["helpers.one.f"]), package.files("from helpers.one import f")

    first = ask()
    with monkeypatch.context() as patch:
        patch.setattr(Package, "_closure", None)  # without which nothing could be read anew
        assert ask() == first
        note.write_text(note.read_text()[:-9])  # half of it
        with pytest.raises(TypeError):
            ask()
    assert ask() == first
    (folder / "one.py").write_text("def f(): return 2\n")
    assert ask()[0] != first[0]
    note.unlink()
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    assert ask()[1] == first[1] and not note.exists()
