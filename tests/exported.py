"""A tiny trained run and its exports, in a folder."""

import json

import pytest

from bert4so.data.corpus import Corpus
from bert4so.data.shuffle import shuffle
from bert4so.export import quantization
from bert4so.export import to_onnx as export
from bert4so.training.checkpoint import load_model, save_model
from bert4so.training.trainer import Trainer
from conftest import tiny_run
from tiny import make_encoder

TAUGHT = 60
"""Number of steps after which a tiny model has learned the order."""


def exported_from(kind, documents, place, *forms, system="bert4so"):
    """A folder with a run and exports of it."""
    encoder = make_encoder(kind, place / "encoder")
    run = tiny_run(system, encoder, place, model={"pooling": "mean"})
    trainer = Trainer(run, Corpus(documents, documents, documents), place)
    for epoch in range(TAUGHT):
        trainer.learner.step([shuffle(document, epoch) for document in documents])
    save_model(place / "run", run, trainer.model)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quantization, "MAX_FLOAT_VALUES", 0)
        for form in forms:
            compared = export.export(
                *load_model(place / "run"), place / form, documents, form == "int8", "made"
            )
            facts = json.loads((place / form / "export.json").read_text())
            assert facts["compared"]["same"] == compared.same
    return place
