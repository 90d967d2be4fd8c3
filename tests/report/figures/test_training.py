import pandas as pd
import pytest

from helpers.report import figures


def test_learning_curves(texts):
    table = pd.DataFrame({"epoch": [1, 2], "loss": [2.0, 1.0], "accuracy": [0.2, 0.5]})
    loss, accuracy = figures.learning_curves(table)
    assert loss.lines[0].get_ydata().tolist() == [2.0, 1.0]
    assert accuracy.lines[0].get_ydata().tolist() == [0.2, 0.5]
    both = pd.concat([table.assign(network="a"), table.assign(network="b")])
    axes = figures.learning_curves(both)
    assert [len(ax.lines) for ax in axes] == [2, 2]
    assert texts(axes[1].get_legend()) == ["a", "b"]
    with pytest.raises(ValueError, match="no column loss"):
        figures.learning_curves(table.drop(columns="loss"))
    with pytest.raises(ValueError, match="empty"):
        figures.learning_curves(table.iloc[:0])
