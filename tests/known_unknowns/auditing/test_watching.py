"""The monitor: seldom a false alarm in a thousand looks, and an alarm soon after a change."""

import json

import numpy as np
import pytest
from scipy.stats import binom

from helpers.scores import create
from known_unknowns.auditing.command import FAILS, HOLDS, REFUSED, main
from known_unknowns.auditing.rejector import Rejector
from known_unknowns.auditing.watching import FALSE_ALARMS, evidence, rank_of_cut

ALARM = np.log(2 / FALSE_ALARMS)


def counts(shares, runs, seed, known=1000, below=1.0):
    """Draw the unlike images among 100 at each look; `below` of the changed images are unlike."""
    generator, rank = np.random.default_rng(seed), rank_of_cut(known)
    chance = generator.beta(rank, known + 1 - rank, runs)
    return generator.binomial(100, chance + np.array(shares)[:, None] * (below - chance))


def test_a_thousand_looks_raise_few_false_alarms():
    """A test at each look alone would raise an alarm in nearly every run."""
    unlike = counts(np.full(1000, 0.02), 200, seed=0)
    alarms = (evidence(unlike, 100, 1000, [0.02])[..., 0] >= ALARM).any(axis=0)
    assert alarms.sum() <= binom.ppf(0.999, 200, FALSE_ALARMS)
    assert (binom.sf(unlike - 1, 100, 0.07) <= FALSE_ALARMS).any(axis=0).mean() > 0.9


@pytest.mark.parametrize(("below", "images"), [(1.0, 1500), (0.7, 5500)])
def test_a_change_from_2_to_10_per_cent_is_found(below, images):
    """In 19 of 20 runs, this many images after the change; a share of 2 % all along is not."""
    unlike = counts([0.02] * 100 + [0.1] * (images // 100), 200, seed=1, below=below)
    alarms = evidence(unlike, 100, 1000, [0.02])[..., 0] >= ALARM
    assert alarms[:100].any(axis=0).mean() <= FALSE_ALARMS < 0.95 <= alarms.any(axis=0).mean()


def test_the_command_counts_each_file_once_and_keeps_its_state(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    known = np.sort(generator.random(1000))
    Rejector(create("max_logit"), 0.5, 2, known=known).save("r.safetensors")
    for name, top in (("same", 1), ("worse", 0.1)):
        np.savez(name, logits=np.c_[top * generator.random(800), np.full(800, -1)])
    assert main(["watch", "r.safetensors", "same.npz"]) == HOLDS
    assert main(["watch", "r.safetensors", "worse.npz", "--share", "0.9"]) == HOLDS
    assert "No alarm, which needs more than 90 %." in capsys.readouterr().out
    assert main(["watch", "r.safetensors", "worse.npz"]) == FAILS
    printed = capsys.readouterr().out
    assert "In 2 files with 1600 images" in printed and "ALARM: the share has exceeded" in printed
    assert len(json.loads((tmp_path / "r.watch.json").read_text())["looks"]) == 2
    Rejector(create("max_logit"), 0.6, 2, known=known).save("other.safetensors")
    for file, state in (("other", "r.watch.json"), ("r", "same.npz"), ("r", ".")):
        assert main(["watch", f"{file}.safetensors", "same.npz", "--state", state]) == REFUSED
    messages = capsys.readouterr().err
    assert "belongs to another rejector" in messages and messages.count("is no state") == 2
