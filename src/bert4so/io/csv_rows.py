"""Read rows of CSV. After a damaged row, reading resumes at the line after the row's first."""

import csv
from collections import deque
from collections.abc import Iterable, Iterator

from bert4so.errors import UserError
from bert4so.io.lines import BadLine, Line
from bert4so.io.on_error import OnBad, stop

MAX_CELL_CHARACTERS = 10_000_000
MAX_ROW_LINES = 1_000_000
MAX_ROW_CHARACTERS = 50_000_000


def read_csv_rows(
    lines: Iterable[Line], name: str, on_bad: OnBad
) -> Iterator[tuple[str, list[str]]]:
    """Yield the location and cells of each row that is not empty, starting with the header.

    Without a header nothing can be read, so an error in it is always raised.
    """
    csv.field_size_limit(MAX_CELL_CHARACTERS)
    source = _Source(lines)
    rows = csv.reader(source, strict=True)
    report: OnBad = stop
    while True:
        source.start_row()
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            report(UserError(f"{name}:{source.first}: not CSV: {error}"))
            source.retry()
        else:
            if cells:
                yield f"{name}:{source.first}", cells
                report = on_bad


class _Source:
    """Lines for the csv module; those of the current row can be read again.

    A quote that is never closed makes the rest of the file one cell, up to the limit. The lines
    that it swallowed are then read again.
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines = enumerate(lines, start=1)
        self.again = deque[tuple[int, Line]]()
        self.row: list[tuple[int, Line]] = []
        self.characters = 0

    def start_row(self) -> None:
        """Discard the lines of the previous row."""
        self.row = []
        self.characters = 0

    def retry(self) -> None:
        """Read the lines of the current row again, except for the first."""
        self.again.extendleft(reversed(self.row[1:]))

    @property
    def first(self) -> int:
        """The number of the first line of the current row."""
        return self.row[0][0] if self.row else 1

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.row.append(self.again.popleft() if self.again else next(self.lines))
        line = self.row[-1][1]
        if isinstance(line, BadLine):
            raise csv.Error(line.reason)
        self.characters += len(line)
        if len(self.row) > MAX_ROW_LINES or self.characters > MAX_ROW_CHARACTERS:
            raise csv.Error(
                f"a row with more than {MAX_ROW_LINES:,} lines or {MAX_ROW_CHARACTERS:,} characters"
            )
        return line
