"""Every configuration in configs/ is valid, and its run trains and orders."""

from pathlib import Path

import pytest

from bert4so.data.shuffle import shuffle
from bert4so.systems.run_config import read_run
from bert4so.training.trainer import Trainer

FOLDER = Path(__file__).parents[2] / "configs"
CONFIGS = sorted(FOLDER.glob("*.toml"))
EXPERIMENTS = sorted(FOLDER.glob("experiments/*.toml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_the_first_line_of_a_configuration_is_its_command(path):
    assert path.read_text().splitlines()[0] == f"# bert4so train configs/{path.name}"


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_the_first_line_of_an_experiment_is_its_command(path):
    first = path.read_text().splitlines()[0]
    assert first == f"# bert4so experiment run configs/experiments/{path.name}"


@pytest.mark.parametrize("scale", ["desk", "paper"])
@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_run_takes_two_steps_and_orders(path, scale, encoder, splits, documents, tmp_path):
    tiny = [f"model.encoder={encoder}", "model.heads=2", "start=''", "train.precision=float32"]
    run = read_run(path, [f"scale={scale}", *tiny])
    trainer = Trainer(run, splits, tmp_path / "run")
    for _ in range(2):
        trainer.learner.step([shuffle(document, 0) for document in documents[:8]])
    assert len(trainer.model.order([shuffle(d, 0) for d in documents])) == len(documents)
