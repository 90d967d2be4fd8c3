import pandas as pd
import pytest

from helpers.papers.unknown_detection import figures
from helpers.report import published

METHODS = {"baseline": "Baseline", "crl": "CRL", "ensemble": "Deep Ensemble", "odin": "ODIN"}


class TestImprovement:
    printed = published.load("unknown_detection")
    table = pd.DataFrame(
        [
            (0, "baseline", 0.8), (0, "crl", 0.6), (0, "ensemble", 0.4),
            (1, "baseline", 0.5), (1, "crl", 0.6),
        ],
        columns=["run", "method", "value"],
    ).assign(metric="aurc", test_set="union")  # fmt: skip

    def test_ours_is_taken_run_by_run(self, texts):
        """Bars are means over runs of the improvement within the run, by hand."""
        ax = figures.improvement(self.table, self.printed.iloc[:0], methods=METHODS)
        assert texts(ax.get_yticklabels()) == ["CRL", "Deep Ensemble"]
        assert [bar.get_width() for bar in ax.patches] == pytest.approx([2.5, 50])
        crl = [line.get_xdata()[0] for line in ax.lines[:2]]
        assert crl == pytest.approx([25, -20])
        assert texts(ax.get_legend()) == ["ours, mean", "ours, each run"]

    def test_the_papers_numbers_stand_beside_ours(self, texts):
        """Each data set of the paper has a marker of its own, in the rows of its methods."""
        ax = figures.improvement(self.table, self.printed, methods=METHODS)
        names = ["ours, mean", "ours, each run", "paper, CIFAR-40", "paper, ImageNet-200"]
        assert texts(ax.get_legend()) == names
        assert [label.get_text() for label in ax.get_yticklabels()][-1] == "ODIN"  # the paper's
        cifar = ax.lines[2]
        assert cifar.get_xdata()[1] == pytest.approx(100 * (735.50 - 693.49) / 735.50)
        assert cifar.get_marker() != ax.lines[3].get_marker()

    def test_bad_input(self):
        """No baseline, numbers that are there twice and a missing column are named."""
        for table, message in (
            (self.table[self.table["method"] != "baseline"], "no aurc of baseline"),
            (pd.concat([self.table, self.table]), "several aurc of one method and run"),
            (self.table.drop(columns="run"), "no column run"),
        ):
            with pytest.raises(ValueError, match=message):
                figures.improvement(table, self.printed, methods=METHODS)
