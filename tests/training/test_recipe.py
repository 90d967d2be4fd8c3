import pytest

from helpers.training.recipe import Recipe


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"backbone": "resnt"}, "unknown backbone 'resnt'; did you mean 'resnet'"),
        ({"schedule": "cosin"}, "unknown schedule 'cosin'; did you mean 'cosine'"),
        ({"augmentation": ["flop"]}, "unknown augmentation 'flop'; did you mean 'flip'"),
        ({"epochs": 1.5}, "epochs: <class 'int'> expected, got 1.5"),
        ({"epochs": 0}, "epochs: a positive number"),
        ({"learning_rat": 0.1}, "unknown training parameter 'learning_rat'; did you mean 'learn"),
    ],
)
def test_mistakes_are_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        Recipe.from_parameters(change)


def test_round_trip():
    recipe = Recipe(augmentation=("flip",), depth=20)
    assert Recipe.from_parameters(recipe.as_dict()) == recipe
