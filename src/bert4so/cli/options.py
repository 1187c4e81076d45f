"""What several commands share: options, and the words for what is missing."""

import json
import os
import sys
from dataclasses import asdict
from importlib.util import find_spec
from typing import Annotated

import typer

from bert4so.cli.installation import EXTRAS
from bert4so.errors import UserError
from bert4so.evaluation.summary import Summary, table
from bert4so.io.on_error import OnBad, Skipping, stop

SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="Leave out what cannot be used, and say how much it was.")
]
CountSingle = Annotated[
    bool, typer.Option("--count-single", help="Count documents of one sentence as right.")
]

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def bad_ones(skip: bool) -> OnBad:
    """What to do with what cannot be used."""
    return Skipping() if skip else stop


def write_summary(summary: Summary, as_json: bool) -> None:
    """Print how right some orders are."""
    whole = json.dumps(asdict(summary), indent=1) + "\n" if as_json else table(summary)
    sys.stdout.write(whole)


def need_data_extra() -> None:
    """Say which extra to install, where statistics are missing."""
    try:
        import scipy  # noqa: F401
    except ModuleNotFoundError:
        raise UserError("this command needs scipy: pip install 'bert4so[data]'") from None


def need_report_extra(what: str = "this command") -> None:
    """Say which extra to install, where what draws figures is missing."""
    _need("report", what)


def need_train_extra() -> None:
    """Say which extra to install, where PyTorch is missing."""
    # Threads that wait are to sleep: spinning, they would count as work where CPU time is counted,
    # and take the cores from others. To be said before PyTorch is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    _need("train", "this command")


def _need(extra: str, what: str) -> None:
    missing = [name for name in EXTRAS[extra] if find_spec(name) is None]
    if missing:
        needed = ", ".join("PyTorch" if name == "torch" else name for name in missing)
        raise UserError(f"{what} needs {needed}: pip install 'bert4so[{extra}]'")
