"""What a person sees of long work. All of it goes to stderr: stdout is for results."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console


@dataclass
class Stderr:
    """Where it goes.

    quiet:   nothing is said.
    console: that of the bar, while there is one.
    """

    quiet: bool = False
    console: "Console | None" = None


STDERR = Stderr()


class Advance(Protocol):
    """Tells a progress bar how many more are done, and what to say beside it."""

    def __call__(self, done: int, note: str = "") -> None: ...


def say(line: str) -> None:
    """Print a line, above the bar where there is one."""
    if STDERR.console is not None:
        STDERR.console.print(line)
    elif not STDERR.quiet:
        sys.stderr.write(f"{line}\n")


def bars_are_shown() -> bool:
    """Whether there is anyone to see a bar."""
    return not STDERR.quiet and sys.stderr.isatty()


@contextmanager
def progress_bar(
    task: str, total: int | None, shown: bool = True, in_bytes: bool = False
) -> Iterator[Advance]:
    """A bar, where stderr is a terminal."""
    if not shown or not bars_are_shown():
        yield lambda done, note="": None
        return
    # Late: it takes as long to load as a short story takes to be ordered.
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

    before = STDERR.console
    console = before or Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn() if in_bytes else MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=console,
        redirect_stdout=False,  # else what is printed meanwhile goes to stderr too
    )
    STDERR.console = console
    try:
        with bars:
            bar = bars.add_task(task, total=total, note="")

            def advance(done: int, note: str = "") -> None:
                bars.update(bar, advance=done, note=note)

            yield advance
    finally:
        STDERR.console = before
