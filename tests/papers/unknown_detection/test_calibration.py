"""Tables on the page of fidelity: calibration errors, and SVHN next to the paper."""

import re

import numpy as np

from helpers.files import project_root
from helpers.metrics.calibration import calibration_error
from helpers.papers.unknown_detection import methods, per_image
from helpers.tables import printed_numbers, results

PAGE = project_root() / "book/fidelity_unknown_detection.md"
TABLE = project_root() / "results/small/unknown_detection.parquet"
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


def _with_spread(values, spread):
    return f"{100 * np.mean(values):.1f}" + (f" ± {100 * spread:.1f}" if spread > 0 else "")


def test_the_page_shows_svhn_next_to_the_paper():
    text = PAGE.read_text(encoding="utf-8").partition("## SVHN next to the paper")[2]
    shown = re.findall(r"^\| (\w.*) \| (.*) \((.*)\) \| (.*) \((.*)\) \|$", text, re.M)
    rows = results.read(TABLE).query("test_set == 'svhn' and variant == 'primary'")
    printed = printed_numbers.load("unknown_detection").query("test_set == 'SVHN'")
    assert [title for title, *_ in shown] == [*NAMES]
    for title, *cells in shown:
        expected = []
        for metric in ("auroc", "fpr_at_tpr"):
            of_method = f"method == {NAMES[title]!r} and metric == {metric!r}"
            values = rows.query(of_method)["value"]
            spread = values.std() if len(values) > 1 else 0
            expected.append(_with_spread(values, spread) if len(values) else "–")
            (of_paper,) = printed.query(of_method).to_dict("records")
            expected.append(_with_spread([of_paper["value"]], of_paper["std"]))
        assert [*cells] == expected, title
