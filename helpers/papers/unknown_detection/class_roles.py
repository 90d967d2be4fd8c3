"""Results of the rules of `helpers.data.wordnet_rules` for the paper's own data sets.

No image is needed: this package contains the class lists and WordNet.  The paper reports how many
classes each rule leaves, but no list; `counts` compares our counts with the paper's.
"""

from __future__ import annotations

import functools
import itertools

import pandas as pd

from helpers.checks import known_name
from helpers.data import class_lists, wordnet
from helpers.data.hypernyms import Hypernyms
from helpers.data.wordnet_rules import (
    draw_near,
    external_classes,
    find_covered,
    keywords,
    named_nodes,
    near_candidates,
    overlaps,
)

FAR_SETS = {"food101": "Food-101", "caltech256": "Caltech-256", "places365": "Places365"}
#: Counts of the paper's section 3.  The paper omits the candidates: 1000 minus 200 and 394.
PAPER = {
    "Tiny ImageNet, removed": 42,
    "Tiny ImageNet, external": 158,
    "LSUN, removed": 0,
    "ImageNet, near candidates": 406,
    "ImageNet, external": 394,
    "Food-101, left": 32,
    "Caltech-256, left": 45,
    "Places365, left": 82,
}


def tiny_imagenet() -> pd.DataFrame:
    """Return which classes of Tiny ImageNet are external to CIFAR-100, and why others are not.

    Examples
    --------
    >>> table = tiny_imagenet().set_index("name")
    >>> table.loc["bullet train"].tolist()
    ['n02917067', 'removed', 'train', 'descendant']
    """
    classes = class_lists.wnids_of("tiny_imagenet")
    by = class_lists.wnids_of("cifar100")
    hits = find_covered(classes, by, Hypernyms.span([*classes, *by]))
    rows = []
    for wnid, name in classes.items():
        if wnid in hits:
            hit = hits[wnid]
            rows.append((wnid, name, "removed", by[hit.by], hit.relation))
        else:
            rows.append((wnid, name, "external", "", ""))
    return pd.DataFrame(rows, columns=["wnid", "name", "role", "by", "relation"])


def imagenet(*, seed: int = 0) -> pd.DataFrame:
    """Return the role of each class of ImageNet if Tiny ImageNet's classes are in-distribution.

    Examples
    --------
    >>> imagenet().groupby("role").size().to_dict()
    {'external': 395, 'in-distribution': 200, 'near': 200, 'not drawn': 205}
    """
    classes = class_lists.wnids_of("imagenet")
    graph = _imagenet_graph()
    known = class_lists.wnids_of("tiny_imagenet")
    candidates = near_candidates(known, classes, graph)
    roles = dict.fromkeys(known, "in-distribution") | dict.fromkeys(candidates, "not drawn")
    roles |= dict.fromkeys(draw_near(candidates, 200, seed=seed), "near")
    roles |= dict.fromkeys(external_classes(known, candidates, classes), "external")
    rows = []
    for wnid, name in classes.items():
        below = sorted(candidates.get(wnid, ()), key=lambda node: len(graph.descendants(node)))
        rows.append((wnid, name, roles[wnid], ", ".join(map(graph.name, below))))
    return pd.DataFrame(rows, columns=["wnid", "name", "role", "below"])


def far(data_set: str) -> pd.DataFrame:
    """Return the role of each class relative to ImageNet, far-OOD or removed, and the reason.

    A keyword matches any noun of WordNet, in any of its senses.

    Examples
    --------
    >>> far("caltech256").set_index("name").loc["208.swiss-army-knife"].tolist()
    ['removed', 'ii, iii', 'knife', 'part', 'knife', 'cleaver']
    """
    known_name("data set", data_set, FAR_SETS)
    classes = class_lists.wnids_of("imagenet")
    spelt = {name: keywords(name) for name in class_lists.names_of(data_set)}
    nodes = dict.fromkeys(classes)
    for word in itertools.chain.from_iterable(spelt.values()):
        if wordnet.knows(word):
            nodes |= dict.fromkeys(map(wordnet.wnid, wordnet.nouns(word)))
    graph = Hypernyms.span(nodes)
    rows = []
    for name, origins in spelt.items():
        hits = overlaps(origins, classes, graph)
        row = {"name": name, "role": "far"}
        if hits:
            hit = min(hits, key=lambda hit: hit.rule == "ii")  # a sibling convinces least
            row |= {
                "role": "removed",
                "rules": ", ".join(hit.rule for hit in hits),
                "keyword": hit.keyword,
                "origin": origins[hit.keyword],
                "node": graph.name(hit.node),
                "known": graph.name(hit.known),
            }
        rows.append(row)
    columns = ["name", "role", "rules", "keyword", "origin", "node", "known"]
    return pd.DataFrame(rows, columns=columns).fillna("")


def counts() -> pd.DataFrame:
    """Return how many classes each rule leaves or removes, next to the paper's counts.

    The notebook ``unknown_detection/dataset`` shows the table.
    """
    tiny = tiny_imagenet()["role"].value_counts()
    photographs = imagenet()["role"].value_counts()
    spanned = Hypernyms.span(class_lists.wnids_of("cifar100"))
    ours = {
        "Tiny ImageNet, removed": tiny["removed"],
        "Tiny ImageNet, external": tiny["external"],
        "LSUN, removed": len(named_nodes(class_lists.names_of("lsun"), spanned)),
        "ImageNet, near candidates": photographs["near"] + photographs["not drawn"],
        "ImageNet, external": photographs["external"],
    }
    for data_set, title in FAR_SETS.items():
        ours[f"{title}, left"] = (far(data_set)["role"] == "far").sum()
    return pd.DataFrame({"ours": ours, "paper": PAPER}).rename_axis("classes")


@functools.cache
def _imagenet_graph() -> Hypernyms:
    return Hypernyms.span(class_lists.wnids_of("imagenet"))
