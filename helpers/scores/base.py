"""What a score is, and the registry in which scores are looked up by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np
import scipy.sparse

from helpers.checks import known_arguments, known_name, number
from helpers.scores.info import Info, record

if TYPE_CHECKING:
    from helpers.data import Images, ImageStream
    from helpers.networks.model import Model
    from helpers.outputs import Head, Outputs

_SETTINGS = {"cifar10": "CIFAR-10", "cifar100": "CIFAR-100", "imagenet": "ImageNet"}
_REGISTRY: dict[str, type[Score]] = {}


class Score(Protocol):
    """One number per image, higher = more likely known, whatever the sign in its paper.

    One that needs the images is a `helpers.scores.images.ImageScore`; `score` asks either kind.

    Attributes
    ----------
    info : Info
        Name, source, equation and needs.
    """

    info: Info

    def fit(self, train_outputs: Outputs, head: Head) -> Score:
        """Learn from the outputs of the training images, and return itself.

        A no-op for a score that fits nothing.
        """

    def score_samples(self, outputs: Outputs) -> np.ndarray:
        """Return float64 [N]; the score of a batch is the scores of its images one by one."""


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
    """Return a new score.

    Parameters
    ----------
    name : str
        One of `names`.
    offered : mapping of str to value, optional
        Arguments for any score that has them, such as a seed; the others leave them alone.
    **arguments
        The score's own, see its ``info.hyper_parameters``.

    Raises
    ------
    ValueError
        There is no such score, or it has no such argument; says which is nearest.

    Examples
    --------
    >>> vars(create("tta", offered={"copies": 3, "tail": 10}, seed=1))
    {'copies': 3, 'seed': 1}
    >>> create("openmax", tial=10)
    Traceback (most recent call last):
        ...
    ValueError: unknown argument of score 'openmax' 'tial'; did you mean 'tail'? There are: alpha, \
distance, tail
    """
    score = _REGISTRY[known_name("score", name, _REGISTRY)]
    taken = (offered or {}).keys() & set(score.info.hyper_parameters)
    arguments = {argument: offered[argument] for argument in taken} | arguments
    known_arguments(f"score '{name}'", score, arguments)
    return score(**arguments)


def create_as_published(name: str, data_set: str) -> Score:
    """Return a new score with what its authors chose for a data set, as far as its `info` says.

    Examples
    --------
    >>> create_as_published("knn", "cifar100").k, create_as_published("knn", "digits").k
    (200, 50)
    """
    published = create(name).info.published
    return create(name, **published.get(_SETTINGS.get(data_set, ""), {}))


def score(
    score: Score, model: Model, images: Images | ImageStream, outputs: Outputs | None = None
) -> np.ndarray:
    """Return the values of a fitted score, float64 [N], higher = more likely known.

    They come from the model's `outputs`, computed if not given, or from the images themselves.
    """
    if "images" in score.info.needs:
        return score.score_images(model, images)
    return score.score_samples(model.outputs(images) if outputs is None else outputs)


def rowwise_product(rows: np.ndarray, matrix: np.ndarray, *, block: int = 256) -> np.ndarray:
    """Return ``rows @ matrix``, each row the same to the last bit whatever rows are beside it.

    A library for linear algebra orders its sums by the shape of the product, and by the place of
    a row in it, so the product of a batch and that of one of its rows differ by a rounding error.
    Here all products have the same shape: blocks of rows, the last one filled up.  They are
    taken of the transposes and in double precision: the rows then lie side by side in the
    processor's vectors, and are treated alike wherever they are.

    Parameters
    ----------
    rows : ndarray, shape [N, D]
    matrix : ndarray, shape [D, M]
    block : int
        Rows of a product.

    Returns
    -------
    ndarray of float64, shape [N, M]

    Examples
    --------
    >>> rows, matrix = np.random.default_rng(0).normal(size=(2, 300, 300))
    >>> bool((rowwise_product(rows, matrix)[7] == rowwise_product(rows[7:8], matrix)[0]).all())
    True
    """
    columns = matrix.T.astype(np.float64, copy=False)
    products = np.empty((len(rows), matrix.shape[1]))
    for start in range(0, len(rows), block):
        block_rows = rows[start : start + block]
        filled = np.zeros((block, rows.shape[1]))
        filled[: len(block_rows)] = block_rows
        products[start : start + block] = (columns @ filled.T).T[: len(block_rows)]
    return products


def in_blocks(
    outputs: Outputs,
    score: Callable[[Outputs], np.ndarray],
    size: int = 256,
    *,
    filled: bool = True,
) -> np.ndarray:
    """Return what `score` says of each image, shown `size` images at a time, float64 [N].

    The last block is filled up by repeating the last image, unless `filled` says that this
    changes nothing.  All others are no copies.
    """
    values = np.empty(len(outputs))
    for start in range(0, len(outputs), size):
        rows = slice(start, start + size)
        if filled and rows.stop > len(outputs):
            rows = np.minimum(np.arange(start, start + size), len(outputs) - 1)
        # a whole block is shown itself, so that what is derived of it serves the next score, too
        part = outputs if len(outputs) == size else outputs.subset(rows)
        values[start : start + size] = score(part)[: len(outputs) - start]
    return values


class BlockwiseScore:
    """What scores share that see each image on its own: blocks of images, and checks.

    A score that inherits from this has an `info`, ``_scores``, which returns the scores of a
    block of images, and, where it fits something, ``_learn``.  What `info` says that it needs
    is checked here: a fit before the first score, labels, the shapes of head, logits and
    features.

    Images are scored in blocks of the same size, the last one filled up, and all products are
    those of `rowwise_product`: scores do then not depend on the images beside.  Memory beyond
    the outputs themselves does not grow with the number of images, and the outputs may be
    memory-mapped.
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
            Of the training images; not looked at where ``info.needs`` does not name them.
        head : Head
            The last linear layer of the model; not looked at where ``info.needs`` does not
            name it.

        Raises
        ------
        ValueError
            A label −1 where labels are needed; a head that is missing, or of another shape than
            the logits and features.
        """
        needs, shape = self.info.needs, None
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
        """Return float64 [N], higher = more likely known.

        Raises
        ------
        ValueError
            Not fitted, though something is to be fitted; logits or features of another width
            than at the fit.
        """
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
        return in_blocks(outputs, self._scores, self.block, filled=self.filled)

    def _learn(self, train_outputs: Outputs, head: Head | None) -> None:
        """Fit what `_scores` needs; nothing, unless a score says otherwise."""

    def _scores(self, part: Outputs) -> np.ndarray:
        """Return the scores of a block of images."""
        raise NotImplementedError


def _check_kind(argument: str, given: object, *names: str) -> None:
    """Refuse what has no arrays of NumPy under these names: an array alone, a layer, a mapping."""
    if not all(isinstance(getattr(given, name, None), np.ndarray) for name in names):
        kind = {"head": "Head"}.get(argument, "Outputs")
        raise ValueError(
            f"{argument}: known_unknowns.{kind} expected, with arrays {', '.join(names)}, got "
            f"{type(given).__name__}"
        )


def parts(outputs: Outputs, size: int = 2048) -> Iterator[Outputs]:
    """Yield the outputs of at most `size` images after another, to keep memory bounded."""
    for start in range(0, len(outputs), size):
        yield outputs.subset(slice(start, start + size))


def class_means(
    outputs: Outputs,
    pick: Callable[[Outputs], tuple[np.ndarray, np.ndarray]],
    classes: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of something over the images of each class, without a copy of it all.

    Parameters
    ----------
    outputs : Outputs
    pick : callable
        Takes the outputs of some images; returns values [n, M] and classes [n].
    classes : int, optional
        K; the number of the model's classes by default.

    Returns
    -------
    means : ndarray of float64, shape [K, M]
        0 for a class without images.
    counts : ndarray of int64, shape [K]
        How many images each is taken over.

    Examples
    --------
    >>> from helpers.outputs import Outputs
    >>> outputs = Outputs(np.zeros((3, 2)), np.array([[1.0], [3.0], [5.0]]), np.array([0, 0, 1]))
    >>> class_means(outputs, lambda part: (part.features, part.labels))
    (array([[2.],
           [5.]]), array([2, 1]))
    """
    classes = outputs.num_classes if classes is None else classes
    sums, counts = 0.0, np.zeros(classes, dtype=np.int64)
    for part in parts(outputs):
        values, chosen = pick(part)
        places = chosen, np.arange(len(chosen))
        member = scipy.sparse.csr_array(
            (np.ones(len(chosen)), places), shape=(classes, len(chosen))
        )
        sums = sums + member @ values.astype(np.float64)
        counts += np.bincount(chosen, minlength=classes)
    return sums / np.maximum(counts, 1)[:, None], counts


def mean_features(outputs: Outputs) -> np.ndarray:
    """Return the mean of the features over all images, float64 [D]."""
    sums = sum(part.features.sum(axis=0, dtype=np.float64) for part in parts(outputs))
    return sums / len(outputs)


def norms_of(features: np.ndarray) -> np.ndarray:
    """Return the Euclidean norm of each row, float64 [N], and 1 for a row of zeros.

    Divided by it, a row of zeros stays one.

    Examples
    --------
    >>> norms_of(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([5., 1.])
    """
    norms = np.linalg.norm(features.astype(np.float64), axis=1)
    return np.where(norms > 0, norms, 1.0)


def unit_rows(features: np.ndarray) -> np.ndarray:
    """Return the rows divided by their Euclidean norms, float64 [N, D]; one of zeros stays so."""
    return features / norms_of(features)[:, None]


def check_classes(counts: np.ndarray) -> None:
    """Refuse training outputs without an image of some class.

    Examples
    --------
    >>> check_classes(np.array([3, 0]))
    Traceback (most recent call last):
        ...
    ValueError: train_outputs: at least one image of each class expected, got none of class 1; \
add some, or restrict outputs and head to the other classes
    """
    missing = np.flatnonzero(counts == 0)
    if len(missing):
        names = ", ".join(map(str, missing[:5])) + (", …" if len(missing) > 5 else "")
        raise ValueError(
            "train_outputs: at least one image of each class expected, got none of class "
            f"{names}; add some, or restrict outputs and head to the other classes"
        )


def valid_percentile(value: float) -> float:
    """Return the argument `percentile` if it lies in [0, 100).

    Examples
    --------
    >>> valid_percentile(100)
    Traceback (most recent call last):
        ...
    ValueError: percentile: at least 0 and below 100 expected, got 100
    """
    if not 0 <= number("percentile", value) < 100:
        raise ValueError(f"percentile: at least 0 and below 100 expected, got {value}")
    return value
