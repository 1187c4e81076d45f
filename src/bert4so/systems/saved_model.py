"""Build the model that the files of a saved one describe."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from bert4so.config.schema import RunConfig
from bert4so.errors import UserError
from bert4so.io.model_files import first_line
from bert4so.modeling.base import OrderingModel
from bert4so.systems import SYSTEMS

Tensors = dict[str, torch.Tensor]


def build_saved(
    run: RunConfig, folder: Path, check: Callable[[Tensors], None]
) -> OrderingModel[Any]:
    """Build the model that a run and its input files describe, with random weights.

    It is first built on the meta device, so that `check` can refuse weights larger than memory.
    """
    system = SYSTEMS[run.system]
    try:
        with torch.device("meta"):
            described = system.build(run.model, system.load_input(folder))
        check(described.state_dict())
        return system.build(run.model, system.load_input(folder))
    except UserError:
        raise
    except Exception as error:  # values of an untrusted file can break a build in any way
        raise UserError(
            f"{folder}: does not describe a model that can be built: {first_line(error)}"
        ) from None
