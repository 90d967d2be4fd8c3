"""Graph of classes and their hypernyms, for the rules that make class lists."""

from __future__ import annotations

import functools
import graphlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from helpers import cache
from helpers.data import wordnet


@dataclass(frozen=True)
class Hypernyms:
    """Nodes and their direct hypernyms: a tree, except that a node may have several parents.

    Attributes
    ----------
    parents : mapping of str to tuple of str
        Parents of every node; empty for a root.
    names : mapping of str to tuple of str
        Names of each node, its usual name first.  A node without an entry has its identifier as
        its name.

    Examples
    --------
    >>> graph = Hypernyms({"tool": (), "knife": ("tool",), "cleaver": ("knife",), "saw": ("tool",)})
    >>> sorted(graph.ancestors("cleaver")), sorted(graph.descendants("tool"))
    (['knife', 'tool'], ['cleaver', 'knife', 'saw'])
    >>> graph.siblings("knife")
    ('saw',)
    """

    parents: Mapping[str, tuple[str, ...]]
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self):
        for node, parents in self.parents.items():
            for parent in parents:
                if parent not in self.parents:
                    raise ValueError(f"parents: '{parent}', above '{node}', is no node itself")
        try:
            graphlib.TopologicalSorter(self.parents).prepare()
        except graphlib.CycleError as error:
            raise ValueError(f"parents: a cycle, {' < '.join(error.args[1])}") from error

    @classmethod
    def span(cls, wnids: Iterable[str]) -> Hypernyms:
        """Return the part of WordNet that classes span: their nouns and all ancestors of them.

        Instances ("Eiffel Tower") are children of their kind.  The given nouns are first in the
        graph, in their order.  The cache keeps the result: NLTK takes seconds to open WordNet.

        Examples
        --------
        >>> graph = Hypernyms.span(["n02437136"])
        >>> [graph.name(node) for node in graph.parents["n02437136"]], len(graph.parents)
        (['even-toed ungulate'], 14)
        """
        first = list(wnids)
        key = cache.key(wnids=first, code=_CODE)  # the code includes the version of WordNet
        stored = cache.value("hypernyms", key, functools.partial(_span, first))
        parents, names = stored
        return cls(_tuples(parents), _tuples(names))

    def ancestors(self, node: str) -> frozenset[str]:
        """Return all nodes above `node`, through any of its parents."""
        return self._above[self._check(node)]

    def descendants(self, node: str) -> frozenset[str]:
        """Return all nodes below `node`."""
        return self._below[self._check(node)]

    def children(self, node: str) -> tuple[str, ...]:
        """Return the nodes directly below `node`."""
        return self._children[self._check(node)]

    def siblings(self, node: str) -> tuple[str, ...]:
        """Return the other children of the parents of `node`."""
        children: dict[str, None] = {}
        for parent in self.parents[self._check(node)]:
            children |= dict.fromkeys(self._children[parent])
        return tuple(child for child in children if child != node)

    def name(self, node: str) -> str:
        """Return what `node` is usually called."""
        return self.names.get(self._check(node), (node,))[0]

    def find(self, name: str) -> tuple[str, ...]:
        """Return the nodes that are called `name`, in any spelling of `helpers.data.wordnet`."""
        return self._by_name.get(wordnet.spelling(name), ())

    def _check(self, node: str) -> str:
        if node not in self.parents:
            raise ValueError(f"node: '{node}' is none of the {len(self.parents)} of this graph")
        return node

    @functools.cached_property
    def _from_above(self) -> tuple[str, ...]:
        return tuple(graphlib.TopologicalSorter(self.parents).static_order())

    @functools.cached_property
    def _children(self) -> dict[str, tuple[str, ...]]:
        children: dict[str, list[str]] = {node: [] for node in self.parents}
        for node, parents in self.parents.items():
            for parent in parents:
                children[parent].append(node)
        return {node: tuple(below) for node, below in children.items()}

    @functools.cached_property
    def _above(self) -> dict[str, frozenset[str]]:
        above: dict[str, frozenset[str]] = {}
        for node in self._from_above:
            parents = self.parents[node]
            above[node] = frozenset(parents).union(*map(above.__getitem__, parents))
        return above

    @functools.cached_property
    def _below(self) -> dict[str, frozenset[str]]:
        below: dict[str, frozenset[str]] = {}
        for node in reversed(self._from_above):
            children = self._children[node]
            below[node] = frozenset(children).union(*map(below.__getitem__, children))
        return below

    @functools.cached_property
    def _by_name(self) -> dict[str, tuple[str, ...]]:
        named: dict[str, dict[str, None]] = {}
        for node in self.parents:
            for name in self.names.get(node, (node,)):
                named.setdefault(wordnet.spelling(name), {})[node] = None
        return {name: tuple(nodes) for name, nodes in named.items()}


def _tuples(lists: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    return {node: tuple(values) for node, values in lists.items()}


def _span(wnids: Sequence[str]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the parents and the names of the nouns of WordNet that classes span."""
    parents: dict[str, list[str]] = {}
    names: dict[str, list[str]] = {}
    level = list(wnids)
    while level:
        for wnid in level:
            synset = wordnet.noun(wnid)
            above = synset.hypernyms() + synset.instance_hypernyms()
            parents[wnid] = [wordnet.wnid(hypernym) for hypernym in above]
            names[wnid] = [name.replace("_", " ") for name in synset.lemma_names()]
        next_level: list[str] = []
        for wnid in level:
            next_level += [above for above in parents[wnid] if above not in parents]
        level = next_level
    return parents, names


_CODE = cache.code(f"{__name__}._span")
