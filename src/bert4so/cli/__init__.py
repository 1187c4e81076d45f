"""The command line. Results go to stdout, messages and progress to stderr."""

import sys
from importlib import metadata
from typing import Annotated

import typer

from bert4so.cli.compare import compare
from bert4so.cli.data import app as data
from bert4so.cli.doctor import doctor
from bert4so.cli.evaluate import evaluate
from bert4so.cli.experiment import app as experiment
from bert4so.cli.export import export
from bert4so.cli.order import order
from bert4so.cli.score import score
from bert4so.cli.streams import fail, standard_streams
from bert4so.cli.train import train
from bert4so.common.progress import STDERR
from bert4so.errors import UserError, os_message

app = typer.Typer(
    name="bert4so",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (
    order,
    train,
    evaluate,
    score,
    compare,
    export,
    doctor,
):  # in the order in which a new user needs them
    app.command()(command)
app.add_typer(data)
app.add_typer(experiment)


def _print_version(requested: bool) -> None:
    if requested:
        sys.stdout.write(f"bert4so {metadata.version('bert4so')}\n")
        raise typer.Exit


@app.callback()
def global_options(
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", help="Print only results and errors; goes before the command."
        ),
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Put sentences in order.

    bert4so order story.txt
    """
    STDERR.quiet = quiet


def main() -> None:
    """Run a command. The exit code is 2 for errors that the user can fix."""
    try:
        with standard_streams():
            app()
    except UserError as error:
        fail(str(error), error.exit_code)
    except OSError as error:
        fail(os_message(error), UserError.exit_code)
