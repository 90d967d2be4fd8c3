"""The plan: what is refused before anything runs, and what depends on what."""

import functools
import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import plan
import pytest
import yaml

from helpers import checkpoints
from helpers.modules import ROOT
from helpers.papers import PAPERS
from helpers.papers.parameters import values_of
from synthesis.chapters import CHAPTERS, load
from tests.mistakes import beside

PAPER = "openset_calibration"
NO_FILES = beside(__file__, "no_file_names.yaml")
planned = functools.cache(plan.plan)


@pytest.mark.parametrize("tier", plan.tiers(ROOT))
def test_every_tier_has_a_plan_whose_steps_exist(tier):
    steps = planned(tier)
    for step in steps.values():
        assert (ROOT / step.notebook).exists()
        assert set(step.needs) <= set(steps)
    for paper in plan.papers(tier):
        kinds = {path.stem for path in (ROOT / "notebooks" / paper).glob("*.ipynb")}
        if paper in CHAPTERS and not load(paper, tier).trainings():
            kinds -= {"training"}  # of networks that are all given
        assert {f"{paper}/{kind}" for kind in kinds} <= set(steps)  # the pages of the book
        chapter = [step for name, step in steps.items() if name.startswith(f"{paper}/")]
        assert {step.kind for step in chapter if step.notebook} == kinds


def test_a_notebook_has_one_parameters_cell_or_shows_committed_results(tmp_path):
    """A page that gets no value from the plan must not seem to have a tier."""
    cell = {"cell_type": "code", "source": "tier = 1", "metadata": {"tags": ["parameters"]}}
    (tmp_path / "two.ipynb").write_text(json.dumps({"cells": 2 * [cell]}))
    with pytest.raises(ValueError, match="one cell tagged 'parameters' expected, got 2"):
        plan.declared(str(tmp_path / "two.ipynb"))
    steps = planned("mini")
    assert all(step.notebook for step in steps.values())
    without = {name for name, step in steps.items() if not step.parameters}
    assert without == {"synthesis/findings", "synthesis/leaderboard"}
    assert plan.resources_of(steps["synthesis/findings"])["runtime"]


def test_a_slip_in_a_parameter_file_is_refused(tmp_path, monkeypatch):
    """Other slips: tests/papers/test_parameters.py."""
    monkeypatch.setattr(plan, "ROOT", tmp_path)
    values = values_of(ROOT / "params/mini/gscore.yaml")
    (file := tmp_path / "params/mini/gscore.yaml").parent.mkdir(parents=True)
    file.write_text(yaml.safe_dump(values | {"sets": ["plasm"]}))
    with pytest.raises(ValueError, match=r"^params/mini/gscore\.yaml: .*set 'plasm'.* 'plasma'"):
        plan.plan("mini")


@pytest.mark.parametrize(("paper", "field"), NO_FILES["fields"])
@pytest.mark.parametrize("name", NO_FILES["names"])
def test_a_name_that_is_no_file_name_is_refused(paper, field, name, tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "ROOT", tmp_path)
    values = values_of(ROOT / f"params/mini/{paper}.yaml")
    first = next(iter(values[field].values()))
    changes = {field: values[field] | {name: first}}
    (file := tmp_path / f"params/mini/{paper}.yaml").parent.mkdir(parents=True)
    file.write_text(yaml.safe_dump(values | changes))
    with pytest.raises(ValueError, match=r"letters, digits, .* expected"):
        plan.plan("mini")


def test_no_shell_reads_a_name_of_the_plan():
    commands = re.findall(r"^ *shell: (.*)$", (ROOT / "workflow/Snakefile").read_text(), re.M)
    assert len(commands) == 2
    for command in commands:
        assert re.findall(r"\{[^}]*\}", command) == re.findall(r"\{[^}]*:q\}", command)


def test_a_notebook_is_told_the_tier_and_its_place_in_the_grid():
    steps = {step.name: step for step in plan.steps_of("mini", PAPER)}
    output = {"output": f"runs/mini/{PAPER}"}
    assert steps[f"{PAPER}/evaluation"].parameters == {"tier": "mini"} | output
    page = steps[f"{PAPER}/training"]
    first = {"data_set": "cifar10_mini", "network": "resnet20", "run": 0}
    others = {"tier": "mini", "also": ["densenet40"]}
    assert page.parameters == first | others
    assert page.settings["keep"] == 0.95 and page.data_sets == ("cifar10_mini",)
    with pytest.raises(ValueError, match=r"unknown parameter of .*training\.ipynb 'netwrk'"):
        plan._injected(page.notebook, plan.load(PAPER, "mini"), {"netwrk": "a"})


def test_a_set_that_can_be_missing_is_told_and_any_other_refused(root):
    """Of human-centric evaluation the ID set alone is needed; a name that is none never passes."""
    for name in ("imagenet", "sun"):
        (root / name).mkdir()
    (step, *_) = plan.steps_of("paper", "human_centric")
    lacking = {"imagenet_c", "imagenet_v2", "imagenet_r", "textures", "inaturalist", "places"}
    messages = plan.missing_of(step)
    assert set(messages) == lacking and "arrange.py places" in messages["places"]
    assert set(step.spared) == {*lacking, "sun"} and plan.packs_of(step) == []
    ready = plan.for_snakemake({step.name: step})[step.name]
    assert set(ready.settings["missing"]) == lacking  # so that it runs again when one has come
    for name in lacking:
        (root / name).mkdir()
    assert plan.for_snakemake({step.name: step})[step.name].settings["missing"] == []
    (root / "imagenet").rmdir()
    with pytest.raises(FileNotFoundError, match="data set 'imagenet': no folder"):
        plan.packs_of(step)
    with pytest.raises(ValueError, match="unknown data set 'plcaes'; did you mean 'places'"):
        plan.missing_of(replace(step, spared=("plcaes",)))
    assert plan.steps_of("paper", "unknown_detection")[0].spared == ()


def test_a_step_runs_again_when_an_image_of_a_folder_changes(tmp_path):
    """Snakemake compares the values of a step, and no file of a folder with images."""
    name = f"folder:{tmp_path}/wood"
    step = plan.Step(f"{PAPER}/part/0", "", {}, settings={"tier": "mini"}, data_sets=(name,))

    def causes():
        plan.images_of.cache_clear()
        return plan.for_snakemake({step.name: step})[step.name].settings[name]

    seen = {causes()}  # without the folder
    image = tmp_path / "wood" / "oak" / "1.png"
    image.parent.mkdir(parents=True)
    for content in ("a", "ab"):
        image.write_text(content)
        seen.add(causes())
    os.utime(image, (0, 0))
    seen.add(causes())
    assert len(seen) == 4
    (tmp_path / "wood" / "notes.txt").touch()
    assert causes() in seen


def test_a_pack_in_the_repository_is_named_without_the_folder_of_the_clone(root, monkeypatch):
    """A clone that is moved with its runs has nothing to do: no input has another name."""
    step = plan.Step("a/dataset", "", {}, data_sets=("cifar10_mini",))
    (embedded,) = plan.packs_of(step)
    assert embedded == "helpers/data/embedded/cifar10_mini.zip"
    monkeypatch.setattr(plan, "ROOT", root.parent)
    (root / "svhn.zip").touch()
    steps = (replace(step, data_sets=(name,)) for name in ("svhn", "cifar10_mini"))
    inside, elsewhere = (Path(*plan.packs_of(each)) for each in steps)
    assert (
        inside == Path(root.name, "svhn.zip")
        and elsewhere == plan.data.EMBEDDED / Path(embedded).name
    )


def test_a_gpu_is_asked_for_where_the_tier_wants_one_and_networks_are_at_work():
    by_gpu = {True: set(), False: set()}
    every = ((tier, *item) for tier in plan.tiers(ROOT) for item in planned(tier).items())
    for tier, name, step in every:
        by_gpu[plan.resources_of(step)["gpu"] > 0].add((tier, *name.split("/")[:2]))
    assert {tier for tier, *_ in by_gpu[True]} == {"authors", "small", "paper"}
    notebooks = {"training", "evaluation", "figures"}
    assert {kind for *_, kind in by_gpu[True]} == notebooks | {"network", "part"}
    assert ("small", "human_centric", "evaluation") in by_gpu[False]  # half an hour of two cores


def test_what_is_about_all_papers_waits_for_the_results_of_each():
    """And depends on what is committed of each."""
    steps = planned("mini")
    evaluated = {f"{paper}/evaluation" for paper in PAPERS}
    for kind in plan.ABOUT_ALL:
        assert set(steps[f"synthesis/{kind}"].needs) == evaluated
    every = {str(file.relative_to(ROOT)) for file in ROOT.glob("results/*/*.parquet")}
    assert set(plan.tables_of(plan.Step("synthesis/ledger", "", {}))) == every
    step = plan.Step("gscore/figures", "", {}, ("uimnet/evaluation",))
    stems = {Path(file).stem for file in plan.tables_of(step)}
    assert stems == {"gscore", "uimnet", "uimnet-authors", "uimnet-defaults"}


def test_what_others_wait_for_goes_first():
    """The longest way to the end of the plan decides, in steps that have still to come."""
    needs = {"a": (), "b": ("a",), "c": ("a", "b"), "alone": ()}
    steps = {name: plan.Step(name, "", {}, needed) for name, needed in needs.items()}
    assert plan.priorities(steps) == {"a": 2, "b": 1, "c": 0, "alone": 0}


def test_networks_of_another_paper_are_not_trained_at_the_same_time():
    """The synthesis takes the networks of unknown detection from the cache."""
    steps = planned("mini")
    trained = {name for name in steps if name.startswith("unknown_detection/training")}
    assert set(steps["synthesis/evaluation"].needs) == trained and not steps["audit/audit"].needs
    assert steps["synthesis/evaluation"].trains and not steps["uimnet/evaluation"].trains


def test_each_network_and_each_part_is_a_job_before_the_notebooks():
    steps = planned("paper")
    networks = {name: step for name, step in steps.items() if step.kind == "network"}
    counts = Counter(name.partition("/")[0] for name in networks)
    # 2 networks x 2 forms x 8 algorithms x 5 trials x 3 data seeds; 5 runs of 6 trainings, and of 4
    # further members; 5 networks, and one on CIFAR-100
    assert counts == {"uimnet": 480, "unknown_detection": 50, "gscore": 6}
    erm = "uimnet/network/resnet18-erm-none-2-4"
    assert steps["uimnet/network/resnet18-rnd-none-2-4"].needs == (erm,)
    assert steps[erm].parameters == {
        "tier": "paper",
        "part": "resnet18/erm/none",
        "network": "2-4",
    }
    of_uimnet = {name for name in networks if name.startswith("uimnet/")}
    assert set(steps["uimnet/part/resnet50-mimo-weights"].needs) == of_uimnet
    parts = {name for name in steps if name.startswith("uimnet/part/")}
    assert len(parts) == 32
    for kind in ("training/others-2", "evaluation"):
        assert set(steps[f"uimnet/{kind}"].needs) == parts
        assert not steps[f"uimnet/{kind}"].trains
    assert len([name for name in steps if name.startswith("human_centric/part/")]) == 45


@pytest.mark.parametrize("tier", plan.tiers(ROOT))
def test_each_job_requests_more_hours_than_it_needs_and_at_most_a_day(tier):
    table = plan.overview(planned(tier).values())
    print(table.to_string())
    assert (1.15 * table["longest, hours"] <= table["requested hours"]).all()
    assert (table["requested hours"] <= 24).all()


@pytest.mark.parametrize("paper", ["openset_calibration", "uimnet", "unknown_detection"])
def test_the_estimated_hours_of_small_networks_cover_each_measured_training(paper):
    files = [*ROOT.glob(f"results/small/networks/{paper}/*.safetensors")]
    assert len(files) >= 10
    for file in files:
        step = plan.Step(f"{paper}/network/{file.stem}", "", {}, settings={"tier": "small"})
        seconds = checkpoints.load(file)[1]["seconds"]
        assert seconds / 3600 <= plan.needs_of(step)["hours"]


def test_the_overview_adds_up_jobs_and_hours():
    names = ("resnet18-erm-none-0-0", "resnet50-erm-none-0-0", "resnet50-mimo-none-0-0")
    steps = [
        plan.Step(f"uimnet/network/{name}", "", {}, settings={"tier": "paper"}) for name in names
    ]
    row = plan.overview(steps).loc[("uimnet", "network")]
    assert (row["jobs"], row["longest, hours"]) == (3, 13.4)
    assert row["GPU hours"] == pytest.approx(3.7 + 4 + 13.4)


def test_a_notebook_depends_on_the_modules_that_it_uses_and_on_no_others():
    names = (f"{PAPER}/training", f"{PAPER}/figures", "audit/audit")
    steps = (plan.Step(name, f"notebooks/{name}.ipynb", {}) for name in names)
    training, figures, audit = (set(plan.code_of(step)) for step in steps)
    assert "known_unknowns/auditing/templates/sentences.jinja" in audit - figures
    assert {"helpers/training/loop.py", "helpers/data/packs.py"} <= training
    claims = {f"synthesis/claims/{PAPER}.py"}
    assert claims <= figures - training
    ledger = plan.Step("synthesis/ledger", "notebooks/synthesis/ledger.ipynb", {})
    assert claims <= set(plan.code_of(ledger))
    job = set(plan.code_of(plan.Step(f"{PAPER}/network/a", "", {})))
    assert {"helpers/training/loop.py", f"helpers/papers/{PAPER}/experiment.py"} <= job
    assert claims.isdisjoint(job)


def test_plans_and_steps_need_no_torch():
    """It takes seconds to import, at every `make`."""
    code = "import sys, plan, execute; name = 'uimnet/dataset'\n"
    code += "plan.for_snakemake({name: plan.plan('mini')[name]}); sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT / "workflow", check=True)
