"""What the tests of the papers' tables share."""

import pytest

from helpers.report import results


@pytest.fixture(scope="session")
def table_of():
    """Return a function that makes a results table of records, and of what they all share."""
    made = results.provenance({}, seed=0, device="cpu", seconds=1.0)
    base = dict(tier="mini", data_set="cifar10_mini", backbone="resnet8", run=0, images=100)

    def build(records, **shared):
        return results.tidy([base | shared | record for record in records], made)

    return build
