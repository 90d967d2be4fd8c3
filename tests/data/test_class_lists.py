"""Class lists: whole, without doubles, and each wnid a noun of WordNet 3.0."""

import pytest

from helpers.data import class_lists, wordnet

SIZES = {"caltech256": 256, "food101": 101, "lsun": 10, "places365": 365}


@pytest.mark.parametrize("data_set", SIZES)
def test_names(data_set):
    """As many as the data set is known to have, each once."""
    names = class_lists.names_of(data_set)
    assert len(names) == len(set(names)) == SIZES[data_set]


def test_wnids():
    """All classes are nouns; Tiny ImageNet's are ImageNet's, whose names are WordNet's."""
    imagenet, tiny = map(class_lists.wnids_of, ("imagenet", "tiny_imagenet_64"))
    assert (len(imagenet), len(tiny)) == (1000, 200)
    assert tiny.items() <= imagenet.items()
    for wnid, name in imagenet.items():
        assert wordnet.noun(wnid).lemma_names()[0] == name.replace(" ", "_")


def test_cifar100():
    """Five classes a superclass; every noun has the lemma that the list gives; two are printed."""
    rows = class_lists.cifar100()
    families = {}
    for row in rows:
        families.setdefault(row["superclass"], set()).add(row["class"])
        lemmas = {wordnet.spelling(name) for name in wordnet.noun(row["wnid"]).lemma_names()}
        assert wordnet.spelling(row["lemma"]) in lemmas
    assert len(families) == 20 and {len(classes) for classes in families.values()} == {5}
    printed = {row["class"]: row["wnid"] for row in rows if row["provenance"] == "paper"}
    assert printed == {"camel": "n02437136", "mouse": "n02330245"}


def test_what_is_no_list():
    """Other data sets have no wnids; a list that is not there is named."""
    assert class_lists.wnids_of("digits") == class_lists.wnids_of("tiny") == {}
    with pytest.raises(ValueError, match="unknown class list 'food'; did you mean 'food101'"):
        class_lists.names_of("food")
    with pytest.raises(ValueError, match="unknown senses 'extend'; did you mean 'extended'"):
        class_lists.wnids_of("imagenet", senses="extend")
