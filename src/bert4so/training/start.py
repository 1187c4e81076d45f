"""The model that a run starts from: a new one, or that of another run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bert4so.common.value_trees import difference
from bert4so.config.schema import RunConfig
from bert4so.document import Document
from bert4so.errors import UserError, quote
from bert4so.export.from_onnx import load_exported
from bert4so.inference.orderer import BUNDLED
from bert4so.modeling.base import OrderingModel
from bert4so.systems import SYSTEMS
from bert4so.training.checkpoint import load_model


def initial_model(run: RunConfig, documents: Sequence[Document]) -> OrderingModel[Any]:
    """The model of a run before training."""
    if run.start:
        return _from_other_run(run)
    system = SYSTEMS[run.system]
    model = system.build(run.model, system.make_input(run.model, documents))
    system.initialize(model, run.model)
    return model


def _from_other_run(run: RunConfig) -> OrderingModel[Any]:
    """The run's model with the weights of another run, which must have the same parts."""
    folder = BUNDLED if run.start == "bundled" else Path(run.start)
    exported = (folder / "export.json").exists()
    try:
        earlier, trained = load_exported(folder) if exported else load_model(folder)
    except UserError as error:
        raise UserError(f"start = {quote(run.start)}: {error}") from None
    _check_same_parts(earlier, run)
    model = SYSTEMS[run.system].build(run.model, trained.input)
    # The model has all trained weights. If it is of another system, it may have further ones, which
    # stay as they were initialized.
    model.load_state_dict({**model.state_dict(), **trained.state_dict()})
    return model


def _check_same_parts(earlier: RunConfig, run: RunConfig) -> None:
    """Raise for an incompatible system, or model settings that may not differ."""
    system = SYSTEMS[run.system]
    free: set[str] = getattr(system, "FREE", set())
    changed = None
    if earlier.system not in (run.system, getattr(system, "STARTS_FROM", None)):
        changed = "system", quote(earlier.system), quote(run.system)
    before, now = (
        {key: value for key, value in one.model.model_dump().items() if key not in free}
        for one in (earlier, run)
    )
    if changed := changed or difference(before, now):
        key, was, value = changed
        raise UserError(f"start = {quote(run.start)}: trained with {key} = {was}, not {value}")
