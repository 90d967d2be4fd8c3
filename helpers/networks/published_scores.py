"""Numbers that others have printed for published networks: how scores tell unknown images there.

``published_scores.csv`` holds them as they are printed, each with the place where it was read.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

COLUMNS = (
    "network", "paper", "id_set", "ood_set", "score", "settings", "metric", "positive", "value",
    "source",
)  # fmt: skip


def published_scores() -> pd.DataFrame:
    """Return what is printed of published networks, one number per row.

    Returns
    -------
    DataFrame
        ``network``, a record of `helpers.networks.published`; ``paper``, whose network or code it
        is, by its key in the bibliography; ``id_set``; ``ood_set``, whole, as the source has it
        ("mean of six": the mean over Textures, SVHN, Places365, both kinds of LSUN and iSUN);
        ``score``, one of `helpers.scores.names`; ``settings``, as printed, or "" where none are;
        ``metric``, "auroc" or "fpr95"; ``positive``, of the latter, whose 95 % are kept, "known"
        or "unknown" (see `helpers.metrics.fpr_at_tpr`); ``value``, a share; ``source``, where it
        was read.

    Examples
    --------
    >>> found = published_scores().query("score == 'energy' and ood_set == 'textures'")
    >>> found[["network", "metric", "value"]].values.tolist()[0]
    ['densenet100.dice_cifar100', 'fpr95', 0.8449]
    """
    path = Path(__file__).with_suffix(".csv")
    numbers = pd.read_csv(path, keep_default_na=False, dtype={"value": float})
    return numbers.assign(value=(numbers["value"] / 100).round(6))[list(COLUMNS)]
