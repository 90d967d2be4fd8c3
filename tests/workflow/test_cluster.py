"""What a cluster is asked for, by which names, and from where; no cluster is needed."""

from types import SimpleNamespace

import plan
import pytest
from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor

ALL = [(tier, one) for tier in plan.tiers(plan.ROOT) for one in plan.plan(tier).values()]


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
