"""File locks between real processes, and the lock of a run folder."""

import os
import signal
import subprocess
import sys

import pytest

from bert4so.errors import UserError
from bert4so.io import lock
from bert4so.io.lock import locked_file, try_lock
from bert4so.training.run_folder import LOCK, check_folder, hold_folder

HOLDER = """
import sys, time
from pathlib import Path
from bert4so.io.lock import locked_file
with locked_file(Path(sys.argv[1]), "busy"):
    print("held", flush=True)
    time.sleep(600)
"""


def held(path):
    with locked_file(path, f"{path} is busy"):
        return path.exists()


def test_lock_is_held_until_its_process_is_killed(tmp_path):
    path = tmp_path / "some.lock"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(UserError, match=r"some\.lock is busy"):
            held(path)
        assert path.exists()
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert path.exists()  # the killed process could not remove it, but it is unlocked
    assert held(path)
    assert not path.exists()


def test_lock_is_retried_if_its_file_was_removed(tmp_path, monkeypatch):
    path = tmp_path / "some.lock"
    calls = []

    def remove_then_lock(descriptor):
        """The holder removes the file after this process has opened it and before it locks it."""
        if not calls:
            path.unlink()
        calls.append(descriptor)
        return try_lock(descriptor)

    monkeypatch.setattr(lock, "try_lock", remove_then_lock)
    assert held(path)  # locks a new file, which other processes would open as well
    assert len(calls) == 2


def test_file_system_without_locks_is_accepted(tmp_path, monkeypatch):
    import fcntl

    def unsupported(descriptor, operation):
        raise OSError(95, os.strerror(95))

    monkeypatch.setattr(fcntl, "flock", unsupported)
    assert held(tmp_path / "some.lock")


def test_run_folder_is_held_by_one_job(tmp_path):
    folder = tmp_path / "runs" / "new"
    with hold_folder(folder):
        assert [path.name for path in folder.iterdir()] == [LOCK]
        with pytest.raises(UserError, match="another process is training in this folder"):
            hold_folder(folder).__enter__()
        check_folder(folder, resume=False)
        (folder / "run.toml").touch()
    assert [path.name for path in folder.iterdir()] == ["run.toml"]


def test_new_run_folder_is_removed_if_nothing_was_written(tmp_path):
    with hold_folder(tmp_path / "new"):
        pass
    assert not (tmp_path / "new").exists()
    (tmp_path / "old").mkdir()
    with hold_folder(tmp_path / "old"):
        pass
    assert (tmp_path / "old").exists()


@pytest.mark.parametrize(
    "files, resume, message",
    [
        ([], False, None),
        ([], True, None),
        ([LOCK, "run.toml.partial"], False, None),
        (["letter.txt"], False, "neither empty nor a run"),
        (["letter.txt"], True, "neither empty nor a run"),
        (["input"], True, "neither empty nor a run"),
        (["run.toml", "input"], False, "pass --resume to continue it"),
        (["run.toml", "input"], True, None),
        (["run.toml", "metrics.json"], False, "contains a finished run"),
        (["run.toml", "metrics.json"], True, "contains a finished run"),
    ],
)
def test_check_folder_accepts_empty_and_resumable_folders(tmp_path, files, resume, message):
    for name in files:
        (tmp_path / name).write_text("mine")
    if message is None:
        check_folder(tmp_path, resume)
    else:
        with pytest.raises(UserError, match=message):
            check_folder(tmp_path, resume)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(files)
