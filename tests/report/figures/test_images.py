import numpy as np
import pytest
from matplotlib.patches import Rectangle

from helpers.report import figures


class TestContactSheet:
    images = np.arange(6 * 4 * 4 * 3, dtype=np.uint8).reshape(6, 4, 4, 3)
    labels = np.array([2, 0, 2, 1, 2, 0])
    names = ("cat", "dog", "ship", "never seen")

    def test_a_row_for_each_class(self, texts):
        ax = figures.contact_sheet(self.images, self.labels, self.names, columns=2)
        assert texts(ax.get_yticklabels()) == ["cat", "dog", "ship"]
        sheet = ax.images[0].get_array()
        assert sheet.shape == (3 * 5, 2 * 5, 3)
        assert (sheet[10:14, :4] == self.images[0]).all()  # first ship
        assert (sheet[10:14, 5:9] == self.images[2]).all()  # second, and no third
        assert (sheet[5:9, 5:9] == 255).all()  # there is one dog
        assert not [patch for patch in ax.patches if isinstance(patch, Rectangle)]

    def test_known_classes_first_and_both_groups_framed(self, texts):
        ax = figures.contact_sheet(self.images, self.labels, self.names, known={2, 1})
        assert texts(ax.get_yticklabels()) == ["dog", "ship", "cat"]
        assert texts(ax.get_legend()) == ["known", "unknown"]
        assert [patch.get_linestyle() for patch in ax.patches] == ["-", "--"]
        only = figures.contact_sheet(self.images, self.labels, self.names, known={0, 1, 2})
        assert texts(only.get_legend()) == ["known"]

    def test_bad_input(self):
        with pytest.raises(ValueError, match="images: uint8"):
            figures.contact_sheet(self.images / 255, self.labels, self.names)
        with pytest.raises(ValueError, match="labels: 6 expected"):
            figures.contact_sheet(self.images, self.labels[:3], self.names)
        for wrong in (self.labels - 1, self.labels + 2):
            with pytest.raises(ValueError, match="labels: 0 to 3"):
                figures.contact_sheet(self.images, wrong, self.names)


class TestResizePairs:
    small = np.arange(2 * 3 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3, 3)
    large = (np.zeros((8, 6, 3), np.uint8), np.zeros((9, 9, 3), np.uint8))

    def test_a_row_for_each_version_with_its_pixels(self):
        """Every image is shown whole, as it is, in the row of its version."""
        axes = figures.resize_pairs({"original": self.large, "unfixed": self.small})
        assert axes.shape == (2, 2)
        assert [row[0].get_ylabel() for row in axes] == ["original", "unfixed"]
        assert (axes[1, 1].images[0].get_array() == self.small[1]).all()
        assert axes[0, 0].images[0].get_array().shape == (8, 6, 3)
        assert {ax.images[0].get_interpolation() for ax in axes.flat} == {"nearest"}

    def test_bad_input(self):
        """Versions of different lengths, none at all and no images are refused."""
        with pytest.raises(ValueError, match=r"as many images in each .*'a': 2, 'b': 1"):
            figures.resize_pairs({"a": self.small, "b": self.small[:1]})
        with pytest.raises(ValueError, match="versions: as many images"):
            figures.resize_pairs({})
        with pytest.raises(ValueError, match="a: uint8"):
            figures.resize_pairs({"a": self.small / 255})
