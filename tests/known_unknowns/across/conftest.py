"""Numbers of methods, made up."""

import pandas as pd
import pytest

from known_unknowns.across.measures import MEASURES


@pytest.fixture(scope="session")
def table_of_measures(table_of):
    """Return a function that makes a results table of {(run, method, measure): value}."""

    def build(values, bootstrap=None):
        records = (
            {
                "run": run, "method": method, "value": float(value),
                "metric": MEASURES[name].metric, "test_set": MEASURES[name].test_set,
                "bootstrap": (bootstrap or {}).get((run, method, name), ()),
            }
            for (run, method, name), value in values.items()
        )  # fmt: skip
        return table_of(records, paper="synthesis", calibration="before")

    return build


@pytest.fixture
def means():
    """Four cells; by AURC the baseline's best score is vim."""
    cells = [("baseline", "msp"), ("baseline", "vim"), ("mixup", "msp"), ("edl", "native")]
    columns = {"accuracy": [0.8, 0.8, 0.9, 0.7], "ece": [0.1, 0.1, 0.2, 0.3],
               "passes": [1, 1, 1, 5], "aurc": [0.3, 0.2, 0.4, 0.5]}  # fmt: skip
    return pd.DataFrame(columns, pd.MultiIndex.from_tuples(cells, names=["algorithm", "score"]))


@pytest.fixture
def make_board():
    """Return a function that makes a leaderboard of {(ID set, row, side): AUROC}.

    Five networks, on which all of five scores are alike where nothing else is said; the row
    "trained" is of another training, "shifted" of a full-spectrum benchmark.
    """
    networks = [("cifar10", "ResNet18"), ("cifar100", "ResNet18"), ("imagenet200", "ResNet18"),
                ("imagenet1k", "ResNet50"), ("imagenet1k", "ViT-B/16")]  # fmt: skip
    ours = {"MSP": "msp", "GEN": "gen", "ASH": "ash", "ReAct": "react", "KNN": "knn"}

    def build(changes=None):
        rows = []
        for id_set, backbone in networks:
            for row in (*ours, "trained", "shifted"):
                numbers = {
                    side: (changes or {}).get((id_set, row, side), usual)
                    for side, usual in (("near", 0.6 if row == "shifted" else 0.8), ("far", 0.9))
                }
                score = row if row in ours else "MSP"
                several = 0.001 if backbone == "ResNet18" else float("nan")
                rows.append({
                    "id_set": id_set, "backbone": backbone, "full_spectrum": row == "shifted",
                    "training": "Other" if row == "trained" else "CrossEntropy", "recipe": "",
                    "post_hoc": row != "trained", "score": score, "ours": ours[score],
                    **numbers, "near_std": several, "far_std": several, "accuracy": 0.9,
                    "accuracy_std": several, "outliers": False,
                })  # fmt: skip
        return pd.DataFrame(rows)

    return build
