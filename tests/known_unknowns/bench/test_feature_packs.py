"""Feature packs: what is written is read again, and nothing else."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from helpers.networks import published
from helpers.outputs import Outputs
from known_unknowns.bench import FeaturePack, packs
from known_unknowns.bench.feature_packs import EMBEDDED


def test_a_pack_is_read_as_it_was_rounded(made_up, tmp_path):
    pack = made_up(facts={"network": {"licence": "MIT"}})
    pack.write(tmp_path / "one.safetensors")
    (found,) = packs(tmp_path)
    assert (found.name, found.id_set, found.facts) == (pack.name, pack.id_set, pack.facts)
    expected = pack.rounded().parts
    assert list(found.parts) == list(expected) == ["train", "test", "near/cats", "far/a", "far/b"]
    for place, one in found.parts.items():
        for array in ("logits", "features", "labels"):
            assert np.array_equal(getattr(one, array), getattr(expected[place], array))
    assert np.abs(found.test.features - pack.test.features).max() < 0.01


def test_the_packs_that_come_along_are_those_of_the_networks_that_they_name():
    """As often right as is printed, where it is, within what 2,000 images can tell; and small."""
    found = list(packs())
    assert len(found) == 4 and {one.id_set for one in found} == {"cifar10", "cifar100"}
    assert sum(file.stat().st_size for file in EMBEDDED.iterdir()) < 25 * 2**20
    for pack in found:
        right, printed = 100 * pack.test.correct.mean(), published.records()[pack.name].accuracy
        assert right == pytest.approx(printed, abs=2.5) if printed else right > 70
        assert len(pack.near) == 2 and len(pack.far) == 12
        assert not pack.near.keys() & {pack.id_set}
        assert all((one.labels == -1).all() for one in (pack.near | pack.far).values())
        assert max(pack.facts["half_precision"].values()) < 0.002  # of an AUROC


def test_a_folder_without_packs_says_what_makes_them(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"workflow/feature_packs\.py makes them"):
        packs(tmp_path)


def test_features_that_half_precision_cannot_hold_are_refused(made_up, tmp_path):
    pack = made_up()
    huge = Outputs(pack.test.logits, pack.test.features * 1e5, pack.test.labels)
    pack.far["a"] = huge
    with pytest.raises(ValueError, match=r"far/a: features of at most 65504 expected"):
        pack.write(tmp_path / "one.safetensors")
    assert not [*tmp_path.iterdir()]


def test_each_altered_byte_is_noticed(made_up, tmp_path):
    """Of the header, too: what a pack says of its network is under the checksum."""
    made_up().write(path := tmp_path / "one.safetensors")
    whole = path.read_bytes()
    start = 8 + int.from_bytes(whole[:8], "little")
    end = len(whole[:start].rstrip())  # blanks behind the header say nothing
    arrays = np.random.default_rng(0).integers(start, len(whole), 20)
    for place in (*range(end), *arrays):
        broken = bytearray(whole)
        broken[place] ^= 1
        path.write_bytes(broken)
        with pytest.raises(ValueError, match=r"one.safetensors: not a whole feature pack"):
            FeaturePack.read(path)


def test_other_files_and_later_versions_are_refused(made_up, tmp_path):
    made_up().write(path := tmp_path / "one.safetensors")
    arrays = load_file(path)
    save_file(arrays, path)
    with pytest.raises(ValueError, match="version 2 of feature packs expected, got none"):
        FeaturePack.read(path)
    save_file(arrays, path, metadata={"feature_pack": "3", "about": json.dumps({})})
    with pytest.raises(ValueError, match="version 2 of feature packs expected, got 3"):
        FeaturePack.read(path)
