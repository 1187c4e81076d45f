"""A run that was interrupted in any way and resumed ends with the same weights."""

import ctypes
import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import time
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bert4so.document import Document
from bert4so.training.snapshot import newest_snapshot
from conftest import assignments, tiny_values
from forked import Forked
from training import snapshots_reach, what_is_left, write_corpus

EPOCHS = 3


@pytest.fixture(scope="module")
def place(documents):
    """A folder with a corpus and a configuration, whose run takes several seconds.

    In memory if possible: every step syncs a snapshot, and disks can be slow.
    """
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        many = [Document(f"{d.id}-{k}", d.sentences) for d in documents for k in range(4)]
        write_corpus(Path(folder), many, documents)
        yield Path(folder)


@pytest.fixture(scope="module")
def command(encoder):
    """`bert4so train` for the tiny run, with a snapshot after every step."""
    values = assignments(tiny_values(encoder))
    sets = [part for change in values for part in ("--set", change)]
    return [
        *["train", "tiny.toml", *sets],
        *["--set", f"train.epochs={EPOCHS}", "--snapshot-minutes", "0", "--resume", "--out"],
    ]


@pytest.fixture(scope="module")
def undisturbed(place, command):
    """The weights and the history of a run without interruption."""
    finish(command, "whole", place)
    return what_is_left(place / "whole")


def start(command, out, cwd, before=nullcontext):
    return Forked([*command, out], cwd, before)


def finish(command, out, cwd):
    process = start(command, out, cwd)
    _, err = process.communicate()
    assert process.returncode == 0, err


def test_a_run_killed_many_times_ends_with_the_same_weights(place, command, undisturbed):
    rng = random.Random(0)
    killed = 0
    for _ in range(40):
        process = start(command, "killed", place)
        goal = 6 * killed + rng.randint(1, 6)  # further each time, so that the run ends
        process.wait_for(partial(snapshots_reach, place / "killed", goal))
        time.sleep(rng.random() * 0.05)
        process.kill()
        process.communicate()
        if process.returncode == 0:
            break
        killed += process.returncode == -signal.SIGKILL
    assert killed >= 8
    assert what_is_left(place / "killed") == undisturbed
    assert not (place / "killed" / "snapshots").exists()


def test_time_before_a_kill_counts_towards_the_time_limit(place, command):
    minutes = 0.03
    by_time = [*command[:-1], "--set", f"minutes={minutes}", "--out"]
    seen = 0
    for goal in (4, 12):
        process = start(by_time, "timed", place)
        process.wait_for(partial(snapshots_reach, place / "timed", goal))
        process.kill()
        process.communicate()
        seen = max(seen, goal)
    finish(by_time, "timed", place)
    history = (place / "timed" / "history.jsonl").read_text().splitlines()
    steps = [event for event in map(json.loads, history) if "metrics" not in event]
    spent = [step["spent"] for step in steps]
    assert len(steps) >= seen
    assert spent == sorted(spent)
    # The time runs out during the last step.
    assert spent[-2] < 60 * minutes <= spent[-1]


def test_a_run_killed_while_writing_a_snapshot_resumes_from_the_one_before(
    place, command, undisturbed
):
    snapshots = place / "torn" / "snapshots"
    for _ in range(3):
        process = start(command, "torn", place)
        process.wait_for(lambda: any(snapshots.glob("*.partial")))
        process.send_signal(signal.SIGSTOP)
        torn = list(snapshots.glob("*.partial"))
        process.kill()
        process.communicate()
        if torn:
            break
    assert torn, "no snapshot was caught being written"
    finish(command, "torn", place)
    assert what_is_left(place / "torn") == undisturbed


def test_ctrl_c_saves_a_snapshot_and_stops_with_one_line(place, command, undisturbed):
    process = start(command, "stopped", place)
    process.wait_for(lambda: any((place / "stopped" / "snapshots").glob("*.safetensors")))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "bert4so: stopped; stopped can be continued with --resume"
    assert "Traceback" not in err
    finish(command, "stopped", place)
    assert what_is_left(place / "stopped") == undisturbed


def few_bytes():
    """Limit the size of files: writes fail as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))


def test_a_full_disk_is_one_line(place, command, undisturbed):
    process = start(command, "full", place, before=few_bytes)
    out, err = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert "Traceback" not in err
    last = err.splitlines()[-1]
    assert last.startswith("bert4so: full/")
    assert last.endswith(": fix this, then run the same command with --resume")
    finish(command, "full", place)
    assert what_is_left(place / "full") == undisturbed


def snapshot_files(folder):
    return {path.name: path.read_bytes() for path in (folder / "snapshots").iterdir()}


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs limits of another process")
def test_earlier_snapshots_remain_if_the_disk_fills_up(place, command, undisturbed):
    process = start(command, "filling", place)
    process.wait_for(partial(snapshots_reach, place / "filling", 5))
    resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, (300_000, 300_000))
    out, err = process.communicate()
    assert (process.returncode, out) == (2, ""), err
    assert err.splitlines()[-1].endswith("run the same command with --resume")
    left = snapshot_files(place / "filling")
    assert [name.endswith(".safetensors") for name in left] == [True, True]  # no torn one
    assert newest_snapshot(place / "filling").history.steps[-1].step == max(
        int(name.split(".")[0]) for name in left
    )
    finish(command, "filling", place)
    assert what_is_left(place / "filling") == undisturbed


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 16 MB; needs permission to mount."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", disk]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("file systems cannot be mounted here")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_a_run_on_a_full_file_system_resumes_once_there_is_space(
    place, command, undisturbed, small_disk
):
    process = start(command, small_disk / "run", place)
    process.wait_for(partial(snapshots_reach, small_disk / "run", 3))
    filler = os.open(small_disk / "filler", os.O_WRONLY | os.O_CREAT)
    with suppress(OSError):
        while True:
            os.write(filler, bytes(4096))
    os.close(filler)
    out, err = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert "Traceback" not in err
    assert err.splitlines()[-1].endswith(
        ": No space left on device: fix this, then run the same command with --resume"
    )
    (small_disk / "filler").unlink()
    finish(command, small_disk / "run", place)
    assert what_is_left(small_disk / "run") == undisturbed


def in_job(rank, port):
    """Set the environment of one of two processes, as torchrun does."""
    job = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2}
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": 1}
    os.environ.update({name: str(value) for name, value in {**job, **address}.items()})


def both(command, out, cwd):
    """The exit codes and the stderr of the two processes of a job."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    job = [start(command, out, cwd, before=partial(in_job, rank, port)) for rank in range(2)]
    errors = [process.communicate()[1] for process in job]
    return [process.returncode for process in job], errors


def test_a_second_job_in_the_same_folder_is_refused(place, command, undisturbed):
    first = start(command, "held", place)
    first.wait_for(partial(snapshots_reach, place / "held", 2))
    first.send_signal(signal.SIGSTOP)  # it keeps the folder reserved for the rest of the test
    try:
        second = start(command, "held", place)
        _, err = second.communicate()
        assert (second.returncode, err) == (
            2,
            "bert4so: held: another process is training in this folder: "
            "wait for it to end, or choose another folder\n",
        )
        codes, errors = both(command, "held", place)
        assert codes == [2, 2]  # although only the main process tries to take the lock
        assert all("another process is training in this folder" in err for err in errors)
        assert not any("Traceback" in err for err in errors)
    finally:
        first.kill()
        first.communicate()
    codes, errors = both(command, "held", place)
    assert codes == [2, 2]
    assert all("cannot resume with 2" in err for err in errors)
    finish(command, "held", place)
    assert what_is_left(place / "held") == undisturbed
    assert not (place / "held" / "train.lock").exists()


def obey_permissions():
    """Drop root's permission to write read-only files (CAP_DAC_OVERRIDE)."""
    version_3, dac_override = 0x20080522, 1
    header = (ctypes.c_uint32 * 2)(version_3, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable: twice 32 bits each
    libc = ctypes.CDLL(None)
    assert libc.capget(header, sets) == 0
    sets[0] &= ~(1 << dac_override)
    assert libc.capset(header, sets) == 0


def test_a_folder_that_becomes_read_only_is_one_line(place, command, undisturbed):
    snapshots = place / "read-only" / "snapshots"
    process = start(command, "read-only", place, before=obey_permissions)
    process.wait_for(partial(snapshots_reach, snapshots.parent, 5))
    snapshots.chmod(0o555)
    out, err = process.communicate()
    snapshots.chmod(0o755)
    assert (process.returncode, out) == (2, "")
    assert "Traceback" not in err
    last = err.splitlines()[-1]
    assert last.startswith("bert4so: read-only/snapshots/")
    assert last.endswith(": Permission denied: fix this, then run the same command with --resume")
    finish(command, "read-only", place)
    assert what_is_left(place / "read-only") == undisturbed


def test_a_folder_that_cannot_be_created_is_one_line(place, command):
    (place / "closed").write_text("a file, where the folder should be")
    process = start(command, "closed/run", place)
    out, err = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert err.startswith("bert4so: closed/run: Not a directory")
    assert err.count("\n") == 1
