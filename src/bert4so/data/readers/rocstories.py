"""ROCStories: stories of five sentences, from cs.rochester.edu/nlp/rocstories.

ROCStories__spring2016 and ROCStories_winter2017, each a CSV file with the columns storyid,
storytitle, sentence1 ... sentence5; github.com/declare-lab/sentence-ordering reads the same.
There are no splits.
"""

from collections.abc import Iterator
from pathlib import Path

from bert4so.data.readers.raw_document import Columns, RawDocument
from bert4so.errors import UserError, shorten
from bert4so.io.csv_rows import read_csv_rows
from bert4so.io.files import Files
from bert4so.io.lines import read_lines
from bert4so.io.on_error import OnBad

ID = "storyid"
SENTENCES = ("sentence1", "sentence2", "sentence3", "sentence4", "sentence5")

Row = dict[str, str]


def read_rocstories(files: Files, columns: Columns, on_bad: OnBad) -> Iterator[RawDocument]:
    """Read each story, without its title; files of cloze tests in the same folder are ignored."""
    for path in files.find("ROCStories*.csv"):
        for where, row in _rows(files, path, on_bad):
            yield RawDocument(where, row[ID], tuple(row[name] for name in SENTENCES))


def _rows(files: Files, path: Path, on_bad: OnBad) -> Iterator[tuple[str, Row]]:
    rows = read_csv_rows(read_lines(path, files.on_bytes_read), str(path), on_bad)
    top, names = next(rows, (f"{path}:1", []))
    if not {ID, *SENTENCES} <= set(names):
        columns = shorten(", ".join(names))
        expected = ", ".join((ID, *SENTENCES))
        on_bad(UserError(f"{top}: the columns must include {expected} (got {columns})"))
        return
    for where, cells in rows:
        if len(cells) == len(names):
            yield where, dict(zip(names, cells, strict=True))
        else:
            on_bad(UserError(f"{where}: a row must have {len(names)} cells (got {len(cells)})"))
