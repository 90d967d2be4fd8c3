"""The interface of scores, and the registry in which scores are found by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse

from helpers.checks import known_arguments, known_name, number
from helpers.scores.info import Info, record

if TYPE_CHECKING:
    from helpers.data import Images, ImageStream
    from helpers.networks.model import Model
    from helpers.outputs import Head, Outputs

# titles of the records' settings, and numbers of training images
_PUBLISHED = {
    "cifar10": ("CIFAR-10", 50_000),
    "cifar100": ("CIFAR-100", 50_000),
    "imagenet": ("ImageNet", 1_281_167),
}
_REGISTRY: dict[str, type[Score]] = {}
#: Rows of a block of products.
_ROWS = 256
#: Logits of a block without products.
_NUMBERS = 2**16


class Score(Protocol):
    """One number per image, higher = more likely known, independent of the sign in the paper.

    `info` is its record.  A score that reads images is a `ReadsImages`, too.
    """

    info: Info

    def fit(self, train_outputs: Outputs, head: Head | None) -> Score:
        """Learn from the outputs of the training images, and return itself."""

    def score_samples(self, outputs: Outputs) -> np.ndarray:
        """Return float64 [N]; no score depends on the other images of the batch."""


@runtime_checkable
class ReadsImages(Score, Protocol):
    """A score that shows the images to the model again, as `helpers.scores.images.ImageScore`."""

    def score_images(self, model: Model, images: Images | ImageStream) -> np.ndarray:
        """Return the score of each image, float64 [N], higher = more likely known."""


def register(score: type[Score]) -> type[Score]:
    """Make a score available to `create`, under the name in its `info` (a class decorator)."""
    name = score.info.name
    if name in _REGISTRY:
        raise ValueError(f"score '{name}' is registered already, by {_REGISTRY[name].__name__}")
    _REGISTRY[name] = score
    return score


def recorded(name: str) -> Callable[[type[Score]], type[Score]]:
    """Register a score with its record in ``records.yaml`` (a class decorator)."""

    def decorate(score: type[Score]) -> type[Score]:
        score.info = record(name)
        return register(score)

    return decorate


def names() -> list[str]:
    """Return the names of all scores, in alphabetical order."""
    return sorted(_REGISTRY)


def create(name: str, *, offered: Mapping[str, object] | None = None, **arguments) -> Score:
    """Return a new score; an unknown name or argument is refused with the nearest one.

    Parameters
    ----------
    name : str
        One of `names`; further arguments belong to the score (``info.hyper_parameters``).
    offered : mapping of str to value, optional
        Arguments for every score that has them, such as a seed; other scores ignore them.

    >>> vars(create("tta", offered={"copies": 3, "tail": 10}, seed=1))
    {'copies': 3, 'seed': 1}
    """
    score = _REGISTRY[known_name("score", name, _REGISTRY)]
    offered = offered or {}
    taken = offered.keys() & set(score.info.hyper_parameters)
    arguments = {argument: offered[argument] for argument in taken} | arguments
    known_arguments(f"score '{name}'", score, arguments)
    return score(**arguments)


def create_as_published(name: str, data_set: str, images: int) -> Score:
    """Return a new score with its authors' hyper-parameters for a data set, if known.

    `images` is the number of training images for the fit: the number of neighbours is the authors'
    for all images of the data set, and the same share of fewer images.

    >>> create_as_published("knn", "cifar100", 50_000).k
    200
    >>> create_as_published("knn", "cifar100", 5000).k
    20
    >>> create_as_published("knn", "digits", 5000).k
    50
    """
    title, whole = _PUBLISHED.get(data_set, ("", 1))
    offered: Any = dict(create(name).info.settings.get(title, {}))
    if "k" in offered and "bank" not in offered:
        offered["k"] = max(1, round(offered["k"] * images / whole))
    return create(name, offered=offered)


def score(
    score: Score, model: Model, images: Images | ImageStream, outputs: Outputs | None = None
) -> np.ndarray:
    """Return the values of a fitted score, float64 [N], higher = more likely known.

    They are based on the model's `outputs`, computed if not given, or on the images.
    """
    if "images" in score.info.needs:
        if not isinstance(score, ReadsImages):
            raise ValueError(
                f"score '{score.info.name}': a method score_images expected, since it needs images"
            )
        return score.score_images(model, images)
    return score.score_samples(model.outputs(images) if outputs is None else outputs)


def rowwise_product(rows: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return ``rows @ matrix``, float64 [N, M]; no row depends on the other rows, bit for bit.

    A library orders its sums by the shape of the product and the place of a row in it.  Here all
    products have the same shape: blocks of rows, the last one filled up.  They are products of the
    transposes in double precision, so that a processor treats all rows equally.

    >>> rows, matrix = np.random.default_rng(0).normal(size=(2, 300, 300))
    >>> bool((rowwise_product(rows, matrix)[7] == rowwise_product(rows[7:8], matrix)[0]).all())
    True
    """
    columns = matrix.T.astype(np.float64, copy=False)
    products = np.empty((len(rows), matrix.shape[1]))
    for start in range(0, len(rows), _ROWS):
        block_rows = rows[start : start + _ROWS]
        filled = np.zeros((_ROWS, rows.shape[1]))
        filled[: len(block_rows)] = block_rows
        products[start : start + _ROWS] = (columns @ filled.T).T[: len(block_rows)]
    return products


def in_blocks(
    outputs: Outputs,
    score: Callable[[Outputs], np.ndarray],
    size: int = 256,
    *,
    filled: bool = True,
) -> np.ndarray:
    """Return `score` of all images in blocks of `size`, float64 [N].

    If `filled`, copies of the last image fill up the last block.
    """
    values = np.empty(len(outputs))
    for start in range(0, len(outputs), size):
        rows: slice | np.ndarray = slice(start, start + size)
        if filled and start + size > len(outputs):
            rows = np.minimum(np.arange(start, start + size), len(outputs) - 1)
        # a whole block is passed itself, so that intermediate results serve the next score, too
        block = outputs if len(outputs) == size else outputs.subset(rows)
        values[start : start + size] = score(block)[: len(outputs) - start]
    return values


class BlockwiseScore:
    """Base of scores that see each image separately: blocks of images, and checks.

    A subclass has an `info`, ``_scores``, which returns the scores of a block, and ``_learn`` if it
    fits something.  This class checks what `info` needs: a fit, labels, shapes of head, logits and
    features.  Blocks have the same size and products are `rowwise_product`, so scores do not depend
    on other images.  Scoring needs no more memory for more images; outputs may be memory-mapped.
    Some fits copy the training features.
    """

    info: Info
    #: Images scored at once.
    block = 256
    #: Whether the last block is filled up.
    filled = True
    _shape: tuple[int, int] | None = None  # of the head: classes, features

    def fit(self, train_outputs: Outputs, head: Head | None) -> BlockwiseScore:
        """Learn from the outputs of the training images, and return itself.

        Parameters
        ----------
        train_outputs : Outputs
            Outputs of the training images; ignored if ``info.needs`` does not name them.
        head : Head
            Last linear layer of the model; ignored if ``info.needs`` does not name it.
        """
        needs = self.info.needs
        shape = None
        if "training outputs" in needs:
            _check_kind("train_outputs", train_outputs, "logits", "features", "labels")
            shape = train_outputs.num_classes, train_outputs.features.shape[1]
            if "labels" in needs and train_outputs.labels.min() < 0:
                raise ValueError("train_outputs: a label for each image expected, got −1")
        if "head" in needs:
            if head is None:
                raise ValueError("head: the last linear layer of the model expected, got None")
            _check_kind("head", head, "weight", "bias")
            shape = shape or head.weight.shape
            if head.weight.shape != shape or head.bias.shape != shape[:1]:
                raise ValueError(
                    f"head: weight of shape {shape} (classes, features) and bias of shape "
                    f"{shape[:1]} expected, got {head.weight.shape} and {head.bias.shape}"
                )
        if "features" in needs and shape and not shape[1]:
            raise ValueError(f"train_outputs: features expected, which '{self.info.name}' reads")
        self._learn(train_outputs, head)
        self._shape = shape
        return self

    def score_samples(self, outputs: Outputs) -> np.ndarray:
        """Return float64 [N], higher = more likely known; a fit must come first."""
        needs = self.info.needs
        _check_kind("outputs", outputs, "logits", "features", "labels")
        if "features" in needs and not outputs.features.shape[1]:
            raise ValueError(f"outputs: features expected, which '{self.info.name}' reads")
        if self.info.fits:
            if self._shape is None:
                raise ValueError(f"{self.info.name}: not fitted yet, call fit first")
            for name, width in zip(("logits", "features"), self._shape, strict=True):
                got = getattr(outputs, name).shape[1]
                if name in needs and got != width:
                    raise ValueError(
                        f"outputs: {name} of width {width} expected, as at the fit, got {got}"
                    )
        return in_blocks(outputs, self._scores, self._block_size(outputs), filled=self.filled)

    def _block_size(self, outputs: Outputs) -> int:
        """Return the number of images to score at once."""
        return self.block

    def _learn(self, train_outputs: Outputs, head: Head | None) -> None:
        """Fit the parameters of `_scores`; there are none by default."""

    def _scores(self, block: Outputs) -> np.ndarray:
        """Return the scores of a block of images."""
        raise NotImplementedError


def _check_kind(argument: str, value: object, *names: str) -> None:
    """Refuse an object without NumPy arrays of these names."""
    if not all(isinstance(getattr(value, name, None), np.ndarray) for name in names):
        kind = {"head": "Head"}.get(argument, "Outputs")
        raise ValueError(
            f"{argument}: known_unknowns.{kind} expected, with arrays {', '.join(names)}, got "
            f"{type(value).__name__}"
        )


def blocks(outputs: Outputs, size: int = 2048) -> Iterator[Outputs]:
    """Yield the outputs of at most `size` images at a time, to bound the memory."""
    for start in range(0, len(outputs), size):
        yield outputs.subset(slice(start, start + size))


def class_means(
    outputs: Outputs,
    pick: Callable[[Outputs], tuple[np.ndarray, np.ndarray]],
    classes: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of values over the images of each class [K, M], and counts [K].

    `pick` maps the outputs of some images to values [n, M] and classes [n].  The mean of a class
    without images is 0.

    >>> from helpers.outputs import Outputs
    >>> outputs = Outputs(np.zeros((3, 2)), np.array([[1.0], [3.0], [5.0]]), np.array([0, 0, 1]))
    >>> class_means(outputs, lambda block: (block.features, block.labels))
    (array([[2.],
           [5.]]), array([2, 1]))
    """
    classes = outputs.num_classes if classes is None else classes
    sums = 0.0
    counts = np.zeros(classes, dtype=np.int64)
    for block in blocks(outputs):
        values, classes_of_values = pick(block)
        places = classes_of_values, np.arange(len(classes_of_values))
        member = scipy.sparse.csr_array(
            (np.ones(len(classes_of_values)), places), shape=(classes, len(classes_of_values))
        )
        sums = sums + member @ values.astype(np.float64)
        counts += np.bincount(classes_of_values, minlength=classes)
    return sums / np.maximum(counts, 1)[:, None], counts


def mean_features(outputs: Outputs) -> np.ndarray:
    """Return the mean of the features over all images, float64 [D]."""
    # blocks that fit into the processor's cache are converted faster than number by number
    sums = sum(block.features.astype(np.float64).sum(axis=0) for block in blocks(outputs, 256))
    return sums / len(outputs)


def norms_of(features: np.ndarray) -> np.ndarray:
    """Return the Euclidean norm of each row, float64 [N]; 1 for a row of zeros.

    >>> norms_of(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([5., 1.])
    """
    norms = np.linalg.norm(features.astype(np.float64), axis=1)
    return np.where(norms > 0, norms, 1.0)


def unit_rows(features: np.ndarray) -> np.ndarray:
    """Return the rows divided by their Euclidean norms, float64 [N, D]; zeros stay zeros."""
    return features / norms_of(features)[:, None]


class RowwiseScore(BlockwiseScore):
    """Base of scores of each row of logits or probabilities, without products.

    They do not depend on the size of a block, so a block fills the processor's cache.
    """

    filled = False

    def _block_size(self, outputs: Outputs) -> int:
        return max(1, _NUMBERS // outputs.num_classes)


def check_classes(counts: np.ndarray) -> None:
    """Refuse training outputs without an image of some class."""
    missing = np.flatnonzero(counts == 0)
    if len(missing):
        names = ", ".join(map(str, missing[:5])) + (", …" if len(missing) > 5 else "")
        raise ValueError(
            "train_outputs: at least one image of each class expected, got none of class "
            f"{names}; add some, or restrict outputs and head to the other classes"
        )


def check_level(name: str, mean: float) -> None:
    """Refuse logits whose level makes the factor of a score negative, or 0.

    The softmax ignores a constant that is added to all logits, but these scores multiply by them.
    """
    if mean <= 0:
        raise ValueError(
            f"train_outputs: logits at a higher level expected, since '{name}' multiplies by "
            f"{mean:.3g}; add one constant to all logits and to the head's bias, which changes no "
            "probability, or choose another score"
        )


def valid_percentile(value: float) -> float:
    """Return the argument `percentile` if it is in [0, 100)."""
    if not 0 <= number("percentile", value) < 100:
        raise ValueError(f"percentile: at least 0 and below 100 expected, got {value}")
    return value
