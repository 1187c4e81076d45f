"""`bert4so` in real processes that start at once: forked from one that has imported all of it."""

import multiprocessing
import os
import signal
import sys
import time
import traceback
from contextlib import nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["bert4so.cli", "bert4so.training.loop", "torch.utils.tensorboard"])


class Forked:
    """A command under way, on one thread: what `subprocess.Popen` would give, as far as needed."""

    def __init__(self, args, cwd, before=nullcontext):
        """before: called in the new process, to take something away from it."""
        self.printed = TemporaryDirectory()
        place = Path(self.printed.name)
        self.files = place / "out", place / "err"
        argv = ["bert4so", *map(str, args)]
        self.process = FORKS.Process(target=_main, args=(argv, cwd, *self.files, before))
        self.process.start()

    @property
    def returncode(self):
        return self.process.exitcode

    def poll(self):
        return self.process.exitcode

    def send_signal(self, number):
        with suppress(ProcessLookupError):  # it may have come to its end
            os.kill(self.process.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout=300):
        """Wait for its end; what it printed, and what it said."""
        self.process.join(timeout)
        assert self.process.exitcode is not None, "it does not end"
        with self.printed:
            return tuple(file.read_text() if file.exists() else "" for file in self.files)

    def wait_for(self, seen, patience=300):
        """Until something is to be seen, or the process has ended."""
        end = time.monotonic() + patience
        while not seen() and self.poll() is None:
            assert time.monotonic() < end, "nothing was seen"
            time.sleep(0.0005)  # the process under test wants the core


def _main(argv, cwd, out, err, before):
    import torch

    from bert4so.cli import main

    torch.set_num_threads(1)
    os.chdir(cwd)
    for file, descriptor in ((out, 1), (err, 2)):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), descriptor)
    sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))  # noqa: SIM115
    sys.argv = argv
    before()
    try:
        main()
    except Exception:
        traceback.print_exc()
        sys.exit(1)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
