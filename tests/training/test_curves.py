import json
import os
import threading
from pathlib import Path

import pytest

from bert4so.training.curves import Recorder
from bert4so.training.history import History, Step

FULL = Path("/dev/full")
STEP = Step(1, 1, 0.5, 0.25, 3, 4, seconds=0.75, cpu_seconds=0.625)


def record(recorder, steps):
    with recorder:
        for _ in range(steps):
            recorder.step(STEP)


def fill(recorder, folder):
    """Make TensorBoard write to a full disk."""
    pytest.importorskip("tensorboard")
    recorder.board.flush()
    (events,) = (folder / "tensorboard").iterdir()
    events.unlink()
    events.symlink_to(FULL)


def test_the_keys_of_history_jsonl_stay_the_same(tmp_path):
    record(Recorder(tmp_path, History()), 1)
    (line,) = (tmp_path / "history.jsonl").read_text().splitlines()
    assert json.loads(line) == {
        **{"step": 1, "epoch": 1, "loss": 0.5, "learning_rate": 0.25},
        **{"tokens": 3, "cells": 4, "seconds": 0.75, "spent": 0.625},
    }


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("name", ["history.jsonl", "tensorboard"])
@pytest.mark.parametrize("steps", [1, 30])
def test_the_error_for_a_full_disk_names_the_file(tmp_path, capsys, name, steps):
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
