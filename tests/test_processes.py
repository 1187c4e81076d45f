"""Many processes learn what one learns, and count every document once."""

import json
import subprocess
import sys

import pytest

from bert4so.data.jsonl import write_records
from conftest import assignments, tiny_values
from test_resume import ENV

TOLERANCE = 1e-3
"""Of the loss, relative: sums over processes are rounded differently, and Adam magnifies it."""


@pytest.fixture(scope="module")
def curves(tmp_path_factory, documents, encoder):
    """The events of the same run by one process and by two, dropout off."""
    place = tmp_path_factory.mktemp("processes")
    for split in ("train", "valid", "test"):
        # 19 documents in batches of 4: the last has 3, which two processes cannot share evenly.
        some = documents[:19] if split == "train" else documents
        write_records(
            place / f"{split}.jsonl", ({"id": d.id, "sentences": d.sentences} for d in some)
        )
    (place / "tiny.toml").write_text('system = "bert4so"\ncorpus = "."\n')
    calm = {"dropout": 0.0, "encoder_dropout": 0.0}
    values = [*assignments(tiny_values(encoder)), *assignments({"model": calm})]
    sets = [part for change in values for part in ("--set", change)]
    launchers = {
        "one": [],
        "two": ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"],
    }
    found = {}
    for name, launcher in launchers.items():
        command = [sys.executable, *launcher, "-m", "bert4so", "train", "tiny.toml", *sets]
        done = subprocess.run(
            [*command, "--out", name],
            cwd=place,
            env=ENV,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        lines = (place / name / "history.jsonl").read_text().splitlines()
        found[name] = [json.loads(line) for line in lines], done.stdout
    return found


def test_two_processes_have_the_loss_curve_of_one(curves):
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
