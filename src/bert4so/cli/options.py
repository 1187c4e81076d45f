"""Options that several commands share, and checks for missing extras."""

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
    bool, typer.Option("--skip-bad", help="Skip invalid records and report how many.")
]
CountSingle = Annotated[
    bool, typer.Option("--count-single", help="Count documents of one sentence as correct.")
]

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def bad_record_handler(skip: bool) -> OnBad:
    """Skip and count invalid records, or stop at the first."""
    return Skipping() if skip else stop


def write_summary(summary: Summary, as_json: bool) -> None:
    """Print the metrics as a table or as JSON."""
    text = json.dumps(asdict(summary), indent=1) + "\n" if as_json else table(summary)
    sys.stdout.write(text)


def need_data_extra() -> None:
    """Name the extra to install if scipy is missing."""
    try:
        import scipy  # noqa: F401
    except ModuleNotFoundError:
        raise UserError("this command needs scipy: pip install 'bert4so[data]'") from None


def need_report_extra(what: str = "this command") -> None:
    """Name the extra to install if the packages for figures are missing."""
    _need("report", what)


def need_train_extra() -> None:
    """Name the extra to install if PyTorch is missing."""
    # Waiting threads must sleep: if they spin, they count as CPU time and take cores from other
    # processes. This has to be set before PyTorch is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    _need("train", "this command")


def _need(extra: str, what: str) -> None:
    missing = [name for name in EXTRAS[extra] if find_spec(name) is None]
    if missing:
        needed = ", ".join("PyTorch" if name == "torch" else name for name in missing)
        raise UserError(f"{what} needs {needed}: pip install 'bert4so[{extra}]'")
