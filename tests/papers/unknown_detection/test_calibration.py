"""The table of calibration errors on the page of fidelity, from the answers image by image."""

import re

import numpy as np

from helpers.files import project_root
from helpers.metrics.calibration import calibration_error
from helpers.papers.unknown_detection import methods, per_image

PAGE = project_root() / "book/fidelity_unknown_detection.md"
FOLDER = project_root() / "results/small/per_image/unknown_detection"
NAMES = {method.title: name for name, method in methods.NINE.items()}


def test_the_page_shows_the_calibration_errors_of_the_committed_answers():
    text = PAGE.read_text(encoding="utf-8")
    titles, values = re.search(r"^\| \| (.*) \|\n.*\n\| ECE \| (.*) \|$", text, re.M).groups()
    shown = dict(zip(titles.split(" | "), values.split(" | "), strict=True))
    shown.pop("MC dropout")  # its answers are not committed
    assert len(shown) == 6
    for title, cell in shown.items():
        runs = range(5 if title == "Baseline" else 1)
        answers = [per_image.answers(FOLDER, NAMES[title], run)["test"] for run in runs]
        errors = [100 * calibration_error(each.confidence, each.correct) for each in answers]
        spread = f" ± {np.std(errors, ddof=1):.1f}" if len(errors) > 1 else ""
        assert cell == f"{np.mean(errors):.1f}{spread}", title
    baselines = [per_image.answers(FOLDER, "baseline", run)["test"] for run in range(5)]
    gaps = [100 * (each.confidence.mean() - each.correct.mean()) for each in baselines]
    assert f"their mean confidence is {np.mean(gaps):.1f} points above their accuracy" in text
