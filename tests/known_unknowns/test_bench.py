"""Scores against each other, on made-up packs of features."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save_file

import known_unknowns
from helpers.files import project_root
from helpers.networks import zoo_records
from helpers.outputs import Head, Outputs
from helpers.scores import base, create
from known_unknowns.auditing.command import main
from known_unknowns.auditing.commands.places import HOLDS
from known_unknowns.bench import Contest, FeaturePack, contest, entries_of, files_of, packs

OTHERS = ["energy", "mahalanobis", "max_logit", "msp"]
CENTRES = 3 * np.eye(4, 8)


def make(name="toy", seed=0):
    """Return a pack with weak features of near images and no class's features of far images."""
    head = Head(CENTRES.astype(np.float32), np.zeros(4, np.float32))
    labels = np.arange(300) % 4

    def outputs(centres, labels, seed):
        generator = np.random.default_rng(seed)
        features = np.maximum(generator.normal(size=(300, 8)) + centres, 0)
        return Outputs(features @ head.weight.T + head.bias, features, labels)

    known = (outputs(CENTRES[labels], labels, seed + k) for k in (0, 1))
    none = np.full(300, -1)
    near = {"cats": outputs(CENTRES[labels] / 2, none, seed + 2)}
    far = {name: outputs(0, none, seed + 3) for name in "ab"}
    return FeaturePack(name, "cifar10", head, *known, near=near, far=far, facts={"licence": "MIT"})


@pytest.fixture
def few(monkeypatch):
    """Register few scores: the contest is among all that there are."""
    monkeypatch.setattr(base, "_REGISTRY", {name: base._REGISTRY[name] for name in OTHERS})


def results(areas, cases=1, noise=(0.0, 0.0)):
    """Return a contest of the first score against the other scores on one side."""
    rows = [
        {
            "score": name,
            "network": "n",
            "side": "far",
            "test_set": f"t{case}",
            "auroc": area,
            "fpr_at_tpr": 0.5,
            "bootstrap": area + np.asarray(noise),
        }
        for case in range(cases)
        for name, area in areas.items()
    ]
    return Contest(pd.DataFrame(rows), (next(iter(areas)),))


def test_a_copy_is_equal_and_a_broken_contract_is_refused(few):
    info = replace(create("msp").info, name="copy")
    copy = type("Copy", (type(create("msp")),), {"info": info})()
    given = [make("first"), make("second", seed=9)]
    ranked = known_unknowns.bench(copy, given, replicates=50)
    rows = ranked.differences("copy").set_index(["side", "other"])
    for side in ("near", "far"):
        assert rows.loc[side, "msp"].tolist() == [0, 0, 0, "not told apart"]
        order = ranked.ranking(side)[0]
        assert order["copy"] == order["msp"]
    assert set(ranked.numbers["network"]) == {"first", "second"}
    assert ranked.entries == ("copy",)
    turned = type("Turned", (type(copy),), {"_scores": lambda *given: -type(copy)._scores(*given)})
    with pytest.raises(AssertionError, match="higher_is_known"):
        contest({"turned": turned()}, given)
    with pytest.raises(ValueError, match=r"jsd: .* it needs members"):
        contest({"jsd": JSD}, given)


JSD = create("jsd")  # before the fixture leaves it out


def test_intervals_are_of_pairs_and_ranks_of_many_sets():
    """Replicates that vary together; ten scores in the same order on twenty sets."""
    pair = results({"mine": 0.81, "other": 0.80}, noise=np.linspace(-0.2, 0.2, 101))
    (row,) = pair.differences("mine").to_dict("records")
    assert row["verdict"] == "better"
    assert row["low"] == pytest.approx(0.01)
    assert pair.differences("other")["verdict"].tolist() == ["worse"]
    assert "better than 1, worse than 0, not told apart from 0" in pair.sentences("mine")[0]
    many = {f"s{k}": 0.9 - 0.01 * k for k in range(10)}
    (sentence,) = results(many, cases=20).rank_tests()
    difference = float(sentence.split("more than ")[1].split()[0])
    assert "over 20 pairs" in sentence
    assert f"; {9 - int(difference)} differ by that from s0, of mean rank 1.0." in sentence
    (sentence,) = results(dict.fromkeys(many, 0.9), cases=20).rank_tests()
    assert "; 0 differ by that from s0, of mean rank 5.5." in sentence


EVERY = pytest.param(base._REGISTRY, marks=pytest.mark.exhaustive, id="every score")


@pytest.mark.parametrize("names", [OTHERS, EVERY])
def test_the_page_shows_the_output_of_the_command(names, here, monkeypatch, capsys):
    """With the score of the book; and times, which the page leaves out.

    The score's own mean AUROC does not depend on the other scores.
    """
    monkeypatch.setattr(base, "_REGISTRY", {name: base._REGISTRY[name] for name in names})
    page = (project_root() / "book/how_to_run.md").read_text("utf-8")
    text = page.split("```python\n# my_score.py")[1].split("```")[0]
    (here / "my_score.py").write_text(text)
    assert main(["bench", "my_score.py"]) == HOLDS
    printed = re.sub(r"(?m)^ *\d+\.\d s  .*", "", capsys.readouterr().out)
    compared = r"my_score, \w+ images: AUROC [\d.]+, place" if names is OTHERS else "^.+$"
    lines = re.findall(compared, " ".join(printed.split()))
    assert lines
    assert all(line in " ".join(page.split()) for line in lines)
    folder = here / "my_score_bench"
    assert {file.name for file in folder.iterdir()} == files_of(["my_score"])
    page = (folder / "index.html").read_text()
    assert page.count("<svg") == 2
    assert "my_score (new)" in page
    assert "Mean ranks, far" in page
    (here / "empty.py").write_text("x = 1\n")
    with pytest.raises(ValueError, match=r"registers no score; put @known_unknowns\.scores"):
        entries_of(here / "empty.py")
    with pytest.raises(FileNotFoundError, match=r"workflow/feature_packs\.py makes them"):
        packs(folder)


def test_the_embedded_packs_have_the_accuracy_of_their_networks():
    """The accuracy is the printed accuracy up to the noise of 2,000 images."""
    embedded = list(packs())
    assert len(embedded) == 4
    assert {pack.id_set for pack in embedded} == {"cifar10", "cifar100"}
    for pack in embedded:
        right = 100 * pack.test.correct.mean()
        printed = zoo_records.records()[pack.name].accuracy
        assert right == pytest.approx(printed, abs=2.5) if printed else right > 70
        assert len(pack.near) == 2
        assert len(pack.far) == 12
        assert not pack.near.keys() & {pack.id_set}
        assert all((each.labels == -1).all() for each in (pack.near | pack.far).values())
        changes = pack.facts["changes_of_auroc"]  # by 8 bits, of each score's mean over sets
        assert len(changes) > 20
        assert max(changes.values()) < 0.0015


def test_a_pack_is_read_as_it_was_rounded_or_refused(tmp_path):
    """Each altered byte is noticed; so are other files, later versions, and large features."""
    pack = make()
    path = tmp_path / "toy.safetensors"
    pack.write(path)
    (read,) = packs(tmp_path)
    assert (read.name, read.id_set, read.facts) == (pack.name, pack.id_set, pack.facts)
    expected = pack.rounded().parts
    assert list(read.parts) == list(expected) == ["train", "test", "near/cats", "far/a", "far/b"]
    for name, outputs in read.parts.items():
        for array in ("logits", "features", "labels"):
            assert np.array_equal(getattr(outputs, array), getattr(expected[name], array))
        assert not outputs.features[pack.parts[name].features == 0].any()
    whole = path.read_bytes()
    arrays = load_file(path)
    start = 8 + int.from_bytes(whole[:8], "little")
    end = len(whole[:start].rstrip())  # blanks after the header mean nothing
    for position in (*range(end), *np.random.default_rng(0).integers(start, len(whole), 20)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        with pytest.raises(ValueError, match=r"toy.safetensors: not a whole feature pack"):
            FeaturePack.read(path)
    for version, about in (("none", None), ("2", {"feature_pack": "2", "about": "{}"})):
        save_file(arrays, path, metadata=about)
        with pytest.raises(ValueError, match=f"version 3 of feature packs expected, got {version}"):
            FeaturePack.read(path)


def test_eight_bits_keep_negative_and_large_features(tmp_path):
    pack = make()
    pack.far["a"] = Outputs(pack.test.logits, pack.test.features * -1e5, pack.test.labels)
    pack.write(tmp_path / "toy.safetensors")
    (read,) = packs(tmp_path)
    for name, outputs in pack.parts.items():
        roots = np.cbrt(read.parts[name].features)
        expected = np.cbrt(outputs.features)
        every = np.cbrt(np.concatenate([part.features for part in pack.parts.values()]))
        assert np.all(np.abs(roots - expected) <= 0.502 / 255 * np.ptp(every, axis=0))
