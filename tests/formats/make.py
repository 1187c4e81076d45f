"""Write the files of today's version that every later version must read; see `test_formats.py`.

    python tests/formats/make.py bert4so tests/formats/bert4so-1     # system, new folder

The folder then holds

documents.jsonl   what the tiny model was trained on
export/           the model, exported in int8
run/              a run that starts from export/, interrupted after three steps: model and snapshot
answers.json      by folder, what the model says of each document
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent.parent))

from bert4so import Orderer
from bert4so.config.schema import RunConfig
from bert4so.data.corpus import Corpus
from bert4so.data.shuffle import shuffle
from bert4so.document import Document
from bert4so.export import quantization
from bert4so.export import to_onnx as export
from bert4so.io.jsonl import write_records
from bert4so.systems.run_config import make_run
from bert4so.training.checkpoint import save_model
from bert4so.training.trainer import Trainer
from tiny import KINDS, make_encoder

STEPS = ["first we wake up", "then eat bread", "later go out", "at last come home", "now sleep"]
DOCUMENTS = [
    Document(str(i), tuple(f"{step} on day {i}" for step in STEPS[: 2 + i % 4])) for i in range(8)
]
SIZES = {
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 80,
}
EPOCHS = 120
INTERRUPTED_AFTER = 3
SAID = ("order", "confidence", "scores", "before", "next")


def run_of(system: str, start: str) -> RunConfig:
    """The run of a model small enough for a repository."""
    values = {
        "system": system,
        "corpus": "corpus",
        "start": start,
        "model": {"encoder": "encoder", "pooling": "mean", "layers": 1, "heads": 2, "hidden": 4},
        "train": {
            "batch": 2,
            "learning_rate": dict.fromkeys(
                ("sentence_encoder", "document_encoder", "decoder"), 1e-2
            ),
        },
    }
    return make_run(values, "make.py")


def write_export(system: str, splits: Corpus) -> None:
    """Teach a model, and export it."""
    KINDS["bert"] = SIZES
    make_encoder("bert", Path("encoder"))
    run = run_of(system, start="")
    trainer = Trainer(run, splits, Path("taught"))
    for epoch in range(EPOCHS):
        trainer.learner.step([shuffle(document, epoch) for document in splits.train])
    save_model(Path("taught"), run, trainer.model)
    quantization.MAX_FLOAT_VALUES = 0
    command = f"python tests/formats/make.py {system}"
    export.export(Path("taught"), Path("export"), splits.valid, int8=True, command=command)


def write_run(system: str, splits: Corpus) -> None:
    """Begin a run with what was exported, and leave it."""
    trainer = Trainer(run_of(system, start="export"), splits, Path("run"))
    trainer.begin(None)
    steps = trainer.learn(1)
    for _ in range(INTERRUPTED_AFTER):
        next(steps)
    trainer.validate()
    trainer.snapshot()


def answers_of(folder: str) -> list[dict[str, Any]]:
    """What a model says of each document."""
    orderings = Orderer.from_pretrained(folder).order_all([d.sentences for d in DOCUMENTS])
    return [
        {name: rounded(value) for name in SAID if (value := getattr(one, name)) is not None}
        for one in orderings
    ]


def rounded(values: Any) -> Any:
    """Numbers short enough for a repository."""
    return np.array(values).round(6).tolist()


def main(system: str, folder: Path) -> None:
    folder.mkdir(parents=True)
    os.chdir(folder)
    torch.manual_seed(0)
    splits = Corpus(DOCUMENTS, DOCUMENTS, DOCUMENTS)
    write_export(system, splits)
    write_run(system, splits)
    write_records(
        Path("documents.jsonl"), [{"id": d.id, "sentences": d.sentences} for d in DOCUMENTS]
    )
    answers = {name: answers_of(name) for name in ("export", "run")}
    Path("answers.json").write_text(json.dumps(answers) + "\n")
    for name in ("encoder", "taught"):
        for path in sorted(Path(name).rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        Path(name).rmdir()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).absolute())
