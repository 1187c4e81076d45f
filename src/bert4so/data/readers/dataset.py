"""Data sets of the Hugging Face `datasets` library: saved on this disk, or by name on the hub."""

from collections.abc import Iterator
from typing import Any

from bert4so.data.readers.raw_document import SPLITS, Columns, RawDocument
from bert4so.data.readers.table_rows import from_rows
from bert4so.errors import UserError
from bert4so.io.files import Files
from bert4so.io.on_error import OnBad


def read_dataset(files: Files, columns: Columns, on_bad: OnBad) -> Iterator[RawDocument]:
    """All splits of a data set; one that is saved as a single table has none."""
    tables = _load(str(files.path))
    if not hasattr(tables, "keys"):
        tables = {"": tables}
    for split, table in tables.items():
        name = f"{files.path}[{split}]" if split else str(files.path)
        rows = ((f"{name}: row {number}", row) for number, row in enumerate(table, start=1))
        yield from from_rows(rows, columns, SPLITS.get(split), on_bad)


def _load(name: str) -> Any:
    try:
        import datasets
    except ModuleNotFoundError:
        raise UserError(f"{name}: needs datasets: pip install 'bert4so[data]'") from None
    datasets.disable_progress_bars()
    try:
        try:
            return datasets.load_from_disk(name)
        except FileNotFoundError:
            # Not on this disk as `save_to_disk` writes it: files of a known kind, or a name.
            return datasets.load_dataset(name, streaming=True)
    except (OSError, ValueError) as error:  # the library's own errors are of these kinds
        reason = str(error).strip().splitlines()[0]
        raise UserError(f"{name}: no data set here or on the hub: {reason}") from None
