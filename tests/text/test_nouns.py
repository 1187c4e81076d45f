"""Nouns and their roles with each tagger, and the cache of nouns."""

import gzip
import json
import os
import pickle
from types import SimpleNamespace

import pytest

from bert4so.errors import UserError
from bert4so.modeling.inputs.graph_input import GraphInput
from bert4so.modeling.inputs.words_input import WordsInput
from bert4so.text import nouns, tagging
from bert4so.text.nouns import OBJECT, OTHER, SUBJECT, find_nouns, find_tagger, full_name, pipelines
from bert4so.text.tagging import CHUNK_SENTENCES, Tagger, cache_folder
from bert4so.text.vocabulary import Vocabulary


def test_without_a_tagger_all_but_stop_words_are_nouns():
    sentence = "The Family went with 2 dogs to a_fair; the FAMILY, it was late."
    expected = dict.fromkeys(["family", "dogs", "fair", "late"], OTHER)
    assert find_nouns("words", [sentence, "It is so.", "42!"]) == [expected, {}, {}]
    assert full_name("words") == "words"


def fake_spacy(monkeypatch, *tokens):
    """Make spaCy return these tokens (text, part of speech, dependency) for any sentence."""
    parsed = [
        SimpleNamespace(text=text, lower_=text.lower(), pos_=pos, dep_=dep)
        for text, pos, dep in tokens
    ]
    pipeline = SimpleNamespace(pipe=lambda sentences: [parsed for _ in sentences])
    monkeypatch.setattr(nouns, "_spacy", lambda name: pipeline)


def test_spacy_roles_of_subjects_and_direct_objects(monkeypatch):
    fake_spacy(
        monkeypatch,
        ("Models", "NOUN", "nsubj"),
        ("learn", "VERB", "ROOT"),
        ("tasks", "NOUN", "dobj"),
        ("Rome", "PROPN", "pobj"),
        ("papers", "NOUN", "nsubjpass"),
        ("%", "NOUN", "nsubj"),
        ("we", "PRON", "nsubj"),
    )
    expected = {"models": SUBJECT, "tasks": OBJECT, "rome": OTHER, "papers": OTHER}
    assert find_nouns("en_core_web_sm", ["one", "two"]) == [expected, expected]
    assert (SUBJECT, OBJECT, OTHER) == (3, 2, 1)


@pytest.mark.parametrize("deps", [("dobj", "nsubj", "pobj"), ("nsubj", "dobj"), ("pobj", "nsubj")])
def test_highest_role_in_a_sentence_counts(monkeypatch, deps):
    fake_spacy(monkeypatch, *(("model", "NOUN", dep) for dep in deps))
    assert find_nouns("en_core_web_sm", ["any"]) == [{"model": SUBJECT}]


def fake_packages(monkeypatch, folder, *packages):
    """Fake the installed packages; spaCy pipelines among them are in `folder`."""
    meta = {"lang": "en", "name": "core_web_sm", "version": "3.8.0"}
    (folder / "meta.json").write_text(json.dumps(meta))
    spec = SimpleNamespace(submodule_search_locations=[str(folder)])
    monkeypatch.setattr(nouns, "find_spec", lambda name: spec if name in packages else None)
    monkeypatch.setattr(nouns, "version", lambda name: "1.2.1")
    monkeypatch.delenv("BERT4SO_SPACY", raising=False)


@pytest.mark.parametrize(
    "packages, best, name",
    [
        (["spacy", "en_core_web_sm", "HanTa"], "en_core_web_sm", "spacy en_core_web_sm 3.8.0"),
        (["en_core_web_sm", "HanTa"], "hanta", "hanta 1.2.1"),
        (["spacy", "HanTa"], "hanta", "hanta 1.2.1"),
        (["spacy"], "words", "words"),
    ],
)
def test_find_tagger_returns_the_best_installed_tagger(monkeypatch, tmp_path, packages, best, name):
    fake_packages(monkeypatch, tmp_path, *packages)
    assert find_tagger() == find_tagger(best) == best
    assert full_name(best) == name
    assert find_tagger("words") == "words"


def test_pipeline_from_a_folder(monkeypatch, tmp_path):
    own, installed = tmp_path / "own", tmp_path / "installed"
    own.mkdir()
    installed.mkdir()
    fake_packages(monkeypatch, installed, "spacy", "en_core_web_sm")
    monkeypatch.setenv("BERT4SO_SPACY", str(own))
    with pytest.raises(UserError, match="own: not a spaCy pipeline"):
        find_tagger()
    (own / "meta.json").write_text('{"lang": "en", "name": "mine", "version": "0.1"}')
    assert [pipeline.source for pipeline in pipelines().values()] == [str(own), "en_core_web_sm"]
    assert full_name(find_tagger()) == "spacy en_mine 0.1"
    assert find_tagger("en_core_web_sm") == "en_core_web_sm"


def test_error_names_a_tagger_that_is_not_installed(monkeypatch, tmp_path):
    fake_packages(monkeypatch, tmp_path)
    with pytest.raises(UserError, match=r'noun tagger "hanta" is not installed'):
        find_tagger("hanta")


def test_installed_taggers_accept_odd_text():
    odd = [
        "\x00",
        "...",
        "\ud800 half",
        "a" * 50_000,
        "ζ ω \U0001f600 مرحبا",
        " ".join("ab" * 9000),
    ]
    for tagger in {find_tagger(), "words"}:
        assert len(find_nouns(tagger, odd)) == len(odd)


def test_hanta_finds_nouns_without_roles():
    (result,) = find_nouns("hanta", ["The family went to the fair in London with two dogs."])
    assert result == dict.fromkeys(["family", "fair", "london", "dogs"], OTHER)
    assert full_name("hanta").startswith("hanta 1.")


def test_spacy_finds_nouns_and_roles():
    pytest.importorskip("spacy")
    if not pipelines():
        pytest.skip("no spaCy pipeline is installed")
    (result,) = find_nouns(next(iter(pipelines())), ["The dog chased a cat in the garden."])
    assert result == {"dog": SUBJECT, "cat": OBJECT, "garden": OTHER}


# The cache


@pytest.fixture
def tagged_sentences(monkeypatch, tmp_path):
    """The sentences passed to a fake tagger, which returns the longest word of each."""
    monkeypatch.setenv("BERT4SO_CACHE", str(tmp_path / "cache"))
    sentences = []

    def tag(tagger, texts):
        sentences.extend(texts)
        return [longest(text) for text in texts]

    monkeypatch.setattr(tagging, "find_tagger", lambda name: name)
    monkeypatch.setattr(tagging, "full_name", lambda tagger: f"{tagger} 1.0")
    monkeypatch.setattr(tagging, "find_nouns", tag)
    return sentences


def longest(sentence):
    return {max(sentence.split(), key=len): OTHER}


SENTENCES = [f"sentence {i} says nothing" for i in range(CHUNK_SENTENCES + 5)]
NOUNS = [longest(sentence) for sentence in SENTENCES]


def test_corpus_is_tagged_once(tagged_sentences, tmp_path):
    first = Tagger("fake")
    first.prepare(SENTENCES * 2)
    assert first(SENTENCES) == NOUNS
    first.prepare(SENTENCES)
    assert tagged_sentences == SENTENCES
    later = Tagger("fake")
    later.prepare([*SENTENCES, "one more sentence"])
    assert later(SENTENCES[::-1]) == NOUNS[::-1]
    assert tagged_sentences[len(SENTENCES) :] == ["one more sentence"]
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["nouns-fake-1.0.tsv"]


def test_cache_is_separate_per_tagger_and_version(tagged_sentences, monkeypatch, tmp_path):
    Tagger("fake").prepare(SENTENCES)
    cache_file = tmp_path / "cache" / "nouns-fake-1.0.tsv"
    for name in ("fake 1.1", "Fake 1.0"):
        tagged_sentences.clear()
        monkeypatch.setattr(tagging, "full_name", lambda tagger, name=name: name)
        # Not even if the names of their cache files are equal.
        (tmp_path / "cache" / "nouns-fake-1.1.tsv").write_bytes(cache_file.read_bytes())
        Tagger("fake").prepare(SENTENCES)
        assert tagged_sentences == SENTENCES


def test_cache_of_an_older_cache_version_is_ignored(tagged_sentences, monkeypatch):
    Tagger("fake").prepare(SENTENCES)
    monkeypatch.setattr(tagging, "CACHE_VERSION", tagging.CACHE_VERSION + 1)
    Tagger("fake").prepare(SENTENCES)
    assert tagged_sentences == SENTENCES * 2


def test_truncated_cache_loses_only_truncated_lines(tagged_sentences, tmp_path):
    few = SENTENCES[:3]
    Tagger("fake").prepare(few)
    (cache_file,) = (tmp_path / "cache").iterdir()
    whole = cache_file.read_bytes()
    for cut in range(len(whole)):
        cache_file.write_bytes(whole[:cut])
        tagged_sentences.clear()
        tagger = Tagger("fake")
        tagger.prepare(few)
        assert tagger(few) == NOUNS[:3]
        # The first line is blank; the line break of the last one may be missing.
        assert len(tagged_sentences) == 3 - sum(cut >= end for end in ends(whole))
        tagged_sentences.clear()
        Tagger("fake").prepare(few)
        assert tagged_sentences == []


def ends(whole):
    """The end of each line, without its line break."""
    return [k for k, byte in enumerate(whole) if byte == ord("\n") and k > 0]


def test_invalid_cache_lines_are_skipped(tagged_sentences, tmp_path):
    Tagger("fake").prepare(SENTENCES)
    (cache_file,) = (tmp_path / "cache").iterdir()
    lines = cache_file.read_bytes().splitlines(keepends=True)
    key = lines[1].split(b"\t")[0]
    noise = [b"\xff\xfe\x00\n", b"no tab\n", key + b"\t[1]\n", key + b"\tNaN\n", key + b"\n"]
    cache_file.write_bytes(b"".join([*noise, *lines[2:]]))
    tagged_sentences.clear()
    tagger = Tagger("fake")
    tagger.prepare(SENTENCES)
    assert tagged_sentences == SENTENCES[:1]
    assert tagger(SENTENCES) == NOUNS


def test_tagging_works_without_a_writable_cache(tagged_sentences, monkeypatch, tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("BERT4SO_CACHE", str(tmp_path / "file"))
    tagger = Tagger("fake")
    for _ in range(2):
        tagger.prepare(SENTENCES)
        assert tagger(SENTENCES) == NOUNS
    assert tagged_sentences == SENTENCES
    assert capsys.readouterr().err.count("cannot cache nouns for later runs") == 1


def test_other_sentences_are_cached_in_memory_only(tagged_sentences, monkeypatch, tmp_path):
    monkeypatch.setattr(tagging, "MAX_UNSAVED_SENTENCES", 10)
    tagger = Tagger("fake")
    for start in range(0, 40, 2):
        few = SENTENCES[start : start + 4]
        assert tagger([*few, few[0]]) == [*NOUNS[start : start + 4], NOUNS[start]]
    assert tagger(SENTENCES[40:42]) == NOUNS[40:42]
    assert not (tmp_path / "cache").exists()
    # Two new sentences per call, plus the few that were dropped from the cache.
    assert 42 < len(tagged_sentences) < 60
    assert len(tagger._unsaved) < 20


def test_many_sentences_are_tagged_in_several_processes(monkeypatch):
    monkeypatch.setattr(tagging, "MAX_IN_PROCESS_SENTENCES", 0)
    tagged = list(Tagger("words")._tagged(SENTENCES))
    assert [sentence for chunk, _ in tagged for sentence in chunk] == SENTENCES
    expected = find_nouns("words", SENTENCES)
    assert [nouns for _, chunk in tagged for nouns in chunk] == expected


def test_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("BERT4SO_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("BERT4SO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "bert4so"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "bert4so"


class CreatesMarker:
    """When unpickled, creates the folder "marker" in the current directory."""

    def __reduce__(self):
        return os.mkdir, ("marker",)


def test_hanta_unpickles_only_its_own_model(tmp_path, monkeypatch):
    with gzip.open(tmp_path / "morphmodel_en.pgz", "wb") as file:
        pickle.dump(CreatesMarker(), file)
    input = GraphInput(WordsInput(Vocabulary(["bread"]), 10), Tagger("words"))
    input.save(tmp_path)  # the hostile file is also in the folder of the run's input
    (tmp_path / "graph.json").write_text('{"tagger": "hanta", "version": "hanta 1"}')
    monkeypatch.chdir(tmp_path)
    nouns._hanta.cache_clear()
    loaded = GraphInput.load(tmp_path)
    assert loaded.tagger(["The dog eats bread."]) == [{"dog": OTHER, "bread": OTHER}]
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize("line", ['{"dog": "x"}', '{"dog": 4}', "[" * 100_000, "[1]", "{"])
def test_cache_values_that_are_not_nouns_are_skipped(tmp_path, monkeypatch, line):
    monkeypatch.setenv("BERT4SO_CACHE", str(tmp_path))
    cache = tagging.Cache("hanta 1")
    cache.path.write_text(f"key\t{line}\ngood\t{{}}\n")
    assert list(cache.read({"key", "good"})) == [("good", "{}")]
