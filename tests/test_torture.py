"""A sample of the torture suite, through the same code; and that it finds broken promises."""

import gzip
import json

import pytest

from torture.answers import difference, unpacked, wrong
from torture.commands import Result, fault, in_process
from torture.expected import jsonl_fault, prepared_fault, text_fault
from torture.kinds import KINDS
from torture.runner import run_kind, temporary_workspace
from torture.table import facts, table
from torture.trial import HELD, REFUSED, Kind, Verdict, failed

SEED = 1
ANSWER = {
    "id": "a", "sentences": ["x", "y"], "order": [1, 0], "scores": [0.1, 0.2], "confidence": 0.5,
    "truncated": [],
}  # fmt: skip


@pytest.fixture(scope="module")
def workspace():
    with temporary_workspace() as workspace:
        yield workspace


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_a_sample_holds_or_is_refused(workspace, kind):
    failures = []
    tally = run_kind(kind, workspace, SEED, range(kind.sample), failures.append)
    assert not failures, "\n".join(failures)
    assert tally.counts.total() >= kind.sample


def test_trials_are_counted_and_can_be_reproduced(workspace):
    def one(trial):
        if trial.number == 2:
            raise ValueError("bug")
        yield HELD
        yield (REFUSED, failed(f"{trial.rng.random()}"))[trial.number]

    kind, said = Kind("one", "of one kind", 3, 1, one), []
    tally = run_kind(kind, workspace, 7, range(3), said.append)
    assert tally.counts == {Verdict.held: 2, Verdict.refused: 1, Verdict.failed: 2}
    assert said[1].splitlines()[-2:] == [
        "ValueError: bug",
        "  PYTHONPATH=tests python -m torture --only one --seed 7 --number 2",
    ]
    again = run_kind(kind, workspace, 7, [1], said.append)
    assert again.failures == tally.failures[:1]
    assert run_kind(kind, workspace, 8, [1], said.append).failures != again.failures
    assert table([tally]).splitlines()[1].split()[-5:-1] == ["5", "2", "1", "2"]
    row = {key: facts([tally])[0][key] for key in ("tried", "held", "refused", "failed")}
    assert row == {"tried": 5, "held": 2, "refused": 1, "failed": 2}


@pytest.mark.parametrize(
    "code, err, broken",
    [
        (0, "", ""),
        (0, "skipped: a\nskipped 1 in all\n", ""),
        (2, "bert4so: a\n", ""),
        (2, "skipped: a\nbert4so: a\n", ""),
        (2, "", "not one line"),
        (2, "bert4so: a\nb\n", "not one line"),
        (2, "bert4so: a\n\n", "not one line"),
        (2, "bert4so: a\nbert4so: b\n", "not one line"),
        (2, "bert4so: a", "not one line"),
        (2, f"bert4so: {'a' * 1000}\n", "a line of 1009 characters"),
        (2, "\x1b[31m[E:onnxruntime:, a.cc]\x1b[m\nbert4so: a\n", "lines of a library"),
        (0, "a.py:1: UserWarning: a\n", "lines of a library"),
        (1, "Traceback (most recent call last):\nValueError: a\n", "a traceback: ValueError: a"),
        (0, "Traceback (most recent call last):\nValueError: a\n", "a traceback: ValueError: a"),
        (1, "", "exit code 1"),
        (-9, "", "exit code -9"),
    ],
)
def test_a_broken_promise_is_found(code, err, broken):
    found = fault(Result(code, "", err))
    assert found.startswith(broken)
    assert bool(found) == bool(broken)


def test_a_command_that_does_not_end_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr("bert4so.cli.app", lambda: [None for _ in iter(int, 1)])
    result = in_process("order", seconds=0.1)
    assert fault(result).startswith("exit code -14: it does not end")


@pytest.mark.parametrize(
    "change",
    [
        {"order": [0, 0]},
        {"order": [0, 1]},
        {"order": [1]},
        {"scores": [0.1]},
        {"scores": [0.1, float("nan")]},
        {"confidence": 1.5},
        {"truncated": [2]},
    ],
)
def test_a_wrong_answer_is_found(change):
    assert wrong(ANSWER) == ""
    assert wrong(ANSWER | change)


def test_other_answers_are_found_and_rounding_is_allowed():
    rounded = ANSWER | {"scores": [0.1, 0.2 + 1e-6]}
    assert difference([rounded], [ANSWER]) == ""
    others = ({"scores": [0.1, 0.3]}, {"id": "b"}, {"more": 1}, {"sentences": ["x", "z"]})
    for other in others:
        assert difference([ANSWER | other], [ANSWER])
    assert difference([ANSWER] * 2, [ANSWER]) == "2 answers, not 1"


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_cut_file_is_not_unpacked(suffix):
    import zstandard

    pack = {".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}[suffix]
    two = pack(b"a" * 100) + pack(b"b")
    assert unpacked(two, suffix) == b"a" * 100 + b"b"
    for cut in (5, len(two) - 1):
        with pytest.raises((AssertionError, EOFError)):
            unpacked(two[:cut], suffix)


def test_lost_lines_are_found(tmp_path):
    answer = json.dumps(ANSWER) + "\n"
    given = tmp_path / "in.jsonl"
    given.write_text('{"id": "a", "sentences": ["x", "y"]}\n\n' * 2)
    skipped = "skipped: a\nskipped 1 in all\n"
    assert jsonl_fault(given, Result(0, answer * 2, "")) == ""
    assert jsonl_fault(given, Result(0, answer, skipped)) == ""
    assert jsonl_fault(given, Result(0, answer, "")) == "2 lines, 1 answers, 0 skipped"
    other = answer.replace('"a"', '"b"')
    assert "became" in jsonl_fault(given, Result(0, answer + other, ""))
    (tmp_path / "corpus.json").write_text('{"parts": {"train": {"documents": 1}}}')
    assert prepared_fault(given, tmp_path, Result(0, "", skipped)) == ""
    assert prepared_fault(given, tmp_path, Result(0, "", ""))


def test_lost_sentences_are_found(tmp_path):
    given = tmp_path / "in.txt"
    given.write_text("b \na\n\nc\r\n")
    assert text_fault(given, Result(0, "a\nb\n\nc\n", "")) == ""
    for printed in ("a\nb\n", "a\nb\n\nc\nc\n", "a\nb\n\nd\n"):
        assert text_fault(given, Result(0, printed, ""))
    skipped = "skipped: a\nskipped 1 in all\n"
    given.write_bytes(b"a\n\nb\n\xff\n\nc")
    assert text_fault(given, Result(0, "a\n\nc\n", skipped)) == ""
    for printed in ("a\n", "a\n\nd\n", "a\n\nb\n\nc\n"):
        assert text_fault(given, Result(0, printed, skipped))
    assert "not UTF-8" in text_fault(given, Result(0, "a\n\nc\n", ""))
    cut = tmp_path / "in.txt.gz"
    cut.write_bytes(gzip.compress(b"a\n")[:-1])
    assert text_fault(cut, Result(0, "a\n", "")) == "the file is damaged, but the exit code is 0"
