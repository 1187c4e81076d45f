"""`bert4so.train` does from Python what the command does."""

import json

import pytest

from bert4so import Corpus, Document, Orderer, Run, UserError, evaluate, load_corpus, train
from bert4so.io.jsonl import write_records
from conftest import TINY_TRAINING

TESTED_SYSTEMS = ["bert4so"]  # these tests do not depend on the system


@pytest.fixture
def corpus(documents, tmp_path):
    """A corpus on disk."""
    folder = tmp_path / "days"
    folder.mkdir()
    for split in ("train", "valid", "test"):
        records = [{"id": d.id, "sentences": d.sentences} for d in documents]
        write_records(folder / f"{split}.jsonl", records)
    return folder


@pytest.fixture
def config(encoder):
    """The settings of a tiny model."""
    model = {"encoder": str(encoder), "heads": 2, "pooling": "mean"}
    return {"system": "bert4so", "model": model, "train": TINY_TRAINING}


def test_a_run_is_trained_and_used(config, corpus, tmp_path):
    run = train(config, corpus=corpus, out=tmp_path / "run")
    assert run.path == tmp_path / "run"
    facts = json.loads((run.path / "metrics.json").read_text())
    assert run.metrics.keys() == {"valid", "test"}
    for split, measured in run.metrics.items():
        assert {name: getattr(measured, name) for name in facts[split]} == facts[split]
    assert Run(str(run.path)) == run
    sentences = ["then eat bread on day 3", "first we wake up on day 3"]
    expected = Orderer.from_pretrained(run.path).order(sentences)
    assert run.orderer(threads=1).order(sentences) == expected
    assert evaluate(run.orderer(), corpus).metrics == run.metrics["test"]


def test_a_file_and_a_dictionary_give_the_same_run(config, corpus, tmp_path):
    lines = [f'system = "bert4so"\ncorpus = "{corpus}"\n']
    for table in ("model", "train"):
        values = {k: v for k, v in config[table].items() if not isinstance(v, dict)}
        lines += [f"[{table}]\n", *(f"{k} = {json.dumps(v)}\n" for k, v in values.items())]
    rates = TINY_TRAINING["learning_rate"]
    lines += ["[train.learning_rate]\n", *(f"{k} = {v}\n" for k, v in rates.items())]
    (tmp_path / "tiny.toml").write_text("".join(lines))
    by_file = train(tmp_path / "tiny.toml", out=tmp_path / "file")
    by_values = train({**config, "corpus": str(corpus)}, out=tmp_path / "values")
    for name in ("run.toml", "model.safetensors", "predictions.jsonl"):
        assert (by_file.path / name).read_bytes() == (by_values.path / name).read_bytes(), name


def test_documents_in_memory_give_the_same_run(config, corpus, tmp_path):
    on_disk = train(config, corpus=corpus, out=tmp_path / "disk")
    loaded = train(config, corpus=load_corpus(corpus), out=tmp_path / "loaded")
    assert (on_disk.path / "run.toml").read_bytes() == (loaded.path / "run.toml").read_bytes()
    corpus = load_corpus(corpus)
    mine = Corpus(list(corpus.train), tuple(corpus.valid), tuple(corpus.test))
    in_memory = train(config, corpus=mine, out=tmp_path / "memory")
    assert in_memory.metrics == on_disk.metrics == loaded.metrics
    assert 'corpus = "in memory"' in (in_memory.path / "run.toml").read_text()


def test_a_corpus_without_test_documents_has_no_test_metrics(config, documents, tmp_path):
    run = train(config, corpus=Corpus(documents, documents), out=tmp_path / "run")
    assert run.metrics.keys() == {"valid"}


def test_a_bad_document_is_named_or_skipped(config, documents, tmp_path, capsys):
    long = Document("long", [f"we eat bread number {i}" for i in range(200)])
    corpus = Corpus([*documents, long], documents)
    with pytest.raises(UserError, match=r'document "long": .* too long'):
        train(config, corpus=corpus, out=tmp_path / "run")
    assert train(config, corpus=corpus, out=tmp_path / "skipped", on_error="skip").metrics
    assert 'skipped: document "long"' in capsys.readouterr().err


def test_a_finished_run_is_not_trained_again(config, documents, tmp_path):
    corpus = Corpus(documents, documents)
    train(config, corpus=corpus, out=tmp_path / "run", resume=True)
    with pytest.raises(UserError, match="contains a finished run"):
        train(config, corpus=corpus, out=tmp_path / "run", resume=True)


def test_invalid_arguments_are_refused_before_anything_is_written(config, documents, tmp_path):
    corpus, out = Corpus(documents, documents), tmp_path / "run"
    with pytest.raises(UserError, match=r'^config: missing key "corpus"'):
        train(config, out=out)
    with pytest.raises(UserError, match='corpus "none" not found: no such folder'):
        train(config, corpus="none", out=out)
    with pytest.raises(UserError, match=r'config \[train\]: unknown key "epoch"'):
        train({**config, "train": {"epoch": 1}}, corpus=corpus, out=out)
    with pytest.raises(UserError, match=r"none\.toml: no such file"):
        train(tmp_path / "none.toml", corpus=corpus, out=out)
    with pytest.raises(UserError, match="on_error must be"):
        train(config, corpus=corpus, out=out, on_error="ignore")
    assert not out.exists()


def test_a_folder_without_a_finished_run_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"not a finished run: it has no metrics\.json"):
        Run(tmp_path)
    (tmp_path / "metrics.json").write_text('{"valid": {"tau": 1}}')
    with pytest.raises(UserError, match="not the metrics of a run"):
        _ = Run(tmp_path).metrics
