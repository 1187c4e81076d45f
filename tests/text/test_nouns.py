"""Nouns and their roles, by every tagger; and what is kept of them."""

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
from bert4so.text.tagging import CHUNK, Tagger, cache_folder
from bert4so.text.vocabulary import Vocabulary


def test_without_a_tagger_words_that_are_not_listed_are_nouns():
    sentence = "The Family went with 2 dogs to a_fair; the FAMILY, it was late."
    expected = dict.fromkeys(["family", "dogs", "fair", "late"], OTHER)
    assert find_nouns("words", [sentence, "It is so.", "42!"]) == [expected, {}, {}]
    assert full_name("words") == "words"


def spacy_reads(monkeypatch, *tokens):
    """Let spaCy find these tokens in any sentence: text, part of speech, dependency."""
    parsed = [
        SimpleNamespace(text=text, lower_=text.lower(), pos_=pos, dep_=dep)
        for text, pos, dep in tokens
    ]
    pipeline = SimpleNamespace(pipe=lambda sentences: [parsed for _ in sentences])
    monkeypatch.setattr(nouns, "_spacy", lambda name: pipeline)


def test_roles_are_those_of_subjects_and_direct_objects(monkeypatch):
    spacy_reads(
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
def test_of_several_roles_in_a_sentence_the_highest_counts(monkeypatch, deps):
    spacy_reads(monkeypatch, *(("model", "NOUN", dep) for dep in deps))
    assert find_nouns("en_core_web_sm", ["any"]) == [{"model": SUBJECT}]


def machine_with(monkeypatch, folder, *packages):
    """A machine with these packages, of spaCy's pipelines among them the one in a folder."""
    meta = {"lang": "en", "name": "core_web_sm", "version": "3.8.0"}
    (folder / "meta.json").write_text(json.dumps(meta))
    there = SimpleNamespace(submodule_search_locations=[str(folder)])
    monkeypatch.setattr(nouns, "find_spec", lambda name: there if name in packages else None)
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
def test_the_best_tagger_of_the_machine_is_found(monkeypatch, tmp_path, packages, best, name):
    machine_with(monkeypatch, tmp_path, *packages)
    assert find_tagger() == find_tagger(best) == best
    assert full_name(best) == name
    assert find_tagger("words") == "words"


def test_a_pipeline_may_stand_in_a_folder(monkeypatch, tmp_path):
    own, installed = tmp_path / "own", tmp_path / "installed"
    own.mkdir()
    installed.mkdir()
    machine_with(monkeypatch, installed, "spacy", "en_core_web_sm")
    monkeypatch.setenv("BERT4SO_SPACY", str(own))
    with pytest.raises(UserError, match="own: not a pipeline of spaCy"):
        find_tagger()
    (own / "meta.json").write_text('{"lang": "en", "name": "mine", "version": "0.1"}')
    assert [one.place for one in pipelines().values()] == [str(own), "en_core_web_sm"]
    assert full_name(find_tagger()) == "spacy en_mine 0.1"
    assert find_tagger("en_core_web_sm") == "en_core_web_sm"


def test_a_tagger_that_is_not_there_is_named(monkeypatch, tmp_path):
    machine_with(monkeypatch, tmp_path)
    with pytest.raises(UserError, match='nouns by "hanta": not on this machine, which has words'):
        find_tagger("hanta")


def test_every_tagger_of_this_machine_takes_odd_text():
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
    (found,) = find_nouns("hanta", ["The family went to the fair in London with two dogs."])
    assert found == dict.fromkeys(["family", "fair", "london", "dogs"], OTHER)
    assert full_name("hanta").startswith("hanta 1.")


def test_spacy_finds_nouns_and_roles():
    pytest.importorskip("spacy")
    if not pipelines():
        pytest.skip("no pipeline of spaCy here")
    (found,) = find_nouns(next(iter(pipelines())), ["The dog chased a cat in the garden."])
    assert found == {"dog": SUBJECT, "cat": OBJECT, "garden": OTHER}


# What is kept


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """The sentences that a tagger was asked for, which finds their longest word."""
    monkeypatch.setenv("BERT4SO_CACHE", str(tmp_path / "cache"))
    sentences = []

    def found(tagger, some):
        sentences.extend(some)
        return [longest(sentence) for sentence in some]

    monkeypatch.setattr(tagging, "find_tagger", lambda wanted: wanted)
    monkeypatch.setattr(tagging, "full_name", lambda tagger: f"{tagger} 1.0")
    monkeypatch.setattr(tagging, "find_nouns", found)
    return sentences


def longest(sentence):
    return {max(sentence.split(), key=len): OTHER}


SENTENCES = [f"sentence {i} says nothing" for i in range(CHUNK + 5)]
FOUND = [longest(sentence) for sentence in SENTENCES]


def test_a_corpus_is_tagged_once(asked, tmp_path):
    first = Tagger("fake")
    first.prepare(SENTENCES * 2)
    assert first(SENTENCES) == FOUND
    first.prepare(SENTENCES)
    assert asked == SENTENCES
    later = Tagger("fake")
    later.prepare([*SENTENCES, "one more sentence"])
    assert later(SENTENCES[::-1]) == FOUND[::-1]
    assert asked[len(SENTENCES) :] == ["one more sentence"]
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["nouns-fake-1.0.tsv"]


def test_what_another_tagger_found_is_not_mixed_up(asked, monkeypatch, tmp_path):
    Tagger("fake").prepare(SENTENCES)
    kept = tmp_path / "cache" / "nouns-fake-1.0.tsv"
    for name in ("fake 1.1", "Fake 1.0"):
        asked.clear()
        monkeypatch.setattr(tagging, "full_name", lambda tagger, name=name: name)
        # Not even where its file comes to have the same name.
        (tmp_path / "cache" / "nouns-fake-1.1.tsv").write_bytes(kept.read_bytes())
        Tagger("fake").prepare(SENTENCES)
        assert asked == SENTENCES


def test_nor_what_was_found_before_the_rules_changed(asked, monkeypatch):
    Tagger("fake").prepare(SENTENCES)
    monkeypatch.setattr(tagging, "FORM", tagging.FORM + 1)
    Tagger("fake").prepare(SENTENCES)
    assert asked == SENTENCES * 2


def test_a_file_cut_anywhere_costs_only_what_is_cut(asked, tmp_path):
    few = SENTENCES[:3]
    Tagger("fake").prepare(few)
    (kept,) = (tmp_path / "cache").iterdir()
    whole = kept.read_bytes()
    for cut in range(len(whole)):
        kept.write_bytes(whole[:cut])
        asked.clear()
        tagger = Tagger("fake")
        tagger.prepare(few)
        assert tagger(few) == FOUND[:3]
        # The first is a blank line; the end of a line may be missing.
        assert len(asked) == 3 - sum(cut >= end for end in ends(whole))
        asked.clear()
        Tagger("fake").prepare(few)
        assert asked == []


def ends(whole):
    """Up to where each line must be there."""
    return [k for k, byte in enumerate(whole) if byte == ord("\n") and k > 0]


def test_noise_in_the_file_is_passed_over(asked, tmp_path):
    Tagger("fake").prepare(SENTENCES)
    (kept,) = (tmp_path / "cache").iterdir()
    lines = kept.read_bytes().splitlines(keepends=True)
    key = lines[1].split(b"\t")[0]
    noise = [b"\xff\xfe\x00\n", b"no tab\n", key + b"\t[1]\n", key + b"\tNaN\n", key + b"\n"]
    kept.write_bytes(b"".join([*noise, *lines[2:]]))
    asked.clear()
    tagger = Tagger("fake")
    tagger.prepare(SENTENCES)
    assert asked == SENTENCES[:1]
    assert tagger(SENTENCES) == FOUND


def test_where_nothing_can_be_kept_all_is_found(asked, monkeypatch, tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("BERT4SO_CACHE", str(tmp_path / "file"))
    tagger = Tagger("fake")
    for _ in range(2):
        tagger.prepare(SENTENCES)
        assert tagger(SENTENCES) == FOUND
    assert asked == SENTENCES
    assert capsys.readouterr().err.count("nouns are not kept for the next run") == 1


def test_text_of_no_corpus_is_tagged_once_and_not_kept_on_disk(asked, monkeypatch, tmp_path):
    monkeypatch.setattr(tagging, "PASSING", 10)
    tagger = Tagger("fake")
    for start in range(0, 40, 2):
        few = SENTENCES[start : start + 4]
        assert tagger([*few, few[0]]) == [*FOUND[start : start + 4], FOUND[start]]
    assert tagger(SENTENCES[40:42]) == FOUND[40:42]
    assert not (tmp_path / "cache").exists()
    # Two new ones each time, but for the few that were forgotten.
    assert 42 < len(asked) < 60
    assert len(tagger._passing) < 20


def test_many_sentences_are_shared_among_processes(monkeypatch):
    monkeypatch.setattr(tagging, "ALONE", 0)
    tagged = list(Tagger("words")._tagged(SENTENCES))
    assert [sentence for some, _ in tagged for sentence in some] == SENTENCES
    assert [one for _, found in tagged for one in found] == find_nouns("words", SENTENCES)


def test_where_things_are_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("BERT4SO_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("BERT4SO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "bert4so"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "bert4so"


class CreatesMarker:
    """Unpickled, it creates the folder "marker" in the current directory."""

    def __reduce__(self):
        return os.mkdir, ("marker",)


def test_hanta_unpickles_only_the_model_of_its_package(tmp_path, monkeypatch):
    with gzip.open(tmp_path / "morphmodel_en.pgz", "wb") as file:
        pickle.dump(CreatesMarker(), file)
    input = GraphInput(WordsInput(Vocabulary(["bread"]), 10), Tagger("words"))
    input.save(tmp_path)  # the hostile file is in the folder of the run's input, too
    (tmp_path / "graph.json").write_text('{"tagger": "hanta", "version": "hanta 1"}')
    monkeypatch.chdir(tmp_path)
    nouns._hanta.cache_clear()
    loaded = GraphInput.load(tmp_path)
    assert loaded.tagger(["The dog eats bread."]) == [{"dog": OTHER, "bread": OTHER}]
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize("line", ['{"dog": "x"}', '{"dog": 4}', "[" * 100_000, "[1]", "{"])
def test_what_is_not_nouns_in_the_cache_is_skipped(tmp_path, monkeypatch, line):
    monkeypatch.setenv("BERT4SO_CACHE", str(tmp_path))
    cache = tagging.Cache("hanta 1")
    cache.path.write_text(f"key\t{line}\ngood\t{{}}\n")
    assert list(cache.read({"key", "good"})) == [("good", "{}")]
