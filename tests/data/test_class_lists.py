"""Class lists, WordNet and its rules: whole, and each rule on a graph to check by hand."""

import tarfile
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from helpers import data
from helpers.data import class_lists, wordnet
from helpers.data.hypernyms import Hypernyms
from helpers.data.wordnet_rules import keywords
from tests.mistakes import beside

KEYWORDS = beside(__file__, "keywords.yaml")
UNRELATED = beside(__file__, "unrelated.yaml")


def test_several_threads_can_read_wordnet():
    """NLTK reads one open file; before, a thread got the entry of another thread."""
    wordnet.noun.cache_clear()
    wordnet.reader()._synset_offset_cache.clear()
    dogs = wordnet.nouns("dog")[0].closure(lambda synset: synset.hyponyms())
    names = [wordnet.wnid(synset) for synset in dogs]
    wordnet.noun.cache_clear()
    wordnet.reader()._synset_offset_cache.clear()
    with ThreadPoolExecutor(8) as pool:
        assert [*map(wordnet.wnid, pool.map(wordnet.noun, names))] == names


def test_class_lists_have_their_number_of_distinct_names():
    for name, size in (("caltech256", 256), ("food101", 101), ("lsun", 10), ("places365", 365)):
        names = class_lists.names_of(name)
        assert len(names) == len(set(names)) == size


@pytest.mark.parametrize("id_set", UNRELATED)
def test_each_data_set_was_compared_with_the_classes_of_an_id_set(id_set):
    """Every pack in the data folder may become a set of unknown images."""
    cards = {card.name for card in data.cards() if not (card.slice_of or card.streamed)}
    shared = {*class_lists.shared_classes(id_set)}
    assert not shared & {*UNRELATED[id_set]}
    assert cards - shared == {*UNRELATED[id_set]}


def test_all_classes_of_imagenet_are_nouns():
    """By wnids, there and back; Tiny ImageNet's are ImageNet's, whose names are WordNet's."""
    imagenet, tiny = map(class_lists.wnids_of, ("imagenet", "tiny_imagenet_64"))
    assert (len(imagenet), len(tiny)) == (1000, 200)
    assert not wordnet.knows("qqqq")
    assert not wordnet.knows("")
    assert tiny.items() <= imagenet.items()
    for wnid, name in imagenet.items():
        synset = wordnet.noun(wnid)
        assert synset.lemma_names()[0] == name.replace(" ", "_")
        assert wordnet.wnid(synset) == wnid
        assert len(synset.definition()) > len("(left out)")


def test_each_superclass_of_cifar100_has_five_classes():
    """Every noun has the lemma of the list, and two nouns are printed in the paper."""
    rows = class_lists.cifar100()
    families = {}
    for row in rows:
        families.setdefault(row["superclass"], set()).add(row["class"])
        lemmas = {wordnet.spelling(name) for name in wordnet.noun(row["wnid"]).lemma_names()}
        assert wordnet.spelling(row["lemma"]) in lemmas
    assert len(families) == 20
    assert {len(classes) for classes in families.values()} == {5}
    printed = {row["class"]: row["wnid"] for row in rows if row["provenance"] == "paper"}
    assert printed == {"camel": "n02437136", "mouse": "n02330245"}


def test_the_archive_is_wordnet_3_0_with_its_licence():
    """Its manual counts 82,115 noun synsets and 117,798 nouns; the archive has the licence."""
    with tarfile.open(wordnet.ARCHIVE) as archive:
        entries = archive.extractfile("data.noun").read().splitlines()
        licence = archive.extractfile("LICENSE").read()
    assert sum(not line.startswith(b"  ") for line in entries) == 82115
    assert sum(b" | (left out) " in line for line in entries) == 79424
    assert len(list(wordnet.reader().all_lemma_names("n"))) == 117798
    assert licence == wordnet.ARCHIVE.with_name("wordnet-3.0-LICENSE.txt").read_bytes()


def test_processes_that_unpack_at_once_agree(tmp_path, monkeypatch):
    """Three processes at once get the same complete folder and leave no other file."""
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path))
    with ProcessPoolExecutor(3, get_context("fork")) as processes:
        started = [processes.submit(wordnet._unpack) for _ in range(3)]
        unpacked = {process.result() for process in started}
    (folder,) = (tmp_path / "nltk_data").iterdir()
    assert unpacked == {folder}
    assert len(list(folder.iterdir())) == 14


@pytest.mark.parametrize("seed", range(5))
def test_above_and_below_are_one_relation(seed):
    """Ancestors have the node below them; nodes with a common parent are siblings."""
    generator = np.random.default_rng(seed)
    parents = {"0": ()}
    for node in range(1, 25):
        drawn = generator.permutation(node)[: generator.integers(0, 4)]
        parents[str(node)] = tuple(map(str, drawn))
    graph = Hypernyms(parents)
    for node, over in parents.items():
        above = {other for other in parents if node in graph.descendants(other)}
        assert graph.ancestors(node) == above == set(over).union(*map(graph.ancestors, over))
        assert set(graph.siblings(node)) == set().union(*map(graph.children, over)) - {node}


@pytest.mark.parametrize(("name", "expected"), KEYWORDS)
def test_keywords_are_spellings_and_runs_of_the_words_and_no_more(name, expected):
    """At least three letters before a split, four behind; singulars that end in s stay."""
    assert list(keywords(name).items()) == list(expected.items())
