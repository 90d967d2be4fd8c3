"""The command: a folder or none, an exit status, and a line for what is wrong."""

import csv
import io
import json
import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from helpers.files import project_root
from known_unknowns.auditing import audit, read_outputs, report
from known_unknowns.auditing.command import DEMO, FAILS, HOLDS, REFUSED, STOPPED, main
from known_unknowns.auditing.rejector import Rejector

FILES = ["audit.json", "rejector.safetensors", "report.html"]


HERE = os.environ | {"PYTHONPATH": str(project_root())}
"""For processes in other folders."""


@pytest.fixture
def file(arrays, write, monkeypatch):
    path = write(arrays)
    monkeypatch.chdir(path.parent)
    return path


def listed(folder):
    return sorted(one.name for one in folder.iterdir())


def test_what_is_not_used_is_not_loaded():
    """By a process that asks for help, and by one that misspells."""
    program = (
        "import sys\n"
        "from known_unknowns.auditing.command import main\n"
        "try:\n    main(sys.argv[1:])\n"
        "except SystemExit:\n    pass\n"
        "found = {'numpy', 'scipy', 'pandas', 'matplotlib', 'torch', 'PIL'} & set(sys.modules)\n"
        "assert not found, found\n"
    )
    for given in (["--help"], ["audit", "--help"], ["accept", "--help"], ["audti"]):
        done = subprocess.run([sys.executable, "-c", program, *given], capture_output=True)
        assert not done.returncode, done.stderr.decode()[-500:]


def test_an_audit_is_a_folder(file, tmp_path, capsys):
    """Named after the file; and what it says is what the function finds."""
    assert main(["audit", str(file), "--risk", "0.2"]) == HOLDS
    folder = tmp_path / "outputs_audit"
    assert listed(folder) == FILES and listed(tmp_path) == ["outputs.npz", "outputs_audit"]
    said = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
    found = audit(read_outputs(file), risk=0.2)
    assert said == json.loads(json.dumps(found.as_dict()))
    told = capsys.readouterr()
    assert told.err == "" and "reads " in told.out.splitlines()[0]
    assert all(sentence in told.out for sentence in said["summary"])
    assert Rejector.load(folder / "rejector.safetensors").threshold == found.rejector.threshold


def test_it_runs_where_there_is_no_torch(file, tmp_path):
    """Nor anything else that an extra would bring; and it can be asked for as a module."""
    absent = ("torch", "torchvision", "timm", "pydantic", "sklearn", "tqdm", "nltk", "pyarrow",
              "seaborn", "IPython")  # fmt: skip
    program = (
        "import runpy, sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] in {absent}:\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "sys.argv = ['known-unknowns', *sys.argv[1:]]\n"
        "runpy.run_module('known_unknowns', run_name='__main__')\n"
    )
    command = [sys.executable, "-c", program]
    for given in (
        ["audit", file, "--risk", "0.2", "--out", "a"],
        ["accept", "a/rejector.safetensors", file, "--out", "a.csv"],
    ):
        done = subprocess.run(
            [*command, *given], capture_output=True, text=True, cwd=tmp_path, env=HERE
        )
        assert not done.returncode, done.stderr[-500:]
    assert listed(tmp_path / "a") == FILES and (tmp_path / "a.csv").exists()


def test_requirements_decide_how_it_ends(file, capsys):
    given = ["audit", str(file), "--risk", "0.2", "--require", "accuracy>=0.5", "--out"]
    assert main([*given, "a"]) == HOLDS
    assert main([*given, "b", "--require", "auroc>=0.999"]) == FAILS
    assert "auroc>=0.999: DOES NOT HOLD" in capsys.readouterr().out
    said = json.loads((file.parent / "b" / "audit.json").read_text(encoding="utf-8"))
    assert [one["holds"] for one in said["requirements"]] == [True, False]


def test_a_folder_that_is_there_is_refused_without_force(file, tmp_path, capsys):
    """Before anything is computed; and with it, one that holds something else is, too."""
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    given = ["audit", str(file), "--risk", "0.2", "--out", "a"]
    assert main(given) == REFUSED
    assert "a is there already; name another folder" in capsys.readouterr().err
    assert main([*given, "--force"]) == REFUSED
    assert "holds other files (mine.txt)" in capsys.readouterr().err
    assert listed(folder) == ["mine.txt"]
    (folder / "mine.txt").rename(folder / "rejector.safetensors")
    assert main([*given, "--force", "--risk", "0.001"]) == HOLDS
    assert listed(folder) == ["audit.json", "report.html"]  # no rejector of another audit


def test_a_stop_leaves_nothing_half_written(file, tmp_path, monkeypatch, capsys):
    given = ["audit", str(file), "--risk", "0.2", "--out", "a"]
    assert main(given) == HOLDS
    before = {one: (tmp_path / "a" / one).read_bytes() for one in FILES}

    def stopped(*arguments, **data):
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "write_page", stopped)
    assert main([*given, "--force"]) == STOPPED
    assert "stopped, nothing is written" in capsys.readouterr().err
    assert {one: (tmp_path / "a" / one).read_bytes() for one in FILES} == before
    assert main([*given[:-1], "b"]) == STOPPED
    assert listed(tmp_path) == ["a", "outputs.npz"]


WRONG = [
    (["audit", "nowhere.npz"], "outputs: no file nowhere.npz"),
    (["audit", "outputs.npz", "--risk", "5"], "risk: between 0 and 1 expected, got 5"),
    (["audit", "outputs.npz", "--require", "acuracy>=1"], "did you mean 'accuracy'"),
    (["audit", "outputs.npz", "--require", "auroc:pets>=1"], "did you mean 'pets_and_toys'"),
    (["audit", "outputs.npz", "--treat-as", "probabilities"], 'pass --treat-as "logits"?'),
    (["audit", "text.npz"], "text.npz holds something else than arrays"),
    (["accept", "outputs.npz", "outputs.npz"], "expected: accept REJECTOR OUTPUTS\n"),
    (["accept", "text.npz", "outputs.npz"], "text.npz is no rejector; expected: accept REJECTOR"),
    (["accept", "nowhere.safetensors", "outputs.npz"], "nowhere.safetensors"),
    (["audit", "outputs.npz", "--share", "1.5"], "share: at least 0 and below 1 expected, got 1.5"),
    ([], "known-unknowns: a command expected: demo, audit, compare"),
    (["audit", "--model", "a.onnx"], "the audit's page shows how onnxruntime writes the outputs"),
    (["audit"], "FILE, or --model and --validation, expected"),
    (["audti"], "invalid choice: 'audti'"),
    (["audit", "outputs.npz", "--risk", "few"], "invalid float value: 'few'"),
]


@pytest.mark.parametrize(("given", "message"), WRONG, ids=[" ".join(one) for one, _ in WRONG])
def test_what_is_wrong_is_one_line_and_leaves_nothing(file, given, message, capsys):
    (file.parent / "text.npz").write_text("hello")
    try:
        status = main(given)
    except SystemExit as stopped:
        status = stopped.code
    told = capsys.readouterr().err
    assert status == REFUSED and message in told and told.count("\n") == 1
    assert listed(file.parent) == ["outputs.npz", "text.npz"]


def as_table(arrays):
    table = pd.DataFrame(arrays["logits"], columns=[f"logit_{number}" for number in range(4)])
    return table.assign(label=arrays["labels"])


def write_npz(logits):
    return lambda arrays, path: np.savez(
        path, logits=logits(arrays["logits"]), labels=arrays["labels"]
    )


FILES_OF_OTHERS = {
    "semicolons.csv": (
        lambda arrays, path: as_table(arrays).to_csv(path, sep=";", index=False),
        "separates its columns by ';'; commas expected. In Python: pandas.read_csv",
    ),
    "index.csv": (
        lambda arrays, path: as_table(arrays).to_csv(path),
        "column 'Unnamed: 0' has no name in the file; leave it out, as table.to_csv(path, index=F",
    ),
    "binary.npz": (write_npz(lambda logits: logits[:, :1]), "write np.c_[0 * logits, logits]"),
    "huge.npz": (
        write_npz(lambda logits: 1e30 * logits),
        "logits: numbers up to 1e+15 in size expected, got 8.77418e+30, whose squares are infinite",
    ),
    "zeros.npz": (write_npz(lambda logits: 0 * logits), "all values are 0, so no class is predi"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES_OF_OTHERS)
def test_of_what_is_often_written_the_message_says_what_to_do(
    arrays, tmp_path, monkeypatch, capsys, name
):
    monkeypatch.chdir(tmp_path)
    write, message = FILES_OF_OTHERS[name]
    write(arrays, tmp_path / name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main(["audit", name]) == REFUSED
    told = capsys.readouterr().err
    assert message in told and told.count("\n") == 1


def test_new_outputs_are_judged(file, arrays, tmp_path, capsys):
    assert main(["audit", str(file), "--risk", "0.2", "--out", "a"]) == HOLDS
    new = {"logits": arrays["ood_pets_and_toys_logits"]}
    new["features"] = arrays["ood_pets_and_toys_features"]
    np.savez(tmp_path / "new.npz", **new)
    capsys.readouterr()
    assert main(["accept", "a/rejector.safetensors", "new.npz"]) == HOLDS
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert list(rows[0]) == [
        "image", "accepted", "label", "confidence", "score", "p_value", "reason"
    ]  # fmt: skip
    rejector = Rejector.load(tmp_path / "a" / "rejector.safetensors")
    accepted = rejector.accepts(new["logits"].astype(np.float32), new["features"])
    assert [row["accepted"] == "True" for row in rows] == accepted.tolist()
    names = np.array(["ant", "bee", "cow", "dog"])[new["logits"].argmax(axis=1)]
    assert [row["label"] for row in rows] == names.tolist()
    found = audit(read_outputs(file), risk=0.2)
    sure = found.confidence(found.inputs.ood["pets_and_toys"])
    assert [float(row["confidence"]) for row in rows] == pytest.approx(sure)
    own = np.sort(found.samples["validation"])
    low = [(1 + (own <= float(row["score"])).sum()) / (1 + len(own)) for row in rows]
    assert [float(row["p_value"]) for row in rows] == pytest.approx(low)
    assert all(("below" in row["reason"]) == (row["accepted"] == "False") for row in rows)
    assert main(["accept", "a/rejector.safetensors", "new.npz", "--out", "b.csv"]) == HOLDS
    told = capsys.readouterr().out
    assert told == f"b.csv: {accepted.sum()} of 120 images are accepted\n"
    assert len((tmp_path / "b.csv").read_text().splitlines()) == 121


def test_a_score_that_breaks_the_contract_is_not_ranked(tmp_path):
    """In a process of its own: a file that is ranked registers its score for good."""
    (tmp_path / "broken.py").write_text(
        "from helpers import scores\n"
        "from helpers.scores.info import Info\n\n\n"
        "@scores.register\n"
        "class Broken:\n"
        '    """Judges an image by those that are beside it."""\n\n'
        '    info = Info(name="broken", title="Broken", paper="", authors="", year=2026, key="",\n'
        '                equation="", needs=("logits",), summary="")\n\n'
        "    def fit(self, train_outputs, head):\n"
        "        return self\n\n"
        "    def score_samples(self, outputs):\n"
        "        top = outputs.logits.max(axis=1).astype(float)\n"
        "        return top - top.mean()\n"
    )
    command = [sys.executable, "-m", "known_unknowns", "bench", "broken.py"]
    done = subprocess.run(command, cwd=tmp_path, env=HERE, capture_output=True, text=True)
    assert done.returncode == FAILS
    assert "batch" in done.stderr
    assert not (tmp_path / "broken_bench").exists()


def test_a_pipe_that_is_closed_is_no_error(file):
    """Whoever reads has enough before the first word: what is written then meets nobody."""
    assert main(["audit", str(file), "--risk", "0.2", "--out", "a"]) == HOLDS
    command = [sys.executable, "-m", "known_unknowns", "accept", "a/rejector.safetensors", file]
    process = subprocess.Popen(
        command,
        cwd=file.parent,
        env=HERE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    assert process.stderr.read() == "" and process.wait() == HOLDS


ROOT = project_root()


PROGRAM = (
    "import sys\n"
    "from known_unknowns.auditing.command import main\n"
    "status = main(['demo'])\n"
    "sys.exit('torch is imported' if 'torch' in sys.modules else status)\n"
)


def shown(page):
    """Return what a page prints below the command, in each block that shows its output."""
    blocks = re.findall(r"^```console\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    parts = [re.split(r"^(?:\$ )?known-unknowns demo\n", block, flags=re.M) for block in blocks]
    return [text for part in parts for text in part[1:] if text.strip()]


def test_pages_show_what_the_demo_prints(tmp_path):
    """But for line breaks, which a page may add.  The report of an earlier demo is replaced."""
    (tmp_path / DEMO).mkdir()
    (tmp_path / DEMO / "report.html").touch()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=tmp_path, env=HERE
    )
    assert not done.returncode and not done.stderr, done.stderr[-500:]
    assert (tmp_path / DEMO / "report.html").stat().st_size
    files = {file.name for file in (tmp_path / DEMO).iterdir()}
    assert files == {"audit.json", "rejector.safetensors", "report.html"}
    assert shown(ROOT / "book" / "audit.md")
    for page in (ROOT / "book" / "audit.md", ROOT / "README.md"):
        for text in shown(page):
            assert text.split() == done.stdout.split(), page.name
