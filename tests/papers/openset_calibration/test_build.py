"""Finished networks: their stored outputs, and the numbers of the default build."""

from pathlib import Path

import numpy as np
import pytest

from helpers.files import project_root
from helpers.papers import load, run
from helpers.papers.learnt_distances import learnt_distances
from helpers.papers.openset_calibration import experiment
from helpers.scores.calibration import fit_temperature
from helpers.scores.openmax import OpenMax
from helpers.tables import results
from helpers.training import finished_networks

SMALL = results.read(project_root() / "results/small/openset_calibration.parquet")
NETWORKS = project_root() / "results/small/networks/openset_calibration"
PARAMETERS = load("openset_calibration", "mini")
NAMES = sorted(path.stem for path in (NETWORKS / finished_networks.HELD_OUT).iterdir())


def committed(name, metric, when="after"):
    """Return a committed number of the network of a file."""
    _, backbone, number, setting = name.split("-", 3)
    rows = SMALL[(SMALL["backbone"] == backbone) & (SMALL["run"] == int(number))]
    rows = rows[(rows["variant"] == "primary") & (rows["calibration"] == when)]
    return rows[(rows["method"] == setting) & (rows["metric"] == metric)]["value"].item()


def test_every_network_of_the_build_has_stored_outputs():
    parts = [Path(part.name).parts[1:] for part in run.parts(PARAMETERS)]
    names = [f"cifar10-{network}-{number}" for network, number in parts]
    assert NAMES == sorted(f"{name}-{kind}-set" for name in names for kind in ("closed", "open"))


@pytest.mark.parametrize("name", NAMES)
def test_the_stored_outputs_have_the_committed_temperature(name):
    held_out = finished_networks.held_out(NETWORKS / f"{name}.safetensors")
    assert len(held_out) == (5000 if "closed" in name else 3000)
    temperature = fit_temperature(held_out.logits, held_out.labels)
    assert temperature == pytest.approx(committed(name, "temperature"), rel=3e-3)
    if "open" in name:
        confidences = held_out.probabilities.max(axis=1)
        threshold = committed(name, "threshold")
        assert np.mean(confidences >= threshold) == pytest.approx(PARAMETERS.keep, abs=1e-3)


def test_openmax_uses_the_stored_distances_of_a_finished_network(monkeypatch):
    """A slice has a few hundred correct images of a class, and its tail begins elsewhere."""
    monkeypatch.setenv("TRAINING", "refused")
    part = run.parts(PARAMETERS)[0]
    roles = experiment.roles(PARAMETERS, part)
    network = experiment.models(PARAMETERS, part, roles)["open-set"]
    known = learnt_distances(network, roles["open-set"].train, ["euclidean"])["euclidean"]
    assert known.correct.sum() > 25_000
    assert known.largest.shape == (6, experiment.DISTANCES["euclidean"])
    assert (np.diff(known.largest.astype(float)) <= 0).all()
    model = OpenMax(20).fit_distances(known)
    assert model.fitted["start"] == pytest.approx(known.largest[:, 19])
    with pytest.raises(ValueError, match=r"tail: at most 1200 .* expected, got 2000"):
        OpenMax(2000).fit_distances(known)
    with pytest.raises(ValueError, match="kind 'euclidean_cosine' expected, got 'euclidean'"):
        OpenMax(20, distance="euclidean_cosine").fit_distances(known)
