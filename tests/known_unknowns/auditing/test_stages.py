"""Each stage of an audit takes a frozen record and leaves it as it is."""

from dataclasses import FrozenInstanceError, fields
from itertools import pairwise

import numpy as np
import pytest

from known_unknowns.auditing import audit, stages

SETTINGS = {
    "wish": "risk", "fallback": False, "risk": 0.2, "coverage": 0.9, "confidence": 0.95,
    "unknown_share": 0.0, "replicates": 20, "seed": 0, "require": [],
}  # fmt: skip
STAGES = (stages.measure, stages.guarantee, stages.estimate)


@pytest.fixture
def records(inputs):
    """Return the record of each stage, in the order of the stages."""
    every = [stages.choose(inputs, stages.Settings(**SETTINGS), tell=lambda line: None)]
    for stage in STAGES:
        every.append(stage(every[-1]))
    return every


def test_a_stage_keeps_all_fields_of_the_record_before_it(records):
    """All but the doubts, to which the unlabelled images may add one."""
    for before, after in pairwise(records):
        for field in fields(before):
            if field.name != "doubts":
                assert getattr(after, field.name) is getattr(before, field.name), field.name


def test_records_and_the_audit_are_frozen(records, inputs):
    for record in (*records, audit(inputs, risk=0.2, replicates=5)):
        with pytest.raises(FrozenInstanceError):
            record.temperature = 1.0


def test_the_same_record_gives_the_same_numbers_again(records):
    choice, measured, guaranteed, _ = records
    again = stages.guarantee(stages.measure(choice))
    assert again.thresholds == guaranteed.thresholds
    assert np.array_equal(again.samples["production"], measured.samples["production"])


def test_the_audit_is_the_last_record_with_verdicts_and_a_rejector(records, inputs):
    audited = audit(inputs, risk=0.2, replicates=20)
    assert audited.settings == stages.Settings(**SETTINGS)
    assert audited.thresholds == records[-1].thresholds
    assert audited.unlabelled == records[-1].unlabelled
    added = vars(audited).keys() - vars(records[-1]).keys()
    assert added == {"notes", "rejector", "rejector_file", "requirements"}


def test_both_halves_of_a_group_are_disjoint(inputs):
    settings = stages.Settings(**SETTINGS)
    choice = stages.choose(inputs, settings, tell=lambda line: None)
    assert not {*choice.choosing} & {*choice.measuring}
    assert len(choice.chosen) == len(choice.choosing)
    sizes = {name: len(half.places) for name, half in choice.halves.items()}
    assert sizes == {"": 150, "pets_and_toys": 60}
