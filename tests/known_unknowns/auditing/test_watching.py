"""The monitor has few false alarms in a thousand looks, and an alarm soon after a change."""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from helpers.files import project_root
from helpers.scores import create
from known_unknowns.auditing import audit, watching
from known_unknowns.auditing.command import main
from known_unknowns.auditing.commands.places import FAILS, HOLDS, REFUSED
from known_unknowns.auditing.rejector import Rejector
from known_unknowns.auditing.watching import FALSE_ALARMS, evidence, rank_of_cut
from tests.known_unknowns.auditing.conftest import watch

ALARM = np.log(2 / FALSE_ALARMS)


def counts(shares, below=1.0):
    """Draw the unlike images among 100 at each look; `below` of the changed images are unlike."""
    generator = np.random.default_rng(3)
    rank = rank_of_cut(1000)
    chance = generator.beta(rank, 1001 - rank, 200)
    return generator.binomial(100, chance + np.array(shares)[:, None] * (below - chance))


def test_a_thousand_looks_raise_few_false_alarms():
    """A test at each look alone would raise an alarm in nearly every run."""
    unlike = counts(np.full(1000, 0.02))
    alarms = (evidence(unlike, 100, 1000, [0.02])[..., 0] >= ALARM).any(axis=0)
    assert alarms.sum() <= binom.ppf(0.999, 200, FALSE_ALARMS)
    assert (binom.sf(unlike - 1, 100, 0.07) <= FALSE_ALARMS).any(axis=0).mean() > 0.9


@pytest.fixture
def monitor(here):
    """A rejector, and files of outputs like the validation images and unlike them."""
    generator = np.random.default_rng(0)
    known = np.sort(generator.random(1000))
    Rejector(create("max_logit"), 0.5, 2, known=known).save("r.safetensors")
    for name, top in (("same", 1), ("worse", 0.1)):
        np.savez(name, logits=np.c_[top * generator.random(800), np.full(800, -1)])
    return here / "r.watch.json"


def test_the_command_counts_each_file_once_and_keeps_its_state(monitor, capsys):
    assert watch("same.npz") == HOLDS
    assert watch("worse.npz", "--share", "0.9") == HOLDS
    assert "No alarm, which needs more than 90 %." in capsys.readouterr().out
    assert watch("worse.npz") == FAILS
    printed = capsys.readouterr().out
    assert "In 2 files with 1600 images" in printed
    assert "ALARM: the share has exceeded" in printed
    assert len(json.loads(monitor.read_text())["looks"]) == 2
    known = Rejector.load("r.safetensors").known
    Rejector(create("max_logit"), 0.6, 2, known=known).save("other.safetensors")
    for file, state in (("other", "r.watch.json"), ("r", "same.npz"), ("r", ".")):
        assert main(["watch", f"{file}.safetensors", "same.npz", "--state", state]) == REFUSED
    messages = capsys.readouterr().err
    assert "belongs to another rejector" in messages
    assert "same.npz is no state" in messages
    assert ". is a folder; name a file" in messages
    assert not list(monitor.parent.glob(".*same.npz*"))  # a refused state has no lock


def test_a_refused_file_does_not_change_the_state(monitor):
    assert watch("same.npz") == HOLDS
    before = monitor.read_bytes()
    np.savez("wide.npz", logits=np.zeros((5, 3)))
    assert watch("wide.npz") == REFUSED
    assert monitor.read_bytes() == before


def test_an_acknowledged_alarm_does_not_ring_again(monitor, capsys):
    assert watch("worse.npz") == FAILS
    assert "add `--acknowledge` if you know the reason" in capsys.readouterr().out
    assert watch("worse.npz", "--acknowledge") == HOLDS
    assert "Acknowledged: a new count begins" in capsys.readouterr().out
    assert watch("worse.npz") == HOLDS  # its content counts once
    assert "These outputs were counted before" in capsys.readouterr().out
    assert watch("same.npz") == HOLDS
    assert "In 1 file with 800 images" in capsys.readouterr().out
    generator = np.random.default_rng(1)
    np.savez("again.npz", logits=np.c_[0.1 * generator.random(800), np.full(800, -1)])
    assert watch("again.npz") == FAILS


def test_an_alarm_is_acknowledged_after_it_was_seen(monitor, capsys):
    """A command of a scheduler with --acknowledge would never print an alarm."""
    for file in ("same.npz", "worse.npz"):
        assert watch(file, "--acknowledge") == REFUSED
        assert "r.watch.json does not contain an alarm" in capsys.readouterr().err
        assert sorted(path.name for path in monitor.parent.iterdir()) == [
            "r.safetensors",
            "same.npz",
            "worse.npz",
        ]
    assert watch("same.npz") == HOLDS
    before = monitor.read_bytes()
    assert watch("worse.npz", "--acknowledge") == REFUSED
    assert monitor.read_bytes() == before
    assert watch("worse.npz") == FAILS
    assert watch("worse.npz", "--acknowledge") == HOLDS
    assert watch("worse.npz", "--acknowledge") == REFUSED


def test_counts_agree_with_their_nouns(monitor, capsys):
    np.savez("one.npz", logits=[[0.9, -1]])
    assert watch("one.npz") == HOLDS
    assert "In 1 file with 1 image, the counts do not yet show" in " ".join(
        capsys.readouterr().out.split()
    )
    assert watch("worse.npz") == FAILS
    assert watch("worse.npz", "--acknowledge") == HOLDS
    capsys.readouterr()
    assert watch("worse.npz") == HOLDS
    printed = capsys.readouterr().out
    assert "The alarm with this file is acknowledged, and no later file is counted" in printed
    assert "In 0" not in printed


@pytest.mark.parametrize("reader", ["| head -0", ">&-"])
def test_an_alarm_keeps_its_status_without_a_reader(monitor, reader):
    command = f"{sys.executable} -m known_unknowns watch r.safetensors worse.npz"
    script = f"set -o pipefail; {command} {reader}"
    environment = os.environ | {"PYTHONPATH": str(project_root())}
    done = subprocess.run(["bash", "-c", script], env=environment, stderr=subprocess.PIPE)
    assert done.returncode == FAILS
    assert done.stderr == b""
    assert len(json.loads(monitor.read_text())["looks"]) == 1


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_no_alarm(monitor, unbuffered):
    command = [sys.executable, "-m", "known_unknowns", "watch", "r.safetensors", "worse.npz"]
    environment = os.environ | {"PYTHONPATH": str(project_root()), "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, env=environment, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == REFUSED
    assert b"No space left on device" in done.stderr


def test_watch_works_without_fcntl_as_on_windows(monitor, monkeypatch):
    """The other lock is waited for; it is held while the state is written."""
    tries = []

    def locking(descriptor, mode, length):
        tries.append((os.fstat(descriptor).st_size, mode, length))
        if len(tries) < 3:
            raise PermissionError(13, "locked by another process")

    windows = SimpleNamespace(locking=locking, LK_NBLCK=2)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", windows)
    assert watch("worse.npz") == FAILS
    assert tries == [(0, 2, 1)] * 3
    assert len(json.loads(monitor.read_text())["looks"]) == 1


def test_looks_at_once_are_all_counted(monitor):
    generator = np.random.default_rng(2)
    for number in range(4):
        np.savez(f"{number}.npz", logits=np.c_[generator.random(50), np.full(50, -1)])
    files = [f"{number}.npz" for number in range(4)]
    with ProcessPoolExecutor(4, get_context("fork")) as processes:
        assert [*processes.map(watch, files)] == [HOLDS] * 4
    assert len(json.loads(monitor.read_text())["looks"]) == 4


def test_an_audit_replaces_a_folder_in_which_watch_has_written(here, capsys, without_figures):
    generator = np.random.default_rng(0)
    labels = np.arange(400) % 4
    logits = 6 * np.eye(4)[labels] + generator.normal(size=(400, 4))
    np.savez("o.npz", logits=logits, labels=labels)
    command = ["audit", "o.npz", "--risk", "0.2", "--out", "a"]
    again = ["watch", "a/rejector.safetensors", "o.npz"]
    assert main(command) == HOLDS
    assert main(again) == HOLDS
    monitor = here / "a" / "rejector.watch.json"
    counts = monitor.read_bytes()
    assert main([*command, "--force"]) == HOLDS
    audit("o.npz", risk=0.2).save("a")
    assert main(again) == HOLDS  # the same rejector
    assert monitor.read_bytes() == counts
    with pytest.raises(ValueError, match="has counts of watch for another rejector"):
        audit("o.npz", risk=0.3).save("a")
    for _ in range(2):
        assert main([*command, "--force", "--risk", "0.3"]) == HOLDS
        assert not monitor.exists()
        (kept,) = monitor.parent.glob("rejector.watch.*.json")
        assert kept.read_bytes() == counts
    assert capsys.readouterr().out.count(f"rejector are now in a/{kept.name}") == 1


def detected(share, below):
    """Return the share of runs with an alarm, and the images until it in the median run."""
    unlike = counts([share] * 100, below)
    alarms = evidence(unlike, 100, 1000, [0.02])[..., 0] >= ALARM
    with_alarm = alarms.any(axis=0)
    until = np.where(with_alarm, 100 * (1 + alarms.argmax(axis=0)), np.inf)
    return with_alarm.mean(), np.median(until)


def test_the_page_has_the_detection_rates_of_each_share():
    """The table of book/audit.md is computed here."""
    page = (project_root() / "book" / "audit.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d+) % \| (\d+) % \| (.*) \| (\d+) % \| (.*) \|$", page, re.M)
    assert len(rows) == 5
    for share, *cells in rows:
        for below, share_found, until in ((1.0, *cells[:2]), (0.5, *cells[2:])):
            alarms, median = detected(int(share) / 100, below)
            assert round(100 * alarms) == int(share_found), (share, below, alarms, median)
            words = "–" if median == np.inf else f"{median:,.0f}"
            assert words == until, (share, below, alarms, median)


def test_a_second_score_watches_for_unlike_images(here, capsys):
    """Images with confident answers and strange features: only a score of features finds them."""
    generator = np.random.default_rng(0)
    head = np.eye(4, 12)

    def features(count, strange):
        labels = generator.integers(4, size=count)
        known = generator.normal(size=(count, 12)) + 6 * np.eye(4, 12)[labels]
        known[:, 4:] += strange * generator.choice([-4, 4], size=(count, 8))
        return known, labels

    known, labels = features(2000, 0)
    train, train_labels = features(1000, 0)
    arrays = {
        "logits": known @ head.T,
        "features": known,
        "labels": labels,
        "train_logits": train @ head.T,
        "train_features": train,
        "train_labels": train_labels,
        "head_weight": head,
        "head_bias": np.zeros(4),
    }
    pets = features(300, 1)[0]
    sets = {"ood_pets_logits": pets @ head.T, "ood_pets_features": pets}
    new = np.concatenate([features(800, 0)[0], features(200, 1)[0]])
    np.savez("new.npz", logits=new @ head.T, features=new)
    np.savez("logits.npz", logits=new @ head.T)
    alone = audit(arrays, risk=0.1, replicates=5, score="msp").rejector
    assert alone.detector.info.name == "fdbd"
    rejector = audit(arrays | sets, risk=0.1, replicates=5, score="msp").rejector
    assert "features" in rejector.detector.info.needs
    assert rejector.provenance["unlike_found"]["pets"] > 0.9
    rejector.save("r.safetensors")
    read = Rejector.load("r.safetensors")
    assert read == rejector
    assert read != replace(rejector, detector=None, detector_known=None)
    assert read.accepts(new @ head.T).shape == (1000,)  # its own score needs no features
    assert watch("new.npz") == FAILS
    printed = capsys.readouterr().out
    assert f"The score is {rejector.detector.info.title}." in printed
    assert "files of this size raise an alarm for 5 % of unlike images" in printed
    assert "% of the unlike images score low as in the set pets" in printed
    assert watch("logits.npz") == REFUSED
    assert "features: expected" in capsys.readouterr().err
    replace(rejector, detector=None, detector_known=None).save("plain.safetensors")
    assert main(["watch", "plain.safetensors", "new.npz"]) == HOLDS
    with pytest.raises(ValueError, match="detector: a score and its scores of known images"):
        replace(rejector, detector_known=None)


def test_usual_images_do_not_lower_the_bound_of_earlier_looks():
    looks = {"a": [30, 100], "b": [30, 100]}
    usual = {str(number): [0, 100] for number in range(60)}
    assert watching._summary(looks | usual, 1000)["bound"] > 0.1


@pytest.mark.parametrize(("below", "share"), [(1.0, 0.1), (0.5, 0.2)])
def test_the_number_of_images_until_an_alarm_is_about_right(below, share):
    generator = np.random.default_rng(0)
    rate = share * below + (1 - share) * watching.CHANCE
    unlike = generator.binomial(100, rate, size=(100, 60))
    log = evidence(unlike, np.full(unlike.shape, 100), 1000, [0.02])[..., 0]
    looks = (log >= np.log(2 / watching.FALSE_ALARMS)).argmax(axis=0) + 1
    expected = watching.images_until_alarm(1000, 100, below, 0.02)[share]
    assert expected / 2.5 < 100 * np.median(looks) < 2.5 * expected
