"""What the names in the results table are made of, and which trial counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helpers.checks import known_name
from helpers.networks.recipe import SPECTRAL_FORMS

if TYPE_CHECKING:
    import pandas as pd

FREE, PAPERS_FORM = "none", "weights"
"""Networks without spectral normalisation, and with that of the paper's text."""

_UNNAMED = "spectral"  # as tables say `bounded` that are older than the other forms
_MARK = rf"\+((?:{'|'.join([*SPECTRAL_FORMS, _UNNAMED])})(?:_.*)?)$"


def spectral_changes(name: str) -> dict[str, object]:
    """Return what spectral normalisation changes in a recipe.

    Parameters
    ----------
    name : str
        ``none``, or a form of it as `helpers.networks.spectral.normalise` knows them: with the
        coefficient 1, or with the one that its name ends in.

    Examples
    --------
    >>> spectral_changes("none"), spectral_changes("bounded_3")
    ({}, {'spectral_form': 'bounded', 'spectral_norm': 3.0})
    """
    form, _, coefficient = name.partition("_")
    if known_name("form of spectral normalisation", form, (FREE, *SPECTRAL_FORMS)) == FREE:
        return {}
    try:
        changes = {"spectral_form": form, "spectral_norm": float(coefficient or 1)}
    except ValueError:
        changes = {"spectral_norm": 0.0}
    if not changes["spectral_norm"] > 0:
        raise ValueError(f"'{name}': a coefficient above 0 expected behind {form}_")
    return changes


def spectral_suffix(name: str) -> str:
    """Return what a network's name goes on with, by its form of spectral normalisation.

    Examples
    --------
    >>> spectral_suffix("none"), spectral_suffix("bounded_3")
    ('', '+bounded_3')
    """
    return "" if name == FREE else f"+{name}"


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
        With ``algorithm``, ``measure`` ("" if there is none) and ``spectral``, the form of spectral
        normalisation ("none" without; older tables, which do not name it, have ``bounded``);
        ``backbone`` is left with the network's own name.

    Examples
    --------
    >>> import pandas as pd
    >>> names = {"method": ["erm", "rnd/gap"], "backbone": ["resnet8", "resnet8+spectral_3"]}
    >>> found = split_columns(pd.DataFrame(names))
    >>> found[["algorithm", "measure", "backbone", "spectral"]].to_numpy().tolist()
    [['erm', '', 'resnet8', 'none'], ['rnd', 'gap', 'resnet8', 'bounded_3']]
    """
    forms = table["backbone"].str.extract(_MARK)[0].fillna(FREE)
    return table.assign(
        algorithm=table["method"].str.replace(r"/.*", "", regex=True),
        measure=table["method"].str.replace(r"^[^/]*/?", "", regex=True),
        backbone=table["backbone"].str.replace(_MARK, "", regex=True),
        spectral=forms.str.replace(_UNNAMED, "bounded"),
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
