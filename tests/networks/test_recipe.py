import pytest

from helpers.networks.recipe import Recipe


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"backbone": "resnt"}, "unknown backbone 'resnt'; did you mean 'resnet'"),
        ({"schedule": "cosin"}, "unknown schedule 'cosin'; did you mean 'cosine'"),
        ({"augmentation": ["flop"]}, "unknown augmentation 'flop'; did you mean 'flip'"),
        (
            {"augmentation": ["crop_zeros", "crop"]},
            "either 'crop' or 'crop_zeros' expected, got both",
        ),
        ({"precision": "float16"}, "unknown precision 'float16'; did you mean 'bfloat16'"),
        ({"epochs": 1.5}, "epochs: a whole number expected, got 1.5"),
        ({"epochs": 0}, "epochs: a positive number"),
        ({"threads": 0}, "threads: a positive number"),
        ({"learning_rate": float("inf")}, "learning_rate: a positive number"),
        ({"momentum": 1.0}, "momentum: at least 0 and below 1 expected, got 1.0"),
        ({"weight_decay": float("nan")}, "weight_decay: at least 0"),
        ({"depth": 9}, "depth: a ResNet has 18, 34, 50, 101, 152 or 6n"),
        ({"width": 15}, "width: an even number"),
        ({"depth": 8.5}, "whole numbers"),
        ({"backbone": "densenet", "depth": 20}, "depth: a DenseNet-BC"),
        ({"objective": "clr"}, "unknown objective 'clr'; did you mean 'crl'"),
        ({"objective_arguments": {"weight": "1"}}, "objective_arguments: names with values"),
        ({"block_dropout": 1.0}, "block_dropout: at least 0 and below 1 expected, got 1.0"),
        ({"backbone": "densenet", "depth": 16, "block_dropout": 0.1}, "a ResNet only"),
        ({"stem_stride": 4, "depth": 18}, "stem_stride: 4 is of ResNets, with four stages of"),
        ({"stem_stride": 4, "backbone": "densenet", "depth": 16}, "stem_stride: 4 is of ResNets"),
        ({"optimiser": "adam"}, "unknown optimiser 'adam'; did you mean 'adamw'"),
        ({"backbone": "vit", "stem_stride": 5}, "patches of 5 pixels do not fill an image of"),
        ({"backbone": "vit", "width": 97, "stem_stride": 8}, "width: a multiple of 3, its heads"),
        ({"learning_rat": 0.1}, "unknown training parameter 'learning_rat'; did you mean 'learn"),
    ],
)
def test_mistakes_are_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        Recipe.from_parameters(change)


def test_round_trip():
    recipe = Recipe(augmentation=("flip",), depth=20)
    assert Recipe.from_parameters(recipe.as_dict()) == recipe


def test_the_usual_precision_is_not_named_so_that_older_networks_are_found():
    assert "precision" not in Recipe(precision="auto").as_dict()
    exact = Recipe(precision="float32")
    assert Recipe.from_parameters(exact.as_dict()) == exact != Recipe()
