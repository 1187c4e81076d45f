"""The command line, end to end."""

import json
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from bert4so.common.value_trees import merge
from bert4so.io.jsonl import write_records
from conftest import assignments, tiny_values

TESTED_SYSTEMS = ["bert4so"]  # these tests do not depend on the system


@pytest.fixture
def corpus(tmp_path, documents):
    for split in ("train", "valid", "test"):
        records = [{"id": d.id, "sentences": list(d.sentences)} for d in documents]
        write_records(tmp_path / f"{split}.jsonl", records)
    return tmp_path


def test_version_is_printed(bert4so):
    assert bert4so("--version") == (0, f"bert4so {version('bert4so')}\n", "")


def test_order_reads_and_prints_text(bert4so, trained, model):
    code, out, err = bert4so(
        "order", "--model", trained, stdin="sleep now\neat bread\n\n\nwe go\r\n  home \n"
    )
    assert (code, err) == (0, "")
    first, second = out.rstrip("\n").split("\n\n")
    assert sorted(first.split("\n")) == ["eat bread", "sleep now"]
    assert sorted(second.split("\n")) == ["home", "we go"]


def test_order_reads_and_prints_jsonl_and_keeps_other_keys(bert4so, trained, tmp_path):
    given = [
        {"sentences": ["sleep", "eat bread", "wake up"], "source": "é", "order": "old"},
        {"sentences": ["alone"]},
        {"sentences": ["bread " * 200, "home"], "id": 7},
    ]
    write_records(tmp_path / "in.jsonl", given)
    code, out, _ = bert4so("order", tmp_path / "in.jsonl", "--model", trained)
    answers = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [record["sentences"] for record in answers] == [record["sentences"] for record in given]
    assert (answers[0]["source"], answers[2]["id"]) == ("é", 7)
    for record in answers:
        assert sorted(record["order"]) == list(range(len(record["sentences"])))
        assert len(record["scores"]) == len(record["sentences"])
        assert 0 < record["confidence"] <= 1
    assert [record["truncated"] for record in answers] == [[], [], [0]]
    # The Python API returns the same.
    from bert4so import Orderer

    ordering = Orderer.from_pretrained(trained).order(given[0]["sentences"])
    assert answers[0]["order"] == ordering.order
    assert answers[0]["scores"] == pytest.approx(ordering.scores, abs=1e-5)


def test_format_sets_the_format_on_stdout(bert4so, trained):
    _, out, _ = bert4so("order", "-", "--model", trained, "--format", "jsonl", stdin="a\nb\n")
    assert json.loads(out)["sentences"] == ["a", "b"]
    record = '{"sentences": ["a", "b"]}'
    _, out, _ = bert4so("order", "--model", trained, "--format", "text", stdin=record)
    assert sorted(out.split()) == ["a", "b"]


def test_train_evaluate_score_order(bert4so, run, corpus, encoder, tmp_path):
    config, folder = tmp_path / "tiny.toml", tmp_path / "learned"
    tiny = merge(tiny_values(encoder, run.system), {"train": {"epochs": 1}})
    sets = [part for change in assignments(tiny) for part in ("--set", change)]
    code, out, err = bert4so("train", config, *sets, "--corpus", corpus, "--out", folder)
    assert code == 0, err
    valid, test, printed = out.splitlines()
    assert printed == str(folder)
    assert "epoch 1/1  loss" in err

    code, out, _ = bert4so("evaluate", folder, corpus, "--out", tmp_path / "answers")
    assert code == 0
    assert test == f"test: {line_of(out)}  documents 16  (left out: 4 of one sentence)"
    assert out.endswith("documents  16 of 20: 4 of one sentence left out\n")
    again = bert4so("evaluate", folder, corpus, "--split", "valid")[1]
    assert valid == f"valid: {line_of(again)}  documents 16  (left out: 4 of one sentence)"

    answers = [tmp_path / "answers" / name for name in ("predictions.jsonl", "truth.jsonl")]
    assert bert4so("score", *answers)[1] == out
    assert answers[0].read_text() == (folder / "predictions.jsonl").read_text()
    with_single = bert4so("score", *answers, "--count-single")[1]
    assert with_single == bert4so("evaluate", folder, corpus, "--count-single")[1]
    assert with_single.endswith("documents  20\n")

    assert bert4so("train", config, "--out", folder)[0] == 2  # does not overwrite the run


def test_a_run_can_be_evaluated_on_a_sample(bert4so, run, corpus, encoder, tmp_path):
    tiny = merge(
        tiny_values(encoder, run.system),
        {"train": {"epochs": 1}, "valid_documents": 7, "test_documents": 9},
    )
    sets = [part for change in assignments(tiny) for part in ("--set", change)]
    given = ["--corpus", corpus, "--out", tmp_path / "learned"]
    code, out, err = bert4so("train", tmp_path / "tiny.toml", *sets, *given)
    assert code == 0, err
    counts = [
        sum(map(int, re.findall(r"(?:documents|out:) (\d+)", line))) for line in out.split("\n")
    ]
    assert counts[:2] == [7, 9]


def line_of(table):
    """The line that `train` prints, from the table that `evaluate` prints."""
    values = {line.split()[0]: line.split()[1] for line in table.splitlines()[1:]}
    return "  ".join(f"{name} {values[name]}" for name in ("tau", "pmr", "accuracy"))


def test_evaluate_prints_json_and_several_shuffles(bert4so, trained, corpus):
    _, out, _ = bert4so("evaluate", trained, corpus, "--json", "--shuffles", "3")
    values = json.loads(out)
    assert values["metrics"]["documents"] == 16
    low, high = values["intervals"]["tau"]
    assert low <= values["metrics"]["tau"] <= high
    assert values["shuffles"]["number"] == 3
    assert 0 <= values["shuffles"]["consistency"] <= 1
    printed = bert4so("evaluate", trained, corpus, "--shuffles", "3")[1]
    mean, spread = (values["shuffles"][key]["tau"] for key in ("mean", "spread"))
    assert f"{mean:.4f} ± {spread:.4f}" in printed
    same = f"{100 * values['shuffles']['consistency']:.2f}"
    assert printed.splitlines()[-2].split()[:2] == ["consistency", same]
    assert json.loads(bert4so("evaluate", trained, corpus, "--json")[1])["shuffles"] is None


def test_evaluate_writes_a_report(bert4so, trained, corpus, tmp_path):
    code, _, err = bert4so("evaluate", trained, corpus, "--report", tmp_path / "page.html")
    assert (code, err) == (0, "")
    page = (tmp_path / "page.html").read_text()
    assert "bert4so evaluate" in page
    assert "16 validation documents" in page
    bert4so("evaluate", trained, corpus, "--split", "valid", "--report", tmp_path / "page.html")
    assert "no temperature could be fitted" in (tmp_path / "page.html").read_text()


def test_an_unwritable_report_is_an_error_before_the_work(bert4so, trained, corpus, tmp_path):
    page = corpus / "test.jsonl" / "page.html"
    code, out, err = bert4so("evaluate", trained, corpus, "--report", page)
    assert (code, out) == (2, "")
    assert err.startswith(f"bert4so: {page.parent}: ")
    page = tmp_path / "nowhere" / "yet" / "page.html"
    assert bert4so("evaluate", trained, corpus, "--report", page)[0] == 0
    assert page.exists()


def test_compare_prints_a_table_and_json(bert4so, tmp_path):
    ids = [f"d{k}" for k in range(30)]
    true = [{"id": name, "order": [0, 1, 2, 3]} for name in ids] + [{"id": "x", "order": [0]}]
    half = [{**r, "order": [1, 0, 3, 2]} if k % 2 else r for k, r in enumerate(true)]
    for name, records in (("true", true), ("a", true), ("b", half)):
        write_records(tmp_path / f"{name}.jsonl", records)
    files = [tmp_path / f"{name}.jsonl" for name in ("a", "b", "true")]
    code, out, _ = bert4so("compare", *files)
    assert code == 0
    _, tau, pmr, *_, last = out.splitlines()
    assert tau.split()[:4] == ["tau", "1.0000", "0.6667", "0.3333"]
    assert pmr.split()[:4] == ["pmr", "100.00", "50.00", "50.00"]
    assert tau.split()[5] == "†"
    assert last == "documents  30 of 31: 1 of one sentence left out"
    comparisons = json.loads(bert4so("compare", *files, "--json")[1])
    assert comparisons[0]["metric"] == "tau"
    assert comparisons[0]["t_test"] < 0.01


@pytest.mark.parametrize(
    "lines, message",
    [
        (
            ['{"id": "a", "order": [0, 1, 1]}'],
            ":1: [0, 1, 1] is not an order: it must contain",
        ),
        (['{"id": "a", "order": [0, 1]}'], ":1: the order has 2 sentences, but "),
        (['{"id": "b", "order": [0, 1, 2]}'], ": no order for document 'a' of"),
        (['{"id": "a", "order": [0, 1, 2]}'] * 2, ": document 'a' is not in"),
        (['{"id": "a", "order": [0, 1, 2]}', "{"], ":2: not JSON"),
        (['{"id": 3, "order": [0, 1, 2]}'], ':1: "id" must be a string (got 3)'),
        (['{"id": "a"}'], ":1: None is not an order"),
        (["[0, 1, 2]"], ":1: each line must be a JSON object (got [0, 1, 2])"),
        ([], ": empty: must have one order per line"),
    ],
)
def test_score_refuses_invalid_orders(bert4so, tmp_path, lines, message):
    predicted, true = tmp_path / "predicted.jsonl", tmp_path / "true.jsonl"
    predicted.write_text("\n".join(lines))
    true.write_text('{"id": "a", "order": [2, 0, 1]}\n')
    code, out, err = bert4so("score", predicted, true)
    assert (code, out) == (2, "")
    assert err.startswith(f"bert4so: {predicted}{message}")
    assert err.count("\n") == 1


def test_score_matches_hand_computed_metrics(bert4so, tmp_path):
    predicted, true = tmp_path / "predicted.jsonl", tmp_path / "true.jsonl"
    predicted.write_text('{"id": "b", "order": [1, 0]}\n\n{"id": "a", "order": [0, 1, 2]}\n')
    true.write_text('{"id": "a", "order": [0, 2, 1]}\n{"id": "b", "order": [1, 0]}\n')
    out = bert4so("score", predicted, true)[1]
    assert line_of(out) == "tau 0.6667  pmr 50.00  accuracy 60.00"
    assert out.endswith("documents  2\n")


@pytest.mark.parametrize(
    "args, message",
    [
        (["train", "none.toml"], "none.toml: no such file"),
        (["order", "none.txt", "--model", "none"], "none.txt: No such file or directory"),
        (["evaluate", "none", "none"], 'corpus "none" not found: no such folder here'),
        (["score", "none.jsonl", "none.jsonl"], "none.jsonl: No such file or directory"),
    ],
)
def test_a_missing_file_is_named(bert4so, args, message):
    code, out, err = bert4so(*args)
    assert (code, out) == (2, "")
    assert err.startswith(f"bert4so: {message}")


def test_empty_input_is_an_error(bert4so, trained):
    code, _, err = bert4so("order", "--model", trained, stdin="\n \n")
    assert (code, err) == (2, "bert4so: -: contains no sentences\n")


def test_order_runs_as_a_process_in_a_pipe(trained):
    done = subprocess.run(
        [sys.executable, "-m", "bert4so", "order", "--model", trained],
        input="sleep\neat bread\n",
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == ["eat bread", "sleep"]


def test_a_closed_pipe_gives_no_traceback(trained, tmp_path):
    path = tmp_path / "many.jsonl"
    path.write_text('{"sentences": ["sleep", "eat bread"]}\n' * 3000)
    command = f"{sys.executable} -m bert4so order {path} --model {trained} | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.parametrize("command", ["order", "train", "evaluate", "score"])
def test_help_shows_an_example(bert4so, command):
    code, out, _ = bert4so(command, "--help")
    assert code == 0
    assert f"bert4so {command} " in out.split("Usage")[1].split("\n", 1)[1]


def test_a_corpus_name_can_be_a_number(bert4so, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("run.toml").write_text('system = "bert4so"\ncorpus = "none"\n')
    Path("2020").mkdir()
    code, _, err = bert4so("train", "run.toml", "--corpus", "2020")
    assert (code, err) == (
        2,
        "bert4so: 2020: has no train.jsonl, train.jsonl.gz or train.jsonl.zst\n",
    )
