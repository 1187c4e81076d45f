"""Every run of the paper's experiments, at both scales, is built, trained two steps and used.

With its own settings, except for the sizes, the encoder, and bf16, which some processors lack.
"""

from pathlib import Path

import pytest

from bert4so.common.value_trees import merge
from bert4so.data.shuffle import shuffle
from bert4so.experiments.plan import all_cells, read_experiment
from bert4so.experiments.report.paper_numbers import TITLES
from bert4so.systems import SYSTEMS
from bert4so.systems.run_config import make_run, read_run
from bert4so.training.trainer import Trainer
from conftest import TINY_MODEL

EXPERIMENTS = Path(__file__).parents[2] / "configs" / "experiments"
CELLS = {
    f"{name}-{cell.name}": cell
    for name in ("full", "desk", "equal-data", "paper-size")
    for cell in all_cells(read_experiment(EXPERIMENTS / f"{name}.toml"))
}
DIFFERENT = {
    cell.run.model_copy(update={"corpus": "", "join": [], "seed": 1}).model_dump_json(): name
    for name, cell in CELLS.items()
}
"""One cell for each configuration; seeds and corpora do not matter here."""


@pytest.mark.parametrize("name", DIFFERENT.values())
def test_a_cell_takes_two_steps_and_orders(name, encoder, splits, documents, tmp_path):
    cell = CELLS[name]
    tiny = dict(TINY_MODEL[cell.run.system])
    fields = SYSTEMS[cell.run.system].Config.model_fields
    tiny |= {"encoder": str(encoder)} if "encoder" in fields else {"vectors": ""}
    tiny |= {"tagger": "words"} if "tagger" in fields else {}
    changes = {"model": tiny, "train": {"precision": "float32"}}
    values = merge(cell.run.model_dump(exclude_none=True), changes)
    trainer = Trainer(make_run(values, name), splits, tmp_path / "run")
    for _ in range(2):
        result = trainer.learner.step([shuffle(document, 0) for document in documents[:8]])
        assert result.tokens > 0
    puzzles = [shuffle(document, 0).without_answer() for document in documents]
    orderings = trainer.model.order(puzzles)
    assert [sorted(one.order) for one in orderings] == [
        list(range(len(document.sentences))) for document in documents
    ]


def test_word_vectors_have_the_width_of_the_system():
    models = [cell.run.model for cell in CELLS.values() if getattr(cell.run.model, "vectors", "")]
    assert models
    assert [model for model in models if f".{model.vector}d." not in model.vectors] == []


def test_every_system_runs_on_every_corpus_at_both_scales():
    whole = [cell for name, cell in CELLS.items() if name.startswith(("full-", "desk-"))]
    ran = {(cell.run.system, cell.corpus, cell.run.scale) for cell in whole}
    assert {system for system, _, _ in ran} >= set(TITLES) & set(SYSTEMS)
    assert len(ran) == len(set(TITLES) & set(SYSTEMS)) * 5 * 2


def test_settings_by_corpus_are_applied(tmp_path):
    for name, system in SYSTEMS.items():
        for corpus, values in getattr(system, "BY_CORPUS", {}).items():
            (tmp_path / "run.toml").write_text(f'system = "{name}"\ncorpus = "some/{corpus}"\n')
            run = read_run(tmp_path / "run.toml")
            assert values
            for table, numbers in values.items():
                for key, value in numbers.items():
                    assert getattr(getattr(run, table), key) == value
                    # An explicit setting has priority.
                    explicit = read_run(tmp_path / "run.toml", [f"{table}.{key}={value * 2}"])
                    assert getattr(getattr(explicit, table), key) == value * 2
