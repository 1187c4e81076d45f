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
    """The model that a run and the files of its input describe, with random weights.

    It is built on no device first: `check` may refuse the weights described there, which may be
    larger than the memory.
    """
    system = SYSTEMS[run.system]
    try:
        with torch.device("meta"):
            described = system.build(run.model, system.load_input(folder))
        check(described.state_dict())
        return system.build(run.model, system.load_input(folder))
    except UserError:
        raise
    except Exception as error:  # any number of a stranger's can be what the code cannot use
        raise UserError(
            f"{folder}: does not describe a model that can be built: {first_line(error)}"
        ) from None
