"""The table on the page of fidelity."""

from helpers.files import project_root
from helpers.tables import printed_numbers, results

NETWORKS = {
    "resnet20": "ResNet",
    "densenet40": "DenseNet",
    "efficientnet_half": "EfficientNet",
    "vit": "ViT",  # which the paper lacks
}
NUMBERS = {"closed-set": ("accuracy", 100, ".1f"), "open-set": ("ece", 1, ".3f")}


def test_the_page_shows_our_numbers_next_to_the_paper():
    page = (project_root() / "book/fidelity_openset_calibration.md").read_text("utf-8")
    ours = results.read(project_root() / "results/small/openset_calibration.parquet")
    ours = ours.query("variant == 'primary'").replace({"backbone": NETWORKS})
    paper = printed_numbers.load("openset_calibration").query("data_set == 'CIFAR10'")
    for network in NETWORKS.values():
        cells = []
        for method, (metric, scale, pattern) in NUMBERS.items():
            chosen = f"backbone == {network!r} and method == {method!r} and metric == {metric!r}"
            values, printed = (
                scale * table.query(f"{chosen} and calibration == 'after'")["value"]
                for table in (ours, paper)
            )
            spread = f"{values.mean():{pattern}} ± {values.std():{pattern}}"
            cells.append(f"{spread} ({f'{printed.item():{pattern}}' if len(printed) else '–'})")
        assert f" | {' | '.join(cells)} |" in page
