"""ROCStories: stories of five sentences, as cs.rochester.edu/nlp/rocstories hands them out.

ROCStories__spring2016 and ROCStories_winter2017, each a CSV file with the columns storyid,
storytitle, sentence1 ... sentence5; github.com/declare-lab/sentence-ordering reads the same.
They are not divided.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from bert4so.data.readers.raw_document import Columns, RawDocument
from bert4so.errors import UserError
from bert4so.io.files import Files
from bert4so.io.lines import reading
from bert4so.io.on_error import OnBad

ID = "storyid"
SENTENCES = ("sentence1", "sentence2", "sentence3", "sentence4", "sentence5")

Row = dict[str, str]


def read_rocstories(files: Files, columns: Columns, on_bad: OnBad) -> Iterator[RawDocument]:
    """Each story, without its title; the cloze tests that may stand beside are left alone."""
    for path in files.find("ROCStories*.csv"):
        with reading(path), files.text(path) as file:
            for where, row in _rows(file, path, on_bad):
                yield RawDocument(where, row[ID], tuple(row[name] for name in SENTENCES))


def _rows(file: IO[str], path: Path, on_bad: OnBad) -> Iterator[tuple[str, Row]]:
    rows = csv.reader(file, strict=True)
    names: list[str] = []
    while True:
        try:
            cells = next(rows, None)
        except csv.Error as error:
            on_bad(UserError(f"{path}:{rows.line_num}: not CSV: {error}"))
            continue
        if cells is None:
            return
        where = f"{path}:{rows.line_num}"
        if not names:
            names = cells
            if not {ID, *SENTENCES} <= set(names):
                wanted = f"wanted {ID}, {', '.join(SENTENCES)}"
                on_bad(UserError(f"{where}: columns {', '.join(names)}: {wanted}"))
                return
        elif len(cells) == len(names):
            yield where, dict(zip(names, cells, strict=True))
        elif cells:
            on_bad(UserError(f"{where}: {len(cells)} cells: wanted {len(names)}"))
