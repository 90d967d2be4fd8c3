"""Files that are committed: none names a folder of the machine that wrote it."""

import re
import tomllib
from pathlib import Path

import pyarrow.parquet
import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = re.compile(
    r"\.venv\b|site-packages|(^|[\s'\"(=])/(home|root|tmp|usr|opt|work|mnt|Users)/"
)
STORED = [
    file
    for folder in ("results", "benchmarks/results")
    for file in sorted((ROOT / folder).rglob("*"))
    if file.suffix in (".parquet", ".csv", ".json")
]


@pytest.mark.parametrize("file", STORED, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_table_names_a_folder_of_a_machine(file):
    if file.suffix != ".parquet":
        texts = {file.read_text(encoding="utf-8")}
    else:
        schema = pyarrow.parquet.read_schema(file)
        columns = [field.name for field in schema if "string" in str(field.type)]
        table = pyarrow.parquet.read_table(file, columns=columns)
        texts = {text for column in table.columns for text in column.unique().to_pylist() if text}
    assert not [text for text in texts if FOLDERS.search(text)]


def test_the_licence_of_the_authors_travels_with_their_features():
    """Next to the feature packs, and in the wheel."""
    packs = ROOT / "known_unknowns" / "bench" / "packs"
    licence = packs / "dice.LICENSE.txt"
    original = ROOT / "tests" / "networks" / "dice" / "LICENSE"
    assert licence.read_text("utf-8") == original.read_text("utf-8")
    assert licence.name in (packs / "README.md").read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    globs = project["tool"]["setuptools"]["package-data"]["*"]
    assert licence in {file for glob in globs for file in (ROOT / "known_unknowns").glob(glob)}


def test_no_page_or_message_advises_a_name_that_the_index_does_not_have():
    """Anybody could take it; the extras are installed from a clone."""
    folders = ("book", "helpers", "known_unknowns", "notebooks", "workflow")
    files = [ROOT / "README.md", *(file for one in folders for file in (ROOT / one).rglob("*"))]
    advised = re.compile(r"install\s+(-\S+ +)*[\"'\\]*known-unknowns(\[[\w,]+\])?+(?! @)")
    for file in files:
        if file.suffix in (".md", ".py", ".ipynb"):
            found = advised.search(file.read_text(encoding="utf-8"))
            assert not found, f"{file}: {found[0]}"
