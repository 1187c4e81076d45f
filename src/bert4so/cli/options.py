"""What several commands share: options, and the words for what is missing."""

from typing import Annotated

import typer

from bert4so.data.bad import OnBad, Skipping, stop
from bert4so.errors import UserError

SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="Leave out what cannot be used, and say how much it was.")
]
CountSingle = Annotated[
    bool, typer.Option("--count-single", help="Count documents of one sentence as right.")
]


def bad_ones(skip: bool) -> OnBad:
    """What to do with what cannot be used."""
    return Skipping() if skip else stop


def need_train_extra() -> None:
    """Say which extra to install, where PyTorch is missing."""
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        raise UserError("this command needs PyTorch: pip install 'bert4so[train]'") from None
