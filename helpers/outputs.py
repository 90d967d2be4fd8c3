"""One pass of a data set through a model, kept by content."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import softmax

from helpers.files import atomic_path

if TYPE_CHECKING:
    from helpers.data import Images, ImageStream
    from helpers.models import Classifier


# what reading a damaged npz file has been seen to raise
_DAMAGED = (
    zipfile.BadZipFile, EOFError, OSError, TypeError, KeyError, ValueError, RuntimeError,
    NotImplementedError, zlib.error,
)  # fmt: skip


@dataclass(frozen=True)
class Head:
    """The last linear layer of a classifier: ``logits = features @ weight.T + bias``.

    Attributes
    ----------
    weight : ndarray of float32, shape [K, D]
    bias : ndarray of float32, shape [K]
    """

    weight: np.ndarray
    bias: np.ndarray


@dataclass(frozen=True)
class Outputs:
    """What a model says about one data set. All scores and metrics start from here.

    Attributes
    ----------
    logits : ndarray of float32, shape [N, K]
    features : ndarray of float32, shape [N, D]
        What the head multiplies.
    labels : ndarray of int64, shape [N]
        −1 where the image's class is none of the model's.
    members : ndarray of float32, shape [M, N, K], optional
        Probabilities of ensemble members or of stochastic passes.
    native : ndarray of float32, shape [N], optional
        The training algorithm's own score, if it has one.

    Raises
    ------
    ValueError
        An array of the wrong shape, NaN among the logits or features, a label outside
        −1 … K − 1.
    """

    logits: np.ndarray
    features: np.ndarray
    labels: np.ndarray
    members: np.ndarray | None = None
    native: np.ndarray | None = None

    def __post_init__(self):
        for name, kind, ndim in (
            ("logits", np.float32, 2),
            ("features", np.float32, 2),
            ("labels", np.int64, 1),
            ("members", np.float32, 3),
            ("native", np.float32, 1),
        ):
            array = getattr(self, name)
            if array is None and name in ("members", "native"):
                continue
            array = np.asarray(array)
            if name == "labels" and array.dtype.kind not in "iu":
                raise ValueError(f"labels: integers expected, got dtype {array.dtype}")
            array = array.astype(kind, copy=False)
            object.__setattr__(self, name, array)
            if array.ndim != ndim:
                raise ValueError(f"{name}: {ndim} dimension(s) expected, got shape {array.shape}")
            length = array.shape[1] if name == "members" else len(array)
            if length != len(self.logits):
                raise ValueError(f"{name}: {len(self.logits)} images expected, got {length}")
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise ValueError(f"{name}: contains NaN or infinite values")
        if not len(self.labels):
            raise ValueError("logits: empty")
        if self.members is not None and self.members.shape[2] != self.num_classes:
            raise ValueError(
                f"members: {self.num_classes} classes expected, got {self.members.shape[2]}"
            )
        if not -1 <= self.labels.min() <= self.labels.max() < self.num_classes:
            raise ValueError(
                f"labels: −1 … {self.num_classes - 1} expected, "
                f"got {self.labels.min()} … {self.labels.max()}"
            )

    def __len__(self) -> int:
        return len(self.logits)

    @property
    def num_classes(self) -> int:
        """K, the number of the model's classes."""
        return self.logits.shape[1]

    @cached_property
    def probabilities(self) -> np.ndarray:
        """Softmax of the logits, or the mean over the members, float64 [N, K]."""
        if self.members is not None:
            return self.members.mean(axis=0, dtype=np.float64)
        return softmax(self.logits.astype(np.float64), axis=1)

    @cached_property
    def predictions(self) -> np.ndarray:
        """Most probable class, int64 [N]."""
        return self.probabilities.argmax(axis=1)

    @cached_property
    def correct(self) -> np.ndarray:
        """Whether the prediction is the label, bool [N]; an unknown class is never correct."""
        return self.predictions == self.labels

    def subset(self, indices) -> Outputs:
        """Return the outputs of some images: an index array, a mask or a slice."""
        return Outputs(
            self.logits[indices],
            self.features[indices],
            self.labels[indices],
            None if self.members is None else self.members[:, indices],
            None if self.native is None else self.native[indices],
        )

    def save(self, path: str | os.PathLike) -> None:
        """Write an ``.npz`` file, whole or not at all."""
        arrays = {
            name: getattr(self, name)
            for name in ("logits", "features", "labels", "members", "native")
            if getattr(self, name) is not None
        }
        with atomic_path(path) as temporary, open(temporary, "wb") as file:
            np.savez(file, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Outputs:
        """Read what `save` wrote. Nothing in the file is executed.

        Raises
        ------
        ValueError
            The file is truncated, altered (its CRCs do not match) or lacks an array.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                return cls(**{name: file[name] for name in file.files})
        except FileNotFoundError:
            raise
        except _DAMAGED as error:
            raise ValueError(f"{path}: not a whole file of outputs ({error})") from error


def ensemble(members: Sequence[Outputs]) -> Outputs:
    """Return the outputs of several networks as those of one model.

    Parameters
    ----------
    members : sequence of Outputs
        M of the same images.

    Returns
    -------
    Outputs
        ``members`` are the networks' probabilities, whose mean is the model's; ``logits`` the
        logarithm of that mean; ``features`` the networks' features side by side [N, M D].

    Raises
    ------
    ValueError
        No member, or members of other images.

    Notes
    -----
    Lakshminarayanan et al. 2017: the mean is that of probabilities, never of logits.
    """
    if not members:
        raise ValueError("members: empty")
    for one in members:
        if not np.array_equal(one.labels, members[0].labels):
            raise ValueError("members: outputs of the same images expected, got different labels")
    probabilities = np.stack([one.probabilities for one in members])
    tiny = np.finfo(np.float32).tiny  # a probability that underflowed has no logarithm
    return Outputs(
        np.log(np.maximum(probabilities.mean(axis=0), tiny)).astype(np.float32),
        np.concatenate([one.features for one in members], axis=1),
        members[0].labels,
        members=probabilities.astype(np.float32),
    )


def compute(
    classifier: Classifier,
    images: Images | ImageStream,
    *,
    device: str = "cpu",
    batch_size: int = 500,
    passes: int = 0,
    seed: int = 0,
    image_size: int | None = None,
) -> Outputs:
    """Show every image once to the classifier, in evaluation mode.

    Parameters
    ----------
    classifier : Classifier
        Takes uint8 images [B, 3, H, W].
    images : Images or ImageStream
        With labels as the model numbers its classes, −1 for an unknown class.
    device : str
        Where to compute.
    batch_size : int
        Images per pass; memory on the device grows with it, not with the data set.
    passes : int
        With dropout at work, show every image that many times more; these are the members
        (Gal and Ghahramani 2016).
    seed : int
        Of what dropout draws.
    image_size : int, optional
        Pixels to which the images of a stream are brought.

    Returns
    -------
    Outputs
        In the order of the images.
    """
    import torch

    classifier = classifier.to(device).eval()
    head = classifier.backbone.get_classifier()
    logits, features, members = [], [], []
    torch.manual_seed(seed)
    with torch.inference_mode():
        for batch in images.in_order(batch_size=batch_size, size=image_size):
            batch = batch.to(device)
            classifier.eval()
            hidden = classifier.features(batch).float()
            features.append(hidden.cpu().numpy())
            logits.append(head(hidden).cpu().numpy())
            if passes:
                classifier.sample_dropout()
                drawn = [classifier(batch).float().softmax(dim=1) for _ in range(passes)]
                members.append(torch.stack(drawn).cpu().numpy())
    classifier.eval()
    return Outputs(
        np.concatenate(logits),
        np.concatenate(features),
        images.labels,
        members=np.concatenate(members, axis=1) if passes else None,
    )
