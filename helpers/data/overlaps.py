"""Overlaps of classes and images between data sets of different roles."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from helpers.data import Images, class_lists, wordnet, wordnet_rules
from helpers.data.hypernyms import Hypernyms


def find(images: Images, data_set: str, external: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the classes that overlap with classes of a data set, or with external classes.

    A class named by a wnid overlaps if it is one of the other classes or is below one in WordNet;
    `ValueError` if the nouns of the data set's classes are not known.  A class with any other name
    overlaps if a node that the data set spans has this name; without known nouns, no class does.
    """
    known = class_lists.wnids_of(data_set)
    if _are_wnids(images.class_names):
        if not known:
            raise ValueError(
                f"data set '{images.name}': no rule can decide whether its classes overlap with "
                f"the classes of '{data_set}', since the nouns of '{data_set}' are not known"
            )
        others = [*known] + [name for name in external if _are_wnids([name])]
        graph = Hypernyms.span([*images.class_names, *others])
        hit = set(wordnet_rules.find_covered(images.class_names, others, graph))
    elif known:
        hit = set(wordnet_rules.named_nodes(images.class_names, Hypernyms.span(known)))
    else:
        hit = set()
    return tuple(name for name in images.class_names if name in hit)


def find_related(images: Images, data_set: str) -> tuple[str, ...]:
    """Return the classes that are equal to, below or above a class of a data set in WordNet.

    An image of a class above may show the class below: some of CIFAR-10's trucks are pickup trucks,
    a class of CIFAR-100.
    """
    nouns = class_lists.wnids_of(images.name)
    classes = class_lists.wnids_of(data_set)
    if _are_wnids(images.class_names):
        nouns = dict(zip(images.class_names, images.class_names, strict=True))
    all_known = set(images.class_names) <= {*nouns.values()}
    for name, known in ((images.name, all_known), (data_set, classes)):
        if not known:
            raise ValueError(
                f"data set '{name}': no rule can decide which classes '{images.name}' and "
                f"'{data_set}' share, since the nouns of its classes are not known"
            )
    graph = Hypernyms.span([*nouns, *classes])
    hit = {nouns[wnid] for wnid in wordnet_rules.find_covered(nouns, classes, graph)}
    above = set().union(*map(graph.ancestors, classes))
    hit |= {name for wnid, name in nouns.items() if wnid in above}
    return tuple(name for name in images.class_names if name in hit)


def check_names(images: Images, *, nouns: bool) -> None:
    """Refuse class names for which no rule can decide whether they overlap with others.

    The code refuses a mixture of wnids and other names and, with `nouns`, other names that are not
    nouns in WordNet: such classes would be treated as classes without overlaps.
    """
    named = [name for name in images.class_names if not _are_wnids([name])]
    odd = named if len(named) < len(images.class_names) else []
    if nouns:
        odd = odd or [name for name in named if not wordnet.knows(name)]
    if odd:
        raise ValueError(
            f"data set '{images.name}': no rule can decide whether {len(odd)} of its "
            f"{len(images.class_names)} classes overlap with known classes, since their names are "
            f"not wnids or nouns of WordNet ({', '.join(odd[:5])}); rename the folders of its "
            "classes. Tiny ImageNet is read as its archive has it, with val/val_annotations.txt"
        )


def check_disjoint(external: Sequence[Images], tests: Mapping[str, Images]) -> None:
    """Refuse an external set that shares a class or an image with a test set.

    Otherwise networks would be tested on their training images or classes, and all results of
    Outlier Exposure, ODIN and OpenMax would be too good.
    """
    classes = set(external[0].class_names)
    images: set[bytes] = set()
    for subset in external:
        images.update(map(_digest, subset.images))
    for name, test in tests.items():
        shared = sorted(classes & set(test.class_names))
        if shared:
            raise ValueError(
                f"external set: overlaps the test set '{name}' in class {', '.join(shared[:5])}"
            )
        twice = sum(_digest(image) in images for image in test.images)
        if twice:
            raise ValueError(f"external set: {twice} of its images are in the test set '{name}'")


def _digest(image: np.ndarray) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(image).data, digest_size=16).digest()


def _are_wnids(names: Sequence[str]) -> bool:
    return all(re.fullmatch(r"n\d{8}", name) for name in names)
