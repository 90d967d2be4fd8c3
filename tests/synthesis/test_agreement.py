"""A build agrees with the committed numbers that lie in its intervals."""

import numpy as np
import pandas as pd
import pytest

from helpers.tables import results
from synthesis.agreement import agreement, sentence


def table(tier: str, data_set: str, values: dict, spread: float) -> pd.DataFrame:
    replicates = np.linspace(-1, 1, 41)
    records = [
        {
            "tier": tier, "paper": "unknown_detection", "data_set": data_set, "metric": "auroc",
            "backbone": "resnet20", "run": 0, "method": "baseline", "images": 100,
            "test_set": test_set, "value": value, "bootstrap": value + spread * replicates,
        }
        for test_set, value in values.items()
    ]  # fmt: skip
    origin = {"parameters": "0" * 12, "code": "c", "versions": "{}", "device": "cpu"}
    return results.tidy(records, origin | {"seed": 0, "seconds": 1.0})


def test_a_number_agrees_if_the_interval_of_the_slice_contains_it():
    build = table("mini", "cifar100_mini", {"near": 0.7, "svhn_mini": 0.9, "noise": 0.5}, 0.04)
    whole = table("small", "cifar100", {"near": 0.73, "svhn": 0.8, "textures": 0.6}, 0.01)
    common = agreement(build, whole).set_index("test_set")
    assert common["agrees"].to_dict() == {"near": True, "svhn": False}
    assert common.loc["near", ["low", "high"]].tolist() == pytest.approx([0.662, 0.738], abs=1e-4)
    assert sentence(common).startswith("Your build reproduced 1 of 2 committed numbers")


def test_tables_without_a_common_number_are_refused():
    build = table("mini", "cifar100_mini", {"near": 0.7}, 0.04)
    with pytest.raises(ValueError, match="no number in common"):
        agreement(build, table("small", "cifar10", {"near": 0.7}, 0.04))
    with pytest.raises(ValueError, match="no number in common"):
        agreement(build.assign(bootstrap=[[]]), build)
