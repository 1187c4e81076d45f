"""The bundled model: it is the default, small, and accurate on unseen documents."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bert4so import Orderer
from bert4so.data.corpus import read_split
from bert4so.evaluation.evaluate import measure, solve
from bert4so.inference.orderer import BUNDLED

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def orderer():
    return Orderer.from_pretrained()


def test_it_orders_a_story(orderer):
    story = [
        "The family got together to go to the fair.",
        "When they arrived they saw some airplanes in the back of a truck.",
        "The kids had a hard time deciding what to ride first.",
        "Then they played some games to win prizes.",
        "Finally they played the dart game.",
    ]
    for order in ([1, 2, 0, 4, 3], [4, 3, 2, 1, 0]):
        ordering = orderer.order([story[i] for i in order])
        assert ordering.sentences[0] == story[0]
        assert set(ordering.sentences[-2:]) == set(story[-2:])


def test_it_orders_unseen_documents(orderer):
    documents = read_split(ROOT / "data" / "sample", "test")
    metrics = measure(solve(orderer.build_backend(), documents))
    assert metrics.tau > 0.6


def test_its_files_are_under_forty_megabytes():
    assert sum(path.stat().st_size for path in BUNDLED.iterdir()) < 40e6


def test_its_tau_is_close_to_that_of_the_pytorch_model():
    facts = json.loads((BUNDLED / "export.json").read_text())
    assert facts["int8"]
    assert facts["compared"]["tau"] - facts["compared"]["exported"] <= 0.005


def test_the_command_uses_it_by_default():
    command = [sys.executable, "-m", "bert4so", "order"]
    done = subprocess.run(
        command, input="Then we ate.\nWe cooked.\n", capture_output=True, text=True
    )
    assert done.stdout.splitlines() == ["We cooked.", "Then we ate."]


def test_the_demo_shows_three_documents():
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "demo.py"], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("put in order") == done.stdout.count("confidence") == 3
