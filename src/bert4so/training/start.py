"""The model that a run starts from: its system's own, or that of another run."""

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


def first_model(run: RunConfig, documents: Sequence[Document]) -> OrderingModel[Any]:
    """The model of a run before training."""
    if run.start:
        return _learned(run)
    system = SYSTEMS[run.system]
    model = system.build(run.model, system.make_input(run.model, documents))
    system.initialize(model, run.model)
    return model


def _learned(run: RunConfig) -> OrderingModel[Any]:
    """The run's model with the weights of another run's, which must have the same parts."""
    folder = BUNDLED if run.start == "bundled" else Path(run.start)
    exported = (folder / "export.json").exists()
    try:
        begun, learned = load_exported(folder) if exported else load_model(folder)
    except UserError as error:
        raise UserError(f"start = {quote(run.start)}: {error}") from None
    _check_same_parts(begun, run)
    model = SYSTEMS[run.system].build(run.model, learned.input)
    # All that was learned has a place. Another system may add weights, which have learned nothing.
    model.load_state_dict({**model.state_dict(), **learned.state_dict()})
    return model


def _check_same_parts(begun: RunConfig, run: RunConfig) -> None:
    """Refuse another system, and settings of the model that differ and not only train it."""
    system = SYSTEMS[run.system]
    free: set[str] = getattr(system, "FREE", set())
    changed = None
    if begun.system not in (run.system, getattr(system, "STARTS_FROM", None)):
        changed = "system", quote(begun.system), quote(run.system)
    before, now = (
        {key: value for key, value in some.model.model_dump().items() if key not in free}
        for some in (begun, run)
    )
    if changed := changed or difference(before, now):
        key, was, wanted = changed
        raise UserError(f"start = {quote(run.start)}: trained with {key} = {was}, not {wanted}")
