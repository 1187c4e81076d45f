"""Tag the nouns of many sentences, each only once; a corpus is tagged on all cores.

The nouns of a corpus are cached for later runs in the folder $BERT4SO_CACHE, or else in the user's
cache folder. If the cache cannot be written, the corpus is tagged again next time.
"""

import json
import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path

from bert4so.common.progress import progress_bar, say
from bert4so.errors import os_message
from bert4so.text.nouns import (
    OBJECT,
    OTHER,
    SUBJECT,
    WORDS,
    Nouns,
    find_nouns,
    find_tagger,
    full_name,
)

CACHE_VERSION = 1
"""Version of the cache. Increase it when `nouns` changes so that it finds other nouns."""

ROLE_NUMBERS = (OTHER, OBJECT, SUBJECT)

CHUNK_SENTENCES = 256
"""Number of sentences that are tagged and cached at a time."""

MAX_IN_PROCESS_SENTENCES = 2000
"""Up to this number, tagging in this process is faster than starting others."""

MAX_UNSAVED_SENTENCES = 100_000
"""Size of the memory cache for sentences outside a corpus; it is cleared when exceeded."""


class Tagger:
    """Find the nouns of sentences.

    tagger: a tagger of `bert4so.text.nouns`.
    name:   the tagger with its version.
    """

    def __init__(self, tagger: str = "") -> None:
        self.tagger = find_tagger(tagger)
        self.name = full_name(self.tagger)
        # Nouns as JSON, which takes a fraction of the memory.
        self._corpus: dict[str, str] = {}
        self._unsaved: dict[str, str] = {}

    def __call__(self, sentences: Sequence[str]) -> list[Nouns]:
        """The nouns of each sentence; those outside a prepared corpus are cached in memory only."""
        if self.tagger == WORDS:
            return find_nouns(WORDS, sentences)
        if len(self._unsaved) > MAX_UNSAVED_SENTENCES:
            self._unsaved.clear()
        known = {s: self._corpus.get(s) or self._unsaved.get(s, "") for s in sentences}
        new = [s for s, nouns in known.items() if not nouns]
        if new:
            tagged = _as_json(new, find_nouns(self.tagger, new))
            self._unsaved |= tagged
            known |= tagged
        return [json.loads(known[s]) for s in sentences]

    def prepare(self, sentences: Iterable[str]) -> None:
        """Tag the sentences of a corpus, or read their nouns from the cache."""
        if self.tagger == WORDS:
            return
        cache = Cache(self.name)
        new = {self._key(s): s for s in sentences if s not in self._corpus}
        for key, nouns_json in cache.read(new):
            self._corpus[new.pop(key)] = nouns_json
        with progress_bar(f"tagging nouns with {self.name}", len(new), shown=bool(new)) as advance:
            for chunk, nouns in self._tagged(list(new.values())):
                tagged = _as_json(chunk, nouns)
                self._corpus |= tagged
                cache.write({self._key(s): tagged[s] for s in chunk})
                advance(len(chunk))

    def _tagged(self, sentences: list[str]) -> Iterator[tuple[list[str], list[Nouns]]]:
        """Yield the sentences in chunks, with their nouns."""
        starts = range(0, len(sentences), CHUNK_SENTENCES)
        chunks = [sentences[start : start + CHUNK_SENTENCES] for start in starts]
        if len(sentences) <= MAX_IN_PROCESS_SENTENCES:
            yield from ((chunk, find_nouns(self.tagger, chunk)) for chunk in chunks)
            return
        # Not fork: torch or a progress bar may have started threads.
        pool = ProcessPoolExecutor(min(len(chunks), os.cpu_count() or 1), get_context("spawn"))
        try:
            nouns = pool.map(find_nouns, [self.tagger] * len(chunks), chunks)
            yield from zip(chunks, nouns, strict=True)
        finally:
            pool.shutdown(cancel_futures=True)

    def _key(self, sentence: str) -> str:
        text = f"{CACHE_VERSION}\n{self.name}\n{sentence}"
        return sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


class Cache:
    """The cache file of a tagger: one key, tab and JSON per line.

    Several processes may append to it at the same time. An incomplete line, left by a killed
    process, is skipped.
    """

    def __init__(self, name: str) -> None:
        folder = cache_folder()
        file = f"nouns-{re.sub('[^a-z0-9.]+', '-', name.lower())}.tsv"
        self.path = folder / file if folder else None

    def read(self, keys: Container[str]) -> Iterator[tuple[str, str]]:
        """Yield each of the keys that is cached, with its value.

        The caller may remove a key from `keys` when it has been yielded.
        """
        if self.path is None or not self.path.is_file():
            return
        try:
            with self.path.open(encoding="ascii", errors="replace") as lines:
                for line in lines:
                    key, _, value = line.rstrip("\n").partition("\t")
                    if key in keys and _is_valid(value):
                        yield key, value
        except OSError as error:
            self._give_up(error)

    def write(self, values: Mapping[str, str]) -> None:
        """Append values by key."""
        if self.path is None:
            return
        # Start with a line break: the last line may be incomplete.
        text = "\n" + "".join(f"{key}\t{nouns}\n" for key, nouns in values.items())
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # In a single write, so that the lines of two processes do not mix.
            with self.path.open("ab", buffering=0) as file:
                file.write(text.encode("ascii"))
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        say(f"cannot cache nouns for later runs: {os_message(error)}")
        self.path = None


def cache_folder() -> Path | None:
    """The folder for cached data; None if the user has no home folder."""
    if given := os.environ.get("BERT4SO_CACHE"):
        return Path(given)
    if given := os.environ.get("XDG_CACHE_HOME"):
        return Path(given) / "bert4so"
    try:
        return Path.home() / ".cache" / "bert4so"
    except RuntimeError:
        return None


def _as_json(sentences: Sequence[str], nouns: Sequence[Nouns]) -> dict[str, str]:
    return dict(zip(sentences, map(json.dumps, nouns), strict=True))


def _is_valid(value: str) -> bool:
    """Whether a cached value is the complete JSON of some nouns."""
    try:
        nouns = json.loads(value)
    except (ValueError, RecursionError):
        return False
    return isinstance(nouns, dict) and all(role in ROLE_NUMBERS for role in nouns.values())
