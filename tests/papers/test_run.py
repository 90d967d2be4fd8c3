"""The driver, on an experiment without networks."""

from dataclasses import dataclass
from itertools import product
from types import SimpleNamespace
from typing import ClassVar
from unittest.mock import Mock

import numpy as np
import pytest

from helpers import cache, metrics
from helpers.papers import parameters, run
from helpers.papers.run import Part
from helpers.tables import results


class Parameters(parameters.Parameters):
    """Parameters of the experiment below."""

    paper: ClassVar = "uimnet"
    grid: ClassVar = ("data_sets",)
    data_sets: list[str]
    shift: float


@dataclass(frozen=True)
class Network:
    """Stands for one: a digest, and where and how long it was trained."""

    sha256: str
    seconds: float = 2.0
    device_name: str = "cpu, 1 thread"


@pytest.fixture
def experiment(monkeypatch, root):
    """An experiment that records its calls; digits has two parts."""
    asked = []

    def parts(parameters):
        pairs = product(parameters.data_sets, (0, 1))
        places = ({"data_set": name, "backbone": "small", "run": run} for name, run in pairs)
        return [Part(f"{p['data_set']}/{p['run']}", p, roles=p["data_set"]) for p in places]

    def roles(parameters, part):
        asked.append(("roles", part.name))
        return {"test": np.arange(5), "of": part.identity["data_set"]}

    def models(parameters, part, roles):
        if roles["of"] == "broken":
            raise OSError("no such weights")
        return [Network("a"), Network(str(part.identity["run"]))]

    def outputs(parameters, part, roles, models):
        asked.append(("outputs", part.name))
        return roles["test"] + parameters.shift

    def rows(parameters, part, outputs, draw):
        replicates = metrics.weighted_mean(outputs, draw("test", len(outputs)))
        yield {"method": "a"} | results.row("test", "mean", outputs.mean(), 5, replicates)
        yield results.row("test", "mean", 1.0, 5, method="b", run=7 + part.identity["run"])

    stages = SimpleNamespace(__name__="helpers.papers.uimnet.experiment", asked=asked)
    vars(stages).update(parts=parts, roles=roles, models=models, outputs=outputs, rows=rows)
    monkeypatch.setattr(run, "experiment_of", lambda parameters: stages)
    return stages


def given(*data_sets, **values):
    whole = {"tier": "mini", "seed": 3, "replicates": 4, "training": {}, "shift": 1.0}
    return Parameters(**whole | values, data_sets=list(data_sets))


def test_the_table_has_the_rows_of_all_parts(experiment):
    table = run.rows(given("digits"), progress=False)
    assert table["run"].tolist() == [0, 7, 1, 8]
    assert set(table["paper"]) == {"uimnet"}
    assert set(table["device"]) == {"cpu, 1 thread"}
    assert set(table["seconds"]) == {4.0}
    same = table.loc[table["method"] == "a", "bootstrap"].tolist()
    assert np.array_equal(*same)  # the images of one name are drawn alike
    weights = run.draws(given("digits"))
    assert not np.array_equal(weights("test", 5), weights("near", 5))
    assert [call for call in experiment.asked if call[0] == "roles"] == [("roles", "digits/0")]


def test_rows_are_stored_by_their_parameters_and_networks(experiment, monkeypatch):
    first = run.rows(given("digits"), progress=False)
    experiment.asked.clear()
    again = run.rows(given("digits", "plaid"), only=["digits/0", "digits/1"], progress=False)
    assert again.equals(first)
    assert ("outputs", "digits/0") not in experiment.asked
    moved = run.rows(given("digits", shift=2.0), only="digits/0", progress=False).iloc[0]
    assert moved["value"] == first["value"][0] + 1
    assert moved["parameters"] != first["parameters"][0]
    for digest in ("c", "d"):  # of the stored outputs on held-out images
        about = {"device_name": "cpu", "finished": True, "held_out_sha256": digest}
        network = SimpleNamespace(sha256="b", seconds=2.0, **about)
        experiment.models = lambda *_, network=network: [network]
        experiment.asked.clear()
        run.rows(given("digits"), only="digits/0", progress=False)
        assert ("outputs", "digits/0") in experiment.asked
    monkeypatch.setattr(cache, "code", Mock(return_value="code"))
    run.rows(given("digits"), only="digits/0", progress=False)
    assert "helpers.papers.uimnet" in cache.code.call_args.args  # whose tables decide, too


def test_a_part_that_fails_is_a_row_and_ends_no_other(experiment):
    table = run.rows(given("broken", "digits"), progress=False)
    failed = table[table["metric"] == "failed"]
    assert failed["run"].tolist() == [0, 1]
    assert set(failed["method"]) == {"network"}
    notes = [f"part broken/{n} failed: OSError: no such weights" for n in (0, 1)]
    assert failed["notes"].tolist() == run.failed_parts(table) == notes
    assert len(table) == 6
    assert set(failed["device"]) == {"none"}
    with pytest.raises(ValueError, match=r"all parts failed; the first: .* no such weights"):
        run.rows(given("broken"), progress=False)
    part = run.parts(given("broken"))[0]
    assert run.rows_of_part(given("broken"), part)["metric"].tolist() == ["failed"]


def test_a_network_that_is_missing_is_a_failed_part_and_ends_no_other(experiment):
    plain = experiment.models

    def models(parameters, part, roles):
        if part.name == "digits/1":
            raise cache.MissingError("network 'a' is not there")
        return plain(parameters, part, roles)

    experiment.models = models
    table = run.rows(given("digits"), progress=False)
    note = "part digits/1 failed: MissingError: network 'a' is not there"
    assert run.failed_parts(table) == [note]
    assert table["metric"].tolist() == ["mean", "mean", "failed"]


def test_a_part_is_named_alone_or_by_its_network(experiment):
    """The name of a network means all its parts, without repetition."""
    both = run.parts(given("digits", "plaid"), ["plaid/1", "small"])
    assert [part.name for part in both] == ["plaid/1", "digits/0", "digits/1", "plaid/0"]
    with pytest.raises(ValueError, match="unknown part 'smal'"):
        run.parts(given("digits"), "smal")


def test_a_missing_set_is_a_row_next_to_the_others(experiment):
    """With the reason; it is not stored, and gone when the set is available."""

    class Roles(dict):
        missing: ClassVar = {"places": "no folder"}

    complete = run.rows(given("digits"), progress=False)
    plain = experiment.roles
    experiment.roles = lambda *arguments: Roles(plain(*arguments))
    table = run.rows(given("digits"), progress=False)
    failed = table["metric"] == "failed"
    notes = table.loc[failed, ["test_set", "method", "notes"]].to_numpy().tolist()
    assert notes == [["places", "network", "no folder"]] * 2
    assert run.failed_parts(table) == []
    assert table.loc[~failed, "value"].tolist() == complete["value"].tolist()
    experiment.roles = plain
    assert "failed" not in set(run.rows(given("digits"), progress=False)["metric"])


def test_an_object_without_a_digest_is_refused():
    assert run.digests({"a": np.arange(2)}) != run.digests({"a": np.arange(3)})
    assert run.digests([Network("a"), None]) == [(".0", "a"), (".1", None)]
    with pytest.raises(
        TypeError,
        match=r"\.a\.0: an array, text, number or object with sha256 expected, got object",
    ):
        run.digests({"a": [object()]})
