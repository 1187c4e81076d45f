"""Find the nouns of a sentence and their grammatical roles.

The tagger is spaCy if an English pipeline is installed; only spaCy distinguishes subjects and
objects. Otherwise it is HanTa, which has no roles. Without either, every word that is not a stop
word counts as a noun.
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
"""The nouns of a sentence in lower case, each with its highest role."""

HANTA, WORDS = "hanta", "words"
PIPELINES = ("en_core_web_lg", "en_core_web_md", "en_core_web_sm")

ROLES = {"nsubj": SUBJECT, "dobj": OBJECT}
"""As in the authors' data, where the subject of a passive verb is neither."""

MAX_TAGGED_CHARACTERS, MAX_TAGGED_WORD_CHARACTERS = 10_000, 40
"""Longer input is truncated: time or memory of some taggers is quadratic in its length."""

WORD = re.compile(r"\w+|[^\w\s]")
LETTER = re.compile(r"[^\W\d_]")
LETTERS = re.compile(r"[^\W\d_]{3,}")
STOP_WORDS = frozenset(
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
    """A spaCy pipeline; `source` is the package or folder from which spaCy loads it."""

    name: str
    version: str
    source: str


def find_tagger(name: str = "") -> str:
    """Check that a tagger is installed; with an empty name, return the best installed tagger."""
    available = [*pipelines(), *([HANTA] if find_spec("HanTa") else []), WORDS]
    if not name:
        return available[0]
    if name not in available:
        raise UserError(
            f'noun tagger "{name}" is not installed (available: {", ".join(available)}): '
            "pip install 'bert4so[graph]' installs hanta; set $BERT4SO_SPACY to the folder of a "
            "spaCy pipeline"
        )
    return name


def full_name(tagger: str) -> str:
    """The tagger with its version, as versions differ in the nouns that they find."""
    if tagger == WORDS:
        return tagger
    if tagger == HANTA:
        return f"{HANTA} {version('HanTa')}"
    return f"spacy {tagger} {pipelines()[tagger].version}"


def find_nouns(tagger: str, sentences: Sequence[str]) -> list[Nouns]:
    """The nouns of each sentence, found by an installed tagger."""
    # spaCy does not accept lone surrogates.
    texts = [s[:MAX_TAGGED_CHARACTERS].encode(errors="replace").decode() for s in sentences]
    if tagger == WORDS:
        return [dict.fromkeys(_not_stop_words(text), OTHER) for text in texts]
    if tagger == HANTA:
        return [dict.fromkeys(_by_hanta(text), OTHER) for text in texts]
    return [_highest(_roles(parsed)) for parsed in _spacy(tagger).pipe(texts)]


def pipelines() -> dict[str, Pipeline]:
    """The installed spaCy pipelines by name, the best first.

    The pipeline in the folder $BERT4SO_SPACY, if set, comes before the installed English ones.
    """
    if find_spec("spacy") is None:
        return {}
    by_name: dict[str, Pipeline] = {}
    if folder := os.environ.get("BERT4SO_SPACY"):
        own = _read_meta(Path(folder), folder)
        by_name[own.name] = own
    for name in PIPELINES:
        if package := _package_folder(name):
            by_name.setdefault(name, _read_meta(package, name))
    return by_name


def _package_folder(name: str) -> Path | None:
    """The folder of a package; None if it is not installed."""
    spec = find_spec(name)
    folders = spec.submodule_search_locations if spec else None
    return Path(folders[0]) if folders else None


def _read_meta(folder: Path, source: str) -> Pipeline:
    """Read the meta.json of a pipeline."""
    try:
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        return Pipeline(f"{meta['lang']}_{meta['name']}", str(meta["version"]), source)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{folder}: not a spaCy pipeline: {error}") from None


def _not_stop_words(sentence: str) -> Iterator[str]:
    return (word for word in LETTERS.findall(sentence.lower()) if word not in STOP_WORDS)


def _by_hanta(sentence: str) -> Iterator[str]:
    words = WORD.findall(sentence)
    tags = _hanta().tag_sent([word[:MAX_TAGGED_WORD_CHARACTERS] for word in words], taglevel=0)
    for word, tag in zip(words, tags, strict=True):
        # In all versions of HanTa, NN and NP are the tags of common and proper nouns.
        if tag.startswith(("NN", "NP")) and LETTER.search(word):
            yield word.lower()


def _roles(parsed: Any) -> Iterator[tuple[str, int]]:
    for token in parsed:
        if token.pos_ in ("NOUN", "PROPN") and LETTER.search(token.text):
            yield token.lower_, ROLES.get(token.dep_, OTHER)


def _highest(roles: Iterable[tuple[str, int]]) -> Nouns:
    nouns: Nouns = {}
    for noun, role in roles:
        nouns[noun] = max(role, nouns.get(noun, role))
    return nouns


@cache
def _hanta() -> Any:
    module = import_module("HanTa.HanoverTagger")
    # HanTa unpickles its model, and would look for a bare name in the current directory first.
    path = Path(str(module.__file__)).resolve().with_name("morphmodel_en.pgz")
    if not path.is_file():
        raise UserError(f"{path}: no such file: pip install --force-reinstall HanTa")
    return module.HanoverTagger(str(path))


@cache
def _spacy(name: str) -> Any:
    source = pipelines()[name].source
    try:
        return import_module("spacy").load(source, exclude=["ner", "lemmatizer", "senter"])
    except (ImportError, OSError, ValueError) as error:
        raise UserError(f"spaCy cannot load {source}: {error}") from None
