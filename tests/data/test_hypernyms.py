"""The graph of hypernyms: what is above, below and beside, on small graphs and on WordNet."""

import numpy as np
import pytest

from helpers.data.hypernyms import Hypernyms

DIAMOND = Hypernyms(
    {
        "thing": (),
        "tool": ("thing",),
        "vehicle": ("thing",),
        "tractor": ("tool", "vehicle"),
        "lawn tractor": ("tractor",),
        "hammer": ("tool",),
    },
    names={"hammer": ("hammer", "Claw-hammer")},
)


def random_graph(seed, size=25):
    """Return a graph in which each node has up to three parents among those before it."""
    generator = np.random.default_rng(seed)
    parents = {}
    for node in range(size):
        count = min(node, int(generator.integers(0, 4)))
        parents[str(node)] = tuple(map(str, generator.choice(node, count, replace=False)))
    return Hypernyms(parents)


@pytest.mark.parametrize("seed", range(5))
def test_above_and_below_are_one_relation(seed):
    """Ancestors are those that have the node below them; siblings share a parent."""
    graph = random_graph(seed)
    for node in graph.parents:
        above = {other for other in graph.parents if node in graph.descendants(other)}
        assert graph.ancestors(node) == above
        reached = set(graph.parents[node]).union(*map(graph.ancestors, graph.parents[node]))
        assert graph.ancestors(node) == reached
        beside = {
            other
            for other in graph.parents
            if other != node and set(graph.parents[other]) & set(graph.parents[node])
        }
        assert set(graph.siblings(node)) == beside


def test_mistakes_are_refused():
    """A parent that is no node, a cycle, and a question about what is no node."""
    with pytest.raises(ValueError, match="parents: 'tool', above 'hammer', is no node"):
        Hypernyms({"hammer": ("tool",)})
    with pytest.raises(ValueError, match="parents: a cycle"):
        Hypernyms({"a": ("b",), "b": ("a",)})
    for ask in (DIAMOND.ancestors, DIAMOND.descendants, DIAMOND.siblings, DIAMOND.name):
        with pytest.raises(ValueError, match="node: 'saw' is none of the 6"):
            ask("saw")
    with pytest.raises(ValueError, match="node: 'saw'"):
        DIAMOND.prune(["hammer", "saw"])


def test_pruned_by_hand():
    """Chains become one line, trunks go, and where lines meet stays."""
    assert DIAMOND.prune(["lawn tractor", "hammer"]).parents == {
        "tool": (),
        "hammer": ("tool",),
        "lawn tractor": ("tool",),
    }
    both = DIAMOND.prune(["tool", "vehicle", "lawn tractor"])
    assert set(both.parents["lawn tractor"]) == {"tool", "vehicle"}
    assert DIAMOND.prune(["lawn tractor"]).parents == {"lawn tractor": ()}
    assert DIAMOND.prune([]).parents == {}
    assert DIAMOND.prune(["hammer"]).find("claw hammer") == ("hammer",)


@pytest.mark.parametrize("seed", range(20))
def test_pruned_keeps_what_lies_below_what(seed):
    """Of nodes that stay, the same are above; what was not asked for branches; no line is twice."""
    graph = random_graph(seed)
    keep = np.random.default_rng(seed).choice(25, 6, replace=False).astype(str).tolist()
    small = graph.prune(keep)
    assert set(keep) <= set(small.parents)
    for node, parents in small.parents.items():
        assert small.ancestors(node) == graph.ancestors(node) & set(small.parents)
        assert node in keep or len(small.children(node)) > 1
        assert not any(one in small.ancestors(other) for one in parents for other in parents)
