"""Promises that are broken, wasted or kept are told apart, and a few draws of each real one."""

import pytest

from trials import promises
from trials.promises import Promise, simulate


def made_up(share, **changed):
    worlds = {"a world": lambda generator: generator.random() < share}
    return Promise("f", 0.2, worlds, 400, "a world", **changed)


@pytest.mark.parametrize(
    ("share", "kept", "wasteful"),
    [(0.2, True, "no"), (0.15, True, "no"), (0.4, False, "no"), (0.01, True, "yes")],
)
def test_a_promise_is_judged_on_both_sides(share, kept, wasteful):
    (row,) = simulate("made up", made_up(share))
    assert (row["kept"], row["wasteful"]) == (kept, wasteful)
    assert row["draws"] == 400 and row["broken"] == pytest.approx(share, abs=0.08)


def test_slack_and_known_waste_are_what_they_say():
    assert simulate("made up", made_up(0.3, slack=0.1))[0]["kept"]
    assert simulate("made up", made_up(0.001, least=0.0))[0]["wasteful"] == "known"
    first, again = (simulate("made up", made_up(0.2)) for _ in range(2))
    assert first == again


def test_every_promise_is_kept_in_a_few_draws():
    """The whole is `python -m trials.promises`; here each world is gone into."""
    found = promises.promises()
    assert len(found) > 15
    for name, promise in found.items():
        assert promise.hard in promise.worlds
        assert promise.why or (promise.least >= 0.5 and not promise.slack)
        for row in simulate(name, promise, share=0.02):
            assert row["kept"], row
