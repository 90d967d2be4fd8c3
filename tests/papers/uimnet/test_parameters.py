import pytest

import helpers.scores
from helpers.files import project_root
from helpers.networks import models
from helpers.papers import run
from helpers.papers.parameters import load
from helpers.papers.uimnet.algorithms import ALGORITHMS, RECORDS
from helpers.papers.uimnet.measures import MEASURES, score_of
from helpers.papers.uimnet.trials import algorithm_of

MINI = load("uimnet", "mini")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"validation_share": 1.0}, "validation_share: less than 1 expected, got 1.0"),
        ({"keep": 0}, "keep: more than 0 expected, got 0"),
        ({"most_classes": 1}, "most_classes: 0 or at least 2 expected, got 1"),
        ({"side": 4}, "side: 0 or at least 8 expected, got 4"),
        ({"trials": 0}, "trials: at least 1 expected, got 0"),
        ({"tta_copies": 0}, "tta_copies: at least 1"),
        ({"measures": ["entorpy"]}, "unknown measure 'entorpy'; did you mean 'entropy'"),
        ({"algorithms": {"mixupp": {}}}, "unknown algorithm 'mixupp'; did you mean 'mixup'"),
        ({"spectral": ["strickt"]}, "unknown form of spectral normalisation 'strickt'; did you"),
        (
            {"spectral": ["weights_0"]},
            "'weights_0': a coefficient above 0 expected behind weights_",
        ),
        (
            {"spectral": ["bounded_x"]},
            "'bounded_x': a coefficient above 0 expected behind bounded_",
        ),
        ({"spectral": []}, "spectral: "),
        ({"sizes": {"tiny": {"dpeth": 8}}}, "unknown training parameter 'dpeth'"),
        ({"data_set": "imagenet", "side": 32}, "side: streamed photographs are cut to 224 pixels"),
        (
            {"data_set": "imagenet", "training": {"augmentation": ["crop"]}},
            "augmentation: of streamed photographs .* crop alone would leave them",
        ),
        ({"featuriser": ""}, "featuriser: the classes of 'cifar10_mini' have no published roles"),
    ],
)
def test_what_cannot_be_run_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        MINI.replace(**change)


def test_an_impossible_search_is_refused_before_anything_is_trained():
    for name, search, message in (
        ("all", {"learning_rate": {"log_uniform": [0, 1]}}, "learning_rate: log_uni"),
        ("soft_labels", {"positive": {"choice": [2]}}, "search of positive, 2: "),
    ):
        with pytest.raises(ValueError, match=message):
            run.parts(MINI.replace(search={name: search}))


def test_an_impossible_argument_of_a_score_is_refused_before_anything_is_trained():
    with pytest.raises(ValueError, match="unknown argument of score 'odin' 'epsilom'; did you"):
        run.parts(MINI.replace(score_arguments={"odin": {"epsilom": 0.1}}))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_record_says_what_the_network_is(name):
    """Whether it brings a measure of its own, and drops out; its paper is in the bibliography."""
    record, recipe = RECORDS[name], algorithm_of(MINI, "resnet8", name).recipe
    assert (record.native == "native") == (models.create(recipe, 3).native is not None)
    assert record.passes == (recipe.block_dropout > 0)
    references = (project_root() / "book" / "references.bib").read_text("utf-8")
    assert not record.key or f"{{{record.key}," in references


@pytest.mark.parametrize("tier", ["mini", "small", "frozen", "paper"])
def test_every_tier_has_the_papers_form_of_spectral_normalisation(tier):
    """Of coefficient 1, on weight matrices alone; the claim on it would else have no data."""
    parameters = load("uimnet", tier)
    assert parameters.spectral[:2] == ["none", "weights"]
    size = next(iter(parameters.sizes))
    free, papers = (
        algorithm_of(parameters, size, "erm", form).recipe for form in ("none", "weights")
    )
    assert (free.spectral_norm, papers.spectral_norm, papers.spectral_form) == (0, 1, "weights")


@pytest.mark.parametrize("tier", ["mini", "small", "paper"])
def test_each_algorithm_is_trained_once(tier):
    """By the groups of the training notebook, of which the first is the book's page."""
    parameters = load("uimnet", tier)
    trained = [name for group in parameters.groups.values() for name in group]
    assert sorted(trained) == sorted(parameters.algorithms)
    found = parameters.trainings()
    assert next(iter(found.items())) == ("plain-0", {"group": "plain", "run": 0})
    assert len(found) == 2 * parameters.runs


def test_every_measure_of_every_algorithm_is_a_score():
    """But for Native of three algorithms, which their ensembles have."""
    for algorithm in ALGORITHMS:
        for measure in MEASURES:
            assert score_of(measure, algorithm, ensemble=True) in helpers.scores.names()
            assert score_of(measure, algorithm) in ("", *helpers.scores.names())
    without = [name for name in ALGORITHMS if not score_of("native", name)]
    assert without == ["erm", "mimo", "rbf"]
    assert score_of("native", "mc_dropout") == score_of("native", "oc", ensemble=True) == "jsd"
