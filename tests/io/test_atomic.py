"""Atomic writes."""

import os
import stat

import pytest

from bert4so.io.atomic import write_atomic


def test_file_is_replaced(tmp_path):
    for data in (b"one", b"two"):
        write_atomic(tmp_path / "file", data)
        assert (tmp_path / "file").read_bytes() == data
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_pipe_is_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="not a regular file"):
        write_atomic(pipe, b"data")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
