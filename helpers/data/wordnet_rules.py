"""The rules by which the unified benchmark for unknown detection makes its class lists.

Kim, Koo and Hwang (2023) define which classes are near-OOD, which are external, and which overlap
with classes that a network has learned.  Classes are nodes of a graph of hypernyms, in practice
wnids; far-OOD classes are names.  `helpers.papers.unknown_detection.class_roles` applies the
rules to the paper's data sets.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from helpers.data import wordnet
from helpers.data.hypernyms import Hypernyms

#: The abbreviation in the paper's table 4.
ABBREVIATIONS = {"chimp": "chimpanzee"}

_SHORTEST_PART = 3  # letters; "t" of "t-shirt" is thymine to WordNet
_SHORTEST_HEAD = 4  # of the second half of a split word; with 3 a garden has to do with a gar


class Cover(NamedTuple):
    """Reason why a class overlaps with others: it is one of them, or is below one of them."""

    by: str
    relation: str  # "same" or "descendant"


class Overlap(NamedTuple):
    """A rule that removes a far-OOD class, and the matching keyword, node and class."""

    rule: str  # "i", "ii" or "iii", as in the paper
    keyword: str
    #: Node that the keyword names.
    node: str
    #: Class that is the node, its sibling (or below that), or above or below it.
    known: str


def find_covered(classes: Iterable[str], by: Collection[str], graph: Hypernyms) -> dict[str, Cover]:
    """Find the classes that are equal to or below one of the classes `by`.

    This removes classes of Tiny ImageNet from the external set of CIFAR-100.

    Examples
    --------
    >>> graph = Hypernyms({"bus": (), "school bus": ("bus",), "bee": ()})
    >>> find_covered(["school bus", "bee"], ["bus", "bee"], graph)["school bus"]
    Cover(by='bus', relation='descendant')
    """
    covers = {}
    for name in classes:
        above = graph.ancestors(name)
        hits = [other for other in by if other == name or other in above]
        if hits:
            nearest = max(hits, key=lambda hit: (hit == name, len(graph.ancestors(hit))))
            covers[name] = Cover(nearest, "same" if nearest == name else "descendant")
    return covers


def near_candidates(
    known: Collection[str], classes: Iterable[str], graph: Hypernyms
) -> dict[str, tuple[str, ...]]:
    """Find the candidates for near-OOD: classes below a parent of an in-distribution class.

    All parents and all depths below them count.

    Examples
    --------
    >>> graph = Hypernyms({"tool": (), "plunger": ("tool",), "opener": ("tool",), "bee": (),
    ...                    "can opener": ("opener",)})
    >>> near_candidates(["plunger"], ["plunger", "can opener", "bee"], graph)
    {'can opener': ('tool',)}
    """
    parents: dict[str, None] = {}
    for node in known:
        parents |= dict.fromkeys(graph.parents[node])
    candidates = {}
    for name in classes:
        below = tuple(parent for parent in parents if parent in graph.ancestors(name))
        if below and name not in known:
            candidates[name] = below
    return candidates


def external_classes(
    known: Collection[str], candidates: Collection[str], classes: Iterable[str]
) -> tuple[str, ...]:
    """Return the classes that are neither in-distribution nor candidates for near-OOD.

    Examples
    --------
    >>> external_classes(["plunger"], {"can opener": ("tool",)}, ["bee", "plunger", "can opener"])
    ('bee',)
    """
    return tuple(name for name in classes if name not in known and name not in candidates)


def draw_near(candidates: Iterable[str], count: int, *, seed: int) -> tuple[str, ...]:
    """Draw the near-OOD classes from the candidates; the remaining candidates have no role.

    Examples
    --------
    >>> draw_near("abcdef", 3, seed=0)
    ('d', 'e', 'f')
    """
    candidates = list(candidates)
    if not 0 <= count <= len(candidates):
        raise ValueError(f"count: 0 to {len(candidates)} candidates expected, got {count}")
    positions = np.random.default_rng(seed).choice(len(candidates), count, replace=False)
    return tuple(candidates[index] for index in np.sort(positions))


def named_nodes(names: Iterable[str], graph: Hypernyms) -> dict[str, str]:
    """Find the far-OOD classes whose name a node of the graph has; CIFAR's rule removes them.

    Examples
    --------
    >>> graph = Hypernyms({"structure": (), "bridge": ("structure",)})
    >>> named_nodes(["bridge", "dining_room"], graph)
    {'bridge': 'bridge'}
    """
    nodes = {name: graph.find(name) for name in names}
    return {name: same[0] for name, same in nodes.items() if same}


def overlaps(
    keywords: Iterable[str], classes: Collection[str], graph: Hypernyms
) -> tuple[Overlap, ...]:
    """Apply the paper's three rules that remove a far-OOD class relative to ImageNet.

    Examples
    --------
    >>> graph = Hypernyms({"tool": (), "knife": ("tool",), "cleaver": ("knife",), "saw": ("tool",)})
    >>> overlaps(["army", "knife"], ["cleaver"], graph)
    (Overlap(rule='iii', keyword='knife', node='knife', known='cleaver'),)
    >>> overlaps(["saw"], ["cleaver"], graph)
    (Overlap(rule='ii', keyword='saw', node='saw', known='cleaver'),)
    """
    classes = frozenset(classes)
    by_rule: dict[str, Overlap] = {}
    for keyword in keywords:
        for node in graph.find(keyword):
            siblings = set(graph.siblings(node))
            siblings = siblings.union(*map(graph.descendants, siblings))
            for rule, nodes in (
                ("i", {node}),
                ("ii", siblings),
                ("iii", graph.ancestors(node) | graph.descendants(node)),
            ):
                hits = classes & nodes
                if hits and rule not in by_rule:
                    by_rule[rule] = Overlap(rule, keyword, node, min(hits))
    return tuple(by_rule[rule] for rule in sorted(by_rule))


def keywords(name: str) -> dict[str, str]:
    """Return the keywords of a class name: its parts, with all their spellings.

    The variants are listed in the paper's table 4.

    Examples
    --------
    >>> list(keywords("hot_dogs"))
    ['hot dogs', 'hotdogs', 'hot dog', 'hotdog', 'hot', 'hots', 'dogs', 'dog']
    >>> keywords("barndoor")["barn door"]
    'split'
    >>> keywords("038.chimp")["chimpanzee"]
    'abbreviation'
    """
    plain = re.sub(r"^\d{3}\.|-101$|/(in|out)door$", "", name.lower())
    words = [word for word in re.split(r"[\s_/-]+", plain) if word]
    if not words:
        raise ValueError(f"name: at least one word expected, got {name!r}")
    origins: dict[str, str] = {}
    for keyword, origin in _variants(words):
        origins.setdefault(keyword, origin)
    for word in words:
        for halves in _halves(word):
            for keyword, _ in _variants(halves):
                origins.setdefault(keyword, "split")
        if word in ABBREVIATIONS:
            origins.setdefault(ABBREVIATIONS[word], "abbreviation")
    return origins


def _variants(words: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Yield the keywords of words that belong together, the longest first, and their origins."""
    for length in range(len(words), 0, -1):
        for start in range(len(words) - length + 1):
            run = words[start : start + length]
            whole = length == len(words)
            if not whole and len(run[0]) < _SHORTEST_PART:
                continue
            singular = [_singular(word) for word in run]
            plural = [*singular[:-1], _plural(singular[-1])]
            spellings = [(run, "name" if whole else "part"), (singular, "singular")]
            spellings += [(plural, "plural")] if length == 1 else []
            for spelt, origin in spellings:
                yield " ".join(spelt), origin
                if length > 1:
                    yield "".join(spelt), "joined"
            if length > 1 and run[0] != singular[0]:
                yield " ".join([f"{singular[0]}'s", *run[1:]]), "possessive"


def _halves(word: str) -> Iterable[tuple[str, str]]:
    for end in range(_SHORTEST_PART, len(word) - _SHORTEST_HEAD + 1):
        halves = word[:end], word[end:]
        if all(wordnet.knows(half) or wordnet.knows(_singular(half)) for half in halves):
            yield halves


def _singular(word: str) -> str:
    """Return the singular by its ending, for names of classes: no irregular one is among them."""
    for plural, singular in (("ies", "y"), ("ches", "ch"), ("shes", "sh"), ("xes", "x")):
        if word.endswith(plural):
            return word.removesuffix(plural) + singular
    ends_alike = len(word) <= 3 or word.endswith(("ss", "us", "is"))  # gas, glass, bus, iris
    return word if ends_alike or not word.endswith("s") else word[:-1]


def _plural(word: str) -> str:
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")
