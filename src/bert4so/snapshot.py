"""A training run under way, on disk: all that is needed to go on as if it had never stopped.

A snapshot is one safetensors file, so it is whole or not there; what is not a tensor stands as JSON
in its header. Snapshots are numbered by the steps taken. The newest two are kept, and all are
cleared when the run is finished.
"""

import json
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from bert4so.atomic import write_whole
from bert4so.errors import UserError
from bert4so.history import History, Step, Validation
from bert4so.metrics import Metrics

KEPT = 2
FORMAT = "2"
STEPS = "history.steps"
"""The steps, a row each, as a tensor: a header may not be as long as there are steps."""


@dataclass(frozen=True)
class Snapshot:
    """Where a run stands.

    run:     its configuration, as values.
    history: what happened so far; its length says where in which epoch the run stands.
    learner: the optimizer's and the schedule's numbers.
    tensors: weights, the optimizer's memory, the state of every process's random numbers.
    """

    run: dict[str, Any]
    history: History
    learner: dict[str, Any]
    tensors: dict[str, Tensor]


def write_snapshot(folder: Path, snapshot: Snapshot) -> None:
    """Write a snapshot, then clear all but the newest."""
    shelf = folder / "snapshots"
    shelf.mkdir(exist_ok=True)
    history = snapshot.history
    validations = [asdict(validation) for validation in history.validations]
    facts = {"run": snapshot.run, "validations": validations, "learner": snapshot.learner}
    header = {"bert4so": FORMAT, "facts": json.dumps(facts)}
    steps = torch.tensor([astuple(step) for step in history.steps], dtype=torch.float64)
    name = f"{len(snapshot.history.steps):08d}.safetensors"
    write_whole(shelf / name, save({**snapshot.tensors, STEPS: steps}, header))
    for old in sorted(shelf.glob("*.safetensors"))[:-KEPT]:
        old.unlink()


def newest_snapshot(folder: Path) -> Snapshot | None:
    """The newest snapshot of a run's folder, where there is one."""
    paths = sorted((folder / "snapshots").glob("*.safetensors"))
    if not paths:
        return None
    try:
        with safe_open(paths[-1], framework="pt") as file:
            header = file.metadata() or {}
            if header.get("bert4so") != FORMAT:
                raise UserError(f"{paths[-1]}: form {header.get('bert4so')}: wanted form {FORMAT}")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise UserError(f"{paths[-1]}: not a whole snapshot: {error}; remove it to go on") from None
    facts = json.loads(header["facts"])
    history = _history(tensors.pop(STEPS), facts["validations"])
    return Snapshot(facts["run"], history, facts["learner"], tensors)


def clear_snapshots(folder: Path) -> None:
    """Remove all snapshots: the run is finished."""
    shelf = folder / "snapshots"
    for path in shelf.glob("*"):
        path.unlink()
    if shelf.exists():
        shelf.rmdir()


def _history(steps: Tensor, validations: list[dict[str, Any]]) -> History:
    return History(
        steps=[_step(row) for row in steps.tolist()],
        validations=[
            Validation(v["step"], v["epoch"], Metrics(**v["metrics"])) for v in validations
        ],
    )


def _step(row: list[float]) -> Step:
    step, epoch, loss, learning_rate, tokens, cells, seconds, spent = row
    return Step(int(step), int(epoch), loss, learning_rate, int(tokens), int(cells), seconds, spent)
