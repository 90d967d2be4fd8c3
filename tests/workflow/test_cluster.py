"""What a cluster is asked for, by which names, and from where; no cluster is needed."""

from dataclasses import replace
from types import SimpleNamespace

import plan
import pytest
import run
import yaml
from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor

ALL = [(tier, one) for tier in plan.tiers(plan.ROOT) for one in plan.plan(tier).values()]
PROFILE = plan.ROOT / "workflow" / "profiles" / "slurm" / "config.yaml"


def script_of(rule):
    """Return the file that Snakemake's executors for clusters name by a rule."""
    executor = SimpleNamespace(
        tmpdir="", get_jobname=lambda job: f"snakejob.{job.name}.1.sh"
    )  # Snakemake's default
    return RemoteExecutor.get_jobscript(executor, SimpleNamespace(name=rule))


def test_executors_take_the_names_of_all_rules():
    for _, one in ALL:
        assert script_of(one.rule)
    with pytest.raises(WorkflowError, match="Path separator"):
        script_of(ALL[0][1].name)


def asked(tier, name):
    return plan.resources_of(plan.plan(tier)[name])


def test_a_gpu_is_asked_for_where_the_tier_wants_one_and_networks_are_at_work():
    by_gpu = {True: set(), False: set()}
    for tier, one in ALL:
        by_gpu[plan.resources_of(one)["gpu"] > 0].add((tier, one.name.split("/")[1]))
    assert {tier for tier, _ in by_gpu[True]} == {"small", "paper"}
    assert {kind for _, kind in by_gpu[True]} == {"training", "evaluation", "figures"}
    assert ("paper", "dataset") in by_gpu[False]
    assert asked("small", "unknown_detection/evaluation")["gpu"] == 1
    assert asked("small", "human_centric/evaluation")["gpu"] == 0  # half an hour of two cores


def test_a_job_has_the_processors_of_its_recipe_and_of_its_tier():
    """Where photographs are decoded, one thread of the recipe is not all that there is to do."""
    assert asked("mini", "uimnet/training")["cpus_per_task"] == 1
    told = asked("paper", "unknown_detection/training")
    assert told["cpus_per_task"] == 8 and plan.load("unknown_detection", "paper").recipe
    of_recipe = plan.load("human_centric", "paper").training["threads"]
    assert asked("paper", "human_centric/evaluation")["cpus_per_task"] == of_recipe > 8


def test_every_step_says_how_long_and_in_how_much_memory():
    for _, one in ALL:
        told = plan.resources_of(one)
        assert told["runtime"] >= 60 and told["mem_mb"] >= 3000


def test_a_tier_that_asks_for_nothing_is_refused():
    one = plan.plan("mini")["uimnet/training"]
    with pytest.raises(ValueError, match=r"tier of workflow/resources.yaml 'papr'.*'paper'"):
        plan.resources_of(replace(one, parameters=one.parameters | {"tier": "papr"}))


def test_the_profile_says_where_and_hides_nothing():
    told = yaml.safe_load(PROFILE.read_text())
    assert told["executor"] == "slurm" and told["retries"] > 0
    assert not {"quiet", "cores", "resources"} & set(told)  # which would hide, or limit, jobs


def test_with_a_profile_this_machine_limits_nothing(monkeypatch):
    for gpus, limit in ([], []), (["0"], ["trainings=1"]), (["0", "1"], ["trainings=2"]):
        monkeypatch.setattr("gpus.visible", lambda found=gpus: found)
        of_gpus = ["--resources", *limit] if limit else []
        assert run.here_or_elsewhere("", "2") == ["--cores", "2", *of_gpus]
    assert run.here_or_elsewhere("my_profile", "2") == ["--profile", "my_profile"]
