"""The shape of the house: imports point down, and the lower floors are free of torch."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "bert4so"
FLOORS = [  # from the ground up; rooms on one floor do not import each other
    ["errors", "progress", "machine", "atomic", "aligned"],
    ["model_files", "onnx_check", "lock"],
    [
        "document",
        "locate",
        "nouns",
        "data.files",
        "data.draw",
        "data.bad",
        "data.card",
        "data.zip_members",
    ],
    [
        "backend",
        "data.lines",
        "metrics",
        "tagging",
        "ranking",
        "aggregation",
        "bradley_terry",
        "packing",
        "data.shuffle",
        "data.batches",
    ],
    [
        "data.jsonl",
        "data.parquet",
        "data.text",
        "data.csv_rows",
        "data.state",
        "data.read_ahead",
        "intervals",
        "data.overlap",
        "vocabulary",
        "passes",
        "windows",
    ],
    ["objective"],
    ["subsets"],
    ["search"],
    ["data.jsonl", "data.parquet", "intervals", "data.overlap", "vocabulary", "passes", "windows"],
    [
        "data.readers.found",
        "summary",
        "data.corpus",
        "data.source",
        "data.answers",
        "data.orders",
        "history",
        "runtime",
    ],
    [
        "data.frames",
        "data.parts",
        "data.readers",
        "data.sentences",
        "data.prepare",
        "data.join",
        "data.stats",
    ],
    ["data.destination", "data.forms", "data.check"],
    ["orderer"],
    ["evaluate"],
    # Above this line a module may import torch.
    [
        "config",
        "clock",
        "batch",
        "losses",
        "encoder_config",
        "schedule",
        "curves",
        "significance",
        "calibration",
        "beam",
        "attention",
        "quantization",
    ],
    ["figures", "graph_weights", "encoder"],
    ["page"],
    ["model"],
    ["inputs"],
    ["sentence_encoders", "document_encoders", "decoders"],
    ["models"],
    ["run", "learner", "processes", "interrupt", "snapshot"],
    ["checkpoint", "run_folder"],
    ["report", "export"],
    ["start"],
    ["train"],
    ["experiments"],
    ["doctor"],
    ["cli"],
    ["__main__"],
]
TORCH_FREE = next(floor for floor, rooms in enumerate(FLOORS) if "config" in rooms)
HEAVY = {"torch", "transformers", "accelerate", "pydantic", "matplotlib", "scipy", "safetensors"}
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
LOOKS_UP = {("orderer", "checkpoint")}  # Orderer.from_pretrained, when a folder holds a model


def modules() -> list[Path]:
    inits = {PACKAGE / f"{folder}__init__.py" for folder in ("", "data/", "data/readers/")}
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path not in inits]


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def room(module: str) -> str:
    rooms = [name for name in FLOOR if f"{module}.".startswith(f"{name}.")]
    assert rooms, f"{module} has no floor: give it one above"
    return max(rooms, key=len)


def imported(path: Path) -> list[str]:
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides where it goes"
            names += [f"{node.module}.{name.name}" for name in node.names]
        elif isinstance(node, ast.Import):
            names += [name.name for name in node.names]
    return names


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_imports_point_down(path):
    here = room(dotted(path))
    for name in imported(path):
        if not name.startswith("bert4so."):
            continue
        there = room(name.removeprefix("bert4so."))
        down = FLOOR[there] < FLOOR[here] or there == here or (here, there) in LOOKS_UP
        assert down, f"{here} may not import {there}"


@pytest.mark.parametrize(
    "path", [p for p in modules() if FLOOR[room(dotted(p))] < TORCH_FREE], ids=dotted
)
def test_the_lower_floors_import_nothing_heavy(path):
    assert not {name.split(".")[0] for name in imported(path)} & HEAVY


def test_every_room_exists():
    assert {room(dotted(path)) for path in modules()} == set(FLOOR)


def test_importing_the_package_loads_nothing_heavy():
    code = f"import bert4so, sys; print({HEAVY!r} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
