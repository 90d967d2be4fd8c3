import pytest

from helpers.data.hypernyms import Hypernyms
from helpers.report.figures import wordnet_tree

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
    ax = wordnet_tree(GRAPH, roles={})
    (plane,) = (row for row in rows(ax) if row.startswith("plane"))
    assert plane in ("plane (also below edge tool)", "plane (also below hand tool)")
    deeper = Hypernyms({"a": (), "b": ("a",), "c": ("a",), "d": ("c",), "e": ("b", "d")})
    assert rows(wordnet_tree(deeper, roles={}))[-1] == "e (also below b)"


def test_roles_differ_by_shape_and_by_colour(texts):
    """The legend has each role that is shown, and no two look alike in black and white."""
    ax = wordnet_tree(GRAPH, roles=ROLES)
    named = texts(ax.get_legend())
    assert named == ["in-distribution", "near candidate", "removed", "no class"]
    handles = ax.get_legend().legend_handles
    assert len({line.get_marker() for line in handles}) == 4
    assert len({line.get_color() for line in handles}) == 4
    shown = {row.split(" (")[0]: line for row, line in zip(rows(ax), markers(ax), strict=True)}
    for node, role in ROLES.items():
        assert shown[node].get_marker() == handles[named.index(role)].get_marker()
    assert shown["tool"].get_marker() == handles[-1].get_marker()


def test_the_text_is_inside_the_figure():
    """A long name makes the picture wider, and is not cut off."""
    name = "a long name of a node " * 5
    ax = wordnet_tree(Hypernyms({"a": (), "b": ("a",)}, names={"b": (name,)}), roles={})
    ax.figure.canvas.draw()
    box = ax.texts[-1].get_window_extent()
    assert 0 <= box.x0 and box.x1 <= ax.figure.bbox.x1
    assert ax.texts[-1].get_fontsize() >= 9
    assert wordnet_tree(GRAPH, roles={}).figure.get_figwidth() == 6


def test_bad_input():
    """An empty graph, a role that there is not, and a role of what is no node."""
    with pytest.raises(ValueError, match="graph: empty"):
        wordnet_tree(Hypernyms({}), roles={})
    with pytest.raises(ValueError, match="unknown role 'near'; did you mean 'near candidate'"):
        wordnet_tree(GRAPH, roles={"knife": "near"})
    with pytest.raises(ValueError, match="node: 'saw' is none of the 6"):
        wordnet_tree(GRAPH, roles={"saw": "removed"})
