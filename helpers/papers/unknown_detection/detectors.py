"""Methods ready for use: trained networks, chosen hyper-parameters, and answers about images.

Hyper-parameters are chosen on a `Visible`, which contains no test images: the chosen pair separates
held-out ID images from held-out external images best, by AUROC, as in the paper's code.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from helpers import metrics, scores
from helpers.data import Images, ImageStream
from helpers.data.pixels import smoothness
from helpers.networks.model import Model
from helpers.networks.recipe import Recipe
from helpers.papers.learnt_distances import learnt_distances
from helpers.papers.unknown_detection import methods
from helpers.papers.unknown_detection.parameters import BenchmarkParameters, Parameters
from helpers.papers.unknown_detection.roles import Benchmark, Visible
from helpers.scores.calibration import confidences
from helpers.scores.mahalanobis_layers import EPSILONS, StageDistances
from helpers.scores.odin import ODIN
from helpers.scores.openmax import OpenMax, openmax_answer
from helpers.training.fitted import Fitted, fit

#: The weight of the authors' OpenMax on CIFAR, at every rank.
FLAT = 0.5


@dataclass(frozen=True)
class Answer:
    """Confidence (float64, higher = more likely known) and correctness (bool) of each image."""

    confidence: np.ndarray
    correct: np.ndarray


def union(answers: Mapping[str, Answer], names: Sequence[str]) -> Answer:
    """Return the answers about several test sets as the answers about one set."""
    return Answer(
        confidence=np.concatenate([answers[name].confidence for name in names]),
        correct=np.concatenate([answers[name].correct for name in names]),
    )


@dataclass(frozen=True)
class Detector:
    """A method ready for use: from images to an `Answer`, with its chosen hyper-parameters."""

    model: Model
    answer: Callable[[Images | ImageStream], Answer] = field(repr=False)
    chosen: dict[str, float] = field(default_factory=dict)


def train(
    parameters: BenchmarkParameters,
    benchmark: Benchmark,
    recipe: Recipe,
    *,
    run: int,
    member: int = 0,
) -> Fitted:
    """Return a network of one run, from the cache if possible; member 0 is the run's network."""
    return fit(
        benchmark.train,
        recipe,
        outliers=benchmark.external,
        finished=parameters.finished_networks,
        seed=parameters.seed * 100_000 + run * 100 + member,
        device=parameters.device,
    )


def train_method(parameters: Parameters, benchmark: Benchmark, method: str, run: int) -> Model:
    """Return the networks of a method as one model, from the cache if possible."""
    recipe = parameters.method_recipe(method)
    record = methods.RECORDS[method]
    networks = [
        train(parameters, benchmark, recipe, run=run, member=member)
        for run, member in record.networks(parameters, run)
    ]
    return Model(method, tuple(networks), parameters.passes if record.passes else 0)


def make(
    parameters: Parameters, benchmark: Benchmark, model: Model, variant: str = "primary"
) -> Detector:
    """Return a trained method with hyper-parameters chosen and scores fitted."""
    if detect := DETECT.get((model.name, variant)):
        return detect(parameters, benchmark, model)
    score = scores.create(methods.RECORDS[model.name].score)
    if score.info.fits:
        score.fit(model.outputs(benchmark.train), model.head)
    return by_score(model, score)


def by_score(model: Model, score: scores.Score, chosen: dict[str, float] | None = None) -> Detector:
    """Return the method whose confidence is a fitted score; predictions use the plain images."""

    def answer(images: Images | ImageStream) -> Answer:
        outputs = model.outputs(images)
        return Answer(scores.score(score, model, images, outputs), outputs.correct)

    return Detector(model, answer, chosen or {})


def odin_grid(parameters: Parameters, model: Model, visible: Visible) -> dict[tuple, float]:
    """Return the AUROC of held-out ID against external images for each (temperature, epsilon)."""
    grid = {}
    for temperature in parameters.temperatures:
        score = ODIN(temperature)
        known = score.stepped(model, visible.validation, parameters.epsilons)
        external = score.stepped(model, visible.external_validation, parameters.epsilons)
        for epsilon, of_known, of_external in zip(
            parameters.epsilons, known, external, strict=True
        ):
            grid[temperature, epsilon] = metrics.auroc(
                confidences(of_known, temperature),
                confidences(of_external, temperature),
            )
    return grid


def _pair(
    parameters: Parameters, names: tuple[str, str], grid: Callable[[], dict[tuple, float]]
) -> tuple[tuple, dict[str, float]]:
    """Return a method's pair of hyper-parameters, and what of it was chosen on held-out images.

    Parameters with a single pair give it: then no image is looked at, and nothing was chosen.
    """
    values = [getattr(parameters, f"{name}s") for name in names]
    pairs = list(itertools.product(*values))
    if len(pairs) == 1:
        return pairs[0], {}
    areas = grid()
    best: tuple = max(areas, key=areas.__getitem__)
    return best, dict(zip(names, best, strict=True))


def detect_odin(parameters: Parameters, benchmark: Benchmark, model: Model) -> Detector:
    """Return ODIN with a temperature and a step that are chosen on held-out images, or given."""
    grid = partial(odin_grid, parameters, model, benchmark.visible)
    (temperature, epsilon), chosen = _pair(parameters, ("temperature", "epsilon"), grid)
    score = scores.create("odin", temperature=temperature, epsilon=epsilon)
    return by_score(model, score, chosen)


class FlatOpenMax(OpenMax):
    """OpenMax as in the authors' code on CIFAR: the same weight for all ranks."""

    def rank_weights(self, alpha: int) -> np.ndarray:
        """Return the factor of F for each rank that is revised."""
        return np.full(alpha, FLAT)


def openmax_grid(
    parameters: Parameters, model: Model, visible: Visible, kind: type[OpenMax] = OpenMax
) -> dict[tuple, float]:
    """Return the AUROC of held-out ID against external images for each (alpha, tail)."""
    train = model.outputs(visible.train)
    known = model.outputs(visible.validation)
    external = model.outputs(visible.external_validation)
    alphas = sorted({min(alpha, train.num_classes) for alpha in parameters.alphas})
    grid = {}
    for tail in parameters.tails:
        rule = kind(tail, alphas[0], parameters.distance).fit(train.logits, train.labels)
        for rule.alpha in alphas:  # it does not enter the fit
            of_known = 1 - rule.probabilities(known.logits)[:, -1]
            of_external = 1 - rule.probabilities(external.logits)[:, -1]
            grid[rule.alpha, tail] = metrics.auroc(of_known, of_external)
    return grid


def detect_openmax(
    parameters: Parameters, benchmark: Benchmark, model: Model, *, authors: bool = False
) -> Detector:
    """Return OpenMax with chosen or given alpha and tail; class K + 1 is "unknown".

    The authors' rule differs on CIFAR only.
    """
    kind = FlatOpenMax if authors and parameters.data_set.startswith("cifar") else OpenMax
    grid = partial(openmax_grid, parameters, model, benchmark.visible, kind)
    (alpha, tail), chosen = _pair(parameters, ("alpha", "tail"), grid)
    (network,) = model.networks
    distance = parameters.distance
    known = learnt_distances(network, benchmark.train, [distance])[distance]
    rule = kind(tail, alpha, distance).fit_distances(known)

    def answer(images: Images | ImageStream) -> Answer:
        outputs = model.outputs(images)
        probabilities = rule.probabilities(outputs.logits)
        classes = openmax_answer(probabilities)
        # the answer "unknown" is incorrect for an image of a known class, and correct for no image
        correct = (classes == outputs.labels) & (outputs.labels >= 0)
        return Answer(1 - probabilities[:, -1], correct)

    return Detector(model, answer, chosen)


def detect_mahalanobis(parameters: Parameters, benchmark: Benchmark, model: Model) -> Detector:
    """Return the Mahalanobis score of all stages, with weights and a step from held-out images.

    At each step, a logistic regression of held-out ID against external images weighs the stages,
    each divided by its spread.  It learns from every second image.  The chosen step has the
    highest AUROC on the others.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    stages = StageDistances(model, benchmark.train)
    visible = benchmark.visible
    known = stages.scores(visible.validation, EPSILONS)
    external = stages.scores(visible.external_validation, EPSILONS)
    rules = {}
    areas = {}
    for number, epsilon in enumerate(EPSILONS):
        learned = np.concatenate([known[number, ::2], external[number, ::2]])
        is_known = np.arange(len(learned)) < len(known[number, ::2])
        rules[epsilon] = make_pipeline(StandardScaler(), LogisticRegression())
        weigh = rules[epsilon].fit(learned, is_known).decision_function
        areas[epsilon] = metrics.auroc(weigh(known[number, 1::2]), weigh(external[number, 1::2]))
    epsilon = max(areas, key=lambda step: areas[step])
    weights = rules[epsilon][-1].coef_[0]
    chosen = {f"weight of stage {1 + at}": round(w, 2) for at, w in enumerate(weights)}

    def answer(images: Images | ImageStream) -> Answer:
        (scores_of_stages,) = stages.scores(images, [epsilon])
        weighted = rules[epsilon].decision_function(scores_of_stages)
        return Answer(weighted, model.outputs(images).correct)

    return Detector(model, answer, {"epsilon": epsilon} | chosen)


def detect_smoothness(parameters: Parameters, benchmark: Benchmark, model: Model) -> Detector:
    """Return the smoothness of images in memory; the predictions are the baseline's."""

    def answer(images: Images | ImageStream) -> Answer:
        pixels = images.pictures(np.arange(len(images)))  # also where the network sees features
        return Answer(smoothness(pixels), model.outputs(images).correct)

    return Detector(model, answer)


#: Functions that replace a method's score, by method and variant.
DETECT: dict[tuple[str, str], Callable[[Parameters, Benchmark, Model], Detector]] = {
    ("odin", "primary"): detect_odin,
    ("openmax", "primary"): detect_openmax,
    ("openmax", methods.AUTHORS): partial(detect_openmax, authors=True),
    ("mahalanobis", "primary"): detect_mahalanobis,
    ("smoothness", "primary"): detect_smoothness,
}
