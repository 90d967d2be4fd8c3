"""WordNet 3.0's nouns, read by NLTK from an archive that is part of this package.

Class lists of several data sets are WordNet nouns: a *wnid* such as ``n02437136`` is ``n`` and the
noun's eight-digit place in the file ``data.noun`` of version 3.0, and of no other version.  The
archive holds ``data.noun``, ``index.noun`` and ``noun.exc`` of Debian's ``wordnet-base`` 1:3.0-37,
the licence, and other files that NLTK's reader needs.  To save space, only words of the project's
class lists have a gloss, and ``definition()`` of others is ``(left out)``; see the licence's end.
"""

from __future__ import annotations

import difflib
import functools
import re
import shutil
import tarfile
import threading
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from helpers.files import atomic_folder, cache_root, sha256_file

if TYPE_CHECKING:
    from nltk.corpus.reader.wordnet import Synset, WordNetCorpusReader

ARCHIVE = Path(__file__).parent / "embedded" / "wordnet-3.0-nouns.tar.xz"
UNPACKED = 20_138_380  # bytes of all files in it


#: Held while NLTK moves in the one open file of all synsets, or the archive is unpacked.
_LOCK = threading.RLock()


def reader() -> WordNetCorpusReader:
    """Return NLTK's reader of the nouns; the first use unpacks the archive.

    The files are stored in ``cache_root()/nltk_data``; there is no download.  The first call of a
    process takes a second or two, mostly in NLTK; all further calls return at once.

    Examples
    --------
    >>> reader().synset("camel.n.01").definition()
    'cud-chewing mammal used as a draft or saddle animal in desert regions'
    """
    with _LOCK:
        return _reader()


@functools.cache
def _reader() -> WordNetCorpusReader:
    import nltk  # takes a second, and few need it
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Nouns(WordNetCorpusReader):
        def map_wn(self, version="wordnet"):
            return None  # between versions, for translations: from files that are not here

        def synset_from_pos_and_offset(self, pos, offset):
            with _LOCK:
                return super().synset_from_pos_and_offset(pos, offset)

    folder = _unpack()
    nltk.data.path.append(str(folder.parent))  # the reader opens no file elsewhere
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The multilingual functions")
        return Nouns(str(folder), None)


@functools.cache
def noun(wnid: str) -> Synset:
    """Return the synset of a wnid.

    Examples
    --------
    >>> noun("n02437136")
    Synset('camel.n.01')
    >>> noun("n02437137")
    Traceback (most recent call last):
        ...
    ValueError: wnid: no noun of WordNet 3.0 is 'n02437137'; other versions number them otherwise
    """
    if not re.fullmatch(r"n\d{8}", wnid):
        raise ValueError(f"wnid: 'n' and eight digits expected, got {wnid!r}")
    with warnings.catch_warnings():  # NLTK only warns of what is an error here
        warnings.simplefilter("ignore")
        synset = reader().synset_from_pos_and_offset("n", int(wnid[1:]))
    if synset is None:
        raise ValueError(
            f"wnid: no noun of WordNet 3.0 is {wnid!r}; other versions number them otherwise"
        )
    return synset


def wnid(synset: Synset) -> str:
    """Return the wnid of a synset.

    Examples
    --------
    >>> wnid(noun("n02437136"))
    'n02437136'
    """
    if synset.pos() != "n":
        raise ValueError(f"synset: a noun expected, got {synset.name()}")
    return f"n{synset.offset():08d}"


def knows(word: str) -> bool:
    """Tell whether WordNet has a noun that is spelt like this (see `nouns`).

    Examples
    --------
    >>> knows("Hot dog"), knows("hot dogs"), knows("bibimbap")
    (True, False, False)
    """
    return bool(_senses(spelling(word)))


def nouns(word: str) -> tuple[Synset, ...]:
    """Return all synsets that a word names, its most frequent sense first.

    Examples
    --------
    >>> nouns("can opener")
    (Synset('can_opener.n.01'),)
    >>> nouns("can openre")
    Traceback (most recent call last):
        ...
    ValueError: word: WordNet 3.0 has no noun 'can openre'; did you mean 'can opener'?
    """
    plain = spelling(word)
    synsets = _senses(plain)
    if not synsets:
        alike = [key for key in _spellings() if key[:2] == plain[:2]]  # comparing all takes seconds
        near = difflib.get_close_matches(plain, alike, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise ValueError(f"word: WordNet 3.0 has no noun '{word}'{hint}")
    return synsets


def spelling(word: str) -> str:
    """Return the normalised spelling of a word: lower case, with spaces instead of hyphens.

    Examples
    --------
    >>> spelling("T-shirt"), spelling("can_opener")
    ('t shirt', 'can opener')
    """
    return re.sub(r"[\s_-]+", " ", word).strip().lower()


def _unpack() -> Path:
    """Return the folder of the unpacked archive, whose name has the archive's checksum in it.

    Another process may unpack at the same time; the second one then keeps the first one's folder.
    A folder that somebody has changed is unpacked again.
    """
    folder = cache_root() / "nltk_data" / f"wordnet-3.0-{sha256_file(ARCHIVE)[:16]}"
    if folder.is_dir() and sum(file.stat().st_size for file in folder.iterdir()) != UNPACKED:
        shutil.rmtree(folder, ignore_errors=True)
    if not folder.is_dir():
        try:
            with atomic_folder(folder) as temporary, tarfile.open(ARCHIVE) as archive:
                archive.extractall(temporary, filter="data")
        except OSError:
            if not folder.is_dir():  # else another process was quicker
                raise
    return folder


@functools.cache
def _spellings() -> dict[str, tuple[str, ...]]:
    """Return {plain spelling: WordNet's spellings of it} of all nouns."""
    spellings: dict[str, tuple[str, ...]] = {}
    for lemma in reader().all_lemma_names("n"):
        plain = spelling(lemma)
        spellings[plain] = (*spellings.get(plain, ()), lemma)
    return spellings


@functools.cache
def _senses(plain: str) -> tuple[Synset, ...]:
    synsets: dict[Synset, None] = {}
    for name in _spellings().get(plain, ()):
        synsets |= dict.fromkeys(lemma.synset() for lemma in reader().lemmas(name, "n"))
    return tuple(synsets)
