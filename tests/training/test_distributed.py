"""Several processes train the same model as one, and count every document once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bert4so.io.jsonl import write_records
from conftest import assignments, tiny_values

ENV = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}

TOLERANCE = 1e-3
"""Relative, of the loss: sums over processes are rounded differently, which Adam amplifies."""


ALONE = ["-m", "bert4so"]
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *ALONE]
ACCELERATE = [
    # --multi_gpu is how accelerate starts several processes; here none of them finds a GPU.
    *["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"],
    *["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no", *ALONE],
]


@pytest.fixture(scope="module")
def place(tmp_path_factory, documents):
    """A folder with a corpus and a configuration."""
    folder = tmp_path_factory.mktemp("processes")
    for split in ("train", "valid", "test"):
        # 19 documents in batches of 4: the last has 3, which two processes cannot share evenly.
        own = documents[:19] if split == "train" else documents
        write_records(
            folder / f"{split}.jsonl", ({"id": d.id, "sentences": d.sentences} for d in own)
        )
    (folder / "tiny.toml").write_text('system = "bert4so"\ncorpus = "."\n')
    return folder


@pytest.fixture(scope="module")
def curves(place, encoder):
    """The events of the same run in one process and in two, without dropout."""
    calm = {"dropout": 0.0, "encoder_dropout": 0.0}
    values = [*assignments(tiny_values(encoder)), *assignments({"model": calm})]
    sets = [part for change in values for part in ("--set", change)]
    curves = {}
    for name, launcher in (("one", ALONE), ("two", TORCHRUN)):
        out = run(place, *launcher, "train", "tiny.toml", *sets, "--out", name)
        lines = (place / name / "history.jsonl").read_text().splitlines()
        curves[name] = [json.loads(line) for line in lines], out
    return curves


def run(place, *args):
    """The standard output of a Python command."""
    done = subprocess.run(
        [sys.executable, *args], cwd=place, env=ENV, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_two_processes_have_the_same_losses_as_one(curves):
    one, two = (
        [event["loss"] for event in events if "loss" in event]
        for events, _ in (curves["one"], curves["two"])
    )
    assert len(one) == 10
    assert two == pytest.approx(one, rel=TOLERANCE)


def test_two_processes_read_as_many_tokens(curves):
    one, two = (
        [event["tokens"] for event in events if "loss" in event]
        for events, _ in (curves["one"], curves["two"])
    )
    assert one == two


def test_every_document_is_validated_once(curves):
    for events, out in curves.values():
        for event in events:
            if "metrics" in event:
                assert event["metrics"]["documents"] == 16
                assert event["metrics"]["left_out"] == 4
        assert out.count("documents 16") == 2  # validation and test, printed by one process


@pytest.fixture(scope="module")
def alone(place, curves):
    """The output of an evaluation in one process."""
    return run(place, *ALONE, "evaluate", "one", ".", "--out", "alone")


@pytest.mark.parametrize("launcher", [TORCHRUN, ACCELERATE], ids=["torchrun", "accelerate"])
def test_two_processes_evaluate_like_one(place, alone, launcher):
    both = run(place, *launcher, "evaluate", "one", ".", "--out", "both")
    assert alone == both  # printed once, of as many documents
    truths = [(place / name / "truth.jsonl").read_text() for name in ("alone", "both")]
    assert truths[0] == truths[1]  # every document once, in the order of the corpus
    orders = [
        [
            json.loads(line)["order"]
            for line in (place / name / "predictions.jsonl").read_text().splitlines()
        ]
        for name in ("alone", "both")
    ]
    assert orders[0] == orders[1]


WATCHED = """
import atexit, os
from pathlib import Path

@atexit.register
def tell():
    names = [(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()]
    Path("threads", os.environ["RANK"]).write_text("\\n".join(names))

from bert4so.cli import main
main()
"""
"""bert4so; at exit it writes the names of the threads that still exist."""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are named by Linux")
@pytest.mark.parametrize(
    "command", [["evaluate", "one", "."], ["train", "one/run.toml"]], ids=["evaluate", "train"]
)
def test_no_thread_of_the_process_group_remains_at_exit(place, curves, command):
    (place / "watched.py").write_text(WATCHED)
    threads = place / "threads"
    threads.mkdir(exist_ok=True)
    run(place, *TORCHRUN[: -len(ALONE)], "watched.py", *command, "--out", f"watched-{command[0]}")
    for rank in "01":
        left = (threads / rank).read_text().splitlines()
        (threads / rank).unlink()  # so that the next command has to write it
        assert left  # the main thread
        assert not [name for name in left if "gloo" in name]
