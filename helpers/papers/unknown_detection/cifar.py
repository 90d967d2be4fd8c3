"""The benchmark of small images: CIFAR-100, and whatever has superclasses.

Kim, Koo and Hwang (2023): some classes of each superclass are in-distribution, the others near-OOD;
other data sets are far-OOD; an external set, disjoint from all of these, is for training with
outliers and for choosing hyper-parameters.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from helpers import data
from helpers.data import Images, class_lists, sources, wordnet, wordnet_rules
from helpers.data.hypernyms import Hypernyms
from helpers.papers.openset_calibration.roles import hold_out
from helpers.papers.unknown_detection.protocol import Protocol, Roles, limited

SIZE = 32
"""Pixels: what the networks are made for; images of another size are brought to it."""


def draw_known(
    superclasses: Mapping[str, Sequence[str]],
    share: float,
    *,
    given: Iterable[str] = (),
    seed: int = 0,
) -> tuple[str, ...]:
    """Draw which classes of each superclass are in-distribution.

    Parameters
    ----------
    superclasses : mapping of str to sequence of str
        The classes of each.
    share : float
        Of each superclass the rounded share, but at least one class and never all.
    given : iterable of str
        Classes that are among them in any case.
    seed : int

    Raises
    ------
    ValueError
        A superclass of one class, more given classes than its share, or a given class that
        there is not.

    Examples
    --------
    >>> draw_known({"animal": ["cat", "dog"], "vehicle": ["car", "ship"]}, 0.5, given=["dog"])
    ('dog', 'car')
    """
    given = set(given)
    absent = given - {name for names in superclasses.values() for name in names}
    if absent:
        raise ValueError(f"known_classes: no class {', '.join(sorted(absent))} in any superclass")
    generator = np.random.default_rng(seed)
    drawn = []
    for superclass, names in superclasses.items():
        if len(names) < 2:
            raise ValueError(f"superclass '{superclass}': at least two classes expected")
        count = min(max(round(share * len(names)), 1), len(names) - 1)
        order = [names[i] for i in generator.permutation(len(names))]
        order.sort(key=lambda name: name not in given)  # stable: the given ones first
        if len(given & set(names)) > count:
            raise ValueError(
                f"known_classes: {len(given & set(names))} of superclass '{superclass}', "
                f"whose share is {count}"
            )
        drawn += [name for name in names if name in order[:count]]
    return tuple(drawn)


def superclasses_of(images: Images) -> dict[str, list[str]]:
    """Return the classes of each superclass, read from the coarse labels.

    Raises
    ------
    ValueError
        The data set has no coarse labels, or images of one class in two superclasses.
    """
    if images.coarse_labels is None:
        raise ValueError(
            f"data set '{images.name}' has no coarse labels, from which superclasses are made; "
            "take one that has them (cifar100), or name the classes of each in `superclasses`"
        )
    pairs = sorted(set(zip(images.coarse_labels.tolist(), images.labels.tolist(), strict=True)))
    found: dict[str, list[str]] = {}
    for coarse, label in pairs:
        found.setdefault(images.coarse_class_names[coarse], []).append(images.class_names[label])
    if len({label for _, label in pairs}) < len(pairs):
        raise ValueError(f"data set '{images.name}': a class lies in two superclasses")
    return found


def roles(
    data_set: str,
    external: Sequence[str],
    far: Sequence[str],
    protocol: Protocol,
    *,
    aside: Sequence[str] = (),
    resized: str = "",
    download: bool = False,
) -> Roles:
    """Load the data sets and give each image its role.

    Parameters
    ----------
    data_set : str
        In-distribution and near-OOD; one of `helpers.data.names` with ``train`` and ``test``.
    external : sequence of str
        Data sets that make the external set together.  Beside a `data_set` whose classes are
        known nouns, those whose classes are WordNet's lose the classes that are, or lie below,
        one of it; of others go the classes whose name a node has that it spans.  Each of the
        latter is a noun of WordNet, or the set is one that this project draws itself: of other
        names it cannot be told what they stand for.
    far : sequence of str
        Far-OOD data sets with a split ``test``, treated likewise.
    protocol : Protocol
    aside : sequence of str
        Far-OOD data sets that are tested apart, and are not part of the union.
    resized : str
        A data set of larger images, tested apart twice: brought to this size with a filter
        ("fixed"), and by leaving out pixels ("aliased").
    download : bool
        Let torchvision download what is missing.

    Raises
    ------
    ValueError
        No superclasses are known, the external set overlaps a test set, or whether it does
        cannot be told.
    """
    options = {"size": SIZE, "download": download}
    train, test = (data.load(data_set, split, **options) for split in ("train", "test"))
    families = protocol.superclasses or superclasses_of(train)
    known = draw_known(
        families, protocol.known_share, given=protocol.known_classes, seed=protocol.seed
    )
    near = tuple(name for names in families.values() for name in names if name not in known)
    seen = train.select(known)
    held = hold_out(seen.labels, protocol.validation_share, run=0, seed=protocol.seed)
    removed: dict[str, tuple[str, ...]] = {}
    own = class_lists.wnids_of(data_set)

    def disjoint(name: str, split: str, others: Iterable[str], **more) -> Images:
        """Load a data set without the classes that WordNet says overlap with the others."""
        images = data.load(name, split, **options | more)
        _check_names(images, nouns=name in external and name not in sources.BUILT_IN)
        if _are_wnids(images.class_names):
            if not own:
                raise ValueError(
                    f"data set '{name}': whether its classes overlap with those of '{data_set}' "
                    "cannot be told, since the nouns of these are not known"
                )
            graph = Hypernyms.span([*images.class_names, *others])
            hit = wordnet_rules.find_covered(images.class_names, others, graph)
        elif own:
            hit = wordnet_rules.named_nodes(images.class_names, Hypernyms.span(own))
        else:
            return images
        if hit:
            removed[name] = tuple(one for one in images.class_names if one in hit)
        return images.select([one for one in images.class_names if one not in hit])

    outside = data.concatenate([disjoint(name, "train", own) for name in external], "external")
    held_outside = data.concatenate(
        [disjoint(name, _second_split(name), own) for name in external], "external"
    )
    others = (*own, *(name for name in outside.class_names if _are_wnids([name])))

    def tested(name: str, **more) -> Images:
        images = disjoint(name, _test_split(name), others, **more)
        return limited(images, protocol.far_images, seed=protocol.seed)

    apart = {name: tested(name) for name in aside}
    if resized:
        apart |= {"fixed": tested(resized), "aliased": tested(resized, antialias=False)}
    made = Roles(
        known=known,
        near_classes=near,
        superclass_of={name: family for family, names in families.items() for name in names},
        train=seen.subset(~held),
        validation=seen.subset(held),
        test=test.select(known),
        external=outside.unknown(),
        external_validation=limited(
            held_outside, protocol.external_validation, seed=protocol.seed
        ).unknown(),
        near=test.select(near),
        far={name: tested(name) for name in far},
        aside=apart,
        removed=removed,
    )
    check_disjoint(outside, made)
    return made


def check_disjoint(external: Images, roles: Roles) -> None:
    """Refuse an external set that shares a class or an image with a test set.

    What is trained on would be tested on: every number of Outlier Exposure, ODIN and OpenMax
    would be too good.

    Raises
    ------
    ValueError
        Names the test set and what is shared.
    """
    classes = set(external.class_names)
    tests = {"ID test": roles.test, "near": roles.near} | roles.far | roles.aside
    parts = (external, roles.external_validation)
    images = {_digest(image) for part in parts for image in part.images}
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
    return hashlib.blake2b(np.ascontiguousarray(image), digest_size=16).digest()


def _are_wnids(names: Sequence[str]) -> bool:
    return all(re.fullmatch(r"n\d{8}", name) for name in names)


def _check_names(images: Images, *, nouns: bool) -> None:
    """Refuse class names of which no rule can tell whether they overlap with others.

    That is where some are wnids and others are not, or, where `nouns` are asked for, no nouns of
    WordNet either: such classes would pass for classes that overlap with none.
    """
    named = [name for name in images.class_names if not _are_wnids([name])]
    odd = named if len(named) < len(images.class_names) else []
    if nouns:
        odd = odd or [name for name in named if not wordnet.knows(name)]
    if odd:
        raise ValueError(
            f"data set '{images.name}': whether {len(odd)} of its {len(images.class_names)} "
            f"classes overlap with known ones cannot be told, since they are called neither by "
            f"wnids nor by nouns of WordNet ({', '.join(odd[:5])}); rename the folders of its "
            "classes. Tiny ImageNet is read as its archive has it, with val/val_annotations.txt"
        )


def _test_split(name: str) -> str:
    splits = data.splits(name)
    return "test" if "test" in splits else splits[-1]


def _second_split(name: str) -> str:
    """Return the split of an external set that is not trained on."""
    others = [split for split in data.splits(name) if split != "train"]
    if not others:
        raise ValueError(f"external: data set '{name}' has one split; two are needed")
    return others[0]
