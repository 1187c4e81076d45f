"""The rows of CSV. Where one is damaged, reading goes on with the line that follows its first."""

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
    """The cells of each row that is not empty, with where it begins; the first row has the names.

    Without names nothing can be read, so that an error in the first row is raised.
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
    """Lines as csv asks for them; those of a row can be read again.

    A quote that is never closed makes the rest of a file one cell, up to the limit: what it took
    with it is read once more.
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines = enumerate(lines, start=1)
        self.again = deque[tuple[int, Line]]()
        self.row: list[tuple[int, Line]] = []
        self.characters = 0

    def start_row(self) -> None:
        """Forget the lines of the row before."""
        self.row = []
        self.characters = 0

    def retry(self) -> None:
        """Read all lines of the row but its first again."""
        self.again.extendleft(reversed(self.row[1:]))

    @property
    def first(self) -> int:
        """The number of the first line of the row."""
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
                f"a row of more than {MAX_ROW_LINES:,} lines or {MAX_ROW_CHARACTERS:,} characters"
            )
        return line
