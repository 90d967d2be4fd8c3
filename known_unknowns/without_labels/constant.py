"""The constant: what an estimator says that has not looked at the mixture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from known_unknowns.without_labels.estimates import (
    BySize,
    Estimate,
    MetaSets,
    check_meta,
    check_share,
    jackknife_ends,
    mixture_array,
    wider,
)

_TIMES = 8  # mixtures of a set


@dataclass(frozen=True)
class Constant:
    """The mean of the meta sets' metrics, the constant that is best for them."""

    truths: dict[str, np.ndarray]
    own: dict[str, np.ndarray]

    def estimate(self, mixture, *, level: float = 0.9) -> dict[str, Estimate]:
        """See `Estimator.estimate`; of all mixtures it is the same."""
        mixture_array(mixture, level)
        found = {}
        for metric, truths in self.truths.items():
            sets, mean = len(truths), truths.mean()
            without = (truths.sum() - truths) / (sets - 1)
            again = np.repeat(without, len(self.own[metric]) // sets)
            ends = wider(
                jackknife_ends(without, truths - without, sets, level),
                jackknife_ends(again, self.own[metric] - again, sets, level),
            )
            found[metric] = Estimate(float(mean), *ends)
        return found


def fit_constant(
    validation, meta: MetaSets | None = None, *, share: float | None = None, seed: int = 0
) -> BySize:
    """Return the constant of some meta sets.

    Parameters
    ----------
    validation, meta, share
        See `.estimates`; the validation images are not used, and the share by the
        interval alone.
    seed : int
        Of the mixtures.

    Returns
    -------
    BySize
        Of a `Constant`, whose interval is that of the metric of one more set like these.

    Notes
    -----
    What every other estimator must beat: `helpers.labelfree.skill` says by how much.
    """
    meta, share = check_meta(meta, 2), check_share(share)

    def learn(images: int) -> Constant:
        mixtures = list(meta.mix(share, images=images, times=_TIMES, seed=seed))
        return Constant(meta.truths, meta.own_truths(mixtures))

    return BySize(learn)
