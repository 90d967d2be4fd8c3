import pytest

from helpers import scores
from helpers.networks import models
from helpers.papers.parameters import load
from helpers.papers.uimnet.names import ALGORITHMS, MEASURES, RECORDS, score_of
from helpers.papers.uimnet.trials import algorithm_of

MINI = load("uimnet", "mini")


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_record_of_an_algorithm_agrees_with_its_network(name):
    record, recipe = RECORDS[name], algorithm_of(MINI, "resnet8", name).recipe
    assert (record.native == "native") == (models.create(recipe, 3).native is not None)
    assert record.passes == (recipe.block_dropout > 0)
    for measure in MEASURES:
        assert score_of(measure, name, ensemble=True) in scores.names()
        single = score_of(measure, name)
        assert single in scores.names() or (name in ("erm", "mimo", "rbf") and not single)
