"""Standard streams that are closed or full, and pipes that pause."""

import json
import os
import select
import subprocess
import sys
from contextlib import contextmanager

import pytest

TESTED_SYSTEMS = ["bert4so"]  # these tests do not depend on the system
BERT4SO = f"{sys.executable} -m bert4so"
ENV = os.environ | {"OMP_NUM_THREADS": "1"}
STORY = "sleep now\neat bread\n"


def shell(command):
    done = subprocess.run(["bash", "-c", command], env=ENV, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "streams, message",
    [
        (">&-", "standard output is closed: redirect it to a file or to /dev/null"),
        (">/dev/full", "No space left on device"),
        ("1</dev/null", "Bad file descriptor"),
        (">&- 2>&-", None),
        (">/dev/full 2>/dev/full", None),
    ],
)
@pytest.mark.parametrize("command", ["--version", "order story.txt"])
def test_an_unwritable_standard_output_is_an_error(tmp_path, command, streams, message):
    (tmp_path / "story.txt").write_text(STORY)
    code, printed, err = shell(f"cd {tmp_path} && {BERT4SO} {command} {streams}")
    assert (code, printed) == (2, "")
    assert err.count("\n") == (message is not None)
    assert err.startswith("bert4so: " if message else "")
    assert (message or "") in err


def test_a_closed_standard_input_is_empty():
    assert shell(f"{BERT4SO} order <&-") == (2, "", "bert4so: -: contains no sentences\n")


@pytest.mark.parametrize("streams", ["2>&-", "2>/dev/full"])
def test_results_are_printed_without_standard_error(tmp_path, streams):
    (tmp_path / "story.txt").write_text(STORY)
    code, printed, _ = shell(f"{BERT4SO} order {tmp_path}/story.txt {streams}")
    assert (code, len(printed.splitlines())) == (0, 2)
    assert shell(f"{BERT4SO} order {tmp_path}/none.txt {streams}")[:2] == (2, "")


def test_an_opened_file_does_not_replace_a_closed_stream(tmp_path):
    """Otherwise the first opened file gets the descriptor of the closed stream."""
    (tmp_path / "story.txt").write_text(STORY)
    out = tmp_path / "out.jsonl"
    code, printed, _ = shell(f"{BERT4SO} order {tmp_path}/story.txt --out {out} <&- 2>&-")
    assert (code, printed) == (0, f"{out}\n")
    assert len(out.read_text().splitlines()) == 1


@contextmanager
def started(*args, stdout=subprocess.PIPE):
    process = subprocess.Popen(
        [*BERT4SO.split(), "order", *args],
        env=ENV,
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=subprocess.PIPE,
    )
    with process:
        yield process
        process.stdin.close()


@pytest.mark.parametrize(
    "parts",
    [
        ("b\na\n\nc\n", "d\n\n"),
        ('{"sentences": ["b", "a"]}\n{"sent', 'ences": ["c", "d"]}\n'),
    ],
    ids=["text", "jsonl"],
)
def test_documents_are_answered_when_a_pipe_pauses(parts):
    """Even if the pipe stays open and the next document has begun."""
    with started("--format", "jsonl") as process:
        for part, sentences in zip(parts, (["a", "b"], ["c", "d"]), strict=True):
            process.stdin.write(part.encode())
            process.stdin.flush()
            assert select.select([process.stdout], [], [], 30)[0], "no answer"
            answer = json.loads(process.stdout.readline())
            assert sorted(answer["sentences"]) == sentences


def test_an_error_ends_the_command_while_the_pipe_is_open(tmp_path):
    """The reading thread cannot be stopped, but the command does not wait for it."""
    broken = '{"sentences": ["b", "a"]}\n{\n'
    with started() as process:
        process.stdin.write(broken.encode())
        process.stdin.flush()
        assert process.wait(60) == 2
        message = process.stderr.read().decode()
        assert message.startswith("bert4so: -:2: not JSON")
        assert message.count("\n") == 1
    with open("/dev/full", "wb") as full, started(stdout=full) as process:
        process.stdin.write(b"b\na\n\n")
        process.stdin.flush()
        assert process.wait(60) == 2
        assert process.stderr.read() == b"bert4so: No space left on device\n"
