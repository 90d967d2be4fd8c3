"""What the names in the results table are made of, and which trial counts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

SPECTRAL = "+spectral"
"""What a network's name goes on with where its layers are spectrally normalised."""


def spectral_suffix(coefficient: float) -> str:
    """Return what a network's name goes on with, by its coefficient of spectral normalisation.

    Examples
    --------
    >>> spectral_suffix(0.0), spectral_suffix(1.0), spectral_suffix(3.0)
    ('', '+spectral', '+spectral_3')
    """
    if not coefficient:
        return ""
    return SPECTRAL if coefficient == 1 else f"{SPECTRAL}_{coefficient:g}"


def split_columns(table: pd.DataFrame) -> pd.DataFrame:
    """Return a results table with what its names are made of in columns of their own.

    Parameters
    ----------
    table : DataFrame
        Its ``method`` is an algorithm or ALGORITHM/MEASURE, and ``backbone`` ends in a
        `spectral_suffix`.

    Returns
    -------
    DataFrame
        With ``algorithm``, ``measure`` ("" if there is none) and ``spectral``, the coefficient of
        spectral normalisation (0.0 without); ``backbone`` is left with the network's own name.

    Examples
    --------
    >>> import pandas as pd
    >>> names = {"method": ["erm", "rnd/gap"], "backbone": ["resnet8", "resnet8+spectral_0.5"]}
    >>> found = split_columns(pd.DataFrame(names))
    >>> found[["algorithm", "measure", "backbone", "spectral"]].to_numpy().tolist()
    [['erm', '', 'resnet8', 0.0], ['rnd', 'gap', 'resnet8', 0.5]]
    """
    mark = re.escape(SPECTRAL)
    coefficients = table["backbone"].str.extract(rf"{mark}_?(.*)")[0].replace("", "1")
    return table.assign(
        algorithm=table["method"].str.replace(r"/.*", "", regex=True),
        measure=table["method"].str.replace(r"^[^/]*/?", "", regex=True),
        backbone=table["backbone"].str.replace(rf"{mark}.*", "", regex=True),
        spectral=coefficients.astype(float).fillna(0.0),
    )


def choose_trial(likelihoods: pd.DataFrame) -> int | None:
    """Return the number of the trial that is evaluated.

    Parameters
    ----------
    likelihoods : DataFrame, shape [data seeds, trials]
        Negative log-likelihoods on validation images; NaN where a trial diverged.

    Returns
    -------
    int or None
        The trial with the lowest mean over data seeds, among those that diverged on none; None
        if all did.

    Examples
    --------
    >>> import pandas as pd
    >>> choose_trial(pd.DataFrame({0: [0.5, 0.7], 1: [0.1, float("nan")], 2: [0.4, 0.6]}))
    2
    """
    whole = likelihoods.dropna(axis=1).mean()
    return None if whole.empty else int(whole.idxmin())
