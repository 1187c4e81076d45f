"""Documents small enough to read, an encoder small enough to learn them, and every system on it."""

import io
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"  # no test may reach for the hub

from pathlib import Path

import pytest
import torch
from hypothesis import settings

from bert4so.cli import main
from bert4so.common.value_trees import merge
from bert4so.config.schema import RunConfig
from bert4so.data.corpus import Corpus
from bert4so.data.shuffle import shuffle
from bert4so.document import Document, Puzzle
from bert4so.experiments.plan import Experiment, read_experiment
from bert4so.modeling.base import OrderingModel
from bert4so.systems import SYSTEMS
from bert4so.systems.run_config import read_run
from bert4so.training.checkpoint import save_model
from installs import build_wheel
from tiny import make_encoder

for name in ("BERT4SO_DATA", "BERT4SO_SPACY", "BERT4SO_CACHE"):
    os.environ.pop(name, None)  # what this machine has is not to be found
torch.set_num_threads(1)  # tiny tensors: a second thread only waits
settings.register_profile("same", deadline=None, derandomize=True)
settings.load_profile("same")

TINY_TRAINING = {
    "batch": 4,
    "epochs": 2,
    "learning_rate": {"sentence_encoder": 3e-3, "document_encoder": 3e-3, "decoder": 3e-3},
}
"""Numbers that let a tiny model learn in a second."""

TINY_MODEL: dict[str, dict] = {
    "cnn-ptrnet": {"vector": 16, "filters": 16, "hidden": 32},
    "lstm-ptrnet": {"vector": 16, "hidden": 32},
    "variant-lstm-ptrnet": {"vector": 16, "hidden": 32, "scoring": 16, "cycles": 2},
    "att-order-net": {"vector": 16, "width": 32, "heads": 2, "inner": 32},
    "hierarchical-att-net": {"vector": 16, "max_words": 100, "width": 32, "heads": 2},
    "se-graph": {"vector": 16, "hidden": 32, "entity": 16, "role": 8, "tagger": "words"},
    "att-order-net-two-loss": {"vector": 16, "width": 32, "heads": 2, "features": 16},
    "rank-tx-net": {"heads": 2, "pooling": "mean"},
    "b-tsort": {"pooling": "mean"},
    "bert4so": {"heads": 2, "pooling": "mean"},
    "bert4so-joint": {"heads": 2, "pooling": "mean", "hidden": 32},
}
"""What each system needs changed to be tiny, on an encoder 32 wide."""


@pytest.fixture(scope="session")
def desk() -> Experiment:
    """The experiment for two cores."""
    root = Path(__file__).parent.parent
    return read_experiment(root / "configs" / "experiments" / "desk.toml")


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny BERT."""
    return make_encoder("bert", tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it is distributed."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def documents() -> list[Document]:
    """Documents of one to five sentences, whose words tell the order."""
    steps = ["first we wake up", "then eat bread", "later go out", "at last come home", "now sleep"]
    return [
        Document(f"day-{i}", tuple(f"{step} on day {i}" for step in steps[: 1 + i % 5]))
        for i in range(20)
    ]


@pytest.fixture(scope="session")
def splits(documents: list[Document]) -> Corpus:
    """The documents as all three parts of a corpus: what is learned can be seen in the test."""
    return Corpus(documents, documents, documents)


@pytest.fixture(scope="session")
def puzzles(documents: list[Document]) -> list[Puzzle]:
    return [shuffle(document, seed=0) for document in documents]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest come first, so that no worker is left with one at the end."""
    longest = ("test_export.py", "test_order_files.py", "test_processes.py")
    longest += ("test_wheel.py", "test_wheel_train.py")
    items.sort(key=lambda item: item.path.name not in longest)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes `run` once per system, or per name in its TESTED_SYSTEMS."""
    marked = any(mark.args[0] == "run" for mark in metafunc.definition.iter_markers("parametrize"))
    if "run" in metafunc.fixturenames and not marked:
        systems = getattr(metafunc.module, "TESTED_SYSTEMS", list(SYSTEMS))
        metafunc.parametrize("run", systems, indirect=True)


@pytest.fixture
def run(request: pytest.FixtureRequest, encoder: Path, tmp_path: Path) -> RunConfig:
    """A run of each system in turn, tiny."""
    return tiny_run(request.param, encoder, tmp_path)


@pytest.fixture
def model(run: RunConfig, documents: list[Document]) -> OrderingModel:
    """Each system in turn, tiny and untrained."""
    torch.manual_seed(0)
    system = SYSTEMS[run.system]
    return system.build(run.model, system.make_input(run.model, documents)).eval()


def tiny_run(system: str, encoder: Path, folder: Path, **changes) -> RunConfig:
    values = merge(tiny_values(encoder, system), changes)
    path = folder / "tiny.toml"
    path.write_text(f'system = "{system}"\ncorpus = "{folder}"\n')
    return read_run(path, list(assignments(values)))


def tiny_values(encoder: Path, system: str = "bert4so") -> dict:
    model = dict(TINY_MODEL.get(system, {}))
    if "encoder" in SYSTEMS[system].Config.model_fields:
        model["encoder"] = encoder
    return {"model": model, "train": TINY_TRAINING}


def assignments(values: dict, prefix: str = ""):
    for key, value in values.items():
        if isinstance(value, dict):
            yield from assignments(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}={value}"


@pytest.fixture
def bert4so(monkeypatch, capsys):
    """Runs a command; gives its exit code, what it printed, and what it said."""

    def command(*args, stdin=""):
        monkeypatch.setattr(sys, "argv", ["bert4so", *map(str, args)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return command


@pytest.fixture
def trained(run, model, tmp_path):
    """The folder of a model."""
    save_model(tmp_path / "run", run, model)
    return tmp_path / "run"
