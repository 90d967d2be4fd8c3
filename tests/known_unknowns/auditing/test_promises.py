"""Promises of a report against labels that were held back: they can come out broken."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.outputs import Outputs
from known_unknowns.auditing import audit, check_promises, promises_table
from known_unknowns.auditing.promises import BROKEN, KEPT, OPEN, verdict


@pytest.fixture
def checked(inputs):
    """Return a function that audits, and then checks by images that it has not seen."""

    def check(new, **sets):
        given = replace(inputs, held_back={"new": new, **sets})
        found = audit(given, risk=0.2, replicates=5)
        return check_promises(found).set_index(["images", "promise"])

    return check


def test_of_images_from_the_same_source_promises_are_kept(checked, group):
    found = checked(group(4000, seed=11))
    assert set(found.index) == {("new", one) for one in ("accuracy", "risk", "coverage")}
    assert BROKEN not in set(found["verdict"])
    assert found.loc[("new", "risk"), "verdict"] == KEPT
    assert found.loc[("new", "coverage"), "count"] == 4000
    row = found.loc[("new", "risk")]
    assert row["low"] < row["found"] < row["high"] < 0.2 == row["most"]


def test_promises_that_are_broken_are_called_so(checked, group):
    """Images of another source: every third label is another one, and the scores are lower."""
    new = group(900, seed=12)
    wrong = np.where(np.arange(900) % 3, new.labels, (new.labels + 1) % 4)
    found = checked(Outputs(new.logits / 3, new.features / 3, wrong))
    assert (found["verdict"] == BROKEN).all()
    assert found.loc[("new", "risk"), "low"] > 0.2
    assert found.loc[("new", "coverage"), "high"] < 0.9


def test_mixtures_are_judged_one_by_one_and_together(checked, group):
    """With one set there is no line; the prior-corrected ROC needs none, and promises."""
    toys, cars = (group(n, seed=n, known=False) for n in (200, 300))
    found = checked(group(400, seed=13), toys=toys, cars=cars)["found"].unstack()
    assert found["unknown"].dropna().to_dict() == {
        "new and toys": 1 / 3, "new and cars": 3 / 7, "new and all": 5 / 9,
    }  # fmt: skip
    assert found["auroc"].notna().sum() == found["fpr95"].notna().sum() == 3


def test_predictions_of_mixtures_are_those_of_the_report(inputs, group):
    """What the unlabelled images are is what the report was about, so both say the same."""
    families = {f"family {n}": group(60, seed=100 + n, known=False) for n in range(10)}
    new, cars = group(50, seed=3), group(120, seed=2, known=False)
    given = replace(inputs, families=families, held_back={"new": new, "cars": cars})
    found = audit(given, replicates=5)
    rows = check_promises(found).set_index(["images", "promise"])
    for metric in ("auroc", "fpr95"):
        _, _, least, most = found.prediction.told[metric]
        assert tuple(rows.loc[("new and cars", metric), ["least", "most"]]) == (least, most)
    assert rows.loc[("new and cars", "unknown"), "least"] == found.prediction.unknown


def test_the_table_says_what_was_promised_and_found(checked, group):
    table = checked(group(4000, seed=11)).reset_index().pipe(promises_table).frame()
    assert table.columns.tolist() == ["promised, %", "found, %", "of images", "verdict"]
    risk, coverage = (table.loc[("new", one)] for one in ("risk of those accepted", "coverage"))
    assert risk["promised, %"] == "at most 20.0" and "(" in risk["found, %"]
    assert coverage["promised, %"] == "at least 90.0" and coverage["of images"] == "4000"


def test_without_labels_nothing_is_checked(inputs):
    with pytest.raises(ValueError, match="no labels were held back"):
        check_promises(audit(inputs, replicates=5))


def test_the_verdict_takes_the_interval_of_what_was_found():
    assert verdict((0.9, 1), (0.9, 0.8, 0.95)) == KEPT
    assert verdict((0.9, 1), (0.89, 0.8, 0.95)) == OPEN
    assert verdict((0.9, 1), (0.7, 0.6, 0.89)) == BROKEN
    assert verdict((np.nan, np.nan), (0.7, 0.6, 0.89)) == ""
