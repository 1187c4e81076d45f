"""A run that is stopped, however, ends with the weights of one that was not."""

import ctypes
import json
import random
import resource
import signal
import time
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bert4so.data.jsonl import write_records
from bert4so.document import Document
from conftest import assignments, tiny_values
from forked import Forked

EPOCHS = 3


@pytest.fixture(scope="module")
def place(documents):
    """A folder with a corpus and a configuration, whose run takes some seconds.

    In memory, where there is such a place: every step syncs a snapshot, and disks may be slow.
    """
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield filled(Path(folder), documents)


def filled(folder, documents):
    many = [Document(f"{d.id}-{k}", d.sentences) for d in documents for k in range(4)]
    for split, some in (("train", many), ("valid", documents), ("test", documents)):
        write_records(
            folder / f"{split}.jsonl", ({"id": d.id, "sentences": d.sentences} for d in some)
        )
    (folder / "tiny.toml").write_text('system = "bert4so"\ncorpus = "."\n')
    return folder


@pytest.fixture(scope="module")
def command(encoder):
    """`bert4so train` of the tiny run, a snapshot after every step."""
    values = assignments(tiny_values(encoder))
    sets = [part for change in values for part in ("--set", change)]
    return [
        *["train", "tiny.toml", *sets],
        *["--set", f"train.epochs={EPOCHS}", "--snapshot-minutes", "0", "--resume", "--out"],
    ]


@pytest.fixture(scope="module")
def undisturbed(place, command):
    """The weights and the history of a run that nothing happened to."""
    finish(command, "whole", place)
    return what_is_left(place / "whole")


def what_is_left(folder: Path) -> tuple[bytes, list[dict]]:
    events = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]
    for event in events:
        for clock in ("seconds", "spent"):
            event.pop(clock, None)
    return (folder / "model.safetensors").read_bytes(), events


def start(command, out, cwd, before=nullcontext):
    return Forked([*command, out], cwd, before)


def finish(command, out, cwd):
    process = start(command, out, cwd)
    _, said = process.communicate()
    assert process.returncode == 0, said


def snapshots_reach(folder, steps):
    try:
        return any(int(path.stem) >= steps for path in folder.glob("snapshots/*.safetensors"))
    except FileNotFoundError:  # cleared in this moment: the run is finished
        return True


def test_a_run_killed_again_and_again_ends_as_if_it_had_not_been(place, command, undisturbed):
    rng = random.Random(0)
    killed = 0
    for _ in range(40):
        process = start(command, "killed", place)
        goal = 6 * killed + rng.randint(1, 6)  # further each time, so that it comes to an end
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


def test_time_that_was_spent_before_it_was_killed_counts(place, command):
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
    # Up to the one step in which the time ran out.
    assert spent[-2] < 60 * minutes <= spent[-1]


def test_a_run_killed_while_it_writes_a_snapshot_goes_on_from_the_one_before(
    place, command, undisturbed
):
    shelf = place / "torn" / "snapshots"
    for _ in range(3):
        process = start(command, "torn", place)
        process.wait_for(lambda: any(shelf.glob("*.partial")))
        process.send_signal(signal.SIGSTOP)
        torn = list(shelf.glob("*.partial"))
        process.kill()
        process.communicate()
        if torn:
            break
    assert torn, "no snapshot was caught being written"
    finish(command, "torn", place)
    assert what_is_left(place / "torn") == undisturbed


def test_ctrl_c_stops_at_a_snapshot_with_one_line(place, command, undisturbed):
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
    """No file may grow larger: as on a full disk, the write fails."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))


def test_a_disk_that_is_full_ends_in_one_line(place, command, undisturbed):
    process = start(command, "full", place, before=few_bytes)
    out, err = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert "Traceback" not in err
    last = err.splitlines()[-1]
    assert last.startswith("bert4so: full/")
    assert last.endswith("; mend that and go on with --resume")
    finish(command, "full", place)
    assert what_is_left(place / "full") == undisturbed


def obey_permissions():
    """Give up root's right to write what is read-only (CAP_DAC_OVERRIDE), where this is root."""
    version_3, dac_override = 0x20080522, 1
    header = (ctypes.c_uint32 * 2)(version_3, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; and the same of 32 more
    libc = ctypes.CDLL(None)
    assert libc.capget(header, sets) == 0
    sets[0] &= ~(1 << dac_override)
    assert libc.capset(header, sets) == 0


def test_a_folder_that_turns_read_only_ends_in_one_line(place, command, undisturbed):
    shelf = place / "read-only" / "snapshots"
    process = start(command, "read-only", place, before=obey_permissions)
    process.wait_for(partial(snapshots_reach, shelf.parent, 5))
    shelf.chmod(0o555)
    out, err = process.communicate()
    shelf.chmod(0o755)
    assert (process.returncode, out) == (2, "")
    assert "Traceback" not in err
    last = err.splitlines()[-1]
    assert last.startswith("bert4so: read-only/snapshots/")
    assert last.endswith(": Permission denied; mend that and go on with --resume")
    finish(command, "read-only", place)
    assert what_is_left(place / "read-only") == undisturbed


def test_a_folder_that_cannot_be_written_ends_in_one_line(place, command):
    (place / "closed").write_text("a file, where the folder should be")
    process = start(command, "closed/run", place)
    out, err = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert err.startswith("bert4so: closed/run: Not a directory")
    assert err.count("\n") == 1
