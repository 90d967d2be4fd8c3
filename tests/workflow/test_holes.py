"""A pin that a database of advisories names is flagged, and no other."""

import doctest
import json
import zipfile

import holes
import pytest
import yaml


def record(number, name, ecosystem="PyPI", **more):
    affected = {"package": {"ecosystem": ecosystem, "name": name}} | more
    return {"id": f"PYSEC-{number}", "aliases": [f"CVE-{number}"], "affected": [affected],
            "modified": f"2026-0{number}-01T00:00:00Z"}  # fmt: skip


def between(*events):
    return {"ranges": [{"type": "ECOSYSTEM", "events": list(events)}]}


RECORDS = [
    record(1, "Ant_Farm", versions=["1.0", "1.1"]),
    record(2, "bee", **between({"introduced": "0"}, {"fixed": "2.0"}, {"introduced": "3.0"})),
    record(3, "cow", **between({"introduced": "1.0"}, {"last_affected": "1.9"})),
    record(4, "ant-farm", ecosystem="npm", versions=["1.2"]),
    record(5, "cow", versions=["2.0"]) | {"withdrawn": "2026-05-02T00:00:00Z"},
]


@pytest.fixture(params=["folder of JSON", "folder of YAML", "archive"])
def database(request, tmp_path):
    if request.param == "archive":
        with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
            for one in RECORDS:
                archive.writestr(f"{one['id']}.json", json.dumps(one))
        return tmp_path / "all.zip"
    kind, write = ("yaml", yaml.safe_dump) if "YAML" in request.param else ("json", json.dumps)
    (tmp_path / "vulns" / "deep").mkdir(parents=True)
    for one in RECORDS:
        (tmp_path / "vulns" / "deep" / f"{one['id']}.{kind}").write_text(write(one))
    return tmp_path / "vulns"


@pytest.mark.parametrize(
    ("lock", "flagged"),
    [
        ("ant-farm==1.1\nbee==2.5\ncow==2.0\n", ["ant-farm 1.1: PYSEC-1, CVE-1"]),
        ("ant-farm==1.2\nbee==3.1 ; sys_platform == 'win32'\n", ["bee 3.1: PYSEC-2, CVE-2"]),
        ("bee==1.9.9\ncow==1.9\n", ["bee 1.9.9: PYSEC-2, CVE-2", "cow 1.9: PYSEC-3, CVE-3"]),
        ("ant-farm==1.2\nbee==2.0\ncow==1.10\nlion==1.0\n", []),
    ],
)
def test_a_pin_with_a_known_hole_is_flagged(database, tmp_path, lock, flagged, capsys):
    (tmp_path / "lock").write_text(lock)
    assert holes.main([str(database), "--lock", str(tmp_path / "lock")]) == bool(flagged)
    *lines, last = capsys.readouterr().out.splitlines()
    assert lines == flagged
    assert "5 records, the newest of 2026-05-01" in last


def test_what_is_no_database_is_not_taken_for_a_good_word(tmp_path, capsys):
    with pytest.raises(SystemExit):
        holes.main([str(tmp_path)])
    assert "no record of the format OSV" in capsys.readouterr().err


def test_its_examples():
    assert doctest.testmod(holes).failed == 0
