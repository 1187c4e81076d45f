"""What a run begins with: what its system does, or what another has learned."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bert4so.checkpoint import load_model
from bert4so.config import Run, difference
from bert4so.document import Document
from bert4so.errors import UserError
from bert4so.export import load_exported
from bert4so.model import OrderingModel
from bert4so.models import MODELS
from bert4so.orderer import BUNDLED


def first_model(run: Run, documents: Sequence[Document]) -> OrderingModel[Any]:
    """The model of a run as it is before it has learned anything there."""
    if run.start:
        return _learned(run)
    system = MODELS[run.system]
    model = system.build(run.model, system.make_input(run.model, documents))
    system.initialize(model, run.model)
    return model


def _learned(run: Run) -> OrderingModel[Any]:
    """The model that another run has made of the same parts."""
    folder = BUNDLED if run.start == "bundled" else Path(run.start)
    exported = (folder / "export.json").exists()
    begun, model = load_exported(folder) if exported else load_model(folder)
    before, now = ({"system": some.system, **some.model.model_dump()} for some in (begun, run))
    if found := difference(before, now):
        key, was, wanted = found
        raise UserError(f"start = {run.start}: made with {key} = {was}, not {wanted}")
    return model
