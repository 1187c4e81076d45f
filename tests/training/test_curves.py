import os
import threading
from pathlib import Path

import pytest

from bert4so.training.curves import Recorder
from bert4so.training.history import History, Step

FULL = Path("/dev/full")
STEP = Step(1, 1, 0.5, 0.1, 3, 4, 0.1, 0.1)


def record(recorder, steps):
    with recorder:
        for _ in range(steps):
            recorder.step(STEP)


def fill(recorder, folder):
    """Let TensorBoard's file be on a full disk."""
    pytest.importorskip("tensorboard")
    recorder.board.flush()
    (events,) = (folder / "tensorboard").iterdir()
    events.unlink()
    events.symlink_to(FULL)


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("name", ["history.jsonl", "tensorboard"])
@pytest.mark.parametrize("steps", [1, 30])
def test_a_full_disk_is_an_error_that_names_the_file(tmp_path, capsys, name, steps):
    hook = threading.excepthook
    if name == "history.jsonl":
        (tmp_path / name).symlink_to(FULL)
    recorder = Recorder(tmp_path, History())
    if name == "tensorboard":
        fill(recorder, tmp_path)
    with pytest.raises(OSError, match="No space left") as failed:
        record(recorder, steps)
    assert failed.value.filename == os.fspath(tmp_path / name)
    assert threading.excepthook is hook
    assert "Traceback" not in capsys.readouterr().err
