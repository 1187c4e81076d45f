"""Progress bars and status messages. They go to stderr: stdout is for results."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console


@dataclass
class Stderr:
    """State of the output on stderr.

    quiet:   suppress all progress output.
    console: the console of the active progress bar, if any.
    """

    quiet: bool = False
    console: "Console | None" = None


STDERR = Stderr()


class Advance(Protocol):
    """Advance a progress bar by `done` steps; `note` is shown next to it."""

    def __call__(self, done: int, note: str = "") -> None: ...


def say(line: str) -> None:
    """Print a line to stderr, above the progress bar if there is one."""
    if STDERR.console is not None:
        STDERR.console.print(line)
    elif not STDERR.quiet:
        sys.stderr.write(f"{line}\n")


def bars_are_shown() -> bool:
    """Whether progress bars are visible: stderr is a terminal and not quiet."""
    return not STDERR.quiet and sys.stderr.isatty()


@contextmanager
def progress_bar(
    task: str, total: int | None, shown: bool = True, in_bytes: bool = False
) -> Iterator[Advance]:
    """Show a progress bar if stderr is a terminal."""
    if not shown or not bars_are_shown():
        yield lambda done, note="": None
        return
    # Imported late: loading rich takes as long as ordering a short story.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    previous = STDERR.console
    console = previous or Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn() if in_bytes else MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=console,
        redirect_stdout=False,  # otherwise, output to stdout would go to stderr
    )
    STDERR.console = console
    try:
        with bars:
            bar = bars.add_task(task, total=total, note="")

            def advance(done: int, note: str = "") -> None:
                bars.update(bar, advance=done, note=note)

            yield advance
    finally:
        STDERR.console = previous
