import pytest

from helpers import published

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
    assert not numbers.isna().any().any()
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
    assert published.papers() == ("openset_calibration",)
