"""The nouns of many sentences: each sentence is tagged once, a corpus on all cores.

What is found in a corpus is kept for the next run: in the folder $BERT4SO_CACHE, else in that which
the user has for such things. Where neither can be written, it is found again the next time.
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

FORM = 1
"""Of what is kept: another number where `nouns` comes to find others than before."""

ROLE_NUMBERS = (OTHER, OBJECT, SUBJECT)

CHUNK = 256
"""Sentences that are tagged, and kept, at a time."""

ALONE = 2000
"""Up to so many sentences are tagged before other processes would be ready to help."""

PASSING = 100_000
"""Sentences of no corpus: when so many are remembered, they are forgotten."""


class Tagger:
    """Finds the nouns of sentences.

    tagger: one of those that `nouns` knows.
    name:   the same with its version.
    """

    def __init__(self, wanted: str = "") -> None:
        self.tagger = find_tagger(wanted)
        self.name = full_name(self.tagger)
        # As JSON, which takes a fraction of the memory.
        self._corpus: dict[str, str] = {}
        self._passing: dict[str, str] = {}

    def __call__(self, sentences: Sequence[str]) -> list[Nouns]:
        """The nouns of each sentence. Those of sentences of no corpus are not kept on disk."""
        if self.tagger == WORDS:
            return find_nouns(WORDS, sentences)
        if len(self._passing) > PASSING:
            self._passing.clear()
        known = {s: self._corpus.get(s) or self._passing.get(s, "") for s in sentences}
        new = [s for s, found in known.items() if not found]
        if new:
            found = _as_json(new, find_nouns(self.tagger, new))
            self._passing |= found
            known |= found
        return [json.loads(known[s]) for s in sentences]

    def prepare(self, sentences: Iterable[str]) -> None:
        """Find the nouns of a corpus, or look up what an earlier run has found."""
        if self.tagger == WORDS:
            return
        cache = Cache(self.name)
        new = {self._key(s): s for s in sentences if s not in self._corpus}
        for key, kept in cache.read(new):
            self._corpus[new.pop(key)] = kept
        with progress_bar(f"nouns by {self.name}", len(new), shown=bool(new)) as advance:
            for some, nouns in self._tagged(list(new.values())):
                found = _as_json(some, nouns)
                self._corpus |= found
                cache.write({self._key(s): found[s] for s in some})
                advance(len(some))

    def _tagged(self, sentences: list[str]) -> Iterator[tuple[list[str], list[Nouns]]]:
        """The sentences, some at a time, with their nouns."""
        chunks = [sentences[k : k + CHUNK] for k in range(0, len(sentences), CHUNK)]
        if len(sentences) <= ALONE:
            yield from ((some, find_nouns(self.tagger, some)) for some in chunks)
            return
        # Not forked: torch or a progress bar may have threads here.
        pool = ProcessPoolExecutor(min(len(chunks), os.cpu_count() or 1), get_context("spawn"))
        try:
            found = pool.map(find_nouns, [self.tagger] * len(chunks), chunks)
            yield from zip(chunks, found, strict=True)
        finally:
            pool.shutdown(cancel_futures=True)

    def _key(self, sentence: str) -> str:
        text = f"{FORM}\n{self.name}\n{sentence}"
        return sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


class Cache:
    """A file of what a tagger has found: a key, a tab and JSON a line.

    It is only added to, some lines at a time, by as many processes as there are. A line that a
    killed process has left unfinished is passed over.
    """

    def __init__(self, name: str) -> None:
        folder = cache_folder()
        file = f"nouns-{re.sub('[^a-z0-9.]+', '-', name.lower())}.tsv"
        self.path = folder / file if folder else None

    def read(self, wanted: Container[str]) -> Iterator[tuple[str, str]]:
        """The wanted keys that are in it, and what was found; `wanted` may lose what is given."""
        if self.path is None or not self.path.is_file():
            return
        try:
            with self.path.open(encoding="ascii", errors="replace") as lines:
                for line in lines:
                    key, _, found = line.rstrip("\n").partition("\t")
                    if key in wanted and _is_whole(found):
                        yield key, found
        except OSError as error:
            self._give_up(error)

    def write(self, found: Mapping[str, str]) -> None:
        """Add to it, by key."""
        if self.path is None:
            return
        # A new line first: the last one may be unfinished.
        text = "\n" + "".join(f"{key}\t{nouns}\n" for key, nouns in found.items())
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # In one go, so that the lines of two processes do not mix.
            with self.path.open("ab", buffering=0) as file:
                file.write(text.encode("ascii"))
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        say(f"nouns are not kept for the next run: {os_message(error)}")
        self.path = None


def cache_folder() -> Path | None:
    """Where things are kept that could be found again; None where the user has no home."""
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


def _is_whole(found: str) -> bool:
    """Whether this is the complete JSON of some nouns."""
    try:
        nouns = json.loads(found)
    except (ValueError, RecursionError):
        return False
    return isinstance(nouns, dict) and all(role in ROLE_NUMBERS for role in nouns.values())
