"""A change of the code affects these networks and cached values."""

from pathlib import Path

import pytest

from helpers import modules
from helpers.networks.recipe import OBJECTIVES
from tests.mistakes import beside

OUTPUTS = ("helpers.networks.inference", "helpers.networks.backbones.create")
TRAINING = ("helpers.training.loop.train", "helpers.networks.backbones.create")


def codes():
    """Return the digest of the code of each training, of outputs and of all."""
    asked = {name: (*TRAINING, f"helpers.training.objectives.{name}") for name in OBJECTIVES}
    asked |= {"outputs": OUTPUTS, "all": ("helpers",)}
    return {name: modules.code(names) for name, names in asked.items()}


CHANGES = beside(__file__, "changes_of_code.yaml")


@pytest.fixture(scope="module")
def before():
    """Return the digests of the present code."""
    return codes()


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_affects_only_the_modules_that_import_it(before, change, monkeypatch):
    """One file has another text; the modules that do not change are read once for all cases."""
    case = CHANGES[change]
    file = case["file"]
    affected = {*case["anew"]}
    path = modules.ROOT / "helpers" / file
    text = path.read_text("utf-8")
    name = f"helpers.{file.removesuffix('.py').replace('/', '.')}"
    assert case["old"] in text
    read_text = Path.read_text
    parse = modules._parse
    changed = {path: lambda *_: text.replace(case["old"], case["new"])}
    monkeypatch.setattr(Path, "read_text", lambda *given: changed.get(given[0], read_text)(*given))
    parse_of = {name: parse.__wrapped__}
    monkeypatch.setattr(modules, "_parse", lambda *given: parse_of.get(given[0], parse)(*given))
    after = codes()
    if "trainings" in affected:
        affected |= {*OBJECTIVES}
        affected.remove("trainings")
    assert {name for name in before if before[name] != after[name]} == affected


@pytest.mark.parametrize("package", ["import helpers.kinds", "from helpers.kinds import create"])
def test_modules_that_a_package_imports_by_their_names_count(tmp_path, package):
    """Scores register themselves on import."""
    folder = tmp_path / "helpers"
    (folder / "kinds").mkdir(parents=True)
    code = "for one in pkgutil.iter_modules(__path__): import_module(one)\n"
    (folder / "kinds/__init__.py").write_text(code + "def create(name): return known[name]\n")
    (folder / "use.py").write_text(f"{package}\n")
    (folder / "kinds/ant.py").write_text("x = 1")
    first = modules.code(["helpers.use"], tmp_path)
    (folder / "kinds/ant.py").write_text("x = 2")
    assert modules.code(["helpers.use"], tmp_path) != first


def test_a_source_needs_the_files_of_all_that_it_may_import():
    files = modules.files("from helpers.training.loop import train\nimport numpy")
    names = {file.relative_to(modules.ROOT / "helpers").as_posix() for file in files}
    assert {"training/loop.py", "training/objectives/crl.py", "networks/backbones.py"} <= names
    assert not {name for name in names if name.startswith(("papers", "scores", "tables"))}
    tables = modules.files("from helpers.papers.gscore import mixtures")
    assert "mixed_sizes.csv" in {file.name for file in tables}


EVERY_SHAPE = '''
def f(a, *, b=None, **c):
    """Return what does not count."""
    class D: pass
    return [x for x in a if x] or f"{b!r:>{a}}" or {} or []

@f
async def g() -> int:
    match g:
        case {"k": [1, *_]} | None: return (yield)
    with f() as h, g: lambda: 0
    try: raise
    except ValueError as error: print(error, sep="", end=b"")
'''


def test_all_modules_and_tables_of_a_package_count(tmp_path):
    """The cached ledger depends on each paper's claims, which no import shows."""
    folder = tmp_path / "synthesis" / "claims"
    folder.mkdir(parents=True)
    for file in (folder.parent / "__init__.py", folder / "__init__.py", folder / "toy.py"):
        file.write_text("")
    digests = [modules.code(["synthesis"], tmp_path)]
    for file, text in (("toy.py", "MARGIN = 1"), ("toy.yaml", "claims: []")):
        (folder / file).write_text(text)
        digests.append(modules.code(["synthesis"], tmp_path))
    assert len({*digests}) == 3


def test_digests_are_equal_in_every_version_of_python(tmp_path):
    """The text of `ast.dump` differs between 3.11, 3.12 and 3.13: an upgrade lost the cache."""
    (tmp_path / "helpers").mkdir()
    (tmp_path / "helpers/shapes.py").write_text(EVERY_SHAPE)
    assert modules.code(["helpers.shapes"], tmp_path) == "8ed7433048c064a0"


@pytest.mark.parametrize("line", ["from . import x", "from .x import y"])
def test_a_relative_import_is_refused(line):
    """The first one ended in an AttributeError, and the second one was lost."""
    with pytest.raises(ValueError, match="line 1: an absolute import expected"):
        modules.files(line)


@pytest.mark.parametrize("name", ["helpers.nowhere.at_all", "numpy.mean", "nothing"])
def test_a_name_that_is_not_there_is_refused(name):
    with pytest.raises(ValueError, match=f"no module '{name}'"):
        modules.code([name])
