import matplotlib.pyplot as plt
import numpy as np
import pytest

from helpers.data.hypernyms import Hypernyms
from helpers.papers.uimnet.imagenot import partition
from helpers.report.figures.trees import class_dendrogram, wordnet_tree

GRAPH = Hypernyms(
    {
        "tool": (),
        "hand tool": ("tool",),
        "edge tool": ("tool",),
        "knife": ("edge tool",),
        "plane": ("hand tool", "edge tool"),
        "plunger": ("hand tool",),
    },
    names={"knife": ("knife", "blade")},
)
ROLES = {"plunger": "in-distribution", "plane": "near candidate", "knife": "removed"}


def rows(ax):
    return [text.get_text() for text in ax.texts]


def markers(ax):
    return [line for line in ax.lines if len(line.get_xdata()) == 1]


def test_a_row_for_each_node_below_its_parent():
    """Each node is written once, a step to the right of the one above it, top to bottom."""
    ax = wordnet_tree(GRAPH, roles=ROLES)
    assert sorted(row.split(" (")[0] for row in rows(ax)) == sorted(GRAPH.parents)
    places = dict(zip(rows(ax), (text.get_position() for text in ax.texts), strict=True))
    assert next(iter(places)) == "tool"
    heights = [y for _, y in places.values()]
    assert heights == sorted(heights, reverse=True) and len(set(heights)) == len(heights)
    step = places["hand tool"][0] - places["tool"][0]
    assert step > 0
    assert places["knife"][0] == pytest.approx(places["edge tool"][0] + step)


def test_a_second_parent_is_named():
    """The plane stands under one of its parents and says the other."""
    ax = wordnet_tree(GRAPH)
    (plane,) = (row for row in rows(ax) if row.startswith("plane"))
    assert plane in ("plane (also below edge tool)", "plane (also below hand tool)")
    deeper = Hypernyms({"a": (), "b": ("a",), "c": ("a",), "d": ("c",), "e": ("b", "d")})
    assert rows(wordnet_tree(deeper))[-1] == "e (also below b)"


def test_roles_differ_by_shape_and_by_colour():
    """The legend has each role that is shown, and no two look alike in black and white."""
    ax = wordnet_tree(GRAPH, roles=ROLES)
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert named == ["in-distribution", "near candidate", "removed", "no class"]
    handles = ax.get_legend().legend_handles
    assert len({line.get_marker() for line in handles}) == 4
    assert len({line.get_color() for line in handles}) == 4
    shown = {row.split(" (")[0]: line for row, line in zip(rows(ax), markers(ax), strict=True)}
    for node, role in ROLES.items():
        assert shown[node].get_marker() == handles[named.index(role)].get_marker()
    assert shown["tool"].get_marker() == handles[-1].get_marker()


def test_it_draws_where_it_is_told():
    """On a given Axes, and without a legend for what is not there."""
    ax = plt.subplots()[1]
    assert wordnet_tree(GRAPH, roles=dict.fromkeys(GRAPH.parents, "external"), ax=ax) is ax
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["external"]


def test_the_text_is_inside_the_figure():
    """A long name makes the picture wider, and is not cut off."""
    name = "a long name of a node " * 5
    ax = wordnet_tree(Hypernyms({"a": (), "b": ("a",)}, names={"b": (name,)}))
    ax.figure.canvas.draw()
    box = ax.texts[-1].get_window_extent()
    assert 0 <= box.x0 and box.x1 <= ax.figure.bbox.x1
    assert ax.texts[-1].get_fontsize() >= 9
    assert wordnet_tree(GRAPH).figure.get_figwidth() == 6


def test_bad_input():
    """An empty graph, a role that there is not, and a role of what is no node."""
    with pytest.raises(ValueError, match="graph: empty"):
        wordnet_tree(Hypernyms({}))
    with pytest.raises(ValueError, match="unknown role 'near'; did you mean 'near candidate'"):
        wordnet_tree(GRAPH, roles={"knife": "near"})
    with pytest.raises(ValueError, match="node: 'saw' is none of the 6"):
        wordnet_tree(GRAPH, roles={"saw": "removed"})


def test_a_dendrogram_has_the_left_branch_on_top():
    """Classes stand in the order of the merges, marked by what they are; two branches, a root."""
    means = np.array([[0.0], [1], [20], [21], [2], [3], [4]])
    found = partition(means, list("abcdefg"))
    ax = class_dendrogram(found, words={"c": "cow"})
    named = [label.get_text() for label in ax.get_yticklabels()]
    assert set(named[:2]) == {"cow", "d"} and set(named[2:]) == set("abefg")
    marked = {one.get_label(): one for one in ax.lines if one.get_linestyle() == "None"}
    rows = {label: {named[int(row)] for row in one.get_ydata()} for label, one in marked.items()}
    expected = {"in-domain": {"cow", "d"}, "out-domain": {"a", "b"}, "not taken": {"e", "f", "g"}}
    assert rows == expected
    for look in ("get_marker", "get_color"):
        assert len({getattr(one, look)() for one in marked.values()}) == 3
    links = [one for one in ax.lines if one.get_linestyle() != "None"]
    assert [one.get_linestyle() for one in links].count("--") == 4 and len(links) == 6
    (root,) = (one for one in links if max(one.get_xdata()) == found.linkage[-1, 2])
    assert ax.get_xlim()[0] > max(root.get_xdata()) and ax.get_xlim()[1] == 0
    assert root.get_color() not in {one.get_color() for one in links if one is not root}


def test_names_of_many_classes_are_left_out():
    """But not their marks; and it draws where it is told."""
    means = np.random.default_rng(0).normal(size=(70, 3))
    ax = plt.subplots()[1]
    found = partition(means, [str(one) for one in range(70)])
    assert class_dendrogram(found, ax=ax) is ax
    assert not ax.get_yticklabels()
    assert sum(len(one.get_xdata()) for one in ax.lines if one.get_linestyle() == "None") == 70
