import pytest

from helpers import scores
from helpers.networks import models
from helpers.papers import run
from helpers.papers.parameters import load
from helpers.papers.uimnet.names import ALGORITHMS, MEASURES, RECORDS, score_of
from helpers.papers.uimnet.trials import algorithm_of

MINI = load("uimnet", "mini")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"validation_share": 1.0}, "validation_share: less than 1 expected, got 1.0"),
        ({"most_classes": 1}, "most_classes: 0 or at least 2 expected, got 1"),
        ({"side": 4}, "side: 0 or at least 8 expected, got 4"),
        ({"trials": 0}, "trials: at least 1 expected, got 0"),
        ({"measures": ["entorpy"]}, "unknown measure 'entorpy'; did you mean 'entropy'"),
        ({"algorithms": {"mixupp": {}}}, "unknown algorithm 'mixupp'; did you mean 'mixup'"),
        ({"spectral": ["strickt"]}, "unknown form of spectral normalisation 'strickt'; did you"),
        ({"spectral": ["weights_0"]}, "a coefficient above 0 expected behind weights_"),
        ({"spectral": ["bounded_x"]}, "a coefficient above 0 expected behind bounded_"),
        ({"spectral": []}, "spectral: "),
        ({"groups": {"plain": ["erm"]}}, "groups: no group trains mixup"),
        ({"sizes": {"tiny": {"dpeth": 8}}}, "unknown training parameter 'dpeth'"),
        ({"search": {"rbf": {"learning_rate": {"log_uniform": [0, 1]}}}}, "learning_rate: log_uni"),
        ({"data_set": "imagenet", "side": 32}, "side: streamed photographs are cut to 224 pixels"),
        (
            {"data_set": "imagenet", "training": {"augmentation": ["crop"]}},
            "augmentation: of streamed photographs .* crop alone would leave them",
        ),
        ({"featuriser": ""}, "featuriser: the classes of 'cifar10_mini' have no published roles"),
    ],
)
def test_impossible_parameters_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        MINI.replace(**change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"search": {"soft_labels": {"positive": {"choice": [2]}}}}, "search of positive, 2: "),
        ({"score_arguments": {"odin": {"epsilom": 0.1}}}, "unknown argument of score 'odin'"),
    ],
)
def test_impossible_searches_and_scores_are_refused_before_the_first_training(change, message):
    with pytest.raises(ValueError, match=message):
        run.parts(MINI.replace(**change))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_record_of_an_algorithm_agrees_with_its_network(name):
    record, recipe = RECORDS[name], algorithm_of(MINI, "resnet8", name).recipe
    assert (record.native == "native") == (models.create(recipe, 3).native is not None)
    assert record.passes == (recipe.block_dropout > 0)
    for measure in MEASURES:
        assert score_of(measure, name, ensemble=True) in scores.names()
        single = score_of(measure, name)
        assert single in scores.names() or (name in ("erm", "mimo", "rbf") and not single)
