"""WordNet: the right version, whole, unpacked once, and clear about what it does not have."""

import os
import subprocess
import sys
import tarfile

import pytest

from helpers.data import wordnet


def test_the_archive_is_wordnet_3_0_with_its_licence():
    """Its manual counts 82,115 noun synsets and 117,798 nouns; the notice is inside and beside."""
    with tarfile.open(wordnet.ARCHIVE) as archive:
        files = {member.name: archive.extractfile(member).read() for member in archive}
    entries = [line for line in files["data.noun"].splitlines() if not line.startswith(b"  ")]
    assert len(entries) == 82115
    assert len(list(wordnet.reader().all_lemma_names("n"))) == 117798
    beside = wordnet.ARCHIVE.with_name("wordnet-3.0-LICENSE.txt").read_bytes()
    assert files["LICENSE"] == beside
    assert b"provided that you agree to comply" in b" ".join(beside.split())
    assert [line.split()[0] for line in files["lexnames"].decode().splitlines()] == [
        f"{number:02}" for number in range(45)
    ]
    assert wordnet.ARCHIVE.stat().st_size < 4.7e6


@pytest.mark.parametrize(
    ("wnid", "name"), [("n02437136", "camel"), ("n02330245", "mouse"), ("n00001740", "entity")]
)
def test_wnids_are_offsets_of_this_version(wnid, name):
    """The two wnids that the paper prints mean what it says, and go back and forth."""
    synset = wordnet.noun(wnid)
    assert synset.lemma_names()[0] == name
    assert wordnet.wnid(synset) == wnid


@pytest.mark.parametrize("wnid", ["n02437137", "n00000000", "n99999999"])
def test_a_wnid_that_begins_no_noun_is_refused(wnid):
    """An offset between entries, in the licence or behind the end is said to be none."""
    with pytest.raises(ValueError, match=f"wnid: no noun of WordNet 3.0 is '{wnid}'"):
        wordnet.noun(wnid)


def test_a_name_that_wordnet_does_not_know_is_refused():
    """The message names the word, and the nearest one where there is any."""
    with pytest.raises(ValueError, match="has no noun 'schol bus'; did you mean 'school bus'"):
        wordnet.nouns("schol bus")
    with pytest.raises(ValueError, match=r"no noun 'qqqq'$"):
        wordnet.nouns("qqqq")
    assert not wordnet.knows("qqqq") and not wordnet.knows("")


def test_processes_that_unpack_at_once_agree(tmp_path):
    """Three at a time all get the same whole folder, and leave nothing beside it."""
    code = "from helpers.data import wordnet; print(wordnet._unpack().name)"
    environment = os.environ | {"CACHE_ROOT": str(tmp_path)}
    command = [sys.executable, "-c", code]
    options = {"env": environment, "stdout": subprocess.PIPE, "text": True}
    started = [subprocess.Popen(command, **options) for _ in range(3)]
    printed = {process.communicate()[0].strip() for process in started}
    (folder,) = (tmp_path / "nltk_data").iterdir()
    assert printed == {folder.name}
    assert len(list(folder.iterdir())) == 14
