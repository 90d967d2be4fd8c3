"""The command: a folder or none, an exit status, and one line for an error."""

import io
import json
import os
import re
import shlex
import signal
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from helpers.files import project_root
from helpers.scores import create
from helpers.scores.calibration import softmax
from known_unknowns.auditing import audit, read_outputs, report
from known_unknowns.auditing.command import main
from known_unknowns.auditing.commands.audit import DEMO
from known_unknowns.auditing.commands.places import FAILS, HOLDS, REFUSED, STOPPED
from known_unknowns.auditing.rejector import Rejector

FILES = ["audit.json", "rejector.safetensors", "report.html", "to_label.csv"]
ROOT = project_root()


@pytest.fixture
def file(arrays, write, monkeypatch, without_figures):
    """A file of outputs."""
    path = write(arrays)
    monkeypatch.chdir(path.parent)
    return path


def listed(folder):
    return sorted(path.name for path in folder.iterdir())


def interrupted(*arguments, **data):
    raise KeyboardInterrupt


def ended(*arguments, **data):
    os.kill(os.getpid(), signal.SIGTERM)


def test_an_audit_is_a_folder_and_requirements_decide_the_status(file, tmp_path, capsys):
    conditions = "accuracy>=0.5 auroc>=0.999 coverage_at_risk_0.0001>=0.5"
    required = f"--require {conditions.replace(' ', ' --require ')}".split()
    options = "--risk 0.1 --share 0.05 --score energy --fallback average --unit text".split()
    words = ["audit", str(file), *options, "--confidence", "0.8", *required]
    assert main(words) == FAILS
    folder = tmp_path / "outputs_audit"
    assert listed(folder) == FILES
    assert listed(tmp_path) == ["outputs.npz", "outputs_audit"]
    numbers = json.loads((folder / "audit.json").read_text("utf-8"))
    given = {"risk": 0.1, "unknown_share": 0.05, "score": "energy", "fallback": "average"}
    loose, strict = (
        audit(read_outputs(file), unit="text", require=required[1::2], confidence=share, **given)
        for share in (0.8, 0.99)
    )
    assert strict.rejector.threshold > loose.rejector.threshold
    command = shlex.join(["known-unknowns", *words])
    audited = replace(loose, folder="outputs_audit", command=command)
    assert numbers == json.loads(json.dumps(audited.as_dict()))
    printed = capsys.readouterr()
    assert printed.err == ""
    assert all(text in printed.out for text in numbers["summary"])
    assert "auroc>=0.999: DOES NOT HOLD, 0." in printed.out
    assert ">=0.5: DOES NOT HOLD, this audit has no such number" in printed.out
    assert [row["holds"] for row in numbers["requirements"]] == [True, False, False]
    assert Rejector.load(folder / "rejector.safetensors").threshold == audited.rejector.threshold


def test_an_existing_folder_is_replaced_only_with_force(file, tmp_path, capsys):
    """The folder must contain only an audit."""
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    arguments = ["audit", str(file), "--risk", "0.2", "--out", "a"]
    assert main(arguments) == REFUSED
    assert "a exists already; name another folder" in capsys.readouterr().err
    assert main([*arguments, "--force"]) == REFUSED
    assert "holds other files (mine.txt)" in capsys.readouterr().err
    assert listed(folder) == ["mine.txt"]
    (folder / "mine.txt").rename(folder / "rejector.safetensors")
    assert main([*arguments, "--force", "--risk", "0.001"]) == HOLDS
    assert listed(folder) == [
        "audit.json",
        "report.html",
        "to_label.csv",
    ]  # no rejector of another audit


def test_a_stopped_audit_leaves_no_partial_file(file, tmp_path, monkeypatch, capsys):
    arguments = ["audit", str(file), "--risk", "0.2", "--out", "a"]
    assert main(arguments) == HOLDS
    before = {name: (tmp_path / "a" / name).read_bytes() for name in FILES}

    monkeypatch.setattr(report, "write_page", interrupted)
    assert main([*arguments, "--force"]) == STOPPED
    assert "stopped, nothing is written" in capsys.readouterr().err
    assert {name: (tmp_path / "a" / name).read_bytes() for name in FILES} == before
    monkeypatch.setattr(report, "write_page", ended)
    monkeypatch.setattr(sys, "argv", ["known-unknowns", *arguments[:-1], "b"])
    assert main() == STOPPED
    assert listed(tmp_path) == ["a", "outputs.npz"]
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


@pytest.mark.parametrize(("owner", "name"), [(report, "write_page"), (Rejector, "save")])
def test_a_kill_leaves_no_rejector_of_another_audit(file, tmp_path, monkeypatch, owner, name):
    """The stored numbers belong to the stored rejector, or there is no rejector."""
    old, new = (audit(read_outputs(file), risk=risk) for risk in (0.2, 0.3))
    old.save(tmp_path / "a")
    before = (tmp_path / "a" / "audit.json").read_bytes()

    monkeypatch.setattr(owner, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        new.save(tmp_path / "a")
    same = (tmp_path / "a" / "audit.json").read_bytes() == before
    assert same == (tmp_path / "a" / "rejector.safetensors").exists() == (owner is report)


def test_an_error_is_one_line_and_leaves_no_file(file, arrays, bad_command, message, capsys):
    for name, text in {"text.npz": "hello", "wrong.py": "1 +"}.items():
        (file.parent / name).write_text(text)
    os.symlink("nothing", "lost.npz")
    np.savez("few.npz", logits=arrays["logits"], labels=arrays["labels"])
    np.savez("sure.npz", logits=np.full((30, 2), 0.5), labels=np.arange(30) % 2)
    try:
        status = main(bad_command.split())
    except SystemExit as stopped:
        status = stopped.code
    printed = capsys.readouterr().err
    assert status == REFUSED
    assert message in printed
    assert printed.count("\n") == 1
    names = "few.npz lost.npz outputs.npz sure.npz text.npz wrong.py"
    assert listed(file.parent) == names.split()


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_byte_order_mark_is_no_part_of_a_class_name(here, monkeypatch, mark):
    (here / "names.txt").write_text(f"{mark}ant\r\nbee\n\n", encoding="utf-8")
    names = []

    def inputs_of(*folders, class_names, **options):
        names.extend(class_names)
        raise ValueError("the names are read")

    monkeypatch.setattr("known_unknowns.auditing.networks.inputs_of", inputs_of)
    command = "audit --classes names.txt --model resnet18 --validation photos"
    assert main(command.split()) == REFUSED
    assert names == ["ant", "bee"]


def test_new_outputs_are_accepted_or_rejected(file, arrays, tmp_path, capsys):
    assert main(["audit", str(file), "--risk", "0.2", "--out", "a"]) == HOLDS
    new = {name: arrays[f"ood_pets_and_toys_{name}"] for name in ("logits", "features")}
    np.savez(tmp_path / "new.npz", **new)
    capsys.readouterr()
    assert main(["accept", "a/rejector.safetensors", "new.npz"]) == HOLDS
    rows = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert " ".join(rows) == "image accepted label confidence score p_value reason"
    rejector = Rejector.load(tmp_path / "a" / "rejector.safetensors")
    accepted = rejector.accepts(new["logits"].astype(np.float32), new["features"])
    assert rows["accepted"].tolist() == accepted.tolist()
    assert rows["reason"].str.contains("below", na=False).tolist() == (~accepted).tolist()
    assert rows["label"].tolist() == arrays["class_names"][new["logits"].argmax(axis=1)].tolist()
    audited = audit(read_outputs(file), risk=0.2)
    confidences = softmax(new["logits"], audited.temperature).max(axis=1)
    assert rows["confidence"].tolist() == pytest.approx(confidences)
    assert rows["p_value"].tolist() == pytest.approx(rejector.p_values(rows["score"]))
    assert main(["accept", "a/rejector.safetensors", "new.npz", "--out", "b.csv"]) == HOLDS
    assert capsys.readouterr().out == f"b.csv: {accepted.sum()} of 120 images are accepted\n"
    assert len((tmp_path / "b.csv").read_text().splitlines()) == 121


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("link.csv", "link.csv is there already"),
        ("same.npz --force", "holds the new outputs"),
    ],
)
def test_accept_replaces_no_link_by_accident(file, arrays, tmp_path, capsys, out, message):
    assert main(["audit", str(file), "--risk", "0.2", "--out", "a"]) == HOLDS
    np.savez(tmp_path / "new.npz", logits=arrays["logits"], features=arrays["features"])
    (tmp_path / "link.csv").symlink_to("nowhere")
    (tmp_path / "same.npz").symlink_to("new.npz")
    before = (tmp_path / "new.npz").read_bytes()
    command = f"accept a/rejector.safetensors new.npz --out {out}"
    assert main(command.split()) == REFUSED
    assert message in capsys.readouterr().err
    assert (tmp_path / "new.npz").read_bytes() == before
    assert not (tmp_path / "nowhere").exists()


def test_the_next_step_of_the_report_works(file, arrays, tmp_path, capsys):
    """The working folder is the same, and its name has a space."""
    arguments = ["audit", str(file), "--coverage", "0.5", "--out", "my audit/of today"]
    assert main(arguments) == HOLDS
    np.savez(tmp_path / "new.npz", logits=arrays["logits"], features=arrays["features"])
    printed = capsys.readouterr().out
    (command,) = re.findall(r"`known-unknowns (accept .*?)`", printed)
    assert main(shlex.split(command)) == HOLDS
    report_text = (tmp_path / "my audit/of today/report.html").read_text("utf-8")
    assert "my audit/of today/rejector.safetensors" in report_text


def test_names_do_not_reach_a_terminal_or_a_spreadsheet_as_code(here, capsys):
    generator = np.random.default_rng(0)
    labels = np.arange(400) % 4
    names = ["=1+1", "+a", "@b", "c\x1b[2J"]
    logits = 6 * np.eye(4)[labels] + generator.normal(size=(400, 4))
    np.savez("o.npz", logits=logits, labels=labels, class_names=names)
    assert main("audit o.npz --risk 0.2 --out a".split()) == HOLDS
    files = [f"-{number}\x1b[31m.png" for number in range(400)]
    np.savez("new.npz", logits=logits, files=files)
    assert main(["accept", "a/rejector.safetensors", "new.npz"]) == HOLDS
    assert main(["audit", "miss\x1b[2Jing.npz"]) == REFUSED
    printed = "".join(capsys.readouterr())
    assert "\x1b" not in printed
    assert r"\x1b[31m.png" in printed
    assert main(["accept", "a/rejector.safetensors", "new.npz", "--out", "b.csv"]) == HOLDS
    rows = pd.read_csv("b.csv", dtype=str)
    assert {*rows["label"]} == {"'=1+1", "'+a", "'@b", "c\x1b[2J"}
    assert rows["image"].str.startswith("'-").all()
    assert rows["score"].astype(float).notna().all()


def test_any_exception_is_one_line_and_no_alarm(file, monkeypatch, capsys):
    def fail(*arguments, **options):
        raise LookupError("what nobody expects")

    monkeypatch.setattr("known_unknowns.auditing.inputs.read_outputs", fail)
    assert main(["audit", str(file)]) == REFUSED
    assert capsys.readouterr().err == "known-unknowns audit: LookupError: what nobody expects\n"


def shown(page):
    """Return each command of a page whose output the page prints, with this output in words."""
    block = r"^```console\n(?:\$ .*\n)*\$ known-unknowns (.*[^\\])\n(?!```)((?s:.+?))^```"
    pairs = re.findall(block, page.read_text(encoding="utf-8"), re.M)
    return {command: output.split() for command, output in pairs}


def test_the_page_shows_the_output_of_the_commands(here, capsys, without_figures):
    """With the outputs that the page makes up."""
    page = ROOT / "book" / "audit.md"
    made_up = {"np": np, "pd": pd}
    exec(re.search(r"\n(generator .*?)```", page.read_text("utf-8"), re.S)[1], made_up)
    commands = {command: words for command, words in shown(page).items() if command != "demo"}
    right = made_up["new"].argmax(axis=1) == made_up["new_labels"]
    assert f"the accuracy on the new images is {100 * right.mean():.1f} %" in page.read_text()
    names = ["audit", "accept", "audit", "audit", "accept", "watch", "watch"]
    assert [command.split()[0] for command in commands] == names
    for command, words in commands.items():
        fails = {"ALARM:", "BROKEN:"} & {*words}
        assert main(command.split()) == (FAILS if fails else HOLDS)
        printed = re.sub(r"(?m)^ *\d+\.\d s  .*", "", capsys.readouterr().out)
        assert printed.split() == words, command
        if "--check" in command:
            made_up["fill_in"]("checked.csv", "truth")
        if "second_audit" in command:
            made_up["fill_in"]("second_audit/to_label.csv", "label")


def test_the_page_shows_the_output_of_the_demo(here, capsys):
    """Without line breaks; the report of an earlier demo is replaced."""
    (here / DEMO).mkdir()
    (here / DEMO / "report.html").touch()
    assert main(["demo"]) == HOLDS
    printed, errors = capsys.readouterr()
    assert not errors
    assert listed(here / DEMO) == FILES[:3]
    assert (here / DEMO / "report.html").stat().st_size
    assert shown(ROOT / "book" / "audit.md")["demo"] == printed.split()


def test_a_pipe_or_device_is_never_replaced(here, capsys):
    """A file that is renamed to a device would take its place, for all users of the machine."""
    Rejector(create("max_logit"), 0.5, 2, known=np.arange(100) / 100).save("r.safetensors")
    np.savez("new.npz", logits=[[2.0, 0.0]])
    os.mkfifo("pipe")
    assert main("accept r.safetensors new.npz --out pipe --force".split()) == REFUSED
    assert main(["watch", "r.safetensors", "new.npz", "--state", "pipe"]) == REFUSED
    assert capsys.readouterr().err.count("a device or a pipe") == 2
    assert (here / "pipe").is_fifo()
    assert listed(here) == ["new.npz", "pipe", "r.safetensors"]


def test_the_readme_shows_sentences_of_the_loop():
    """Five commands, with sentences of the output that the audit page shows."""
    page = " ".join((ROOT / "book" / "audit.md").read_text("utf-8").split())
    readme = (ROOT / "README.md").read_text("utf-8").replace(" \\\n    ", " ")
    (block,) = re.findall(r"^```console\n(\$ known-unknowns audit .*?)^```", readme, re.M | re.S)
    commands = re.findall(r"^\$ (.*)$", block, re.M)
    assert [command.split()[1] for command in commands] == "audit audit audit accept watch".split()
    sentences = re.split(r"(?m)(?<=[.…])\n|^[$#] .*\n", block)
    for sentence in [*commands, *sentences]:
        assert " ".join(sentence.removesuffix(" …").split()) in page
