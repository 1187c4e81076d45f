"""The model that a run starts from: its system's own, or that of another run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bert4so.common.value_trees import difference
from bert4so.config.schema import Run
from bert4so.document import Document
from bert4so.errors import UserError, quote
from bert4so.export.from_onnx import load_exported
from bert4so.inference.orderer import BUNDLED
from bert4so.modeling.base import OrderingModel
from bert4so.systems import SYSTEMS
from bert4so.training.checkpoint import load_model


def first_model(run: Run, documents: Sequence[Document]) -> OrderingModel[Any]:
    """The model of a run before training."""
    if run.start:
        return _learned(run)
    system = SYSTEMS[run.system]
    model = system.build(run.model, system.make_input(run.model, documents))
    system.initialize(model, run.model)
    return model


def _learned(run: Run) -> OrderingModel[Any]:
    """The model of another run, which must be made of the same parts."""
    folder = BUNDLED if run.start == "bundled" else Path(run.start)
    exported = (folder / "export.json").exists()
    try:
        begun, model = load_exported(folder) if exported else load_model(folder)
    except UserError as error:
        raise UserError(f"start = {quote(run.start)}: {error}") from None
    before, now = ({"system": some.system, **some.model.model_dump()} for some in (begun, run))
    if changed := difference(before, now):
        key, was, wanted = changed
        raise UserError(f"start = {quote(run.start)}: trained with {key} = {was}, not {wanted}")
    return model
