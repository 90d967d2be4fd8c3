import pytest

from helpers.papers import PAPERS
from helpers.report import published

KEY = ["data_set", "test_set", "backbone", "method", "calibration", "metric"]
TABLES = {  # how many numbers each of a paper's tables has
    # six tables of three methods, before and after, by three metrics
    "openset_calibration": dict.fromkeys(["I", "II", "III", "IV", "V", "VI"], 18),
    # nine methods; accuracy, two AURC, and two numbers for each of five or four OOD sets
    "unknown_detection": {"5": 9 * 13, "6": 9 * 11},
    # two times four models; nine scores, eight test sets and their average, two error rates
    "human_centric": {"1": 4 * 9 * 9 * 2, "2": 4 * 9 * 9 * 2},
    # seven evaluators, two metrics, four detectors; four networks, four ID sets, six metrics; six
    # sets with truths, and what three evaluators say, of four detectors
    "gscore": {
        "1": 5 * 2 * 4,
        "2": 4 * 3,
        "3": 4 * 3,
        "4": 6 * 2,
        "5": 4 * (6 + 3 * 7),
        "6": 2 * 2 * 4,
    },  # fmt: skip,
}
SOURCES = {
    "openset_calibration": "2205.07160",
    "unknown_detection": "2112.00337",
    "human_centric": "2211.16778",
    "gscore": "2302.08287",
}
CALIBRATED = ["data_set", "backbone", "method", "calibration", "metric"]
DETECTED = ["data_set", "test_set", "method", "metric"]
ACCEPTED = ["backbone", "test_set", "method", "metric"]
EVALUATED = ["data_set", "backbone", "test_set", "method", "metric"]
OPENMAX, WASSERSTEIN = "open-set + OpenMax", "msp/ude_wasserstein"
CELLS = {  # read from the paper: the columns that tell where, table and place, value, deviation
    "openset_calibration": (
        CALIBRATED,
        [
            ("I", "CIFAR10", "ResNet", "closed-set", "before", "brier", 0.255, None),
            ("I", "CIFAR10", "ResNet", "open-set", "after", "ece", 0.230, None),
            ("II", "SVHN", "ResNet", OPENMAX, "before", "ece", 0.224, None),
            ("III", "CIFAR10", "DenseNet", "open-set", "before", "accuracy", 0.645, None),
            ("IV", "SVHN", "DenseNet", "closed-set", "after", "ece", 0.006, None),
            ("V", "CIFAR10", "EfficientNet", OPENMAX, "after", "brier", 0.719, None),
            ("VI", "SVHN", "EfficientNet", OPENMAX, "after", "accuracy", 0.857, None),
        ],
    ),
    "unknown_detection": (
        DETECTED,
        [
            ("5", "CIFAR-40", "test", "baseline", "accuracy", 0.7443, 0.0051),
            ("5", "CIFAR-40", "union", "ensemble", "aurc", 0.69349, None),
            ("5", "CIFAR-40", "test", "crl", "aurc", 0.06853, 0.00283),
            ("5", "CIFAR-40", "near", "baseline", "auroc", 0.7216, 0.0036),
            ("5", "CIFAR-40", "Gaussian Noise", "baseline", "fpr_at_tpr", 0.9172, 0.0627),
            ("6", "ImageNet-200", "near", "crl", "auroc", 0.7843, 0.0021),
            ("6", "ImageNet-200", "Food-32", "baseline", "fpr_at_tpr", 0.8751, 0.0143),
        ],
    ),
    "human_centric": (
        ACCEPTED,
        [
            ("1", "VGG19", "textures", "msp", "der99", 0.3950, None),
            ("1", "VGG19", "textures", "msp", "der95", 0.2222, None),
            ("1", "RN50", "average", "knn", "der99", 0.6922, None),
        ],
    ),
    "gscore": (
        EVALUATED,
        [
            ("1", "CIFAR-10", "DLA", "all", WASSERSTEIN, "rmse_fpr95", 0.0346, 0.0063),
            ("1", "CIFAR-10", "DLA", "all", "max_logit/confidence", "rmse_auroc", 0.1365, 0.0084),
            ("2", "CIFAR-10", "VGG", "test", "network", "accuracy", 0.9106, None),
            ("2", "CIFAR-10", "ResNet-101", "all", WASSERSTEIN, "predicted_fpr95", 0.4994, None),
            ("3", "CIFAR-100", "DLA", "all", "msp", "fpr95", 0.8660, None),
            ("4", "CIFAR-10", "DLA", "all", WASSERSTEIN, "pearson_detection_error", -0.976, None),
            ("4", "CIFAR-10", "DLA", "all", WASSERSTEIN, "spearman_aupr", 0.794, None),
            ("5", "CIFAR-10", "DLA", "Ischemia", "odin", "fpr95", 0.2682, None),
            ("5", "CIFAR-10", "DLA", "Watch", WASSERSTEIN, "predicted_fpr95", 0.6339, None),
            ("5", "CIFAR-10", "DLA", "six new sets", WASSERSTEIN, "rmse_fpr95", 0.0136, None),
            ("6", "CIFAR-10", "DLA", "all", "odin/gmm_kl", "rmse_fpr95", 0.1344, 0.0094),
        ],
    ),
}


@pytest.mark.parametrize("paper", TABLES)
def test_every_cell_of_the_tables_is_there_once_in_its_unit(paper):
    numbers = published.load(paper)
    assert tuple(numbers.columns) == published.COLUMNS
    assert numbers.groupby("table").size().to_dict() == TABLES[paper]
    assert not numbers.duplicated(KEY).any()
    assert not numbers.drop(columns="std").isna().any().any()
    assert numbers["value"].between(-1 if paper == "gscore" else 0, 1).all()
    assert numbers["std"].dropna().between(0, 0.5).all()


@pytest.mark.parametrize(
    ("paper", "cell"), [(paper, cell) for paper, (_, cells) in CELLS.items() for cell in cells]
)
def test_cells_are_those_of_the_paper(paper, cell):
    """Values and deviations are those of the printed cell, in the unit interval."""
    (table, *where, value, std), numbers = cell, published.load(paper)
    found = numbers[(numbers[CELLS[paper][0]] == where).all(axis=1)]
    assert found["value"].item() == pytest.approx(value, abs=1e-12)
    assert found["std"].item() == pytest.approx(float("nan") if std is None else std, nan_ok=True)
    assert found["table"].item() == table
    assert found["source"].item() == f"Table {table}, arXiv:{SOURCES[paper]}"


def test_errors_on_six_new_sets_follow_from_their_cells():
    numbers = published.load("gscore")
    numbers = numbers[numbers["table"] == "5"].set_index(["test_set", "method", "metric"])["value"]
    stated = numbers.xs("rmse_fpr95", level="metric").xs("six new sets", level="test_set")
    for method, error in stated.items():
        told = numbers.xs((method, "predicted_fpr95"), level=("method", "metric"))
        truth = numbers.xs((method.partition("/")[0], "fpr95"), level=("method", "metric"))
        assert len(told) == 6
        assert ((told - truth) ** 2).mean() ** 0.5 == pytest.approx(error, abs=1e-4)


def test_an_unknown_paper_is_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match="did you mean 'openset_calibration'"):
        published.load("openset_calibrations")
    assert published.papers() == tuple(sorted(TABLES))


def test_error_rates_agree_with_each_other_but_for_the_averages_of_knn_and_five():
    """On label-shifted sets every accepted image is an error, so that DER99 is DER95 at least.

    Of 144 averages 123 are the rounded means of their cells; none of KNN is.
    """
    numbers = published.load("human_centric")
    assert numbers.groupby("table")["backbone"].nunique().to_dict() == {"1": 4, "2": 4}
    shifted = numbers[numbers["test_set"].isin(["textures", "inaturalist", "places", "sun"])]
    wide = shifted.pivot(index=["backbone", "method", "test_set"], columns="metric", values="value")
    assert (wide["der99"] >= wide["der95"]).all()
    average = numbers["test_set"] == "average"
    fresh = published.with_averages(numbers)
    assert fresh[~average].equals(numbers[~average])
    off = (fresh["value"] - numbers["value"])[average].abs()
    agree = off < 1e-4 + 1e-9  # cells and average are rounded to 0.0001
    methods = numbers.loc[average, "method"]
    assert agree.sum() == 123 and (~agree[methods == "knn"]).all()
    assert off[methods == "knn"].max() < 0.019 and off[methods != "knn"].max() < 4e-4


@pytest.mark.parametrize("paper", TABLES)
def test_effects_that_are_printed_in_the_text_stand_as_printed(paper):
    """Each is an effect of a claim, whose verdict by the paper's own numbers goes by it."""
    own, claims = published.in_text(paper), PAPERS[paper].claims.CLAIMS
    checks = claims.check_published()
    assert len(checks) == len(claims.check_published().drop_duplicates(["claim", "check", *CELL]))
    for row in own.itertuples():
        found = checks.query("claim == @row.claim and check == @row.check and data_set == 'all'")
        assert found["effect"].item() == row.value
        relation, margin = found[["relation", "margin"]].iloc[0]
        holds = row.value < margin if relation == "<" else row.value > margin
        assert found["verdict"].item() == ("supported" if holds else "contradicted")
        assert found["note"].item() == f"printed in the {row.place}"


CELL = ["data_set", "backbone"]
