"""What the benchmarks share: turns, files of results, and batches at random."""

import ast
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "benchmarks"
sys.path.insert(0, str(ROOT))

import accuracy  # noqa: E402
import harness  # noqa: E402

MODULES = {path.stem: ast.parse(path.read_text()) for path in sorted(ROOT.glob("*.py"))}


def test_jobs_take_turns_and_the_first_turn_is_not_counted():
    done = []

    def job(name):
        done.append(name)
        return len(done)

    measured = harness.by_turns({"a": lambda: job("a"), "b": lambda: job("b")}, turns=2)
    assert done == ["a", "b"] * 3
    assert measured == {"a": [3, 5], "b": [4, 6]}


def test_rates_are_the_median_and_the_extremes():
    assert harness.rates([3.14, 1.26, 2.0], 1) == {"median": 2.0, "slowest": 1.3, "fastest": 3.1}
    assert str(harness.rates([3.14, 1.26, 2.4])["median"]) == "2"


def test_results_say_what_made_them_and_where(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["benchmarks/x.py", "--out", "x.json"])
    harness.write_results(tmp_path / "x.json", {"found": 1})
    facts = json.loads((tmp_path / "x.json").read_text())
    assert list(facts) == ["command", "machine", "found"]
    assert facts["command"] == "python benchmarks/x.py --out x.json"
    assert facts["machine"]["cores"] >= 1


@pytest.mark.parametrize("name", MODULES)
def test_a_benchmark_leaves_arguments_and_private_methods_alone(name):
    nodes = list(ast.walk(MODULES[name]))
    imported = {one.name for node in nodes if isinstance(node, ast.Import) for one in node.names}
    assert name == "harness" or not imported & {"argparse"}
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    methods = [one.name for node in classes for one in node.body if hasattr(one, "name")]
    assert [one for one in methods if one.startswith("_") and not one.endswith("__")] == []


def test_plain_batches_have_every_document_once_and_lengths_dealt_to_parts():
    ids, sizes = [f"d{k}" for k in range(10)], [k % 7 for k in range(10)]
    batches = accuracy.plain_batches(ids, sizes, 4, 1, 1, parts=2)
    assert sorted(i for batch in batches for i in batch) == list(range(10))
    assert [len(batch) for batch in batches] == [4, 4, 2]
    assert batches != accuracy.plain_batches(ids, sizes, 4, 1, 2, parts=2)
    for batch in batches:
        parts = [batch[k::2] for k in range(2)]  # as a step divides a batch
        lengths = [[sizes[i] for i in part] for part in parts]
        assert max(lengths[0]) <= min(lengths[1])
