"""Every system, on every corpus of the paper, at either scale: built, trained two steps, used.

Its own numbers, but for the sizes and the encoder.
"""

import pytest

from bert4so.data.shuffle import shuffle
from bert4so.models import MODELS
from bert4so.run import read_run
from bert4so.train import Trainer
from conftest import TINY_MODEL, assignments

CORPORA = ["neurips", "aan", "nsf", "sind", "rocstory"]


@pytest.mark.parametrize("scale", ["paper", "desk"])
@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("system", MODELS)
def test_a_cell_takes_two_steps_and_orders(
    system, corpus, scale, encoder, splits, documents, tmp_path
):
    (tmp_path / "cell.toml").write_text(f'system = "{system}"\ncorpus = "{corpus}"\n')
    tiny = dict(TINY_MODEL.get(system, {}))
    if "encoder" in MODELS[system].Config.model_fields:
        tiny["encoder"] = encoder
    run = read_run(tmp_path / "cell.toml", [f"scale={scale}", *assignments({"model": tiny})])
    trainer = Trainer(run, splits, tmp_path / "run")
    for _ in range(2):
        taken = trainer.learner.step([shuffle(document, 0) for document in documents[:8]])
        assert taken.tokens > 0
    found = trainer.model.order([shuffle(document, 0).without_answer() for document in documents])
    assert [sorted(one.order) for one in found] == [
        list(range(len(document.sentences))) for document in documents
    ]


def test_what_a_paper_sets_by_corpus_is_set(tmp_path):
    for name, system in MODELS.items():
        for corpus, values in getattr(system, "BY_CORPUS", {}).items():
            (tmp_path / "run.toml").write_text(f'system = "{name}"\ncorpus = "some/{corpus}"\n')
            run = read_run(tmp_path / "run.toml")
            assert values
            for table, numbers in values.items():
                for key, value in numbers.items():
                    assert getattr(getattr(run, table), key) == value
                    # What a user asks for stands above it.
                    asked = read_run(tmp_path / "run.toml", [f"{table}.{key}={value * 2}"])
                    assert getattr(getattr(asked, table), key) == value * 2
