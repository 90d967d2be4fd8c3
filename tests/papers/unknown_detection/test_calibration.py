"""Tables on the page of fidelity: calibration errors, and sets next to the paper."""

import numpy as np
import pandas as pd
import pytest

from helpers.files import project_root
from helpers.metrics.calibration import calibration_error
from helpers.papers.unknown_detection import methods, per_image
from helpers.tables import printed_numbers, results

PAGE = project_root() / "book/fidelity_unknown_detection.md"
SMALL = project_root() / "results/small"


def with_spread(values, spread):
    if not np.size(values):
        return "–"
    return f"{100 * np.mean(values):.1f}" + (f" ± {100 * spread:.1f}" if spread > 0 else "")


def test_the_page_shows_the_calibration_errors_of_the_committed_answers():
    text = PAGE.read_text("utf-8")
    (cells,) = (line.split(" | ") for line in text.splitlines() if line.startswith("| ECE |"))
    names = ["baseline", "crl", "edl", "ensemble", "augmix", "outlier_exposure"]
    for name, cell in zip(names, [*cells[1:4], *cells[5:]], strict=True):
        folder = SMALL / "per_image/unknown_detection"
        runs = 1 if name == "ensemble" else len([*folder.glob(f"?-{name}.parquet")])
        answers = [per_image.answers(folder, name, run)["test"] for run in range(runs)]
        errors = pd.Series(calibration_error(each.confidence, each.correct) for each in answers)
        assert cell.strip(" |") == with_spread(errors, errors.std()), name


SETS = {"svhn": "SVHN", "near": "near", "dtd_subset": "DTD", "gaussian": "Gaussian Noise"}


@pytest.mark.parametrize("test_set", SETS)
def test_the_page_shows_each_set_next_to_the_paper(test_set):
    rows = results.read(SMALL / "unknown_detection.parquet").query("variant == 'primary'")
    printed = printed_numbers.load("unknown_detection").query("table == '5'")
    printed = printed[printed["test_set"] == SETS[test_set]]
    for name, method in methods.NINE.items():
        cells = [method.title]
        for metric in ("auroc", "fpr_at_tpr"):
            where = f"method == {name!r} and metric == {metric!r}"
            values = rows.query(f"{where} and test_set == {test_set!r}")["value"]
            of_paper = printed.query(where).iloc[0]
            cells.append(with_spread(values, values.std()))
            cells.append(with_spread(of_paper["value"], of_paper["std"]))
        assert f"| {' | '.join(cells)} |" in PAGE.read_text("utf-8")
