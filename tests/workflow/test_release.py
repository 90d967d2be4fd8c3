"""What is handed out is taken over whole, and saves every training; what is altered is refused."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import manifests
import numpy as np
import pytest
import release

from helpers import checkpoints
from helpers.data import Images
from helpers.networks.recipe import Recipe
from helpers.papers import run
from helpers.papers.run import Part
from helpers.report import results
from helpers.training import fitted

TINY = Recipe(width=4, stem_stride=2, epochs=1, batch_size=8)
PIXELS = np.random.default_rng(0).integers(0, 256, (24, 16, 16, 3), dtype=np.uint8)
IMAGES = Images(PIXELS, np.arange(24) % 3, ("a", "b", "c"), "noise", "train")


def models_of(parameters, part, roles):
    if part.name == "broken":
        raise OSError("no such weights")
    return fitted.fit(IMAGES, TINY, progress=False)


@pytest.fixture
def paper(monkeypatch, tmp_path):
    """A paper with a part that trains a network, and one that fails."""
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "cache"))
    stages = SimpleNamespace(
        __name__="helpers.papers.uimnet.experiment",
        parts=lambda parameters: [
            Part(name, {"data_set": "cifar10", "backbone": name}) for name in ("small", "broken")
        ],
        roles=lambda parameters, part: {"test": 0},
        models=models_of,
        outputs=lambda parameters, part, roles, models: models.outputs(IMAGES),
        rows=lambda parameters, part, outputs, draw: [
            results.row("test", "mean", outputs.logits.mean(), 24, method="a")
        ],
    )
    monkeypatch.setitem(run.PAPERS, "uimnet", SimpleNamespace(experiment=stages))
    given = SimpleNamespace(tier="mini", paper="uimnet", seed=0, replicates=4,
                            decisive=dict, data_sets_used=lambda: ["cifar10"])  # fmt: skip
    monkeypatch.setattr(release.papers, "load", lambda name, tier: given)
    return given


def test_who_takes_a_release_over_trains_and_asks_no_network(paper, monkeypatch, tmp_path, caplog):
    release.pack(tmp_path / "out", "mini", ["uimnet"])
    assert "left out: OSError: no such weights" in caplog.text
    caplog.clear()
    said = manifests.read(tmp_path / "out")
    assert said["left_out"] == {"uimnet/broken": "OSError: no such weights"}
    assert {name.partition("/")[0] for name in said["files"]} == {"networks", "outputs", "rows"}
    assert said["data_sets"]["cifar10"] == release.licence("cifar10") != "see its pack"
    before = run.rows_of_part(paper, Part("small", {"data_set": "cifar10", "backbone": "small"}))

    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "other"))
    assert release.use(tmp_path / "out") == (3, 3) and not caplog.records
    assert release.use(tmp_path / "out") == (0, 3)  # what is there is left as it is
    for name in ("train", "compute"):
        monkeypatch.setattr(fitted, name, lambda *_, **__: pytest.fail("made anew"))
    parts = run.parts(paper)
    run.ask(paper, parts[0])
    assert run.rows_of_part(paper, parts[0]).equals(before)


def test_a_network_is_built_from_its_file_alone(paper, tmp_path):
    release.pack(tmp_path / "out", "mini", ["uimnet"])
    (name,) = (one for one in manifests.read(tmp_path / "out")["files"] if "networks/" in one)
    page = (Path(__file__).parents[2] / "book" / "how_to_run.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    (lines,) = (one for one in blocks if "load_state_dict" in one)
    names = {"path": tmp_path / "out" / name}
    exec(lines, names)
    trained = models_of(paper, run.parts(paper)[0], None)
    assert checkpoints.digest(names["network"].state_dict()) == trained.sha256


def test_what_other_code_has_made_is_said(paper, tmp_path, monkeypatch, caplog):
    release.pack(tmp_path / "out", "mini", ["uimnet"])
    monkeypatch.setattr(release, "VERSIONS", {"torch": "0.1"})
    release.use(tmp_path / "out")
    assert "torch: this is 0.1, the release is of" in caplog.text


def test_an_altered_a_missing_and_a_strange_file_are_refused(paper, tmp_path, monkeypatch):
    manifest = release.pack(tmp_path / "out", "mini", ["uimnet"])
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "other"))
    said = json.loads(manifest.read_text())
    name = min(said["files"])
    whole = (tmp_path / "out" / name).read_bytes()
    (tmp_path / "out" / name).write_bytes(whole[:-1] + b"x")
    with pytest.raises(ValueError, match="altered, its SHA-256"):
        release.use(tmp_path / "out")
    (tmp_path / "out" / name).unlink()
    with pytest.raises(FileNotFoundError, match=r"missing, and manifest\.json has it"):
        release.use(tmp_path / "out")
    (tmp_path / "out" / name).write_bytes(whole)
    for strange, why in (("../evil", "outside its folder"), ("/evil", "outside its folder")):
        manifest.write_text(json.dumps(said | {"files": {strange: {"sha256": ""}}}))
        with pytest.raises(ValueError, match=why):
            release.use(tmp_path / "out")
    (tmp_path / "out" / "drawn").mkdir()
    (tmp_path / "out" / "drawn" / "x.npy").write_bytes(b"")
    manifests.write(tmp_path / "out", {}, {"drawn/x.npy": {}})
    with pytest.raises(ValueError, match="nothing that a release has"):
        release.use(tmp_path / "out")
    manifest.write_text("[]")
    with pytest.raises(ValueError, match="not a manifest"):
        release.use(tmp_path / "out")
    manifest.write_text(json.dumps(said | {"manifest": 2}))
    with pytest.raises(ValueError, match="version 1 of manifests expected, got 2"):
        release.use(tmp_path / "out")
    assert not (tmp_path / "other").exists()


def test_a_release_of_nothing_is_refused(paper, tmp_path, monkeypatch):
    broken = [part for part in run.parts(paper) if part.name == "broken"]
    monkeypatch.setattr(run, "parts", lambda parameters: broken)
    with pytest.raises(ValueError, match="nothing to hand out: OSError: no such weights"):
        release.pack(tmp_path / "out", "mini", ["uimnet"])
    assert not (tmp_path / "out").exists()


def test_a_folder_without_a_manifest_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="no manifest there"):
        release.main(["use", str(tmp_path)])
