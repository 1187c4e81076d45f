"""Which nouns a sentence has, and the role of each in it.

They are found by spaCy, where an English pipeline of it is on this machine: it alone tells subjects
and objects. Else by HanTa, a tagger without roles; else, so that all works with neither, every word
that is not on a short list counts as a noun.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bert4so.errors import UserError

OTHER, OBJECT, SUBJECT = 1, 2, 3

Nouns = dict[str, int]
"""The nouns of a sentence as they stand there, in lower case, each with its highest role."""

HANTA, WORDS = "hanta", "words"
PIPELINES = ("en_core_web_lg", "en_core_web_md", "en_core_web_sm")

ROLES = {"nsubj": SUBJECT, "dobj": OBJECT}
"""As in the authors' data, where what a passive verb is about is neither."""

LONGEST, LONGEST_WORD = 10_000, 40
"""Characters that a tagger is shown: some take time or memory that grows with the square."""

WORD = re.compile(r"\w+|[^\w\s]")
LETTER = re.compile(r"[^\W\d_]")
LETTERS = re.compile(r"[^\W\d_]{3,}")
NO_NOUNS = frozenset(
    WORD.findall("""
    about above after again all also although among and another any are around because been before
    being below between both but came can cannot could did does doing done down during each
    either ever every few for from get gets give given got had has have having her here hers him his
    how however into its itself just last later made make makes many may might more most much must
    neither never new next nor not now off often once one only onto other our ours out over own
    rather said same saw see several shall she should show shows since some soon still such take
    than that the their theirs them then there therefore these they this those though three through
    thus too took toward two under until upon use used using very was well went were what when where
    whether which while who whom whose why will with within without would yet you your yours
    """)
)


@dataclass(frozen=True)
class Pipeline:
    """A pipeline of spaCy: its name, its version, and what spaCy loads it by."""

    name: str
    version: str
    place: str


def find_tagger(wanted: str = "") -> str:
    """The tagger of this name, where it is on this machine; "": the best that is."""
    known = [*pipelines(), *([HANTA] if find_spec("HanTa") else []), WORDS]
    if not wanted:
        return known[0]
    if wanted not in known:
        raise UserError(
            f'nouns by "{wanted}": not on this machine, which has {", ".join(known)} (pip install '
            "'bert4so[graph]' brings hanta; $BERT4SO_SPACY may name the folder of a spaCy pipeline)"
        )
    return wanted


def full_name(tagger: str) -> str:
    """A tagger with its version: what one finds is not what another does."""
    if tagger == WORDS:
        return tagger
    if tagger == HANTA:
        return f"{HANTA} {version('HanTa')}"
    return f"spacy {tagger} {pipelines()[tagger].version}"


def find_nouns(tagger: str, sentences: Sequence[str]) -> list[Nouns]:
    """The nouns of each sentence, as a tagger that is on this machine finds them."""
    # Half of a surrogate pair is text to Python, but not to spaCy.
    shown = [one[:LONGEST].encode(errors="replace").decode() for one in sentences]
    if tagger == WORDS:
        return [dict.fromkeys(_not_listed(one), OTHER) for one in shown]
    if tagger == HANTA:
        return [dict.fromkeys(_by_hanta(one), OTHER) for one in shown]
    return [_highest(_roles(parsed)) for parsed in _spacy(tagger).pipe(shown)]


def pipelines() -> dict[str, Pipeline]:
    """The pipelines of spaCy on this machine, the best first, by name.

    That of the folder $BERT4SO_SPACY, where it is set; then the English ones that are installed.
    """
    if find_spec("spacy") is None:
        return {}
    found: dict[str, Pipeline] = {}
    if folder := os.environ.get("BERT4SO_SPACY"):
        own = _described(Path(folder), folder)
        found[own.name] = own
    for name in PIPELINES:
        if place := _package(name):
            found.setdefault(name, _described(place, name))
    return found


def _package(name: str) -> Path | None:
    """The folder of a package, where it is installed."""
    spec = find_spec(name)
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) if places else None


def _described(folder: Path, place: str) -> Pipeline:
    """What a pipeline says of itself."""
    try:
        facts = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        return Pipeline(f"{facts['lang']}_{facts['name']}", str(facts["version"]), place)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{folder}: not a pipeline of spaCy: {error}") from None


def _not_listed(sentence: str) -> Iterator[str]:
    return (word for word in LETTERS.findall(sentence.lower()) if word not in NO_NOUNS)


def _by_hanta(sentence: str) -> Iterator[str]:
    words = WORD.findall(sentence)
    tags = _hanta().tag_sent([word[:LONGEST_WORD] for word in words], taglevel=0)
    for word, tag in zip(words, tags, strict=True):
        # NN and NP are common and proper nouns in the tags of all its versions.
        if tag.startswith(("NN", "NP")) and LETTER.search(word):
            yield word.lower()


def _roles(parsed: Any) -> Iterator[tuple[str, int]]:
    for token in parsed:
        if token.pos_ in ("NOUN", "PROPN") and LETTER.search(token.text):
            yield token.lower_, ROLES.get(token.dep_, OTHER)


def _highest(found: Iterable[tuple[str, int]]) -> Nouns:
    nouns: Nouns = {}
    for noun, role in found:
        nouns[noun] = max(role, nouns.get(noun, role))
    return nouns


@cache
def _hanta() -> Any:
    module = import_module("HanTa.HanoverTagger")
    # HanTa unpickles its model, and looks for a bare name in the current directory first.
    path = Path(str(module.__file__)).resolve().with_name("morphmodel_en.pgz")
    if not path.is_file():
        raise UserError(f"{path}: no such file: pip install --force-reinstall HanTa")
    return module.HanoverTagger(str(path))


@cache
def _spacy(name: str) -> Any:
    place = pipelines()[name].place
    try:
        return import_module("spacy").load(place, exclude=["ner", "lemmatizer", "senter"])
    except (ImportError, OSError, ValueError) as error:
        raise UserError(f"spaCy cannot load {place}: {error}") from None
