"""What a person sees of long work. All of it goes to stderr: stdout is for results."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

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

STDERR = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)


class Advance(Protocol):
    """Tells a progress bar how many more are done, and what to say beside it."""

    def __call__(self, done: int, note: str = "") -> None: ...


def say(line: str) -> None:
    """Print a line, above the bar where there is one."""
    STDERR.print(line)


@contextmanager
def progress_bar(
    task: str, total: int | None, shown: bool = True, in_bytes: bool = False
) -> Iterator[Advance]:
    """A bar, where stderr is a terminal."""
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn() if in_bytes else MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=STDERR,
        disable=not (shown and STDERR.is_terminal),
    )
    with bars:
        bar = bars.add_task(task, total=total, note="")

        def advance(done: int, note: str = "") -> None:
            bars.update(bar, advance=done, note=note)

        yield advance
