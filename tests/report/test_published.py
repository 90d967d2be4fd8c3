import pytest

from helpers.report import published

CELLS = [
    ("I", "CIFAR10", "ResNet", "closed-set", "before", "brier", 0.255),
    ("I", "CIFAR10", "ResNet", "open-set", "after", "ece", 0.230),
    ("II", "SVHN", "ResNet", "open-set + OpenMax", "before", "ece", 0.224),
    ("III", "CIFAR10", "DenseNet", "open-set", "before", "accuracy", 0.645),
    ("IV", "SVHN", "DenseNet", "closed-set", "after", "ece", 0.006),
    ("V", "CIFAR10", "EfficientNet", "open-set + OpenMax", "after", "brier", 0.719),
    ("VI", "SVHN", "EfficientNet", "open-set + OpenMax", "after", "accuracy", 0.857),
]


@pytest.fixture(scope="module")
def numbers():
    return published.load("openset_calibration")


def test_every_cell_of_the_six_tables_is_there_once(numbers):
    assert tuple(numbers.columns) == published.COLUMNS
    assert len(numbers) == 36 * 3
    cell = ["data_set", "backbone", "method", "calibration", "metric"]
    assert not numbers.duplicated(cell).any()
    assert numbers["std"].isna().all()  # none are printed
    assert not numbers.drop(columns="std").isna().any().any()
    assert numbers["test_set"].eq("test").all()
    assert numbers["value"].between(0, 1).all()
    assert numbers["table"].unique().tolist() == ["I", "II", "III", "IV", "V", "VI"]
    assert numbers.groupby("table").size().eq(18).all()


@pytest.mark.parametrize("cell", CELLS)
def test_cells_read_from_the_paper(numbers, cell):
    table, *where, value = cell
    columns = ["data_set", "backbone", "method", "calibration", "metric"]
    found = numbers[(numbers[columns] == where).all(axis=1)]
    assert found["value"].tolist() == [value]
    assert found["table"].item() == table
    assert found["source"].item() == f"Table {table}, arXiv:2205.07160"


def test_calibration_leaves_the_printed_accuracy_alone(numbers):
    accuracy = numbers[numbers["metric"] == "accuracy"]
    cell = accuracy.groupby(["data_set", "backbone", "method"])["value"]
    assert cell.size().eq(2).all()
    assert cell.nunique().eq(1).all()


def test_an_unknown_paper_is_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match="did you mean 'openset_calibration'"):
        published.load("openset_calibrations")
    assert published.papers() == (
        "gscore",
        "human_centric",
        "openset_calibration",
        "unknown_detection",
    )


UNKNOWN_DETECTION_CELLS = [
    ("5", "CIFAR-40", "test", "baseline", "accuracy", 0.7443, 0.0051),
    ("5", "CIFAR-40", "union", "ensemble", "aurc", 0.69349, None),
    ("5", "CIFAR-40", "test", "crl", "aurc", 0.06853, 0.00283),
    ("5", "CIFAR-40", "near", "baseline", "auroc", 0.7216, 0.0036),
    ("5", "CIFAR-40", "Gaussian Noise", "baseline", "fpr_at_tpr", 0.9172, 0.0627),
    ("6", "ImageNet-200", "near", "crl", "auroc", 0.7843, 0.0021),
    ("6", "ImageNet-200", "Food-32", "baseline", "fpr_at_tpr", 0.8751, 0.0143),
]


@pytest.fixture(scope="module")
def benchmark():
    return published.load("unknown_detection")


def test_every_cell_of_tables_5_and_6_is_there_once(benchmark):
    """Nine methods; accuracy, two AURC, and two numbers for each of five or four OOD sets."""
    assert tuple(benchmark.columns) == published.COLUMNS
    assert benchmark.groupby("table").size().to_dict() == {"5": 9 * 13, "6": 9 * 11}
    cell = ["data_set", "test_set", "backbone", "method", "calibration", "metric"]
    assert not benchmark.duplicated(cell).any()
    assert not benchmark.drop(columns="std").isna().any().any()
    assert benchmark["value"].between(0, 1).all()
    assert benchmark["std"].dropna().between(0, 0.5).all()
    assert benchmark.groupby("method").size().eq(24).all()
    ranked = benchmark[benchmark["metric"].isin(["auroc", "fpr_at_tpr"])]
    assert ranked.groupby("test_set").size().to_dict() == {
        "near": 36,
        **dict.fromkeys(["SVHN", "LSUN-FIX", "DTD", "Gaussian Noise"], 18),
        **dict.fromkeys(["Food-32", "Caltech-45", "Places-82"], 18),
    }


def test_only_the_ensemble_comes_without_deviation(benchmark):
    """One ensemble is formed of the five networks, so its numbers have no spread."""
    assert benchmark.loc[benchmark["std"].isna(), "method"].unique().tolist() == ["ensemble"]
    assert benchmark.loc[benchmark["method"] == "ensemble", "std"].isna().all()


@pytest.mark.parametrize("cell", UNKNOWN_DETECTION_CELLS)
def test_cells_read_from_tables_5_and_6(benchmark, cell):
    """Values and deviations are those of the printed cell, in the unit interval."""
    table, *where, value, std = cell
    columns = ["data_set", "test_set", "method", "metric"]
    found = benchmark[(benchmark[columns] == where).all(axis=1)]
    assert found["value"].item() == pytest.approx(value, abs=1e-12)
    assert found["std"].item() == pytest.approx(float("nan") if std is None else std, nan_ok=True)
    assert found["source"].item() == f"Table {table}, arXiv:2112.00337"


HUMAN_CENTRIC_CELLS = [
    ("1", "VGG19", "textures", "msp", "der99", 0.3950),
    ("1", "VGG19", "textures", "msp", "der95", 0.2222),
    ("1", "RN50", "average", "knn", "der99", 0.6922),
]


@pytest.fixture(scope="module")
def error_rates():
    return published.load("human_centric")


def test_every_cell_of_tables_1_and_2_is_there_once(error_rates):
    """Eight models, nine scores, eight test sets and their average, two error rates."""
    assert tuple(error_rates.columns) == published.COLUMNS
    assert error_rates.groupby("table")["backbone"].nunique().to_dict() == {"1": 4, "2": 4}
    cell = ["data_set", "test_set", "backbone", "method", "metric"]
    assert len(error_rates) == 8 * 9 * 9 * 2 and not error_rates.duplicated(cell).any()
    assert not error_rates.drop(columns="std").isna().any().any()
    assert error_rates["value"].between(0, 1).all()


@pytest.mark.parametrize("cell", HUMAN_CENTRIC_CELLS)
def test_cells_read_from_tables_1_and_2(error_rates, cell):
    """Values are those of the printed cell, in the unit interval."""
    table, *where, value = cell
    found = error_rates[
        (error_rates[["backbone", "test_set", "method", "metric"]] == where).all(axis=1)
    ]
    assert found["value"].item() == pytest.approx(value, abs=1e-12)
    assert found["source"].item() == f"Table {table}, arXiv:2211.16778"


def test_on_label_shifted_sets_the_lower_threshold_accepts_more(error_rates):
    """There every accepted image is an error, so that DER99 is DER95 at least."""
    shifted = error_rates[
        error_rates["test_set"].isin(["textures", "inaturalist", "places", "sun"])
    ]
    wide = shifted.pivot(index=["backbone", "method", "test_set"], columns="metric", values="value")
    assert (wide["der99"] >= wide["der95"]).all()


def test_printed_averages_agree_with_their_cells_but_for_knn_and_five(error_rates):
    """Of 144 averages 123 are the rounded means of their cells; none of KNN is."""
    average = error_rates["test_set"] == "average"
    fresh = published.with_averages(error_rates)
    assert fresh[~average].equals(error_rates[~average])
    off = (fresh["value"] - error_rates["value"])[average].abs()
    agree = off < 1e-4 + 1e-9  # cells and average are rounded to 0.0001
    methods = error_rates.loc[average, "method"]
    assert agree.sum() == 123 and (~agree[methods == "knn"]).all()
    assert off[methods == "knn"].max() < 0.019 and off[methods != "knn"].max() < 4e-4


GSCORE_CELLS = [
    ("1", "CIFAR-10", "DLA", "msp/ude_wasserstein", "rmse_fpr95", 0.0346, 0.0063),
    ("1", "CIFAR-10", "DLA", "max_logit/confidence", "rmse_auroc", 0.1365, 0.0084),
    ("2", "CIFAR-10", "VGG", "network", "accuracy", 0.9106, None),
    ("2", "CIFAR-10", "ResNet-101", "msp/ude_wasserstein", "predicted_fpr95", 0.4994, None),
    ("3", "CIFAR-100", "DLA", "msp", "fpr95", 0.8660, None),
    ("4", "CIFAR-10", "DLA", "msp/ude_wasserstein", "pearson_detection_error", -0.976, None),
    ("4", "CIFAR-10", "DLA", "msp/ude_wasserstein", "spearman_aupr", 0.794, None),
    ("6", "CIFAR-10", "DLA", "odin/gmm_kl", "rmse_fpr95", 0.1344, 0.0094),
]


@pytest.fixture(scope="module")
def evaluators():
    return published.load("gscore")


def test_every_cell_of_gscores_tables_is_there_once(evaluators):
    """Seven evaluators, two metrics, four detectors; four networks, four ID sets, six metrics."""
    assert tuple(evaluators.columns) == published.COLUMNS
    sizes = evaluators.groupby("table").size().to_dict()
    assert sizes == {"1": 5 * 2 * 4, "2": 4 * 3, "3": 4 * 3, "4": 6 * 2, "6": 2 * 2 * 4}
    cell = ["data_set", "test_set", "backbone", "method", "metric"]
    assert not evaluators.duplicated(cell).any()
    assert not evaluators.drop(columns="std").isna().any().any()
    rmse = evaluators["metric"].str.startswith("rmse")
    assert evaluators["std"].notna().equals(rmse)  # no others are printed with a deviation
    assert evaluators["value"].between(-1, 1).all()
    assert evaluators.loc[evaluators["value"] < 0, "table"].unique().tolist() == ["4"]
    assert set(evaluators["test_set"]) == {"all", "test"}


@pytest.mark.parametrize("cell", GSCORE_CELLS)
def test_cells_read_from_gscores_tables(evaluators, cell):
    """Values and deviations are those of the printed cell, in the unit interval."""
    table, *where, value, std = cell
    columns = ["data_set", "backbone", "method", "metric"]
    found = evaluators[(evaluators[columns] == where).all(axis=1)]
    assert found["value"].item() == pytest.approx(value, abs=1e-12)
    assert found["std"].item() == pytest.approx(float("nan") if std is None else std, nan_ok=True)
    assert found["source"].item() == f"Table {table}, arXiv:2302.08287"
