"""What every registered score must keep to; a new score is tested here by being registered."""

import pytest

import helpers.scores
from helpers.scores import base
from known_unknowns.checks import parametrize_with_checks

SCORES = [helpers.scores.create(name) for name in helpers.scores.names()]
for score in SCORES:
    if score.info.name == "nnguide":
        score.bank = 1000  # the bank is kept in memory, up to its own size


@parametrize_with_checks(SCORES)
def test_what_must_hold_of_every_score(check):
    """Every check of `known_unknowns.checks` that applies to the score."""
    check()


@pytest.mark.parametrize("name", helpers.scores.names())
class TestEach:
    def test_info_says_where_it_comes_from(self, name):
        info = helpers.scores.create(name).info
        assert info.name == name and info.key.endswith(str(info.year))

    def test_what_its_authors_chose_can_be_had(self, name):
        for chosen in helpers.scores.create(name).info.published.values():
            assert chosen and helpers.scores.create(name, **chosen)

    def test_unknown_arguments_are_refused(self, name):
        with pytest.raises(ValueError, match=f"score '{name}'"):
            helpers.scores.create(name, wrong=1)


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match="unknown score 'openmx'; did you mean 'openmax'"):
        helpers.scores.create("openmx")


def test_a_name_is_registered_once(monkeypatch):
    monkeypatch.setattr(base, "_REGISTRY", dict(base._REGISTRY))
    taken = type(helpers.scores.create("msp"))
    with pytest.raises(ValueError, match="'msp' is registered already"):
        base.register(taken)
