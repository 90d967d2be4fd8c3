"""The parts of the names in the results table, and the choice of a trial."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helpers.checks import known_name
from helpers.networks.recipe import SPECTRAL_FORMS

if TYPE_CHECKING:
    import pandas as pd

FREE, PAPERS_FORM = "none", "weights"
"""No spectral normalisation, and the form in the paper's text."""

_MARK = rf"\+((?:{'|'.join(SPECTRAL_FORMS)})(?:_.*)?)$"


def spectral_changes(name: str) -> dict[str, object]:
    """Return the changes of a recipe for ``none`` or a form with an optional coefficient.

    >>> spectral_changes("none"), spectral_changes("bounded_3")
    ({}, {'spectral_form': 'bounded', 'spectral_norm': 3.0})
    """
    form, _, coefficient = name.partition("_")
    if known_name("form of spectral normalisation", form, (FREE, *SPECTRAL_FORMS)) == FREE:
        return {}
    try:
        norm = float(coefficient or 1)
    except ValueError:
        norm = 0.0
    if not norm > 0:
        raise ValueError(f"'{name}': a coefficient above 0 expected behind {form}_")
    return {"spectral_form": form, "spectral_norm": norm}


def spectral_suffix(name: str) -> str:
    """Return the end of a network's name, such as ``+bounded_3``; "" for ``none``."""
    return "" if name == FREE else f"+{name}"


def split_columns(table: pd.DataFrame) -> pd.DataFrame:
    """Return a results table with columns for the parts of ``method`` and ``backbone``.

    ``algorithm`` and ``measure`` ("" for in-domain numbers) are the parts of ``method``.
    ``spectral`` is the form of spectral normalisation, without which ``backbone`` remains.

    >>> import pandas as pd
    >>> names = {"method": ["erm", "rnd/gap"], "backbone": ["resnet8", "resnet8+bounded_3"]}
    >>> table = split_columns(pd.DataFrame(names))
    >>> table[["algorithm", "measure", "backbone", "spectral"]].to_numpy().tolist()
    [['erm', '', 'resnet8', 'none'], ['rnd', 'gap', 'resnet8', 'bounded_3']]
    """
    return table.assign(
        algorithm=table["method"].str.replace(r"/.*", "", regex=True),
        measure=table["method"].str.replace(r"^[^/]*/?", "", regex=True),
        backbone=table["backbone"].str.replace(_MARK, "", regex=True),
        spectral=table["backbone"].str.extract(_MARK)[0].fillna(FREE),
    )


def choose_trial(likelihoods: pd.DataFrame) -> int | None:
    """Return the number of the trial to evaluate; None if each trial diverged on a data seed.

    Parameters
    ----------
    likelihoods : DataFrame, shape [data seeds, trials]
        Negative log-likelihoods of the validation images; NaN if a trial diverged.

    Examples
    --------
    >>> import pandas as pd
    >>> choose_trial(pd.DataFrame({0: [0.5, 0.7], 1: [0.1, float("nan")], 2: [0.4, 0.6]}))
    2
    """
    means = likelihoods.dropna(axis=1).mean()
    return None if means.empty else int(means.idxmin())
