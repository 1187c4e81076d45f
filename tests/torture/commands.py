"""`bert4so` run by its arguments, and whether it kept the promise that every command makes."""

import io
import re
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass

from bert4so.cli import main
from forked import Forked

MAX_LINE_CHARACTERS = 1000
"""Of a message: 200 quoted characters, paths, and what is wrong."""

FOREIGN = re.compile(r"\x1b|Warning: |\[[EW]:onnxruntime")
"""What libraries write to stderr beside the one line."""


class DeadlineError(BaseException):
    """A command takes too long. No code under test catches it."""


@dataclass(frozen=True)
class Result:
    """What a command came to; code is negative if a signal ended it."""

    code: int
    out: str
    err: str


def fault(result: Result) -> str:
    """How a result breaks the promise of every command; empty if it does not."""
    lines = result.err.split("\n")
    errors = [line for line in lines if line.startswith("bert4so: ")]
    if "Traceback (most recent" in result.err:
        return f"a traceback: {result.err.strip().splitlines()[-1][:300]}"
    if result.code not in (0, 2):
        return f"exit code {result.code}: {result.err[-300:]}"
    if result.code == 2 and (len(errors) != 1 or lines[-2:] != [errors[0], ""]):
        return f"not one line at the end of stderr: {result.err[-300:]!r}"
    if FOREIGN.search(result.err):
        return f"lines of a library on stderr: {result.err[:300]!r}"
    if max(map(len, lines)) > MAX_LINE_CHARACTERS:
        return f"a line of {max(map(len, lines))} characters: {max(lines, key=len)[:200]!r}"
    return ""


def in_process(*args: object, stdin: bytes = b"", seconds: float = 60) -> Result:
    """Run `main` here."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    before = sys.argv, sys.stdin
    sys.argv = ["bert4so", *map(str, args)]
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), "utf-8")
    try:
        with redirect_stdout(out), redirect_stderr(err), _deadline(seconds):
            code = _exit_code()
    finally:
        sys.argv, sys.stdin = before
    out.flush()
    return Result(code, out.buffer.getvalue().decode(), err.getvalue())


def _exit_code() -> int:
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    except DeadlineError:
        sys.stderr.write("it does not end\n")
        return -signal.SIGALRM
    except Exception:  # a bug, which a process would show like this
        traceback.print_exc()
        return 1
    return 0


@contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise DeadlineError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def bert4so_process(*args: object, **how) -> subprocess.Popen:
    """Start a process, without waiting for its end."""
    return subprocess.Popen([sys.executable, "-m", "bert4so", *map(str, args)], **how)


def in_new_process(
    *args: object, stdin: bytes = b"", limit: str = "", redirect: str = "", seconds: float = 120
) -> Result:
    """Run a process to its end.

    limit, redirect: shell code that takes something away from it, such as "ulimit -f 8;" and
                     ">/dev/full".
    """
    shell = ["sh", "-c", f'{limit} exec "$@" {redirect}', "sh"]
    command = [*shell, sys.executable, "-m", "bert4so", *map(str, args)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, **pipes)
    try:
        out, err = process.communicate(stdin, timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        err += b"\nit does not end\n"
    return Result(process.returncode, _text(out), _text(err))


def forked_result(process: Forked, seconds: float = 120) -> Result:
    """The result of a process that was forked, whose deadline is an assertion."""
    out, err = process.communicate(seconds)
    return Result(process.returncode, out, err)


def _text(content: bytes) -> str:
    return content.decode(errors="backslashreplace")
