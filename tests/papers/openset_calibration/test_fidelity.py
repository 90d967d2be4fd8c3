"""The table on the page of fidelity."""

from helpers.files import project_root
from helpers.tables import printed_numbers, results

NETWORKS = {"resnet20": "ResNet", "densenet40": "DenseNet", "efficientnet_half": "EfficientNet"}
NUMBERS = {"closed-set": ("accuracy", 100, ".1f"), "open-set": ("ece", 1, ".3f")}


def test_the_page_shows_our_numbers_next_to_the_paper():
    page = (project_root() / "book/fidelity_openset_calibration.md").read_text("utf-8")
    rows = results.read(project_root() / "results/small/openset_calibration.parquet")
    rows = rows.query("variant == 'primary' and calibration == 'after'")
    printed = printed_numbers.load("openset_calibration")
    printed = printed.query("data_set == 'CIFAR10' and calibration == 'after'")
    for ours, theirs in NETWORKS.items():
        cells = []
        for method, (metric, scale, pattern) in NUMBERS.items():
            where = f"method == {method!r} and metric == {metric!r}"
            values = scale * rows.query(f"{where} and backbone == {ours!r}")["value"]
            (paper,) = scale * printed.query(f"{where} and backbone == {theirs!r}")["value"]
            numbers = (format(each, pattern) for each in (values.mean(), values.std(), paper))
            cells.append("{} ± {} ({})".format(*numbers))
        assert f" | {' | '.join(cells)} |" in page
